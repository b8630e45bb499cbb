package main

import (
	"fmt"
	"log/slog"
	"os"
	"syscall"

	"quadrille/places/live"
)

const (
	// spareFiles is the number of files kept free while the server serves, besides
	// connections and files that are open already: for the store's cache, new
	// generations, and logs of tables.
	spareFiles = 256
	// fewConnections is the least number that is worth serving.
	fewConnections = 32
	// collectionFiles is the number of files that a live collection has open: its directory
	// five times, a lock, a log, a list of files and a ledger, and now and then the successor
	// of one of these.
	collectionFiles = 10
)

// openFiles returns how many files this process may have open, and how many it has. ok is false if
// the system does not report this.
func openFiles() (limit, open int64, ok bool) {
	var l syscall.Rlimit
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil || syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0, 0, false
	}
	return int64(min(l.Cur, 1<<30)), int64(len(list)), true
}

// tooFewFiles returns the error with which the server refuses to start.
func tooFewFiles(limit, open, need int64, what string) error {
	return fmt.Errorf("this process may open %d files, has %d open, and needs %d%s: raise the limit, such as by ulimit "+
		"-n or LimitNOFILE=", limit, open, need, what)
}

// checkFiles refuses live collections that need more files than can be opened. Otherwise
// some could not be opened, and which ones are served would depend on chance.
func checkFiles(limit, open, collections int64) error {
	if need := open + collections*collectionFiles + spareFiles + fewConnections; need > limit {
		return tooFewFiles(limit, open, need, fmt.Sprintf(" at least, %d of them for each of %d live collections", collectionFiles, collections))
	}
	return nil
}

// fitFiles lowers --max-connections and --max-collections to the rest of the system's limit of open
// files, and refuses if that is next to nothing. A connection or a collection that took the last
// file would make reads fail.
func (c *config) fitFiles(live *live.Store, log *slog.Logger) error {
	collections := int64(0)
	if live != nil {
		collections = int64(live.Len())
	}
	if limit, open, ok := openFiles(); ok {
		if err := c.fitWithin(limit, open, collections, live != nil, log); err != nil {
			return err
		}
	}
	if live == nil {
		return nil
	}
	if most := int64(c.MaxCollections); most > 0 && collections > most {
		log.Warn("there are more live collections than --max-collections says: they are served, and no other one can be made",
			"collections", collections, "most", most)
	}
	live.SetMaxCollections(c.MaxCollections)
	return nil
}

// fitWithin is fitFiles for a process that may have limit files open and has open, including the
// files of its live collections. live is set if more collections can be made.
func (c *config) fitWithin(limit, open, collections int64, live bool, log *slog.Logger) error {
	left := limit - open - spareFiles
	few := int64(fewConnections)
	if live && collections == 0 {
		few += collectionFiles // one can be made
	}
	if left < few {
		return tooFewFiles(limit, open, open+spareFiles+few, "")
	}
	const raise = ": raise the limit of open files, such as by ulimit -n or LimitNOFILE="
	if live {
		// Connections get a half, or all that they may be; collections get the rest.
		files := (left - fewConnections) / 2
		if most := int64(c.MaxConnections); most > 0 {
			files = max(files, left-most)
		}
		most := max(collections+files/collectionFiles, 1)
		if c.MaxCollections == 0 || int64(c.MaxCollections) > most {
			log.Warn("fewer live collections may be made than --max-collections says"+raise, "collections", most, "files", limit)
			c.MaxCollections = int(most)
		}
		left -= max(int64(c.MaxCollections)-collections, 0) * collectionFiles
	}
	if c.MaxConnections == 0 || int64(c.MaxConnections) > left {
		log.Warn("fewer connections may be open than --max-connections says"+raise, "connections", left, "files", limit)
		c.MaxConnections = int(left)
	}
	return nil
}

package main

import (
	"fmt"
	"log/slog"
	"os"
	"syscall"

	"quadrille/places/live"
)

const (
	// spareFiles is the number of files kept free while the server serves, in addition to
	// connections and files that are already open. They are for the store's cache, new generations,
	// and logs of tables.
	spareFiles = 256
	// fewConnections is the least number of connections with which serving is useful.
	fewConnections = 32
	// collectionFiles is the number of files that a live collection has open: its directory five
	// times, a lock, a log, a MANIFEST and a ledger, and sometimes the successor of one of these.
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

// checkFiles refuses live collections that need more files than can be opened. Otherwise some of
// them could not be opened, and chance would decide which.
func checkFiles(limit, open, collections int64) error {
	if need := open + collections*collectionFiles + spareFiles + fewConnections; need > limit {
		return tooFewFiles(limit, open, need, fmt.Sprintf(" at least, %d of them for each of %d live collections", collectionFiles, collections))
	}
	return nil
}

// fitFiles lowers --max-connections and --max-collections to the number of files that the system's
// limit leaves. It returns an error if too few are left. Without this, a connection or a collection
// could take the last file, and reads would fail.
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

// fitWithin does the same as fitFiles. The process may open limit files, and has open files open,
// including those of its live collections. live is set if more collections can be made.
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
		// Connections get half of the files, or as many as the maximum needs; collections get the
		// rest.
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

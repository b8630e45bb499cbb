package main

import (
	"fmt"
	"log/slog"
	"os"
	"syscall"
)

const (
	// spareFiles is how many files are opened besides connections and those that are open
	// once the server serves: of the store's cache, new generations, logs of tables.
	spareFiles = 256
	// fewConnections is the least number that is worth serving.
	fewConnections = 32
)

// fitConnections lowers --max-connections to what the system's limit of open files leaves,
// and refuses where that is next to nothing. A connection that takes the last one would
// make reads fail.
func (c *config) fitConnections(log *slog.Logger) error {
	var limit syscall.Rlimit
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil || syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return nil //nolint:nilerr // a system that does not tell
	}
	return c.fitWithin(int64(min(limit.Cur, 1<<30)), int64(len(open)), log)
}

func (c *config) fitWithin(limit, open int64, log *slog.Logger) error {
	left := limit - open - spareFiles
	if left < fewConnections {
		return fmt.Errorf("this process may open %d files, has %d open, and needs %d: raise the limit, such as by ulimit -n or LimitNOFILE=", limit, open, open+spareFiles+fewConnections)
	}
	if c.MaxConnections == 0 || int64(c.MaxConnections) > left {
		log.Warn("fewer connections may be open than --max-connections says: raise the limit of open files, such as by ulimit -n or LimitNOFILE=", "connections", left, "files", limit)
		c.MaxConnections = int(left)
	}
	return nil
}

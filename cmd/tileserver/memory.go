package main

import (
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"

	"quadrille/cmd/internal/bytesize"
	"quadrille/cmd/internal/configfile"
	"quadrille/cmd/internal/memlimit"
)

// workingMemory is the number of bytes that the server may use apart from its caches before memory
// becomes more important than speed. The store also uses about 10 MiB outside the heap. Together
// they are below 100 MiB, the limit in `httpbench start`.
const workingMemory = 84 << 20

const (
	// memoryOfRequest is the memory that a running request may use temporarily: the tile or the
	// region that it makes, and the body of the answer, uncompressed and compressed.
	memoryOfRequest = 1 << 20
	// memoryOfConnection is the memory of an open connection: buffers and stacks.
	memoryOfConnection = 32 << 10
)

// memory has the memory limit of the process, and the settings that were lowered because of it.
type memory struct {
	memlimit.Limit
	followed []any // the lowered settings and their values, for the log
}

// outside returns the share for memory that Go does not count: the store's memory outside the heap,
// the program, pages of open files, and garbage that is collected too late.
func (m *memory) outside() int64 { return m.Bytes / 8 }

// fitMemory lowers the defaults that take memory to fit the memory of the process. Explicit
// settings do not change.
func (c *config) fitMemory(limit memlimit.Limit) {
	c.memory = memory{Limit: limit}
	if limit.Bytes == 0 {
		return
	}
	why := fmt.Sprintf("of %dMiB of memory, by %s", limit.Bytes>>20, limit.Source)
	// Half of the rest is for caches, and a quarter for columns of points. The rest is for times at
	// which many large answers are made concurrently.
	left := limit.Bytes - c.memory.outside() - workingMemory
	lower(c, "cache", &c.Cache, max(bytesize.Size(left/2)>>20<<20, 1<<20), why)
	lower(c, "max-concurrent", &c.MaxConcurrent, int(max(limit.Bytes/memoryOfRequest, fewConnections)), why)
	lower(c, "max-connections", &c.MaxConnections, int(max(limit.Bytes/memoryOfConnection, fewConnections)), why)
}

// lower lowers a default to most, if it is greater.
func lower[T int | bytesize.Size](c *config, name string, target *T, most T, why string) {
	if *target > most && configfile.Derive(c.settings, name, target, most, why) {
		c.memory.followed = append(c.memory.followed, name, int64(most))
	}
}

// say logs the settings that follow from the limit, and whether the rest may be too much for it.
func (m *memory) say(c *config, log *slog.Logger) {
	if m.ReadErr != nil {
		log.Warn("the limit of memory cannot be read in full: if this process may take less, set GOMEMLIMIT", "error", m.ReadErr)
	}
	log = log.With("limit", m.Bytes, "from", m.Source)
	if len(m.followed) > 0 {
		log.Info("settings follow the memory that this process may take", m.followed...)
	}
	if need := int64(c.Cache) + c.columnBytes() + workingMemory + m.outside(); m.Bytes > 0 && need > m.Bytes {
		log.Warn("there may be too little memory, and the system would end this process: raise its limit, or lower --cache", "cache",
			int64(c.Cache), "need", need)
	}
}

// tune uses free memory to make garbage collections less frequent, because with a small heap they
// would run hundreds of times a second under load. If the heap exceeds the caches and
// workingMemory, or is near the limit of the process, collections become as frequent as necessary.
// Settings in the environment take precedence.
func (m *memory) tune(cache int64) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		most := cache + workingMemory
		if m.Bytes > 0 {
			most = min(most, m.Bytes-m.outside())
		}
		debug.SetMemoryLimit(most)
	}
}

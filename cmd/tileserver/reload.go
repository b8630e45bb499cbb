package main

import (
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// reloaded is a value that is made from files, and made again when they have changed. Its methods
// may be called concurrently.
type reloaded[T any] struct {
	what     string // for the log: "--geoip-keys"
	paths    []string
	load     func() (T, error)
	log      *slog.Logger
	interval time.Duration // between looks at the files

	value atomic.Pointer[T]
	// next is the time of the next check, by a clock that cannot be set: if the clock were set back
	// by a day, a revoked key would stay valid for a day.
	next    atomic.Int64
	elapsed func() time.Duration // since r was made

	mu     sync.Mutex
	loaded []os.FileInfo // the files that value was made of
	failed []os.FileInfo // the files as they were when load failed
}

// reloadInterval bounds the time until changed files are noticed.
const reloadInterval = 5 * time.Second

// newReloaded makes the value for the first time.
func newReloaded[T any](log *slog.Logger, what string, load func() (T, error), paths ...string) (*reloaded[T], error) {
	r := &reloaded[T]{what: what, paths: paths, load: load, log: log, interval: reloadInterval}
	files, err := stat(paths)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: put the file back, or name another", what, err)
	}
	v, err := load()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	r.value.Store(&v)
	r.loaded = files
	began := time.Now()
	r.elapsed = func() time.Duration { return time.Since(began) }
	r.next.Store(int64(r.interval))
	return r, nil
}

// get returns the value of the files with a delay of at most an interval. If they cannot be read,
// or if only one of them has been replaced so far, it returns the previous value.
func (r *reloaded[T]) get() T {
	if int64(r.elapsed()) >= r.next.Load() && r.mu.TryLock() {
		r.look()
		r.mu.Unlock()
	}
	return *r.value.Load()
}

// again checks the files now.
func (r *reloaded[T]) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.look()
}

func (r *reloaded[T]) look() {
	defer func() { r.next.Store(int64(r.elapsed() + r.interval)) }()
	// The states of the files are read before their contents, so that a change in between is
	// detected at the next check.
	files, err := stat(r.paths)
	if err == nil && same(files, r.loaded) {
		r.failed = nil
		return
	}
	var v T
	if err == nil {
		v, err = r.load()
	}
	if err != nil {
		if r.failed == nil || !same(files, r.failed) {
			r.log.Error("changed files cannot be used, those before stay in use", "flag", r.what, "error", err)
		}
		if r.failed = files; files == nil {
			r.failed = []os.FileInfo{}
		}
		return
	}
	r.value.Store(&v)
	r.loaded, r.failed = files, nil
	r.log.Info("changed files are in use", "flag", r.what)
}

func stat(paths []string) ([]os.FileInfo, error) {
	files := make([]os.FileInfo, len(paths))
	for i, p := range paths {
		var err error
		if files[i], err = os.Stat(p); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func same(a, b []os.FileInfo) bool {
	return slices.EqualFunc(a, b, func(a, b os.FileInfo) bool {
		return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
	})
}

// reloadOnSignal makes SIGHUP check the files for changes, until stop is called. They are also
// checked every few seconds; the signal is for operators who do not want to wait.
func (c *config) reloadOnSignal() (stop func()) {
	asked, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(asked, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-asked:
				for _, again := range c.reloads {
					again()
				}
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(asked)
		close(done)
	}
}

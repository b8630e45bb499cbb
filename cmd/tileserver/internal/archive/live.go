package archive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/cmd/internal/catalogue"
)

// NamedFile is a name and the path of its archive.
type NamedFile struct{ Name, Path string }

// namePattern matches the names that are allowed in addresses.
var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// ParseName reads NAME=FILE, or FILE alone. For FILE alone, the name is the file name without its
// last extension.
func ParseName(s string) (n NamedFile, err error) {
	name, path, given := strings.Cut(s, "=")
	if !given || strings.ContainsAny(name, `/\`) {
		path = s
		file := filepath.Base(s)
		name = strings.ToLower(strings.TrimSuffix(file, filepath.Ext(file)))
	}
	switch {
	case path == "":
		return n, fmt.Errorf("%q names no file: give NAME=FILE", s)
	case !namePattern.MatchString(name):
		return n, fmt.Errorf("%q is no name of a base map: give NAME=FILE, with a name of up to 64 small letters, digits, - and _", name)
	}
	return NamedFile{name, path}, nil
}

// Live serves the archive at a path, and replaces it when the file is replaced.
type Live struct {
	NamedFile

	directories *DirectoryCache
	log         *slog.Logger

	current atomic.Pointer[Archive]
	status  atomic.Pointer[Status]
	failed  atomic.Int64            // reads
	damaged atomic.Pointer[Archive] // one of whose reads found damage
	mu      sync.Mutex              // held by look and stop
}

// Status is the state of a Live at one moment.
type Status struct {
	Name string
	// Archive is the archive in service. Its Info can be read even after the archive is closed.
	Archive *Archive
	Since   time.Time // when it was taken into service
	// State is Serving, Stale or Damaged of package catalogue.
	State string
	// Err is the reason for the last two states. It may name files.
	Err error
	// ReadFailures counts the reads that failed since the start.
	ReadFailures int64
}

// Current returns the archive in service.
func (l *Live) Current() *Archive { return l.current.Load() }

// Status returns the state after the last check of the file.
func (l *Live) Status() Status {
	s := *l.status.Load()
	s.ReadFailures = l.failed.Load()
	return s
}

// ReadFailed counts a failed read of an archive, and triggers a check of the archive for damage.
func (l *Live) ReadFailed(a *Archive, err error) {
	l.failed.Add(1)
	if errors.Is(err, ErrDamaged) {
		l.damaged.Store(a)
	}
}

// look takes the archive at the path into service, unless it is already in service. If it cannot be
// opened, the previous one stays in service.
func (l *Live) look(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.current.Load()
	info, err := os.Stat(l.Path)
	if err == nil && old != nil && sameContent(info, old.file.info) {
		l.report(old, nil)
		return nil
	}
	var next *Archive
	if err == nil {
		next, err = Open(ctx, l.NamedFile.Name, l.Path, l.directories)
	}
	if err != nil {
		if old != nil {
			l.report(old, err)
		}
		return err
	}
	l.current.Store(next)
	l.report(next, nil)
	if old != nil {
		if err := old.Close(); err != nil {
			l.log.Warn("the base map before could not be closed", "basemap", l.NamedFile.Name, "error", err)
		}
	}
	return nil
}

// report stores the state, and logs it if it has changed.
func (l *Live) report(a *Archive, err error) {
	s := &Status{Name: l.NamedFile.Name, Archive: a, Since: time.Now(), State: catalogue.Serving, Err: err}
	switch {
	case a.file.unchanged() != nil:
		s.State = catalogue.Damaged
		s.Err = errors.Join(ErrChanged, err)
	case l.damaged.Load() == a:
		s.State, s.Err = catalogue.Damaged, errors.Join(ErrDamaged, err)
	case err != nil:
		s.State = catalogue.Stale
	}
	was := l.status.Load()
	if was != nil && was.Archive == a {
		s.Since = was.Since
	}
	l.status.Store(s)
	if was != nil && was.Archive == a && was.State == s.State && fmt.Sprint(was.Err) == fmt.Sprint(s.Err) {
		return
	}
	switch s.State {
	case catalogue.Serving:
		l.log.Info("serving a base map", "basemap", l.NamedFile.Name, "file", l.Path, "format", a.Format.String(), "zooms",
			fmt.Sprintf("%d-%d", a.MinZoom, a.MaxZoom))
	case catalogue.Stale:
		l.log.Error("the base map has been replaced by one that cannot be served; the one before stays in service", "basemap",
			l.NamedFile.Name, "error", s.Err)
	default:
		l.log.Error("the base map in service is damaged; replace its file by renaming another to its name", "basemap", l.NamedFile.Name,
			"error", s.Err)
	}
}

// Set holds the base maps of a server, in the order of the flags. A nil *Set is empty.
type Set struct {
	all  []*Live
	stop context.CancelFunc
	done chan struct{}
}

// MaxMaps bounds the base maps of a server.
const MaxMaps = 32

// lookInterval is the interval of checks of the files.
const lookInterval = 2 * time.Second

// Serve opens archives and follows their files until Close. directoryBytes approximately bounds the
// memory of the directories. Serve fails if an archive cannot be opened.
func Serve(ctx context.Context, names []NamedFile, directoryBytes int64, log *slog.Logger) (_ *Set, err error) {
	if len(names) > MaxMaps {
		return nil, fmt.Errorf("%d base maps, and a server has at most %d", len(names), MaxMaps)
	}
	s := &Set{done: make(chan struct{})}
	defer func() {
		if err != nil {
			_ = s.close() // err is the reason that matters
		}
	}()
	directories := NewDirectoryCache(directoryBytes)
	for _, n := range names {
		if s.Map(n.Name) != nil {
			return nil, fmt.Errorf("two base maps are called %s: give them names, as NAME=FILE", n.Name)
		}
		l := &Live{NamedFile: n, directories: directories, log: log}
		if err := l.look(ctx); err != nil {
			return nil, err
		}
		s.all = append(s.all, l)
	}
	ctx, s.stop = context.WithCancel(ctx)
	go s.follow(ctx)
	return s, nil
}

func (s *Set) follow(ctx context.Context) {
	defer close(s.done)
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.CheckFiles(ctx)
		}
	}
}

// CheckFiles checks the files now.
func (s *Set) CheckFiles(ctx context.Context) {
	if s == nil {
		return
	}
	for _, l := range s.all {
		_ = l.look(ctx) // it is in the status and in the log
	}
}

// Map returns the base map with a name, or nil if there is none.
func (s *Set) Map(name string) *Live {
	if s == nil {
		return nil
	}
	i := slices.IndexFunc(s.all, func(l *Live) bool { return l.NamedFile.Name == name })
	if i < 0 {
		return nil
	}
	return s.all[i]
}

// Maps returns all base maps.
func (s *Set) Maps() []*Live {
	if s == nil {
		return nil
	}
	return s.all
}

// Close stops following the files and closes the archives.
func (s *Set) Close() error {
	if s == nil {
		return nil
	}
	s.stop()
	<-s.done
	return s.close()
}

func (s *Set) close() error {
	var errs []error
	for _, l := range s.all {
		errs = append(errs, l.current.Load().Close())
	}
	return errors.Join(errs...)
}

// Command ingest turns public data sets into generations that tileserver
// serves. See its --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/pebblestore"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/internal/bytesize"
	"quadrille/cmd/internal/configfile"
	"quadrille/cmd/internal/memlimit"
	"quadrille/cmd/internal/variables"
	"quadrille/places"
	"quadrille/tiles"
)

// minMemory is the memory of a build that has hardly any data in memory at once.
const minMemory = 256 << 20

// fitMemory lowers --memory to the process's own limit, unless it was set, and reports that. An
// eighth is left for memory that only the system counts, such as file pages.
func (c *cli) fitMemory(limit memlimit.Limit, settings []configfile.Setting) (said []string) {
	if limit.ReadErr != nil {
		said = append(said, fmt.Sprintf("warning: the limit of memory cannot be read in full: if this process may take "+
			"less, set --memory: %v", limit.ReadErr))
	}
	if limit.Bytes == 0 {
		return said
	}
	most := max(bytesize.Size(limit.Bytes/8*7)>>20<<20, minMemory)
	why := fmt.Sprintf("of %dMiB of memory, by %s", limit.Bytes>>20, limit.Source)
	if most < c.Memory && configfile.Derive(settings, "memory", &c.Memory, most, why) {
		said = append(said, fmt.Sprintf("--memory is %dMiB, %s", int64(most)>>20, why))
	}
	if int64(c.Memory) > limit.Bytes {
		said = append(said, fmt.Sprintf("warning: the system may end this process: --memory is %dMiB %s: raise its limit",
			int64(c.Memory)>>20, why))
	}
	return said
}

// limitMemory checks --memory, and makes the garbage collector work harder near that limit. Without
// a limit, the heap grows to twice the live data. A quarter is left for memory outside the heap.
// GOMEMLIMIT in the environment takes precedence.
func (c *cli) limitMemory() error {
	if c.Memory < minMemory {
		return fmt.Errorf("--memory %d: too little for any command; give at least 256MiB", c.Memory)
	}
	tiles.SetCacheBytes(int64(c.Memory) / 16)
	places.SetCacheBytes(int64(c.Memory) / 64)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(c.Memory) / 4 * 3)
	}
	return nil
}

func main() {
	configfile.Environment(variables.Prefix)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal stops the job cleanly; a second one, after this point, kills the process.
	told := make(chan struct{})
	ignore := context.AfterFunc(ctx, func() {
		defer close(told)
		stop()
		fmt.Fprintln(os.Stderr, "ingest: stopping; another Ctrl-C ends it at once, with nothing lost but its work")
	})
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if !ignore() { // stop ends ctx too
		<-told // its message comes before the error
	}
	stop()
	if err != nil && !errors.Is(err, errUnread) {
		fmt.Fprintln(os.Stderr, "ingest:", err)
	}
	if cellstore.IsNoSpace(err) {
		fmt.Fprintln(os.Stderr, "ingest: the disk is full: what did not fit was not published, and what was published "+
			"before is as it was. Make room, "+
			"for example by ingest prune, and run the same command again: it removes what this one left")
	}
	os.Exit(exitCode(err))
}

// openCatalog opens the directory of the data sets. What is published is read as it is at one moment, when the command
// began: points expire.
func openCatalog(dir string, began time.Time) (*dataset.Catalog, error) {
	clock := cellstore.NewClock(cellstore.ClockOptions{Wall: began.UnixMilli})
	return dataset.Open(dir, func(_, dir string, readOnly bool) (cellstore.Store, error) {
		o := &pebblestore.Options{ReadOnly: readOnly}
		if readOnly {
			o.Clock = clock
		}
		return pebblestore.Open(dir, o)
	})
}

// errUnread is matched by the error of a command whose output nobody reads any more, such as head. It ends silently, as
// other programs do.
var errUnread = errors.New("nobody reads standard output any more")

// exitCode returns the exit code for an error: 0 done, 1 failed, 2 wrong usage, 3 refused by
// --max-change, 130 interrupted, 141 unread.
func exitCode(err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		return 2
	case errors.Is(err, job.ErrChanged):
		return 3
	case errors.Is(err, context.Canceled): // also true for interruptedError
		return 130
	case errors.Is(err, errUnread):
		return 128 + int(syscall.SIGPIPE)
	}
	return 1
}

// usageError is a command line, environment or configuration file that cannot
// be followed.
type usageError struct{ err error }

func (e *usageError) Error() string {
	return e.err.Error() + "; run ingest --help, or ingest COMMAND --help"
}
func (e *usageError) Unwrap() error { return e.err }

// exited is a panic value with the exit code that the parser requests, for example after --help;
// run recovers it.
type exited int

// run runs the program. Results go to stdout, progress goes to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(exited); !ok {
				panic(p)
			}
			err = nil
		}
	}()
	var c cli
	parser, err := newParser(&c, stdout, stderr)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	var settings []configfile.Setting
	var memory []string
	if err == nil {
		settings = configfile.Settings(command, c.file, onlyFlags...)
		memory = c.fitMemory(memlimit.Detect(), settings)
		err = errors.Join(c.complete(command), c.limitMemory())
	}
	if err != nil {
		return &usageError{err}
	}
	rep := newReporter(&c, stdout, stderr)
	defer rep.close()
	defer rep.keepTelling()()
	began := time.Now()
	catalog, err := openCatalog(c.Data, began)
	if err != nil {
		return err
	}
	s := &session{
		ctx: ctx, began: began, catalog: catalog, reporter: rep, stdout: stdout,
		options: job.Options{Reporter: rep, MaxBad: float64(c.MaxBad), Memory: int64(c.Memory), Stdin: os.Stdin},
		json:    c.JSON, quiet: c.Quiet,
		cli: &c, settings: settings,
	}
	s.options.Reporter = &published{Reporter: rep, session: s}
	if err := s.openDepot(); err != nil {
		return &usageError{err}
	}
	defer func() { err = errors.Join(err, s.closeDepot()) }()
	if command.Command() != "config check" { // that command fails for these
		for _, unknown := range variables.Unknown(os.Environ()) {
			rep.Note("warning: " + unknown.Error())
		}
	}
	if node := command.Selected(); node != nil && node.Group != nil && node.Group.Key == "publish" {
		for _, line := range memory { // other commands take little
			rep.Note(line)
		}
	}
	for _, node := range parser.Model.Children {
		if node.Tag.Has("config") {
			s.commands = append(s.commands, node.Name)
		}
	}
	// For data sets that were published before a failure, the names are indexed and the data is
	// pushed nevertheless.
	if err = command.Run(s); s.ctx.Err() == nil {
		err = errors.Join(err, s.indexNames())
	}
	err = errors.Join(err, s.pushPublished(command))
	rep.warn()
	if err = s.interrupted(command, err); err != nil {
		rep.failed(err)
	}
	return err
}

// Command tileserver serves published data sets over HTTP: map tiles, the regions and features at a
// point, nearby places and IP geolocation.
//
// It opens the generations that ingest has published below its data directory, and takes newer ones
// into service as they appear. Any number of servers may use one directory. Its only state is the
// live collections of points in --live.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"quadrille/cmd/internal/configfile"
	"quadrille/cmd/internal/variables"
)

func main() {
	configfile.Environment(variables.Prefix)
	if runtime.GOMAXPROCS(0) == 1 && os.Getenv("GOMAXPROCS") == "" {
		// With only one processor, the runtime does not poll the network for up to 10 ms while
		// anything is computed, or while a write waits for the disk.
		runtime.GOMAXPROCS(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal drains the server. After this call, a second signal kills it.
	context.AfterFunc(ctx, stop)
	cfg, err := parse(os.Args[1:], os.Stdout, os.Stderr)
	if err == nil {
		err = cfg.run(ctx, os.Stdout, os.Stderr)
	}
	stop()
	if err != nil && !errors.Is(err, errDone) {
		last := newLogQueue(os.Stderr, cfg.handler) // whose reader may be stuck
		cfg.sayLast(last, err)
		last.Close(logTimeout)
	}
	os.Exit(exitCode(err))
}

// sayLast writes why the program ends, as the log is written.
func (c *config) sayLast(w io.Writer, err error) {
	if c.LogFormat == "json" {
		slog.New(c.handler(w)).Error("tileserver ends", "error", err)
		return
	}
	fmt.Fprintln(w, "tileserver:", err)
}

// exitCode returns 0 for success, 1 for a failure and 2 for wrong usage. Both programs use these
// codes.
func exitCode(err error) int {
	var usage *usageError
	switch {
	case err == nil, errors.Is(err, errDone):
		return 0
	case errors.As(err, &usage):
		return 2
	}
	return 1
}

// usageError is the error of an invalid command line, environment or configuration file.
type usageError struct{ err error }

func (e *usageError) Error() string {
	return e.err.Error() + "; run tileserver --help, or tileserver COMMAND --help"
}
func (e *usageError) Unwrap() error { return e.err }

// run executes the command line.
func (c *config) run(ctx context.Context, stdout, stderr io.Writer) error {
	switch c.command {
	case "serve":
		return runServer(ctx, c, stdout, stderr)
	case "keys new <name>":
		return c.KeyCommand.New.run(ctx, c.Guard.Keys, stdout, stderr)
	case "live verify <dir>":
		return c.LiveCommand.Verify.run(ctx, stdout)
	case "live export <dir>":
		return c.LiveCommand.Export.run(ctx, stdout, stderr)
	case "live repair <dir>":
		return c.LiveCommand.Repair.run(ctx, stdout)
	case "live backup <dir> <to>":
		return c.LiveCommand.Backup.run(ctx, c.AdminListen, stdout)
	}
	return c.inspect(stdout)
}

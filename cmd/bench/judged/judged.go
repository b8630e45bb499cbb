// Package judged has the common parts of the judges of answers: the two sets of data, a server for
// each, the files that record failures, and readers of the publishers' files. The readers share no
// code with ingest and the server, so that one mistake cannot hide another.
package judged

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// These are the sets of data.
const (
	Demo = "demo" // the data of `make demo`
	Full = "full" // made from the publishers' files
)

// Options are the flags of every judge.
type Options struct {
	Demo   string `default:"data" type:"path" help:"Data directory with the demo's data; without places it is skipped."`
	Full   string `default:"../shared/data" type:"path" help:"Publishers' files that the full data is made from; skipped if they are absent."`
	Made   string `type:"path" help:"Directory that keeps the full data for the next run; a temporary one if not given."`
	Bin    string `type:"path" help:"Directory with ingest and tileserver; they are built if not given."`
	Record string `default:"${record}" type:"path" help:"Directory of the recorded files."`
	Update bool   `help:"Write the recorded files instead of comparing with them."`
}

// ErrNoData is matched if neither set exists.
var ErrNoData = errors.New("there is no data to judge: run make demo, or name the demo's data with --demo")

// Each serves each existing set, one after the other, and calls ask with the address of the server.
func (o *Options) Each(ctx context.Context, ask func(ctx context.Context, site, set string) error) (err error) {
	scratch, err := os.MkdirTemp("", "judged-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	p, asked := Programs{o.Bin}, 0
	for _, set := range []string{Demo, Full} {
		data := o.Demo
		if set == Full {
			if data = o.Made; data == "" {
				data = filepath.Join(scratch, "data")
			}
		}
		if missing := o.absent(set); missing != "" {
			fmt.Fprintf(os.Stderr, "the %s data is skipped: there is no %s\n", set, missing)
			continue
		}
		if p.Dir == "" {
			p.Dir = scratch
			if err := p.Build(ctx); err != nil {
				return err
			}
		}
		if _, err := os.Stat(filepath.Join(data, "airports")); set == Full && err != nil { // the last of its data sets
			if err := p.ingestFull(ctx, data, o.Full); err != nil {
				return err
			}
		}
		if err := p.Serve(ctx, data, func(ctx context.Context, site string) error { return ask(ctx, site, set) }); err != nil {
			return err
		}
		asked++
	}
	if asked == 0 {
		return ErrNoData
	}
	return nil
}

// WorldOptions are the flags of judges that compare with the publishers' files.
type WorldOptions struct {
	Options
	Sample string `default:"sample" type:"path" help:"Directory of the packages that the demo's data is made from."`
}

// EachWorld serves each set as Each does, and calls ask with the publishers' files of the set. A
// set whose files are absent is skipped, and a message says so. The report that ask returns is
// printed, and its record is compared with the one on file.
func (o *WorldOptions) EachWorld(ctx context.Context,
	ask func(ctx context.Context, site string, w *World) (report, record string, err error)) error {
	return o.Each(ctx, func(ctx context.Context, site, set string) error {
		w, err := o.ReadWorld(set, o.Sample)
		if errors.Is(err, os.ErrNotExist) {
			fmt.Fprintf(os.Stderr, "the %s data is skipped: %v; run make sample, or name the sample's directory with --sample\n", set, err)
			return nil
		}
		if err != nil {
			return err
		}
		report, record, err := ask(ctx, site, w)
		if err != nil {
			return err
		}
		fmt.Printf("\n%s:\n\n%s", set, report)
		return o.CompareRecord(set+".failing", []byte(record))
	})
}

// Main reads the flags of a judge, which has the name of its folder, and runs it. If the judge
// fails, Main ends the process with a status other than 0.
func Main(name, does string, flags any, run func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	kong.Parse(flags, kong.Description(does), kong.Vars{"record": "cmd/bench/" + name + "/testdata"})
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Get returns the body of an answer. If the status is not 200, the error matches ErrRefused. Its
// text has the status and the message of the server.
func Get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	const most = 1 << 20 // bytes: more than any answer that is judged
	body, err := io.ReadAll(io.LimitReader(res.Body, most))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%w: %s: %.200s", ErrRefused, res.Status, body)
	}
	return body, err
}

// ErrRefused is matched when a server answers with another status than 200.
var ErrRefused = errors.New("no answer")

// absent returns a path that a set needs but that does not exist.
func (o *Options) absent(set string) string {
	path := filepath.Join(o.Demo, "places")
	if set == Full {
		path = o.Full
	}
	if _, err := os.Stat(path); err != nil {
		return path
	}
	return ""
}

// CompareRecord compares the present failures with the recorded file of that name, or writes it.
func (o *Options) CompareRecord(name string, failing []byte) error {
	path := filepath.Join(o.Record, name)
	if o.Update {
		return os.WriteFile(path, failing, 0o644)
	}
	before, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w; write it with --update", err)
	}
	if err != nil {
		return err
	}
	if !bytes.Equal(before, failing) {
		fmt.Fprintf(os.Stderr, "%s has changed (- before, + now):\n%s", path, Difference(before, failing))
	}
	return nil
}

// Difference returns the lines that only one of two files has.
func Difference(before, now []byte) string {
	lines := func(b []byte) []string { return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") }
	was, is := lines(before), lines(now)
	var b strings.Builder
	for _, line := range was {
		if !slices.Contains(is, line) {
			b.WriteString("-" + line + "\n")
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			b.WriteString("+" + line + "\n")
		}
	}
	return b.String()
}

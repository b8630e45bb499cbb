package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/filelock"
	"quadrille/cellstore/pebblestore"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/places/live"
	"quadrille/places/points"
)

// liveCommand is the command "tileserver live".
type liveCommand struct {
	Verify verifyLiveCommand `cmd:"" help:"Read every row of the live collections of a directory that no server has open, and say which are whole. Exits 1 if one is not."`
	Export exportLiveCommand `cmd:"" help:"Write the points of live collections as GeoJSON, a Feature in each line, which POST /points/NAME takes."`
	Repair repairLiveCommand `cmd:"" help:"Make damaged collections anew of what can be read of them. What was damaged is set aside and never removed."`
	Backup backupCommand     `cmd:"" help:"Copy the live collections, also while a server has them open: then it makes the copy, by its --admin-listen, in its --backup-dir."`
}

// checkLive returns an error if a directory does not contain live collections.
func checkLive(dir string) error {
	if st, err := os.Stat(filepath.Join(dir, "tables")); err != nil || !st.IsDir() {
		return fmt.Errorf("%s holds no live collections: name the directory that tileserver --live has", dir)
	}
	return nil
}

// openStopped opens the live collections of a directory that no server has open.
func openStopped(dir string) (*pebblestore.Store, error) {
	if err := checkLive(dir); err != nil {
		return nil, err
	}
	store, err := pebblestore.Open(dir, nil)
	if errors.Is(err, cellstore.ErrLocked) {
		return nil, fmt.Errorf("%s is in use by a server, or by another command: stop it first: %w", dir, err)
	}
	if err != nil {
		return nil, err
	}
	if _, err := onlyLive(context.Background(), store, dir); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// onlyLive returns the names of the live collections in a store. It refuses a store with other
// tables, because the store belongs to another purpose or to a newer program.
func onlyLive(ctx context.Context, store cellstore.Store, dir string) (names []string, err error) {
	tables, err := store.Tables(ctx)
	if err != nil {
		return nil, err
	}
	if names, err = points.LiveKind.Names(ctx, store); err != nil {
		return nil, err
	}
	for _, table := range tables {
		if !slices.ContainsFunc(names, func(name string) bool { return points.LiveKind.Table(name) == table }) {
			return nil, fmt.Errorf("%s has a table %s, which is of no live collection: name a directory of its own, or use the "+
				"program that wrote it", dir, table)
		}
	}
	return names, nil
}

// repairDir is the directory for the repaired collections that will replace damaged ones. The
// damaged ones are moved to damagedDir.
const (
	repairDir  = "repair"
	damagedDir = "damaged"
)

// checkRepaired refuses a directory in which a repair was interrupted, because a collection may be
// temporarily missing.
func checkRepaired(dir string) error {
	switch _, err := os.Lstat(filepath.Join(dir, repairDir)); {
	case err == nil:
		return fmt.Errorf("a repair of %s was interrupted: run tileserver live repair %s, which goes on", dir, dir)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

type verifyLiveCommand struct {
	Dir string `arg:"" help:"The directory of --live."`
}

func (c *verifyLiveCommand) run(ctx context.Context, stdout io.Writer) (err error) {
	if err := checkRepaired(c.Dir); err != nil {
		return err
	}
	store, err := openStopped(c.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	damaged, err := verifyLive(ctx, store, stdout)
	if len(damaged) > 0 {
		err = errors.Join(err, fmt.Errorf("damaged: %s: restore a backup, or make them anew of what can be read by "+
			"tileserver live repair %s", strings.Join(damaged, ", "), c.Dir))
	}
	return err
}

// verifyLive writes for every collection whether it is intact, and returns the damaged ones. The
// error names the collections that could not be checked.
func verifyLive(ctx context.Context, store cellstore.Store, out io.Writer) (damaged []string, err error) {
	names, err := points.LiveKind.Names(ctx, store)
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, name := range names {
		report, err := points.VerifyLive(ctx, store, name)
		var wrote error
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, cellstore.ErrLayout):
			failed = append(failed, fmt.Errorf("%s: nothing is changed: %w", name, err))
		case errors.Is(err, live.ErrUnfinished):
			_, wrote = fmt.Fprintf(out, "%s: was not made to the end and holds nothing\n", name)
		case errors.Is(err, cellstore.ErrCorrupt):
			damaged = append(damaged, name)
			_, wrote = fmt.Fprintf(out, "%s: damaged: %v\n", name, err)
		case err != nil:
			failed = append(failed, fmt.Errorf("%s: mend what keeps it from being read: nothing is changed: %w", name, err))
		case report.FaultyRows > 0:
			damaged = append(damaged, name)
			_, wrote = fmt.Fprintf(out, "%s: damaged: %d faults in %d rows; %s\n", name, report.FaultyRows, report.Rows,
				strings.Join(report.Faults, "; "))
		default:
			_, wrote = fmt.Fprintf(out, "%s: whole, %d points\n", name, report.Points)
		}
		if wrote != nil {
			return nil, wrote
		}
	}
	return damaged, errors.Join(failed...)
}

// readRows calls fn with the rows of a table, each with all its versions.
func readRows(ctx context.Context, t cellstore.Table, fn func(*cellstore.Row) error) error {
	for row, err := range t.Scan(ctx, cellstore.Scan{Selection: cellstore.Selection{Versions: cellstore.Unlimited}}) {
		if err == nil {
			err = fn(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// salvage does the same as readRows, for a damaged collection in a directory that no program has
// open. lost lists the parts that could not be read.
func salvage(ctx context.Context, dir, name string, fn func(*cellstore.Row) error) (lost string, err error) {
	damage, err := pebblestore.Salvage(ctx, dir, points.LiveKind.WidestSchema(name), nil, fn)
	return strings.Join(damage, "; "), err
}

type exportLiveCommand struct {
	Dir        string `arg:"" help:"The directory of --live."`
	Collection string `env:"-" placeholder:"NAME" help:"The collection; all if none is given. Each Feature has the member collection."`
	Out        string `env:"-" default:"-" placeholder:"FILE" help:"A file that is not there yet; standard output if none is given."`
}

func (c *exportLiveCommand) run(ctx context.Context, stdout, stderr io.Writer) (err error) {
	if err := checkRepaired(c.Dir); err != nil {
		return err
	}
	store, err := openStopped(c.Dir)
	if err != nil {
		return err
	}
	closeStore := sync.OnceValue(store.Close)
	defer func() { err = errors.Join(err, closeStore()) }()
	names, err := points.LiveKind.Names(ctx, store)
	if err != nil {
		return err
	}
	if c.Collection != "" {
		if !slices.Contains(names, c.Collection) {
			return fmt.Errorf("%s has no collection %s: it has %s", c.Dir, c.Collection, strings.Join(names, ", "))
		}
		names = []string{c.Collection}
	}
	if c.Out != "-" {
		f, ferr := os.OpenFile(c.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if ferr != nil {
			return ferr
		}
		defer func() { err = errors.Join(err, f.Sync(), f.Close()) }()
		stdout = f
	}
	x := &exporter{out: bufio.NewWriter(stdout), notes: stderr}
	damaged, err := x.whole(ctx, store, names)
	if err != nil {
		return err
	}
	if closeStore() != nil {
		return errors.Join(x.failed...) // and why
	}
	for _, name := range damaged {
		err := x.collection(name, func(fn func(*cellstore.Row) error) (string, error) { return salvage(ctx, c.Dir, name, fn) })
		if err := x.note(ctx, err); err != nil {
			return err
		}
	}
	if len(damaged) > 0 {
		x.failed = append(x.failed, fmt.Errorf("not all could be read of %s", strings.Join(damaged, ", ")))
	}
	return errors.Join(x.failed...)
}

// exporter writes points as Features.
type exporter struct {
	out    *bufio.Writer
	notes  io.Writer // how many points each collection has
	f      feature.Feature
	line   []byte
	n      int64   // of a collection
	failed []error // why collections are not all written
}

// whole exports the collections that can be read to their ends, and returns the damaged ones.
func (x *exporter) whole(ctx context.Context, store cellstore.Store, names []string) (damaged []string, err error) {
	for _, name := range names {
		t, err := store.Table(ctx, points.LiveKind.Table(name))
		if err == nil { // a line that is written cannot be taken back
			err = readRows(ctx, t, func(*cellstore.Row) error { return nil })
		}
		switch {
		case errors.Is(err, cellstore.ErrCorrupt):
			damaged = append(damaged, name)
			continue
		case err == nil:
			err = x.collection(name, func(fn func(*cellstore.Row) error) (string, error) { return "", readRows(ctx, t, fn) })
		default:
			err = fmt.Errorf("%s: %w", name, err)
		}
		if err := x.note(ctx, err); err != nil {
			return nil, err
		}
	}
	return damaged, nil
}

// note records why a collection is not completely written. It returns the error only if the other
// collections cannot be written either.
func (x *exporter) note(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || x.out.Flush() != nil {
		return err
	}
	x.failed = append(x.failed, err)
	return nil
}

// collection writes the points among the rows of a collection, and records their number.
func (x *exporter) collection(name string, rows func(func(*cellstore.Row) error) (lost string, err error)) error {
	x.n = 0
	lost, err := rows(func(row *cellstore.Row) error { return x.write(name, row) })
	if err := errors.Join(err, x.out.Flush()); err != nil {
		return fmt.Errorf("%s: not all points are written: %w", name, err)
	}
	text := fmt.Sprintf("%s: %d points", name, x.n)
	if lost != "" {
		text += "; not all could be read: " + lost
	}
	_, err = fmt.Fprintln(x.notes, text)
	return err
}

func (x *exporter) write(name string, row *cellstore.Row) error {
	f := &x.f
	if !points.DecodeRow(row, f) {
		return nil
	}
	x.n++
	b, err := (&feature.Writer{GeoJSON: true}).AppendUnclosed(x.line[:0], f, "")
	if err != nil {
		return err
	}
	if !f.Expires.IsZero() {
		b = append(f.Expires.AppendFormat(append(b, `,"expires":"`...), time.RFC3339Nano), '"')
	}
	x.line = append(jsontext.AppendString(append(b, `,"collection":`...), name), "}\n"...)
	_, err = x.out.Write(x.line)
	return err
}

type repairLiveCommand struct {
	Dir string `arg:"" help:"The directory of --live."`
}

// run first makes the repaired collections in a separate store. Once this store is complete, it
// gets the name repair, and its collections replace the damaged ones. If a run finds a store with
// this name, it continues with the second step, because the previous run was interrupted.
func (c *repairLiveCommand) run(ctx context.Context, stdout io.Writer) (err error) {
	if err := checkLive(c.Dir); err != nil {
		return err
	}
	ready := filepath.Join(c.Dir, repairDir)
	lock, err := filelock.Open(ready + ".lock") // the store is closed while copies are made
	if errors.Is(err, filelock.ErrLocked) {
		return fmt.Errorf("%s is being repaired: wait for that to end: %w", c.Dir, err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(lock.Name()), lock.Close()) }()
	if checkRepaired(c.Dir) != nil {
		return c.replace(nil, ready, stdout)
	}
	made, lost, err := c.prepare(ctx, ready+".tmp", stdout)
	if err != nil {
		return err
	}
	if len(made) > 0 {
		if err := c.replace(made, ready, stdout); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(ready + ".tmp"); err != nil { // it holds nothing
		return err
	}
	if len(lost) > 0 {
		return fmt.Errorf("nothing can be read of %s: it is left as it is; restore a backup", strings.Join(lost, ", "))
	}
	return nil
}

// tableState describes the files of a collection by their names, sizes and times. It
// changes when a server opens the collection.
func tableState(dir, name string) (string, error) {
	var state strings.Builder
	root := filepath.Join(dir, "tables", points.LiveKind.Table(name))
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "LOCK" { // reading takes the lock
			return err
		}
		info, err := os.Lstat(path)
		if err == nil {
			fmt.Fprintf(&state, "%q %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	return state.String(), err
}

// prepare makes the store of repaired collections. made has the state of each damaged collection
// before it was read, by name. lost names the collections that could not be read at all.
func (c *repairLiveCommand) prepare(ctx context.Context, dir string, stdout io.Writer) (made map[string]string, lost []string, err error) {
	store, err := openStopped(c.Dir)
	if err != nil {
		return nil, nil, err
	}
	damaged, err := verifyLive(ctx, store, stdout)
	if err = errors.Join(err, store.Close()); err != nil || len(damaged) == 0 {
		return nil, nil, err
	}
	if err := os.RemoveAll(dir); err != nil { // copies of an interrupted repair
		return nil, nil, err
	}
	to, err := pebblestore.Open(dir, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	made = map[string]string{}
	for _, name := range damaged {
		state, err := tableState(c.Dir, name)
		if err != nil {
			return nil, nil, err
		}
		rescuer, err := points.NewRescuer(ctx, to, name)
		if err != nil {
			return nil, nil, err
		}
		rows := 0
		gone, err := salvage(ctx, c.Dir, name, func(row *cellstore.Row) error {
			rows++
			return rescuer.Add(ctx, row)
		})
		if err != nil {
			return nil, nil, err
		}
		if rows == 0 {
			lost = append(lost, name)
			if err := to.DropTable(ctx, points.LiveKind.Table(name)); err != nil {
				return nil, nil, err
			}
			continue
		}
		report, err := rescuer.Finish(ctx)
		if err != nil {
			return nil, nil, err
		}
		made[name] = state
		text := fmt.Sprintf("%s: %d points are rescued", name, report.Points)
		if report.Earlier > 0 {
			text += fmt.Sprintf(", %d of them as they were earlier", report.Earlier)
		}
		if report.Lost > 0 {
			text += fmt.Sprintf("; of %d the id is left and the point is lost", report.Lost)
		}
		if report.Skipped > 0 {
			text += fmt.Sprintf("; %d rows hold nothing sound", report.Skipped)
		}
		if gone != "" {
			text += "; not all could be read, so points may be missing, or removed ones be back: " + gone
		}
		if report.Description {
			text += "; its description is lost, so it is private now and has neither title nor history"
		}
		if _, err := fmt.Fprintln(stdout, text); err != nil {
			return nil, nil, err
		}
	}
	return made, lost, nil
}

// replace moves damaged collections away and moves the repaired ones to their paths. Meanwhile it
// holds the lock of the directory, so that no server has the moved files open. states is the result
// made of prepare, or nil if an earlier run has already compared the states.
func (c *repairLiveCommand) replace(states map[string]string, ready string, stdout io.Writer) (err error) {
	lock, err := openStopped(c.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	for name, before := range states {
		switch now, err := tableState(c.Dir, name); {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		case now != before:
			return fmt.Errorf("%s has changed since it was read, as a server was started meanwhile: nothing is replaced: run "+
				"tileserver live repair %s again while none runs", name, c.Dir)
		}
	}
	if states != nil {
		if err := os.Rename(ready+".tmp", ready); err != nil {
			return err
		}
		if err := syncDir(c.Dir); err != nil {
			return err
		}
	}
	repaired, err := os.ReadDir(filepath.Join(ready, "tables"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // all is in its place, and only ready was left to be removed
		return err
	}
	aside := filepath.Join(c.Dir, damagedDir)
	if err := os.MkdirAll(aside, 0o755); err != nil {
		return err
	}
	tables := filepath.Join(c.Dir, "tables")
	for _, entry := range repaired {
		table := entry.Name()
		if !strings.HasPrefix(table, points.LiveKind.Table("")) {
			continue
		}
		to := filepath.Join(aside, table+"-"+time.Now().UTC().Format("20060102T150405.000000000Z"))
		switch err := os.Rename(filepath.Join(tables, table), to); {
		case err == nil:
			if _, err := fmt.Fprintf(stdout, "what was damaged is in %s\n", to); err != nil {
				return err
			}
		case !errors.Is(err, fs.ErrNotExist): // it was set aside before
			return err
		}
		for _, dir := range []string{aside, tables} {
			if err := syncDir(dir); err != nil {
				return err
			}
		}
		if err := os.Rename(filepath.Join(ready, "tables", table), filepath.Join(tables, table)); err != nil {
			return err
		}
		if err := syncDir(tables); err != nil {
			return err
		}
	}
	return os.RemoveAll(ready) // which has no table any more
}

// Package renew decides whether a data set's inputs have changed since it was published.
package renew

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/timezones"
	"quadrille/cmd/ingest/internal/source"
)

// Basis is all that the content of a generation depends on. It is kept in a file, so that the next
// run can see whether there is anything to do.
type Basis struct {
	Generation uint64   `json:"generation"`
	Inputs     []string `json:"of"`
}

// BasisOf lists the inputs of a job: the caller's own, such as the program and its settings; the
// content of the files; and the published generations of the data sets that the job uses.
func BasisOf(ctx context.Context, c *dataset.Catalog, name string, of, files []string) (Basis, error) {
	of = slices.Clone(of)
	for _, path := range files {
		sum, err := fingerprint(ctx, path)
		if err != nil {
			return Basis{}, err
		}
		of = append(of, path+" "+sum)
	}
	if name == ask.TimeZones.Name {
		of = append(of, "zones "+timezones.Version())
	}
	d, _ := ask.FindDataset(name)
	for _, other := range d.Uses {
		m, err := c.Current(ctx, other)
		if err != nil && !errors.Is(err, dataset.ErrNoGeneration) {
			return Basis{}, err
		}
		of = append(of, fmt.Sprint(other, " ", m.Generation))
	}
	return Basis{Inputs: of}, nil
}

// fingerprint returns a checksum of a file, of a shapefile with its companion files, or of all
// files of a folder or a pattern with their names.
func fingerprint(ctx context.Context, path string) (string, error) {
	files, root, err := source.Expand(path, func(string) bool { return true })
	if err != nil {
		return "", err
	}
	if root == "" {
		files, root = []string{path}, filepath.Dir(path)
	}
	if strings.EqualFold(filepath.Ext(path), ".shp") {
		stem := strings.TrimSuffix(path, filepath.Ext(path))
		for _, ext := range []string{".dbf", ".DBF", ".prj", ".PRJ", ".cpg", ".CPG"} {
			if _, err := os.Stat(stem + ext); err == nil {
				files = append(files, stem+ext)
			}
		}
	}
	all := sha256.New()
	for _, name := range files {
		src, err := dataset.FileSource(ctx, name)
		if err != nil {
			return "", err
		}
		if len(files) == 1 && name == path {
			return src.SHA256, nil
		}
		within, err := filepath.Rel(root, name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(all, "%s %q\n", src.SHA256, within)
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

// Renew runs build and replaces the record at the given path. It does not run build if, according
// to the record, the published generation has the same basis in the present layout, or if such a
// generation was rolled back. A build that publishes nothing, like a dry run, is not recorded.
func (b Basis) Renew(ctx context.Context, c *dataset.Catalog, name, record string, force bool, rep job.Reporter, build func() error) error {
	before, err := c.Current(ctx, name)
	if err == nil && !force {
		d, known := ask.FindDataset(name)
		if same := b.same(record, name, before.Generation, known && before.SchemaVersion != d.Schema); same != "" {
			rep.Note(same)
			return nil
		}
	}
	if err := build(); err != nil {
		return err
	}
	current, err := c.Current(ctx, name)
	if errors.Is(err, dataset.ErrNoGeneration) || err == nil && current.Generation == before.Generation {
		return nil
	}
	if err != nil {
		return err
	}
	b.Generation = current.Generation
	return b.save(record)
}

// NotRenewed returns the error of a run that did not renew everything. names are the data sets or
// commands that were not renewed, and errs are their errors in the same order. If there are no
// names, NotRenewed returns nil.
func NotRenewed(names []string, errs []error) error {
	if len(names) == 0 {
		return nil
	}
	all := []error{fmt.Errorf("not renewed, and still served as before where they were: %s", strings.Join(names, ", "))}
	for i, name := range names {
		all = append(all, fmt.Errorf("%s: %w", name, errs[i]))
	}
	return errors.Join(all...)
}

// same returns the reason why there is nothing to do, or "" if there is something. There is nothing
// to do if, according to the record, the published generation has the same inputs in the present
// layout. There is also nothing to do if such a generation was rolled back, because it must not be
// published again automatically.
func (b Basis) same(record, dataset string, published uint64, otherLayout bool) string {
	text, err := os.ReadFile(record)
	var before Basis
	if err != nil || json.Unmarshal(text, &before) != nil || !slices.Equal(before.Inputs, b.Inputs) {
		return ""
	}
	switch {
	case before.Generation == published && !otherLayout:
		return fmt.Sprintf("%s generation %d was made of the same; --force makes it anew", dataset, published)
	case before.Generation > published:
		return fmt.Sprintf("%s generation %d is published, rolled back from %d, which was made of the same; --force makes it anew",
			dataset, published, before.Generation)
	}
	return ""
}

// CarryForward makes the record of generation from valid for the later generation to. That
// generation has all of the earlier one, plus an addition by a command. If the record is missing or
// of another generation, it changes nothing.
func CarryForward(record string, from, to uint64) error {
	text, err := os.ReadFile(record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var b Basis
	if json.Unmarshal(text, &b) == nil && b.Generation == from {
		b.Generation = to
		return b.save(record)
	}
	return nil // the next run makes the data set anew
}

// save replaces the record, and creates its directory if that is missing. The temporary file has a
// name of its own, since two programs may save the same record.
func (b Basis) save(record string) error {
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(record), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(record), filepath.Base(record)+".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), record)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

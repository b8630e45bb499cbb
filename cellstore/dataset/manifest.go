package dataset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"time"

	"quadrille/cellstore"
)

// manifestVersion is the newest version of manifest.json this package reads,
// and the one it writes.
const manifestVersion = 1

// maxManifest bounds manifest.json and CURRENT, in bytes. Writers check it too, so that readers
// never refuse a published one.
const maxManifest = 16 << 20

// Source is one file a generation was built from.
type Source struct {
	Name        string    `json:"name"`                  // "Natural Earth 1:10m countries"
	File        string    `json:"file,omitempty"`        // base name of the file read
	SHA256      string    `json:"sha256,omitempty"`      // of that file's bytes, hexadecimal
	Bytes       int64     `json:"bytes,omitempty"`       // its size
	Records     int64     `json:"records,omitempty"`     // good records in the file, if counted
	Modified    time.Time `json:"modified,omitzero"`     // modification or release date
	Version     string    `json:"version,omitempty"`     // as the publisher counts
	License     string    `json:"license,omitempty"`     // SPDX identifier where there is one
	Attribution string    `json:"attribution,omitempty"` // what must be shown with the data
	Layers      []string  `json:"layers,omitempty"`      // what is made of it, where a generation has several
}

// Is reports whether two sources are the same, whatever is made of them.
func (s Source) Is(other Source) bool {
	s.Layers, other.Layers = nil, nil
	return reflect.DeepEqual(s, other)
}

// SourcesOf returns the sources of some layers of a generation, or all if none is named. Sources of
// older generations do not say their layers, and count for each.
func (m *Manifest) SourcesOf(layers ...string) []Source {
	return slices.DeleteFunc(slices.Clone(m.Sources), func(s Source) bool {
		return len(layers) > 0 && len(s.Layers) > 0 && !slices.ContainsFunc(s.Layers, func(l string) bool { return slices.Contains(layers, l) })
	})
}

// File is one file of a generation.
type File struct {
	Path   string `json:"path"` // slash-separated, relative to the generation
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // hexadecimal
}

// Manifest describes a generation. [Build.Publish] fills in Version, Dataset,
// Generation, Files and, when zero, Built; the rest is the builder's. A
// manifest handed out by this package is shared: treat it as read-only.
type Manifest struct {
	Version    int    `json:"version"` // of this format: manifestVersion
	Dataset    string `json:"dataset"`
	Generation uint64 `json:"generation"`
	// SchemaVersion is the version of the domain package's row layout; see
	// CheckSchema.
	SchemaVersion int       `json:"schema_version"`
	Built         time.Time `json:"built"`
	// Records counts the stored records by kind, and Bad the refused ones by reason.
	Records map[string]int64 `json:"records,omitempty"`
	Bad     map[string]int64 `json:"bad,omitempty"`
	Sources []Source         `json:"sources,omitempty"`
	// Predecessor is the generation that was published before, or nil if there was none. See SetPredecessor.
	Predecessor *Predecessor `json:"replaced,omitempty"`
	// Bounds is west, south, east, north in degrees, or empty. West > east
	// means the extent crosses ±180°.
	Bounds []float64 `json:"bounds,omitempty"`
	// Meta belongs to the domain package. Readers get it in compact form.
	Meta  json.RawMessage `json:"meta,omitempty"`
	Files []File          `json:"files"`
	// Tables sums up the tables of a generation in a Depot. Its Files are only
	// those beside the store. In a Catalog, tables are files and Tables is empty.
	Tables []TableSummary `json:"tables,omitempty"`
	// Origin is set in a Depot. It is the SHA-256 of the generation's manifest in the Catalog from
	// which the generation was pushed.
	Origin string `json:"origin,omitempty"`
	// Disk is the space that the generation takes on the disk it was read from, in
	// bytes, with directories and partly filled blocks; 0 if unknown, as in a Depot.
	Disk int64 `json:"-"`
	// Digest is the SHA-256 of the manifest as it is stored, hexadecimal. Since the manifest has
	// the checksums of all data, equal digests mean the same generation. It is empty in a manifest
	// that has not been stored.
	Digest string `json:"-"`
}

// TableSummary is the size and checksum of a table of a generation in a Depot.
type TableSummary struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`
	Cells int64  `json:"cells"`
	Bytes int64  `json:"bytes"` // of keys, column names and values
	// Digest is the sum of the SHA-256 hashes of all rows; see tableSum.
	Digest string `json:"digest"`
}

// Size returns the space that the generation takes on the disk, in bytes. If that is not known, it
// is the total size of its files, and of its tables in a Depot.
func (m *Manifest) Size() (n int64) {
	if m.Disk > 0 {
		return m.Disk
	}
	for _, f := range m.Files {
		n += f.Bytes
	}
	for _, t := range m.Tables {
		n += t.Bytes
	}
	return n
}

// CheckSchema returns an error that matches cellstore.ErrNewer when the rows are of a
// newer layout than the newest the caller can read.
func (m *Manifest) CheckSchema(newest int) error {
	return cellstore.CheckLayout(fmt.Sprintf("generation %d of %s", m.Generation, m.Dataset), m.SchemaVersion, 0, newest,
		"run ingest rollback "+m.Dataset)
}

// Timestamp returns the cell timestamp of data built from these sources: the modification date of
// the newest source, in Unix milliseconds. It is 0 when no source has a date after 1970, since cell
// timestamps are never negative.
func Timestamp(sources []Source) int64 {
	var newest int64
	for _, s := range sources {
		if !s.Modified.IsZero() {
			newest = max(newest, s.Modified.UnixMilli())
		}
	}
	return newest
}

// FileSource describes a file: its base name, size, SHA-256 and modification
// time. The caller adds the other fields, and replaces Modified where the
// publisher gives a better date.
func FileSource(ctx context.Context, path string) (Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return Source{}, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return Source{}, err
	}
	if !st.Mode().IsRegular() {
		return Source{}, fmt.Errorf("%s is not a regular file: name a file", path)
	}
	sum, n, err := digest(ctx, f)
	if err != nil {
		return Source{}, err
	}
	name := filepath.Base(path)
	return Source{Name: name, File: name, SHA256: sum, Bytes: n, Modified: st.ModTime().UTC()}, nil
}

// digest reads r to its end and returns its SHA-256 and length.
func digest(ctx context.Context, r io.Reader) (string, int64, error) {
	h := sha256.New()
	n, err := io.CopyBuffer(h, ctxReader{ctx, r}, make([]byte, 64<<10))
	if err != nil {
		return "", n, err
	}
	return hex.EncodeToString(h.Sum(nil)), n, nil
}

// counter reports the number of bytes read so far from several files.
type counter struct {
	done, total int64
	progress    func(done, total int64) // may be nil
}

func (c *counter) of(r io.Reader) io.Reader { return countedReader{r, c} }

type countedReader struct {
	r io.Reader
	c *counter
}

func (r countedReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if r.c.done += int64(n); r.c.progress != nil {
		r.c.progress(r.c.done, r.c.total)
	}
	return n, err
}

func digestBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (r ctxReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

func encodeManifest(m *Manifest) ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // attributions are read by people
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadManifest, err)
	}
	if b.Len() > maxManifest {
		return nil, fmt.Errorf("%w: %d bytes is over the limit of %d: keep less in Meta", ErrBadManifest, b.Len(), maxManifest)
	}
	return b.Bytes(), nil
}

func decodeManifest(b []byte) (*Manifest, error) {
	var v struct{ Version int }
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, fmt.Errorf("%w: manifest: %w", cellstore.ErrCorrupt, err)
	}
	// Check the version first: a newer format may have other types of fields. check refuses numbers
	// that no program writes.
	if err := cellstore.CheckLayout("the manifest", max(v.Version, 1), 1, manifestVersion, "run ingest rollback"); err != nil {
		return nil, err
	}
	m := new(Manifest)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("%w: manifest: %w", cellstore.ErrCorrupt, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%w: %s", cellstore.ErrCorrupt, err.Error())
	}
	if len(m.Meta) > 0 {
		var meta bytes.Buffer
		if err := json.Compact(&meta, m.Meta); err != nil {
			return nil, fmt.Errorf("%w: manifest: meta: %w", cellstore.ErrCorrupt, err)
		}
		m.Meta = meta.Bytes()
	}
	m.Digest = digestBytes(b)
	return m, nil
}

var sha256RE = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (m *Manifest) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrBadManifest, fmt.Sprintf(format, args...))
	}
	if m.Version < 1 {
		return bad("version %d", m.Version)
	}
	if err := checkName(m.Dataset); err != nil {
		return bad("%v", err)
	}
	if m.Generation == 0 {
		return bad("generation 0")
	}
	if m.SchemaVersion < 0 {
		return bad("schema_version %d", m.SchemaVersion)
	}
	for _, counts := range []map[string]int64{m.Records, m.Bad} {
		for what, n := range counts {
			if n < 0 {
				return bad("%d %s", n, what)
			}
		}
	}
	for _, s := range m.Sources {
		if s.Bytes < 0 || (s.SHA256 != "" && !sha256RE.MatchString(s.SHA256)) {
			return bad("source %q has size %d and checksum %q", s.Name, s.Bytes, s.SHA256)
		}
	}
	if n := len(m.Bounds); n != 0 && (n != 4 || !validBounds([4]float64(m.Bounds))) {
		return bad("bounds %v are not west, south, east, north in degrees", m.Bounds)
	}
	if m.Origin != "" && !sha256RE.MatchString(m.Origin) {
		return bad("origin %q is not a checksum", m.Origin)
	}
	for _, t := range m.Tables {
		if t.Rows < 0 || t.Cells < 0 || t.Bytes < 0 || !sha256RE.MatchString(t.Digest) {
			return bad("table %q has %d rows, %d cells and checksum %q", t.Name, t.Rows, t.Cells, t.Digest)
		}
	}
	seen := make(map[string]bool, len(m.Files))
	for _, f := range m.Files {
		switch {
		case !filepath.IsLocal(filepath.FromSlash(f.Path)) || filepath.ToSlash(filepath.Clean(filepath.FromSlash(f.Path))) != f.Path:
			return bad("file path %q must stay inside the generation", f.Path)
		case seen[f.Path]:
			return bad("file %q is listed twice", f.Path)
		case f.Bytes < 0 || !sha256RE.MatchString(f.SHA256):
			return bad("file %q has size %d and checksum %q", f.Path, f.Bytes, f.SHA256)
		}
		seen[f.Path] = true
	}
	return nil
}

func validBounds(b [4]float64) bool {
	if slices.ContainsFunc(b[:], math.IsNaN) {
		return false
	}
	west, south, east, north := b[0], b[1], b[2], b[3]
	return math.Abs(west) <= 180 && math.Abs(east) <= 180 && south <= north && south >= -90 && north <= 90
}

var nameRE = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)

func checkName(dataset string) error {
	if !nameRE.MatchString(dataset) {
		return fmt.Errorf("%w: %q must match %s", ErrBadName, dataset, nameRE)
	}
	return nil
}

// Package pmtiles writes archives of gzipped vector tiles in version 3 of the
// public PMTiles specification: one file that a map reads over HTTP by ranges.
//
//	header, root directory │ tiles │ leaf directories │ metadata
//	16 KiB                 │       │                  │
//
// Sections may be in any order, so the file is written from front to back. The first 16 KiB are
// filled in at the end, once the root directory is complete. Only one leaf's directory entries are
// kept in memory.
package pmtiles

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"

	"quadrille/cmd/ingest/internal/disk"
	"quadrille/cmd/internal/pmtiles"
	"quadrille/quadkey"
)

// ErrEmpty is returned when an archive would have no tile.
var ErrEmpty = errors.New("no tile to write: the layers show nothing at these zooms")

// Info describes an archive.
type Info struct {
	MinZoom, MaxZoom uint8
	Bounds           [4]float64 // west, south, east, north in degrees
	Center           [3]float64 // longitude, latitude, zoom
	Metadata         []byte     // a JSON object, with vector_layers
}

// Content is a tile's bytes in the archive; several tiles may share one.
type Content struct {
	offset uint64
	length uint32
}

// leafEntries is the number of entries in a leaf directory, 20 to 40 KB.
const leafEntries = 4096

// Writer writes one archive, and belongs to one goroutine. The file gets its final name only when
// Finish has succeeded.
type Writer struct {
	path       string
	file, leaf *os.File // the archive; the leaf directories until the end
	tiles      *bufio.Writer
	dirs       *bufio.Writer

	next     uint64          // first id that may come
	offset   uint64          // of the next content
	pending  []pmtiles.Entry // not yet in a leaf directory
	root     []pmtiles.Entry // of leaf directories
	leafSize uint64

	addressed, entries, contents uint64
}

// Create begins the archive at path, in temporary files in the same directory.
func Create(path string) (_ *Writer, err error) {
	w := &Writer{path: path}
	defer func() {
		if err != nil {
			_ = w.Abort() // the first error says why
		}
	}()
	if w.file, err = disk.CreateBeside(path); err != nil {
		return nil, err
	}
	if w.leaf, err = os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".dir-*"); err != nil {
		return nil, err
	}
	if _, err = w.file.Seek(pmtiles.HeadSize, io.SeekStart); err != nil {
		return nil, err
	}
	w.tiles = bufio.NewWriterSize(w.file, 1<<20)
	w.dirs = bufio.NewWriterSize(w.leaf, 1<<16)
	return w, nil
}

// Put stores the gzipped bytes of a tile. The first call of Add must have the first content,
// because an archive that is marked as clustered begins with the content of its first tile.
func (w *Writer) Put(gzipped []byte) (Content, error) {
	if len(gzipped) == 0 || uint64(len(gzipped)) > math.MaxUint32 {
		return Content{}, fmt.Errorf("a tile of %d bytes cannot be stored", len(gzipped))
	}
	c := Content{w.offset, uint32(len(gzipped))}
	if _, err := w.tiles.Write(gzipped); err != nil {
		return Content{}, err
	}
	w.offset += uint64(c.length)
	w.contents++
	return c, nil
}

// Add assigns a content to a tile, or to all its descendants at a deeper zoom. Tiles come by zoom,
// and within a zoom along the Hilbert curve.
func (w *Writer) Add(t quadkey.Tile, zoom uint8, c Content) error {
	if !t.Valid() || zoom < t.Z || zoom > quadkey.MaxZoom {
		return fmt.Errorf("tile %v has no descendants at zoom %d", t, zoom)
	}
	down := 2 * (zoom - t.Z)
	id, run := pmtiles.ZoomStart(zoom)+t.Hilbert()<<down, uint64(1)<<down
	if id < w.next {
		return fmt.Errorf("tile %v comes too late: tiles must be in the order of their ids", t)
	}
	w.next = id + run
	w.addressed += run
	if n := len(w.pending); n > 0 {
		last := &w.pending[n-1]
		if last.Offset == c.offset && last.ID+uint64(last.Run) == id && uint64(last.Run)+run <= math.MaxUint32 {
			last.Run += uint32(run)
			return nil
		}
	}
	if len(w.pending) >= leafEntries {
		if err := w.flush(); err != nil {
			return err
		}
	}
	// A run that is too long for 32 bits is divided into several entries.
	for ; run > 0; w.entries++ {
		part := min(run, math.MaxUint32)
		w.pending = append(w.pending, pmtiles.Entry{ID: id, Offset: c.offset, Length: c.length, Run: uint32(part)})
		id, run = id+part, run-part
	}
	return nil
}

// flush writes the pending entries as a leaf directory.
func (w *Writer) flush() error {
	e, err := writeDirectory(w.dirs, w.pending, w.leafSize)
	if err != nil {
		return err
	}
	w.root = append(w.root, e)
	w.leafSize += uint64(e.Length)
	w.pending = w.pending[:0]
	return nil
}

// writeDirectory writes a leaf directory and returns its entry in the root.
func writeDirectory(dst io.Writer, entries []pmtiles.Entry, offset uint64) (pmtiles.Entry, error) {
	b, err := encodeDirectory(entries)
	if err != nil {
		return pmtiles.Entry{}, err
	}
	_, err = dst.Write(b)
	return pmtiles.Entry{ID: entries[0].ID, Offset: offset, Length: uint32(len(b))}, err
}

func encodeDirectory(entries []pmtiles.Entry) ([]byte, error) {
	return zip(pmtiles.AppendDirectory(make([]byte, 0, 8*len(entries)), entries))
}

func zip(raw []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(raw); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Finish completes the archive and gives it its final name. It returns ErrEmpty if no tile was
// added.
func (w *Writer) Finish(info Info) (err error) {
	defer func() { err = errors.Join(err, w.Abort()) }()
	root, err := w.finishDirectories()
	if err != nil {
		return err
	}
	metadata, err := zip(info.Metadata)
	if err != nil {
		return err
	}
	if _, err := w.leaf.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.CopyN(w.tiles, w.leaf, int64(w.leafSize)); err != nil {
		return fmt.Errorf("copying the directories: %w", err)
	}
	if _, err := w.tiles.Write(metadata); err != nil {
		return err
	}
	if err := w.tiles.Flush(); err != nil {
		return err
	}
	head := w.header(info, uint64(len(root)), uint64(len(metadata))).Append(make([]byte, 0, pmtiles.HeadSize))
	head = append(head, root...)[:pmtiles.HeadSize]
	if _, err := w.file.WriteAt(head, 0); err != nil {
		return err
	}
	err = disk.Discard(w.leaf) // an error after Publish would be one too late
	if w.leaf = nil; err != nil {
		return err
	}
	return disk.Publish(w.file, w.path)
}

// finishDirectories returns the encoded root directory. It lists the tiles if there is room for all
// of them. Otherwise it lists leaf directories, and these are made larger until the list fits.
func (w *Writer) finishDirectories() ([]byte, error) {
	if len(w.root) == 0 {
		if len(w.pending) == 0 {
			return nil, ErrEmpty
		}
		b, err := encodeDirectory(w.pending)
		if err != nil || len(b) <= pmtiles.HeadSize-pmtiles.HeaderSize {
			return b, err
		}
	}
	if len(w.pending) > 0 {
		if err := w.flush(); err != nil {
			return nil, err
		}
	}
	if err := w.dirs.Flush(); err != nil {
		return nil, err
	}
	for {
		b, err := encodeDirectory(w.root)
		if err != nil || len(b) <= pmtiles.HeadSize-pmtiles.HeaderSize {
			return b, err
		}
		if err := w.pairLeaves(); err != nil {
			return nil, err
		}
	}
}

// pairLeaves joins each pair of leaf directories into one.
func (w *Writer) pairLeaves() error {
	joined, err := os.CreateTemp(filepath.Dir(w.path), "."+filepath.Base(w.path)+".dir-*")
	if err != nil {
		return err
	}
	old := w.leaf
	w.leaf = joined
	defer func() { _ = disk.Discard(old) }()
	w.dirs.Reset(joined)
	pairs := w.root
	w.root, w.leafSize = nil, 0
	for len(pairs) > 0 {
		w.pending = w.pending[:0]
		n := min(2, len(pairs))
		for _, e := range pairs[:n] {
			b := make([]byte, e.Length)
			if _, err := old.ReadAt(b, int64(e.Offset)); err != nil {
				return err
			}
			if w.pending, err = decodeDirectory(w.pending, b); err != nil {
				return err
			}
		}
		pairs = pairs[n:]
		if err := w.flush(); err != nil {
			return err
		}
	}
	return w.dirs.Flush()
}

// decodeDirectory appends the entries of a directory this package wrote.
func decodeDirectory(dst []pmtiles.Entry, b []byte) ([]pmtiles.Entry, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return dst, err
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		return dst, err
	}
	return pmtiles.DecodeDirectory(dst, raw, math.MaxInt)
}

// header returns the archive's header.
func (w *Writer) header(info Info, rootLength, metadataLength uint64) *pmtiles.Header {
	leaves := pmtiles.HeadSize + w.offset
	return &pmtiles.Header{
		Root:      pmtiles.Section{Offset: pmtiles.HeaderSize, Length: rootLength},
		Metadata:  pmtiles.Section{Offset: leaves + w.leafSize, Length: metadataLength},
		Leaves:    pmtiles.Section{Offset: leaves, Length: w.leafSize},
		Tiles:     pmtiles.Section{Offset: pmtiles.HeadSize, Length: w.offset},
		Addressed: w.addressed, Entries: w.entries, Contents: w.contents,
		Clustered: true, Internal: pmtiles.Gzip, TileCompression: pmtiles.Gzip, Type: pmtiles.MVT,
		MinZoom: info.MinZoom, MaxZoom: info.MaxZoom, CenterZoom: uint8(info.Center[2]),
		Bounds: info.Bounds, Center: [2]float64(info.Center[:2]),
	}
}

// Abort removes the unfinished archive. After Finish it does nothing.
func (w *Writer) Abort() error {
	err := errors.Join(disk.Discard(w.file), disk.Discard(w.leaf))
	w.file, w.leaf = nil, nil
	return err
}

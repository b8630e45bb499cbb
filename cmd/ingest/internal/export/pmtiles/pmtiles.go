// Package pmtiles writes archives of gzipped vector tiles in version 3 of the
// public PMTiles specification: one file that a map reads over HTTP by ranges.
//
//	header, root directory │ tiles │ leaf directories │ metadata
//	16 KiB                 │       │                  │
//
// Sections may stand in any order, so the file is written from front to back:
// the first 16 KiB are filled in at the end, when the root directory is known.
// Entries of the directories are kept in memory for one leaf only.
package pmtiles

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"

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

// TileID is the number the specification gives a tile: those of lower zooms
// first, then its place on the Hilbert curve.
func TileID(t quadkey.Tile) uint64 { return zoomStart(t.Z) + t.Hilbert() }

func zoomStart(z uint8) uint64 { return (uint64(1)<<(2*z) - 1) / 3 }

const (
	headerSize = 127
	// headSize holds the header and the root directory: clients fetch as much
	// at first.
	headSize = 16 << 10
	// leafEntries is the number of entries in a leaf directory, 20 to 40 KB.
	leafEntries = 4096

	compressionGzip = 2
	typeMVT         = 1
)

// entry is a directory entry: a run of tiles with one content, or, with run 0,
// a leaf directory.
type entry struct {
	id, offset  uint64
	length, run uint32
}

// Writer writes one archive, and belongs to one goroutine. The file appears
// under its name when Finish has succeeded, and not before.
type Writer struct {
	path       string
	file, leaf *os.File // the archive; the leaf directories until the end
	tiles      *bufio.Writer
	dirs       *bufio.Writer

	next     uint64  // first id that may come
	offset   uint64  // of the next content
	pending  []entry // not yet in a leaf directory
	root     []entry // of leaf directories
	leafSize uint64

	addressed, entries, contents uint64
}

// Create begins the archive at path, in temporary files beside it.
func Create(path string) (_ *Writer, err error) {
	w := &Writer{path: path}
	defer func() {
		if err != nil {
			_ = w.Abort() // the first error is the telling one
		}
	}()
	if w.file, err = os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".tmp-*"); err != nil {
		return nil, err
	}
	if w.leaf, err = os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".dir-*"); err != nil {
		return nil, err
	}
	if _, err = w.file.Seek(headSize, io.SeekStart); err != nil {
		return nil, err
	}
	w.tiles = bufio.NewWriterSize(w.file, 1<<20)
	w.dirs = bufio.NewWriterSize(w.leaf, 1<<16)
	return w, nil
}

// Put stores the gzipped bytes of a tile. The first Add must be of the first
// content, as archives that call themselves clustered begin with their first
// tile.
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

// Add gives a content to a tile, or to all its descendants at a deeper zoom.
// Tiles come by zoom, and within a zoom along the Hilbert curve.
func (w *Writer) Add(t quadkey.Tile, zoom uint8, c Content) error {
	if !t.Valid() || zoom < t.Z || zoom > quadkey.MaxZoom {
		return fmt.Errorf("tile %v has no descendants at zoom %d", t, zoom)
	}
	down := 2 * (zoom - t.Z)
	id, run := zoomStart(zoom)+t.Hilbert()<<down, uint64(1)<<down
	if id < w.next {
		return fmt.Errorf("tile %v comes too late: tiles must be in the order of their ids", t)
	}
	w.next = id + run
	w.addressed += run
	if n := len(w.pending); n > 0 {
		last := &w.pending[n-1]
		if last.offset == c.offset && last.id+uint64(last.run) == id && uint64(last.run)+run <= math.MaxUint32 {
			last.run += uint32(run)
			return nil
		}
	}
	if len(w.pending) >= leafEntries {
		if err := w.flush(); err != nil {
			return err
		}
	}
	// A run longer than 32 bits say begins another entry.
	for ; run > 0; w.entries++ {
		part := min(run, math.MaxUint32)
		w.pending = append(w.pending, entry{id: id, offset: c.offset, length: c.length, run: uint32(part)})
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
	w.leafSize += uint64(e.length)
	w.pending = w.pending[:0]
	return nil
}

// writeDirectory writes a leaf directory and returns its entry in the root.
func writeDirectory(dst io.Writer, entries []entry, offset uint64) (entry, error) {
	b, err := encodeDirectory(entries)
	if err != nil {
		return entry{}, err
	}
	_, err = dst.Write(b)
	return entry{id: entries[0].id, offset: offset, length: uint32(len(b))}, err
}

func encodeDirectory(entries []entry) ([]byte, error) {
	raw := binary.AppendUvarint(make([]byte, 0, 8*len(entries)), uint64(len(entries)))
	var last uint64
	for _, e := range entries {
		raw = binary.AppendUvarint(raw, e.id-last)
		last = e.id
	}
	for _, e := range entries {
		raw = binary.AppendUvarint(raw, uint64(e.run))
	}
	for _, e := range entries {
		raw = binary.AppendUvarint(raw, uint64(e.length))
	}
	for i, e := range entries {
		if i > 0 && e.offset == entries[i-1].offset+uint64(entries[i-1].length) {
			raw = append(raw, 0) // right behind the one before
		} else {
			raw = binary.AppendUvarint(raw, e.offset+1)
		}
	}
	return zip(raw)
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

// Finish completes the archive and gives it its name. ErrEmpty when nothing
// was added.
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
	head := make([]byte, headSize)
	w.header(head, info, uint64(len(root)), uint64(len(metadata)))
	copy(head[headerSize:], root)
	if _, err := w.file.WriteAt(head, 0); err != nil {
		return err
	}
	return publish(w.file, w.path)
}

// publish gives a finished temporary file its name.
func publish(f *os.File, path string) error {
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// finishDirectories returns the root directory, encoded: of the tiles when it
// has room for them, else of leaf directories, made larger until it has.
func (w *Writer) finishDirectories() ([]byte, error) {
	if len(w.root) == 0 {
		if len(w.pending) == 0 {
			return nil, ErrEmpty
		}
		b, err := encodeDirectory(w.pending)
		if err != nil || len(b) <= headSize-headerSize {
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
		if err != nil || len(b) <= headSize-headerSize {
			return b, err
		}
		if err := w.pairLeaves(); err != nil {
			return nil, err
		}
	}
}

// pairLeaves joins each two leaf directories into one.
func (w *Writer) pairLeaves() error {
	joined, err := os.CreateTemp(filepath.Dir(w.path), "."+filepath.Base(w.path)+".dir-*")
	if err != nil {
		return err
	}
	old := w.leaf
	w.leaf = joined
	defer func() { _ = discard(old) }()
	w.dirs.Reset(joined)
	pairs := w.root
	w.root, w.leafSize = nil, 0
	for len(pairs) > 0 {
		w.pending = w.pending[:0]
		n := min(2, len(pairs))
		for _, e := range pairs[:n] {
			b := make([]byte, e.length)
			if _, err := old.ReadAt(b, int64(e.offset)); err != nil {
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
func decodeDirectory(dst []entry, b []byte) ([]entry, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return dst, err
	}
	r := bufio.NewReader(z)
	var broken error
	number := func() uint64 {
		v, err := binary.ReadUvarint(r)
		broken = errors.Join(broken, err)
		return v
	}
	n := number()
	if broken != nil {
		return dst, broken
	}
	first := len(dst)
	var id uint64
	for range n {
		id += number()
		dst = append(dst, entry{id: id})
		if broken != nil {
			return dst, broken
		}
	}
	list := dst[first:]
	for i := range list {
		list[i].run = uint32(number())
	}
	for i := range list {
		list[i].length = uint32(number())
	}
	for i := range list {
		if v := number(); v > 0 {
			list[i].offset = v - 1
		} else if i > 0 {
			list[i].offset = list[i-1].offset + uint64(list[i-1].length)
		}
	}
	return dst, broken
}

// header writes the fixed fields of the specification's chapter 3.
func (w *Writer) header(b []byte, info Info, rootLength, metadataLength uint64) {
	copy(b, "PMTiles\x03")
	leaves := headSize + w.offset
	for i, v := range [11]uint64{
		headerSize, rootLength,
		leaves + w.leafSize, metadataLength,
		leaves, w.leafSize,
		headSize, w.offset,
		w.addressed, w.entries, w.contents,
	} {
		binary.LittleEndian.PutUint64(b[8+8*i:], v)
	}
	copy(b[96:], []byte{1, compressionGzip, compressionGzip, typeMVT, info.MinZoom, info.MaxZoom})
	position := func(at int, lon, lat float64) {
		binary.LittleEndian.PutUint32(b[at:], uint32(int32(math.Round(lon*1e7))))
		binary.LittleEndian.PutUint32(b[at+4:], uint32(int32(math.Round(lat*1e7))))
	}
	position(102, info.Bounds[0], info.Bounds[1])
	position(110, info.Bounds[2], info.Bounds[3])
	b[118] = uint8(info.Center[2])
	position(119, info.Center[0], info.Center[1])
}

// Abort removes what was written. After Finish it does nothing.
func (w *Writer) Abort() error {
	err := errors.Join(discard(w.file), discard(w.leaf))
	w.file, w.leaf = nil, nil
	return err
}

// discard closes a temporary file and removes it, if it still has its name.
func discard(f *os.File) error {
	if f == nil {
		return nil
	}
	err := f.Close()
	if rerr := os.Remove(f.Name()); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return err
}

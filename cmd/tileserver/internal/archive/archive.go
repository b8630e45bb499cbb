// Package archive reads third-party archives of map tiles: PMTiles of version 3, and MBTiles. Files
// are local and not trusted: sizes, counts, depths and times are bounded. Bytes that cannot be read
// give an error, never a missing tile.
//
// A [Live] serves the archive at a path and replaces it when the file is replaced. Coordinates are
// degrees WGS84, longitude first; tiles are Web Mercator tiles, rows counted from the north.
// Everything may be used by any number of goroutines.
package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"image"
	_ "image/jpeg" // the sizes of pictures
	_ "image/png"
	"io"
	"os"
	"sync"
	"time"

	_ "golang.org/x/image/webp"

	"quadrille/cmd/internal/pmtiles"
	"quadrille/cmd/internal/sqlitefile"
	"quadrille/quadkey"
)

// These are bounds of an archive, in bytes.
const (
	// MaxTileBytes bounds a tile in bytes, both as it is stored and as it is unpacked.
	MaxTileBytes = 16 << 20
	// maxMetadata bounds the metadata of an archive, unpacked.
	maxMetadata = 8 << 20
)

// These are errors of reading.
var (
	// ErrDamaged is matched by errors about invalid bytes.
	ErrDamaged = errors.New("the archive is damaged")
	// ErrChanged is matched by the error of an archive whose file was modified after it was opened.
	// No data read from it can be trusted.
	ErrChanged = errors.New("the file of the archive has been changed in place")
	// ErrClosed is matched by the error of an archive that another has replaced.
	ErrClosed = errors.New("the archive is closed")
)

// Format is the format of the tiles.
type Format uint8

// These are formats of tiles.
const (
	MVT Format = iota + 1
	MLT
	PNG
	JPEG
	WebP
	AVIF
)

// String returns the format's name in metadata.
func (f Format) String() string {
	return [...]string{"", "pbf", "mlt", "png", "jpg", "webp", "avif"}[f]
}

// IsPicture reports whether the tiles are pictures.
func (f Format) IsPicture() bool { return f > MLT }

// Info describes an archive.
type Info struct {
	Format Format
	// Coding is the coding of most vector tiles. A tile may have a different coding, and is read by
	// it.
	Coding           Coding
	MinZoom, MaxZoom uint8
	Bounds           [4]float64 // west, south, east, north
	Center           [3]float64 // longitude, latitude, zoom
	// TileSize is the side of a picture in pixels, or 0 for vector tiles.
	TileSize int
	// TileCount is the number of tiles, or 0 if it is unknown.
	TileCount int64
	Metadata
}

// Archive is an opened archive.
type Archive struct {
	Info
	// ID identifies the file and its content. It is the same in every process.
	ID       uint64
	Size     int64     // bytes
	Modified time.Time // of the file

	file   *file
	mu     sync.RWMutex // held for writing by Close
	closed bool
	reader reader
}

// reader reads the tiles of one kind of archive.
type reader interface {
	// tile returns a tile and its coding, or false if the archive has no such tile.
	tile(ctx context.Context, t quadkey.Tile) ([]byte, Coding, bool, error)
	// sample returns any tile.
	sample(ctx context.Context) ([]byte, Coding, error)
	close() error
}

// Open opens the archive at a path and checks its header and metadata, its directory or tables, and
// one tile. name is part of the archive's identity. directories may be shared with other archives.
func Open(ctx context.Context, name, path string, directories *DirectoryCache) (_ *Archive, err error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // only read
		}
	}()
	head := make([]byte, min(f.info.Size(), pmtiles.HeadSize))
	if err := f.read(head, 0); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	a := &Archive{file: f, ID: identity(name, f.info, head), Size: f.info.Size(), Modified: f.info.ModTime()}
	switch {
	case bytes.HasPrefix(head, []byte(pmtiles.Magic)):
		a.reader, err = openPMTiles(f, head, a, directories)
	case bytes.HasPrefix(head, []byte(sqlitefile.Magic)):
		a.reader, err = openMBTiles(ctx, f, head, a)
	default:
		return nil, fmt.Errorf("%s: neither a PMTiles archive of version 3 nor an MBTiles database: name one of those", path)
	}
	if err == nil {
		if err = a.examine(ctx); err != nil {
			_ = a.reader.close() // err is the reason that matters
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

// identity hashes the name, size, modification time and head of a file: a fast substitute for a
// hash of the whole content.
func identity(name string, info os.FileInfo, head []byte) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, name) // a hash takes everything
	_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(info.Size())))
	_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(info.ModTime().UnixNano())))
	_, _ = h.Write(head)
	return h.Sum64()
}

// examine finds out the format of a tile, and the size of a picture.
func (a *Archive) examine(ctx context.Context) error {
	if a.MinZoom > a.MaxZoom || a.MaxZoom > pmtiles.MaxZoom {
		return fmt.Errorf("%w: its zooms are %d to %d", ErrDamaged, a.MinZoom, a.MaxZoom)
	}
	if a.MinZoom > quadkey.MaxZoom {
		return fmt.Errorf("its least zoom is %d, and tiles are served up to %d", a.MinZoom, quadkey.MaxZoom)
	}
	a.MaxZoom = min(a.MaxZoom, quadkey.MaxZoom)
	tile, coding, err := a.reader.sample(ctx)
	if err != nil {
		return fmt.Errorf("reading a tile: %w", err)
	}
	plain, err := Unpack(tile, coding, MaxTileBytes)
	if err != nil {
		return fmt.Errorf("reading a tile: %w", err)
	}
	switch found := sniff(plain); {
	case found != 0 && found != a.Format && (a.Format == 0 || found.IsPicture()):
		a.Format = found // the first bytes show the format of a picture, whatever the metadata say
	case a.Format == 0:
		return errors.New("its tiles are none of MVT, MLT, PNG, JPEG, WebP and AVIF")
	case a.Format == MLT && !framed(plain):
		return fmt.Errorf("%w: a tile is no MapLibre Tile, although they are called that", ErrDamaged)
	case a.Format.IsPicture() && !found.IsPicture():
		return fmt.Errorf("%w: a tile is no picture, although they are called %s", ErrDamaged, a.Format)
	}
	if a.Format.IsPicture() {
		a.Coding, a.TileSize = Uncompressed, usualSize
		if c, _, err := image.DecodeConfig(bytes.NewReader(plain)); err == nil && c.Width >= 64 && c.Width <= 4096 {
			a.TileSize = c.Width
		}
		return nil
	}
	a.Coding = coding
	return nil
}

// usualSize is the side in pixels that is assumed for a picture whose size is unknown.
const usualSize = 256

// sniff returns the format of a tile by its first bytes, or 0 if they belong to no known format.
// MapLibre Tiles have no such mark.
func sniff(b []byte) Format {
	switch {
	case bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")):
		return PNG
	case bytes.HasPrefix(b, []byte("\xff\xd8\xff")):
		return JPEG
	case len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP":
		return WebP
	case len(b) >= 12 && string(b[4:8]) == "ftyp" && string(b[8:11]) == "avi":
		return AVIF
	case len(b) > 0 && b[0] == 0x1a: // a layer, the only field a tile has
		return MVT
	}
	return 0
}

// framed reports whether a tile is a sequence of length-prefixed blocks, as MapLibre Tiles are.
func framed(b []byte) bool {
	for len(b) > 0 {
		size, n := binary.Uvarint(b)
		if n <= 0 || size == 0 || size > uint64(len(b)-n) {
			return false
		}
		b = b[n+int(size):]
	}
	return true
}

// Tile returns a tile and its coding, or false if the archive has no such tile. The caller owns the
// bytes. Errors match ErrDamaged, ErrChanged or ErrClosed, or come from the disk.
func (a *Archive) Tile(ctx context.Context, t quadkey.Tile) (data []byte, coding Coding, ok bool, err error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.closed {
		return nil, Uncompressed, false, ErrClosed
	}
	if t.Z < a.MinZoom || t.Z > a.MaxZoom {
		return nil, Uncompressed, false, nil
	}
	data, coding, ok, err = a.reader.tile(ctx, t)
	// While a file is being modified, it can look arbitrary, for example as if it lacked the tile.
	if cerr := a.file.unchanged(); cerr != nil {
		return nil, Uncompressed, false, cerr
	}
	return data, coding, ok, err
}

// Close closes the archive after the running reads have ended.
func (a *Archive) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	a.closed = true
	return errors.Join(a.reader.close(), a.file.Close())
}

// file is a file that is read by position, and that other programs may modify.
type file struct {
	*os.File
	info os.FileInfo // when it was opened
}

func openFile(path string) (*file, error) {
	// Opening a pipe would wait for a writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file: name the file itself", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil {
		_ = f.Close() // only read
		return nil, err
	}
	return &file{f, info}, nil
}

// unchanged returns an error if the file has been modified since it was opened.
func (f *file) unchanged() error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if !sameContent(now, f.info) {
		return ErrChanged
	}
	return nil
}

func sameContent(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// read fills b with the bytes at an offset. The caller has compared the offset with the size,
// so a missing byte is damage.
func (f *file) read(b []byte, offset int64) error {
	if _, err := f.ReadAt(b, offset); err != nil {
		if cerr := f.unchanged(); cerr != nil {
			return cerr
		}
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: it ends too early", ErrDamaged)
		}
		return err
	}
	return nil
}

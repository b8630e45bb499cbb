package archive

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"quadrille/cmd/internal/pmtiles"
	"quadrille/internal/bytecache"
	"quadrille/quadkey"
)

// These are bounds of directories.
const (
	maxDepth       = 4       // the root counts
	maxDirectory   = 4 << 20 // bytes, packed
	maxEntries     = 1 << 20
	maxEntriesSize = 16 << 20 // bytes of them, unpacked
)

// DirectoryCache is a cache of the directories of archives.
type DirectoryCache = bytecache.Cache[directoryKey, *directory]

// NewDirectoryCache returns a cache of about the given number of bytes.
func NewDirectoryCache(bytes int64) *DirectoryCache {
	return bytecache.New[directoryKey, *directory](bytes)
}

// directoryKey identifies a leaf directory.
type directoryKey struct {
	archive, offset uint64
	length          uint32
}

// Hash returns a number that differs for most keys.
func (k directoryKey) Hash() uint64 { return k.archive ^ k.offset }

// ExtraBytes returns 0, because the key has no memory outside the struct.
func (directoryKey) ExtraBytes() int { return 0 }

// directory is a directory that has been read.
type directory struct{ entries []pmtiles.Entry }

// entrySize is the size of an entry in memory.
const entrySize = 24

// Bytes returns the size of the directory in memory.
func (d *directory) Bytes() int64 { return int64(len(d.entries)) * entrySize }

// find returns the last entry whose id is at most the given one, or false if no entry qualifies.
func (d *directory) find(id uint64) (pmtiles.Entry, bool) {
	i := sort.Search(len(d.entries), func(i int) bool { return d.entries[i].ID > id })
	if i == 0 {
		return pmtiles.Entry{}, false
	}
	return d.entries[i-1], true
}

// pmReader reads a PMTiles archive.
type pmReader struct {
	file     *file
	id       uint64
	header   pmtiles.Header
	internal Coding
	tiles    Coding
	told     bool // the header states how tiles are packed
	root     *directory
	leaves   *DirectoryCache
}

func openPMTiles(f *file, head []byte, a *Archive, leaves *DirectoryCache) (reader, error) {
	h, err := pmtiles.ParseHeader(head)
	if err != nil {
		return nil, err
	}
	r := &pmReader{file: f, id: a.ID, header: h, leaves: leaves}
	if err := r.checkHeader(uint64(f.info.Size())); err != nil {
		return nil, err
	}
	packed := head[h.Root.Offset : h.Root.Offset+h.Root.Length] // checked to be within
	if r.root, err = r.decode(packed); err != nil {
		return nil, fmt.Errorf("the root directory: %w", err)
	}
	for _, e := range r.root.entries {
		if err := r.inside(e); err != nil {
			return nil, fmt.Errorf("the root directory: %w", err)
		}
	}
	metadata, err := r.metadata()
	if err != nil {
		return nil, err
	}
	a.Format = map[pmtiles.TileType]Format{
		pmtiles.MVT:  MVT,
		pmtiles.PNG:  PNG,
		pmtiles.JPEG: JPEG,
		pmtiles.WebP: WebP,
		pmtiles.AVIF: AVIF,
		pmtiles.MLT:  MLT,
	}[h.Type]
	a.MinZoom, a.MaxZoom, a.TileCount = h.MinZoom, h.MaxZoom, int64(min(h.Addressed, 1<<62))
	a.place(h.Bounds[:], []float64{h.Center[0], h.Center[1], float64(h.CenterZoom)})
	a.set(metadata.text)
	a.Layers = metadata.layers(a.MaxZoom)
	return r, nil
}

// checkHeader checks the header against the size of the file.
func (r *pmReader) checkHeader(size uint64) error {
	h := &r.header
	for _, s := range []struct {
		what string
		pmtiles.Section
	}{{"root directory", h.Root}, {"metadata", h.Metadata}, {"leaf directories", h.Leaves}, {"tiles", h.Tiles}} {
		if !s.Within(size) {
			return fmt.Errorf("%w: its %s are to be at byte %d, %d long, and it has %d bytes; fetch it again", ErrDamaged, s.what,
				s.Offset, s.Length, size)
		}
	}
	if !h.Root.Within(min(size, pmtiles.HeadSize)) || h.Root.Offset < pmtiles.HeaderSize {
		return fmt.Errorf("%w: its root directory is not in the first %d bytes behind the header", ErrDamaged, pmtiles.HeadSize)
	}
	var ok bool
	if r.internal, ok = codingOf(h.Internal); !ok {
		return fmt.Errorf("%w: its directories are packed in a way of number %d, which there is not", ErrDamaged, h.Internal)
	}
	if r.tiles, r.told = codingOf(h.TileCompression); !r.told && h.TileCompression != pmtiles.UnknownCompression {
		return fmt.Errorf("%w: its tiles are packed in a way of number %d, which there is not", ErrDamaged, h.TileCompression)
	}
	if h.Type > pmtiles.MLT {
		return fmt.Errorf("its tiles are of type %d, and those that are served are MVT, MLT, PNG, JPEG, WebP and AVIF", h.Type)
	}
	return nil
}

func (r *pmReader) metadata() (described, error) {
	s := r.header.Metadata
	if s.Length > maxMetadata {
		return nil, fmt.Errorf("%w: its metadata have %d bytes, and at most %d are read", ErrDamaged, s.Length, maxMetadata)
	}
	b, err := r.readAt(s.Offset, s.Length)
	if err != nil || len(b) == 0 {
		return described{}, err
	}
	if b, err = Unpack(b, r.internal, maxMetadata); err != nil {
		return nil, fmt.Errorf("its metadata: %w", err)
	}
	return describe(b)
}

// readAt reads bytes that are known to be within the file.
func (r *pmReader) readAt(offset, length uint64) ([]byte, error) {
	b := make([]byte, length)
	return b, r.file.read(b, int64(offset))
}

// decode decodes a directory as it is stored, compressed.
func (r *pmReader) decode(packed []byte) (*directory, error) {
	raw, err := Unpack(packed, r.internal, maxEntriesSize)
	if err != nil {
		return nil, err
	}
	entries, err := pmtiles.DecodeDirectory(nil, raw, maxEntries)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return &directory{slices.Clip(entries)}, nil
}

// inside checks that the bytes of an entry lie in their section.
func (r *pmReader) inside(e pmtiles.Entry) error {
	section, most := r.header.Tiles, uint32(MaxTileBytes)
	if e.Run == 0 {
		section, most = r.header.Leaves, maxDirectory
	}
	content := pmtiles.Section{Offset: e.Offset, Length: uint64(e.Length)}
	switch {
	case !content.Within(section.Length):
		return fmt.Errorf("%w: an entry names bytes outside of their section", ErrDamaged)
	case e.Length > most:
		return fmt.Errorf("%w: an entry names %d bytes, and at most %d are read", ErrDamaged, e.Length, most)
	}
	return nil
}

// leaf returns the leaf directory that an entry names.
func (r *pmReader) leaf(ctx context.Context, e pmtiles.Entry) (*directory, error) {
	key := directoryKey{r.id, e.Offset, e.Length}
	if d := r.leaves.Get(key); d != nil {
		return d, nil
	}
	return r.leaves.Do(ctx, key, func() (*directory, error) {
		packed, err := r.readAt(r.header.Leaves.Offset+e.Offset, uint64(e.Length))
		if err != nil {
			return nil, err
		}
		d, err := r.decode(packed)
		if err != nil {
			return nil, err
		}
		if d.entries[0].ID != e.ID {
			return nil, fmt.Errorf("%w: a leaf directory begins with another tile than it should", ErrDamaged)
		}
		// A directory that was read while the file changed may not be cached.
		return d, r.file.unchanged()
	})
}

func (r *pmReader) tile(ctx context.Context, t quadkey.Tile) ([]byte, Coding, bool, error) {
	id := pmtiles.TileID(t)
	d := r.root
	for range maxDepth {
		e, ok := d.find(id)
		switch {
		case !ok || e.Run > 0 && id-e.ID >= uint64(e.Run):
			return nil, Uncompressed, false, nil
		case e.Run > 0:
			b, c, err := r.content(e)
			return b, c, err == nil, err
		}
		var err error
		if d, err = r.step(ctx, e); err != nil {
			return nil, Uncompressed, false, err
		}
	}
	return nil, Uncompressed, false, errTooDeep
}

var errTooDeep = fmt.Errorf("%w: its directories lead to directories more than %d deep", ErrDamaged, maxDepth)

// step returns the leaf directory of an entry.
func (r *pmReader) step(ctx context.Context, e pmtiles.Entry) (*directory, error) {
	if err := r.inside(e); err != nil {
		return nil, err
	}
	return r.leaf(ctx, e)
}

// content reads the content of an entry of tiles.
func (r *pmReader) content(e pmtiles.Entry) ([]byte, Coding, error) {
	if err := r.inside(e); err != nil {
		return nil, Uncompressed, err
	}
	b, err := r.readAt(r.header.Tiles.Offset+e.Offset, uint64(e.Length))
	if err != nil {
		return nil, Uncompressed, err
	}
	if !r.told {
		return b, packing(b), nil
	}
	return b, r.tiles, nil
}

func (r *pmReader) sample(ctx context.Context) ([]byte, Coding, error) {
	d := r.root
	for range maxDepth {
		e := d.entries[0] // a directory has one
		if e.Run > 0 {
			return r.content(e)
		}
		var err error
		if d, err = r.step(ctx, e); err != nil {
			return nil, Uncompressed, err
		}
	}
	return nil, Uncompressed, errTooDeep
}

func (r *pmReader) close() error { return nil }

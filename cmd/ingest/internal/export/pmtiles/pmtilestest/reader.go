// Package pmtilestest reads PMTiles archives in a slow and obvious way. With it, tests check the
// archives that package pmtiles writes.
package pmtilestest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/klauspost/compress/gzip"

	"quadrille/quadkey"
)

// Entry is a run of tiles of a directory.
type Entry struct{ ID, Run, Offset, Length uint64 }

// Archive is the complete content of an archive.
type Archive struct {
	Header   [127]byte
	Metadata []byte
	Entries  []Entry // of tiles, in the order of the directories
	Leaves   int     // leaf directories
	tiles    []byte
}

// HeaderField returns one of the eleven numbers after the magic, in their order.
func (a *Archive) HeaderField(i int) uint64 { return binary.LittleEndian.Uint64(a.Header[8+8*i:]) }

// Open reads the archive and checks the requirements of the specification.
func Open(path string) (*Archive, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	a := &Archive{}
	if copy(a.Header[:], b) < 127 || string(b[:8]) != "PMTiles\x03" {
		return nil, errors.New("no header")
	}
	section := func(i int) ([]byte, error) {
		offset, length := a.HeaderField(i), a.HeaderField(i+1)
		if offset > uint64(len(b)) || length > uint64(len(b))-offset {
			return nil, fmt.Errorf("section %d is at %d+%d of %d", i/2, offset, length, len(b))
		}
		return b[offset : offset+length], nil
	}
	root, err := section(0)
	if err != nil {
		return nil, err
	}
	if a.HeaderField(0)+a.HeaderField(1) > 16<<10 {
		return nil, errors.New("the root directory is not in the first 16 KiB")
	}
	metadata, err := section(2)
	if err != nil {
		return nil, err
	}
	if a.Metadata, err = unzip(metadata); err != nil {
		return nil, err
	}
	leaves, err := section(4)
	if err != nil {
		return nil, err
	}
	if a.tiles, err = section(6); err != nil {
		return nil, err
	}
	if sum := 16<<10 + len(metadata) + len(leaves) + len(a.tiles); sum != len(b) {
		return nil, fmt.Errorf("the sections are %d bytes, the file %d", sum, len(b))
	}
	entries, err := directory(root)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Run > 0 {
			a.Entries = append(a.Entries, e)
			continue
		}
		if e.Offset > uint64(len(leaves)) || e.Length > uint64(len(leaves))-e.Offset {
			return nil, errors.New("a leaf directory outside its section")
		}
		leaf, err := directory(leaves[e.Offset : e.Offset+e.Length])
		if err != nil {
			return nil, err
		}
		if leaf[0].ID != e.ID {
			return nil, errors.New("a leaf directory begins with another tile")
		}
		a.Entries = append(a.Entries, leaf...)
		a.Leaves++
	}
	return a, a.check()
}

// check checks the order of entries and contents, and the counts.
func (a *Archive) check() error {
	var next, addressed, end uint64
	contents := map[uint64]bool{}
	for i, e := range a.Entries {
		switch {
		case e.ID < next:
			return fmt.Errorf("entry %d overlaps the one before", i)
		case e.Length == 0 || e.Offset+e.Length > uint64(len(a.tiles)):
			return fmt.Errorf("entry %d is outside the tiles", i)
		case e.Offset > end:
			return fmt.Errorf("entry %d leaves a gap: not clustered", i)
		case i == 0 && e.Offset != 0:
			return errors.New("the first tile is not the first content")
		}
		next = e.ID + e.Run
		addressed += e.Run
		end = max(end, e.Offset+e.Length)
		contents[e.Offset] = true
	}
	if a.HeaderField(8) != addressed || a.HeaderField(9) != uint64(len(a.Entries)) || a.HeaderField(10) != uint64(len(contents)) {
		return fmt.Errorf("counts %d %d %d, they are %d %d %d", a.HeaderField(8), a.HeaderField(9), a.HeaderField(10), addressed,
			len(a.Entries), len(contents))
	}
	return nil
}

// Tile returns the bytes of a tile, or nil if the archive has none.
func (a *Archive) Tile(t quadkey.Tile) ([]byte, error) {
	id := (uint64(1)<<(2*t.Z)-1)/3 + t.Hilbert()
	i, found := slices.BinarySearchFunc(a.Entries, id, func(e Entry, id uint64) int {
		switch {
		case e.ID+e.Run <= id:
			return -1
		case e.ID > id:
			return 1
		}
		return 0
	})
	if !found {
		return nil, nil
	}
	e := a.Entries[i]
	return unzip(a.tiles[e.Offset : e.Offset+e.Length])
}

func unzip(b []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func directory(b []byte) ([]Entry, error) {
	raw, err := unzip(b)
	if err != nil {
		return nil, err
	}
	r := bytes.NewReader(raw)
	n, err := binary.ReadUvarint(r)
	if err != nil || n == 0 || n > uint64(len(raw)) {
		return nil, fmt.Errorf("a directory of %d entries: %w", n, err)
	}
	entries := make([]Entry, n)
	var id uint64
	for column := range 4 {
		for i := range entries {
			v, err := binary.ReadUvarint(r)
			if err != nil {
				return nil, err
			}
			switch e := &entries[i]; column {
			case 0:
				id += v
				e.ID = id
			case 1:
				e.Run = v
			case 2:
				e.Length = v
			default:
				if v > 0 {
					e.Offset = v - 1
				} else if i > 0 {
					e.Offset = entries[i-1].Offset + entries[i-1].Length
				}
			}
		}
	}
	if r.Len() > 0 {
		return nil, errors.New("something follows the directory")
	}
	return entries, nil
}

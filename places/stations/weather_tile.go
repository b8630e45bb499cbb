package stations

import (
	"encoding/binary"
	"math/bits"

	"quadrille/quadkey"
)

const (
	// rowZoom is the deepest zoom with rows of its own. partZoom is the zoom of the parts of such a
	// row, and the deepest zoom with weather.
	rowZoom  = 6
	partZoom = rowZoom + partDepth

	partDepth    = 2
	partsPerSide = 1 << partDepth
	partsPerTile = partsPerSide * partsPerSide
)

// partOf returns the number of a tile among the parts of the tile partDepth
// zooms above it: west to east, then north to south.
func partOf(t quadkey.Tile) int {
	return int(t.Y%partsPerSide*partsPerSide + t.X%partsPerSide)
}

func appendParts(dst []byte, parts *[partsPerTile]Sums) []byte {
	var mask uint16
	for i := range parts {
		if parts[i].Observations > 0 {
			mask |= 1 << i
		}
	}
	dst = binary.BigEndian.AppendUint16(dst, mask)
	for i := range parts {
		if parts[i].Observations > 0 {
			dst = parts[i].append(dst)
		}
	}
	return dst
}

// parseParts reads what appendParts wrote.
func parseParts(v []byte, parts *[partsPerTile]Sums) bool {
	*parts = [partsPerTile]Sums{}
	if len(v) < 2 {
		return false
	}
	mask := binary.BigEndian.Uint16(v)
	v = v[2:]
	for ; mask != 0; mask &= mask - 1 {
		var ok bool
		if v, ok = parts[bits.TrailingZeros16(mask)].parse(v); !ok {
			return false
		}
	}
	return len(v) == 0
}

// weatherKey is a row key of weather_tiles.
type weatherKey [len(quadkey.Key{}) + 4]byte

func makeWeatherKey(t quadkey.Tile, hour uint32) (k weatherKey) {
	key := t.Key()
	copy(k[:], key[:])
	binary.BigEndian.PutUint32(k[len(key):], ^hour)
	return k
}

// Tiles down to rowZoom are numbered in the order of their keys: the twelve
// varying bits of the last cell, then the number of zooms above rowZoom.
const cellTail = 2 * (quadkey.CellZoom - rowZoom)

func tileNumber(t quadkey.Tile) uint16 {
	_, last := t.CellRange()
	return uint16(last>>cellTail)<<3 | uint16(rowZoom-t.Z)
}

func numberedTile(n uint16) quadkey.Tile {
	t, _ := quadkey.TileFromPacked(rowZoom, uint64(n>>3)) // twelve bits are a tile of zoom 6
	return t.Ancestor(rowZoom - uint8(n&7))
}

// summer adds up the observations of tiles. They come by hour and then in the
// order of zoom-8 tiles, so only one tile of each zoom is unfinished at a time.
type summer struct {
	// emit takes every tile with observations, from zoom 6 to 0.
	emit func(t quadkey.Tile, hour uint32, parts *[partsPerTile]Sums) error

	begun bool
	hour  uint32
	tile  quadkey.Tile // of partZoom
	sums  [partZoom + 1]Sums
	parts [rowZoom + 1][partsPerTile]Sums
}

func (s *summer) add(hour uint32, packed uint16, o *Observation) error {
	t, err := quadkey.TileFromPacked(partZoom, uint64(packed))
	if err != nil {
		return err
	}
	if !s.begun || hour != s.hour {
		if err := s.finish(); err != nil {
			return err
		}
		s.begun, s.hour, s.tile = true, hour, t
	} else if t != s.tile {
		shared := uint8(partZoom)
		for t.Ancestor(shared) != s.tile.Ancestor(shared) {
			shared--
		}
		if err := s.close(int(shared) + 1); err != nil {
			return err
		}
		s.tile = t
	}
	s.sums[partZoom].add(o)
	return nil
}

// finish ends the hour.
func (s *summer) finish() error {
	if !s.begun {
		return nil
	}
	s.begun = false
	return s.close(0)
}

// close finishes the current tiles from partZoom up to a zoom.
func (s *summer) close(through int) error {
	for z := partZoom; z >= through; z-- {
		t := s.tile.Ancestor(uint8(z))
		if z > 0 {
			s.sums[z-1].merge(&s.sums[z])
		}
		if z >= partDepth {
			s.parts[z-partDepth][partOf(t)] = s.sums[z]
		}
		s.sums[z] = Sums{}
		if z > rowZoom {
			continue
		}
		if err := s.emit(t, s.hour, &s.parts[z]); err != nil {
			return err
		}
		s.parts[z] = [partsPerTile]Sums{}
	}
	return nil
}

package quadkey

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"quadrille/internal/must"
)

func FuzzParseQuadkey(f *testing.F) {
	for _, s := range []string{"", "0", "3", "12301230", "3333333333333333333333", "33333333333333333333333", "4", "-", "012x", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tile, err := ParseQuadkey(s)
		if err != nil {
			if !errors.Is(err, ErrTile) || tile != (Tile{}) {
				t.Fatalf("%q: %v, %v", s, tile, err)
			}
			return
		}
		if !tile.Valid() || tile.Quadkey() != s || refQuadkey(tile) != s || tile.Packed() != refPacked(s) {
			t.Fatalf("%q: %v", s, tile)
		}
	})
}

func FuzzTileFromPacked(f *testing.F) {
	f.Add(uint8(8), uint64(27756))
	f.Add(uint8(0), uint64(0))
	f.Add(uint8(0), uint64(1))
	f.Add(uint8(22), uint64(1)<<44-1)
	f.Add(uint8(22), uint64(1)<<44)
	f.Add(uint8(255), uint64(math.MaxUint64))
	f.Fuzz(func(t *testing.T, z uint8, p uint64) {
		tile, err := TileFromPacked(z, p)
		if err != nil {
			if !errors.Is(err, ErrTile) || z <= MaxZoom && p < 1<<(2*z) {
				t.Fatalf("%d, %d: %v, %v", z, p, tile, err)
			}
			return
		}
		if !tile.Valid() || tile.Z != z || tile.Packed() != p {
			t.Fatalf("%d, %d: %v", z, p, tile)
		}
	})
}

func FuzzParseKey(f *testing.F) {
	for _, tile := range []Tile{{}, {1, 1, 0}, {13, 4402, 2686}, {16, 65535, 65535}} {
		key := tile.Key()
		f.Add(key[:])
		f.Add(key[:4])
		key[4]--
		f.Add(key[:])
	}
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xFF}, 6))
	f.Fuzz(func(t *testing.T, key []byte) {
		tile, err := ParseKey(key)
		if err != nil {
			if !errors.Is(err, ErrKey) || tile != (Tile{}) {
				t.Fatalf("%x: %v, %v", key, tile, err)
			}
			return
		}
		if back := tile.Key(); !tile.Valid() || tile.Z > CellZoom || !bytes.Equal(back[:], key) {
			t.Fatalf("%x: %v, whose key is %x", key, tile, back)
		}
	})
}

func FuzzParseBox(f *testing.F) {
	for _, s := range []string{
		"", "-180,-90,180,90", "170,-20,-170,20", " 1 , 2, 3 ,4", "1,2,3,4,5", "NaN,Inf,0x1,1_0",
		"1e999,0,0,0", "1e-999,0,0,0", ",,,", "0,1,0,0",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := ParseBox(s)
		if err != nil {
			if !errors.Is(err, ErrBox) || b != (Box{}) {
				t.Fatalf("%q: %v, %v", s, b, err)
			}
			return
		}
		if back, err := ParseBox(b.String()); err != nil || back != b || !b.Contains(b.East, b.North) {
			t.Fatalf("%q: %v, written as %q, read as %v, %v", s, b, b.String(), back, err)
		}
	})
}

func FuzzTileAt(f *testing.F) {
	for _, lon := range specialLons {
		for _, lat := range specialLats {
			f.Add(lon, lat, uint8(MaxZoom))
		}
	}
	f.Add(math.NaN(), math.Inf(1), uint8(3))
	f.Add(0.0, 0.0, uint8(23))
	f.Fuzz(func(t *testing.T, lon, lat float64, z uint8) {
		tile, err := TileAt(lon, lat, z)
		ok := z <= MaxZoom && math.Abs(lon) <= 180 && math.Abs(lat) <= 90
		if ok != (err == nil) {
			t.Fatalf("(%v, %v) at %d: %v", lon, lat, z, err)
		}
		if ok && (!tile.Valid() || !refHolds(tile, lon, lat) || tile.MinDistance(lon, lat) != 0) {
			t.Fatalf("(%v, %v) at %d: %v", lon, lat, z, tile)
		}
	})
}

func FuzzCoverBox(f *testing.F) {
	f.Add(-180.0, -90.0, 180.0, 90.0, 8, 12.0, 34.0)
	f.Add(170.0, -20.0, -170.0, 20.0, 4, 180.0, 0.0)
	f.Add(179.99, 85.0, 180.0, 90.0, 1, -180.0, 90.0)
	f.Add(math.NaN(), 0.0, 0.0, 0.0, 0, 0.0, 0.0)
	f.Fuzz(func(t *testing.T, west, south, east, north float64, limit int, lon, lat float64) {
		limit = min(limit, 1000)
		box := Box{west, south, east, north}
		got, err := CoverBox(box, limit)
		if ok := box.Valid() && limit > 0; ok != (err == nil) {
			t.Fatalf("%v in %d: %v", box, limit, err)
		} else if !ok {
			return
		}
		if err := checkRanges(got, limit); err != nil {
			t.Fatalf("%v in %d: %v", box, limit, err)
		}
		if c, err := CellOf(lon, lat); err == nil && box.Contains(lon, lat) && !covers(got, c) {
			t.Fatalf("%v in %d misses (%v, %v)", box, limit, lon, lat)
		}
	})
}

func FuzzCoverCircle(f *testing.F) {
	f.Add(12.0, 34.0, 25e3, 8, 12.1, 34.1)
	f.Add(180.0, 90.0, 1e6, 8, -3.0, 85.0)
	f.Add(-179.9, -90.0, 4e7, 1, 0.0, 0.0)
	f.Add(0.0, 0.0, math.Pi*EarthRadius, 8, 180.0, 0.0)
	f.Add(0.0, math.NaN(), -1.0, 0, 0.0, 0.0)
	f.Fuzz(func(t *testing.T, lon, lat, radius float64, limit int, x, y float64) {
		limit = min(limit, 100)
		got, err := CoverCircle(lon, lat, radius, limit)
		ok := CheckCoordinate(lon, lat) == nil && radius >= 0 && !math.IsInf(radius, 1) && limit > 0
		if ok != (err == nil) {
			t.Fatalf("(%v, %v), %v m in %d: %v", lon, lat, radius, limit, err)
		} else if !ok {
			return
		}
		if err := checkRanges(got, limit); err != nil {
			t.Fatalf("(%v, %v), %v m in %d: %v", lon, lat, radius, limit, err)
		}
		c, err := CellOf(x, y)
		if err != nil {
			return
		}
		d := Distance(lon, lat, x, y)
		if d <= radius && !covers(got, c) {
			t.Fatalf("(%v, %v), %v m in %d misses (%v, %v)", lon, lat, radius, limit, x, y)
		}
		for z := range uint8(MaxZoom + 1) {
			tile, err := TileAt(x, y, z)
			must.Do(t, err)
			if bound := tile.MinDistance(lon, lat); !(bound >= 0 && bound <= d) {
				t.Fatalf("(%v, %v) is %v m from (%v, %v), but %v m or more from %v", lon, lat, d, x, y, bound, tile)
			}
		}
	})
}

// Package toyworld publishes a small invented world: enough boundaries, places and address ranges
// to test and measure the tile server without downloads. The world is the same in every run.
package toyworld

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/paulmach/orb"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/pebblestore"
	"quadrille/ipgeo"
	"quadrille/places"
	"quadrille/tiles/build"
)

// The world has two countries side by side between 46 and 50 degrees north,
// Westland (id wl, 4 to 6 east) and Eastland (el, 6 to 8 east), with a winding
// border between them. Westland has the states wl-n and wl-s. Islands (is) is
// a square across the antimeridian at the equator.
const (
	South, North = 46.0, 50.0
	West, East   = 4.0, 8.0
	MiddleLon    = 6.0
	MiddleLat    = 48.0 // the border between Westland's states
)

// Modified is the modification time of all data of the toy world.
var Modified = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Open opens the stores of the catalogues with the toy world.
func Open(_, dir string, readOnly bool) (cellstore.Store, error) {
	return pebblestore.Open(dir, &pebblestore.Options{ReadOnly: readOnly})
}

// Publish builds and publishes the three data sets below dir. Building takes seconds, so a process
// builds only once. Further empty directories get copies.
func Publish(ctx context.Context, dir string) error {
	if found, err := os.ReadDir(dir); err != nil || len(found) > 0 {
		return publishInto(ctx, dir)
	}
	files, err := firstGenerations()
	if err != nil {
		return err
	}
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, text, 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// firstGenerations returns the files of a directory into which the data sets were published.
var firstGenerations = sync.OnceValues(func() (files map[string][]byte, err error) {
	dir, err := os.MkdirTemp("", "toyworld-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := publishInto(context.Background(), dir); err != nil {
		return nil, err
	}
	files = map[string][]byte{}
	return files, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[name], err = os.ReadFile(path)
		return err
	})
})

func publishInto(ctx context.Context, dir string) error {
	c, err := dataset.Open(dir, Open)
	if err != nil {
		return err
	}
	return errors.Join(PublishBoundaries(ctx, c), PublishPlaces(ctx, c), PublishAddresses(ctx, c))
}

// publish runs one build and publishes its result.
func publish(
	ctx context.Context, c *dataset.Catalog, d ask.Dataset,
	build func(cellstore.Store) (meta any, err error), more ...func(dir string, s cellstore.Store) error,
) (err error) {
	b, err := c.Begin(ctx, d.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Abort()) }()
	meta, err := build(b.Store())
	if err != nil {
		return err
	}
	for _, write := range more {
		if err := write(b.Dir(), b.Store()); err != nil {
			return err
		}
	}
	raw, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	_, err = b.Publish(ctx, dataset.Manifest{
		SchemaVersion: d.Schema, Meta: raw, Built: Modified, Bounds: []float64{-180, -1, 180, North},
		Sources: []dataset.Source{{Name: "toy " + d.Name, Modified: Modified, License: "CC0-1.0", Attribution: "Toy world"}},
	})
	return err
}

// PublishBoundaries publishes countries and states.
func PublishBoundaries(ctx context.Context, c *dataset.Catalog) error {
	return publish(ctx, c, ask.Boundaries.Dataset, func(s cellstore.Store) (any, error) {
		meta, _, err := build.Run(ctx, s, layers(), build.Options{Timestamp: Modified.UnixMilli()})
		return meta, err
	})
}

func layers() []build.Layer {
	border := winding()
	west := orb.Ring{{West, South}}
	west = append(west, border...)
	west = append(west, orb.Point{West, North}, orb.Point{West, South})
	east := orb.Ring{{East, North}}
	for i := len(border) - 1; i >= 0; i-- {
		east = append(east, border[i])
	}
	east = append(east, orb.Point{East, South}, orb.Point{East, North})

	// The states share a part of the border.
	half := 0
	for border[half][1] < MiddleLat {
		half++
	}
	south := append(orb.Ring{{West, South}}, border[:half+1]...)
	south = append(south, orb.Point{West, border[half][1]}, orb.Point{West, South})
	north := append(orb.Ring{{West, border[half][1]}}, border[half:]...)
	north = append(north, orb.Point{West, North}, orb.Point{West, border[half][1]})

	region := func(id, name string, rings ...orb.Ring) build.Feature {
		return build.Feature{ID: id, Name: name, Geometry: orb.Polygon(rings), Properties: []build.Property{{Name: "iso", Value: id}}}
	}
	return []build.Layer{
		{Type: "country", Features: []build.Feature{
			region("wl", "Westland", west),
			region("el", `East<land> & "Co"`, east),
			region("is", "Islands", orb.Ring{{179, -1}, {181, -1}, {181, 1}, {179, 1}, {179, -1}}),
		}},
		{Type: "state", Features: []build.Feature{region("wl-s", "South Westland", south), region("wl-n", "North Westland", north)}},
	}
}

// winding returns the border between the countries, from south to north. It has about as many
// vertices per degree as a coast at a scale of 1:10 million.
func winding() orb.Ring {
	const steps = 800
	r := rand.New(rand.NewPCG(1, 2))
	line := make(orb.Ring, 0, steps+1)
	for i := range steps + 1 {
		t := float64(i) / steps
		lon := MiddleLon + 0.2*math.Sin(t*25) + 0.05*math.Sin(t*140) + 0.004*r.Float64()
		line = append(line, orb.Point{lon, South + (North-South)*t})
	}
	return line
}

// PlaceCount is the number of places of the toy world. Their ids count from 1.
const PlaceCount = 3000

// PublishPlaces publishes the places: most of them around a few towns.
func PublishPlaces(ctx context.Context, c *dataset.Catalog) error {
	return publish(ctx, c, ask.Places.Dataset, func(s cellstore.Store) (any, error) {
		meta, _, err := places.Build(ctx, s, places.Source{Places: eachPlace()}, places.BuildOptions{})
		return meta, err
	})
}

func eachPlace() iter.Seq2[places.Place, error] {
	return func(yield func(places.Place, error) bool) {
		r := rand.New(rand.NewPCG(3, 4))
		var towns [12]orb.Point
		for i := range towns {
			towns[i] = orb.Point{West + (East-West)*r.Float64(), South + (North-South)*r.Float64()}
		}
		for id := uint32(1); id <= PlaceCount; id++ {
			town := towns[r.IntN(len(towns))]
			p := places.Place{
				ID: id, Name: fmt.Sprintf("Place %d – \"Ü\"", id), Class: "P", Code: "PPL", Country: "WS", TimeZone: "Europe/Zurich",
				Lon:        min(max(town[0]+0.2*r.NormFloat64(), -179), 179),
				Lat:        min(max(town[1]+0.2*r.NormFloat64(), -89), 89),
				Population: int64(math.Exp(4 + 10*r.Float64())),
				Modified:   Modified,
			}
			if p.Lon > MiddleLon {
				p.Country = "EE"
			}
			if id%7 == 0 {
				p.Class, p.Code, p.Population = "S", "CH", 0
			}
			if !yield(p, nil) {
				return
			}
		}
	}
}

// RangeCount is the number of address ranges of the toy world for each version of IP.
const RangeCount = 20_000

// PublishAddresses publishes the address ranges.
func PublishAddresses(ctx context.Context, c *dataset.Catalog) error {
	return PublishRanges(ctx, c, eachRange())
}

// PublishRanges publishes any address ranges, with their index.
func PublishRanges(ctx context.Context, c *dataset.Catalog, ranges iter.Seq2[ipgeo.Range, error]) error {
	var meta ipgeo.Meta
	return publish(ctx, c, ask.Addresses.Dataset, func(s cellstore.Store) (_ any, err error) {
		meta, _, err = ipgeo.Build(ctx, s, ranges, ipgeo.BuildOptions{Timestamp: Modified.UnixMilli()})
		return meta, err
	}, func(dir string, s cellstore.Store) error {
		r, err := ipgeo.Open(ctx, s, meta)
		if err != nil {
			return err
		}
		_, err = ipgeo.BuildIndex(ctx, r, filepath.Join(dir, ipgeo.IndexFileName), ipgeo.IndexOptions{})
		return err
	})
}

// Address returns an address of range i: IPv4 for even i, IPv6 for odd.
func Address(i int) netip.Addr {
	if i%2 == 0 {
		n := firstAddress + uint32(i/2%RangeCount)*step + 5
		return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	}
	n := i / 2 % RangeCount
	return netip.AddrFrom16([16]byte{0x2a, 0x00, byte(n >> 8), byte(n), 15: 9})
}

const (
	firstAddress = 11 << 24 // 11.0.0.0, below the private and shared blocks
	step         = 1 << 12
)

func eachRange() iter.Seq2[ipgeo.Range, error] {
	countries := []string{"DE", "FR", "US", "JP", "BR", "ZA", "NZ"}
	return func(yield func(ipgeo.Range, error) bool) {
		for i := range 2 * RangeCount {
			first := Address(i)
			var last netip.Addr
			if first.Is4() {
				b := first.As4()
				b[3] = 0
				first = netip.AddrFrom4(b)
				b[2] |= step>>8 - 2 // a gap at the end
				b[3] = 0xFF
				last = netip.AddrFrom4(b)
			} else {
				b := first.As16()
				b[15] = 0
				first = netip.AddrFrom16(b)
				for j := 4; j < 16; j++ {
					b[j] = 0xFF
				}
				last = netip.AddrFrom16(b)
			}
			r := ipgeo.Range{First: first, Last: last, Record: ipgeo.Record{Country: ipgeo.Country{ISOCode: countries[i/2%len(countries)]}}}
			if !yield(r, nil) {
				return
			}
		}
	}
}

package places

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/quadkey"
)

// This file has the slow and obvious implementations for comparisons, and common helpers of the
// tests.

// source returns a Source with only places.
func source(list []Place) Source { return Source{Places: buildtest.SeqOf(list)} }

func build(t testing.TB, list []Place) *Finder {
	t.Helper()
	store := buildtest.NewStore(t)
	meta, stats := must.Two(Build(t.Context(), store, source(list), BuildOptions{TempDir: t.TempDir()})).In(t)
	if stats.Read != int64(len(list)) || stats.Stored != meta.Places || stats.Stored+stats.Duplicates != stats.Read {
		t.Fatalf("%d places given: %+v, %+v", len(list), stats, meta)
	}
	return must.Get(Open(t.Context(), store, meta)).In(t)
}

// settled returns the place in stored precision, with coordinates in units of 1e-7 degrees.
func settled(p Place) Place {
	p.Lat, p.Lon = math.Round(p.Lat*1e7)/1e7, math.Round(p.Lon*1e7)/1e7
	return p
}

// bruteFilter reports whether a place passes the filters of a query.
func bruteFilter(p *Place, classes, codes, countries []string, minPopulation int64) bool {
	in := func(list []string, value string) bool {
		return len(list) == 0 || slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, value) })
	}
	return in(classes, p.Class) && in(codes, p.Code) && in(countries, p.Country) && p.Population >= minPopulation
}

// bruteNearby computes Nearby by measuring every place.
func bruteNearby(list []Place, q NearbyQuery) []Hit {
	var hits []Hit
	for _, p := range list {
		p = settled(p)
		if !bruteFilter(&p, q.Classes, q.Codes, q.Countries, q.MinPopulation) {
			continue
		}
		d := quadkey.Distance(q.Lon, q.Lat, p.Lon, p.Lat)
		if q.RadiusM == 0 || d <= q.RadiusM {
			hits = append(hits, Hit{ID: p.ID, Lat: p.Lat, Lon: p.Lon, DistanceM: d})
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(a.DistanceM, b.DistanceM), cmp.Compare(a.ID, b.ID))
	})
	return hits
}

// object parses the members of a place into fields.
func object(t testing.TB, members []byte) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(append(append([]byte{'{'}, members...), '}'), &fields); err != nil {
		t.Fatalf("%v in %s", err, members)
	}
	return fields
}

// features parses the output of tileGeoJSON.
func features(t testing.TB, b []byte) []tileFeature {
	t.Helper()
	var list []tileFeature
	if err := json.Unmarshal(slices.Concat([]byte{'['}, b, []byte{']'}), &list); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return list
}

type tileFeature struct {
	Type     string
	ID       uint32
	Geometry struct {
		Type        string
		Coordinates [2]float64
	}
	Properties map[string]any
}

var testCodes = [][2]string{{"P", "PPL"}, {"P", "PPL"}, {"P", "PPLA"}, {"P", "PPLC"}, {"P", "PPLX"}, {"P", ""},
	{"A", "ADM1"}, {"T", "MT"}, {"S", "AIRP"}, {"H", "LK"}, {"", ""}, {"R", "RD"}}

var testCountries = []string{"", "CH", "NA", "FJ", "NZ", "US"}

// decorate gives a point the data for filters and importance.
func decorate(rng *rand.Rand, id uint32, lon, lat float64) Place {
	code := testCodes[rng.IntN(len(testCodes))]
	p := Place{
		ID: id, Name: fmt.Sprintf("Ort %d", id), Lat: lat, Lon: lon, Class: code[0], Code: code[1],
		Country:  testCountries[rng.IntN(len(testCountries))],
		Modified: time.Date(2000+rng.IntN(25), 1, 1+rng.IntN(28), 0, 0, 0, 0, time.UTC),
	}
	if rng.IntN(3) > 0 {
		p.Population = int64(math.Exp(rng.Float64() * 16))
	}
	return p
}

// shapes draw the positions for comparisons with the reference: dense points, coinciding ones, and
// points at the edges of maps.
var shapes = map[string]func(rng *rand.Rand) (lon, lat float64){
	"uniform": func(rng *rand.Rand) (float64, float64) {
		return rng.Float64()*360 - 180, math.Asin(rng.Float64()*2-1) * 180 / math.Pi
	},
	"clustered": clustered,
	"duplicate points": func(rng *rand.Rand) (float64, float64) {
		n := float64(rng.IntN(12))
		return n*30 - 180, n*10 - 60
	},
	"around 180": func(rng *rand.Rand) (float64, float64) {
		lon := 180 - rng.Float64()*0.5
		switch rng.IntN(8) {
		case 0:
			lon = 180
		case 1:
			lon = -180
		case 2, 3, 4:
			lon = -lon
		}
		return lon, rng.Float64()*4 - 18
	},
	"north pole": func(rng *rand.Rand) (float64, float64) {
		return rng.Float64()*360 - 180, 90 - rng.Float64()*rng.Float64()*8
	},
	"south pole": func(rng *rand.Rand) (float64, float64) {
		if rng.IntN(50) == 0 {
			return rng.Float64()*360 - 180, -90
		}
		return rng.Float64()*360 - 180, -90 + rng.Float64()*rng.Float64()*8
	},
	"edge of the map": func(rng *rand.Rand) (float64, float64) {
		return rng.Float64()*360 - 180, math.Copysign(quadkey.MaxLatitude+rng.NormFloat64()*0.01, rng.Float64()-0.5)
	},
}

// clustered draws points around city-like centres of very different sizes.
func clustered(rng *rand.Rand) (float64, float64) {
	centre := rand.New(rand.NewPCG(7, uint64(math.Floor(math.Pow(rng.Float64(), 3)*300))))
	lon, lat := centre.Float64()*340-170, centre.Float64()*130-60
	spread := math.Exp(-centre.Float64() * 5)
	return lon + rng.NormFloat64()*spread, max(-90, min(90, lat+rng.NormFloat64()*spread))
}

func scatter(seed uint64, n int, shape func(*rand.Rand) (float64, float64)) []Place {
	rng := rand.New(rand.NewPCG(seed, 1))
	list := make([]Place, n)
	for i := range list {
		lon, lat := shape(rng)
		list[i] = decorate(rng, uint32(i+1), lon, lat)
	}
	rng.Shuffle(n, func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func bruteImportance(p *Place) uint64 {
	return importance(appendQualifier(nil, p.Class, p.Code), uint64(p.Population), p.Weight)
}

type candidate struct {
	importance uint64
	id         uint32
}

// greatBeside returns the most important place of part that lies in another quarter than part[0],
// or nothing if that place is not great.
func greatBeside(part []candidate, quarters map[uint32]quadkey.Tile) []candidate {
	for _, c := range part[1:] {
		if quarters[c.id] != quarters[part[0].id] {
			if c.importance >= great {
				return []candidate{c}
			}
			break
		}
	}
	return nil
}

// metropolisNear returns the most important of the places that are second in a quarter of part: the best
// outside the best one's quarter of it. It returns nothing if that place is no metropolis.
func metropolisNear(part []candidate, quarters, sixteenths map[uint32]quadkey.Tile) (near []candidate) {
	first := map[quadkey.Tile]uint32{}
	second := map[quadkey.Tile]bool{}
	for _, c := range part {
		q := quarters[c.id]
		best, known := first[q]
		switch {
		case !known:
			first[q] = c.id
		case !second[q] && sixteenths[best] != sixteenths[c.id]:
			second[q] = true
			if c.importance >= metropolis && near == nil {
				near = []candidate{c}
			}
		}
	}
	return near
}

// bruteTile returns the places of a tile, by the rule of the documentation. From zoom allZoom on, a
// tile shows all places. At lower zooms each part of the tile shows its most important place, a
// great place of another quarter, a metropolis near another place and its two most important capitals.
func bruteTile(list []Place, t quadkey.Tile) []uint32 {
	better := func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.importance, a.importance), cmp.Compare(a.id, b.id))
	}
	byPart := map[quadkey.Tile][]candidate{}
	quarters := map[uint32]quadkey.Tile{} // of the parts, by id
	sixteenths := map[uint32]quadkey.Tile{}
	capitals, sections := map[uint32]bool{}, map[uint32]bool{}
	for _, p := range list {
		p = settled(p)
		in, err := quadkey.TileAt(p.Lon, p.Lat, t.Z)
		if err != nil {
			panic(err)
		}
		if in != t || t.Z <= rollupZoom && isPart([]byte(p.Class+"."+p.Code)) {
			continue
		}
		part := t
		if t.Z < allZoom {
			if part, err = quadkey.TileAt(p.Lon, p.Lat, t.Z+2); err != nil {
				panic(err)
			}
		}
		if t.Z <= rollupZoom {
			if quarters[p.ID], err = quadkey.TileAt(p.Lon, p.Lat, t.Z+3); err != nil {
				panic(err)
			}
		}
		if t.Z < rollupZoom {
			if sixteenths[p.ID], err = quadkey.TileAt(p.Lon, p.Lat, t.Z+4); err != nil {
				panic(err)
			}
		}
		sections[p.ID] = isPart([]byte(p.Class + "." + p.Code))
		capitals[p.ID] = p.Class == "P" && p.Code == "PPLC"
		byPart[part] = append(byPart[part], candidate{bruteImportance(&p), p.ID})
	}
	var shown []candidate
	for _, c := range byPart {
		slices.SortFunc(c, better)
		if t.Z < allZoom {
			for _, one := range c {
				if sections[one.id] {
					shown = append(shown, one)
					break
				}
			}
			c = slices.DeleteFunc(c, func(one candidate) bool { return sections[one.id] })
			if len(c) == 0 {
				continue
			}
			all := c
			c = append(c[:1:1], greatBeside(all, quarters)...)
			for _, one := range metropolisNear(all, quarters, sixteenths) {
				if !slices.Contains(c, one) {
					c = append(c, one)
				}
			}
			found := 0
			for _, one := range all {
				if found == 2 {
					break
				}
				if capitals[one.id] {
					if found++; !slices.Contains(c, one) {
						c = append(c, one)
					}
				}
			}
		}
		shown = append(shown, c...)
	}
	slices.SortFunc(shown, better)
	ids := []uint32{}
	for _, c := range shown[:min(len(shown), maxShown)] {
		ids = append(ids, c.id)
	}
	return ids
}

func hitIDs(hits []Hit) []uint32 {
	ids := make([]uint32, len(hits))
	for i := range hits {
		ids[i] = hits[i].ID
	}
	return ids
}

// sameHits compares the fields that the brute force fills, and the other fields of each hit with
// the members of its JSON.
func sameHits(t testing.TB, got, want []Hit) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d hits, want %d: %v, want %v", len(got), len(want), hitIDs(got), hitIDs(want))
	}
	for i := range want {
		g, w := got[i], want[i]
		if g.ID != w.ID || g.DistanceM != w.DistanceM || g.Lat != w.Lat || g.Lon != w.Lon {
			t.Fatalf("hit %d is %d at %v,%v in %v m, want %d at %v,%v in %v m",
				i, g.ID, g.Lat, g.Lon, g.DistanceM, w.ID, w.Lat, w.Lon, w.DistanceM)
		}
		if !bytes.HasPrefix(g.JSON, fmt.Appendf(nil, `"id":%d,"name":`, w.ID)) {
			t.Fatalf("hit %d has JSON %s", w.ID, g.JSON)
		}
		want := map[string]any{"id": float64(g.ID), "lat": g.Lat, "lon": g.Lon}
		for key, text := range map[string]string{"name": g.Name, "country": g.Country, "class": g.Class, "code": g.Code,
			"admin1": g.Admin1, "admin1_name": g.Admin1Name, "timezone": g.TimeZone} {
			if text != "" {
				want[key] = text
			}
		}
		if g.Population > 0 {
			want["population"] = float64(g.Population)
		}
		if fields := object(t, g.JSON); !maps.Equal(fields, want) {
			t.Fatalf("hit %d has the fields %v and the members %v", w.ID, want, fields)
		}
	}
}

package stations

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

var full = os.Getenv("QUADRILLE_FULL") != ""

// rounds returns the number of rounds of a test: fewer under the race detector, which is for
// goroutines, and more in the full tests.
func rounds(n int) int {
	switch {
	case testrace.Enabled:
		return max(1, n/8)
	case full:
		return 10 * n
	}
	return n
}

func build(t testing.TB, list []Station) *Finder {
	t.Helper()
	f, _ := buildIn(t, buildtest.NewStore(t), list)
	return f
}

func buildIn(t testing.TB, store cellstore.Store, list []Station) (*Finder, Meta) {
	t.Helper()
	meta, _ := must.Two(Build(t.Context(), store, buildtest.SeqOf(list), BuildOptions{TempDir: t.TempDir()})).In(t)
	f := must.Get(Open(context.WithoutCancel(t.Context()), store, meta)).In(t)
	return f, meta
}

func date(text string) time.Time {
	d, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return d
}

func numbered(n int) ID {
	id, err := MakeID(fmt.Sprintf("%06d", n), "99999")
	if err != nil {
		panic(err)
	}
	return id
}

// bruteNearest computes Nearest by measuring every station.
func bruteNearest(list []Station, lat, lon float64) (ID, float64) {
	var best ID
	distance := math.Inf(1)
	for i := range list {
		s := &list[i]
		// The distance is measured at the stored precision.
		d := positionOf(s.Lat, s.Lon).Distance(lon, lat)
		if d < distance || d == distance && slices.Compare(s.ID[:], best[:]) < 0 {
			best, distance = s.ID, d
		}
	}
	return best, distance
}

// bruteNearby computes Nearby by measuring every station.
func bruteNearby(list []Station, q NearbyQuery) []Hit {
	var hits []Hit
	for i := range list {
		s := &list[i]
		p := positionOf(s.Lat, s.Lon)
		h := Hit{ID: s.ID, DistanceM: p.Distance(q.Lon, q.Lat)}
		h.Lon, h.Lat = p.Degrees()
		if q.RadiusM > 0 && h.DistanceM > q.RadiusM || q.Country != "" && s.Country != q.Country || !active(s, q.At) {
			continue
		}
		hits = append(hits, h)
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		if c := cmp.Compare(a.DistanceM, b.DistanceM); c != 0 {
			return c
		}
		return slices.Compare(a.ID[:], b.ID[:])
	})
	return hits[:min(len(hits), cmp.Or(q.Limit, near.DefaultLimit))]
}

func active(s *Station, at time.Time) bool {
	if at.IsZero() {
		return true
	}
	day := at.UTC().Truncate(24 * time.Hour)
	return (s.Begin.IsZero() || !s.Begin.After(day)) && (s.End.IsZero() || !s.End.Before(day))
}

// shapes has functions that draw random positions on the globe.
var shapes = map[string]func(*rand.Rand) (lon, lat float64){
	"even": func(r *rand.Rand) (float64, float64) {
		return r.Float64()*360 - 180, math.Asin(2*r.Float64()-1) * 180 / math.Pi
	},
	"clustered": func(r *rand.Rand) (float64, float64) {
		k := r.IntN(12)
		return math.Mod(float64(k)*67.3+r.NormFloat64()*0.3+540, 360) - 180, math.Mod(float64(k)*31.7, 170) - 85 + r.Float64()*0.4
	},
	"poles": func(r *rand.Rand) (float64, float64) {
		return r.Float64()*360 - 180, math.Copysign(90-math.Abs(r.NormFloat64())*2, r.NormFloat64())
	},
	"antimeridian": func(r *rand.Rand) (float64, float64) {
		return math.Copysign(180-math.Abs(r.NormFloat64()), r.NormFloat64()), r.NormFloat64() * 25
	},
	// Ties are everywhere: many points are equally near to two or four stations.
	"grid": func(r *rand.Rand) (float64, float64) {
		return float64(r.IntN(37)*10 - 180), float64(r.IntN(19)*10 - 90)
	},
	"equator": func(r *rand.Rand) (float64, float64) { return float64(r.IntN(73)*5 - 180), 0 },
}

func scatter(seed uint64, n int, shape func(*rand.Rand) (lon, lat float64)) []Station {
	rng := rand.New(rand.NewPCG(seed, 1))
	list := make([]Station, n)
	for i := range list {
		s := &list[i]
		s.ID = numbered(i)
		s.Lon, s.Lat = shape(rng)
		s.Lat = min(max(s.Lat, -90), 90)
		// Positions have three decimals, as in the source, so some stations coincide.
		s.Lon, s.Lat = math.Round(s.Lon*1000)/1000, math.Round(s.Lat*1000)/1000
		s.Name = "STATION " + strconv.Itoa(i)
		s.Country = []string{"", "CH", "US"}[rng.IntN(3)]
		if rng.IntN(4) > 0 {
			s.Begin = date("1950-01-01").AddDate(0, 0, rng.IntN(20000))
			s.End = s.Begin.AddDate(0, 0, rng.IntN(9000))
		}
	}
	rng.Shuffle(n, func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// realStations reads the stations of NOAA's list that have a position, without checks. The real
// reader has its own tests.
func realStations(t testing.TB) []Station {
	t.Helper()
	file, err := os.Open("../../../shared/data/weather/isd-history.csv.gz")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the real list of stations is not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z := must.Get(gzip.NewReader(file)).In(t)
	rows := must.Get(csv.NewReader(z).ReadAll()).In(t)
	var list []Station
	for _, row := range rows[1:] {
		lat, err1 := strconv.ParseFloat(row[6], 64)
		lon, err2 := strconv.ParseFloat(row[7], 64)
		if err1 != nil || err2 != nil || lat == 0 && lon == 0 {
			continue
		}
		s := Station{Name: row[2], ICAO: row[5], State: row[4], Lat: lat, Lon: lon}
		s.ID = must.Get(MakeID(row[0], row[1])).In(t)
		s.Begin = must.Get(time.Parse("20060102", row[9])).In(t)
		s.End = must.Get(time.Parse("20060102", row[10])).In(t)
		list = append(list, s)
	}
	return list
}

// points draws a point where answers are most likely to be wrong, given the stations.
func points(rng *rand.Rand, list []Station) (lat, lon float64) {
	at := func() (float64, float64) {
		s := &list[rng.IntN(len(list))]
		return s.Lat, s.Lon
	}
	switch rng.IntN(10) {
	case 0:
		return float64(1-2*rng.IntN(2)) * 90, rng.Float64()*360 - 180
	case 1:
		return rng.Float64()*180 - 90, float64(1-2*rng.IntN(2)) * 180
	case 2: // beyond the edge of the map
		return math.Copysign(85.0511+rng.Float64()*4.9, rng.Float64()-0.5), rng.Float64()*360 - 180
	case 3:
		return at()
	case 4: // half-way between two
		lat1, lon1 := at()
		lat2, lon2 := at()
		m := vecOf(lon1, lat1).plus(vecOf(lon2, lat2))
		return clampedLat(m), math.Atan2(m.y, m.x) / radians
	case 5: // equally far from three of one neighbourhood
		lat1, lon1 := at()
		hits := bruteNearby(list, NearbyQuery{Lat: lat1, Lon: lon1, Limit: 6})
		pick := func() vec { return vecOf(hits[rng.IntN(len(hits))].Lon, hits[rng.IntN(len(hits))].Lat) }
		a, b, c := pick(), pick(), pick()
		u, v := b.minus(a), c.minus(a)
		n := vec{u.y*v.z - u.z*v.y, u.z*v.x - u.x*v.z, u.x*v.y - u.y*v.x}
		if n.norm() > 0 {
			return clampedLat(n), math.Atan2(n.y, n.x) / radians
		}
		return lat1, lon1
	case 6: // a corner of a tile
		z := uint8(rng.IntN(17))
		t := quadkey.Tile{Z: z, X: uint32(rng.IntN(1 << z)), Y: uint32(rng.IntN(1 << z))}
		b := t.Bound()
		return b.North, b.West
	case 7: // near a station
		lat, lon := at()
		lon += rng.NormFloat64() * 0.01
		return min(max(lat+rng.NormFloat64()*0.01, -90), 90), math.Mod(lon+540, 360) - 180
	}
	return math.Asin(2*rng.Float64()-1) / radians, rng.Float64()*360 - 180
}

func clampedLat(v vec) float64 { return math.Atan2(v.z, math.Hypot(v.x, v.y)) / radians }

// vec is a point of three-dimensional space.
type vec struct{ x, y, z float64 }

// vecOf returns a point of the unit sphere.
func vecOf(lon, lat float64) vec {
	sinLon, cosLon := math.Sincos(lon * radians)
	sinLat, cosLat := math.Sincos(lat * radians)
	return vec{cosLat * cosLon, cosLat * sinLon, sinLat}
}

func (a vec) minus(b vec) vec   { return vec{a.x - b.x, a.y - b.y, a.z - b.z} }
func (a vec) dot(b vec) float64 { return a.x*b.x + a.y*b.y + a.z*b.z }

func (a vec) plus(b vec) vec { return vec{a.x + b.x, a.y + b.y, a.z + b.z} }
func (a vec) norm() float64  { return math.Sqrt(a.dot(a)) }

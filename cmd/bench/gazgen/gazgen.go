// Package gazgen makes places of the shape of the GeoNames gazetteer, as many as
// a benchmark wants: the same number and seed give the same places everywhere.
//
// The places resemble the real set of 13 million. Classes, codes and countries have the same
// shares, and some countries have no place of some codes. One place in three is near a city, and
// the sizes of cities follow a power law. The other places are spread over their countries. One
// populated place in nine has a population, and these also follow a power law. Names have one to
// four words, and some places have other names. There are codes of divisions, time zones and dates.
// Ids come in ascending runs, like the countries in the real file. All names are invented, and
// positions have no meaning.
//
// Source adds the other tables: alternate names in six scripts, with as many for each place as in
// the real table, parents, and the codes of divisions.
package gazgen

import (
	"iter"
	"math"
	"math/rand/v2"
	"sort"
	"strconv"
	"time"

	"quadrille/places"
)

// Seq yields n places with different ids.
func Seq(n int, seed uint64) iter.Seq2[places.Place, error] {
	return func(yield func(places.Place, error) bool) {
		g := newGenerator(n, seed)
		for i := range n {
			if !yield(g.place(i), nil) {
				return
			}
		}
	}
}

// Points returns k positions, longitude and latitude in degrees, spread like the places of the same
// seed, as the queries of a map's users are.
func Points(k int, seed uint64) [][2]float64 {
	g := newGenerator(k, seed)
	g.rng = rand.New(rand.NewPCG(seed, 2))
	list := make([][2]float64, k)
	for i := range list {
		lon, lat := g.position(g.country())
		list[i] = [2]float64{lon, lat}
	}
	return list
}

// runLength is the number of ids that ascend in a row.
const runLength = 1024

type generator struct {
	rng       *rand.Rand
	countries []land
	upTo      []float64 // running sums of the countries' weights
	classes   []class
	shares    []float64 // running sums of theirs
	runs      int
	stride    int
	text      []byte
	dem       []int
}

// land is a country: a rectangle and its cities.
type land struct {
	code                     string
	weight                   float64
	west, south, east, north float64
	zone                     string
	number                   uint64
	cities                   []city
}

type city struct{ lon, lat, spread float64 }

// class is a feature class with its codes and the running sums of their shares.
type class struct {
	name  string
	codes []string
	sums  []float64
}

func newGenerator(n int, seed uint64) *generator {
	g := &generator{rng: rand.New(rand.NewPCG(seed, 1)), classes: makeClasses()}
	rng := rand.New(rand.NewPCG(seed, 3))
	g.countries = makeLands(rng)
	sum := 0.0
	for _, t := range classTable {
		sum += t.share
		g.shares = append(g.shares, sum)
	}
	sum = 0
	for i := range g.countries {
		sum += g.countries[i].weight
		g.upTo = append(g.upTo, sum)
	}
	g.runs = max(1, (n+runLength-1)/runLength)
	for g.stride = g.runs*5/8 | 1; gcd(g.stride, g.runs) != 1; g.stride += 2 {
	}
	g.dem = make([]int, 256)
	for i := range g.dem {
		g.dem[i] = i * i / 16
	}
	return g
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// pick returns the index of a running sum by a share of the whole.
func pick(sums []float64, share float64) int {
	return min(sort.SearchFloat64s(sums, share*sums[len(sums)-1]), len(sums)-1)
}

func (g *generator) country() *land { return &g.countries[pick(g.upTo, g.rng.Float64())] }

// cityShare is the share of places that are near cities.
const cityShare = 0.35

func (g *generator) position(c *land) (lon, lat float64) {
	if g.rng.Float64() < cityShare {
		// The r-th city is about 1/r as large.
		rank := int(math.Pow(float64(len(c.cities)), g.rng.Float64())) - 1
		t := &c.cities[min(max(rank, 0), len(c.cities)-1)]
		lon, lat = t.lon+g.rng.NormFloat64()*t.spread, t.lat+g.rng.NormFloat64()*t.spread*0.7
	} else {
		lon = c.west + (c.east-c.west)*g.rng.Float64()
		lat = c.south + (c.north-c.south)*g.rng.Float64()
	}
	if lon > 180 {
		lon -= 360
	} else if lon < -180 {
		lon += 360
	}
	// Positions have five decimals, as in GeoNames.
	return math.Round(lon*1e5) / 1e5, math.Round(max(-90, min(90, lat))*1e5) / 1e5
}

// id returns the id of place number i.
func (g *generator) id(i int) uint32 {
	return uint32(i/runLength*g.stride%g.runs*runLength+i%runLength) + 1
}

func (g *generator) place(i int) places.Place {
	c := g.country()
	p := places.Place{
		ID:      g.id(i),
		Country: c.code, TimeZone: c.zone,
	}
	p.Lon, p.Lat = g.position(c)
	k := &g.classes[pick(g.shares, g.rng.Float64())]
	p.Class = k.name
	code := pick(k.sums, g.rng.Float64())
	if code >= commonCodes && mix(c.number, uint64(code)<<8|uint64(k.name[0]))%3 > 0 {
		code %= commonCodes // a rare code that this country does not have
	}
	p.Code = k.codes[code]
	p.Population = g.population(k.name)

	x, y := (p.Lon-c.west)/(c.east-c.west), (p.Lat-c.south)/(c.north-c.south)
	division := (int(max(0, min(0.999, x))*6))*6 + int(max(0, min(0.999, y))*6)
	p.Admin1 = twoDigits[division]
	if k.name == "P" || k.name == "A" {
		p.Admin2 = p.Admin1 + twoDigits[int(mix(uint64(division), uint64(x*24))%97)]
	}
	g.name(&p, k.name)
	p.DEM = &g.dem[g.rng.IntN(len(g.dem))]
	p.Modified = time.Unix(firstDay+int64(g.rng.IntN(7000))*86400, 0).UTC()
	return p
}

// firstDay is 2006-01-01.
const firstDay = 1136073600

func (g *generator) population(class string) int64 {
	populated, least := 0.11, 200.0
	switch class {
	case "P":
	case "A":
		populated, least = 0.15, 2000
	case "S", "L":
		populated = 0.0005
	default:
		populated = 0.0001
	}
	if g.rng.Float64() > populated {
		return 0
	}
	return int64(min(least*math.Pow(1-g.rng.Float64(), -1/0.8), 22_000_000))
}

func (g *generator) name(p *places.Place, class string) {
	b := g.text[:0]
	r := g.rng.Uint64()
	take := func(n uint64) uint64 {
		v := r % n
		r /= n
		return v
	}
	if take(5) == 0 {
		b = append(append(b, firstWords[take(uint64(len(firstWords)))]...), ' ')
	}
	ascii := true
	at := len(b)
	for range 1 + take(3) {
		s := syllables[take(uint64(len(syllables)))]
		for i := range len(s) {
			ascii = ascii && s[i] < 0x80
		}
		b = append(b, s...)
	}
	b = append(b, endings[take(uint64(len(endings)))]...)
	if c := b[at]; 'a' <= c && c <= 'z' {
		b[at] = c - 'a' + 'A'
	}
	if kind := kinds[class[0]]; kind != nil {
		b = append(append(b, ' '), kind[take(uint64(len(kind)))]...)
	} else if take(12) == 0 {
		b = append(append(b, ' '), lastWords[take(uint64(len(lastWords)))]...)
	}
	p.Name = string(b)
	g.text = b
	p.ASCIIName = p.Name
	if !ascii {
		p.ASCIIName = toASCII(p.Name)
	}
	// Populated places have alternate names; larger places have more of them.
	more := 0
	switch {
	case p.Population > 100_000:
		more = 20 + int(take(20))
	case p.Population > 0:
		more = int(take(6))
	case take(4) == 0:
		more = 1 + int(take(2))
	}
	if more == 0 {
		return
	}
	b = b[:0]
	for i := range more {
		if i > 0 {
			b = append(b, ',')
		}
		v := g.rng.Uint64()
		script := scripts[v%uint64(len(scripts))]
		for v /= uint64(len(scripts)); v > 1<<40; v >>= 8 {
			b = append(b, script[v%uint64(len(script))]...)
		}
	}
	p.AlternateNames = string(b)
	g.text = b
}

func mix(a, b uint64) uint64 {
	x := (a+0x9e3779b97f4a7c15)*0xbf58476d1ce4e5b9 ^ b*0x94d049bb133111eb
	x ^= x >> 29
	x *= 0xff51afd7ed558ccd
	return x ^ x>>32
}

var twoDigits = func() (list [100]string) {
	for i := range list {
		list[i] = strconv.Itoa(i/10) + strconv.Itoa(i%10)
	}
	return list
}()

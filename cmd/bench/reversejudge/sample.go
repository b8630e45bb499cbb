package main

import (
	"math"
	"math/rand/v2"

	"quadrille/cmd/bench/judged"
)

// question is a point about which all endpoints are queried.
type question struct {
	lat, lon float64
	from     string // how it was found
}

// sampler draws questions.
type sampler struct {
	*judged.World
	random *rand.Rand
}

// questions draws n points: a sixth each near a border of countries, of states and of
// counties, and between two neighbouring towns of different countries, states and counties.
// Where the data has too few borders of a kind, there are fewer. Towns that several regions
// of a level hold are added.
func (s *sampler) questions(n int) (list []question) {
	for kind := range 2 * judged.Levels {
		want := len(list) + (n-len(list))/(2*judged.Levels-kind)
		for tries := 0; len(list) < want && tries < 200*n; tries++ {
			level := judged.Level(kind / 2)
			draw := s.besideBorder
			if kind%2 == 1 {
				draw = s.betweenTowns
			}
			if q, ok := draw(level); ok {
				list = append(list, q)
			}
		}
	}
	return append(list, s.inSeveral(n/20)...)
}

// inSeveral returns up to n towns that lie in several countries or in several states of the layers:
// in enclaves, or in areas that the layers count twice.
func (s *sampler) inSeveral(n int) (list []question) {
	for _, i := range s.random.Perm(len(s.Places)) {
		p := &s.Places[i]
		for level := range judged.County {
			if len(list) < n && len(s.Layers[level].At(p.Lon, p.Lat)) > 1 {
				list = append(list, question{p.Lat, p.Lon, "town in several of " + level.String()})
			}
		}
	}
	return list
}

// besideBorder draws a region, an edge of it, and a point up to 5 km from the edge, mostly much
// nearer. Both sides of the border must be regions, so it is not a coast.
func (s *sampler) besideBorder(level judged.Level) (q question, ok bool) {
	layer := s.Layers[level]
	r := layer.Regions[s.random.IntN(len(layer.Regions))]
	at, edge := r.PointOnEdge(s.random.Float64())
	length := math.Hypot(edge[0]*math.Cos(at[1]*math.Pi/180), edge[1])
	if length == 0 || math.Abs(at[1]) > 80 {
		return q, false
	}
	along, side := s.random.Float64(), float64(1-2*s.random.IntN(2))
	aside := func(metres float64) (lon, lat float64) {
		d := metres / 111_195 / length
		shrink := math.Cos(at[1] * math.Pi / 180)
		lon = at[0] + along*edge[0] - d*edge[1]/shrink
		return rounded(math.Remainder(lon, 360)), rounded(at[1] + along*edge[1] + d*edge[0]*shrink)
	}
	metres := 100 * math.Pow(50, s.random.Float64())
	lon, lat := aside(side * metres)
	here, there := layer.At(lon, lat), layer.At(aside(-side*200))
	if len(here) == 0 || len(there) == 0 || here[0] == there[0] {
		return q, false
	}
	return question{lat, lon, "border of " + level.String()}, true
}

// betweenTowns draws a town, the nearest town of another region within 40 km, and a point on the
// middle third of the way between them.
func (s *sampler) betweenTowns(level judged.Level) (q question, ok bool) {
	a := &s.Places[s.random.IntN(len(s.Places))]
	own := a.Division(level)
	if own == "" || len(s.Layers[level].At(a.Lon, a.Lat)) == 0 {
		return q, false
	}
	var b *judged.Place
	nearest := 40_000.0
	s.Near(a.Lon, a.Lat, func(p *judged.Place, metres float64) {
		if other := p.Division(level); metres < nearest && other != "" && other != own {
			b, nearest = p, metres
		}
	})
	if b == nil {
		return q, false
	}
	share := (1 + s.random.Float64()) / 3
	return question{rounded(a.Lat + share*(b.Lat-a.Lat)), rounded(a.Lon + share*(b.Lon-a.Lon)), "towns of " + level.String()}, true
}

// rounded rounds to five decimals, so that a question can be written down.
func rounded(v float64) float64 { return math.Round(v*1e5) / 1e5 }

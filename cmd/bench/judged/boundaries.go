package judged

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Level is one of the three kinds of regions by which answers are judged.
type Level int

// These are the levels of regions.
const (
	Country Level = iota
	State
	County
	Levels int = iota
)

func (l Level) String() string { return [...]string{"country", "state", "county"}[l] }

// Region is a country, a state, a county or a lake of a publisher's file.
type Region struct {
	Names    []string
	Codes    []string // in lower case: us, us-mi, 26163
	Country  string   // US, or "" where the file does not say
	Kind     string   // the file's word for it in English, such as State
	Division string   // GeoNames' code of the division, if most rows within agree on one

	polygons []polygon
	size     float64 // in square degrees
}

type polygon struct {
	rings                    [][][2]float64 // consecutive longitudes differ by at most 180
	west, south, east, north float64
}

// Layer holds the regions of a level.
type Layer struct {
	Regions []*Region
	byCode  map[string][]*Region
	byName  map[string][]*Region
}

// ByCode returns the regions with a code.
func (l *Layer) ByCode(code string) []*Region { return l.byCode[strings.ToLower(code)] }

// ByName returns the regions with a name.
func (l *Layer) ByName(name string) []*Region { return l.byName[plain(name)] }

func (l *Layer) indexNames() {
	l.byName = map[string][]*Region{}
	for _, r := range l.Regions {
		for _, name := range r.Names {
			if key := plain(name); key != "" && !slices.Contains(l.byName[key], r) {
				l.byName[key] = append(l.byName[key], r)
			}
		}
	}
}

// speck is the distance, in metres, within which a point counts as inside a region without an area:
// world-atlas draws Vatican City as a line.
const speck = 200

// At returns the regions that contain a point, the smallest first.
func (l *Layer) At(lon, lat float64) []*Region {
	var list []*Region
	for _, r := range l.Regions {
		if r.Holds(lon, lat) || r.size == 0 && r.EdgeNearer(lon, lat, speck) {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b *Region) int { return cmp.Compare(a.size, b.size) })
	return list
}

// Holds reports whether a ray from the point to the east crosses the region's edges an odd
// number of times.
func (r *Region) Holds(lon, lat float64) bool {
	odd := false
	r.each(lon, lat, 0, func(x float64, ring [][2]float64) bool {
		for i, a := range ring {
			b := ring[(i+1)%len(ring)]
			if (a[1] > lat) != (b[1] > lat) && x < (b[0]-a[0])*(lat-a[1])/(b[1]-a[1])+a[0] {
				odd = !odd
			}
		}
		return true
	})
	return odd
}

// metre is a metre of latitude in degrees.
const metre = 1 / 111_195.0

// EdgeNearer reports whether the distance from a point to an edge of the region is less than the given
// metres.
func (r *Region) EdgeNearer(lon, lat, metres float64) bool {
	shrink, found, reach := math.Cos(lat*math.Pi/180), false, metres*metre
	r.each(lon, lat, reach/max(shrink, 0.01), func(x float64, ring [][2]float64) bool {
		for i, a := range ring {
			b := ring[(i+1)%len(ring)]
			if min(a[1], b[1]) > lat+reach || max(a[1], b[1]) < lat-reach {
				continue
			}
			ax, ay, bx, by := (a[0]-x)*shrink, a[1]-lat, (b[0]-x)*shrink, b[1]-lat
			along := 0.0
			if d := (bx-ax)*(bx-ax) + (by-ay)*(by-ay); d > 0 {
				along = min(max(-(ax*(bx-ax)+ay*(by-ay))/d, 0), 1)
			}
			if math.Hypot(ax+along*(bx-ax), ay+along*(by-ay)) <= reach {
				found = true
				return false
			}
		}
		return true
	})
	return found
}

// each visits the rings of the polygons whose box, with a margin, holds a point. The longitude x of
// the point is shifted like those of the polygon, which may go beyond ±180.
func (r *Region) each(lon, lat, margin float64, visit func(x float64, ring [][2]float64) bool) {
	for i := range r.polygons {
		p := &r.polygons[i]
		if lat < p.south-margin || lat > p.north+margin {
			continue
		}
		for _, x := range [...]float64{lon, lon - 360, lon + 360} {
			if x < p.west-margin || x > p.east+margin {
				continue
			}
			for _, ring := range p.rings {
				if !visit(x, ring) {
					return
				}
			}
		}
	}
}

// Within reports whether the region's box lies in the box of another region, so that the region may
// be an enclave.
func (r *Region) Within(of *Region) bool {
	a, b := r.box(), of.box()
	return a.west >= b.west && a.east <= b.east && a.south >= b.south && a.north <= b.north
}

func (r *Region) box() polygon {
	all := r.polygons[0]
	for _, p := range r.polygons[1:] {
		all.west, all.south, all.east, all.north = min(all.west, p.west), min(all.south, p.south), max(all.east, p.east), max(all.north, p.north)
	}
	return all
}

// PointOnEdge returns a point on the region's outlines and the edge's direction, both in degrees. share is
// the position of the point as a part of the way along all outlines, from 0 to 1.
func (r *Region) PointOnEdge(share float64) (at, direction [2]float64) {
	total := 0.0
	for pass, left := 0, 0.0; pass < 2; pass++ {
		for i := range r.polygons {
			for _, ring := range r.polygons[i].rings {
				for i, a := range ring {
					b := ring[(i+1)%len(ring)]
					d := math.Hypot((b[0]-a[0])*math.Cos(a[1]*math.Pi/180), b[1]-a[1])
					if pass == 0 {
						total += d
						continue
					}
					if left -= d; left <= 0 {
						return a, [2]float64{b[0] - a[0], b[1] - a[1]}
					}
				}
			}
		}
		left = total * share
	}
	return r.polygons[0].rings[0][0], direction
}

// ReadLayer reads a file of GeoJSON, or an object of a file of TopoJSON. describe makes a region
// from its id and its properties, whose names are in lower case. A feature for which it returns nil
// is left out.
func ReadLayer(file, object string, describe func(id string, text func(names ...string) string) *Region) (*Layer, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var in io.Reader = bufio.NewReader(f)
	if strings.HasSuffix(file, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			return nil, err
		}
	}
	l := &Layer{byCode: map[string][]*Region{}}
	take := func(s *shape) error {
		outlines, err := s.outlines()
		if err != nil || len(outlines) == 0 {
			return err
		}
		if r := describe(s.id(), s.text); r != nil {
			l.add(r, outlines)
		}
		return nil
	}
	if object != "" {
		err = topoShapes(in, object, take)
	} else {
		err = geoShapes(in, take)
	}
	if err == nil && len(l.Regions) == 0 {
		err = errors.New("there are no regions in it")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	l.indexNames()
	return l, nil
}

func (l *Layer) add(r *Region, outlines [][][][2]float64) {
	for _, rings := range outlines {
		p := polygon{rings: rings, west: math.Inf(1), south: math.Inf(1), east: math.Inf(-1), north: math.Inf(-1)}
		for n, ring := range rings {
			doubled := 0.0
			for i := range ring {
				if i > 0 { // over ±180 the short way
					ring[i][0] -= 360 * math.Round((ring[i][0]-ring[i-1][0])/360)
				}
				a, b := ring[max(i-1, 0)], ring[i]
				doubled += (b[0] - a[0]) * (a[1] + b[1])
				p.west, p.east = min(p.west, b[0]), max(p.east, b[0])
				p.south, p.north = min(p.south, b[1]), max(p.north, b[1])
			}
			if n == 0 {
				r.size += math.Abs(doubled) / 2
			}
		}
		r.polygons = append(r.polygons, p)
	}
	r.Names = slices.DeleteFunc(r.Names, func(name string) bool { return name == "" })
	r.Codes = slices.DeleteFunc(r.Codes, func(code string) bool { return code == "" })
	for i, code := range r.Codes {
		r.Codes[i] = strings.ToLower(code)
		l.byCode[r.Codes[i]] = append(l.byCode[r.Codes[i]], r)
	}
	l.Regions = append(l.Regions, r)
}

// shape is a feature of GeoJSON or a geometry of TopoJSON.
type shape struct {
	ID         any
	Properties map[string]any
	Geometry   struct {
		Type        string
		Coordinates json.RawMessage
	}
	Type     string
	Arcs     json.RawMessage
	topology *topology
}

func (s *shape) id() string {
	if s.ID == nil {
		return ""
	}
	return fmt.Sprint(s.ID)
}

// text returns the first of some properties that is not empty.
func (s *shape) text(names ...string) string {
	for _, name := range names {
		for key, value := range s.Properties {
			if !strings.EqualFold(key, name) {
				continue
			}
			text := ""
			switch v := value.(type) {
			case string:
				text = strings.TrimSpace(v)
			case float64:
				text = strconv.FormatFloat(v, 'f', -1, 64)
			}
			if text != "" && text != "-99" && text != "-1" {
				return text
			}
		}
	}
	return ""
}

// outlines returns the rings of each polygon.
func (s *shape) outlines() (list [][][][2]float64, err error) {
	if s.topology != nil {
		return s.topology.outlines(s.Type, s.Arcs)
	}
	switch s.Geometry.Type {
	case "Polygon":
		list = make([][][][2]float64, 1)
		err = json.Unmarshal(s.Geometry.Coordinates, &list[0])
	case "MultiPolygon":
		err = json.Unmarshal(s.Geometry.Coordinates, &list)
	}
	return list, err
}

// geoShapes reads one feature after the other.
func geoShapes(r io.Reader, take func(*shape) error) error {
	in := json.NewDecoder(r)
	for {
		token, err := in.Token()
		if err != nil {
			return err
		}
		if token == "features" {
			break
		}
	}
	if _, err := in.Token(); err != nil {
		return err
	}
	for in.More() {
		var s shape
		if err := in.Decode(&s); err != nil {
			return err
		}
		if err := take(&s); err != nil {
			return err
		}
	}
	return nil
}

// topology has the arcs of which TopoJSON outlines consist.
type topology struct {
	Transform struct{ Scale, Translate [2]float64 }
	Arcs      [][][2]float64
	Objects   map[string]struct{ Geometries []shape }
}

func topoShapes(r io.Reader, object string, take func(*shape) error) error {
	var t topology
	if err := json.NewDecoder(r).Decode(&t); err != nil {
		return err
	}
	scale, from := t.Transform.Scale, t.Transform.Translate
	for _, arc := range t.Arcs { // each position but the first is a step from the one before
		var x, y float64
		for i := range arc {
			x, y = x+arc[i][0], y+arc[i][1]
			arc[i] = [2]float64{x*scale[0] + from[0], y*scale[1] + from[1]}
		}
	}
	for _, s := range t.Objects[object].Geometries {
		s.topology = &t
		if err := take(&s); err != nil {
			return err
		}
	}
	return nil
}

func (t *topology) outlines(kind string, arcs json.RawMessage) (list [][][][2]float64, err error) {
	var numbers [][][]int
	switch kind {
	case "Polygon":
		numbers = make([][][]int, 1)
		err = json.Unmarshal(arcs, &numbers[0])
	case "MultiPolygon":
		err = json.Unmarshal(arcs, &numbers)
	}
	for _, polygon := range numbers {
		var rings [][][2]float64
		for _, indices := range polygon {
			var ring [][2]float64
			for _, n := range indices {
				part := slices.Clone(t.Arcs[max(n, ^n)])
				if n < 0 { // an arc may be taken backwards
					slices.Reverse(part)
				}
				ring = append(ring, part[min(len(ring), 1):]...)
			}
			rings = append(rings, ring)
		}
		list = append(list, rings)
	}
	return list, err
}

// Package fence tells which borders moving points cross: those of regions, circles and
// boxes. Streams of events and webhooks share it, so that both tell the same.
package fence

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/problems"
	"quadrille/places/points"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// Max bounds the fences of one set.
const Max = 100

// Set is the areas whose border crossings are told. An empty one stands for all moves.
type Set struct {
	enter, leave []regionFence
	shapes       []shapeFence
	types        []string // of the regions
}

// regionFence is a region, or every region of a type if id is "".
type regionFence struct{ typ, id string }

// shapeFence is a circle or a box.
type shapeFence struct {
	name     string // as in the request
	box      quadkey.Box
	lat, lon float64
	radius   float64 // metres, of a circle
	circle   bool
}

const (
	enterAdvice = "a region as type:id, such as state:us-ks, or a type alone for each of its regions, or several with commas between them"
	maxShapes   = Max * 80 // bytes of a list of circles or boxes
)

// Read reads a set from parameters.
func Read(q *endpoint.Params) (f Set) {
	f.enter, f.leave = readRegions(q, "enter"), readRegions(q, "leave")
	readShapes(q, "within", 3, func(v []float64, name string) bool {
		f.shapes = append(f.shapes, shapeFence{name: name, circle: true, lat: v[0], lon: v[1], radius: v[2]})
		return points.CheckPosition(v[0], v[1]) == nil && v[2] > 0 && v[2] <= endpoint.MaxRadius
	}, "lat,lon,metres")
	readShapes(q, "bbox", 4, func(v []float64, name string) bool {
		box := quadkey.Box{West: v[0], South: v[1], East: v[2], North: v[3]}
		f.shapes = append(f.shapes, shapeFence{name: name, box: box})
		return box.Valid()
	}, "west,south,east,north")
	if len(f.enter)+len(f.leave)+len(f.shapes) > Max {
		q.Refuse("", "Ask for at most "+strconv.Itoa(Max)+" fences; spread the rest over further streams or hooks.")
	}
	for _, r := range slices.Concat(f.enter, f.leave) {
		if !slices.Contains(f.types, r.typ) {
			f.types = append(f.types, r.typ)
		}
	}
	return f
}

// readRegions reads a list of regions.
func readRegions(q *endpoint.Params, name string) (list []regionFence) {
	if !q.Has(name) {
		return nil
	}
	for entry := range strings.SplitSeq(q.Text(name, maxShapes), ",") {
		typ, id, named := strings.Cut(entry, ":")
		if typ == "" || named && id == "" {
			q.Refuse(name, "Set "+name+" to "+enterAdvice+".")
			return nil
		}
		if list = append(list, regionFence{typ, id}); len(list) > Max {
			break
		}
	}
	return list
}

// readShapes reads a list of circles or boxes, each of n numbers.
func readShapes(q *endpoint.Params, name string, n int, add func(v []float64, text string) bool, shape string) {
	if !q.Has(name) {
		return
	}
	text := q.Text(name, maxShapes)
	parts := strings.Split(text, ",")
	if len(parts)%n != 0 {
		q.Refuse(name, "Set "+name+" to "+shape+", or to several of these one after the other.")
		return
	}
	for i := 0; i < len(parts) && q.Err == nil; i += n {
		var v [4]float64
		ok := true
		for j := range n {
			number, isNumber := endpoint.Decimal(parts[i+j])
			v[j], ok = number, ok && isNumber
		}
		if !add(v[:n], name+":"+strings.Join(parts[i:i+n], ",")) || !ok {
			q.Refuse(name, "Set "+name+" to "+shape+" in degrees, or to several of these one after the other.")
		}
	}
}

// check refuses regions that are not there.
func (f *Set) check(ctx context.Context, b ask.Boundaries) error {
	for name, list := range map[string][]regionFence{"enter": f.enter, "leave": f.leave} {
		for _, r := range list {
			if !slices.ContainsFunc(b.Types(), func(m tiles.TypeMeta) bool { return m.Name == r.typ }) {
				return problems.UnknownType(b, name)
			}
			if r.id == "" {
				continue
			}
			if _, err := b.Region(ctx, r.typ, r.id, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// All reports whether all moves are asked for.
func (f *Set) All() bool { return len(f.types) == 0 && len(f.shapes) == 0 }

// appendCrossings appends the fences that a move crosses as events, those that it leaves
// first. regions tells the regions of the types at a position.
func (f *Set) appendCrossings(dst []Event, e *points.Event, regions func(lon, lat float64) ([]tiles.Region, error)) ([]Event, error) {
	var from, to []tiles.Region
	var err error
	if len(f.types) > 0 {
		if e.From != nil {
			from, err = regions(e.From[0], e.From[1])
		}
		if err == nil && e.To != nil {
			to, err = regions(e.To[0], e.To[1])
		}
		if err != nil {
			return dst, err
		}
	}
	dst = appendNew(dst, Leave, f.leave, from, to)
	for i := range f.shapes {
		if s := &f.shapes[i]; s.holds(e.From) && !s.holds(e.To) {
			dst = append(dst, Event{Type: Leave, Fence: s.name})
		}
	}
	dst = appendNew(dst, Enter, f.enter, to, from)
	for i := range f.shapes {
		if s := &f.shapes[i]; s.holds(e.To) && !s.holds(e.From) {
			dst = append(dst, Event{Type: Enter, Fence: s.name})
		}
	}
	return dst, nil
}

// appendNew appends the regions of in that out lacks and a fence is about.
func appendNew(dst []Event, typ string, list []regionFence, in, out []tiles.Region) []Event {
	for _, r := range in {
		same := func(o tiles.Region) bool { return o.Type == r.Type && o.ID == r.ID }
		wanted := func(f regionFence) bool { return f.typ == r.Type && (f.id == "" || f.id == r.ID) }
		if slices.ContainsFunc(list, wanted) && !slices.ContainsFunc(out, same) {
			dst = append(dst, Event{Type: typ, Fence: r.Type + ":" + r.ID})
		}
	}
	return dst
}

// holds reports whether a position, longitude and latitude or nil for none, is inside.
func (s *shapeFence) holds(p *[2]float64) bool {
	switch {
	case p == nil:
		return false
	case s.circle:
		return quadkey.Distance(s.lon, s.lat, p[0], p[1]) <= s.radius
	}
	return s.box.Contains(p[0], p[1])
}

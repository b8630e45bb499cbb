// Package topojson reads the polygons of one object of a TopoJSON topology,
// https://github.com/topojson/topojson-specification, quantised or not. The vertices of an arc are
// computed once, so that two regions with a common arc get exactly equal vertices.
//
// A topology can only be read as a whole, since the arcs usually come after the references to them.
// MaxArcPoints bounds the memory. A hostile file can repeat references without end, so these are
// bounded too: by source.MaxVertices per feature and maxExpanded in total.
package topojson

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/jsonscan"
)

const (
	// MaxArcPoints is the greatest total number of points of all arcs.
	MaxArcPoints = 32 << 20
	maxArcs      = 8 << 20
	maxObjects   = 1000
	maxRefs      = 32 << 20 // arc references of one object
	maxMembers   = 1 << 20  // geometries of one object
	// maxExpanded bounds the vertices to which references expand, over all
	// features. Each arc of a layer is used at most twice, unless regions overlap.
	maxExpanded = 128 << 20
)

// ErrObject is matched by the error for a topology without the wanted object.
var ErrObject = errors.New("does not hold the object wanted")

// Read yields the features of one object of the topology: the first of wanted that exists, or the
// only object. An unusable feature gives a *source.BadRecord, and reading continues. Any other
// error ends the sequence. A feature's Line is its number in the object.
func Read(r io.Reader, name string, wanted ...string) iter.Seq2[source.Feature, error] {
	return func(yield func(source.Feature, error) bool) {
		t := &topology{name: name, s: jsonscan.New(r), wanted: wanted, objects: map[string]*object{}}
		err := t.read()
		var o *object
		if err == nil {
			o, err = t.choose()
		}
		if err != nil {
			yield(source.Feature{}, jsonscan.Explain(err, name, "TopoJSON"))
			return
		}
		expanded := 0
		for i := range o.features {
			f, bad := t.feature(&o.features[i])
			if bad != nil {
				bad.Line = i + 1
				if !yield(source.Feature{}, bad) {
					return
				}
				continue
			}
			f.Line = i + 1
			if expanded += vertices(f.Geometry); expanded > maxExpanded {
				yield(source.Feature{}, fmt.Errorf("%s: features of more than %d vertices in all; split the file", name, maxExpanded))
				return
			}
			if !yield(f, nil) {
				return
			}
		}
	}
}

type topology struct {
	name   string
	s      *jsonscan.Scanner
	wanted []string

	objects   map[string]*object
	arcs      [][]orb.Point // as written, until settle
	points    int
	quantised bool
	scale     [2]float64
	translate [2]float64
}

// object is an object of the topology: a list of features, even for a single
// geometry.
type object struct {
	features []geometry
	members  int // geometries, of nested collections too
	refs     int
}

// geometry is a geometry object whose arcs are still references.
type geometry struct {
	kind       string
	id         string
	properties []source.Member
	lost       source.Lost
	arcs       *refs
	members    []geometry // of a collection
}

// refs is an "arcs" member, flattened like coordinates. It has the references, and the ends of each
// ring and each polygon.
type refs struct {
	arcs   []int32
	rings  []int
	polys  []int
	height int // 1 ring, 2 polygon, 3 multipolygon, or empty
	reason string
	detail string
}

// empty is the height of an array without references, which is unknown.
const empty = -1

func (t *topology) read() error {
	var typ string
	hasArcs := false
	if k, err := t.s.Kind(); err == nil && k == jsonscan.End {
		return fmt.Errorf("%s: is empty; it should hold a TopoJSON topology", t.name)
	}
	err := t.s.Object(func(member []byte) (err error) {
		switch string(member) {
		case "type":
			typ, err = t.s.ID()
			return err
		case "transform":
			return t.transform()
		case "objects":
			return t.s.Object(func(name []byte) error {
				if len(t.objects) == maxObjects {
					return fmt.Errorf("%s: more than %d objects", t.name, maxObjects)
				}
				return t.object(string(name))
			})
		case "arcs":
			hasArcs = true
			return t.readArcs()
		}
		return t.s.Skip()
	})
	switch {
	case err != nil:
		return err
	case typ != "Topology":
		return fmt.Errorf("%s: type %s is not a TopoJSON Topology", t.name, source.Excerpt(typ))
	case !hasArcs:
		return fmt.Errorf("%s: a topology without arcs", t.name)
	}
	if k, err := t.s.Kind(); err != nil {
		return err
	} else if k != jsonscan.End {
		return fmt.Errorf("%s: %s after the end of the topology", t.name, k)
	}
	t.settle()
	return nil
}

// skip skips an unneeded value, unless reading has failed.
func (t *topology) skip(err error) error {
	if err != nil {
		return err
	}
	return t.s.Skip()
}

func (t *topology) transform() error {
	if k, err := t.s.Kind(); err != nil || k != jsonscan.Object {
		return t.skip(err)
	}
	pair := func(into *[2]float64) error {
		n := 0
		err := t.s.Array(func(i int) error {
			f, err := t.s.Float()
			if i < 2 {
				into[i] = f
			}
			n = i + 1
			return err
		})
		if err == nil && n < 2 {
			err = fmt.Errorf("%s: transform of %d numbers where two should be", t.name, n)
		}
		return err
	}
	t.quantised = true
	t.scale = [2]float64{1, 1}
	return t.s.Object(func(member []byte) error {
		switch string(member) {
		case "scale":
			return pair(&t.scale)
		case "translate":
			return pair(&t.translate)
		}
		return t.s.Skip()
	})
}

// readArcs stores the numbers as they are written. settle converts them when the transform is
// known, which may come later in the file. A position that is not two numbers becomes NaN, and the
// feature that uses it is refused.
func (t *topology) readArcs() error {
	t.arcs, t.points = nil, 0
	var arc []orb.Point
	return t.s.Array(func(int) error {
		arc = arc[:0]
		err := t.s.Array(func(int) error {
			p := orb.Point{math.NaN(), math.NaN()}
			if t.points++; t.points > MaxArcPoints {
				return fmt.Errorf("%s: arcs of more than %d points; split the file", t.name, MaxArcPoints)
			}
			if k, err := t.s.Kind(); err != nil || k != jsonscan.Array {
				arc = append(arc, p)
				return t.skip(err)
			}
			err := t.s.Array(func(i int) error {
				if k, err := t.s.Kind(); err != nil || k != jsonscan.Number || i > 1 {
					return t.skip(err)
				}
				f, err := t.s.Float()
				p[i] = f
				return err
			})
			arc = append(arc, p)
			return err
		})
		if len(t.arcs) == maxArcs {
			return fmt.Errorf("%s: more than %d arcs", t.name, maxArcs)
		}
		t.arcs = append(t.arcs, slices.Clone(arc))
		return err
	})
}

// settle converts quantised, delta-coded arcs to degrees.
func (t *topology) settle() {
	if !t.quantised {
		return
	}
	for _, arc := range t.arcs {
		var x, y float64
		for i, p := range arc {
			x += p[0]
			y += p[1]
			arc[i] = orb.Point{x*t.scale[0] + t.translate[0], y*t.scale[1] + t.translate[1]}
		}
	}
}

// object reads one object. If several objects are wanted, or no particular one, all are stored
// until it is known which objects exist.
func (t *topology) object(name string) error {
	if len(t.wanted) > 0 && !slices.Contains(t.wanted, name) && len(t.objects) > 0 {
		// Only the name of the object is needed, for the error that lists all objects.
		t.objects[name] = nil
		return t.s.Skip()
	}
	o := &object{}
	root, err := t.geometry(o)
	if err != nil {
		return err
	}
	if root.kind == "GeometryCollection" {
		o.features = root.members
	} else {
		o.features = []geometry{root}
	}
	t.objects[name] = o
	return nil
}

// choose picks the object to read, by name or because it is the only one.
func (t *topology) choose() (*object, error) {
	for _, name := range t.wanted {
		if o := t.objects[name]; o != nil {
			return o, nil
		}
	}
	names := make([]string, 0, len(t.objects))
	for name, o := range t.objects {
		if len(t.objects) == 1 && o != nil {
			return o, nil
		}
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) > 20 {
		names = append(names[:20], "…")
	}
	return nil, fmt.Errorf("%s: %w; it holds %q: give the layer the name of one of them", t.name, ErrObject, names)
}

// geometry reads a geometry object with its id and properties.
func (t *topology) geometry(o *object) (g geometry, err error) {
	k, err := t.s.Kind()
	if err != nil {
		return g, err
	}
	if k != jsonscan.Object {
		return g, t.s.Skip()
	}
	err = t.s.Object(func(member []byte) (err error) {
		switch string(member) {
		case "type":
			g.kind, err = t.s.ID()
		case "id":
			g.id, err = t.s.ID()
		case "properties":
			g.properties, g.lost, err = t.s.Members()
			t.s.KeepMembers()
		case "arcs":
			r := &refs{}
			r.height, err = r.read(t, o)
			g.arcs = r
		case "geometries":
			g.members, err = t.geometries(o)
		default:
			err = t.s.Skip()
		}
		return err
	})
	return g, err
}

func (t *topology) geometries(o *object) (members []geometry, err error) {
	if k, err := t.s.Kind(); err != nil || k != jsonscan.Array {
		return nil, t.skip(err)
	}
	err = t.s.Array(func(int) error {
		if o.members++; o.members > maxMembers {
			return fmt.Errorf("%s: an object of more than %d geometries; split the file", t.name, maxMembers)
		}
		m, err := t.geometry(o)
		members = append(members, m)
		return err
	})
	return members, err
}

func (r *refs) refuse(reason, detail string) {
	if r.reason == "" {
		r.reason, r.detail = reason, detail
		r.arcs, r.rings, r.polys = nil, nil, nil
	}
}

// read reads nested arrays of references. It returns the height of the value.
func (r *refs) read(t *topology, o *object) (height int, err error) {
	k, err := t.s.Kind()
	if err != nil {
		return 0, err
	}
	if r.reason != "" {
		return 0, t.s.Skip()
	}
	if k == jsonscan.Number {
		f, err := t.s.Float()
		switch i := int32(f); {
		case float64(i) != f: // NaN, fractions and the huge differ
			r.refuse(source.ReasonBadTopologyArc, fmt.Sprintf("%v", f))
		case o.refs == maxRefs:
			return 0, fmt.Errorf("%s: an object of more than %d arc references", t.name, maxRefs)
		default:
			o.refs++
			r.arcs = append(r.arcs, i)
		}
		return 0, err
	}
	if k != jsonscan.Array {
		r.refuse(source.ReasonWrongNesting, k.String())
		return 0, t.s.Skip()
	}
	height = empty
	empties, first := false, false
	err = t.s.Array(func(i int) error {
		h, err := r.read(t, o)
		switch {
		case h == empty:
			empties, first = true, first || i == 0
		case height != empty && h != height-1:
			r.refuse(source.ReasonWrongNesting, "arrays of different depth")
		default:
			height = h + 1
		}
		return err
	})
	switch {
	case err != nil || r.reason != "":
	case empties && height == 1:
		r.refuse(source.ReasonWrongNesting, "arrays of different depth")
	case first && height == 2: // an empty ring adds nothing, but a hole must not become an outer ring
		r.refuse(source.ReasonNoArea, "outer ring without arcs")
	case height == 1:
		r.rings = append(r.rings, len(r.arcs))
	case height == 2:
		r.polys = append(r.polys, len(r.rings))
	}
	return height, err
}

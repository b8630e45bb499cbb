// Package geoxml reads the features of KML and GPX.
//
// Of KML it reads the placemarks, with their names, descriptions, times and extended data. Of GPX it reads waypoints, or
// tracks and routes as lines. Heights are left out, except that of a waypoint, which is the property ele. All values are
// texts.
package geoxml

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/internal/jsontext"
)

// These are bounds of a document.
const (
	maxToken   = 64 << 20 // bytes of a text or tag
	maxEquals  = 1 << 20  // signs = in one, more than which attributes would take much memory
	maxDepth   = 100      // elements within elements
	maxMembers = 1000     // properties of a feature
	maxText    = 64 << 10 // bytes of a property
)

// IsKML and IsGPX report whether a document that begins so is of the format.
func IsKML(head []byte) bool { return root(head) == "kml" }

// IsGPX is like IsKML.
func IsGPX(head []byte) bool { return root(head) == "gpx" }

// root returns the name of the first element.
func root(head []byte) string {
	if !bytes.HasPrefix(head, []byte{'<'}) {
		return ""
	}
	d := newDecoder(bytes.NewReader(head))
	for {
		t, err := d.xml.RawToken()
		if err != nil {
			return ""
		}
		if e, ok := t.(xml.StartElement); ok {
			return strings.ToLower(e.Name.Local)
		}
	}
}

// Reader reads a document once. It belongs to one goroutine.
type Reader struct {
	*decoder
	name  string
	want  source.Want
	yield func(source.Feature, error) bool
	// left counts the elements that are no features here, by their names.
	left   map[string]int
	values []byte
	f      source.Feature
}

// decoder reads the elements of a document, whose texts are UTF-8 already.
type decoder struct {
	xml   *xml.Decoder
	in    *Bounded
	depth int
}

// Bounded ends a text or tag that is too long.
type Bounded struct {
	in           io.Reader
	left, equals int
}

// NewBounded returns a Bounded for the reader of a decoder.
func NewBounded(in io.Reader) *Bounded { return &Bounded{in, maxToken, maxEquals} }

// Renew begins another text or tag.
func (b *Bounded) Renew() { b.left, b.equals = maxToken, maxEquals }

var errToken = fmt.Errorf("a text or tag is longer than %d MiB, or has too many attributes", maxToken>>20)

// Read implements io.Reader.
func (b *Bounded) Read(p []byte) (n int, err error) {
	if b.left <= 0 || b.equals <= 0 {
		return 0, errToken
	}
	n, err = b.in.Read(p)
	b.left -= n
	b.equals -= bytes.Count(p[:n], []byte{'='})
	return n, err
}

func newDecoder(in io.Reader) *decoder {
	b := NewBounded(in)
	d := &decoder{xml: xml.NewDecoder(b), in: b}
	d.xml.Entity = xml.HTMLEntity
	d.xml.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	return d
}

// next returns the next beginning or end of an element, or text.
func (d *decoder) next() (xml.Token, error) {
	for {
		d.in.Renew()
		t, err := d.xml.Token()
		if err != nil {
			return nil, err
		}
		switch t.(type) {
		case xml.StartElement:
			if d.depth++; d.depth > maxDepth {
				return nil, fmt.Errorf("elements lie in more than %d others", maxDepth)
			}
			return t, nil
		case xml.EndElement:
			d.depth--
			return t, nil
		case xml.CharData:
			return t, nil
		}
	}
}

// each calls start for the elements in the present one, until its end. start reads an element to its end. The text
// of the present element is returned, without white space around it.
func (d *decoder) each(start func(xml.StartElement) error) (text []byte, err error) {
	text, err = d.read(start, maxToken)
	return bytes.TrimSpace(text), err
}

// read does the same as each. It keeps so much text.
func (d *decoder) read(start func(xml.StartElement) error, most int) (text []byte, err error) {
	for {
		t, err := d.next()
		if err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if err := start(t); err != nil {
				return nil, err
			}
		case xml.EndElement:
			return text, nil
		case xml.CharData:
			if most == 0 {
				continue
			}
			if len(text)+len(t) > most {
				return nil, errToken
			}
			text = append(text, t...)
		}
	}
}

func (d *decoder) skip(xml.StartElement) error {
	_, err := d.read(d.skip, 0)
	return err
}

// text returns the text of the present element.
func (d *decoder) text() ([]byte, error) { return d.each(d.skip) }

var errStop = errors.New("stop")

// Read yields the features of a document, whose Members are texts. want chooses waypoints or lines of GPX. A feature
// that cannot be used gives a *source.BadRecord, and reading continues. Any other error ends the sequence.
func Read(in io.Reader, name string, want source.Want) (*Reader, iter.Seq2[source.Feature, error]) {
	r := &Reader{decoder: newDecoder(in), name: name, want: want, left: map[string]int{}}
	return r, func(yield func(source.Feature, error) bool) {
		r.yield = yield
		var err error
		for err == nil {
			var t xml.Token
			if t, err = r.next(); err == nil {
				if e, ok := t.(xml.StartElement); ok {
					err = r.element(e)
				}
			}
		}
		switch {
		case errors.Is(err, io.EOF) && r.depth == 0, errors.Is(err, errStop):
		default:
			line, _ := r.xml.InputPos()
			yield(source.Feature{}, fmt.Errorf("%s:%d: %w; the file is cut short or damaged, so that nothing of it is taken", name, line, err))
		}
	}
}

// element reads an element that is not within a feature.
func (r *Reader) element(e xml.StartElement) error {
	switch e.Name.Local {
	case "Placemark":
		return r.feature(e, r.placemark)
	case "wpt":
		if r.want == source.WantPoints {
			return r.feature(e, r.waypoint)
		}
	case "trk", "rte":
		if r.want == source.WantPolygons {
			return r.feature(e, r.track)
		}
	case "NetworkLink", "GroundOverlay", "PhotoOverlay", "ScreenOverlay", "Tour":
	default:
		_, err := r.read(r.element, 0)
		return err
	}
	r.left[e.Name.Local]++
	return r.skip(e)
}

// Notes returns how many elements are no features here.
func (r *Reader) Notes() (notes []string) {
	for _, kind := range []struct{ element, text string }{
		{"wpt", "waypoints are points, and left out of a layer of lines"},
		{"trk", "tracks are lines, and left out of a collection of points; ingest boundaries makes a layer of them"},
		{"rte", "routes are lines, and left out of a collection of points; ingest boundaries makes a layer of them"},
		{lines, "lines, areas and mixtures are left out of a collection of points; ingest boundaries makes a layer of them"},
		{"trkseg", "parts of tracks with one position are left out"},
		{"NetworkLink", "links to other files are not followed"},
		{"GroundOverlay", "pictures on the ground are left out"},
		{"PhotoOverlay", "photographs are left out"},
		{"ScreenOverlay", "pictures on the screen are left out"},
		{"Tour", "tours are left out"},
		{"Track", "tracks of moving things within placemarks are left out"},
		{"Model", "models are left out"},
	} {
		if n := r.left[kind.element]; n > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d %s", r.name, n, kind.text))
		}
	}
	return notes
}

// feature reads an element that is a feature.
func (r *Reader) feature(e xml.StartElement, read func(e xml.StartElement) (reason, detail string, err error)) error {
	line, _ := r.xml.InputPos()
	r.f, r.values = source.Feature{Line: line, Members: r.f.Members[:0]}, r.values[:0]
	reason, detail, err := read(e)
	if err != nil {
		return err
	}
	if reason != "" {
		if !r.yield(source.Feature{}, &source.BadRecord{Source: r.name, Line: line, Reason: reason, Detail: detail}) {
			return errStop
		}
		return nil
	}
	if r.want == source.WantPoints {
		switch r.f.Geometry.(type) {
		case orb.LineString, orb.MultiLineString, orb.Polygon, orb.MultiPolygon, orb.Collection:
			r.left[lines]++
			return nil
		}
	}
	if !r.yield(r.f, nil) {
		return errStop
	}
	return nil
}

// lines counts the lines, areas and shapes of several kinds of KML in a collection of points.
const lines = "lines"

// add adds a property, unless it is empty. Several of one name are joined.
func (r *Reader) add(name string, text []byte) {
	switch {
	case len(text) == 0 || name == "":
		return
	case len(text) > maxText || len(name) > maxText:
		r.f.Lost.Add(name[:min(len(name), 100)], "it is too long")
		return
	case len(r.f.Members) == maxMembers:
		r.f.Lost.Add(name, "there are too many")
		return
	}
	for i := range r.f.Members {
		if m := &r.f.Members[i]; m.Name == name {
			if len(m.Value)+len(text) > maxText {
				r.f.Lost.Add(name, "it is too long")
				return
			}
			from := len(r.values)
			r.values = append(append(r.values, m.Value[:len(m.Value)-1]...), "; "...)
			r.values = append(r.values, jsontext.AppendString(nil, string(text))[1:]...)
			m.Value = r.values[from:len(r.values):len(r.values)]
			return
		}
	}
	from := len(r.values)
	r.values = jsontext.AppendString(r.values, string(text))
	r.f.Members = append(r.f.Members, source.Member{Name: name, Value: r.values[from:len(r.values):len(r.values)]})
}

// addText adds the text of the present element as a property.
func (r *Reader) addText(name string) error {
	text, err := r.text()
	if err == nil {
		r.add(name, text)
	}
	return err
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

// placemark reads a placemark of KML.
func (r *Reader) placemark(e xml.StartElement) (reason, detail string, err error) {
	r.f.ID = attribute(e, "id")
	var shapes orb.Collection
	_, err = r.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "name", "description", "address", "phoneNumber":
			return r.addText(e.Name.Local)
		case "TimeStamp", "TimeSpan":
			_, err := r.each(func(e xml.StartElement) error { return r.addText(e.Name.Local) })
			return err
		case "ExtendedData":
			return r.extended(e)
		}
		why, what, err := r.shape(e, &shapes)
		if reason == "" {
			reason, detail = why, what
		}
		return err
	})
	switch {
	case err != nil || reason != "":
	case len(shapes) == 1:
		r.f.Geometry = shapes[0]
	case len(shapes) > 1:
		r.f.Geometry = joined(shapes)
	}
	return reason, detail, err
}

// extended reads extended data of KML: names with values, or the fields of a schema.
func (r *Reader) extended(xml.StartElement) error {
	_, err := r.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "Data":
			_, err := r.each(func(v xml.StartElement) error {
				if v.Name.Local == "value" {
					return r.addText(attribute(e, "name"))
				}
				return r.skip(v)
			})
			return err
		case "SchemaData":
			return r.extended(e)
		case "SimpleData":
			return r.addText(attribute(e, "name"))
		}
		return r.addText(e.Name.Local) // data in elements of another kind
	})
	return err
}

// shape reads a geometry of KML, or another element of a placemark.
func (r *Reader) shape(e xml.StartElement, to *orb.Collection) (reason, detail string, err error) {
	fail := func(why, what string) {
		if reason == "" {
			reason, detail = why, what
		}
	}
	switch e.Name.Local {
	case "Point", "LineString", "LinearRing":
		var line []orb.Point
		_, err = r.each(func(c xml.StartElement) error {
			if c.Name.Local != "coordinates" {
				return r.skip(c)
			}
			text, err := r.text()
			var why, what string
			if line, why, what = coordinates(text); why != "" {
				fail(why, what)
			}
			return err
		})
		switch {
		case reason != "" || err != nil:
		case e.Name.Local == "Point" && len(line) == 1:
			*to = append(*to, line[0])
		case e.Name.Local == "Point":
			fail(source.OnePoint(len(line)))
		case e.Name.Local == "LinearRing":
			*to = append(*to, orb.Polygon{line})
		default:
			*to = append(*to, orb.LineString(line))
		}
	case "Polygon":
		var outer, holes orb.Collection
		_, err = r.each(func(b xml.StartElement) error {
			rings := &holes
			switch b.Name.Local {
			case "outerBoundaryIs":
				rings = &outer
			case "innerBoundaryIs":
			default:
				return r.skip(b)
			}
			_, err := r.each(func(e xml.StartElement) error {
				why, what, err := r.shape(e, rings)
				if why != "" {
					fail(why, what)
				}
				return err
			})
			return err
		})
		if len(outer) != 1 && reason == "" && err == nil {
			fail(source.ReasonNoGeometry, "a polygon without one outer ring")
		}
		if reason == "" && err == nil {
			var p orb.Polygon
			for _, g := range append(outer, holes...) {
				if ring, ok := g.(orb.Polygon); ok {
					p = append(p, ring...)
				}
			}
			*to = append(*to, p)
		}
	case "MultiGeometry":
		_, err = r.each(func(e xml.StartElement) error {
			why, what, err := r.shape(e, to)
			if why != "" {
				fail(why, what)
			}
			return err
		})
	case "Track", "MultiTrack", "Model":
		r.left[strings.TrimPrefix(e.Name.Local, "Multi")]++
		err = r.skip(e)
	default:
		err = r.skip(e)
	}
	return reason, detail, err
}

// coordinates reads positions such as "8.55,47.35,400 8.56,47.36".
func coordinates(text []byte) (line []orb.Point, reason, detail string) {
	for tuple := range bytes.FieldsSeq(text) {
		if len(line) == source.MaxVertices {
			return nil, source.ReasonTooManyPoints, ""
		}
		parts := bytes.Split(tuple, []byte{','})
		if len(parts) < 2 || len(parts) > 4 {
			return nil, source.ReasonNotANumber, source.Excerpt(tuple)
		}
		lon, isLon := source.ParseDecimal(parts[0], math.MaxFloat64)
		lat, isLat := source.ParseDecimal(parts[1], math.MaxFloat64)
		if !isLon || !isLat {
			return nil, source.ReasonNotANumber, source.Excerpt(tuple)
		}
		line = append(line, orb.Point{lon, lat})
	}
	return line, "", ""
}

// joined returns one geometry for shapes of one kind, or the collection.
func joined(shapes orb.Collection) orb.Geometry {
	var points orb.MultiPoint
	var lines orb.MultiLineString
	var polygons orb.MultiPolygon
	for _, g := range shapes {
		switch g := g.(type) {
		case orb.Point:
			points = append(points, g)
		case orb.LineString:
			lines = append(lines, g)
		case orb.Polygon:
			polygons = append(polygons, g)
		}
	}
	switch len(shapes) {
	case len(points):
		return points
	case len(lines):
		return lines
	case len(polygons):
		return polygons
	}
	return shapes
}

// waypoint reads a waypoint of GPX.
func (r *Reader) waypoint(e xml.StartElement) (reason, detail string, err error) {
	at, reason, detail := position(e)
	r.f.Geometry = at
	return reason, detail, r.describe(nil)
}

func position(e xml.StartElement) (at orb.Point, reason, detail string) {
	lat, isLat := source.ParseDecimal(attribute(e, "lat"), math.MaxFloat64)
	lon, isLon := source.ParseDecimal(attribute(e, "lon"), math.MaxFloat64)
	if !isLat || !isLon {
		return at, source.ReasonNotANumber, source.Excerpt(attribute(e, "lat") + " " + attribute(e, "lon"))
	}
	return orb.Point{lon, lat}, "", ""
}

// describe reads the properties in an element of GPX. other, if not nil, reads an element and reports whether it is
// none of them.
func (r *Reader) describe(other func(xml.StartElement) (bool, error)) error {
	_, err := r.each(func(e xml.StartElement) error {
		if other != nil {
			if is, err := other(e); is || err != nil {
				return err
			}
		}
		switch e.Name.Local {
		case "link":
			r.add("link", []byte(attribute(e, "href")))
			return r.skip(e)
		case "extensions":
			return r.leaves(e)
		}
		return r.addText(e.Name.Local)
	})
	return err
}

// leaves adds the texts of all elements in the present one that have no others in them.
func (r *Reader) leaves(e xml.StartElement) error {
	inner := false
	text, err := r.each(func(e xml.StartElement) error {
		inner = true
		return r.leaves(e)
	})
	if err == nil && !inner {
		r.add(e.Name.Local, text)
	}
	return err
}

// track reads a track or a route of GPX as lines.
func (r *Reader) track(xml.StartElement) (reason, detail string, err error) {
	var lines orb.MultiLineString
	vertices := 0
	point := func(e xml.StartElement) (bool, error) {
		if e.Name.Local != "trkpt" && e.Name.Local != "rtept" {
			return false, nil
		}
		at, why, what := position(e)
		if vertices++; vertices > source.MaxVertices {
			why, what = source.ReasonTooManyPoints, ""
		}
		if why != "" && reason == "" {
			reason, detail = why, what
		}
		if reason == "" {
			last := len(lines) - 1
			lines[last] = append(lines[last], at)
		}
		return true, r.skip(e)
	}
	lines = append(lines, nil) // of a route
	err = r.describe(func(e xml.StartElement) (bool, error) {
		if e.Name.Local != "trkseg" {
			return point(e)
		}
		lines = append(lines, nil)
		_, err := r.each(func(e xml.StartElement) error {
			is, err := point(e)
			if !is && err == nil {
				err = r.skip(e)
			}
			return err
		})
		return true, err
	})
	var long orb.MultiLineString
	for _, l := range lines {
		if len(l) > 1 {
			long = append(long, l)
		} else if len(l) == 1 {
			r.left["trkseg"]++
		}
	}
	if r.f.Geometry = long; len(long) == 0 && reason == "" {
		reason, detail = source.ReasonNoGeometry, "fewer than two positions"
	}
	return reason, detail, err
}

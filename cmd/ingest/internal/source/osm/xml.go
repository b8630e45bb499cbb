package osm

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"quadrille/cmd/ingest/internal/source/geoxml"
)

// scanXML reads a file in XML, as scan reads one of format PBF.
func scanXML(in io.Reader, h *handler, progress func(int64)) error {
	bounded := geoxml.NewBounded(in)
	d := xml.NewDecoder(bounded)
	var of parsed
	whole := false
	for n := 0; ; n++ {
		bounded.Renew()
		t, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			if !whole {
				return errors.New("the file is cut off: fetch it again")
			}
			return nil
		} else if err != nil {
			return err
		}
		if n%1024 == 0 {
			progress(d.InputOffset())
		}
		switch t := t.(type) {
		case xml.StartElement:
			err = of.begin(t)
		case xml.EndElement:
			whole = whole || t.Name.Local == "osm"
			err = of.end(t.Name.Local, h)
		}
		if err != nil {
			line, _ := d.InputPos()
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// parsed is a node, way or relation in XML.
type parsed struct {
	id, lat, lon int64
	gone         bool // deleted
	tags         tags
	refs         []int64
	members      []member
}

// These are bounds of an element.
const (
	maxTags  = 10_000
	maxParts = 1 << 24
)

var errLong = errors.New("an element has too many tags or parts")

func (e *parsed) begin(t xml.StartElement) (err error) {
	value := func(name string) string {
		for _, a := range t.Attr {
			if a.Name.Local == name {
				return a.Value
			}
		}
		return ""
	}
	id := func(name string) (n int64) {
		if err == nil {
			if n, err = strconv.ParseInt(value(name), 10, 64); err != nil {
				err = fmt.Errorf("a %s has the %s %.40q", t.Name.Local, name, value(name))
			}
		}
		return n
	}
	degrees := func(name string) int64 {
		v, failed := strconv.ParseFloat(value(name), 64)
		if err == nil && (failed != nil || math.IsNaN(v) || math.Abs(v) > 360) {
			err = fmt.Errorf("a %s has the %s %.40q", t.Name.Local, name, value(name))
		}
		return int64(math.Round(v * 1e9))
	}
	switch t.Name.Local {
	case "node", "way", "relation":
		gone := value("action") == "delete" || value("visible") == "false"
		*e = parsed{tags: tags{e.tags.table[:0], e.tags.keys[:0], e.tags.vals[:0]}, refs: e.refs[:0], members: e.members[:0]}
		if e.gone = gone; gone {
			return nil
		}
		e.id = id("id")
		if t.Name.Local == "node" {
			e.lat, e.lon = degrees("lat"), degrees("lon")
		}
	case "tag":
		n := uint32(len(e.tags.table))
		e.tags.table = append(e.tags.table, []byte(value("k")), []byte(value("v")))
		e.tags.keys, e.tags.vals = append(e.tags.keys, n), append(e.tags.vals, n+1)
	case "nd":
		e.refs = append(e.refs, id("ref"))
	case "member":
		e.members = append(e.members, member{id("ref"), value("type") == "way"})
	}
	if len(e.tags.keys) > maxTags || len(e.refs)+len(e.members) > maxParts {
		err = errLong
	}
	return err
}

func (e *parsed) end(name string, h *handler) error {
	switch {
	case e.gone:
	case name == "node" && h.node != nil:
		return h.node(e.id, e.lat, e.lon, &e.tags)
	case name == "way" && h.way != nil:
		return h.way(e.id, &e.tags, e.refs)
	case name == "relation" && h.relation != nil:
		return h.relation(e.id, &e.tags, e.members)
	}
	return nil
}

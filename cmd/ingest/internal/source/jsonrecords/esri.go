package jsonrecords

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/crs"
	"quadrille/cmd/ingest/internal/source/rings"
)

// ReasonCurves is the reason of features of ArcGIS that have curves.
const ReasonCurves = "geometry has curves; ask the service for it with returnTrueCurves=false"

// maxDates bounds the columns of times of an answer of ArcGIS.
const maxDates = 1000

// esriCodes are Esri's own numbers of Web Mercator.
var esriCodes = map[int64]int64{102100: 3857, 102113: 3857, 3785: 3857, 900913: 3857}

// system judges a spatialReference.
func (r *Reader) system(text []byte) error {
	var code, latest int64
	wkt := ""
	if isObject(text) {
		each(text, func(name, value []byte) {
			switch string(name) {
			case `"wkid"`:
				code, _ = strconv.ParseInt(string(value), 10, 64)
			case `"latestWkid"`:
				latest, _ = strconv.ParseInt(string(value), 10, 64)
			case `"wkt"`:
				wkt = string(source.TextOf(value))
			}
		})
	}
	if latest != 0 {
		code = latest
	}
	var system crs.System
	switch known := esriCodes[code]; {
	case known != 0:
		system = crs.ByCode(known)
	case code != 0:
		system = crs.ByCode(code)
	case wkt != "":
		system = crs.ByName(wkt)
	default:
		return nil
	}
	note, err := system.Accept(r.name, "out.geojson")
	if err != nil {
		return fmt.Errorf("%w; or ask the service for degrees by adding outSR=4326 to the address", err)
	}
	if note != "" && len(r.systemNotes) == 0 {
		r.systemNotes = append(r.systemNotes, note)
	}
	return nil
}

// fields finds the columns of times in ArcGIS's description of its columns.
func (r *Reader) fields() error {
	return r.s.Array(func(int) error {
		text, _, err := r.s.Raw(nil, maxValue)
		if err != nil || !isObject(text) {
			return err
		}
		var column, typ string
		each(text, func(name, value []byte) {
			switch string(name) {
			case `"name"`:
				column = string(source.TextOf(value))
			case `"type"`:
				typ = string(source.TextOf(value))
			}
		})
		if typ == "esriFieldTypeDate" && len(r.dates) < maxDates {
			r.dates = append(r.dates, column)
		}
		return nil
	})
}

// esri reads a feature of ArcGIS: attributes, and x and y, points, paths or rings.
func (r *Reader) esri(attributes, geometry []byte, f *source.Feature) (reason, detail string, err error) {
	r.flat.inner("attributes", attributes)
	for i := range r.flat.members {
		m := &r.flat.members[i]
		if isIn([]byte(m.Name), r.dates) {
			if ms, err := strconv.ParseInt(string(m.Value), 10, 64); err == nil {
				m.Value = r.flat.time(ms)
			}
		}
	}
	if !isObject(geometry) {
		return "", "", nil // its columns may tell the position
	}
	var x, y, parts, system []byte
	kind := ""
	each(geometry, func(name, value []byte) {
		switch n := string(source.TextOf(name)); n {
		case "x":
			x = value
		case "y":
			y = value
		case "rings", "paths", "points", "curveRings", "curvePaths":
			kind, parts = n, value
		case "spatialReference":
			system = value
		}
	})
	if system != nil && !bytes.Equal(system, r.judged) {
		r.judged = append(r.judged[:0], system...)
		if err := r.system(system); err != nil {
			return "", "", err
		}
	}
	text := r.geometry[:0]
	switch kind {
	case "rings", "paths":
		text = append(append(text, `{"type":"MultiLineString","coordinates":`...), parts...)
	case "points":
		text = append(append(text, `{"type":"MultiPoint","coordinates":`...), parts...)
	case "":
		if x == nil || y == nil || string(source.TextOf(x)) == "NaN" || string(x) == "null" {
			return "", "", nil
		}
		text = append(append(append(append(text, `{"type":"Point","coordinates":[`...), x...), ','), y...)
		text = append(text, ']')
	default:
		return ReasonCurves, kind, nil
	}
	r.geometry = append(text, '}')
	g, reason, detail := r.geometries.Read(r.geometry)
	if reason != "" {
		return reason, detail, nil
	}
	if kind == "rings" {
		lines, _ := g.(orb.MultiLineString)
		all := make([]orb.Ring, len(lines))
		for i, l := range lines {
			all[i] = orb.Ring(l)
		}
		g, f.Repair, reason, detail = rings.Assemble(all, r.Unroll)
	}
	f.Geometry = g
	return reason, detail, nil
}

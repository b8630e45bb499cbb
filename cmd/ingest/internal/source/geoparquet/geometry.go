package geoparquet

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go/format"
	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/crs"
	"quadrille/cmd/ingest/internal/source/wkb"
)

// geometry is the column of the geometries.
type geometry struct {
	wkb  *leaf  // nil for a native encoding
	kind string // the native encoding
	x, y *leaf  // of that
	// The boxes of the features, if the file has them: xmin, ymin, xmax and ymax.
	box       [4]*leaf
	spherical bool
	others    []*node // further columns of geometries, which are not read
}

// geoMetadata is the member geo of the file's metadata.
type geoMetadata struct {
	Primary string `json:"primary_column"`
	Columns map[string]struct {
		Encoding string
		CRS      json.RawMessage // absent: OGC:CRS84; null: unknown
		Edges    string
		Covering struct {
			BBox struct{ XMin, YMin, XMax, YMax []string }
		}
	}
}

// native are the encodings of geometries as lists of positions, with the depth of the lists.
var native = map[string]int{"point": 0, "linestring": 1, "multipoint": 1, "polygon": 2, "multilinestring": 2, "multipolygon": 3}

// blobNames are the names of columns of bytes that hold geometries without any metadata that says so.
var blobNames = map[string]bool{"geometry": true, "geom": true, "wkb_geometry": true}

// keyValue returns a member of the file's metadata.
func (p *part) keyValue(key string) string {
	for _, kv := range p.meta.KeyValueMetadata {
		if kv.Key == key {
			return kv.Value
		}
	}
	return ""
}

// readGeometry finds the column of geometries and the properties. It returns a note for the user
// about the coordinate system, or a *crs.Error.
func (p *part) readGeometry() (note string, err error) {
	var geo geoMetadata
	if text := p.keyValue("geo"); text != "" {
		if err := json.Unmarshal([]byte(text), &geo); err != nil {
			return "", fmt.Errorf("%s: its metadata geo is not as in GeoParquet: %w; write it anew", p.name, err)
		}
	}
	name, system := geo.Primary, ""
	of, described := geo.Columns[name]
	var all []*node
	for _, n := range p.root.children {
		typed, declared := true, ""
		switch t := n.element.LogicalType.Value.(type) {
		case *format.GeometryType:
			declared = t.CRS
		case *format.GeographyType:
			declared = t.CRS
			of.Edges = "spherical"
		default:
			_, typed = geo.Columns[n.name]
		}
		if !typed {
			continue
		}
		if name == "" {
			name = n.name
		}
		if all = append(all, n); n.name == name {
			system = declared
		}
	}
	if len(all) == 0 {
		for _, n := range p.root.children {
			if blobNames[strings.ToLower(n.name)] && n.isFlat() && n.element.Type.V == format.ByteArray && !n.leaf.isText {
				name, all = n.name, []*node{n}
				break
			}
		}
	}
	column := p.root.child(name)
	switch {
	case name == "":
		return "", p.readColumns(func(*node) bool { return false })
	case column == nil:
		return "", fmt.Errorf("%s: has no column %s, which should hold its geometries; write it anew", p.name, source.Excerpt(name))
	}
	g := &geometry{spherical: strings.EqualFold(of.Edges, "spherical")}
	p.geom = g
	if err := p.readEncoding(column, of.Encoding); err != nil {
		return "", err
	}
	for _, n := range all {
		if n != column {
			g.others = append(g.others, n)
		}
	}
	b := of.Covering.BBox
	for i, path := range [4][]string{b.XMin, b.YMin, b.XMax, b.YMax} {
		if len(path) > 0 {
			g.box[i] = p.find(path...)
		} else { // the usual name, also in files of GeoParquet 1.0
			g.box[i] = p.find("bbox", [4]string{"xmin", "ymin", "xmax", "ymax"}[i])
		}
	}
	isBox := func(n *node) bool {
		for _, l := range g.box {
			if l == nil || l.index < n.first || l.index >= n.first+n.leaves() {
				return false
			}
		}
		return true
	}
	err = p.readColumns(func(n *node) bool {
		for _, geometry := range all {
			if n == geometry {
				return true
			}
		}
		return n == column || isBox(n)
	})
	if err != nil {
		return "", err
	}
	if described && of.CRS != nil {
		return p.systemOf(string(of.CRS)).Accept(p.name, "out.parquet")
	}
	return p.systemOf(system).Accept(p.name, "out.parquet")
}

// readEncoding finds the leaves of the geometries.
func (p *part) readEncoding(n *node, encoding string) error {
	g := p.geom
	if n.isFlat() && n.element.Type.V == format.ByteArray && (encoding == "" || strings.EqualFold(encoding, "WKB")) {
		g.wkb = n.leaf
		g.wkb.used = true
		return nil
	}
	g.kind = strings.ToLower(encoding)
	depth, known := native[g.kind]
	at := n
	for at.isList() {
		at = at.children[0].item(at)
	}
	x, y := at.child("x"), at.child("y")
	if !known || x == nil || y == nil || x.leaf == nil || y.leaf == nil || x.rep != depth || y.rep != depth ||
		x.element.Type.V != format.Double || y.element.Type.V != format.Double {
		return fmt.Errorf("%s: column %s has geometries in the encoding %s, which is not read; write it anew in WKB",
			p.name, source.Excerpt(n.name), source.Excerpt(encoding))
	}
	g.x, g.y = x.leaf, y.leaf
	g.x.used, g.y.used = true, true
	return nil
}

// systemOf returns the coordinate system of a text: PROJJSON, srid:CODE, projjson:KEY of the
// metadata, or a name. An empty text is longitude and latitude.
func (p *part) systemOf(text string) crs.System {
	if key, is := strings.CutPrefix(text, "projjson:"); is {
		text = p.keyValue(key)
	}
	if code, is := strings.CutPrefix(text, "srid:"); is {
		if n, err := strconv.ParseInt(code, 10, 64); err == nil && n != 0 {
			return crs.ByCode(n)
		}
		return crs.System{Kind: crs.Unnamed, Name: source.Excerpt(text)}
	}
	switch {
	case text == "":
		return crs.System{Kind: crs.WGS84}
	case text == "null":
		return crs.System{Kind: crs.Unnamed, Name: "its metadata says null"}
	case text[0] == '"':
		var name string
		if json.Unmarshal([]byte(text), &name) == nil && name != "" {
			return crs.ByName(name)
		}
	case text[0] == '{':
		return projJSON([]byte(text))
	}
	return crs.ByName(text)
}

// projJSON returns the system that PROJJSON describes, by its code or else by the name of a system
// in degrees.
func projJSON(text []byte) crs.System {
	var of struct {
		Type, Name string
		ID         struct {
			Authority string
			Code      json.RawMessage
		}
		Components []json.RawMessage
	}
	if err := json.Unmarshal(text, &of); err != nil {
		return crs.System{Kind: crs.Unnamed, Name: source.Excerpt(text)}
	}
	if code := strings.Trim(string(of.ID.Code), `"`); code != "" {
		s := crs.ByName(of.ID.Authority + ":" + code)
		if of.Name != "" {
			s.Name = fmt.Sprintf("%s (%s:%s)", source.Excerpt(of.Name), of.ID.Authority, code)
		}
		return s
	}
	if of.Type == "CompoundCRS" && len(of.Components) > 0 { // the second is of heights
		return projJSON(of.Components[0])
	}
	s := crs.ByName(of.Name)
	if of.Type != "GeographicCRS" && of.Type != "GeodeticCRS" || s.Kind == crs.Unnamed && of.Name != "" {
		s.Kind = crs.NeedsConversion
	}
	return s
}

// read returns the geometry of the current row, or the reason why there is none.
func (g *geometry) read() (_ orb.Geometry, reason, detail string) {
	if g.wkb == nil {
		return g.readNative()
	}
	v := g.wkb.row[0]
	if v.IsNull() || len(v.ByteArray()) == 0 {
		return nil, source.ReasonNoGeometry, ""
	}
	out, _, reason, detail := wkb.Decode(v.ByteArray())
	return out, reason, detail
}

// readNative makes a geometry of lists of positions. The level of repetition of a position is the
// depth of the list that it continues, so a level of 0 begins the row, 1 a polygon of a multipolygon,
// and so on.
func (g *geometry) readNative() (_ orb.Geometry, reason, detail string) {
	xs, ys := g.x.row, g.y.row
	if len(xs) != len(ys) {
		return nil, source.ReasonDamaged, "different numbers of x and y"
	}
	if xs[0].IsNull() && len(xs) == 1 {
		return nil, source.ReasonNoGeometry, ""
	}
	if len(xs) > source.MaxVertices {
		return nil, source.ReasonTooManyPoints, fmt.Sprintf("more than %d", source.MaxVertices)
	}
	depth := native[g.kind]
	var lines [][]orb.Point // of positions
	var parts []int         // the first line of each part
	all := make([]orb.Point, 0, len(xs))
	begin := 0
	end := func() {
		lines = append(lines, all[begin:len(all):len(all)])
		begin = len(all)
	}
	for i, x := range xs {
		level := x.RepetitionLevel()
		if i > 0 && level < depth {
			end()
		}
		if level < max(1, depth-1) {
			parts = append(parts, len(lines))
		}
		if !x.IsNull() && !ys[i].IsNull() { // otherwise the list is empty
			all = append(all, orb.Point{x.Double(), ys[i].Double()})
		}
	}
	end()
	switch g.kind {
	case "point":
		if len(all) == 0 || math.IsNaN(all[0][0]) && math.IsNaN(all[0][1]) {
			return nil, source.ReasonNoGeometry, "empty"
		}
		return all[0], "", ""
	case "multipoint":
		return orb.MultiPoint(all), "", ""
	case "linestring":
		return orb.LineString(all), "", ""
	case "multilinestring":
		return asLines(lines), "", ""
	case "polygon":
		return asRings(lines), "", ""
	}
	var polygons orb.MultiPolygon
	for i, from := range parts {
		to := len(lines)
		if i+1 < len(parts) {
			to = parts[i+1]
		}
		polygons = append(polygons, asRings(lines[from:to]))
	}
	return polygons, "", ""
}

func asLines(lines [][]orb.Point) (out orb.MultiLineString) {
	for _, l := range lines {
		out = append(out, l)
	}
	return out
}

func asRings(lines [][]orb.Point) (out orb.Polygon) {
	for _, l := range lines {
		out = append(out, l)
	}
	return out
}

// groupBound returns the box of the features of a row group, if its statistics tell. Boxes of
// features across the antimeridian have the greater longitude first.
func (p *part) groupBound(group *format.RowGroup) (bound orb.Bound, ok bool) {
	g := p.geom
	switch {
	case g == nil:
		return bound, false
	case g.x != nil && g.box[0] == nil:
		x, okX := statistics(group, g.x)
		y, okY := statistics(group, g.y)
		return orb.Bound{Min: orb.Point{x[0], y[0]}, Max: orb.Point{x[1], y[1]}}, okX && okY
	case g.box[0] == nil || g.box[1] == nil || g.box[2] == nil || g.box[3] == nil:
		if g.wkb == nil {
			return bound, false
		}
		box := group.Columns[g.wkb.index].MetaData.GeospatialStatistics.BBox
		bound = orb.Bound{Min: orb.Point{box.XMin, box.YMin}, Max: orb.Point{box.XMax, box.YMax}}
		return bound, bound != orb.Bound{} && bound.Min[1] <= bound.Max[1]
	}
	var ranges [4][2]float64
	for i, l := range g.box {
		if ranges[i], ok = statistics(group, l); !ok {
			return bound, false
		}
	}
	bound = orb.Bound{Min: orb.Point{ranges[0][0], ranges[1][0]}, Max: orb.Point{ranges[2][1], ranges[3][1]}}
	if ranges[0][1] > 90 && ranges[2][0] < -90 { // a box may begin in the far east and end in the far west
		bound.Min[0], bound.Max[0] = -180, 180
	}
	return bound, true
}

// statistics returns the least and the greatest value of a column in a row group. Those of
// float32 are wider by the rounding of longitudes.
func statistics(group *format.RowGroup, l *leaf) (lowest [2]float64, ok bool) {
	m := &group.Columns[l.index].MetaData
	for i, b := range [2][]byte{m.Statistics.MinValue, m.Statistics.MaxValue} {
		switch {
		case m.Type == format.Double && len(b) == 8:
			lowest[i] = math.Float64frombits(binary.LittleEndian.Uint64(b))
		case m.Type == format.Float && len(b) == 4:
			const rounding = 1.0 / (1 << 15)
			lowest[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) + float64(2*i-1)*rounding
		default:
			return lowest, false
		}
	}
	return lowest, lowest[0] <= lowest[1]
}

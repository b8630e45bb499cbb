package feature

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"

	"quadrille/quadkey"
)

// Geometry is the shape of a feature. It is kept as GeoJSON or as an orb.Geometry;
// callers see no difference. The zero Geometry is the feature's position as a point.
type Geometry struct {
	json  []byte
	shape orb.Geometry
	none  bool
}

// NoGeometry is the geometry of a feature whose shape is unknown, or was not requested.
var NoGeometry = Geometry{none: true}

// GeoJSONGeometry returns a geometry with GeoJSONGeometry text, without white space, longitude before latitude.
func GeoJSONGeometry(text []byte) Geometry { return Geometry{json: text} }

// OrbGeometry returns a Geometry of a shape in degrees.
func OrbGeometry(g orb.Geometry) Geometry { return Geometry{shape: g} }

// IsPoint reports whether the geometry is the feature's position.
func (g Geometry) IsPoint() bool { return g.json == nil && g.shape == nil && !g.none }

// Orb returns the geometry of a feature, or nil if it is not known. If it cannot be read, the error
// matches ErrDamaged.
func (f *Feature) Orb() (orb.Geometry, error) {
	switch g := &f.Geometry; {
	case g.none:
		return nil, nil
	case g.shape != nil:
		return g.shape, nil
	case g.json != nil:
		if shape := readPolygons(g.json); shape != nil {
			return shape, nil
		}
		read, err := geojson.UnmarshalGeometry(g.json)
		if err != nil {
			return nil, fmt.Errorf("%w: geometry of %.40q: %w", ErrDamaged, f.ID, err)
		}
		return read.Geometry(), nil
	}
	return orb.Point{f.Lon, f.Lat}, nil
}

// AppendPosition appends a position in GeoJSON.
func AppendPosition(dst []byte, p quadkey.Position) []byte {
	dst = strconv.AppendFloat(append(dst, '['), p.Lon, 'f', -1, 64)
	return append(strconv.AppendFloat(append(dst, ','), p.Lat, 'f', -1, 64), ']')
}

// AppendGeometry appends the geometry of a feature as GeoJSON, or null. position writes
// each position, perhaps projected; nil means AppendPosition. An error matches ErrDamaged. The
// bytes appended by then are no valid geometry.
func (f *Feature) AppendGeometry(dst []byte, position func(dst []byte, p quadkey.Position) []byte) ([]byte, error) {
	g := &f.Geometry
	switch {
	case g.none:
		return append(dst, "null"...), nil
	case g.IsPoint():
		if position == nil {
			position = AppendPosition
		}
		return append(position(append(dst, `{"type":"Point","coordinates":`...), f.Position), '}'), nil
	}
	text := g.json
	if g.shape != nil {
		var err error
		if text, err = json.Marshal(geojson.NewGeometry(g.shape)); err != nil {
			return dst, err
		}
	}
	if position == nil {
		return append(dst, text...), nil
	}
	// A position is a list that begins with a number.
	for rest := text; len(rest) > 0; {
		start := bytes.IndexByte(rest, '[')
		if start < 0 || start+1 == len(rest) {
			return append(dst, rest...), nil
		}
		if !IsNumber(rest[start+1:]) {
			dst, rest = append(dst, rest[:start+1]...), rest[start+1:]
			continue
		}
		end := bytes.IndexByte(rest[start:], ']')
		p, ok := parsePosition(rest[start:max(start, start+end+1)])
		if !ok {
			return dst, fmt.Errorf("%w: geometry of %.40q", ErrDamaged, f.ID)
		}
		dst, rest = position(append(dst, rest[:start]...), p), rest[start+end+1:]
	}
	return dst, nil
}

// parsePosition reads [longitude,latitude], which heights may follow.
func parsePosition(text []byte) (p quadkey.Position, ok bool) {
	if len(text) < 2 {
		return p, false
	}
	lon, rest, _ := bytes.Cut(text[1:len(text)-1], []byte{','})
	lat, _, _ := bytes.Cut(rest, []byte{','})
	var errs [2]error
	p.Lon, errs[0] = strconv.ParseFloat(string(lon), 64)
	p.Lat, errs[1] = strconv.ParseFloat(string(lat), 64)
	return p, errs == [2]error{}
}

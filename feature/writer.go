package feature

import (
	"strconv"
	"time"

	"quadrille/internal/jsontext"
	"quadrille/quadkey"
)

// Writer writes features as JSON. The zero Writer writes objects whose members are the
// properties. Using it does not change it.
type Writer struct {
	// GeoJSON writes features of GeoJSON in place of plain objects.
	GeoJSON bool
	// Nested writes the properties as an object of their own, beside the layer's members: users'
	// names are never mixed with ours. Objects then have id, lat and lon. With Versions, objects
	// and features of GeoJSON also have version and expires.
	Nested, Versions bool
	// Numbers writes ids of GeoJSON as numbers if the layer has numbers.
	Numbers bool
	// NoIDs omits the id of features of GeoJSON.
	NoIDs bool
	// Near has the distance as distance_m, in metres to the decimetre.
	Near bool
	// SkipGeometry leaves out geometries, and the positions of objects.
	SkipGeometry bool
	// Bounds adds the bounds of features that are not points, as bbox.
	Bounds bool
	// Fields are the properties that are written; nil is all.
	Fields []string
	// Position writes positions of GeoJSON; nil is AppendPosition.
	Position func(dst []byte, p quadkey.Position) []byte
}

// Append appends a feature. members are finished members of the caller's, each with a
// comma behind it; they stand before the properties of nested features. Errors match
// ErrDamaged.
func (w *Writer) Append(dst []byte, f *Feature, members string) ([]byte, error) {
	dst, err := w.Open(dst, f, members)
	return append(dst, '}'), err
}

// Open is Append without the last brace, so that more members may follow.
func (w *Writer) Open(dst []byte, f *Feature, members string) (_ []byte, err error) {
	if w.GeoJSON {
		dst = append(dst, `{"type":"Feature",`...)
		switch {
		case f.Members > 0, f.ID == "", w.NoIDs: // a cluster is no feature
		case w.Numbers && f.Number != 0:
			dst = append(strconv.AppendUint(append(dst, `"id":`...), f.Number, 10), ',')
		default:
			dst = append(jsontext.AppendString(append(dst, `"id":`...), f.ID), ',')
		}
		if w.Bounds && f.Bounds != (quadkey.Box{}) {
			dst = append(AppendBounds(dst, [4]float64{f.Bounds.West, f.Bounds.South, f.Bounds.East, f.Bounds.North}), ',')
		}
		dst = append(dst, `"geometry":`...)
		if w.SkipGeometry {
			dst = append(dst, "null"...)
		} else if dst, err = f.AppendGeometry(dst, w.Position); err != nil {
			return dst, err
		}
		dst = append(dst, ',')
	} else if dst = append(dst, '{'); w.Nested {
		dst = append(jsontext.AppendString(append(dst, `"id":`...), f.ID), ',')
		if !w.SkipGeometry {
			dst = append(AppendLatLon(dst, f.Position), ',')
		}
	}
	if w.Nested {
		return w.nested(append(dst, members...), f), nil
	}
	if w.GeoJSON {
		dst = append(dst, `"properties":{`...)
	}
	dst = w.appendMembers(dst, f)
	if w.Near {
		dst = AppendDistance(jsontext.Next(dst), f.Distance)
	}
	if w.GeoJSON {
		dst = append(dst, '}')
	}
	return dst, nil
}

// nested writes the properties and the members beside them.
func (w *Writer) nested(dst []byte, f *Feature) []byte {
	if w.Near {
		dst = append(AppendDistance(dst, f.Distance), ',')
	}
	if w.Versions {
		dst = append(strconv.AppendInt(append(dst, `"version":`...), f.Version, 10), ',')
		if !f.Expires.IsZero() {
			dst = append(f.Expires.UTC().AppendFormat(append(dst, `"expires":"`...), time.RFC3339Nano), `",`...)
		}
	}
	return append(w.appendMembers(append(dst, `"properties":{`...), f), '}')
}

// appendMembers appends the properties that are written.
func (w *Writer) appendMembers(dst []byte, f *Feature) []byte {
	if w.Fields == nil {
		return f.Properties.AppendMembers(dst)
	}
	return f.Properties.appendSome(dst, w.Fields)
}

// AppendLatLon appends the members lat and lon of a position, in degrees.
func AppendLatLon(dst []byte, p quadkey.Position) []byte {
	dst = strconv.AppendFloat(append(dst, `"lat":`...), p.Lat, 'f', -1, 64)
	return strconv.AppendFloat(append(dst, `,"lon":`...), p.Lon, 'f', -1, 64)
}

// AppendDistance appends the member of a distance in metres, to the decimetre.
func AppendDistance(dst []byte, metres float64) []byte {
	return strconv.AppendFloat(append(dst, `"distance_m":`...), metres, 'f', 1, 64)
}

// AppendBounds appends the member of bounds: west, south, east, north.
func AppendBounds(dst []byte, bounds [4]float64) []byte {
	dst = append(dst, `"bbox":[`...)
	for _, v := range bounds {
		dst = strconv.AppendFloat(jsontext.Next(dst), v+0, 'f', -1, 64) // never -0
	}
	return append(dst, ']')
}

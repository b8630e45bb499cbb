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
	// NestProperties writes the properties as a separate object next to the layer's members, so that users'
	// names are never mixed with ours. Objects then have id, lat and lon. With WithVersion, objects
	// and features of GeoJSON also have version and expires.
	NestProperties, WithVersion bool
	// NumericIDs writes ids of GeoJSON as numbers if the layer has numbers.
	NumericIDs bool
	// NoIDs omits the id of features of GeoJSON.
	NoIDs bool
	// WithDistance adds the distance as distance_m, in metres, rounded to the decimetre.
	WithDistance bool
	// SkipGeometry leaves out geometries, and the positions of objects.
	SkipGeometry bool
	// WithBounds adds the bounds of features that are not points, as bbox.
	WithBounds bool
	// Fields are the properties that are written; nil means all.
	Fields []string
	// Position writes positions of GeoJSON; nil means AppendPosition.
	Position func(dst []byte, p quadkey.Position) []byte
}

// Append appends a feature. members are encoded members from the caller, each followed by a comma;
// they come before the properties of nested features. Errors match ErrDamaged.
func (w *Writer) Append(dst []byte, f *Feature, members string) ([]byte, error) {
	dst, err := w.AppendUnclosed(dst, f, members)
	return append(dst, '}'), err
}

// AppendUnclosed does the same as Append, but leaves out the last brace, so that more members may follow.
func (w *Writer) AppendUnclosed(dst []byte, f *Feature, members string) (_ []byte, err error) {
	if w.GeoJSON {
		dst = append(dst, `{"type":"Feature",`...)
		switch {
		case f.ClusterSize > 0, f.ID == "", w.NoIDs: // a cluster is no feature
		case w.NumericIDs && f.Number != 0:
			dst = append(strconv.AppendUint(append(dst, `"id":`...), f.Number, 10), ',')
		default:
			dst = append(jsontext.AppendString(append(dst, `"id":`...), f.ID), ',')
		}
		if w.WithBounds && f.Bounds != (quadkey.Box{}) {
			dst = append(AppendBounds(dst, [4]float64{f.Bounds.West, f.Bounds.South, f.Bounds.East, f.Bounds.North}), ',')
		}
		dst = append(dst, `"geometry":`...)
		if w.SkipGeometry {
			dst = append(dst, "null"...)
		} else if dst, err = f.AppendGeometry(dst, w.Position); err != nil {
			return dst, err
		}
		dst = append(dst, ',')
	} else if dst = append(dst, '{'); w.NestProperties {
		dst = append(jsontext.AppendString(append(dst, `"id":`...), f.ID), ',')
		if !w.SkipGeometry {
			dst = append(AppendLatLon(dst, f.Position), ',')
		}
	}
	if w.NestProperties {
		return w.nested(append(dst, members...), f), nil
	}
	if w.GeoJSON {
		dst = append(dst, `"properties":{`...)
	}
	dst = w.appendMembers(dst, f)
	if w.WithDistance {
		dst = AppendDistance(jsontext.Next(dst), f.DistanceM)
	}
	if w.GeoJSON {
		dst = append(dst, '}')
	}
	return dst, nil
}

// nested writes the properties and the members beside them.
func (w *Writer) nested(dst []byte, f *Feature) []byte {
	if w.WithDistance {
		dst = append(AppendDistance(dst, f.DistanceM), ',')
	}
	if w.WithVersion {
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

// AppendBounds appends the member with the bounds: west, south, east, north.
func AppendBounds(dst []byte, bounds [4]float64) []byte {
	dst = append(dst, `"bbox":[`...)
	for _, v := range bounds {
		dst = strconv.AppendFloat(jsontext.Next(dst), v+0, 'f', -1, 64) // never -0
	}
	return append(dst, ']')
}

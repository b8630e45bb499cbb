package layout

import (
	"bytes"
	"math"
	"strconv"

	"quadrille/internal/jsontext"
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
)

// AppendMultiPolygon appends polygons as a GeoJSON geometry: longitude before
// latitude, shells counterclockwise and holes clockwise (RFC 7946), first
// points repeated.
func AppendMultiPolygon(dst []byte, polys []grid.Polygon, position func([]byte, grid.Point) []byte) []byte {
	if len(polys) == 1 {
		dst = append(dst, `{"type":"Polygon","coordinates":`...)
		dst = appendPolygon(dst, polys[0], position)
		return append(dst, '}')
	}
	dst = append(dst, `{"type":"MultiPolygon","coordinates":[`...)
	for _, p := range polys {
		dst = appendPolygon(jsontext.Next(dst), p, position)
	}
	return append(dst, "]}"...)
}

func appendPolygon(dst []byte, p grid.Polygon, position func([]byte, grid.Point) []byte) []byte {
	dst = append(dst, '[')
	for _, r := range p {
		dst = append(jsontext.Next(dst), '[')
		// Grid rings run the other way round, because y falls as latitude
		// rises.
		dst = position(dst, r[0])
		for j := len(r) - 1; j >= 0; j-- {
			dst = append(dst, ',')
			dst = position(dst, r[j])
		}
		dst = append(dst, ']')
	}
	return append(dst, ']')
}

// AppendLines appends lines as a GeoJSON geometry, longitude before latitude: a LineString for one
// line, or a MultiLineString. position writes a point of a line.
func AppendLines[L ~[]P, P any](dst []byte, lines []L, position func([]byte, P) []byte) []byte {
	end := "}"
	if len(lines) == 1 {
		dst = append(dst, `{"type":"LineString","coordinates":`...)
	} else {
		dst, end = append(dst, `{"type":"MultiLineString","coordinates":[`...), "]}"
	}
	for i, l := range lines {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '[')
		for _, p := range l {
			dst = position(jsontext.Next(dst), p)
		}
		dst = append(dst, ']')
	}
	return append(dst, end...)
}

// AppendDegrees appends a place in degrees as a GeoJSON position, longitude first.
func AppendDegrees(dst []byte, lon, lat float64, decimals int) []byte {
	dst = AppendFixed(append(dst, '['), lon, decimals)
	return append(AppendFixed(append(dst, ','), lat, decimals), ']')
}

// Positions writes the positions of tiles of one zoom at a time. A border's points are written for
// each region of each type on its sides, so it keeps latitudes, which take long to compute. It
// belongs to one goroutine.
type Positions struct {
	decimals int
	kept     [1 << 10]keptLatitude
}

type keptLatitude struct {
	y   int32
	lat float64 // 0 if nothing is kept
}

// SetZoom sets the zoom. It must be called before Append.
func (w *Positions) SetZoom(z int) { w.decimals = decimalsAt(z) }

// Append appends a grid point as a GeoJSON position, longitude first. The zoom's step
// determines the number of decimals: a position is never finer than 1/8 of it and never needs more
// than 7 decimals.
func (w *Positions) Append(dst []byte, p grid.Point) []byte {
	// Points of coarse zooms are multiples of a power of two.
	k := &w.kept[uint32(p.Y)*0x9E3779B1>>22]
	if k.y != p.Y || k.lat == 0 {
		*k = keptLatitude{p.Y, MercatorLat(float64(p.Y))}
	}
	return AppendDegrees(dst, float64(p.X)/grid.WorldSize*360-180, k.lat, w.decimals)
}

// PlateCarreePosition writes positions of the plate carrée grid.
func PlateCarreePosition(dst []byte, p grid.Point) []byte {
	return AppendDegrees(dst, float64(p.X)/grid.WorldSize*360-180, 90-float64(p.Y)/grid.WorldSize*360, 6)
}

// AppendSquare appends a whole tile as a GeoJSON Polygon.
func AppendSquare(dst []byte, t quadkey.Tile) []byte {
	// The grid reaches zoom 13 only, and served tiles can be deeper, so the
	// corners come from the tile itself.
	d := 7
	if int(t.Z) <= grid.MaxZoom {
		d = decimalsAt(int(t.Z))
	}
	b := t.Bound()
	dst = append(dst, `{"type":"Polygon","coordinates":[[`...)
	for _, c := range [5][2]float64{{b.West, b.South}, {b.East, b.South}, {b.East, b.North}, {b.West, b.North}, {b.West, b.South}} {
		dst = AppendDegrees(jsontext.Next(dst), c[0], c[1], d)
	}
	return append(dst, "]]}"...)
}

// AppendFeatureHead appends a GeoJSON Feature up to and including the key of its geometry. merged
// is the number of regions that the Feature represents, or 0 for a single region.
func AppendFeatureHead(dst []byte, typ, id, name string, merged int) []byte {
	dst = append(dst, `{"type":"Feature","id":"`...)
	dst = append(dst, typ...)
	dst = append(dst, ':')
	dst = append(dst, id...)
	dst = append(dst, `","properties":{"type":"`...)
	dst = append(dst, typ...)
	dst = append(dst, `","id":"`...)
	dst = append(dst, id...)
	dst = append(dst, '"')
	if name != "" {
		dst = append(dst, `,"name":`...)
		dst = jsontext.AppendString(dst, name)
	}
	if merged > 0 {
		dst = append(dst, `,"merged":`...)
		dst = strconv.AppendInt(dst, int64(merged), 10)
	}
	return append(dst, FeatureHeadEnd...)
}

// FeatureHeadEnd is the end of what AppendFeatureHead appends.
const FeatureHeadEnd = `},"geometry":`

// ParseFeatureHead returns the id of a Feature of a type, and the beginning that AppendFeatureHead
// wrote.
func ParseFeatureHead(text []byte, typ string) (id string, head []byte, ok bool) {
	rest, ok := bytes.CutPrefix(text, []byte(`{"type":"Feature","id":"`+typ+":"))
	quote := bytes.IndexByte(rest, '"')
	// A quotation mark inside of a text follows a backslash, so the end is in no name.
	end := bytes.Index(rest, []byte(FeatureHeadEnd))
	if !ok || quote < 0 || end < quote {
		return "", nil, false
	}
	return string(rest[:quote]), text[:len(text)-len(rest)+end+len(FeatureHeadEnd)], true
}

// decimalsAt returns the number of decimals of a degree at zoom z. The step of
// the zoom's grid is 360/2^(z+12)°. One decimal digit more than its magnitude
// keeps positions apart.
func decimalsAt(z int) int {
	step := 360 / math.Exp2(float64(z+12))
	return min(7, 1+int(math.Ceil(-math.Log10(step))))
}

const maxDecimals = 7

var pow10 = [maxDecimals + 1]float64{1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7}

// AppendFixed appends v with at most the given decimals and no trailing zeros. decimals is at most
// maxDecimals. A build writes mostly coordinates, and strconv's shortest formatting is several
// times slower.
func AppendFixed(dst []byte, v float64, decimals int) []byte {
	n := int64(math.Round(v * pow10[decimals]))
	if n < 0 {
		dst = append(dst, '-')
		n = -n
	}
	div := int64(pow10[decimals])
	dst = strconv.AppendInt(dst, n/div, 10)
	if n %= div; n == 0 {
		return dst
	}
	digits := [1 + maxDecimals]byte{'.'}
	frac := uint32(n) * uint32(pow10[maxDecimals-decimals])
	for i := maxDecimals; i > 0; i-- {
		digits[i] = byte('0' + frac%10)
		frac /= 10
	}
	end := len(digits)
	for digits[end-1] == '0' {
		end--
	}
	return append(dst, digits[:end]...)
}

// ParseFixed parses the output of AppendFixed and returns the number of bytes it read.
func ParseFixed(b []byte) (v float64, size int, ok bool) {
	negative := b[0] == '-'
	if negative {
		size++
	}
	n, digits, decimals := int64(0), 0, -1
	for ; size < len(b); size++ {
		switch c := b[size]; {
		case c == '.' && decimals < 0:
			decimals = 0
			continue
		case c < '0' || c > '9':
			goto end
		default:
			n = n*10 + int64(c-'0')
		}
		if digits++; digits > 15 {
			return 0, 0, false
		}
		if decimals >= 0 {
			decimals++
		}
	}
end:
	if decimals >= len(pow10) || digits == 0 {
		return 0, 0, false
	}
	if negative {
		n = -n
	}
	return float64(n) / pow10[max(0, decimals)], size, true
}

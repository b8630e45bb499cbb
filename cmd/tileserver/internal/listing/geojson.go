package listing

import (
	"strconv"

	"quadrille/internal/jsontext"
)

const (
	CollectionHead = `{"type":"FeatureCollection","features":[`
	CollectionTail = `]}`
)

// AppendFeatureHead writes a point feature up to its properties.
func AppendFeatureHead(dst []byte, id uint32, lon, lat float64) []byte {
	dst = append(dst, `{"type":"Feature","id":`...)
	dst = strconv.AppendUint(dst, uint64(id), 10)
	return append(AppendPoint(append(dst, ','), lon, lat), `,"properties":`...)
}

// AppendPoint writes the geometry member of a point.
func AppendPoint(dst []byte, lon, lat float64) []byte {
	dst = append(dst, `"geometry":{"type":"Point","coordinates":[`...)
	dst = strconv.AppendFloat(dst, lon, 'f', -1, 64)
	dst = append(dst, ',')
	dst = strconv.AppendFloat(dst, lat, 'f', -1, 64)
	return append(dst, `]}`...)
}

// AppendNext closes an answer, with the cursor of the next page if there is
// one.
func AppendNext(dst []byte, next string) []byte {
	if next != "" {
		dst = append(dst, `,"next":`...)
		dst = jsontext.AppendString(dst, next)
	}
	return append(dst, '}')
}

// AppendBounds writes a bbox member.
func AppendBounds(dst []byte, bounds [4]float64) []byte {
	for i, v := range bounds {
		if i == 0 {
			dst = append(dst, `"bbox":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = strconv.AppendFloat(dst, v+0, 'f', -1, 64)
	}
	return append(dst, ']')
}

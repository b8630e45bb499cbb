package httpapi

import (
	"quadrille/internal/jsontext"
	"strconv"
)

const (
	collectionHead = `{"type":"FeatureCollection","features":[`
	collectionTail = `]}`
)

// appendFeatureHead writes a point feature up to its properties.
func appendFeatureHead(dst []byte, id uint32, lon, lat float64) []byte {
	dst = append(dst, `{"type":"Feature","id":`...)
	dst = strconv.AppendUint(dst, uint64(id), 10)
	return append(appendPoint(append(dst, ','), lon, lat), `,"properties":`...)
}

// appendPoint writes the geometry member of a point.
func appendPoint(dst []byte, lon, lat float64) []byte {
	dst = append(dst, `"geometry":{"type":"Point","coordinates":[`...)
	dst = strconv.AppendFloat(dst, lon, 'f', -1, 64)
	dst = append(dst, ',')
	dst = strconv.AppendFloat(dst, lat, 'f', -1, 64)
	return append(dst, `]}`...)
}

// appendNext closes an answer, with the cursor of the next page if there is
// one.
func appendNext(dst []byte, next string) []byte {
	if next != "" {
		dst = append(dst, `,"next":`...)
		dst = jsontext.AppendString(dst, next)
	}
	return append(dst, '}')
}

// appendBounds writes a bbox member.
func appendBounds(dst []byte, bounds [4]float64) []byte {
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

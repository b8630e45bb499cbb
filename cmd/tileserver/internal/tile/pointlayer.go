package tile

import (
	"context"
	"hash/fnv"
	"math"
	"strconv"
	"strings"
	"sync"

	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles/mvt"
)

// These are bounds of a point's content in a vector tile. The record of the point has everything.
const (
	maxTags = 20  // properties, besides the name
	maxText = 200 // bytes
)

// pointLayer is a layer of points of one tile.
type pointLayer struct {
	mvt.Layer
	tile   quadkey.Tile
	names  naming
	filter feature.Filter
}

var pointLayers = sync.Pool{New: func() any { return new(pointLayer) }}

// place begins a point without attributes.
func (l *pointLayer) place(id uint64, lon, lat float64) {
	x, y := quadkey.Project(lon, lat)
	n := float64(uint64(1) << l.tile.Z)
	l.Begin(id, mvt.Point)
	l.Point(mvt.XY{X: unit(x*n - float64(l.tile.X)), Y: unit(y*n - float64(l.tile.Y))})
}

// text adds an attribute that some points lack.
func (l *pointLayer) text(key, value string) {
	if value != "" {
		l.TagString(key, value)
	}
}

// unit converts a fraction of a tile to its integer coordinate. A point belongs to one tile only,
// so the coordinate never reaches the far edge. This also applies to points beyond the edge of the
// grid, which are in its last row.
func unit(f float64) int32 {
	return int32(min(max(math.Floor(f*mvt.Extent), 0), mvt.Extent-1))
}

// show writes a point with its scalar properties, or a cluster. A property with the name of one of
// the layer's own attributes is omitted.
func (l *pointLayer) show(f *feature.Feature) {
	if f.ClusterSize > 0 {
		l.place(0, f.Lon, f.Lat)
		l.TagBool("cluster", true)
		l.TagInt("point_count", f.ClusterSize)
		l.TagString("point_count_abbreviated", shortCount(f.ClusterSize))
		l.text("cluster_id", f.ID)
		l.End()
		return
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(f.ID))
	// JavaScript numbers are exact up to 53 bits.
	l.place(h.Sum64()>>11, f.Lon, f.Lat)
	l.TagString("id", f.ID)
	left := maxTags
	for name, value := range f.Properties.All() {
		switch name {
		case "id", "cluster", "point_count", "point_count_abbreviated":
		case "name":
			l.scalar("name", value)
		default:
			if left > 0 && l.scalar(name, value) {
				left--
			}
		}
	}
	l.End()
}

// shortCount writes a number so briefly that it fits on a disc, such as 1.2k.
func shortCount(n int64) string {
	const letters = "kMGTPE"
	short, letter := float64(n), -1
	for math.Round(short) >= 1000 {
		short /= 1000
		letter++
	}
	switch {
	case letter < 0:
		return strconv.FormatInt(n, 10)
	case short < 9.95:
		return strings.TrimSuffix(strconv.FormatFloat(short, 'f', 1, 64), ".0") + letters[letter:letter+1]
	}
	return strconv.FormatFloat(short, 'f', 0, 64) + letters[letter:letter+1]
}

// scalar adds an attribute if its value is a text, a number or a boolean.
func (l *pointLayer) scalar(key string, value feature.Value) bool {
	switch value.Kind() {
	case feature.Text:
		l.TagString(key, shorten(value.Text()))
		return true
	case feature.Boolean:
		is, _ := value.Boolean()
		l.TagBool(key, is)
		return true
	}
	if n, ok := value.Integer(); ok {
		l.TagInt(key, n)
		return true
	}
	n, ok := value.Number() // false if it is too large for a tile
	if ok {
		l.TagDouble(key, n)
	}
	return ok
}

// shorten truncates a text, between characters, to the greatest length in a tile.
func shorten(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText - len("…")
	for text[end]&0xC0 == 0x80 {
		end--
	}
	return text[:end] + "…"
}

// appendLayer appends a layer of points. The function write writes its features.
func appendLayer(dst []byte, name string, t quadkey.Tile, write func(*pointLayer) error) ([]byte, error) {
	l := pointLayers.Get().(*pointLayer)
	defer pointLayers.Put(l)
	l.Reset(name)
	l.tile = t
	if err := write(l); err != nil {
		return dst, err
	}
	return l.AppendTo(dst), nil
}

func writeFeatures(ctx context.Context, from feature.Tiler, l *pointLayer) error {
	for f, err := range from.Tile(ctx, l.tile, l.filter) {
		if err != nil {
			return err
		}
		l.show(f)
	}
	return nil
}

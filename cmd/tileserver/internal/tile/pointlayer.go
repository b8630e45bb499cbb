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
	"quadrille/tiles"
	"quadrille/tiles/mvt"
)

// pointLayer is a layer of points of one tile.
type pointLayer struct {
	mvt.Layer
	tile   quadkey.Tile
	names  naming
	set    *layerSet
	value  []byte
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
	taken := 0
	for name, value := range f.Properties.All() {
		switch name {
		case "id", "cluster", "point_count", "point_count_abbreviated":
		case "name":
			l.scalar("name", value)
		default:
			if l.set.shows(name, taken) && l.scalar(name, value) {
				taken++
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
	var ok bool
	if l.value, ok = tiles.AppendScalar(l.value[:0], value); ok {
		l.TagValue(key, l.value)
	}
	return ok
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

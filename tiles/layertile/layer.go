// Package layertile makes vector tiles of layers of points: of any feature.Tiler.
package layertile

import (
	"cmp"
	"context"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/mvt"
)

// MaxZoom is the deepest zoom of tiles of layers without a Drawing. Their clusters dissolve
// gradually with the zoom, so clients must request deep tiles and not enlarge other tiles.
const MaxZoom = 22

// Options choose the features of a tile and their properties. The zero value gives the usual tile.
type Options struct {
	// Filter must pass a feature; nil passes all. Clusters are of the features that pass.
	Filter feature.Filter
	// Fields are the properties that features of a layer without a Drawing have besides id and
	// name. nil means their first tiles.MaxColumns.
	Fields []string
	Names  Names
}

// shows reports whether features have a property. taken is the number that a feature already has.
func (o *Options) shows(name string, taken int) bool {
	if o.Fields == nil {
		return taken < tiles.MaxColumns
	}
	return slices.Contains(o.Fields, name)
}

// Names adds names in a language to the local names of features with a Drawing. The zero value adds
// nothing.
type Names struct {
	Lang string
	// Instead is set if the name replaces the local one, as in pictures.
	Instead bool
	// Left is the number of names that may still be looked up for a tile; nil means no bound.
	Left *int
}

// Take reports whether one more name may be looked up.
func (n Names) Take() bool {
	if n.Left == nil {
		return true
	}
	*n.Left--
	return *n.Left >= 0
}

// Key returns the attribute with the name.
func (n Names) Key() string { return "name:" + n.Lang }

// Of returns the name of a feature, or "" if none is requested or known. d is nil for a layer
// without a Drawing.
func (n Names) Of(ctx context.Context, from feature.Tiler, d *feature.Drawing, number uint64) (string, error) {
	if d == nil || !d.HasNames || n.Lang == "" || !n.Take() {
		return "", nil
	}
	name, _, err := from.(feature.Namer).NameIn(ctx, uint32(number), n.Lang)
	return name, err
}

// AppendMVT appends the vector tile of a layer; layers that are written one after another form one
// tile. about has the name of the layer in the tile, and its Drawing. Nothing to show appends
// nothing.
func AppendMVT(ctx context.Context, dst []byte, about *feature.Info, from feature.Tiler, t quadkey.Tile, o Options) ([]byte, error) {
	l := layers.Get().(*layer)
	defer layers.Put(l)
	l.Reset(about.Name)
	l.tile, l.Options = t, o
	var err error
	if d := about.Drawing; d != nil {
		err = l.writeDrawn(ctx, from, d)
	} else {
		for f, ferr := range from.Tile(ctx, t, o.Filter) {
			if err = ferr; err != nil {
				break
			}
			l.show(f)
		}
	}
	if l.Options = (Options{}); err != nil {
		return dst, err
	}
	return l.AppendTo(dst), nil
}

// Description describes the vector layer of a layer of points.
type Description struct {
	Text    string
	Fields  map[string]string // the kind of each attribute, in the words of TileJSON
	MaxZoom int               // clients enlarge the tiles of this zoom
}

// Describe returns the description of the vector layer that AppendMVT writes. The caller owns it.
func Describe(about *feature.Info, o Options) Description {
	if d := about.Drawing; d != nil {
		fields := map[string]string{"id": "Number"}
		for _, f := range d.Attributes {
			fields[f.Name] = tiles.FieldTypes[f.Kind]
		}
		if d.HasNames && o.Names.Lang != "" {
			fields[o.Names.Key()] = "String"
		}
		return Description{d.Description, fields, tiles.MaxZoom}
	}
	fields := map[string]string{
		"id":                      "String",
		"cluster":                 "Boolean",
		"point_count":             "Number",
		"point_count_abbreviated": "String",
		"cluster_id":              "String",
	}
	for _, f := range about.Schema {
		_, own := fields[f.Name]
		if chosen := o.Fields == nil || f.Name == "name" || slices.Contains(o.Fields, f.Name); chosen && !own && tiles.FieldTypes[f.Kind] != "" {
			fields[f.Name] = tiles.FieldTypes[f.Kind]
		}
	}
	text := cmp.Or(about.Title, "Points") + "; where there are many, clusters, of which point_count tells how many points they stand for"
	return Description{text, fields, MaxZoom}
}

// layer is a layer of points of one tile.
type layer struct {
	mvt.Layer
	Options
	tile  quadkey.Tile
	value []byte
}

var layers = sync.Pool{New: func() any { return new(layer) }}

// place begins a point without attributes.
func (l *layer) place(id uint64, lon, lat float64) {
	x, y := quadkey.Project(lon, lat)
	n := float64(uint64(1) << l.tile.Z)
	l.Begin(id, mvt.Point)
	l.Point(mvt.XY{X: unit(x*n - float64(l.tile.X)), Y: unit(y*n - float64(l.tile.Y))})
}

// text adds an attribute that some points lack.
func (l *layer) text(key, value string) {
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
func (l *layer) show(f *feature.Feature) {
	if f.ClusterSize > 0 {
		l.place(0, f.Lon, f.Lat)
		l.TagBool("cluster", true)
		l.TagInt("point_count", f.ClusterSize)
		l.TagString("point_count_abbreviated", ShortCount(f.ClusterSize))
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
		case "id", "cluster", "cluster_id", "point_count", "point_count_abbreviated":
		case "name":
			l.scalar("name", value)
		default:
			if l.shows(name, taken) && l.scalar(name, value) {
				taken++
			}
		}
	}
	l.End()
}

// ShortCount writes a number so briefly that it fits on a disc, such as 1.2k.
func ShortCount(n int64) string {
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
func (l *layer) scalar(key string, value feature.Value) bool {
	var ok bool
	if l.value, ok = tiles.AppendScalar(l.value[:0], value); ok {
		l.TagValue(key, l.value)
	}
	return ok
}

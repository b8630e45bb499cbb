package tile

import (
	"context"
	"errors"
	"hash/fnv"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/quadkey"
)

// pointsPrefix begins the names of the layers that are collections of points.
const pointsPrefix = "points:"

// Bounds of what a vector tile tells of a point. Its record tells everything.
const (
	maxTags = 20  // properties, besides the name
	maxText = 200 // bytes
)

// pointsZoom is the deepest zoom of tiles of collections. Their clusters dissolve zoom by
// zoom, so that clients must ask for deep tiles and not enlarge others.
const pointsZoom = 22

// shownCollections are the collections of a server that tiles may show.
type shownCollections struct{ *ask.Collections }

// collectionOf is a collection held for a request.
type collectionOf struct {
	name string
	ask.PinnedCollection
	ask.Collection
}

// pin takes a collection if all may see it. Release it if ok. An error is one of the store.
func (s shownCollections) pin(name string) (c collectionOf, ok bool, err error) {
	c = collectionOf{name: name, PinnedCollection: s.Pin(name)}
	c.Collection, err = c.PinnedCollection.Get()
	if err == nil && !c.Meta().Private {
		return c, true, nil
	}
	c.Release()
	if !errors.Is(err, ask.ErrFailed) || ask.OfPrivate(err) {
		err = nil
	}
	return c, false, err
}

// pinPublic takes the collections that all may see, at most as many as a list may name.
// One that cannot be read, or is not there any more, must not hide the others.
func (s shownCollections) pinPublic() (all []collectionOf) {
	for _, name := range s.Names() {
		if c, ok, _ := s.pin(name); ok {
			all = append(all, c)
		}
		if len(all) == endpoint.MaxList {
			break
		}
	}
	return all
}

// pinCollections takes the collections of a set. The error of one that is not there, or
// is private, lists the layers.
func (v *view) pinCollections(names []string) error {
	for _, name := range names {
		c, ok, err := v.all.pin(name)
		switch {
		case err != nil:
			return err
		case !ok:
			return v.unknownLayer()
		}
		v.collections = append(v.collections, c)
	}
	return nil
}

// divide returns the view with all but its live collections, and with these alone.
func (v *view) divide() (kept, live view) {
	kept, live = *v, *v
	kept.collections, live.collections = nil, nil
	for _, c := range v.collections {
		if c.Live != nil {
			live.collections = append(live.collections, c)
		} else {
			kept.collections = append(kept.collections, c)
		}
	}
	return kept, live
}

// kept is the layer set without collections that are not in the view.
func (set *layerSet) kept(v *view) *layerSet {
	part := *set
	part.canonical, part.collections = set.others, nil
	for i := range v.collections {
		name := v.collections[i].name
		part.collections = append(part.collections, name)
		if part.canonical != "" {
			part.canonical += ","
		}
		part.canonical += pointsPrefix + name
	}
	part.hash = web.HashStart.Bytes(part.canonical)
	return &part
}

// fromCollections is what the tiles of the view's collections depend on, 0 if there are
// none. Those of live ones may not be kept.
func (v *view) fromCollections() (id uint64, live bool) {
	if len(v.collections) == 0 {
		return 0, false
	}
	h := web.HashStart
	for i := range v.collections {
		live = live || v.collections[i].Live != nil
		h = h.Number(v.collections[i].ID)
	}
	return uint64(h) | 1, live
}

// appendCollections appends a vector layer for each collection of the view.
func appendCollections(ctx context.Context, dst []byte, v *view, t quadkey.Tile) ([]byte, error) {
	for i := range v.collections {
		c := &v.collections[i]
		var err error
		dst, err = appendLayer(dst, pointsPrefix+c.name, t, func(l *pointLayer) error {
			for f, err := range c.Tile(ctx, t) {
				if err != nil {
					return err
				}
				l.show(f)
			}
			return nil
		})
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// show writes a point with its scalar properties, or a cluster. A property whose name
// the layer uses itself is left out.
func (l *pointLayer) show(f *feature.Feature) {
	if f.Members > 0 {
		l.place(0, f.Lon, f.Lat)
		l.TagBool("cluster", true)
		l.TagInt("point_count", f.Members)
		l.End()
		return
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(f.ID))
	// Numbers of JavaScript are exact up to 53 bits.
	l.place(h.Sum64()>>11, f.Lon, f.Lat)
	l.TagString("id", f.ID)
	left := maxTags
	for name, value := range f.Properties.All() {
		switch name {
		case "id", "cluster", "point_count":
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
	n, ok := value.Number() // not what is too large for a tile
	if ok {
		l.TagDouble(key, n)
	}
	return ok
}

// shorten cuts a text to what a tile tells of it, between characters.
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

// appendTileGeoJSON appends what a tile shows of a collection as GeoJSON features joined
// by commas.
func (c *collectionOf) appendTileGeoJSON(ctx context.Context, dst []byte, t quadkey.Tile) ([]byte, error) {
	start := len(dst)
	w := feature.Writer{GeoJSON: true, Nested: true}
	for f, err := range c.Tile(ctx, t) {
		if err != nil {
			return dst, err
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		if f.Members > 0 {
			f.Properties = feature.Of(feature.Property{Name: "cluster", Value: feature.BooleanValue(true)}, feature.Property{Name: "point_count", Value: feature.IntegerValue(f.Members)})
		}
		if dst, err = w.Append(dst, f, ""); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// describe is the vector layer of a collection in TileJSON.
func (c *collectionOf) describe() vectorLayer {
	m := c.Meta()
	fields := map[string]string{"id": "String", "cluster": "Boolean", "point_count": "Number"}
	for _, f := range m.Schema {
		if _, own := fields[f.Name]; own {
			continue
		}
		switch f.Kind {
		case feature.Text, feature.Time:
			fields[f.Name] = "String"
		case feature.Number:
			fields[f.Name] = "Number"
		case feature.Boolean:
			fields[f.Name] = "Boolean"
		case feature.Any:
			fields[f.Name] = "Mixed"
		}
	}
	what := "Points"
	if m.Title != "" {
		what = m.Title
	}
	return vectorLayer{
		ID: pointsPrefix + c.name, collection: pointsPrefix + c.name, Fields: fields, MaxZoom: pointsZoom,
		Description: what + "; where there are many, clusters, of which point_count tells how many points they stand for",
	}
}

// bounds are those of the points. Those of a live collection change, so they are the world.
func (c *collectionOf) bounds() []float64 {
	if b := c.Meta().Bounds; c.Live == nil && b != [4]float64{} {
		return b[:]
	}
	return []float64{-180, -90, 180, 90}
}

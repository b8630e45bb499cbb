package tile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/internal/credit"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/theme"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/layertile"
)

// TileJSON is a TileJSON 3.0 document.
type TileJSON struct {
	_            struct{}      `doc:"A TileJSON 3.0 document."`
	TileJSON     string        `json:"tilejson" schema:"const=3.0.0"`
	Name         string        `json:"name"`
	Version      string        `json:"version" schema:"pattern=^\\d+\\.\\d+\\.\\d+$"`
	Scheme       string        `json:"scheme" schema:"const=xyz"`
	Attribution  string        `json:"attribution,omitempty" doc:"HTML."`
	Tiles        []string      `json:"tiles" schema:"minItems=1,format=uri-template"`
	VectorLayers []vectorLayer `json:"vector_layers,omitzero" schema:"required"` // nil for pictures
	Bounds       [4]float64    `json:"bounds" schema:"ref=BBox"`
	Center       [3]float64    `json:"center"`
	MinZoom      int           `json:"minzoom"`
	MaxZoom      int           `json:"maxzoom"`
	Encoding     string        `json:"encoding,omitempty" doc:"The format of the tiles where it is not MVT, as MapLibre asks for it." schema:"enum=mlt"`
}

// RasterTileJSON is a TileJSON of pictures.
type RasterTileJSON struct {
	_ struct{} `doc:"A TileJSON 3.0 document of pictures, which have no vector layers." schema:"without=vector_layers|encoding"`
	TileJSON
}

type vectorLayer struct {
	ID          string            `json:"id"`
	Fields      map[string]string `json:"fields" schema:"enum=String|Number|Boolean|Mixed"`
	Description string            `json:"description,omitempty"`
	MinZoom     int               `json:"minzoom"`
	MaxZoom     int               `json:"maxzoom"`
	// collection is the layer of the request that this layer is a part of. dimension is the
	// dimension of its geometry, or 0 for points. TileJSON contains neither of them.
	collection string
	dimension  int
}

// getTileJSON answers GET /tiles/{layers}.json and, of the tiles as pictures and as
// MapLibre Tiles, /tiles/{layers}.png.json and /tiles/{layers}.mlt.json. With pinned=true the tiles have addresses of their
// generations, see getPinnedTile.
func (s *Handlers) getTileJSON(c echo.Context, q *endpoint.Params) error {
	r := c.Request()
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	list, ok := strings.CutSuffix(values[0], ".json")
	if !ok {
		return endpoint.ErrNoRoute
	}
	list, drawn := strings.CutSuffix(list, ".png")
	list, columns := strings.CutSuffix(list, mltFile)
	if drawn && columns {
		return endpoint.ErrNoRoute
	}
	base, err := s.BaseURL(r)
	if err != nil {
		return err
	}
	pinned := pinnedParam.Of(q) || s.PinTiles && !pinnedParam.Given(q)
	picture := pictureFile(q)
	v := viewOf(q.View())
	defer v.release()
	v.naming.Lang, v.double = langOf(q, endpoint.Names), doubledBy(q, drawn, 0)
	if v.color = coloringOf(q, drawn); !drawn {
		v.fields = chosenFields(q)
	}
	if q.Err != nil {
		return q.Err
	}
	set, err := s.resolveLayers(r.Context(), v, list)
	if err != nil {
		return err
	}
	set = set.colored(v)
	if err := v.filter(q, set); err != nil {
		return err
	}
	v.spare(set, web.FormatMVT)
	h, from, live := s.describedBy(v, set, base)
	// Addresses with generations do not contain the generations of collections and of names.
	pinned = pinned && from == 0 && !v.named(set) && len(v.joined) == 0 && len(v.filters.joined) == 0
	a := web.Answer{Format: web.FormatJSON, CacheControl: s.CacheControl, Coding: web.AcceptedCoding(r), Base: base}
	if pinned {
		h = h.Bytes("pinned")
	}
	if drawn {
		h = h.Bytes(picture)
	}
	if columns {
		h = h.Bytes(mltFile)
	}
	if live {
		a.CacheControl = web.NoStore // the properties change
	} else {
		a.Tag = h.Number(uint64(a.Coding)).Tag()
	}
	if pinned {
		base += "/g/" + v.generations(set).String()
	}
	return s.SendJSON(c, a, func() (any, error) {
		if _, err := s.color(s.WithClientOf(r.Context(), c), v, set, v.color, theme.Themes[0], false); err != nil {
			return nil, err // as tiles would be refused
		}
		doc, err := describe(r.Context(), v, set, base)
		if err != nil {
			return nil, err
		}
		if drawn {
			// For pictures the layers cannot be selected individually.
			doc.Tiles[0] = strings.TrimSuffix(doc.Tiles[0], vectorFile) + picture
			doc.VectorLayers = nil
		}
		if columns {
			doc.Tiles[0] = strings.TrimSuffix(doc.Tiles[0], vectorFile) + mltFile
			doc.Encoding = mltEncoding
		}
		doc.Tiles[0] = with(doc.Tiles[0], "names", v.naming.Lang)
		if !drawn {
			doc.Tiles[0] = with(doc.Tiles[0], fieldsParam.Name, set.fieldsText())
		}
		if v.double {
			doc.Tiles[0] = with(doc.Tiles[0], "pixels", "512")
		}
		doc.Tiles[0] = withQuery(doc.Tiles[0], v.query())
		return doc, nil
	})
}

// query returns the parameters of a view for the colours and the filters of tiles.
func (v *view) query() string {
	return strings.TrimPrefix(withQuery(withQuery("", v.color.query()), v.filters.query), "?")
}

// with adds a parameter to an address, if it has a value.
func with(address, name, value string) string {
	if value == "" {
		return address
	}
	return withQuery(address, name+"="+url.QueryEscape(value))
}

// withQuery adds parameters to an address, if there are any.
func withQuery(address, query string) string {
	switch {
	case query == "":
		return address
	case strings.Contains(address, "?"):
		return address + "&" + query
	}
	return address + "?" + query
}

// describedBy returns a hash of everything except the form on which a document about the tiles of a
// set depends: base, and the generations. from is the identity of the collections among these. A
// document of live collections may not be cached, since their properties change.
func (s *Handlers) describedBy(v *view, set *layerSet, base string) (h web.Hash, from uint64, live bool) {
	h = s.ETagSeed.Bytes(base).Number(uint64(set.hash))
	ids, live := v.from(set, nil)
	for _, id := range ids[:1+v.singles] {
		if id != 0 {
			h = h.Number(id)
		}
	}
	from = ids[1+v.singles]
	joined, joinsLive := v.joinedFrom(v.joined, nil)
	joined, filtersLive := v.joinedFrom(v.filters.joins(), joined)
	live = live || joinsLive || filtersLive
	for _, id := range joined {
		h = h.Number(id)
	}
	if v.named(set) {
		h = h.Number(v.Names.ID)
	}
	return h.Number(from).Bytes(v.naming.Lang).Bytes(strconv.FormatBool(v.double)).Bytes(v.query()), from, live
}

// vectorFile is the extension in addresses of vector tiles.
const vectorFile = ".mvt"

// pictureFile returns the end of the addresses of pictures for the parameters scale and theme. The
// address contains a theme only if one is requested, so that caches share the tiles of the default
// theme.
func pictureFile(q *endpoint.Params) string {
	file := ".png"
	if scaleParam.Of(q) == "2" {
		file = "@2x.png"
	}
	if look := pictureThemeParam.Of(q); look != "" {
		file += "?theme=" + look
	}
	return file
}

// describe makes the document of a layer set.
func describe(ctx context.Context, v *view, set *layerSet, base string) (*TileJSON, error) {
	doc := &TileJSON{
		TileJSON:     "3.0.0",
		Name:         set.canonical,
		Scheme:       "xyz",
		Tiles:        []string{base + "/tiles/" + escapeLayers(set.canonical) + "/{z}/{x}/{y}" + vectorFile},
		VectorLayers: []vectorLayer{},
		MaxZoom:      dataZoom,
	}
	var extent quadkey.Extent
	var credits []string
	if len(set.selectors) > 0 {
		b, err := v.Boundaries.ReaderOf(set.types...)
		if err != nil {
			return nil, err
		}
		credits = catalogue.AppendCredits(credits, set.types, v.Boundaries.Manifests(set.types)...)
		for _, t := range b.Types() {
			if !slices.Contains(set.types, t.Name) {
				continue
			}
			for _, l := range set.regionLayers(t, v.joined) {
				if strings.HasSuffix(l.ID, "_label") && v.named(set) {
					l.Fields = maps.Clone(l.Fields)
					l.Fields[v.naming.Key()] = "String"
				}
				doc.VectorLayers = append(doc.VectorLayers, l)
			}
		}
		for _, j := range slices.Concat(v.joined, v.filters.joins()) {
			if c, err := v.TiledCollection(j.collection); err == nil {
				if text, _ := credit.HTMLAndText(c.Info().Attribution); text != "" && !slices.Contains(credits, text) {
					credits = append(credits, text)
				}
			}
		}
		if v.named(set) && v.Names.Manifest() != nil {
			credits = catalogue.AppendCredits(credits, nil, v.Names.Manifest())
		}
		if err := b.Extent(ctx, set.selectors, &extent); err != nil && !errors.Is(err, tiles.ErrNotFound) {
			return nil, err
		}
	}
	for _, p := range v.of(set) {
		if p.Err != nil {
			return nil, p.Err
		}
		about := p.Info()
		credits = catalogue.AppendLayerCredits(credits, p)
		extent.Add(p.Bounds())
		layer := set.describePoints(p.LayerInfo.Name, about, v.naming)
		doc.VectorLayers = append(doc.VectorLayers, layer)
		doc.MaxZoom = max(doc.MaxZoom, layer.MaxZoom)
	}
	// The version has the semantic form, and grows with every publication.
	g := v.generations(set)
	boundaries, places, others := g.number(ask.BoundariesName), g.number(ask.PlacesName), uint64(0)
	for i, name := range g.names {
		if name != ask.BoundariesName && name != ask.PlacesName {
			others += g.numbers[i]
		}
	}
	doc.Version = fmt.Sprintf("%d.%d.%d", boundaries, places, others)
	doc.Attribution = strings.Join(credits, " | ")
	lon, lat, zoom := extent.CenterAndZoom(1, dataZoom)
	round := func(v float64) float64 { return math.Round(v*1e5) / 1e5 }
	doc.Bounds, doc.Center = extent.Bounds(), [3]float64{round(lon), round(lat), zoom}
	return doc, nil
}

// regionLayers returns the vector layers of a region type: its polygons, borders and labels, or
// only its lines.
func (set *layerSet) regionLayers(t tiles.TypeMeta, joined []joinedColumns) []vectorLayer {
	fields := t.FieldsWith(set.columns[t.Name])
	layer := func(suffix string, dimension int, description string, fields map[string]string) vectorLayer {
		return vectorLayer{
			ID:          t.Name + suffix,
			collection:  t.Name,
			dimension:   dimension,
			Fields:      fields,
			Description: description,
			MinZoom:     t.MinZoom,
			MaxZoom:     dataZoom,
		}
	}
	what := "Regions of type " + t.Name
	if from := t.MergedBelow(); from > 0 {
		what += "; below zoom " + strconv.Itoa(from) +
			" small ones are merged: a polygon with merged stands for so many, and is none of them if its id begins with ~"
	}
	for _, j := range joined {
		for _, f := range j.fields {
			fields[j.collection+"."+f.Name] = tiles.FieldTypes[f.Kind]
		}
	}
	if t.IsLines {
		return []vectorLayer{layer("_line", 1, "Lines of type "+t.Name, fields)}
	}
	return []vectorLayer{
		layer("", 2, what, fields),
		layer("_line", 1, "Borders between regions of type "+t.Name, map[string]string{"right": "String", "left": "String"}),
		layer("_label", 0, "A point inside each region of type "+t.Name+"; rank 0 is the first to be named", t.LabelFields()),
	}
}

// escapeLayers escapes a canonical list for a URL. Types and ids of ingest are URL-safe, so it
// changes only data sets from other programs.
func escapeLayers(list string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(list) {
		switch c := list[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-_.~,:", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

// describePoints returns the TileJSON vector layer of a layer of points.
func (set *layerSet) describePoints(name string, about *feature.Info, names layertile.Names) vectorLayer {
	d := layertile.Describe(about, layertile.Options{Fields: set.fields, Names: names})
	return vectorLayer{ID: name, collection: name, Fields: d.Fields, Description: d.Text, MaxZoom: d.MaxZoom}
}

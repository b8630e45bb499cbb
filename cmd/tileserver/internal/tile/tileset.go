package tile

import (
	"context"
	"net/url"
	"slices"
	"strconv"

	"quadrille/cmd/tileserver/internal/ogcapi"
	"quadrille/quadkey"
)

// These are link relations of OGC API – Tiles.
const (
	relTilingScheme = "http://www.opengis.net/def/rel/ogc/1.0/tiling-scheme"
	relVectorTiles  = "http://www.opengis.net/def/rel/ogc/1.0/tilesets-vector"
	relMapTiles     = "http://www.opengis.net/def/rel/ogc/1.0/tilesets-map"
	relGeodata      = "http://www.opengis.net/def/rel/ogc/1.0/geodata"
	relDataset      = "http://www.opengis.net/def/rel/ogc/1.0/dataset"
)

// Tileset is the metadata of a tileset by OGC 17-083r4.
type Tileset struct {
	_                struct{} `doc:"Metadata of a tileset, of OGC 17-083r4."`
	Title            string   `json:"title"`
	DataType         string   `json:"dataType" schema:"enum=vector|map"`
	CRS              string   `json:"crs" schema:"format=uri"`
	TileMatrixSetURI string   `json:"tileMatrixSetURI" schema:"format=uri"`
	// TileMatrixSetID is not part of this standard. But lists of tilesets have it in the drafts,
	// and clients and the OGC's own tests read it.
	TileMatrixSetID     string         `json:"tileMatrixSetId" schema:"enum=WebMercatorQuad|WorldCRS84Quad"`
	Attribution         string         `json:"attribution,omitempty" doc:"HTML."`
	Version             string         `json:"version,omitempty"`
	BoundingBox         boundingBox    `json:"boundingBox"`
	CenterPoint         tilePoint      `json:"centerPoint"`
	Layers              []tilesetLayer `json:"layers,omitempty"`
	TileMatrixSetLimits []matrixLimits `json:"tileMatrixSetLimits"`
	Links               []ogcapi.Link  `json:"links"`
}

type tilePoint struct {
	Coordinates [2]float64 `json:"coordinates"`
	CRS         string     `json:"crs" schema:"format=uri"`
	TileMatrix  string     `json:"tileMatrix"`
}

// tilesetLayer is a layer of the vector tiles of a tileset.
type tilesetLayer struct {
	ID                string           `json:"id"`
	Description       string           `json:"description,omitempty"`
	DataType          string           `json:"dataType" schema:"const=vector"`
	GeometryDimension int              `json:"geometryDimension" schema:"min=0,max=2"`
	MinTileMatrix     string           `json:"minTileMatrix"`
	MaxTileMatrix     string           `json:"maxTileMatrix"`
	PropertiesSchema  propertiesSchema `json:"propertiesSchema"`
	Links             []ogcapi.Link    `json:"links"`
}

type propertiesSchema struct {
	Type       string                  `json:"type" schema:"const=object"`
	Properties map[string]propertyType `json:"properties"`
}

// propertyType is the type of a property. It has no type if the values have several types.
type propertyType struct {
	Type string `json:"type,omitempty" schema:"enum=string|number|boolean"`
}

// jsonTypes maps the types of TileJSON to those of JSON Schema.
var jsonTypes = map[string]string{"String": "string", "Number": "number", "Boolean": "boolean"}

// newTileset returns the description of the tiles of a collection or of the whole data in a tile matrix
// set; the set has their layers.
func newTileset(ctx context.Context, v *view, set *layerSet, m *TileMatrixSet, k *tilesetKind, of *tiled, base string) (*Tileset, error) {
	doc, err := describe(ctx, v, set, base)
	if err != nil {
		return nil, err
	}
	title := "All layers"
	if of.layers != allLayers {
		title = of.layers
	}
	t := &Tileset{
		Title:            title + ": " + k.title,
		DataType:         k.dataType,
		CRS:              m.CRS,
		TileMatrixSetURI: m.URI,
		TileMatrixSetID:  m.ID,
		Attribution:      doc.Attribution, Version: doc.Version,
		BoundingBox:         boundingBox{LowerLeft: [2]float64(doc.Bounds[:2]), UpperRight: [2]float64(doc.Bounds[2:]), CRS: crs84},
		CenterPoint:         tilePoint{Coordinates: [2]float64(doc.Center[:2]), CRS: crs84, TileMatrix: strconv.Itoa(m.at(int(doc.Center[2])))},
		TileMatrixSetLimits: m.limitsTo(set.deepest(k == mapTiles)),
		Links:               k.links(of, m, base, doc),
	}
	if box := &t.BoundingBox; m.deeper > 0 { // the poles belong to it
		if box.LowerLeft[1] <= -quadkey.MaxLatitude {
			box.LowerLeft[1] = -90
		}
		if box.UpperRight[1] >= quadkey.MaxLatitude {
			box.UpperRight[1] = 90
		}
	}
	if k == mapTiles {
		return t, nil // a picture has no layers to choose from
	}
	for i := range doc.VectorLayers {
		l := &doc.VectorLayers[i]
		properties := map[string]propertyType{}
		for name, typ := range l.Fields {
			properties[name] = propertyType{Type: jsonTypes[typ]}
		}
		t.Layers = append(t.Layers, tilesetLayer{
			ID: l.ID, Description: l.Description, DataType: k.dataType, GeometryDimension: l.dimension,
			MinTileMatrix: strconv.Itoa(m.at(l.MinZoom)), MaxTileMatrix: strconv.Itoa(m.at(l.MaxZoom)),
			PropertiesSchema: propertiesSchema{Type: "object", Properties: properties},
			Links: []ogcapi.Link{{
				Href:  ogcapi.CollectionURL(base, l.collection) + "?f=json",
				Rel:   relGeodata,
				Type:  ogcapi.TypeJSON,
				Title: l.collection,
			}},
		})
	}
	return t, nil
}

// tilesetPage has the data for the HTML page of a tileset.
type tilesetPage struct {
	*Tileset
	Deepest       string
	Picture       string
	Items, Others []ogcapi.Link
}

func (t *Tileset) page(of *tiled, base string) *tilesetPage {
	p := &tilesetPage{
		Tileset: t, Deepest: t.TileMatrixSetLimits[len(t.TileMatrixSetLimits)-1].TileMatrix,
		Picture: of.address(base, mapTiles) + "/" + t.TileMatrixSetID + "/0/0/0" + of.ask("png"),
	}
	for _, l := range t.Links {
		switch {
		case l.Templated:
			p.Items = append(p.Items, l)
		case l.Type != ogcapi.TypeHTML:
			p.Others = append(p.Others, l)
		}
	}
	return p
}

// Page returns the address of the HTML page of a tileset.
func (t *Tileset) Page() string {
	i := slices.IndexFunc(t.Links, func(l ogcapi.Link) bool { return l.Type == ogcapi.TypeHTML })
	return t.Links[i].Href
}

// links returns the links of a tileset.
func (k *tilesetKind) links(of *tiled, m *TileMatrixSet, base string, doc *TileJSON) []ogcapi.Link {
	here := of.address(base, k) + "/" + m.ID
	all := []ogcapi.Link{
		{Href: here + of.ask("json"), Rel: "self", Type: ogcapi.TypeJSON, Title: "This tileset"},
		{Href: here + of.ask("html"), Rel: "alternate", Type: ogcapi.TypeHTML, Title: "This tileset as a page"},
		{Href: base + "/ogc/tileMatrixSets/" + m.ID + "?f=json", Rel: relTilingScheme, Type: ogcapi.TypeJSON, Title: m.ID},
	}
	for _, f := range k.formatsIn(m) {
		if k == vectorTiles && f.Format.IsPicture() {
			continue // they are the map tiles
		}
		all = append(all, ogcapi.Link{
			Href:      here + "/{tileMatrix}/{tileRow}/{tileCol}" + of.ask(f.Name),
			Rel:       "item",
			Type:      f.Type,
			Title:     "Tiles as " + f.Type,
			Templated: true,
		})
	}
	if of.collection != "" {
		all = append(all, ogcapi.Link{
			Href:  ogcapi.CollectionURL(base, of.collection) + "?f=json",
			Rel:   relGeodata,
			Type:  ogcapi.TypeJSON,
			Title: of.collection,
		})
	} else {
		all = append(all, ogcapi.Link{Href: base + "/ogc?f=json", Rel: relDataset, Type: ogcapi.TypeJSON, Title: "The data"})
	}
	if m.deeper > 0 {
		return all // TileJSON describes those of Web Mercator
	}
	tilejson := base + "/tiles/" + escapeLayers(doc.Name)
	if k == mapTiles {
		tilejson += ".png"
	}
	tilejson = withQuery(with(tilejson+".json", "names", of.names), of.filter)
	return append(all, ogcapi.Link{Href: tilejson, Rel: "describedby", Type: ogcapi.TypeJSON, Title: "TileJSON of the same tiles"})
}

// tilesetKind is a kind of tilesets. The whole data and each collection have one tileset of each kind
// for each tile matrix set.
type tilesetKind struct {
	dataType string
	path     string // below the data or the collection
	rel      string
	title    string
	formats  []ogcapi.Format // of its tiles; the first is the default
	// inDegrees are the formats of tiles in degrees.
	inDegrees []ogcapi.Format
}

var (
	vectorTiles = &tilesetKind{
		dataType:  "vector",
		path:      "tiles",
		rel:       relVectorTiles,
		title:     "vector tiles",
		formats:   []ogcapi.Format{mvtFormat, geojsonFormat, pngFormat, mltFormat},
		inDegrees: []ogcapi.Format{mvtFormat, pngFormat, mltFormat},
	}
	mapTiles = &tilesetKind{
		dataType: "map", path: "map/tiles", rel: relMapTiles, title: "map tiles",
		formats: []ogcapi.Format{pngFormat}, inDegrees: []ogcapi.Format{pngFormat},
	}
)

// tiled is the content of a tileset: a collection, the whole data, or several collections.
type tiled struct {
	// collection is "" for the whole data.
	collection string
	// selection is the parameter collections, or "" for all.
	selection string
	layers    string // as sendTile takes them
	names     string // the language of names, ""
	filter    string // the parameters that filter and colour, ""
	// rest has the values in the path after those of the tileset.
	rest []string
}

// address returns the address of the tilesets, without parameters.
func (of *tiled) address(base string, k *tilesetKind) string {
	if of.collection != "" {
		return ogcapi.CollectionURL(base, of.collection) + "/" + k.path
	}
	return base + "/ogc/" + k.path
}

// ask returns the query part of the addresses for a form of the tiled layers.
func (of *tiled) ask(form string) string {
	q := "?f=" + form
	if of.selection != "" {
		q += "&collections=" + url.QueryEscape(of.selection)
	}
	return withQuery(with(q, "names", of.names), of.filter)
}

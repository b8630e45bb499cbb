package basemap

import (
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/archive"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
)

// TileJSON is a TileJSON 3.0 document.
type TileJSON struct {
	_            struct{}      `name:"BaseMapTileJSON" doc:"A TileJSON 3.0 document of somebody's archive. Its texts are from there: they are of bounded length, and valid UTF-8 without control characters."`
	TileJSON     string        `json:"tilejson" schema:"const=3.0.0"`
	Name         string        `json:"name"`
	Description  string        `json:"description,omitempty"`
	Scheme       string        `json:"scheme" schema:"const=xyz"`
	Attribution  string        `json:"attribution,omitempty" doc:"HTML that has links and nothing else."`
	Tiles        []string      `json:"tiles" schema:"minItems=1,format=uri-template"`
	VectorLayers []vectorLayer `json:"vector_layers,omitzero"` // nil for pictures
	Bounds       [4]float64    `json:"bounds" schema:"ref=BBox"`
	Center       [3]float64    `json:"center"`
	MinZoom      uint8         `json:"minzoom"`
	MaxZoom      uint8         `json:"maxzoom"`
	TileSize     int           `json:"tileSize,omitempty" doc:"Pixels a side, of pictures."` // beyond the standard
	Encoding     string        `json:"encoding,omitempty" doc:"The format of the tiles where it is not MVT, as MapLibre asks for it." schema:"enum=mlt"`
}

type vectorLayer struct {
	ID          string            `json:"id"`
	Fields      map[string]string `json:"fields"`
	Description string            `json:"description,omitempty"`
	MinZoom     uint8             `json:"minzoom"`
	MaxZoom     uint8             `json:"maxzoom"`
}

// getTileJSON answers GET /basemap/{name}.json.
func (s *Handlers) getTileJSON(c echo.Context, _ *endpoint.Params) error {
	r := c.Request()
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	name, ok := strings.CutSuffix(values[0], ".json")
	if !ok {
		return endpoint.ErrNoRoute
	}
	base, err := s.BaseURL(r)
	if err != nil {
		return err
	}
	live := s.Maps.Map(name)
	if live == nil {
		return s.unknown()
	}
	a := live.Current()
	answer := web.Answer{Format: web.FormatJSON, CacheControl: s.CacheControl, Coding: web.AcceptedCoding(r), Base: base}
	answer.Tag = s.ETagSeed.Bytes(base).Bytes(name).Number(a.ID).Number(uint64(answer.Coding)).Tag()
	return s.SendJSON(c, answer, func() (any, error) { return describe(name, a, base), nil })
}

// describe makes the TileJSON of a base map.
func describe(name string, a *archive.Archive, base string) *TileJSON {
	doc := &TileJSON{
		TileJSON: "3.0.0", Name: a.Title, Description: a.Description, Scheme: "xyz", Attribution: a.AttributionHTML,
		Tiles:  []string{base + "/basemap/" + name + "/{z}/{x}/{y}." + forms[a.Format].extensions[0]},
		Bounds: a.Bounds, Center: a.Center, MinZoom: a.MinZoom, MaxZoom: a.MaxZoom, TileSize: a.TileSize,
	}
	if doc.Name == "" {
		doc.Name = name
	}
	if a.Format.IsPicture() {
		return doc
	}
	if a.Format == archive.MLT {
		doc.Encoding = a.Format.String()
	}
	doc.VectorLayers = []vectorLayer{}
	for _, l := range a.Layers {
		doc.VectorLayers = append(doc.VectorLayers, vectorLayer(l))
	}
	return doc
}

package basemap

import (
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/archive"
	"quadrille/cmd/tileserver/internal/web"
)

// tileJSON is a TileJSON 3.0 document.
type tileJSON struct {
	TileJSON     string        `json:"tilejson"`
	Name         string        `json:"name"`
	Description  string        `json:"description,omitempty"`
	Scheme       string        `json:"scheme"`
	Attribution  string        `json:"attribution,omitempty"`
	Tiles        []string      `json:"tiles"`
	VectorLayers []vectorLayer `json:"vector_layers,omitzero"` // nil of pictures
	Bounds       [4]float64    `json:"bounds"`
	Center       [3]float64    `json:"center"`
	MinZoom      uint8         `json:"minzoom"`
	MaxZoom      uint8         `json:"maxzoom"`
	// TileSize is what clients ask for that read more than the standard has.
	TileSize int `json:"tileSize,omitempty"`
	// Encoding is what MapLibre asks of vector tiles that are not MVT.
	Encoding string `json:"encoding,omitempty"`
}

type vectorLayer struct {
	ID          string            `json:"id"`
	Fields      map[string]string `json:"fields"`
	Description string            `json:"description,omitempty"`
	MinZoom     uint8             `json:"minzoom"`
	MaxZoom     uint8             `json:"maxzoom"`
}

// getTileJSON answers GET /basemap/{name}.json.
func (s *Room) getTileJSON(c echo.Context) error {
	r := c.Request()
	values, err := web.PathParams(c)
	if err != nil {
		return err
	}
	name, ok := strings.CutSuffix(values[0], ".json")
	if !ok {
		return web.ErrNoRoute
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
	answer := web.Answer{Form: web.FormJSON, Cache: s.CacheControl, Coding: web.Accepted(r), Base: base}
	answer.Tag = s.TagStart.Bytes(base).Bytes(name).Number(a.ID).Number(uint64(answer.Coding)).Tag()
	return s.SendJSON(c, answer, func() (any, error) { return describe(name, a, base), nil })
}

// describe makes the document of a base map.
func describe(name string, a *archive.Archive, base string) *tileJSON {
	doc := &tileJSON{
		TileJSON: "3.0.0", Name: a.Title, Description: a.Description, Scheme: "xyz", Attribution: a.CreditHTML,
		Tiles:  []string{base + "/basemap/" + name + "/{z}/{x}/{y}." + forms[a.Format].extensions[0]},
		Bounds: a.Bounds, Center: a.Center, MinZoom: a.MinZoom, MaxZoom: a.MaxZoom, TileSize: a.TileSize,
	}
	if doc.Name == "" {
		doc.Name = name
	}
	if a.Format.Picture() {
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

package archive

import (
	"encoding/json"
	"fmt"

	"quadrille/cmd/internal/credit"
	"quadrille/quadkey"
)

// Metadata is the archive's own description after cleaning: text is valid UTF-8 without control
// characters, and of bounded length.
type Metadata struct {
	Title       string
	Description string
	// Attribution is the attribution as text, with the addresses of its links after their texts.
	Attribution string
	// AttributionHTML is the attribution as HTML in which links are the only markup.
	AttributionHTML string
	Layers          []Layer // of vector tiles
	Overlay         bool    // it is meant to lie over another map
}

// Layer is a layer of vector tiles.
type Layer struct {
	ID               string
	Fields           map[string]string
	Description      string
	MinZoom, MaxZoom uint8
}

// These are bounds of metadata. Those of texts are in bytes.
const (
	maxTitle  = 200
	maxText   = 2000
	maxLayers = 200
	maxFields = 200 // of a layer
)

// described is the JSON object of the metadata in PMTiles, and of the row "json" in MBTiles.
// Members of a wrong type are omitted.
type described map[string]json.RawMessage

func describe(b []byte) (described, error) {
	d := described{}
	if len(b) == 0 {
		return d, nil
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, fmt.Errorf("%w: its metadata are no JSON object: %w", ErrDamaged, err)
	}
	return d, nil
}

func (d described) text(name string) (s string) {
	if json.Unmarshal(d[name], &s) != nil {
		return ""
	}
	return s
}

// set fills the metadata from text, which returns a text by its name.
func (m *Metadata) set(text func(name string) string) {
	m.Title, m.Description = credit.DisplayLine(text("name"), maxTitle), credit.DisplayLine(text("description"), maxText)
	m.AttributionHTML, m.Attribution = credit.ParseHTML(text("attribution"))
	m.Overlay = text("type") == "overlay"
}

// layers reads vector_layers. deepest is the largest zoom of a layer that does not state its own.
func (d described) layers(deepest uint8) (all []Layer) {
	var list []struct {
		ID          any `json:"id"`
		Description any `json:"description"`
		Fields      any `json:"fields"`
		MinZoom     any `json:"minzoom"`
		MaxZoom     any `json:"maxzoom"`
	}
	if json.Unmarshal(d["vector_layers"], &list) != nil {
		return nil
	}
	zoom := func(v any, otherwise uint8) uint8 {
		if n, ok := v.(float64); ok && n >= 0 && n <= float64(deepest) {
			return uint8(n)
		}
		return otherwise
	}
	for _, l := range list[:min(len(list), maxLayers)] {
		id, _ := l.ID.(string)
		// An id is the layer's name in the tiles, so it is either used unchanged or omitted.
		if id == "" || credit.DisplayLine(id, maxTitle) != id {
			continue
		}
		layer := Layer{ID: id, Fields: map[string]string{}, MinZoom: zoom(l.MinZoom, 0), MaxZoom: zoom(l.MaxZoom, deepest)}
		about, _ := l.Description.(string)
		layer.Description = credit.DisplayLine(about, maxText)
		fields, _ := l.Fields.(map[string]any)
		for name, kind := range fields {
			k, _ := kind.(string)
			if len(layer.Fields) < maxFields && credit.DisplayLine(name, maxTitle) == name {
				layer.Fields[name] = credit.DisplayLine(k, maxTitle)
			}
		}
		all = append(all, layer)
	}
	return all
}

// numbers reads a list of n numbers. It returns nil for anything else.
func numbers(s string, n int) []float64 {
	list := make([]float64, n)
	if !quadkey.ParseNumbers(s, list, quadkey.ParseNumber) {
		return nil
	}
	return list
}

// place sets the bounds and center that the archive gives. If they are impossible, it sets the
// whole world.
func (i *Info) place(bounds []float64, center []float64) {
	i.Bounds = [4]float64{-180, -quadkey.MaxLatitude, 180, quadkey.MaxLatitude}
	if len(bounds) == 4 && bounds[0] < bounds[2] && bounds[1] < bounds[3] {
		b := [4]float64{max(bounds[0], -180), max(bounds[1], -quadkey.MaxLatitude), min(bounds[2], 180), min(bounds[3], quadkey.MaxLatitude)}
		if b[0] < b[2] && b[1] < b[3] {
			i.Bounds = b
		}
	}
	b := i.Bounds
	i.Center = [3]float64{(b[0] + b[2]) / 2, (b[1] + b[3]) / 2, float64(i.MinZoom)}
	if len(center) == 3 && center[0] >= b[0] && center[0] <= b[2] && center[1] >= b[1] && center[1] <= b[3] && center[2] >= 0 &&
		center[2] <= float64(i.MaxZoom) {
		i.Center = [3]float64(center)
	}
}

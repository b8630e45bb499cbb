package listing

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/quadkey"
)

// Geometries end where an answer is large. The other groups keep their numbers, and are counted.
func TestOutlinesAreBounded(t *testing.T) {
	m := &layertest.Memory{}
	for i := range maxGroups + 10 {
		m.List = append(m.List, feature.Feature{
			ID: fmt.Sprint(i), Position: quadkey.Position{Lat: float64(i/500) * 0.01, Lon: float64(i%500) * 0.01},
		})
	}
	tally := Tally{
		Tally: feature.Tally{By: []feature.Grouping{{Place: feature.TilePlacer(quadkey.MaxZoom)}}}, columns: []string{"tile"}, limit: maxGroups,
		form: web.FormatGeoJSON, of: []Counted{{Layer: &ask.Layer{Layer: m}}},
	}
	step := func(context.Context) error { return nil }
	text, err := tally.Append(t.Context(), nil, feature.Query{Step: step})
	if err != nil || len(text) > maxOutlines+maxGroups*150 {
		t.Fatal(len(text), err)
	}
	var got struct {
		Features []struct {
			ID         string
			Geometry   *json.RawMessage
			Properties struct{ Tile string }
		}
		Others          struct{ Groups int }
		WithoutGeometry int `json:"without_geometry"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	without := 0
	for _, f := range got.Features {
		if f.Geometry == nil {
			without++
		}
		if f.Properties.Tile == "" || (f.Geometry != nil) != (f.ID != "") {
			t.Fatalf("%+v", f)
		}
	}
	if len(got.Features) != maxGroups || got.Others.Groups != 10 || without == 0 || without != got.WithoutGeometry {
		t.Errorf("%d features, %d others, %d without a geometry of %d", len(got.Features), got.Others.Groups, without, got.WithoutGeometry)
	}
}

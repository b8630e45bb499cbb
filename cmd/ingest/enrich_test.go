package main

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"quadrille/ask"
	asked "quadrille/ask/enrich"
	"quadrille/cmd/internal/testfile"
	"quadrille/quadkey"
)

// All rows of a run see the points of one moment, however late they are asked for.
func TestOneMoment(t *testing.T) {
	expires := time.Now().Add(time.Hour)
	data := filepath.Join(t.TempDir(), "data")
	in := testfile.WriteTemp(t, "in.geojson", fmt.Sprintf(`{"type":"Feature","id":"a","expires":%q,"properties":{"name":"A"},
		"geometry":{"type":"Point","coordinates":[8,47]}}`, expires.Format(time.RFC3339)))
	if err := run(t.Context(), []string{"points", "cars", in, "--data", data}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	for began, want := range map[time.Time]string{expires.Add(-time.Minute): "A", expires.Add(time.Minute): ""} {
		catalog, err := openCatalog(data, began)
		if err != nil {
			t.Fatal(err)
		}
		s := &session{ctx: t.Context(), began: began, catalog: catalog}
		v, closeAll, err := s.openView()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = closeAll() }()
		source, err := asked.Nearest(v, ask.PointsPrefix+"cars", "name")
		if err != nil {
			t.Fatal(err)
		}
		plan, err := asked.New(source)
		if err != nil {
			t.Fatal(err)
		}
		cells, err := plan.Filler().Fill(t.Context(), &asked.Chunk{Points: []quadkey.Position{{Lat: 47, Lon: 8}}})
		if err != nil || string(cells[0].At(0)) != want {
			t.Errorf("%s is nearest, want %q; %v", cells[0].At(0), want, err)
		}
		if err := closeAll(); err != nil {
			t.Error(err)
		}
		if err := closeAll(); err != nil {
			t.Error("again", err)
		}
	}
}

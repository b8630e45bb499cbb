package endtoend

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/quadkey"
)

// The tiles of an exported archive are those of the server, byte for byte: regions, then points
// with their clusters. The server itself reads the archives.
func TestArchiveOfPoints(t *testing.T) {
	rnd, dir := rand.New(rand.NewPCG(1, 2)), t.TempDir()
	data := filepath.Join(dir, "data")
	var shops strings.Builder
	shops.WriteString("id,name,kind,price,lat,lon\n")
	for i := range 3000 {
		lat, lon := 47+rnd.NormFloat64()/5, 8+rnd.NormFloat64()/5
		if i%4 == 0 {
			lat, lon = 180*rnd.Float64()-90, 360*rnd.Float64()-180
		}
		fmt.Fprintf(&shops, "%d,n%d,k%d,%d,%.6f,%.6f\n", i, i, i%5, i, lat, lon)
	}
	shops.WriteString("edge,e,k,1,47,180\nold,o,k,1,47,-180\nnorth,n,k,1,90,0\nsouth,s,k,1,-90,179.99\n")
	ward := `{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"id":"a","name":"A","people":7},
		"geometry":{"type":"Polygon","coordinates":[[[7,46],[20,46],[20,48],[7,48],[7,46]]]}}]}`
	mustIngest(t, data, "boundaries", "--layer", "ward="+writeFile(t, filepath.Join(dir, "ward.geojson"), ward))
	mustIngest(t, data, "points", "shops", writeFile(t, filepath.Join(dir, "shops.csv"), shops.String()))
	archives := []struct{ file, layers, fields string }{
		{"both.pmtiles", "ward,points:shops", ""},
		{"fields.mbtiles", "ward:a,points:shops", "people,price"},
		{"alone.pmtiles", "points:shops", ""},
	}
	var flags []string
	deepest := map[string]string{"alone.pmtiles": "15"}
	for _, a := range archives {
		path, zoom := filepath.Join(dir, a.file), deepest[a.file]
		if zoom == "" {
			zoom = "9"
		}
		args := []string{"export", a.layers, path, "--max-zoom", zoom}
		if a.fields != "" {
			args = append(args, "--fields", a.fields)
		}
		mustIngest(t, data, args...)
		flags = append(flags, "--basemap", path)
	}
	s := serve(t, data, flags...)
	for _, a := range archives {
		name, _, _ := strings.Cut(a.file, ".")
		shown := 0
		for i := range 600 {
			lat, lon := 47+rnd.NormFloat64()/5, 8+rnd.NormFloat64()/5
			if i%3 == 0 {
				lat, lon = 170*rnd.Float64()-85, 360*rnd.Float64()-180
			}
			deep := 10
			if deepest[a.file] != "" {
				deep = 16
			}
			at, err := quadkey.TileAt(lon, lat, uint8(rnd.IntN(deep)))
			if err != nil {
				t.Fatal(err)
			}
			tile := fmt.Sprintf("/%d/%d/%d.mvt", at.Z, at.X, at.Y)
			query := ""
			if a.fields != "" {
				query = "?fields=" + a.fields
			}
			_, want, _ := get(t, s.URL+"/tiles/"+a.layers+tile+query)
			if _, got, _ := get(t, s.URL+"/basemap/"+name+tile); got != want {
				t.Fatalf("%s %s: %d bytes, want %d", a.file, tile, len(got), len(want))
			}
			if want != "" {
				shown++
			}
		}
		if shown < 100 {
			t.Errorf("%s: only %d tiles show something", a.file, shown)
		}
	}
	_, about, _ := get(t, s.URL+"/basemap/fields.json")
	for _, want := range []string{`"points:shops"`, `"price":"Number"`, `"people":"Number"`, `"cluster_id":"String"`} {
		if !strings.Contains(about, want) || strings.Contains(about, `"kind"`) {
			t.Errorf("%s is not in %s, or kind is", want, about)
		}
	}
	for args, want := range map[string]string{
		"points:shops,points:taxis x.pmtiles":                 "with the server alone",
		"ward,points:shops x.pmtiles --max-zoom 14":           "0 to 13",
		"points:shops x.pmtiles --fields nothing":             "choose among cluster",
		"points:shops x.pmtiles --fields prise":               `did you mean "price"?`,
		"points:shops x.pmtiles --generation 1":               "regions alone",
		"points:shops x.parquet --fields price":               "--fields is for tiles",
		"ward x.mbtiles --fields " + strings.Repeat("a,", 21): "too many",
	} {
		cmd, stderr := ingest(t, data, append([]string{"export"}, strings.Fields(args)...)...)
		cmd.Dir = dir
		if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: %v, %s; want %q", args, err, stderr, want)
		}
	}
}

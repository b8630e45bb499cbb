package clienttest

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"image/color"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/cmd/internal/programs"
	"quadrille/cmd/tileserver/internal/archive/archivetest"
	"quadrille/quadkey"
)

// The server serves archives that third-party programs made. Each tile is compared with the tile
// from a third-party reader. `make check-clients` installs the programs.
func TestForeignArchives(t *testing.T) {
	j := newArchiveJudge(t)
	dir := t.TempDir()
	j.run("python3", "testdata/clients/archives.py", "write", dir)
	made := []string{"vector.pmtiles", "pictures.pmtiles"}
	shapes, err := filepath.Abs("testdata/browser/countries.geojson")
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	if j.has("ogr2ogr") {
		j.run("ogr2ogr", "-f", "MBTILES", in("gdal.mbtiles"), shapes, "-dsco", "MAXZOOM=6")
		j.run("gdal_rasterize", "-burn", "200", "-burn", "120", "-burn", "40", "-ot", "Byte", "-te", "-180", "-85", "180", "85",
			"-ts", "2048", "1024", shapes, in("raster.tif"))
		made = append(made, "gdal.mbtiles")
		for _, format := range []string{"PNG", "JPEG", "WEBP"} {
			name := "gdal-" + strings.ToLower(format) + ".mbtiles"
			j.run("gdal_translate", "-of", "MBTILES", "-co", "TILE_FORMAT="+format, in("raster.tif"), in(name))
			j.run("gdaladdo", in(name), "2", "4", "8")
			made = append(made, name)
		}
		if formats := j.run("ogrinfo", "--formats"); strings.Contains(formats, "PMTiles -vector- (rw") {
			j.run("ogr2ogr", "-f", "PMTiles", in("gdal-pm.pmtiles"), shapes, "-dsco", "MAXZOOM=6")
			made = append(made, "gdal-pm.pmtiles")
		} else {
			t.Log("skipped: PMTiles of GDAL, which has that format from version 3.8 on")
		}
	}
	if j.has("tippecanoe") {
		for _, name := range []string{"tippecanoe.pmtiles", "tippecanoe-2.mbtiles"} {
			j.run("tippecanoe", "-q", "-z7", "-o", in(name), "-l", "country", shapes)
			made = append(made, name)
		}
		j.run("tippecanoe", "-q", "-z5", "-pC", "-o", in("plain.mbtiles"), "-l", "country", shapes)
		made = append(made, "plain.mbtiles")
	}
	if j.has("pmtiles") {
		for _, from := range made[2:] {
			if name, ok := strings.CutSuffix(from, ".mbtiles"); ok {
				j.run("pmtiles", "convert", in(from), in("converted-"+name+".pmtiles"))
				made = append(made, "converted-"+name+".pmtiles")
			}
		}
	}
	var args []string
	for _, name := range made {
		args = append(args, "--basemap", in(name))
	}
	site := programs.Serve(t, append(args, "--data", t.TempDir())...).URL
	for _, name := range made {
		t.Run(name, func(t *testing.T) { j.compare(t, site, in(name)) })
	}
}

// Third-party readers accept our own archives, and the server sends their tiles unchanged.
func TestOwnArchives(t *testing.T) {
	j := newArchiveJudge(t)
	data, dir := smallData(t), t.TempDir()
	ingest := programs.Ingester(t)
	var args []string
	for _, name := range []string{"world.pmtiles", "world-2.mbtiles"} {
		path := filepath.Join(dir, name)
		ingest("--data", data, "export", "--max-zoom", "8", "country,state", path)
		args = append(args, "--basemap", path)
	}
	if j.has("pmtiles") {
		if out := j.run("pmtiles", "verify", filepath.Join(dir, "world.pmtiles")); strings.Contains(strings.ToLower(out),
			"invalid") || strings.Contains(strings.ToLower(out), "fail") {
			t.Errorf("pmtiles verify: %s", out)
		}
	}
	site := programs.Serve(t, append(args, "--data", data)...).URL
	for _, name := range []string{"world.pmtiles", "world-2.mbtiles"} {
		t.Run(name, func(t *testing.T) { j.compare(t, site, filepath.Join(dir, name)) })
	}
}

// archiveJudge runs the third-party programs.
type archiveJudge struct {
	t   *testing.T
	dir string // of Python's packages
}

func newArchiveJudge(t *testing.T) *archiveJudge {
	dir := os.Getenv("QUADRILLE_PMTILES")
	if dir == "" {
		t.Skip("QUADRILLE_PMTILES names no directory with Python's package pmtiles: run make check-clients")
	}
	j := &archiveJudge{t, dir}
	if !j.has("python3") {
		t.Skip("python3 is not installed")
	}
	return j
}

// has reports whether a program is installed, and logs a message if not.
func (j *archiveJudge) has(program string) bool {
	_, err := exec.LookPath(program)
	if err != nil {
		j.t.Logf("skipped: %s, which is not installed", program)
	}
	return err == nil
}

func (j *archiveJudge) run(program string, args ...string) string {
	j.t.Helper()
	cmd := exec.CommandContext(j.t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+j.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		j.t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	return string(out)
}

// compare compares every tile of an archive with the served tile. It also requests some tiles that
// are not in the archive.
func (j *archiveJudge) compare(t *testing.T, site, path string) {
	name := filepath.Base(path)
	name = name[:strings.LastIndexByte(name, '.')]
	get := func(address string) (*http.Response, []byte) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", "gzip")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, b
	}
	var doc struct{ Tiles []string }
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site+"/basemap/"+name+".json", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&doc); err != nil || len(doc.Tiles) != 1 {
		t.Fatalf("TileJSON: %v, %v", doc, err)
	}
	address := func(at quadkey.Tile) string {
		return strings.NewReplacer("{z}", fmt.Sprint(at.Z), "{x}", fmt.Sprint(at.X), "{y}", fmt.Sprint(at.Y)).Replace(doc.Tiles[0])
	}
	want, outside := map[quadkey.Tile]string{}, 0
	for line := range strings.Lines(j.run("python3", "testdata/clients/archives.py", "read", path)) {
		var z, x, y int
		var sum string
		if _, err := fmt.Sscanf(line, "%d/%d/%d %s", &z, &x, &y, &sum); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		at, err := quadkey.NewTile(z, x, y)
		if err != nil { // GDAL writes those beyond 180 degrees, which no map asks for
			outside++
			continue
		}
		want[at] = sum
	}
	if len(want) == 0 {
		t.Fatal("the judge finds no tile")
	}
	missing := 0
	for at, sum := range want {
		res, b := get(address(at))
		if strings.HasPrefix(filepath.Base(path), "plain") && res.Header.Get("Content-Encoding") == "gzip" {
			b = gunzip(t, b) // it is stored as it is
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(b)); res.StatusCode != http.StatusOK || got != sum {
			t.Fatalf("%v: %d, %s, want %s", at, res.StatusCode, got, sum)
		}
		beside := quadkey.Tile{Z: at.Z, X: at.X ^ 1, Y: at.Y}
		if _, ok := want[beside]; !ok && at.Z > 0 && missing < 500 {
			missing++
			if res, b := get(address(beside)); res.StatusCode != http.StatusNoContent || len(b) > 0 {
				t.Fatalf("%v, which is not there: %d with %d bytes", beside, res.StatusCode, len(b))
			}
		}
	}
	t.Logf("%d tiles are the same, %d are not there, and %d are beyond the grid", len(want), missing, outside)
}

func gunzip(t *testing.T, b []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if b, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return b
}

// MapLibre draws a base map of vector tiles and one of pictures below the borders.
func TestBaseMapInMapLibre(t *testing.T) {
	libraries := clientsDir(t)
	browser := launchBrowser(t, software...)
	data, view := clientsData(t)
	world := filepath.Join(t.TempDir(), "world.pmtiles")
	programs.Ingester(t)("--data", data, "export", "country", world)
	p := archivetest.PMTiles{Internal: archivetest.Gzip, Tiles: archivetest.Uncompressed, Type: 2}
	sea := archivetest.Picture(256, color.RGBA{R: 190, G: 215, B: 225, A: 255})
	pictures := archivetest.Write(t, filepath.Join(t.TempDir(), "pictures.pmtiles"), p.Bytes([]archivetest.Tile{{Data: sea}}))
	site := programs.Serve(t, "--data", data, "--basemap", pictures, "--basemap", "vectors="+world).URL
	pages := clientPages(t, libraries)
	w := open(t, browser, pages+"/maplibre.html?"+url.PathEscape(site+" light "+view), screen{width: 1200, height: 800, density: 1})
	w.expect("it asks another server: "+site+"/", "it asks another server: "+pages+"/node_modules/", "GPU stall due to ReadPixels")
	w.waitFor(`window.drawn`)
	drawn := evaluate[string](w, `Object.keys(window.drawn).join(' ')`)
	if !strings.Contains(drawn, "basemap:vectors:") || !strings.Contains(drawn, "_fill") ||
		!strings.Contains(drawn, " country_line") && !strings.HasPrefix(drawn, "country_line") {
		t.Errorf("drawn are %s", drawn)
	}
	picture := w.picture("maplibre-basemap")
	if c := picture.At(20, 20); c == (color.NRGBA{R: 255, G: 255, B: 255, A: 255}) {
		t.Errorf("the corner is %v", c)
	}
}

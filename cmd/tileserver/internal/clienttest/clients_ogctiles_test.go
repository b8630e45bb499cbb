package clienttest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/cmd/internal/programs"
)

// Third-party clients of OGC API – Tiles read from a running server. `make check-clients` installs
// those from npm and pip and runs this.

// startToyWorld starts a server on small data of every kind.
func startToyWorld(t *testing.T) string {
	t.Helper()
	data := t.TempDir()
	publishToyWorld(t, data, "shops", "id,lat,lon,name,price\n1,1.5,20.5,Corner,3\n2,1.25,20.25,Market,4.5\n3,-1,21,\"A, B & <C>\",\n")
	return programs.Serve(t, "--data", data).URL
}

// QGIS reads every collection, page by page, and draws the tiles.
func TestQGIS(t *testing.T) {
	foreign(t)
	qgis := pythonWith(t, "qgis.core")
	picture := filepath.Join(t.TempDir(), "qgis.png")
	if screenshots != "" {
		picture = filepath.Join(screenshots, "qgis-tiles.png")
	}
	qgis(t, "ogc_qgis.py", startToyWorld(t), picture)
}

// A GDAL that supports the approved standard reads features and tiles.
func TestGDALOfOGCAPI(t *testing.T) {
	foreign(t)
	pyogrio := pythonWith(t, "pyogrio")
	pyogrio(t, "ogc_gdal.py", startToyWorld(t))
}

// Every version of GDAL reads a vector tile, and a map from the pictures.
func TestGDALOfOGCTiles(t *testing.T) {
	foreign(t)
	for _, name := range []string{"ogrinfo", "gdal_translate", "gdalinfo"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed (gdal-bin)", name)
		}
	}
	site := startToyWorld(t)
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		if err != nil || strings.Contains(string(out), "ERROR") {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	for collection, layer := range map[string]string{"country": "country_line", "places": "places", "points:shops": "points:shops"} {
		out := run("ogrinfo", "-ro", "-so", "-al", "MVT:"+site+"/ogc/collections/"+collection+"/tiles/WebMercatorQuad/0/0/0?f=mvt")
		if !strings.Contains(out, "Layer name: "+layer+"\n") || strings.Contains(out, "Feature Count: 0") {
			t.Errorf("%s:\n%s", collection, out)
		}
	}
	const world = 20037508.342789244
	service := fmt.Sprintf(`<GDAL_WMS><Service name="TMS"><ServerUrl>%s/ogc/map/tiles/WebMercatorQuad/${z}/${y}/${x}?f=png</ServerUrl></Service>
<DataWindow><UpperLeftX>%[2]f</UpperLeftX><UpperLeftY>%[3]f</UpperLeftY><LowerRightX>%[3]f</LowerRightX><LowerRightY>%[2]f</LowerRightY>
<TileLevel>3</TileLevel><TileCountX>1</TileCountX><TileCountY>1</TileCountY><YOrigin>top</YOrigin></DataWindow>
<Projection>EPSG:3857</Projection><BlockSizeX>256</BlockSizeX><BlockSizeY>256</BlockSizeY><BandsCount>3</BandsCount></GDAL_WMS>`, site, -world, world)
	file := filepath.Join(t.TempDir(), "map.tif")
	run("gdal_translate", "-outsize", "512", "0", service, file)
	out := run("gdalinfo", "-stats", file)
	if !strings.Contains(out, "Size is 512, 512") || strings.Contains(out, "StdDev=0.000") {
		t.Errorf("the map:\n%s", out)
	}
}

// foreign skips a test that needs a third-party program, under -short.
func foreign(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("make check-clients runs it")
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/source/mmdb/mmdbtest"
	"quadrille/cmd/internal/testfile"
)

// examples returns the files that the table of docs/files.md names, by their names there.
func examples(t *testing.T) map[string]string {
	sample := func(name string) string {
		return string(testfile.Read(t, filepath.Join("internal/source/format/testdata", name)))
	}
	const (
		shops  = "id,name,lat,lon\na,Alpha,47.35,8.55\nb,Beta,47.36,8.56\n"
		stops  = "stop_id,stop_name,stop_lat,stop_lon\na,Alpha,47.35,8.55\n"
		zones  = `{"code":"a","name":"Alpha","shape":{"type":"Polygon","coordinates":[[[7,46],[8,46],[8,47],[7,46]]]}}` + "\n"
		arcgis = `{"spatialReference":{"wkid":4326},"features":[{"attributes":{"code":"a","name":"Alpha"},` +
			`"geometry":{"rings":[[[7,46],[8,47],[8,46],[7,46]]]}}]}`
		finds = "id,scientificName,decimalLatitude,decimalLongitude\na,Parus major,47.35,8.55\n"
	)
	scripted := func(script, name string) string {
		archive, err := txtar.ParseFile(filepath.Join("testdata", script))
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == name })
		return string(archive.Files[i].Data)
	}
	database := mmdbtest.Database{Type: "GeoLite2-Country", IPVersion: 4, Entries: []mmdbtest.Entry{
		{Network: "192.0.1.0/24", Data: map[string]any{"country": map[string]any{"iso_code": "CH"}}},
	}}
	return map[string]string{
		"shops.csv":            shops,
		"shops.csv.gz":         testfile.Gzip(shops),
		"-":                    shops,
		"wards.csv":            sample("table.shapes.csv"),
		"shops.xlsx":           sample("workbook.xlsx"),
		"wells.geojson":        `{"type":"Feature","id":"w","properties":{"name":"Well"},"geometry":{"type":"Point","coordinates":[8.55,47.35]}}`,
		"parks.geojson":        sample("geojson.json"),
		"parks.topojson":       sample("topojson.json"),
		"answer.json":          sample("records.json"),
		"zones.ndjson":         zones,
		"overpass.json":        sample("records.overpass.json"),
		"arcgis.json":          arcgis,
		"parks.gpkg":           sample("geopackage.gpkg"),
		"parks.zip":            sample("shapefile.zip"),
		"wells.kmz":            testfile.Zip([2]string{"doc.kml", sample("kml.kml")}),
		"parks.kml":            sample("kml.shapes.kml"),
		"ride.gpx":             sample("gpx.gpx"),
		"parks.parquet":        sample("parquet.parquet"),
		"wells-1.csv":          shops,
		"wells-2.csv":          "id,name,lat,lon\nc,Gamma,47.35,8.55\n",
		"extract.osm.pbf":      string(testfile.Read(t, "testdata/extract.osm.pbf")), // written by osmium of six made-up elements
		"feed.zip":             testfile.Zip([2]string{"routes.txt", "route_id\n"}, [2]string{"stops.txt", stops}),
		"occurrences.zip":      testfile.Zip([2]string{"meta.xml", "<archive/>"}, [2]string{"occurrence.txt", finds}),
		"country.mmdb":         string(database.Bytes()),
		"offices.csv":          "network,country,city\n192.0.1.0/24,CH,Bern\n",
		"networks.ndjson":      `{"network":"192.0.1.0/24","country":{"iso_code":"CH"}}` + "\n",
		"answer-networks.json": `{"meta":{"total":1},"data":[{"network":"192.0.1.0/24","country":{"iso_code":"CH"}}]}`,
		"routes.pfx2as":        "192.0.1.0\t24\t64500\n",
		"DE.txt":               scripted("places.txtar", "places.txt"),
		"postal/DE.txt":        "DE\t01067\tDresden\tSachsen\tSN\t\t00\tDresden\t14612\t51.0575\t13.7171\t6\n",
		"airports.csv":         scripted("airports.txtar", "airports.csv"),
		"isd-history.csv":      jobtest.StationsHead + jobtest.RowZurich,
		"ghcnh-station-list.csv": "GHCN_ID,LATITUDE,LONGITUDE,ELEVATION,STATE,NAME,GSN,(US)HCN_(US)CRN,WMO_ID,ICAO\n" +
			"SZM00006660,47.4,8.6,-999.9,,ZURICH TOWN,GSN,,06660,\n",
	}
}

// lines finds the commands in the last cells of a table.
var lines = regexp.MustCompile("(?m)^\\|.*\\| `([a-z]+ [^`]*)` \\|$")

// Every line of the table of docs/files.md publishes what is in the files that it names.
func TestLinesOfFiles(t *testing.T) {
	page := string(testfile.Read(t, "../../docs/files.md"))
	files := examples(t)
	dir := t.TempDir()
	for name, content := range files {
		testfile.Write(t, filepath.Join(dir, name), content)
	}
	named := strings.Join(lines.FindAllString(page, -1), "\n")
	for name := range files {
		if !strings.Contains(named, name) && !strings.HasPrefix(name, "wells-") {
			t.Errorf("no line of docs/files.md has %s: leave it out of examples", name)
		}
	}
	t.Chdir(dir)
	before := os.Stdin
	defer func() { os.Stdin = before }()
	for _, line := range lines.FindAllStringSubmatch(page, -1) {
		var args []string
		for _, word := range strings.Fields(line[1]) {
			args = append(args, strings.Trim(word, "'"))
		}
		var err error
		if os.Stdin, err = os.Open("-"); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		err = run(t.Context(), append(args, "--data", t.TempDir()), &stdout, &stderr)
		if err != nil || !strings.Contains(stdout.String(), "published") {
			t.Errorf("%s: %v\n%s%s", line[1], err, stdout.String(), stderr.String())
		}
	}
}

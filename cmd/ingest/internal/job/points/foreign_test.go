package points

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/boundaries"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/internal/testfile"
)

const gpx = `<?xml version="1.0"?><gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1"><wpt lat="47" lon="8"><name>a</name></wpt></gpx>`

// The command in the advice for GPX makes a readable file.
func TestForeignAdvice(t *testing.T) {
	if _, err := exec.LookPath("ogr2ogr"); err != nil {
		t.Skip("needs GDAL")
	}
	path := testfile.WriteTemp(t, "in.gpx", gpx)
	ingest := func(path string) error {
		_, err := Ingest(t.Context(), jobtest.Catalog(t), Collection{Name: "mine"}, []string{path}, job.Options{})
		return err
	}
	command := regexp.MustCompile(`ogr2ogr [^,]+`).FindString(fmt.Sprint(ingest(path)))
	out := filepath.Join(t.TempDir(), "out.geojson")
	words := strings.Fields(strings.NewReplacer("FILE", path, "out.geojson", out).Replace(command))
	if text, err := exec.CommandContext(t.Context(), words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", command, err, text)
	}
	if err := ingest(out); err != nil {
		t.Error(err)
	}
}

// A file that begins like a compressed file, but is not compressed, is read.
func TestNotPacked(t *testing.T) {
	path := testfile.WriteTemp(t, "in.csv", "BZh?1AY,lat,lon\na,47,8\n")
	if _, err := Ingest(t.Context(), jobtest.Catalog(t), Collection{Name: "mine"}, []string{path}, job.Options{}); err != nil {
		t.Error(err)
	}
}

// A file of another kind is refused by its content, for every reader.
func TestForeignFiles(t *testing.T) {
	for text, want := range map[string]string{
		"PAR1\x15\x04\x15":                           "is cut off or damaged: fetch it again",
		"fgb\x03fgb\x00aaaa":                         "it is a FlatGeobuf file of shapes; convert it by ogr2ogr",
		"<!DOCTYPE html><html>404</html>":            "it is a page in HTML or XML and no data; open the address",
		"\n<?xml version=\"1.0\"?><kml></kml>":       "it is a KML file; convert it by ogr2ogr out.geojson FILE LAYER",
		"<FeatureCollection xmlns:gml=\"x\">":        "or if it is GML, convert it by ogr2ogr out.geojson FILE LAYER",
		gpx:                                          "it is a GPX file; convert it by ogr2ogr out.geojson FILE waypoints, or",
		"<?xml version='1.0'?>\n<osm version=''/>":   "it is data of OpenStreetMap in XML; convert it by ogr2ogr out.geojson FILE points, or",
		"\x28\xb5\x2f\xfd\x24\x01\x01\x00a":          "is compressed by zstd, which is not read; unpack it by zstd -d FILE",
		"BZh91AY&SY\x00":                             "is compressed by bzip2, which is not read; unpack it by bunzip2 -k FILE",
		"\xfd7zXZ\x00\x00\x04":                       "is compressed by xz, which is not read; unpack it by unxz -k FILE",
		"7z\xbc\xaf\x27\x1c\x00":                     "is compressed by 7-Zip, which is not read; unpack it by 7z x FILE",
		"\xff\xfe{\x00\"\x00":                        "it is text in UTF-16; convert it by iconv",
		"{\x00\"\x00t\x00y\x00p\x00e\x00\"\x00:\x00": "it is text in UTF-16; convert it by iconv",
		"": "is empty",
	} {
		path := testfile.WriteTemp(t, "in.geojson", text)
		_, polygons := boundaries.Ingest(t.Context(), jobtest.Catalog(t),
			[]boundaries.Input{{Type: "zone", Input: jobtest.Input(path)}}, job.Options{})
		_, points := Ingest(t.Context(), jobtest.Catalog(t), Collection{Name: "mine"}, []string{path}, job.Options{})
		for by, err := range map[string]error{"polygons": polygons, "points": points} {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%q as %s: %v, want %q", text, by, err, want)
			}
		}
	}
}

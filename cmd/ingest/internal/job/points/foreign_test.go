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

// The command in the advice for FlatGeobuf makes a readable file.
func TestForeignAdvice(t *testing.T) {
	if _, err := exec.LookPath("ogr2ogr"); err != nil {
		t.Skip("needs GDAL")
	}
	point := testfile.WriteTemp(t, "in.geojson", `{"type":"Feature","properties":{"name":"a"},"geometry":{"type":"Point","coordinates":[8,47]}}`)
	path := filepath.Join(t.TempDir(), "in.fgb")
	if text, err := exec.CommandContext(t.Context(), "ogr2ogr", "-f", "FlatGeobuf", path, point).CombinedOutput(); err != nil {
		t.Skipf("GDAL writes no FlatGeobuf: %s", text)
	}
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
		"PAR1\x15\x04\x15":                    "is cut off or damaged: fetch it again",
		"fgb\x03fgb\x00aaaa":                  "it is a FlatGeobuf file of shapes; convert it by ogr2ogr",
		"<!DOCTYPE html><html>404</html>":     "it is a page in HTML or XML and no data; open the address",
		"<FeatureCollection xmlns:gml=\"x\">": "or if it is GML, convert it by ogr2ogr out.geojson FILE LAYER",
		"\x28\xb5\x2f\xfd\x04\x00":            "zstd: unexpected EOF; it may be truncated: fetch it again",
		"BZh91AY&SY\x00":                      "bzip2: unexpected EOF; it may be truncated: fetch it again",
		"\xfd7zXZ\x00\x00\x04":                "xz: data is truncated or corrupt; it may be truncated: fetch it again",
		"7z\xbc\xaf\x27\x1c\x00":              "is compressed by 7-Zip, which is not read; unpack it by 7z x FILE",
		"\xff\xfe\x00\x00{\x00\x00\x00":       "it is text in UTF-32; convert it by iconv",
		"":                                    "is empty",
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

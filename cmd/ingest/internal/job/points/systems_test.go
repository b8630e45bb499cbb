package points

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/boundaries"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/internal/testfile"
	"quadrille/internal/testrace"
)

// In shared/cases there are files from other programs, with many names of coordinate systems. Each
// is either read, with a note if its system is not WGS84 itself, or refused with a command that
// works.
func TestSystemCases(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	const cases = "../../../../../../shared/cases/"
	if _, err := os.Stat(cases); err != nil {
		t.Skip("the cases are not there: ", err)
	}
	for file, want := range map[string]struct {
		records   int64
		note, err string
	}{
		"tiles/crs84_as_gdal_writes_it.gpkg":       {records: 2},
		"tiles/table_name_case_differs.gpkg":       {records: 2},
		"tiles/table_name_case_differs.gpkg#Zones": {records: 2},
		"tiles/gda94.shp": {
			records: 3,
			note:    `gda94.shp: coordinates are in "GCS_GDA_1994" and taken as WGS84, from which they differ by a few metres at most`,
		},
		"points/gpkg-crs84.gpkg": {records: 3},
		"points/gpkg-undefined-srs.gpkg": {err: `(ogr2ogr -a_srs EPSG:4326 out.gpkg ` + cases +
			`points/gpkg-undefined-srs.gpkg nocrs)`},
	} {
		t.Run(file, func(t *testing.T) {
			c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
			var m dataset.Manifest
			var err error
			if strings.HasPrefix(file, "points/") {
				m, err = Ingest(t.Context(), c, Collection{Name: "mine"}, []string{cases + file}, job.Options{Reporter: rep})
			} else {
				m, err = boundaries.Ingest(t.Context(), c, []boundaries.Input{{Type: "zone", Input: jobtest.Input(cases + file)}},
					job.Options{Reporter: rep})
			}
			if (err == nil) != (want.err == "") || err != nil && !strings.HasSuffix(err.Error(), want.err) {
				t.Fatal(err)
			}
			noted := slices.ContainsFunc(rep.Notes, func(n string) bool { return strings.HasSuffix(n, want.note) && strings.Contains(n, "WGS84") })
			if m.Records["points"]+m.Records["zone"] != want.records || noted != (want.note != "") {
				t.Errorf("%v, %q", m.Records, rep.Notes)
			}
		})
	}
}

// The command that converts a file names the file itself, however it is packed.
func TestCommandNamesTheFile(t *testing.T) {
	metres := sheet{batterySystems["Web Mercator"], []batteryFeature{{"a", "A", orb.Point{8, 47}, nil}}}
	for _, format := range []string{"GeoPackage", "GeoJSON"} {
		content := testfile.Read(t, batteryFormats[format](t, &metres))
		member := "sheet.geojson"
		layer := ""
		if format == "GeoPackage" {
			member, layer = "sheet.gpkg", " sheet"
		}
		for packing, text := range map[string]string{
			"":          string(content),
			"/vsigzip/": testfile.Gzip(string(content)),
			"/vsizip/":  zipMembers(t, map[string]string{"in/" + member: string(content)}),
			"-":         string(content),
		} {
			path, of := testfile.WriteTemp(t, "file", text), Collection{Name: "mine",
				Told: columns.Told{ID: "code"}} // the name gives no hint
			want, o := " "+packing+path+layer+")", job.Options{}
			switch packing {
			case "/vsizip/":
				want = " " + packing + path + "/in/" + member + layer + ")"
			case "-":
				path, o.Stdin, want = "-", strings.NewReader(text), "(save it to a file, then ogr2ogr -t_srs EPSG:4326 out."+
					member[len("sheet."):]+" FILE)"
			}
			_, err := Ingest(t.Context(), jobtest.Catalog(t), of, []string{path}, o)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "copy-") {
				t.Errorf("%s %s: %v, want %s", format, packing, err, want)
			}
		}
	}
}

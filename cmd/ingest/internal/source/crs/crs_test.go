package crs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/ingest/internal/source/crs"
)

const (
	grs80  = `GEOGCS["GDA94",DATUM["Geocentric_Datum_of_Australia_1994",SPHEROID["GRS 1980",6378137,298.257222101]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]]`
	crs84  = `GEOGCS["WGS 84 (CRS84)",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433,AUTHORITY["EPSG","9122"]],AXIS["Longitude",EAST],AXIS["Latitude",NORTH],AUTHORITY["OGC","CRS84"]]`
	g1762  = `GEOGCRS["WGS 84 (G1762)",DYNAMIC[FRAMEEPOCH[2005]],DATUM["World Geodetic System 1984 (G1762)",ELLIPSOID["WGS 84",6378137,298.257223563,LENGTHUNIT["metre",1]]],PRIMEM["Greenwich",0,ANGLEUNIT["degree",0.0174532925199433]],CS[ellipsoidal,2],AXIS["geodetic latitude (Lat)",north,ORDER[1],ANGLEUNIT["degree",0.0174532925199433]],USAGE[SCOPE["Geodesy."],AREA["World."],BBOX[-90,-180,90,180]],ID["EPSG",9057]]`
	bound  = `BOUNDCRS[SOURCECRS[GEOGCRS["GDA94",DATUM["x",ELLIPSOID["GRS 1980",6378137,298.257222101]],CS[ellipsoidal,2],ANGLEUNIT["degree",0.0174532925199433]]],TARGETCRS[` + g1762 + `],ABRIDGEDTRANSFORMATION["to WGS84",METHOD["Position Vector"],PARAMETER["X-axis translation",0],PARAMETER["Scale difference",1]]]`
	turned = `GEOGCRS["turned",BASEGEOGCRS["WGS 84",DATUM["World Geodetic System 1984",ELLIPSOID["WGS 84",6378137,298.257223563]]],DERIVINGCONVERSION["x",METHOD["ob_tran"],PARAMETER["o_lon_p",0]],CS[ellipsoidal,2],ANGLEUNIT["degree",0.0174532925199433]]`
)

func TestWellKnownText(t *testing.T) {
	// with returns grs80 with a text replaced.
	with := func(old, by string) string { return strings.ReplaceAll(grs80, old, by) }
	datum := func(name string) string { return with("Geocentric_Datum_of_Australia_1994", name) }
	for text, want := range map[string]crs.Kind{
		crs84: crs.WGS84,
		`COMPD_CS["with heights",` + crs84 + `,VERT_CS["EGM96",VERT_DATUM["EGM96",2005,EXTENSION["PROJ4_GRIDS","egm96.gtx"]]]]`: crs.WGS84,
		grs80: crs.NearWGS84, g1762: crs.NearWGS84, bound: crs.NearWGS84,
		datum("Sistema_de_Referencia_Geocentrico_para_las_AmericaS_2000"): crs.NearWGS84,
		datum("D_JGD_2011"): crs.NearWGS84,
		datum("NAD83_Canadian_Spatial_Reference_System"): crs.NearWGS84,
		datum("China_2000"): crs.NearWGS84,
		with(`222101]`, `222101],TOWGS84[0,0,0,0,0,0,0]`):             crs.NearWGS84,
		datum("Unknown based on GRS80 ellipsoid using towgs84=0,0,0"): crs.NearWGS84,
		// These datums use the same ellipsoids but differ from WGS84.
		datum("Greek_Geodetic_Reference_System_1987"): crs.NeedsConversion,
		datum("D_GGRS_1987"):                          crs.NeedsConversion,
		datum("D_Israel"):                             crs.NeedsConversion,
		datum("Vietnam_2000"):                         crs.NeedsConversion,
		datum("HS2 Intermediate Reference Frame"):     crs.NeedsConversion,
		datum("D_Unknown_based_on_GRS80_ellipsoid_using_towgs84_-199_74_0"): crs.NeedsConversion,
		datum("D_Unknown_based_on_GRS80_ellipsoid_using_nadgrids_a_gsb"):    crs.NeedsConversion,
		with(`222101]`, `222101],TOWGS84[-199.87,74.79,246.62,0,0,0,0]`):    crs.NeedsConversion,
		with(`222101]`, `222101],EXTENSION["PROJ4_GRIDS","a.gsb"]`):         crs.NeedsConversion,
		strings.Replace(bound, `translation",0`, `translation",5`, 1):       crs.NeedsConversion,
		strings.Replace(bound, `PARAMETER["X`, `PARAMETERFILE["X`, 1):       crs.NeedsConversion,
		turned:                                        crs.NeedsConversion,
		with("6378137", "6378388"):                    crs.NeedsConversion,
		with("298.257222101", "0"):                    crs.NeedsConversion, // a sphere
		with("6378137,298.257222101", "x"):            crs.NeedsConversion,
		with(`Greenwich",0`, `Paris",2.337`):          crs.NeedsConversion,
		with("0.0174532925199433", "0.0157"):          crs.NeedsConversion,
		`PROJCS["UTM",` + grs80 + `,UNIT["metre",1]]`: crs.NeedsConversion,
		`LOCAL_CS["Undefined SRS",UNIT["unknown",0]]`: crs.Unnamed,
		`ENGCRS["Undefined SRS",EDATUM["unknown"]]`:   crs.Unnamed,
		"undefined":                 crs.Unnamed,
		"":                          crs.Unnamed,
		"]":                         crs.Unnamed,
		`[`:                         crs.Unnamed,
		grs80[:len(grs80)-1]:        crs.Unnamed,
		grs80 + "," + grs80:         crs.Unnamed,
		strings.Repeat("A[", 1<<10): crs.Unnamed,
	} {
		if got := crs.ByWKT(text); got.Kind != want {
			t.Errorf("%s: %+v, want kind %d", text, got, want)
		}
	}
}

func TestNamed(t *testing.T) {
	for kind, names := range [][]string{
		crs.WGS84: {"urn:ogc:def:crs:OGC:1.3:CRS84", "urn:ogc:def:crs:OGC::CRS84h", "OGC:CRS84", "CRS:84", "EPSG:4326", "epsg:4326",
			"urn:ogc:def:crs:EPSG::4326", "urn:ogc:def:crs:EPSG:6.9:4326",
			"http://www.opengis.net/def/crs/EPSG/0/4326", "http://www.opengis.net/gml/srs/epsg.xml#4326",
			"http://spatialreference.org/ref/epsg/4326/proj4/", "4326", "WGS84", "WGS 84", "GCS_WGS_1984", crs84},
		crs.NearWGS84: {"urn:ogc:def:crs:OGC:1.3:CRS83", "EPSG:4269", "EPSG:4258", "EPSG:4283", "EPSG:7844", "EPSG:4674", "EPSG:6668",
			"EPSG:4617", "EPSG:4490", "EPSG:4167", "urn:ogc:def:crs:EPSG::9057", "NAD83", "SIRGAS 2000", "EPSG:6319", grs80},
		crs.NeedsConversion: {"EPSG:3857", "EPSG:14326", "EPSG:4121", "EPSG:69862", "EPSG:4267", "urn:ogc:def:crs:EPSG::2056", "31467",
			"urn:ogc:def:crs:OGC:1.3:CRS27", "ESRI:102100", "https://epsg.io/25832"},
		crs.Unnamed: {"something", "WGS 84 / UTM zone 33N", "+proj=utm +zone=33 +datum=WGS84"},
	} {
		for _, name := range names {
			if got := crs.ByName(name); got.Kind != crs.Kind(kind) {
				t.Errorf("%s: %+v, want kind %d", name, got, kind)
			}
		}
	}
	for _, code := range []int64{-1, 0, 1<<16 + 4283, 1 << 40} {
		if got := crs.ByCode(code); got.Kind != crs.NeedsConversion {
			t.Error(code, got)
		}
	}
}

func TestAddress(t *testing.T) {
	for iri, want := range map[string]string{
		"http://www.opengis.net/def/crs/OGC/1.3/CRS84":               "0 false",
		"https://www.opengis.net/def/crs/OGC/0/CRS84h":               "0 false",
		"urn:ogc:def:crs:OGC:1.3:CRS84":                              "0 false",
		"http://www.opengis.net/def/crs/OGC/1.3/CRS83":               "1 false",
		"http://www.opengis.net/def/crs/EPSG/0/4326":                 "0 true",
		"http://www.opengis.net/def/crs/EPSG/9.9.1/4979":             "0 true",
		"urn:ogc:def:crs:EPSG::4258":                                 "1 true",
		"http://www.opengis.net/def/crs/EPSG/0/7084":                 "1 false", // RGF93 v1 (lon-lat)
		"http://www.opengis.net/def/crs/EPSG/0/11043":                "2 false", // its axis order is unknown
		"http://www.opengis.net/def/crs/EPSG/0/3857":                 "2 false",
		"http://www.opengis.net/def/crs/EPSG/0/4230":                 "2 false",
		"http://www.opengis.net/def/crs/OGC/1.3/CRS27":               "2 false",
		"http://www.opengis.net/def/crs/EPSG/0/x4326":                "2 false",
		"http://www.opengis.net/def/crs/IAU/2015/30100":              "2 false",
		"http://www.opengis.net/def/crs/EPSG/0/4326/extra":           "2 false",
		"http://example.org/def/crs/EPSG/0/4326":                     "2 false",
		"http://www.wikidata.org/entity/Q2":                          "0 false",
		"https://www.wikidata.org/entity/Q2":                         "0 false",
		"http://www.wikidata.org/entity/Q405":                        "2 false", // the Moon
		"http://www.wikidata.org/entity/Q22":                         "2 false",
		"http://www.opengis.net/def/crs/EPSG/0/99999999999999999999": "2 false", "": "2 false", "CRS84": "2 false", "4326": "2 false",
	} {
		system, latFirst := crs.ByAddress(iri)
		if got := fmt.Sprint(int(system.Kind), " ", latFirst); got != want || system.Name == "" && iri != "" {
			t.Errorf("%s: %s %q, want %s", iri, got, system.Name, want)
		}
	}
}

func TestTake(t *testing.T) {
	for _, tc := range []struct {
		system         crs.System
		file, in, note string
		err            string
	}{
		{crs.ByCode(4326), "a.geojson", "", "", ""},
		{
			crs.ByCode(4283),
			"a.geojson",
			"",
			"a.geojson: coordinates are in EPSG:4283 and taken as WGS84, from which they differ by a few metres at most",
			"",
		},
		{crs.ByCode(3857), "a.geojson", "", "", "(ogr2ogr -t_srs EPSG:4326 out.x a.geojson)"},
		{crs.ByCode(3857), "a.geojson.gz", "", "", "(ogr2ogr -t_srs EPSG:4326 out.x /vsigzip/a.geojson.gz)"},
		{crs.ByCode(3857), "a.ZIP", "", "", "(ogr2ogr -t_srs EPSG:4326 out.x /vsizip/a.ZIP)"},
		{crs.ByCode(3857), "a.zip", "/vsizip/a.zip/b.shp", "", "(ogr2ogr -t_srs EPSG:4326 out.x /vsizip/a.zip/b.shp)"},
		{crs.ByCode(3857), "it is.shp", "", "", "(ogr2ogr -t_srs EPSG:4326 out.x 'it is.shp')"},
		{
			crs.ByName("x"),
			"a.geojson",
			"",
			"",
			`a.geojson: coordinates are in no known system: "x"; if they are longitudes and latitudes (WGS84), say so first (ogr2ogr -a_srs EPSG:4326 out.x a.geojson)`,
		},
	} {
		note, err := tc.system.Accept(tc.file, "out.x", tc.in)
		if note != tc.note || (err == nil) != (tc.err == "") || err != nil && !strings.HasSuffix(err.Error(), tc.err) {
			t.Errorf("%+v: %q, %v", tc, note, err)
		}
	}
}

// For any text there is a result, and a refusal has a name.
func FuzzNamed(f *testing.F) {
	for _, text := range []string{crs84, g1762, bound, turned, "EPSG:4326", `A["x`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := crs.ByName(text); !slices.Contains([]crs.Kind{crs.WGS84, crs.NearWGS84, crs.NeedsConversion, crs.Unnamed}, got.Kind) ||
			got.Kind > crs.NearWGS84 && got.Name == "" {
			t.Errorf("%q: %+v", text, got)
		}
	})
}

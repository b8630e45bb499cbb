package jsonrecords_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb/geojson"
	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/source"
	said "quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/jsonrecords"
)

// read returns the records of a text as lines: the members in their order and the geometry, or why there is none.
func read(text io.Reader, o jsonrecords.Options) (lines, notes []string, missing, err error) {
	if o.Said == nil {
		o.Said = &said.Said{}
	}
	r := jsonrecords.New(bufio.NewReaderSize(text, 256<<10), "f.json", o)
	for f, err := range r.Features() {
		if bad := (*source.BadRecord)(nil); errors.As(err, &bad) {
			lines = append(lines, strings.TrimPrefix(bad.Error(), "f.json:"))
			continue
		}
		if err != nil {
			return lines, r.Notes(), o.Said.Missing("PAGES"), err
		}
		line := ""
		for _, m := range f.Members {
			line += fmt.Sprintf(" %s=%s", m.Name, m.Value)
		}
		if f.Lost.Count > 0 {
			line += fmt.Sprintf(" lost %d %s", f.Lost.Count, f.Lost.First)
		}
		if f.Geometry != nil {
			g, err := json.Marshal(geojson.NewGeometry(f.Geometry))
			if err != nil {
				return nil, nil, nil, err
			}
			line += " " + string(g)
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines, r.Notes(), o.Said.Missing("PAGES"), nil
}

const points, polygons = source.WantPoints, source.WantPolygons

func TestForms(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		o    jsonrecords.Options
		want []string
		note string // part of the notes
	}{
		"a list":                        {`[{"a":1,"b":"x"},{"a":null,"c":[1,{"d":2}]}]`, jsonrecords.Options{}, []string{`a=1 b="x"`, `a=null c=[1,{"d":2}]`}, ""},
		"lines, with record separators": {"\x1e{\"a\":1}\n\x1e{\"a\":2}\n", jsonrecords.Options{}, []string{"a=1", "a=2"}, ""},
		"one object":                    {`{"a":{"b":{"c":true}},"e":{}}`, jsonrecords.Options{}, []string{"a.b.c=true"}, ""},
		"what is no object":             {`[{"a":1},2,"x",null,[{}]]`, jsonrecords.Options{}, []string{"a=1", "1: not an object with columns as members: number", "1: not an object with columns as members: string", "1: not an object with columns as members: null", "1: not an object with columns as members: array"}, ""},
		"a member is the list":          {`{"meta":{"total":2},"data":[{"a":1},{"a":2}],"ok":true}`, jsonrecords.Options{}, []string{"a=1", "a=2"}, ""},
		"nested":                        {`{"hits":{"total":1,"hits":[{"_index":"i","_id":"7","_source":{"a":{"b":1},"_id":2}}]}}`, jsonrecords.Options{}, []string{`_id="7" a.b=1 _source._id=2`}, `1 members around the records' own are left out, such as _index: beside _source`},
		"the shallowest of several":     {`{"a":{"x":[{"b":1}]},"shops":[{"b":2}],"more":[{"b":3}]}`, jsonrecords.Options{}, []string{"b=2"}, `the records are those of its member "shops"; other lists, such as "a.x", are not read; write FILE#a.x for one of them`},
		"a named one of several":        {`{"a":{"x":[{"b":1}]},"shops":[{"b":2}]}`, jsonrecords.Options{List: "a.x"}, []string{"b=1"}, ""},
		"a common name of several":      {`{"warnings":[{"b":1}],"results":[{"b":2}]}`, jsonrecords.Options{}, []string{"b=2"}, ""},
		"a record with a list":          {`{"evses":[{"uid":1}],"lat":1,"lon":2}`, jsonrecords.Options{}, []string{`evses=[{"uid":1}] lat=1 lon=2`}, ""},
		"records with lists":            {`{"x":[{"u":1}],"at":{"type":"Point","coordinates":[1,2]}}` + "\n" + `{"x":[{"u":1}],"at":null}`, jsonrecords.Options{}, []string{`x=[{"u":1}] at={"type":"Point","coordinates":[1,2]}`, `x=[{"u":1}] at=null`}, ""},
		"several pages":                 {`{"data":[{"a":1}]}` + "\n" + `{"data":[{"a":2}]} {"a":3}`, jsonrecords.Options{}, []string{"a=1", "a=2", `2: an object without the list of records that the first one has: "data"`}, ""},
		"records with lists of objects": {`{"id":0,"wkt":"POINT(8 47)","items":[{"lat":1,"lon":2}]}` + "\n" + `{"id":1,"wkt":"POINT(8 46)","items":[]}`, jsonrecords.Options{}, []string{`id=0 wkt="POINT(8 47)" items=[{"lat":1,"lon":2}]`, `id=1 wkt="POINT(8 46)" items=[]`}, ""},
		"a list behind the beginning":   {`{"data":[` + strings.Repeat(`{"a":1},`, 9000) + `{"a":1}],"bars":[{"b":1}]}`, jsonrecords.Options{}, slices.Repeat([]string{"a=1"}, 9001), `other lists, such as "bars", are not read`},
		"no error":                      {`{"error":{"code":0,"message":"OK"},"data":[{"a":1}]}`, jsonrecords.Options{}, []string{"a=1"}, ""},
		"an empty list":                 {`{"data":[]}`, jsonrecords.Options{}, nil, ""},
		"a record with an empty list":   {`{"lat":1,"lon":2,"items":[]}`, jsonrecords.Options{}, []string{`lat=1 lon=2 items=[]`}, ""},
		"names twice":                   {`[{"a":1,"\u0061":2,"b":{"c":1},"b.c":3}]`, jsonrecords.Options{}, []string{"a=2 b.c=3"}, ""},
		"shapes stay whole":             {`[{"g":{"type":"Point","coordinates":[1,2]},"f":{"type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":[3,4]}},"c":{"type":"x","coordinates":[1]}}]`, jsonrecords.Options{}, []string{`g={"type":"Point","coordinates":[1,2]} f={"type":"Point","coordinates":[3,4]} c.type="x" c.coordinates=[1]`}, ""},
		"deep":                          {`[{"a":{"b":{"c":{"d":{"e":{"f":{"g":1}}}}}}}]`, jsonrecords.Options{}, []string{`a.b.c.d.e.f={"g":1}`}, ""},
		"mongoexport": {`{"_id":{"$oid":"5c"},"n":{"$numberLong":"9007199254740993"},"d":{"$numberDecimal":"NaN"},"at":{"$date":"2020-01-01T00:00:00Z"},"ms":{"$date":{"$numberLong":"1500"}},"i":{"$date":1500},"b":{"$binary":{"base64":"","subType":"00"}},"s":{"$numberInt":"7"},"far":{"$date":9223372036854775807}}`, jsonrecords.Options{},
			[]string{`_id="5c" n=9007199254740993 d="NaN" at="2020-01-01T00:00:00Z" ms="1970-01-01T00:00:01.5Z" i="1970-01-01T00:00:01.5Z" b={"$binary":{"base64":"","subType":"00"}} s=7 far=9223372036854775807`}, ""},
		"keys":                      {`{"AF":{"lat":1,"lng":2},"AN":{"lat":3,"lng":4}}`, jsonrecords.Options{}, []string{`lat=1 lng=2 id="AF"`, `lat=3 lng=4 id="AN"`}, `f.json: the records are the members of its first level; their names, such as "AF", are the property id`},
		"keys with periods":         {`{"192.0.2.1":{"lat":1,"at":{"a":1}},"":{"lat":3}}`, jsonrecords.Options{}, []string{`lat=1 at.a=1 id="192.0.2.1"`, `lat=3 id=""`}, `"192.0.2.1", are the property id`},
		"keys beside ids":           {`{"a":{"ID":1,"x":1},"b":{"ID":2,"x":1}}`, jsonrecords.Options{}, []string{`ID=1 x=1 key="a"`, `ID=2 x=1 key="b"`}, `"a", are the property key`},
		"keys in a member":          {`{"n":2,"stations":{"a":{"lat":1,"x":[{"y":1}]},"b":{"lat":2}},"m":{"a":{"k":1},"b":{"k":1}}}`, jsonrecords.Options{}, []string{`lat=1 x=[{"y":1}] id="a"`, `lat=2 id="b"`}, `the members of its member "stations"; their names`},
		"keys in a named member":    {`{"m":{"a":{"k":1},"b":{"k":1}},"stations":{"a":{"lat":1},"b":{"lat":2}}}`, jsonrecords.Options{List: "stations"}, []string{`lat=1 id="a"`, `lat=2 id="b"`}, `its member "stations"`},
		"keys behind the beginning": {`{"pad":"` + strings.Repeat("x", 70<<10) + `","s":{"a":{"lat":1}}}`, jsonrecords.Options{List: "s"}, []string{`lat=1 id="a"`}, `its member "s"`},
		"keys of Features":          {`{"a":{"type":"Feature","properties":{"n":1},"geometry":null},"b":{"type":"Feature","properties":{"n":2},"geometry":null}}`, jsonrecords.Options{}, []string{`geometry=null n=1 id="a"`, `geometry=null n=2 id="b"`}, "property id"},
		"a list beside keys":        {`{"stats":{"a":{"n":1},"b":{"n":1}},"shops":[{"b":2}]}`, jsonrecords.Options{}, []string{"b=2"}, ""},
		"lists under keys":          {`{"a":{"items":[{"b":1}],"n":1},"b":{"items":[{"b":1}],"n":1}}`, jsonrecords.Options{}, []string{"b=1"}, `"b.items", are not read`},
		"placed records with lists": {`{"a":{"items":[{"b":1}],"lat":1,"lon":1},"b":{"items":[],"lat":1,"lon":2}}`, jsonrecords.Options{}, []string{`items=[{"b":1}] lat=1 lon=1 id="a"`, `items=[] lat=1 lon=2 id="b"`}, "property id"},
		"groups of one record":      {`{"address":{"city":"A","street":"B"},"location":{"lat":1,"lon":2}}`, jsonrecords.Options{}, []string{`address.city="A" address.street="B" location.lat=1 location.lon=2`}, ""},
		"like groups of one record": {`{"lat":1,"lon":2,"hours":{"mon":{"from":8,"to":9},"tue":{"from":8,"to":9}}}`, jsonrecords.Options{}, []string{`lat=1 lon=2 hours.mon.from=8 hours.mon.to=9 hours.tue.from=8 hours.tue.to=9`}, ""},
		"like groups in lines":      {`{"a":{"lat":1},"b":{"lat":2}}` + "\n" + `{"a":{"lat":3},"b":{"lat":4}}`, jsonrecords.Options{}, []string{"a.lat=1 b.lat=2", "a.lat=3 b.lat=4"}, ""},
		"operators alone":           {`{"_id":{"$oid":"5c"},"ref":{"$oid":"5d"}}`, jsonrecords.Options{}, []string{`_id="5c" ref="5d"`}, ""},
		"Airtable":                  {`{"records":[{"id":"rec1","createdTime":"2020","fields":{"Name":"A","id":3}}]}`, jsonrecords.Options{}, []string{`id="rec1" createdTime="2020" Name="A" fields.id=3`}, ""},
		"fields of its own":         {`[{"id":1,"lat":1,"lon":2,"fields":{"a":1}}]`, jsonrecords.Options{}, []string{`id=1 lat=1 lon=2 fields.a=1`}, ""},
		"JSON:API":                  {`{"data":[{"type":"shop","id":"1","attributes":{"lat":1},"links":{"self":"x"}}],"included":[{"id":1}]}`, jsonrecords.Options{}, []string{`type="shop" id="1" lat=1`}, "such as links: beside attributes"},
		"a list of Features":        {`[{"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[1,2]},"properties":{"a":1}}]`, jsonrecords.Options{}, []string{`id=7 geometry={"type":"Point","coordinates":[1,2]} a=1`}, ""},
		"features without types":    {`{"features":[{"geometry":{"type":"Point","coordinates":[1,2]},"properties":{"a":1}}]}`, jsonrecords.Options{}, []string{`geometry={"type":"Point","coordinates":[1,2]} a=1`}, ""},
		"Overpass": {`{"elements":[{"type":"node","id":1,"lat":1,"lon":2,"tags":{"name":"A","id":"x"}},{"type":"node","id":2,"lat":1,"lon":2},` +
			`{"type":"way","id":3,"center":{"lat":3,"lon":4},"nodes":[1],"version":2,"tags":{"name":"B"}},{"type":"relation","id":4,"tags":{}}]}`, jsonrecords.Options{Want: points},
			[]string{`id="node/1" lat=1 lon=2 name="A" tags.id="x"`, `id="way/3" version=2 lat=3 lon=4 name="B"`, "1: " + jsonrecords.ReasonNoCenter + ": relation/4"}, "1 elements without tags"},
		"shapes of Overpass": {`{"elements":[{"type":"way","id":1,"geometry":[{"lat":0,"lon":0},{"lat":0,"lon":1},{"lat":1,"lon":1},{"lat":0,"lon":0}],"tags":{"a":"b"}},` +
			`{"type":"way","id":2,"geometry":[{"lat":0,"lon":0},{"lat":0,"lon":1}],"tags":{}},{"type":"way","id":3,"geometry":[null,{"lat":0,"lon":1}],"tags":{}},{"type":"relation","id":4,"tags":{}},` +
			`{"type":"way","id":5,"geometry":[{"lat":"x","lon":1}],"tags":{}}]}`, jsonrecords.Options{Want: polygons},
			[]string{`id="way/1" a="b" {"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}`, `id="way/2" {"type":"LineString","coordinates":[[0,0],[1,0]]}`,
				"1: " + jsonrecords.ReasonNoShape + ": way/3", "1: " + jsonrecords.ReasonNoShape + ": relation/4", "1: " + source.ReasonNotANumber + ": string"}, ""},
		"ArcGIS": {`{"fields":[{"name":"t","type":"esriFieldTypeDate"}],"spatialReference":{"wkid":4326},"features":[{"attributes":{"a":1,"t":1500},"geometry":{"x":1,"y":2}},{"attributes":{"a":2},"geometry":null},` +
			`{"attributes":{},"geometry":{"x":"NaN","y":"NaN"}},{"attributes":{},"geometry":{"points":[[1,2]]}},{"attributes":{"a":3},"centroid":{"x":1,"y":2}},{"attributes":{},"geometry":{"curvePaths":[]}}]}`, jsonrecords.Options{Want: points},
			[]string{`a=1 t="1970-01-01T00:00:01.5Z" {"type":"Point","coordinates":[1,2]}`, "a=2", "", `{"type":"MultiPoint","coordinates":[[1,2]]}`, `a=3 {"type":"Point","coordinates":[1,2]}`,
				"1: " + jsonrecords.ReasonCurves + ": curvePaths"}, ""},
		"rings of ArcGIS": {`{"features":[{"geometry":{"rings":[[[0,0],[0,9],[9,9],[9,0],[0,0]],[[1,1],[2,1],[2,2],[1,1]],[[20,0],[20,1],[21,1],[20,0]]]},"attributes":{"a":1}},{"attributes":{},"geometry":{"paths":[[[0,0],[1,1]]],"spatialReference":{"wkid":4269}}},` +
			`{"attributes":{},"geometry":{"rings":[]}}]}`, jsonrecords.Options{Want: polygons},
			[]string{`a=1 {"type":"MultiPolygon","coordinates":[[[[0,0],[0,9],[9,9],[9,0],[0,0]],[[1,1],[2,1],[2,2],[1,1]]],[[[20,0],[20,1],[21,1],[20,0]]]]}`, `{"type":"MultiLineString","coordinates":[[[0,0],[1,1]]]}`, "1: " + source.ReasonNoArea},
			"coordinates are in EPSG:4269 and taken as WGS84"},
	} {
		lines, notes, missing, err := read(strings.NewReader(tc.text), tc.o)
		if err != nil || missing != nil {
			t.Errorf("%s: %v, %v", name, err, missing)
		}
		if d := cmp.Diff(tc.want, lines); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		// The list that is read is always told.
		notes = slices.DeleteFunc(notes, func(n string) bool {
			return strings.HasPrefix(n, "f.json: the records are those of its member") && !strings.Contains(n, "other lists")
		})
		if all := strings.Join(notes, "\n"); !strings.Contains(all, tc.note) || tc.note == "" && all != "" {
			t.Errorf("%s: notes %q, want %q", name, all, tc.note)
		}
	}
}

func TestRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:            "is empty; it should be a list of objects",
		`[[1,2]]`:     "is a list of arrays; make it a list of objects",
		`[{"a":1},{"`: "it is truncated: fetch it again",
		`[{"a":01}]`:  "not JSON: line 1",
		`{"error":{"code":499,"message":"Token Required","details":["x"]}}`: `is the error of a service and no data: "499 Token Required [\"x\"]"`,
		`{"error":"no key"}`:                   `no data: "no key"`,
		`{"data":[{"a":1}],"error":{"odd":1}}`: `no data: "{\"odd\":1}"`,
		`{"data":[{"a":1}],"error":null}`:      "",
		`{"features":[{"attributes":{},"geometry":{"x":1,"y":2}}],"spatialReference":{"wkid":102100}}`:                           "f.json: coordinates are in EPSG:3857; convert them to longitude and latitude (WGS84) first (ogr2ogr -t_srs EPSG:4326 out.geojson f.json); or ask the service for degrees by adding outSR=4326",
		`{"features":[{"attributes":{},"geometry":{"x":1,"y":2,"spatialReference":{"wkid":31467,"latestWkid":31467}}}]}`:         "EPSG:31467",
		`{"features":[{"attributes":{},"geometry":{"x":1,"y":2}}],"spatialReference":{"wkt":"PROJCS[\"x\",GEOGCS[\"y\"]]"}}`:     "outSR=4326",
		`{"features":[{"attributes":{},"geometry":{"x":1,"y":2}}],"exceededTransferLimit":true}`:                                 "is one page of several, says its exceededTransferLimit",
		`{"count":9,"next":"https://example.org/?page=2","results":[{"a":1}]}`:                                                   "is one page of several, says its next",
		`{"next":null,"results":[{"a":1}],"links":{"self":"x","next":null}}`:                                                     "",
		`{"data":[{"a":1}],"links":{"next":{"href":"x"}}}`:                                                                       `says its link "next"`,
		`{"data":[{"a":1}],"links":{"next":"x"}}`:                                                                                `says its link "next"`,
		`{"elements":[{"type":"node","id":1,"lat":1,"lon":2,"tags":{}}],"remark":"runtime error: Query timed out in \"query\""}`: "Overpass has not finished",
		`{"a":"` + strings.Repeat("x", 70<<10) + `"}`:                                                                            jsonrecords.ErrSingle.Error(),
		`{"pad":"` + strings.Repeat("x", 70<<10) + `","links":[{"b":1}],"data":[{"a":1}]}`:                                       "",
		strings.Repeat(`{"a":`, 1e5): "nested deeper than 200",
	} {
		_, _, missing, err := read(strings.NewReader(text), jsonrecords.Options{Want: points})
		if got := fmt.Sprint(errors.Join(err, missing)); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%.200s: %s, want %s", text, got, want)
		}
	}
	if _, _, _, err := read(strings.NewReader(`[{"a":1}]`), jsonrecords.Options{List: "a"}); err == nil || !strings.Contains(err.Error(), `is a list itself and has no member "a"`) {
		t.Error(err)
	}
	if _, _, _, err := read(strings.NewReader(`{"hits":{"total":{"value":1},"a":1}}`), jsonrecords.Options{List: "hits"}); err == nil || !strings.Contains(err.Error(), `its member "hits" is no list of objects`) {
		t.Error(err)
	}
	if _, _, _, err := read(strings.NewReader(`{"data":[{"a":1}]}`), jsonrecords.Options{List: "rows"}); err == nil || !strings.Contains(err.Error(), `its member "rows" is no list of objects`) {
		t.Error(err)
	}
}

// What is too large is counted and not kept.
func TestBounds(t *testing.T) {
	var many strings.Builder
	many.WriteString(`[{"first":1`)
	for i := range 1_000_000 {
		fmt.Fprintf(&many, `,"c%d":1`, i)
	}
	many.WriteString(`}]`)
	long := strings.Repeat("x", 300<<10)
	for text, want := range map[string]string{
		many.String():                                           "lost 999001 c999: it is behind the first 1000 of the record",
		`[{"a":1,"b":"` + long + `"}]`:                          "a=1 lost 1 b: it is longer than 262144 bytes",
		`[{"a":1,"` + long + `":2}]`:                            "a=1 lost 1 xxx",
		`[{"a":1e999,"b":-1e-999}]`:                             "a=1e999 b=-1e-999",
		`[{"a":"` + strings.Repeat(`\n`, 8<<20) + `"}]`:         "lost 1 a: it is longer",
		`[{"a":1},{"b":"` + strings.Repeat("y", 65<<20) + `"}]`: "1: record is too long: more than 64 MiB",
	} {
		lines, _, _, err := read(strings.NewReader(text), jsonrecords.Options{})
		if err != nil || !strings.Contains(strings.Join(lines, "\n"), want) {
			t.Errorf("%.100s: %.300q %v, want %s", text, lines, err, want)
		}
	}
}

func TestLook(t *testing.T) {
	pad := strings.Repeat(" ", 1)
	for text, want := range map[string]jsonrecords.Verdict{
		`[`:                                      jsonrecords.Rows,
		`{"type":"FeatureCollection","features"`: jsonrecords.Features,
		`{"features":[{"type":"Feature"`:         jsonrecords.Features,
		`{"features":[{"geometry":{"coordinates":[`:                     jsonrecords.Features,
		`{"features":[{"geometry":{"rings":[[[`:                         jsonrecords.Unknown,
		`{"features":[{"attributes":{"a":1}}`:                           jsonrecords.Rows,
		`{"features":[{"geometry":{"x":1,"y":2},"attributes":{"a":1}},`: jsonrecords.Rows,
		`{"features":[]}`:                 jsonrecords.Rows,
		`{"type":"Point","coordinates":[`: jsonrecords.Features,
		`{"type":"Point","lat":1}`:        jsonrecords.Rows,
		`{"type":"Topology","arcs":[`:     jsonrecords.Features,
		`{"arcs":[[`:                      jsonrecords.Unknown,
		`{"geometry":{"a":`:               jsonrecords.Unknown,
		`{"name":"`:                       jsonrecords.Unknown,
		`{"data":[{"a":1},`:               jsonrecords.Rows,
		`{"links":[{"a":1}],"features":[`: jsonrecords.Unknown,
		`{"a":1}` + "\n" + `{"type":"Feature","geometry":null}`: jsonrecords.Features,
		`{"a":1}` + "\n" + `{"a":`:                              jsonrecords.Rows,
		pad:                                                     jsonrecords.Unknown,
	} {
		if got := jsonrecords.Look([]byte(text)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// flatten is what the columns of a record should be, by encoding/json.
func flatten(into map[string]any, prefix string, v map[string]any, depth int) {
	for name, v := range v {
		inner, is := v.(map[string]any)
		switch {
		case is && len(inner) == 0:
		case is && depth < 6:
			flatten(into, prefix+name+".", inner, depth+1)
		default:
			into[prefix+name] = v
		}
	}
}

func value(depth int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.String().AsAny(), rapid.Int32().AsAny(),
		rapid.Float64Range(-1e9, 1e9).AsAny(), rapid.SliceOfN(rapid.Int8(), 0, 3).AsAny(), rapid.StringMatching(`["\\{}\[\]:, ]*`).AsAny(),
	}
	if depth > 0 {
		kinds = append(kinds, rapid.MapOfN(rapid.StringMatching(`[a-zé"\\ {}]{1,6}`), value(depth-1), 0, 4).AsAny())
	}
	return rapid.OneOf(kinds...)
}

// The columns of records are those that encoding/json reads.
func TestDifferential(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		record := rapid.MapOfN(rapid.StringMatching(`[a-zé"\\ {}]{1,6}`), value(8), 1, 6)
		records := rapid.SliceOfN(record, 1, 5).Draw(t, "records")
		indent := rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "indent")
		text, err := json.MarshalIndent(records, "", indent)
		if err != nil {
			t.Fatal(err)
		}
		r := jsonrecords.New(bufio.NewReaderSize(strings.NewReader(string(text)), 256<<10), "f", jsonrecords.Options{Said: &said.Said{}})
		n := 0
		for f, err := range r.Features() {
			if err != nil {
				t.Fatal(err)
			}
			var plain map[string]any
			again, _ := json.Marshal(records[n])
			if err := json.Unmarshal(again, &plain); err != nil {
				t.Fatal(err)
			}
			want, got := map[string]any{}, map[string]any{}
			flatten(want, "", plain, 1)
			for _, m := range f.Members {
				var v any
				if err := json.Unmarshal(m.Value, &v); err != nil {
					t.Fatalf("%s=%s: %v", m.Name, m.Value, err)
				}
				got[m.Name] = v
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatal(d)
			}
			n++
		}
		if n != len(records) {
			t.Fatalf("%d records of %d", n, len(records))
		}
	})
}

// Whatever the text is, reading ends, and what it yields is bounded and JSON.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`[{"a":1,"b":{"c":[1]}},{"_id":{"$oid":"x"},"d":{"$date":{"$numberLong":"1"}}}]`,
		`{"hits":{"hits":[{"_id":"1","_source":{"a":{"b":1}}}]}}`, `{"error":{"message":"x"}}`,
		`{"elements":[{"type":"way","id":1,"tags":{"a":"b"},"geometry":[{"lat":1,"lon":2},null],"center":{"lat":1,"lon":2}}],"remark":"x"}`,
		`{"fields":[{"name":"t","type":"esriFieldTypeDate"}],"spatialReference":{"wkid":4326},"features":[{"attributes":{"t":1},"geometry":{"rings":[[[0,0],[0,1],[1,1],[0,0]]]}}]}`,
		"\x1e{\"a\":NaN}\n{\"\":{\"\":{}}}", `{"type":"Feature","properties":{"a\"":"\\"}}`,
	} {
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, shapes bool) {
		jsonrecords.Look([]byte(text))
		o := jsonrecords.Options{Want: points, Said: &said.Said{}}
		if shapes {
			o.Want = polygons
		}
		r := jsonrecords.New(bufio.NewReaderSize(strings.NewReader(text), 256<<10), "f", o)
		for f, err := range r.Features() {
			if bad := (*source.BadRecord)(nil); err != nil && !errors.As(err, &bad) {
				break
			}
			for _, m := range f.Members {
				value := strings.NewReplacer("-Infinity", "0", "Infinity", "0", "NaN", "0").Replace(string(m.Value))
				if !json.Valid([]byte(strings.ToValidUTF8(value, "?"))) {
					t.Fatalf("%s=%q", m.Name, m.Value)
				}
			}
		}
		r.Notes()
	})
}

// BenchmarkRead reads records of ten columns.
func BenchmarkRead(b *testing.B) {
	for name, record := range map[string]string{
		"flat":   `{"id":"s-%[1]d","name":"Café Ostowendau","category":"cafe","price":39.14,"opened":"1960-01-01","postcode":"07171","latitude":-39.511124,"longitude":21.439537,"stars":4,"open":true}`,
		"nested": `{"id":"s-%[1]d","name":"Café Ostowendau","category":"cafe","price":39.14,"opened":"1960-01-01","location":{"lat":-39.511124,"lon":21.439537},"address":{"city":"Yarreovo","street":"Weg","postcode":"07171"}}`,
	} {
		b.Run(name, func(b *testing.B) {
			const records = 10000
			var text strings.Builder
			for i := range records {
				fmt.Fprintf(&text, record+"\n", i)
			}
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			for b.Loop() {
				r := jsonrecords.New(bufio.NewReaderSize(strings.NewReader(text.String()), 256<<10), "f", jsonrecords.Options{Want: points, Said: &said.Said{}})
				for f, err := range r.Features() {
					if err != nil || len(f.Members) != 10 {
						b.Fatal(len(f.Members), err)
					}
				}
			}
			b.ReportMetric(math.Round(records*float64(b.N)/b.Elapsed().Seconds()), "records/s")
		})
	}
}

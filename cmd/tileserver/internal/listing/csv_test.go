package listing

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/internal/csvcell"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/testrace"
	"quadrille/quadkey"
)

// written returns a list of features in the form with a name.
func written(t testing.TB, form string, l List, next string, all ...feature.Feature) string {
	t.Helper()
	i := slices.IndexFunc(Formats, func(f *Format) bool { return f.Name == form })
	l.Format = Formats[i]
	if l.Spec == nil {
		l.Spec = &Spec{Name: "things"}
	}
	dst := l.Begin(nil)
	of := ""
	if l.SeveralCollections {
		of = "shops"
	}
	for i := range all {
		var err error
		if dst, err = l.Append(dst, &all[i], of); err != nil {
			t.Fatal(err)
		}
	}
	return string(l.End(dst, next))
}

// compact returns the properties of a JSON object.
func compact(t testing.TB, object string) feature.Properties {
	t.Helper()
	text, err := feature.AppendProperties(nil, []byte(object))
	if err != nil {
		t.Fatal(err)
	}
	return feature.CompactProperties(text[1 : len(text)-1])
}

// A table has the columns of the list and of the schema, and all values.
func TestTables(t *testing.T) {
	schema := feature.Schema{{Name: "a", Kind: feature.Any}, {Name: "id", Kind: feature.Any}, {Name: "name", Kind: feature.Text},
		{Name: "p.x", Kind: feature.Any}}
	at := quadkey.Position{Lat: 47.5, Lon: -8.25}
	of := func(id, properties string) feature.Feature {
		return feature.Feature{ID: id, Position: at, DistanceM: 12.34, Version: 7, Properties: compact(t, properties)}
	}
	area := of("r", `{"name":"R"}`)
	area.Geometry = feature.GeoJSONGeometry([]byte(`{"type":"MultiPolygon","coordinates":[[[[1,2],[3,4.5],[1,2]]],[[[5,6],[7,8],[5,6]]]]}`))
	unknown := of("u", `{}`)
	unknown.Geometry = feature.NoGeometry
	for _, c := range []struct {
		what string
		list List
		of   []feature.Feature
		want string
	}{
		{"no features", List{Spec: &Spec{Open: true}, Schema: schema}, nil, "id,name,a,p.id,p.p.x,lat,lon\r\n"},
		{"open layer", List{Spec: &Spec{Open: true}, Schema: schema,
			Writer: feature.Writer{NestProperties: true, WithVersion: true, WithDistance: true}},
			[]feature.Feature{
				of("1", `{"id":2,"a":null,"name":"","p.x":true,"more":1}`),
				of("x y", `{"a":["b",{"c":"d\"e"}],"name":"ü, \"v\"\nw"}`),
			},
			"id,name,a,p.id,p.p.x,lat,lon,distance_m,version,expires\r\n" +
				"1,\"\",,2,true,47.5,-8.25,12.3,7,\r\n" +
				"x y,\"ü, \"\"v\"\"\nw\",\"[\"\"b\"\",{\"\"c\"\":\"\"d\\\"\"e\"\"}]\",,,47.5,-8.25,12.3,7,\r\n"},
		{"more than the schema", List{Spec: &Spec{Open: true}, Schema: schema[:1], UnlistedProperties: true},
			[]feature.Feature{of("1", `{"a":2,"more":"x;=1","b":[1,"c"],"none":null}`), of("2", `{"a":3}`)},
			"id,a,lat,lon,more\r\n1,2,47.5,-8.25,\"{\"\"more\"\":\"\"x;'=1\"\",\"\"b\"\":[1,\"\"c\"\"]}\"\r\n2,3,47.5,-8.25,\r\n"},
		{
			"fields, of more than the schema",
			List{Spec: &Spec{Open: true}, Schema: schema, UnlistedProperties: true, Writer: feature.Writer{Fields: []string{"a"}}},
			[]feature.Feature{of("1", `{"b":1,"a":1}`)},
			"id,a,lat,lon\r\n1,1,47.5,-8.25\r\n",
		},
		{"no id", List{Schema: schema[2:3]}, []feature.Feature{of("", `{"name":"N"}`)}, "id,name,lat,lon\r\n,N,47.5,-8.25\r\n"},
		{
			"layer that knows ids",
			List{Schema: schema},
			[]feature.Feature{of("1", `{"id":1,"name":"N","a":1e3}`)},
			"id,name,a,p.x,lat,lon\r\n1,N,1000,,47.5,-8.25\r\n",
		},
		{
			"some fields",
			List{Spec: &Spec{Open: true}, Schema: schema, Writer: feature.Writer{Fields: []string{"a"}}},
			[]feature.Feature{of("1", `{"name":"N","a":1}`)},
			"id,a,lat,lon\r\n1,1,47.5,-8.25\r\n",
		},
		{
			"several collections",
			List{Schema: schema[2:3], SeveralCollections: true},
			[]feature.Feature{of("1", `{}`)},
			"id,collection,name,lat,lon\r\n1,shops,,47.5,-8.25\r\n",
		},
		{"no geometry", List{Shapes: true, Writer: feature.Writer{SkipGeometry: true}}, []feature.Feature{area}, "id\r\nr\r\n"},
		{
			"areas",
			List{Shapes: true},
			[]feature.Feature{area, unknown},
			"id,lat,lon,wkt\r\nr,47.5,-8.25,\"MULTIPOLYGON(((1 2,3 4.5,1 2)),((5 6,7 8,5 6)))\"\r\nu,47.5,-8.25,\r\n",
		},
		{"projected", List{Shapes: true, Axes: [2]string{"x", "y"}, Writer: feature.Writer{Position: func(dst []byte, p quadkey.Position) []byte {
			return feature.AppendPosition(dst, quadkey.Position{Lat: 2 * p.Lat, Lon: 2 * p.Lon})
		}}}, []feature.Feature{area}, "id,x,y,wkt\r\nr,-16.5,95,\"MULTIPOLYGON(((2 4,6 9,2 4)),((10 12,14 16,10 12)))\"\r\n"},
	} {
		if got := written(t, "csv", c.list, "next", c.of...); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.what, got, c.want)
		}
		decoded := slices.Clone(c.of)
		for i := range decoded {
			var list []feature.Property
			for name, v := range decoded[i].Properties.All() {
				if v.Kind() == feature.Text {
					v = feature.TextValue([]byte(v.Text()))
				}
				list = append(list, feature.Property{Name: name, Value: v})
			}
			decoded[i].Properties = feature.PropertiesOf(list...)
		}
		if got := written(t, "csv", c.list, "next", decoded...); got != c.want {
			t.Errorf("%s, of values:\n%s\nwant\n%s", c.what, got, c.want)
		}
	}
	expires := of("1", `{}`)
	expires.Expires = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if got := written(t, "csv", List{Writer: feature.Writer{WithVersion: true}}, "", expires); !strings.HasSuffix(got,
		",7,2026-01-02T03:04:05Z\r\n") {
		t.Error(got)
	}
}

// Well-known text has the same geometries as GeoJSON.
func TestWKT(t *testing.T) {
	for geojson, want := range map[string]string{
		`{"type":"Point","coordinates":[1,-2.5]}`:                                    "POINT(1 -2.5)",
		`{"type":"MultiPoint","coordinates":[[1,2],[3,4]]}`:                          "MULTIPOINT((1 2),(3 4))",
		`{"type":"LineString","coordinates":[[1,2],[3,4]]}`:                          "LINESTRING(1 2,3 4)",
		`{"type":"MultiLineString","coordinates":[[[1,2],[3,4]],[[5,6],[7,8]]]}`:     "MULTILINESTRING((1 2,3 4),(5 6,7 8))",
		`{"type":"Polygon","coordinates":[[[1,2],[3,4],[1,2]],[[5,6],[7,8],[5,6]]]}`: "POLYGON((1 2,3 4,1 2),(5 6,7 8,5 6))",
		`{"type":"MultiPolygon","coordinates":[[[[-1,2],[3,4],[-1,2]]]]}`:            "MULTIPOLYGON(((-1 2,3 4,-1 2)))",
		`null`: "",
	} {
		if got := string(appendWKT(nil, []byte(geojson))); got != want {
			t.Errorf("%s: %s, want %s", geojson, got, want)
		}
	}
}

// No cell begins like a formula, whatever separator a program assumes. Other texts do not change.
func TestFormulas(t *testing.T) {
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "@SUM(A1)": "'@SUM(A1)", "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0", "-2+3+cmd": "'-2+3+cmd", "\tx": "'\tx",
		"+41 44 668 18 00": "+41 44 668 18 00", "-5.5": "-5.5", "+1 (555) 123-4567": "+1 (555) 123-4567", "-": "-", "a=b": "a=b", "'=x": "'=x",
		"=HYPERLINK(\"x\",\"y\")": `"'=HYPERLINK(""x"",""y"")"`, "\r=1": "\"'\r'=1\"", "\n=1": "\"'\n'=1\"",
		"\uff1d1":              "'\uff1d1",
		"\uff20x":              "'\uff20x",
		"\uff0bcmd":            "'\uff0bcmd",
		"\uff0dcmd":            "'\uff0dcmd",
		"\uff0b41 44":          "\uff0b41 44",
		"ü\uff1d":              "ü\uff1d",
		"x;=cmd|' /C calc'!A0": "x;'=cmd|' /C calc'!A0", "x\t=1": "x\t'=1", "x|@y": "x|'@y", "x\n-y": "\"x\n'-y\"", "x\r\n+y": "\"x\r\n'+y\"",
		"x;\"=1\"": `"x;'""=1"""`, "x; =1": "x;' =1", " =1": "' =1", `"=1`: `"'""=1"`, "=1;=2": "'=1;'=2", "x;\uff1d1": "x;'\uff1d1",
		"x;-5":       "x;-5",
		"x;+41 1;-5": "x;'+41 1;-5",
		"+5|cmd":     "'+5|cmd",
		"x;y|z\tw":   "x;y|z\tw",
		"a,=b":       `"a,=b"`,
		";x":         ";x",
		"x;":         "x;",
		"x\r\ny":     "\"x\r\ny\"",
	} {
		if got := string(appendTextCell(nil, text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	nested := List{Spec: &Spec{Open: true}, Schema: feature.Schema{{Name: "a", Kind: feature.Any}}}
	f := feature.Feature{ID: "1", Properties: compact(t, `{"a":["x;=1","|\"@y"]}`)}
	if got, want := written(t, "csv", nested, "", f), `1,"[""x;'=1"",""|\""@y""]",0,0`; !strings.Contains(got, want) {
		t.Errorf("in a list: %q, want %q", got, want)
	}
	list := List{Spec: &Spec{Open: true}, Schema: feature.Schema{{Name: "=1+1", Kind: feature.Text}}}
	if got := written(t, "csv", list, "", feature.Feature{ID: "=2"}); got != "id,'=1+1,lat,lon\r\n'=2,,0,0\r\n" {
		t.Errorf("names and ids: %q", got)
	}
}

// For any text, a CSV reader returns the written cells.
func FuzzTable(f *testing.F) {
	f.Add("plain", "a,b", `"`)
	f.Add("", " ", "\r\n")
	f.Add("=1", "'", "é\u2028")
	f.Add(";=1|@2", "\uff1d\n\"+x", "a;=b")
	f.Fuzz(func(t *testing.T, id, name, nested string) {
		object, err := json.Marshal(map[string]any{"name": name, "list": []string{nested}})
		if err != nil {
			t.Fatal(err)
		}
		properties, err := feature.AppendProperties(nil, object)
		if err != nil {
			t.Skip()
		}
		table := List{Spec: &Spec{Open: true}, Schema: feature.Schema{{Name: "list", Kind: feature.Texts},
			{Name: "name", Kind: feature.Text}}}
		text := written(t, "csv", table, "", feature.Feature{ID: id,
			Properties: feature.CompactProperties(properties[1 : len(properties)-1])})
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil || len(rows) != 2 || len(rows[0]) != 5 || len(rows[1]) != 5 {
			t.Fatalf("%q: %v %q", text, err, rows)
		}
		// For programs with another separator, no cell begins like a formula either.
		for _, separator := range ";|\t" {
			for cell := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == separator || r == '\r' || r == '\n' }) {
				if cell, _, _ = strings.Cut(strings.TrimLeft(cell, `" `), ","); string(csvcell.Guard([]byte(strings.TrimRight(cell, `"`)), 0)) != strings.TrimRight(cell, `"`) {
					t.Errorf("%q: %q is a formula", text, cell)
				}
			}
		}
		var known struct {
			Name string
			List []string
		}
		if err := json.Unmarshal(properties, &known); err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{id, known.Name} {
			want = string(csvcell.Guard([]byte(want), 0))
			want = strings.ReplaceAll(want, "\r\n", "\n") // as the reader has all ends of lines
			if rows[1][i] != want {
				t.Errorf("%q: %q, want %q", text, rows[1][i], want)
			}
		}
		var got, want []string
		list, err := json.Marshal(known.List)
		if err == nil {
			err = json.Unmarshal(csvcell.Guard(list, 0), &want)
		}
		if err := errors.Join(err, json.Unmarshal([]byte(rows[1][2]), &got)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v %q, want %q", text, err, got, want)
		}
	})
}

// TestListsAllocateNothing tests that writing a feature allocates nothing in any form, once the
// buffer has room for it.
func TestListsAllocateNothing(t *testing.T) {
	testrace.SkipUnderRace(t, "the race detector allocates")
	f, schema := shop(t)
	for _, form := range Formats {
		l := List{
			Spec:   &Spec{Name: "points", Open: true},
			Format: form,
			Schema: schema,
			Writer: feature.Writer{GeoJSON: form.GeoJSON, NestProperties: true, WithVersion: true, WithDistance: true},
		}
		dst := l.Begin(make([]byte, 0, 1<<16))
		if n := testing.AllocsPerRun(100, func() { dst, _ = l.Append(dst[:0], &f, "") }); n > 0 {
			t.Errorf("%s: %v allocations a feature", form.Name, n)
		}
	}
}

// shop returns a typical point with its schema.
func shop(t testing.TB) (feature.Feature, feature.Schema) {
	f := feature.Feature{ID: "zh-1024", Position: quadkey.Position{Lat: 47.3769, Lon: 8.5417}, DistanceM: 812.5, Version: 1_790_000_000_000}
	f.Properties = compact(t,
		`{"name":"Café \"Odeon\", Bellevue","category":"cafe","price":4.5,"open":true,"since":"1911-07-01","tags":["wifi","terrace"],"address":{"city":"Zürich","street":"Limmatquai 2"}}`)
	var schema feature.Schema
	for name := range f.Properties.All() {
		schema = append(schema, feature.Field{Name: name, Kind: feature.Any})
	}
	schema, err := feature.NewSchema(schema)
	if err != nil {
		t.Fatal(err)
	}
	return f, schema
}

func BenchmarkLists(b *testing.B) {
	f, schema := shop(b)
	for _, form := range Formats {
		b.Run(form.Name, func(b *testing.B) {
			l := List{
				Spec:   &Spec{Name: "points", Open: true},
				Format: form,
				Schema: schema,
				Writer: feature.Writer{GeoJSON: form.GeoJSON, NestProperties: true, WithVersion: true},
			}
			dst := l.Begin(nil)
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = l.Append(dst[:0], &f, "")
			}
			b.SetBytes(int64(len(dst)))
		})
	}
}

// An invalid form panics at the start, with advice.
func TestRegisterRefuses(t *testing.T) {
	before := len(Formats)
	item := Formats[0].Item
	for want, f := range map[string]*Format{
		"give it the function that writes a feature": {Name: "x"},
		"give each its own": {Name: "csv", Item: item,
			Format: web.NewFormat(web.Media{Name: "listing-test", Type: "x/x"})},
		"one web.Format": {Name: "x", Item: item}, // the form of JSON
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, want) {
					t.Errorf("%q, want %q", text, want)
				}
			}()
			Register(f)
		}()
	}
	if len(Formats) != before {
		t.Error("one is registered")
	}
}

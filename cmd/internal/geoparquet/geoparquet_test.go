package geoparquet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/paulmach/orb"
	"pgregory.net/rapid"

	"quadrille/feature"
	"quadrille/quadkey"
)

// written writes features without properties, and opens the file.
func written(t *testing.T, o Options, list ...feature.Feature) *parquet.File {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, o)
	for i := range list {
		if err := w.Write(&list[i], make([]feature.Value, len(o.Columns))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Pages and encodings are those that all readers know, of every kind of column.
func TestOldPages(t *testing.T) {
	var o Options
	for k := feature.Text; k <= feature.RegionID; k++ {
		o.Columns = append(o.Columns, feature.Field{Name: fmt.Sprint("c", k), Kind: k})
	}
	f := written(t, o, feature.Feature{})
	for _, c := range f.Metadata().RowGroups[0].Columns {
		for _, e := range c.MetaData.Encoding {
			if name := e.String(); name != "PLAIN" && name != "RLE" {
				t.Errorf("%s has the encoding %s", c.MetaData.PathInSchema, name)
			}
		}
		for _, pages := range c.MetaData.EncodingStats {
			if name := pages.PageType.String(); name != "DATA_PAGE" {
				t.Errorf("%s has pages of the type %s", c.MetaData.PathInSchema, name)
			}
		}
		if len(c.MetaData.EncodingStats) == 0 {
			t.Errorf("%s has no pages", c.MetaData.PathInSchema)
		}
	}
}

// Large geometries end a row group before it has many rows, and no statistics repeat them.
func TestRowGroupsAreBounded(t *testing.T) {
	line := make(orb.LineString, 1<<16) // a MiB
	for i := range line {
		line[i] = orb.Point{float64(i) / 1000, float64(i%90) / 7}
	}
	list := make([]feature.Feature, 20)
	for i := range list {
		list[i] = feature.Feature{Geometry: feature.OrbGeometry(line)}
	}
	f := written(t, Options{}, list...)
	groups := f.Metadata().RowGroups
	if len(groups) != 3 || groups[0].NumRows != 8 {
		t.Errorf("%d row groups, the first of %d rows", len(groups), groups[0].NumRows)
	}
	if c := groups[0].Columns[0].MetaData; c.TotalUncompressedSize > 9<<20 || c.Statistics.MinValue != nil {
		t.Errorf("8 MiB of geometries take %d bytes, with statistics of %d", c.TotalUncompressedSize, len(c.Statistics.MinValue))
	}
	box := groups[0].Columns[1].MetaData
	if box.PathInSchema[1] != "xmin" || len(box.Statistics.MinValue) != 4 || groups[0].Columns[1].ColumnIndexOffset == 0 {
		t.Errorf("no statistics of the boxes: %+v", box)
	}
}

// Names differ even without case, and those that can stay do.
func TestDistinctNames(t *testing.T) {
	var got []string
	fields := []feature.Field{{Name: "name"}, {Name: "BBOX"}, {Name: "ID"}, {Name: "Name"}, {Name: "NAME"}, {Name: "p.Name"}, {Name: "price"}, {Name: "Geometry"}}
	Distinct(fields, "id")
	for _, f := range fields {
		got = append(got, f.Name)
	}
	if want := []string{"name", "p.BBOX", "p.ID", "p.Name", "p.p.NAME", "p.p.p.Name", "price", "p.Geometry"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Memory is told from the start, and grows only with a footer that is larger than usual.
func TestMemoryOfManyColumns(t *testing.T) {
	columns := make([]feature.Field, 1000)
	for i := range columns {
		columns[i] = feature.Field{Name: fmt.Sprint("c", i), Kind: feature.Number}
	}
	w := NewWriter(io.Discard, Options{Columns: columns, GroupBytes: 1 << 20})
	first := w.Memory()
	if few := NewWriter(io.Discard, Options{Columns: columns[:10], GroupBytes: 1 << 20}).Memory(); few > 4<<20 || first < 16<<20 || first > 48<<20 {
		t.Errorf("of few columns %d bytes, of many %d", few, first)
	}
	values := make([]feature.Value, len(columns))
	for i := range values {
		values[i] = feature.NumberValue(float64(i))
	}
	for range 4000 { // 36 MB
		if err := w.Write(&feature.Feature{}, values); err != nil {
			t.Fatal(err)
		}
	}
	if last := w.Memory(); last > first*3/2 {
		t.Errorf("%d bytes at first, %d then", first, last)
	}
}

// A file of nothing is a file.
func TestEmptyFile(t *testing.T) {
	for _, o := range []Options{{}, {SkipGeometry: true, Columns: []feature.Field{{Name: "id", Kind: feature.Text}}}} {
		f := written(t, o)
		text, ok := f.Lookup("geo")
		var about struct {
			Version string
			Columns map[string]struct {
				Types []string `json:"geometry_types"`
				BBox  []float64
			}
		}
		if ok && json.Unmarshal([]byte(text), &about) != nil || f.NumRows() != 0 || ok == o.SkipGeometry {
			t.Errorf("%d rows, %q", f.NumRows(), text)
		}
		if c := about.Columns[GeometryColumn]; ok && (about.Version != "1.1.0" || c.Types == nil || c.BBox != nil) {
			t.Errorf("%s", text)
		}
	}
}

// A box of 32 bits holds the box of 64 bits, and is the smallest that does.
func TestBoxesAreRoundedOutwards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(-180, 180).Draw(t, "degrees")
		low, high := outwards(v, false), outwards(v, true)
		if float64(low) > v || float64(high) < v || float64(low) < v && float64(high) > v && math.Nextafter32(low, high) != high {
			t.Errorf("%v lies in %v to %v", v, low, high)
		}
	})
	f := feature.Feature{Position: quadkey.Position{Lat: 1, Lon: math.Nextafter(180, 0)}}
	if groups := written(t, Options{}, f).Metadata().RowGroups; groups[0].NumRows != 1 {
		t.Error("no row")
	}
}

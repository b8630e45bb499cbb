package export

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"quadrille/cmd/ingest/internal/disk"
	"quadrille/cmd/internal/geoparquet"
	"quadrille/feature"
	"quadrille/internal/extsort"
	"quadrille/quadkey"
)

// FeatureLayer is a layer whose features are exported.
type FeatureLayer struct {
	feature.Layer
	Name string
	// Open is set if a property id is not the id of the feature.
	Open bool
	// ID is the only feature to export, or "" for all.
	ID string
}

// FeatureOptions set how features are exported.
type FeatureOptions struct {
	// Memory is about how many bytes the export may take, to sort ids in.
	Memory int64
	// Progress, if set, is called from time to time with the number of features.
	Progress func(done, total int64)
}

// FeatureStats describe an export of features.
type FeatureStats struct {
	Features int64
	// Notes are sentences for the user about what the file lacks.
	Notes []string
}

// IsParquet reports whether the name of a file asks for features in GeoParquet.
func IsParquet(path string) bool { return extensionOf(path) == ".parquet" }

const (
	layerColumn = "layer"
	moreColumn  = "more"
)

// WriteFeatures exports the features of layers as GeoParquet, layer by layer, each in the order of
// quadkeys. The file appears when it is complete.
func WriteFeatures(ctx context.Context, layers []FeatureLayer, path string, o FeatureOptions) (FeatureStats, error) {
	if err := checkPlace(path); err != nil {
		return FeatureStats{}, err
	}
	out, err := disk.CreatePending(path)
	if err != nil {
		return FeatureStats{}, err
	}
	t := newTable(layers)
	t.Writer = geoparquet.NewWriter(out, geoparquet.Options{Columns: t.fields})
	var total int64
	for i := range layers {
		total += max(0, layers[i].Info().Count)
	}
	for i := range layers {
		l := &layers[i]
		err = l.each(ctx, filepath.Dir(path), o.Memory/4, func(f *feature.Feature) error {
			if t.stats.Features++; o.Progress != nil && t.stats.Features%(1<<12) == 0 {
				o.Progress(t.stats.Features, max(total, t.stats.Features))
			}
			return t.write(l, f)
		})
		if err != nil {
			return FeatureStats{}, out.Finish(fmt.Errorf("%s: %w", l.Name, err))
		}
	}
	if err := out.Finish(t.Close()); err != nil {
		return FeatureStats{}, err
	}
	t.stats.Notes = t.Notes()
	if t.unlisted > 0 {
		t.stats.Notes = append(t.stats.Notes, fmt.Sprintf(
			"%d features have properties that their layer does not list, which are left out; ingest the layer again", t.unlisted))
	}
	return t.stats, nil
}

// each calls fn with the features in the order of quadkeys. That is the own order of layers of points.
// Other features are sorted by their positions; their ids take memory, and beyond it a temporary file
// in dir.
func (l *FeatureLayer) each(ctx context.Context, dir string, memory int64, fn func(f *feature.Feature) error) error {
	var f feature.Feature
	get := func(id string) error {
		if err := l.Get(ctx, id, time.Time{}, &f); err != nil {
			return err
		}
		return fn(&f)
	}
	switch {
	case l.ID != "":
		return get(l.ID)
	case l.Info().AllPoints:
		return feature.Each(l.Features(ctx, &feature.Query{}), fn)
	}
	ids := extsort.New(dir, memory)
	defer func() { _ = ids.Close() }() // only temporary files
	err := feature.Each(l.Features(ctx, &feature.Query{Detail: feature.WithoutGeometry}), func(f *feature.Feature) error {
		key, err := quadkey.PointKeyOf(f.Lon, f.Lat)
		if err != nil {
			return fmt.Errorf("%w: position of %.40q: %w", feature.ErrDamaged, f.ID, err)
		}
		return ids.Add(uint64(key), []byte(f.ID))
	})
	if err != nil {
		return err
	}
	return ids.Each(func(_ uint64, id []byte) error { return get(string(id)) })
}

// table is a file of features.
type table struct {
	*geoparquet.Writer
	fields     []feature.Field
	several    bool             // there is a column for the layer
	more       bool             // there is a column for properties without a column
	columns    *feature.Columns // of the properties, the first of which have columns
	properties int
	values     []feature.Value
	id, rest   []byte
	stats      FeatureStats
	unlisted   int64 // features with properties without a column
}

// newTable returns the columns of layers: id, layer if there are several, name, and the other
// properties. A property with the name of another column, in any case, gets a prefix, as in filters.
func newTable(layers []FeatureLayer) *table {
	t := &table{several: len(layers) > 1, fields: []feature.Field{{Name: "id", Kind: feature.Text}}}
	own := []string{"id"}
	if t.several {
		t.fields = append(t.fields, feature.Field{Name: layerColumn, Kind: feature.Text})
		own = append(own, layerColumn)
	}
	var schema feature.Schema
	for i := range layers {
		s := layers[i].Info().Schema
		t.more = t.more || len(s) >= feature.MaxFields
		if !layers[i].Open {
			s = slices.DeleteFunc(slices.Clone(s), func(f feature.Field) bool { return f.Name == "id" })
		}
		schema = schema.Merge(s)
	}
	if t.more {
		own = append(own, moreColumn)
	}
	if i := slices.IndexFunc(schema, func(f feature.Field) bool { return f.Name == "name" }); i > 0 {
		name := schema[i]
		schema = slices.Insert(slices.Delete(schema, i, i+1), 0, name)
	}
	var properties []string
	for _, f := range schema {
		properties = append(properties, f.Name)
		if strings.HasPrefix(f.Name, feature.PropertyPrefix) {
			f.Name = feature.PropertyPrefix + f.Name
		}
		t.fields = append(t.fields, f)
	}
	geoparquet.Distinct(t.fields[len(t.fields)-len(schema):], own...)
	if t.more {
		t.fields = append(t.fields, feature.Field{Name: moreColumn, Kind: feature.Any})
	}
	t.properties = len(properties)
	if !slices.Contains(properties, "id") {
		properties = append(properties, "id") // it is no rest
	}
	t.columns = feature.NewColumns(properties)
	return t
}

// write writes a feature of a layer.
func (t *table) write(l *FeatureLayer, f *feature.Feature) error {
	t.id = append(t.id[:0], f.ID...)
	if t.values = append(t.values[:0], feature.TextValue(t.id)); t.several {
		t.values = append(t.values, feature.TextValue([]byte(l.Name)))
	}
	t.values = append(t.values, t.columns.ValuesOf(f.Properties)[:t.properties]...)
	// Layers of points list all their properties, unless there are too many. Those of regions that an
	// early release published do not.
	if t.more || !l.Info().AllPoints {
		t.rest = t.columns.AppendRest(t.rest[:0], f.Properties)
		switch {
		case t.more:
			t.values = append(t.values, feature.JSONValue(t.rest))
		case len(t.rest) > 0:
			t.unlisted++
		}
	}
	return t.Write(f, t.values)
}

package boundaries

import (
	"cmp"
	"context"
	"errors"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job/features"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/format"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/jsonscan"
)

// readPolygons reads a file of polygons or lines in any supported format, and describes its source.
// each is called with every feature, or with the error of one that cannot be used. said receives
// the members of GeoJSON files outside the features, and its notes are passed on.
func readPolygons(
	ctx context.Context, files *features.Files, in Input, objects []string, said *geojson.Said, stage string, each func(source.Feature, error) error,
) ([]dataset.Source, error) {
	files.Selection = in.chosen
	f, err := files.Open(in.Input, format.Options{
		Want:     source.WantPolygons,
		Objects:  objects,
		Encoding: in.Encoding,
		Tags:     in.Tags,
		Said:     said,
		Bounds:   in.Bounds,
		Unroll:   in.LongEdges.Unroll,
	})
	if err != nil {
		return nil, err
	}
	err = f.Read(stage, func(l *format.Layer, report func()) error {
		name := in.Path
		if l.Stream != nil {
			name = f.Path
		}
		report()
		values := jsonscan.New(nil) // one for all, because its buffer is large
		for feature, err := range l.Features {
			if err := ctx.Err(); err != nil {
				return err
			}
			if bad := (*source.BadRecord)(nil); errors.As(err, &bad) {
				bad.Source = f.Path // the reader may see a converted copy
			}
			if err == nil {
				err = judge(&feature, name, values)
			}
			if err := each(feature, err); err != nil {
				return err
			}
			report()
		}
		return ctx.Err()
	})
	return f.Sources, err
}

// judge converts the geometry of a feature to polygons or lines, and decodes its properties.
func judge(f *source.Feature, name string, values *jsonscan.Scanner) error {
	var reason, detail, repair string
	if lines, ok, why, what := source.LinesOf(f.Geometry); ok {
		f.Geometry, reason, detail = lines, why, what
	} else {
		f.Geometry, repair, reason, detail = source.PolygonsOf(f.Geometry)
	}
	if reason != "" {
		return &source.BadRecord{Source: name, Line: f.Line, Reason: reason, Detail: detail}
	}
	if f.Repair = cmp.Or(f.Repair, repair); f.Members != nil {
		f.Properties = values.Decode(f.Members, &f.Lost)
	}
	return nil
}

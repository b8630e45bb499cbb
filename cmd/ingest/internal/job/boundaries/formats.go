package boundaries

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"strings"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/crs"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/geopackage"
	"quadrille/cmd/ingest/internal/source/jsonscan"
	"quadrille/cmd/ingest/internal/source/shapefile"
	"quadrille/cmd/ingest/internal/source/topojson"
	"quadrille/tiles/build"
)

// readPolygons reads a file of polygons in whatever format it has, which shows
// in its first bytes, not in its name, and describes what was read. each gets
// the features, or the errors of those that cannot be used. said gets what files of GeoJSON say of
// themselves; its notes are passed on.
func readPolygons(ctx context.Context, in Input, objects []string, said *geojson.Said, rep job.Reporter, stage string, each func(source.Feature, error) error) ([]dataset.Source, error) {
	file, layer := source.SplitLayer(in.Path)
	head, err := job.FirstBytes(file)
	if err != nil {
		return nil, err
	}
	r := polygonReader{ctx: ctx, in: in.Input, long: in.LongEdges, rep: rep, stage: stage, each: each, said: said}
	switch {
	case strings.HasPrefix(head, geopackage.Magic):
		return r.geopackage(file, layer)
	case strings.HasPrefix(head, "PK\x03\x04"), strings.HasPrefix(head, "PK\x05\x06"):
		json, err := holdsJSON(file)
		if err != nil {
			return nil, err
		}
		if !json {
			return r.shapefile(file, layer)
		}
	case strings.HasPrefix(head, "\x00\x00\x27\x0a"):
		return r.shapefile(file, layer)
	}
	if layer != "" {
		// The named object of a topology.
		objects = []string{layer}
		r.in.Path, r.object = file, layer
	}
	return r.json(objects)
}

// isJSON tells GeoJSON and TopoJSON from other files in an archive.
func isJSON(name string) bool {
	return slices.Contains(job.JSONExtensions, strings.ToLower(path.Ext(name)))
}

// holdsJSON reports whether an archive holds GeoJSON or TopoJSON, and no
// shapefile: archives of shapefiles may hold descriptions in JSON.
func holdsJSON(name string) (bool, error) {
	a, err := source.OpenArchive(name)
	if err != nil {
		return false, err
	}
	defer func() { _ = a.Close() }() // only read
	shape := func(m *zip.File) bool { return strings.EqualFold(path.Ext(m.Name), ".shp") }
	return !slices.ContainsFunc(a.Members, shape) && slices.ContainsFunc(a.Members, func(m *zip.File) bool { return isJSON(m.Name) }), nil
}

type polygonReader struct {
	ctx   context.Context
	in    job.Input
	long  build.LongEdges
	rep   job.Reporter
	stage string
	each  func(source.Feature, error) error
	said  *geojson.Said

	object string // named by the user, which only a topology has
}

// run takes the features of a sequence that are polygons or lines, and tells of the progress.
func (r *polygonReader) run(features iter.Seq2[source.Feature, error], progress func() int64, total int64, unit string) error {
	r.rep.Progress(job.Progress{Stage: r.stage, Total: total, Unit: unit})
	// One scanner reads all values, because its buffer is large.
	values := jsonscan.New(nil)
	for f, err := range features {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if err == nil {
			var reason, detail, repair string
			if lines, ok, why, what := source.Lines(f.Geometry); ok {
				f.Geometry, reason, detail = lines, why, what
			} else {
				f.Geometry, repair, reason, detail = source.Polygons(f.Geometry)
			}
			if reason != "" {
				err = &source.BadRecord{Source: r.in.Path, Line: f.Line, Reason: reason, Detail: detail}
			} else if f.Repair = cmp.Or(f.Repair, repair); f.Members != nil {
				f.Properties = values.Decode(f.Members, &f.Lost)
			}
		}
		if err := r.each(f, err); err != nil {
			return err
		}
		r.rep.Progress(job.Progress{Stage: r.stage, Done: progress(), Total: total, Unit: unit})
	}
	return r.ctx.Err()
}

// json reads GeoJSON or TopoJSON, which only reading tells apart.
func (r *polygonReader) json(objects []string) ([]dataset.Source, error) {
	read := func(reader func(io.Reader, string) iter.Seq2[source.Feature, error]) ([]dataset.Source, error) {
		f, err := r.in.Open(isJSON)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if err := job.RefuseForeign(f, job.OfShapes); err != nil {
			return nil, err
		}
		if err := r.run(reader(f, r.in.Path), f.Progress, f.Size, "bytes"); err != nil {
			if system := (*crs.Error)(nil); errors.As(err, &system) {
				system.In = []string{f.GDAL}
			}
			return nil, err
		}
		src, err := r.in.Describe(f)
		return []dataset.Source{src}, err
	}
	src, err := read(func(rd io.Reader, name string) iter.Seq2[source.Feature, error] {
		return geojson.Read(rd, name, r.said)
	})
	for _, note := range r.said.Notes {
		r.rep.Note(note)
	}
	r.said.Notes = nil
	if errors.Is(err, geojson.ErrTopology) {
		return read(func(rd io.Reader, name string) iter.Seq2[source.Feature, error] {
			return topojson.Read(rd, name, objects...)
		})
	}
	if err == nil && r.object != "" {
		return nil, fmt.Errorf("%s: is GeoJSON, which has no layers such as %s; name the file alone", r.in.Path, source.Excerpt(r.object))
	}
	return src, err
}

func (r *polygonReader) shapefile(path, layer string) ([]dataset.Source, error) {
	f, err := shapefile.Open(path, layer, source.WantPolygons)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Note != "" {
		r.rep.Note(f.Note)
	}
	f.Unroll = r.long.Unroll
	if err := r.run(f.Features(), f.Progress, f.Size, "bytes"); err != nil {
		return nil, err
	}
	return r.describe(f.Paths)
}

func (r *polygonReader) geopackage(path, layer string) ([]dataset.Source, error) {
	f, err := geopackage.Open(r.ctx, path, layer, source.WantPolygons)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Note != "" {
		r.rep.Note(f.Note)
	}
	if err := r.run(f.Features(r.ctx), f.Progress, f.Size, "records"); err != nil {
		return nil, err
	}
	return r.describe([]string{path})
}

// describe describes files that were not read from end to end.
func (r *polygonReader) describe(paths []string) ([]dataset.Source, error) {
	sources := make([]dataset.Source, len(paths))
	for i, path := range paths {
		src, err := dataset.FileSource(r.ctx, path)
		if err != nil {
			return nil, err
		}
		sources[i] = r.in.Complete(src)
	}
	return sources, nil
}

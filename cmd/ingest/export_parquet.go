package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"quadrille/ask"
	"quadrille/cmd/ingest/internal/export"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/tiles"
)

// runFeatures exports the features of layers.
func (c *exportTilesCmd) runFeatures(s *session) (err error) {
	switch {
	case c.MinZoom != 0 || c.MaxZoom != tiles.MaxZoom:
		return &usageError{errors.New("--min-zoom and --max-zoom are for tiles: leave them out for a .parquet file")}
	case c.Fields != "":
		return &usageError{errors.New("--fields is for tiles: leave it out for a .parquet file, which has all properties")}
	case c.Generation != 0:
		return &usageError{errors.New("--generation is for tiles: a .parquet file has what is published, which ingest rollback changes")}
	}
	view, done, err := s.openView()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	layers, err := featureLayers(&view, c.Layers)
	if err != nil {
		return err
	}
	stats, err := export.WriteFeatures(s.ctx, layers, c.File, export.FeatureOptions{
		Memory: int64(s.cli.Memory), Progress: job.StageOf(s.reporter, "exporting "+c.Layers, ""),
	})
	if err != nil {
		return err
	}
	info, err := os.Stat(c.File)
	if err != nil {
		return err
	}
	for _, note := range stats.Notes {
		s.reporter.Note(c.File + ": " + note)
	}
	took := time.Since(s.began)
	s.reporter.close()
	s.tell(struct {
		Event    string  `json:"event"`
		File     string  `json:"file"`
		Features int64   `json:"features"`
		Bytes    int64   `json:"bytes"`
		Seconds  float64 `json:"seconds"`
	}{"exported", c.File, stats.Features, info.Size(), took.Seconds()},
		"exported %s: %s features, %s, in %s", c.File, grouped(stats.Features), byteCount(info.Size()), took.Round(100*time.Millisecond))
	return nil
}

// featureLayers reads a list of layers: their names, or type:id for a region, joined by commas, or all
// for every type of regions.
func featureLayers(view *ask.View, list string) (layers []export.FeatureLayer, err error) {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name != "all" {
			names = append(names, name)
			continue
		}
		for _, t := range view.Boundaries.Types() {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: there are no regions; ingest boundaries publishes some", ask.ErrNoLayer)
	}
	known := map[string]bool{}
	for _, name := range names {
		if known[name] {
			continue
		}
		known[name] = true
		id := ""
		l, err := view.Layer(name)
		if typ, of, one := strings.Cut(name, ":"); one && ask.IsNoLayer(err) {
			if regions, rerr := view.Layer(typ); rerr == nil {
				if of == "" {
					return nil, fmt.Errorf("%w: %q has no id; write %s for all of them", ask.ErrNoLayer, name, typ)
				}
				l, err, name, id = regions, nil, typ, of
			}
		}
		switch {
		case ask.IsNoLayer(err):
			return nil, noLayer(view, name, "Ask the server for a live one, with format=parquet")
		case err != nil:
			return nil, err
		}
		layers = append(layers, export.FeatureLayer{Layer: l, Name: name, Open: view.IsOpen(name), ID: id})
	}
	return layers, nil
}

// noLayer returns the error for a layer that is not published, with what to do if it is a live one.
func noLayer(view *ask.View, name, ifLive string) error {
	there := "nothing is published"
	if all := view.LayerNames(); len(all) > 0 {
		there = "there are " + strings.Join(all, ", ")
	}
	return fmt.Errorf("%w: %q; %s. %s", ask.ErrNoLayer, name, there, ifLive)
}

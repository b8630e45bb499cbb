package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/export"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/feature"
	"quadrille/tiles"
	"quadrille/tiles/layertile"
)

// exportCmd has a subcommand for IP ranges. The default subcommand exports tiles.
type exportCmd struct {
	Tiles exportTilesCmd `cmd:"" default:"withargs" help:"Write the tiles of boundaries and points into a PMTiles or MBTiles file, or the features of any layer into a GeoParquet file; tiles may be left out."`
	IP    exportIPCmd    `cmd:"" name:"ip" help:"Write the IP ranges into a MaxMind DB, CSV or NDJSON file."`
}

type exportTilesCmd struct {
	Layers     string `arg:"" help:"What to export, as in a tile's address: types or type:id joined by commas, such as country,state or country:fr; all for every type. Also points:NAME, places and airports; for .parquet also stations."`
	File       string `arg:"" type:"path" help:"The file to write: its name ends in .pmtiles, .mbtiles or .parquet. One that is there is replaced."`
	MinZoom    int    `default:"0" placeholder:"Z" help:"The first zoom to write."`
	MaxZoom    int    `default:"13" placeholder:"Z" help:"The last zoom to write, at most 13, and 22 for points:NAME alone, whose clusters dissolve; maps enlarge its tiles beyond."`
	Fields     string `placeholder:"LIST" help:"Properties that features of tiles have beside their id and name, as in /tiles?fields=, at most 20; when not given, regions have what their publisher chose, and points their first 20."`
	Generation uint64 `placeholder:"GENERATION" help:"The generation of boundaries to export, as ingest list shows it, alone; when not given, all layers that are published."`
}

func (exportTilesCmd) Help() string {
	return `Writes the vector tiles of boundaries into one file for other programs. A PMTiles file is read by
maps straight from any web server; equal tiles, such as the inside of a country, cost it nothing. An MBTiles
file needs a row for each tile: leave its deepest zooms out where a small file matters. Points have the dots and
clusters of the server's tiles, and equal bytes. A live collection is with the server alone: save its points with
format=parquet, publish the file with ingest points, and export that.

A .parquet file is GeoParquet 1.1 with the features themselves, of regions, places, airports, stations or
points: a column for each property, the geometry, and the box around it, by which readers skip what lies
elsewhere. Several layers are told apart by the column layer.

  ingest export country,state world.pmtiles
  ingest export country:fr france.mbtiles --max-zoom 10
  ingest export state,points:shops shops.pmtiles --fields category
  ingest export points:shops shops.parquet`
}

func (c *exportTilesCmd) Run(s *session) (err error) {
	if export.IsParquet(c.File) {
		return c.runFeatures(s)
	}
	if err := export.Check(c.File); err != nil {
		return &usageError{err}
	}
	regions, points := splitLayers(c.Layers)
	deepest := layertile.MaxZoom
	if len(regions) > 0 {
		deepest = tiles.MaxZoom
	}
	if c.MinZoom < 0 || c.MinZoom > c.MaxZoom || c.MaxZoom > deepest {
		return &usageError{fmt.Errorf("--min-zoom %d and --max-zoom %d must be 0 to %d, the lower first", c.MinZoom, c.MaxZoom, deepest)}
	}
	if len(points) > 0 && c.Generation != 0 {
		return &usageError{errors.New("--generation is for regions alone: export points without it")}
	}
	begin := time.Now()
	o := export.Options{
		MinZoom: c.MinZoom, MaxZoom: c.MaxZoom, Memory: int64(s.cli.Memory) / 4, Dir: filepath.Dir(c.File),
		Progress: job.StageOf(s.reporter, "exporting "+c.Layers, ""),
	}
	if c.Fields != "" {
		o.Fields = feature.SplitValues(c.Fields)
	}
	reader, about := tiles.Join(), new(dataset.Manifest)
	if len(regions) > 0 {
		var from exported
		var closeAll func() error
		if reader, from, closeAll, err = openRegions(s, c.Generation); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, closeAll()) }()
		if o.Layers, err = export.Layers(s.ctx, reader, strings.Join(regions, ",")); err != nil {
			return err
		}
		about = from.of(o.Layers)
	}
	if len(points) > 0 {
		view, done, verr := s.openView()
		if verr != nil {
			return verr
		}
		defer func() { err = errors.Join(err, done()) }()
		if o.Points, err = tiledLayers(&view, points); err != nil {
			return err
		}
	}
	stats, err := export.Write(s.ctx, reader, about, c.File, o)
	if err != nil {
		return err
	}
	info, err := os.Stat(c.File)
	if err != nil {
		return err
	}
	took := time.Since(begin)
	s.reporter.close()
	s.tell(struct {
		Event    string  `json:"event"`
		File     string  `json:"file"`
		Tiles    int64   `json:"tiles"`
		Contents int64   `json:"contents"`
		Bytes    int64   `json:"bytes"`
		Seconds  float64 `json:"seconds"`
	}{"exported", c.File, stats.Tiles, stats.Contents, info.Size(), took.Seconds()},
		"exported %s: %s tiles, %s different, %s, in %s", c.File, grouped(stats.Tiles), grouped(stats.Contents),
		byteCount(info.Size()), took.Round(100*time.Millisecond))
	return nil
}

// splitLayers divides a list of layers into regions and layers of points, each of these once and in the order in which
// the server's tiles have them.
func splitLayers(list string) (regions, points []string) {
	single := new(ask.Sets).SingleLayerNames()
	of := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if strings.HasPrefix(name, ask.PointsPrefix) || slices.Contains(single, name) {
			of[name] = true
		} else {
			regions = append(regions, name)
		}
	}
	for _, name := range slices.Concat(single, slices.Sorted(maps.Keys(of))) {
		if of[name] {
			delete(of, name)
			points = append(points, name)
		}
	}
	return regions, points
}

// tiledLayers returns layers of points for the tiles of an archive.
func tiledLayers(view *ask.View, names []string) (list []*ask.Layer, err error) {
	for _, name := range names {
		l, err := view.Layer(name)
		switch {
		case ask.IsNoLayer(err):
			return nil, noLayer(view, name, "A live one is with the server alone: save its points "+
				"with format=parquet, publish the file with ingest points, and export that")
		case err != nil:
			return nil, err
		}
		if _, ok := l.Layer.(feature.Tiler); !ok {
			return nil, fmt.Errorf("%s has no tiles: export it into a .parquet file", name)
		}
		list = append(list, l)
	}
	return list, nil
}

// openRegions opens the published layers of regions as one: the layers of boundaries and of the
// separate data sets. If generation is not 0, it opens the layers of that generation of boundaries.
func openRegions(s *session, generation uint64) (r *tiles.Reader, from exported, closeAll func() error, err error) {
	var opened []*dataset.Generation
	closeAll = func() (err error) {
		for _, g := range opened {
			err = errors.Join(err, g.Close())
		}
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll())
		}
	}()
	sets := []string{ask.BoundariesName}
	if generation == 0 {
		all, err := s.catalog.Datasets(s.ctx)
		if err != nil {
			return nil, nil, closeAll, err
		}
		if published := slices.DeleteFunc(all, func(name string) bool { return !isRegions(name) }); len(published) > 0 {
			sets = published
		}
	}
	var readers []*tiles.Reader
	for _, name := range sets {
		gen, meta, err := openBoundaries(s, name, generation)
		if err != nil {
			return nil, nil, closeAll, err
		}
		opened = append(opened, gen)
		reader, err := tiles.Open(s.ctx, gen.Store, meta)
		if err != nil {
			return nil, nil, closeAll, err
		}
		readers, from = append(readers, reader), append(from, exportedFrom{reader, &gen.Manifest})
	}
	if len(readers) == 1 {
		return readers[0], from, closeAll, nil
	}
	return tiles.Join(readers...), from, closeAll, nil
}

// exported are data sets of regions, in the order in which they are joined.
type exported []exportedFrom

type exportedFrom struct {
	reader *tiles.Reader
	about  *dataset.Manifest
}

// of returns one manifest for the data sets from which layers are read. It lists the sources of all
// of them.
func (e exported) of(layers []tiles.Selector) *dataset.Manifest {
	var m dataset.Manifest
	read := map[string]bool{}
	for i, from := range e {
		used := i == 0 && len(e) == 1
		for _, l := range layers {
			if !read[l.Type] && from.reader.Has(l.Type) {
				read[l.Type], used = true, true
			}
		}
		if !used {
			continue
		}
		sources := append(slices.Clone(m.Sources), from.about.Sources...)
		if m.Generation == 0 {
			m = *from.about
		}
		m.Sources = sources
	}
	return &m
}

// openBoundaries opens a generation of a data set of regions. 0 is the published one. The caller
// closes it.
func openBoundaries(s *session, name string, generation uint64) (*dataset.Generation, tiles.Meta, error) {
	gen, err := openGeneration(s, name, generation)
	if err != nil {
		return nil, tiles.Meta{}, err
	}
	var meta tiles.Meta
	if _, err := gen.Contents(tiles.SchemaVersion, &meta); err != nil {
		_ = gen.Close() // err says more
		return nil, tiles.Meta{}, fmt.Errorf("generation %d of %s: %w", gen.Manifest.Generation, name, err)
	}
	return gen, meta, nil
}

// openGeneration opens a generation of a data set. 0 is the published one.
func openGeneration(s *session, name string, generation uint64) (*dataset.Generation, error) {
	if generation == 0 {
		return s.catalog.OpenCurrent(s.ctx, name)
	}
	return s.catalog.OpenGeneration(s.ctx, name, generation)
}

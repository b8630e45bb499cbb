// Package export writes published generations into files that other programs read:
// the vector tiles of boundaries and points as PMTiles or MBTiles, the features of any layer as GeoParquet, IP
// ranges as MaxMind DB, CSV or lines of JSON.
package export

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/sync/errgroup"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/export/mbtiles"
	"quadrille/cmd/ingest/internal/export/pmtiles"
	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/internal/nearest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/layertile"
)

// Options choose the layers, zooms and attributes of an export. Zooms are 0 to tiles.MaxZoom, and to
// layertile.MaxZoom for collections of points alone. For deeper zooms, programs that show the archive enlarge its
// deepest tiles.
type Options struct {
	Layers []tiles.Selector
	// Points are published layers that implement feature.Tiler. Their tiles have them behind the regions.
	Points           []*ask.Layer
	MinZoom, MaxZoom int
	// Fields are the properties that features have besides id and name; nil means the usual ones. One that no
	// layer has is an error.
	Fields []string
	// Memory is about how many bytes it may take to sort the tiles of points; more is sorted in Dir, or in the
	// system's directory for temporary files.
	Memory int64
	Dir    string
	// Progress, if set, is called from time to time by one goroutine with the
	// work done, as a share of total.
	Progress func(done, total int64)
}

// Stats counts the tiles of an export.
type Stats struct {
	Tiles    int64 // on the map
	Contents int64 // different ones, as far as they were recognised
}

// Check returns nil if an export of tiles to the file is possible: the extension of its name must name a
// format, and it must be possible to make or replace it.
func Check(path string) error {
	switch extensionOf(path) {
	case ".pmtiles", ".mbtiles":
	default:
		return fmt.Errorf("%s: the name must end in .pmtiles or .mbtiles for tiles, or in .parquet for features", path)
	}
	return checkPlace(path)
}

// extensionOf returns the extension of a file's name, in lower case.
func extensionOf(path string) string { return strings.ToLower(filepath.Ext(path)) }

// checkPlace returns nil if a file can be made or replaced.
func checkPlace(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: is not a file; choose another name", path)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return fmt.Errorf("%s: its directory is not there; make it first", path)
	}
	return nil
}

// Layers reads a list of layers as tile addresses have it: types, or type:id
// for a region, joined by commas, or "all". Regions are looked up, so that a
// misspelt one is an error and not an empty file.
func Layers(ctx context.Context, r *tiles.Reader, list string) ([]tiles.Selector, error) {
	var selectors []tiles.Selector
	for _, name := range strings.Split(list, ",") {
		name = strings.TrimSpace(name)
		typ, id, one := strings.Cut(name, ":")
		switch {
		case name == "":
			return nil, fmt.Errorf("%w: %q has an empty entry; remove the extra comma", tiles.ErrUnknownType, list)
		case name == "all":
			for _, t := range r.Types() {
				selectors = append(selectors, tiles.Selector{Type: t.Name})
			}
		case !slices.ContainsFunc(r.Types(), func(t tiles.TypeMeta) bool { return t.Name == typ }):
			var names []string
			for _, t := range r.Types() {
				names = append(names, t.Name)
			}
			return nil, fmt.Errorf("%w: %q; there are %s", tiles.ErrUnknownType, typ, strings.Join(names, ", "))
		case one:
			record, err := r.Region(ctx, typ, id, false)
			if err != nil {
				return nil, err
			}
			selectors = append(selectors, tiles.Selector{Type: typ, ID: tiles.RecordID(record)})
		default:
			selectors = append(selectors, tiles.Selector{Type: typ})
		}
	}
	// Every spelling of a set gives the same file.
	slices.SortFunc(selectors, func(a, b tiles.Selector) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.ID, b.ID))
	})
	return slices.CompactFunc(selectors, func(a, b tiles.Selector) bool { return a.Type == b.Type && a.ID == b.ID }), nil
}

// Write exports layers of a generation of boundaries to a file. The extension of its name decides
// the format. The file appears when it is complete. Layers without anything to show are an error.
func Write(ctx context.Context, r *tiles.Reader, m *dataset.Manifest, path string, o Options) (Stats, error) {
	if err := Check(path); err != nil {
		return Stats{}, err
	}
	if deepest := o.deepest(); o.MinZoom < 0 || o.MinZoom > o.MaxZoom || o.MaxZoom > deepest {
		return Stats{}, fmt.Errorf("zooms %d to %d cannot be exported: give two of 0 to %d, the lower first", o.MinZoom, o.MaxZoom, deepest)
	}
	if err := o.checkFields(r); err != nil {
		return Stats{}, err
	}
	d, err := describe(ctx, r, m, o)
	if err == nil {
		o.Layers, err = o.withColumns(ctx, r)
	}
	if err != nil {
		return Stats{}, err
	}
	if extensionOf(path) == ".pmtiles" {
		w, err := pmtiles.Create(path)
		if err != nil {
			return Stats{}, err
		}
		return write(ctx, r, o, w, func() error {
			metadata, err := json.Marshal(d)
			if err != nil {
				return err
			}
			return w.Finish(pmtiles.Info{
				MinZoom: uint8(o.MinZoom), MaxZoom: uint8(o.MaxZoom), Bounds: d.bounds, Center: d.center, Metadata: metadata,
			})
		})
	}
	w, err := mbtiles.Create(ctx, path)
	if err != nil {
		return Stats{}, err
	}
	return write(ctx, r, o, w, func() error {
		rows, err := mbtiles.Metadata(d.Name, d.Description, d.Attribution, d.bounds, d.center, uint8(o.MinZoom), uint8(o.MaxZoom),
			d.VectorLayers)
		if err != nil {
			return err
		}
		return w.Finish(rows)
	})
}

// deepest returns the deepest zoom of which all layers have tiles.
func (o *Options) deepest() int {
	deepest := layertile.MaxZoom
	if len(o.Layers) > 0 {
		deepest = tiles.MaxZoom
	}
	for _, l := range o.Points {
		deepest = min(deepest, layertile.Describe(&l.LayerInfo, o.tile()).MaxZoom)
	}
	return deepest
}

// tile returns the options of the tiles of points.
func (o *Options) tile() layertile.Options { return layertile.Options{Fields: o.Fields} }

// columns lists the properties that tiles have of the regions of a type.
func (o *Options) columns(t *tiles.TypeMeta) (names []string) {
	if o.Fields == nil {
		return t.Columns
	}
	for _, f := range t.ColumnFields() {
		if slices.Contains(o.Fields, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// has reports whether regions of a type are exported.
func (o *Options) has(typ string) bool {
	return slices.ContainsFunc(o.Layers, func(l tiles.Selector) bool { return l.Type == typ })
}

// checkFields returns an error if there are too many fields, or one that no layer has.
func (o *Options) checkFields(r *tiles.Reader) error {
	if len(o.Fields) > tiles.MaxColumns {
		return fmt.Errorf("%d properties are too many for tiles: choose at most %d", len(o.Fields), tiles.MaxColumns)
	}
	all := map[string]string{"id": "", "name": ""}
	for _, t := range r.Types() {
		if o.has(t.Name) {
			maps.Copy(all, t.FieldsWith(nil))
			for _, f := range t.ColumnFields() {
				all[f.Name] = ""
			}
		}
	}
	for _, l := range o.Points {
		maps.Copy(all, layertile.Describe(&l.LayerInfo, layertile.Options{}).Fields)
	}
	known := slices.Sorted(maps.Keys(all))
	for _, name := range o.Fields {
		if _, ok := all[name]; ok {
			continue
		}
		text := fmt.Sprintf("no layer has a property %.60q for tiles", name)
		if meant, near := nearest.Name(name, known); near {
			return fmt.Errorf("%s: did you mean %q?", text, meant)
		}
		return fmt.Errorf("%s: choose among %.300s", text, strings.Join(known, ", "))
	}
	return nil
}

// withColumns returns the selectors of regions with the properties that their tiles have.
func (o *Options) withColumns(ctx context.Context, r *tiles.Reader) ([]tiles.Selector, error) {
	layers := slices.Clone(o.Layers)
	for _, t := range r.Types() {
		names := o.columns(&t)
		if len(names) == 0 || !o.has(t.Name) {
			continue
		}
		columns, err := r.Columns(ctx, t.Name, names)
		if err != nil {
			return nil, err
		}
		for i := range layers {
			if layers[i].Type == t.Name {
				layers[i].Columns = columns
			}
		}
	}
	return layers, nil
}

// archive is the common interface of the formats. A content is put once, and then assigned to
// tiles, or to all descendants of a tile at a zoom.
type archive[C any] interface {
	Put(gzipped []byte) (C, error)
	Add(t quadkey.Tile, zoom uint8, c C) error
	Abort() error
}

// job is a tile on its way from the walk through a compressor to the archive.
type job[C any] struct {
	tile    quadkey.Tile
	zoom    uint8
	content *content[C]
	raw     *bytes.Buffer // of a new content
	gzipped *bytes.Buffer
	done    chan error // when gzipped is filled
}

// content is the bytes of a tile in the archive. The writer sets their place before it writes a
// second tile with the same bytes.
type content[C any] struct{ at C }

// ahead bounds the number of tiles between the walk and the archive, and thereby their memory.
const ahead = 256

// write walks the tiles, compresses them on all processors and adds them to an
// archive in the order of the walk.
func write[C any](ctx context.Context, r *tiles.Reader, o Options, a archive[C], finish func() error) (_ Stats, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Abort())
		}
	}()
	var over tiles.Overlay
	if len(o.Points) > 0 {
		points, oerr := overlayOf(ctx, o)
		if oerr != nil {
			return Stats{}, oerr
		}
		defer func() { err = errors.Join(err, points.Close()) }()
		over = points
	}
	var stats Stats
	p := &pipeline[C]{order: make(chan *job[C], ahead), work: make(chan *job[C], ahead)}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.walk(gctx, r, over, o) })
	for range runtime.GOMAXPROCS(0) {
		g.Go(p.compress)
	}
	g.Go(func() (err error) {
		stats, err = p.store(gctx, o, a)
		return err
	})
	if err := g.Wait(); err != nil {
		return Stats{}, err
	}
	return stats, finish()
}

// pipeline passes tiles from the walk to the archive. walk and store run once, and compress runs
// any number of times, all at the same time.
type pipeline[C any] struct {
	order chan *job[C] // all tiles in the order of the walk
	work  chan *job[C] // the tiles to compress
	spare sync.Pool    // *bytes.Buffer
}

// buffer returns an empty buffer.
func (p *pipeline[C]) buffer() *bytes.Buffer {
	if b, ok := p.spare.Get().(*bytes.Buffer); ok {
		b.Reset()
		return b
	}
	return new(bytes.Buffer)
}

// walk sends all tiles, and closes the channels after the last.
func (p *pipeline[C]) walk(ctx context.Context, r *tiles.Reader, over tiles.Overlay, o Options) error {
	defer close(p.order)
	defer close(p.work)
	var known memory[C]
	for zoom := o.MinZoom; zoom <= o.MaxZoom; zoom++ {
		err := r.WalkWith(ctx, o.Layers, zoom, over, func(t quadkey.Tile, mvt []byte) error {
			j := &job[C]{tile: t, zoom: uint8(zoom)}
			var again bool
			if j.content, again = known.find(mvt); !again {
				j.raw, j.done = p.buffer(), make(chan error, 1)
				j.raw.Write(mvt)
				if err := send(ctx, p.work, j); err != nil {
					return err
				}
			}
			return send(ctx, p.order, j)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// compress compresses contents until there are no more.
func (p *pipeline[C]) compress() error {
	z, err := gzip.NewWriterLevel(nil, gzip.DefaultCompression)
	if err != nil {
		return err
	}
	for j := range p.work {
		j.gzipped = p.buffer()
		z.Reset(j.gzipped)
		_, err := z.Write(j.raw.Bytes())
		p.spare.Put(j.raw)
		j.done <- errors.Join(err, z.Close())
	}
	return nil
}

// store adds the tiles to the archive, each once its content is compressed.
func (p *pipeline[C]) store(ctx context.Context, o Options, a archive[C]) (stats Stats, err error) {
	told := progress{o: o}
	for j := range p.order {
		if j.raw != nil {
			select {
			case err := <-j.done:
				if err != nil {
					return stats, err
				}
			case <-ctx.Done():
				return stats, ctx.Err()
			}
			at, err := a.Put(j.gzipped.Bytes())
			if err != nil {
				return stats, err
			}
			j.content.at = at
			p.spare.Put(j.gzipped)
			stats.Contents++
		}
		if err := a.Add(j.tile, j.zoom, j.content.at); err != nil {
			return stats, err
		}
		stats.Tiles += 1 << (2 * (j.zoom - j.tile.Z))
		told.tell(j.tile, j.zoom)
	}
	return stats, nil
}

func send[T any](ctx context.Context, ch chan<- T, v T) error {
	select {
	case ch <- v:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// memory recognises tiles that have occurred before, by a hash that no two tiles share. It
// remembers at least the last quarter of a million different tiles.
type memory[C any] struct{ recent, older map[[16]byte]*content[C] }

const generation = 1 << 18

func (m *memory[C]) find(tile []byte) (c *content[C], again bool) {
	sum := sha256.Sum256(tile)
	key := [16]byte(sum[:])
	if c, again = m.recent[key]; again {
		return c, true
	}
	if c, again = m.older[key]; !again {
		c = new(content[C])
	}
	if m.recent == nil || len(m.recent) >= generation {
		m.recent, m.older = make(map[[16]byte]*content[C]), m.recent
	}
	m.recent[key] = c
	return c, again
}

// progress converts positions of the walk to a share of the whole: a zoom has about twice the
// borders of the zoom above.
type progress struct {
	o    Options
	last int64
}

const zoomUnit = 1 << 10

func (p *progress) tell(t quadkey.Tile, zoom uint8) {
	if p.o.Progress == nil {
		return
	}
	before := int64(1)<<int(zoom) - int64(1)<<p.o.MinZoom
	share := float64(t.Hilbert()+1) / math.Exp2(2*float64(t.Z))
	done := before*zoomUnit + int64(share*math.Exp2(float64(zoom))*zoomUnit)
	if done > p.last {
		p.last = done
		p.o.Progress(done, (int64(2)<<p.o.MaxZoom-int64(1)<<p.o.MinZoom)*zoomUnit)
	}
}

// description is the metadata of an archive, with the names of PMTiles.
type description struct {
	Name         string        `json:"name"`
	Description  string        `json:"description,omitempty"`
	Attribution  string        `json:"attribution,omitempty"`
	Type         string        `json:"type"`
	Version      string        `json:"version"`
	VectorLayers []vectorLayer `json:"vector_layers"`

	bounds [4]float64
	center [3]float64
}

type vectorLayer struct {
	ID          string            `json:"id"`
	Description string            `json:"description"`
	Fields      map[string]string `json:"fields"`
	MinZoom     int               `json:"minzoom"`
	MaxZoom     int               `json:"maxzoom"`
}

func describe(ctx context.Context, r *tiles.Reader, m *dataset.Manifest, o Options) (*description, error) {
	d := &description{Type: "overlay"}
	var names, types []string
	for _, l := range o.Layers {
		name := l.Type
		types = append(types, name)
		if l.ID != "" {
			name += ":" + l.ID
		}
		names = append(names, name)
	}
	credits := catalogue.AppendCredits(nil, types, m)
	for _, t := range r.Types() {
		if !o.has(t.Name) {
			continue
		}
		layer := func(id, text string, fields map[string]string) {
			from := min(max(o.MinZoom, t.MinZoom), o.MaxZoom)
			d.VectorLayers = append(d.VectorLayers, vectorLayer{id, text, fields, from, o.MaxZoom})
		}
		if t.IsLines {
			layer(t.Name+"_line", "Lines of type "+t.Name, t.FieldsWith(o.columns(&t)))
			continue
		}
		layer(t.Name, "Regions of type "+t.Name, t.FieldsWith(o.columns(&t)))
		if m.SchemaVersion > 1 {
			layer(t.Name+"_line", "Borders of type "+t.Name, map[string]string{"left": "String", "right": "String"})
			layer(t.Name+"_label", "Label points of type "+t.Name, t.LabelFields())
		}
	}
	var extent quadkey.Extent
	if err := r.Extent(ctx, o.Layers, &extent); err != nil {
		return nil, err
	}
	var generations []string
	if len(o.Layers) > 0 {
		generations = append(generations, fmt.Sprint(m.Generation))
	}
	for _, l := range o.Points {
		names = append(names, l.LayerInfo.Name)
		about := layertile.Describe(&l.LayerInfo, o.tile())
		d.VectorLayers = append(d.VectorLayers, vectorLayer{l.LayerInfo.Name, about.Text, about.Fields, o.MinZoom, o.MaxZoom})
		credits = catalogue.AppendLayerCredits(credits, l)
		extent.Add(l.Bounds())
		if l.Manifest != nil {
			generations = append(generations, fmt.Sprint(l.Manifest.Generation))
		}
	}
	d.Name, d.Version, d.Attribution = strings.Join(names, ","), strings.Join(generations, "-"), strings.Join(credits, " | ")
	d.bounds = extent.Bounds() // neither format can cross ±180°
	lon, lat, zoom := extent.CenterAndZoom(float64(o.MinZoom), float64(o.MaxZoom))
	if len(o.Layers) == 1 && len(o.Points) == 0 && o.Layers[0].ID != "" {
		var err error
		if lon, lat, err = ashore(ctx, r, o.Layers[0], lon, lat); err != nil {
			return nil, err
		}
	}
	d.center = [3]float64{lon, lat, zoom}
	return d, nil
}

// ashore returns the position if the region holds it or is too small to hold a tile. Otherwise it
// returns the middle of the largest tile inside the region: the middle of the bounds of islands
// may be far out at sea.
func ashore(ctx context.Context, r *tiles.Reader, region tiles.Selector, lon, lat float64) (float64, float64, error) {
	held := errors.New("the region holds the position")
	largest, middle := 0.0, [2]float64{lon, lat}
	err := r.Cover(ctx, region.Type, region.ID, 0, func(c *tiles.CoveredTile) error {
		if at, err := quadkey.TileAt(lon, lat, c.Tile.Z); err == nil && at == c.Tile {
			if in, err := c.Contains(lat, lon); err != nil || in {
				return cmp.Or(err, held)
			}
		}
		if c.Whole {
			b := c.Tile.Bound()
			if side := math.Ldexp(math.Cos(b.South*math.Pi/180), -int(c.Tile.Z)); side > largest { // on the sphere
				largest, middle = side, [2]float64{(b.West + b.East) / 2, (b.South + b.North) / 2}
			}
		}
		return nil
	})
	if errors.Is(err, held) {
		return lon, lat, nil
	}
	return middle[0], middle[1], err
}

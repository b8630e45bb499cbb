package boundaries

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/paulmach/orb"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/zonefinder"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/ingest/internal/source/jsonscan"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// A generation of boundaries keeps each layer in layers/TYPE.gz as it was read, with the names of
// its regions. The next generation can take layers from there. Tiles would not do: their borders are
// rounded, and would be rounded a second time, so that they would not fit the borders of other layers.
//
// The file begins with a line of JSON for the layer. Then each feature has a line of JSON and its
// geometry: as uvarints the number of polygons, of rings of each, and of points of each ring;
// then the points as two float64, little-endian.
const (
	layersDir   = "layers"
	layerSuffix = ".gz"
	layerFormat = 3 // since there are layers of lines; 2 since properties may be lists and objects
	// A line holds properties, which are bounded where they are read.
	maxLayerLine = 16 << 20
)

type layerHead struct {
	Format   int              `json:"format"`
	Type     string           `json:"type"`
	Lines    bool             `json:"lines,omitempty"` // each feature is one polygon, whose rings are its lines
	Features int              `json:"features"`
	Sources  []dataset.Source `json:"sources"`
	Patches  int              `json:"patches,omitempty"` // how many of the last sources are patches
	Columns  *layerColumns    `json:"columns,omitempty"` // absent in earlier versions, and if files differ
	InTiles  []string         `json:"in_tiles"`          // properties that tiles have; nil in earlier versions
}

type layerFeature struct {
	ID         string          `json:"id"`
	Name       string          `json:"name,omitempty"`
	Properties []layerProperty `json:"properties,omitempty"`
	LongEdges  build.LongEdges `json:"long_edges,omitempty"`
	Label      build.Label     `json:"label,omitzero"`
	FromZoom   int             `json:"from_zoom,omitempty"`
}

type layerProperty struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// KeepLayers adds the layers of a data set's published generation, of Boundaries or another, to the
// inputs of a job that replaces or adds some layers. Published layers come first and in their old
// order, whether kept or replaced, so that their keys in the store stay the same.
func KeepLayers(ctx context.Context, c *dataset.Catalog, d ask.Dataset, inputs []Input) ([]Input, error) {
	return KeepSome(ctx, c, d, inputs, Keep{})
}

// KeepSome does the same for the layers that keep selects. Inputs that are patches follow their
// layers.
func KeepSome(ctx context.Context, c *dataset.Catalog, d ask.Dataset, inputs []Input, keep Keep) ([]Input, error) {
	m, err := c.Current(ctx, d.Name)
	if errors.Is(err, dataset.ErrNoGeneration) {
		return based(inputs, 0), keep.check(d, nil, inputs) // nothing to keep
	} else if err != nil {
		return nil, err
	}
	var meta tiles.Meta
	if err := json.Unmarshal(m.Meta, &meta); err != nil {
		return nil, fmt.Errorf("generation %d of %s: %w; publish all layers anew", m.Generation, d.Name, err)
	}
	if err := keep.check(d, meta.Types, inputs); err != nil {
		return nil, err
	}
	g, err := c.OpenGeneration(ctx, d.Name, m.Generation)
	if err != nil {
		return nil, err
	}
	dir := g.Dir
	if err := g.Close(); err != nil {
		return nil, err
	}
	var out []Input
	for _, t := range meta.Types {
		var named, patches []Input
		for _, in := range inputs {
			switch {
			case in.Type != t.Name:
			case in.Patch:
				patches = append(patches, in)
			default:
				named = append(named, in)
			}
		}
		if out = append(out, named...); named != nil || !keep.keeps(t.Name, inputs) {
			continue
		}
		path := filepath.Join(dir, layersDir, t.Name+layerSuffix)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("generation %[1]d of %[2]s is of an earlier version and does not hold layer %[3]s as it was "+
				"read; publish it once from its file: %[4]s --layer %[3]s=FILE", m.Generation, d.Name, t.Name, command(d.Name))
		} else if err != nil {
			return nil, err
		}
		out = append(append(out, Input{Type: t.Name, Input: job.Input{Path: path}, kept: true, remove: keep.removed(t.Name)}), patches...)
	}
	for _, in := range inputs {
		if !slices.ContainsFunc(meta.Types, func(t tiles.TypeMeta) bool { return t.Name == in.Type }) {
			out = append(out, in)
		}
	}
	return based(out, m.Generation), nil
}

// IngestZones publishes the zones in a release of timezone-boundary-builder as the layer timezone,
// in addition to the published layers.
func IngestZones(ctx context.Context, c *dataset.Catalog, in job.Input, o job.Options) (dataset.Manifest, error) {
	// The id property tzid distinguishes a release of timezone-boundary-builder from a layer whose
	// areas have a single UTC offset.
	inputs, err := KeepLayers(ctx, c, ask.Boundaries.Dataset, []Input{{Type: zonefinder.Layer, Input: in, Told: columns.Told{ID: "tzid"}}})
	if err != nil {
		return dataset.Manifest{}, err
	}
	return Ingest(ctx, c, inputs, o)
}

// KeepZones keeps the published layer timezone if its zones come from [IngestZones]. It replaces
// the input of that type, or adds the layer if there is no such input. So a routine ingest of other
// sources does not replace zones that a user has added.
func KeepZones(ctx context.Context, c *dataset.Catalog, inputs []Input) ([]Input, error) {
	m, err := c.Current(ctx, ask.Boundaries.Name)
	if errors.Is(err, dataset.ErrNoGeneration) || err == nil && !hasZones(m.Sources) {
		return inputs, nil
	}
	if err != nil {
		return nil, err
	}
	published, err := KeepLayers(ctx, c, ask.Boundaries.Dataset, nil)
	if err != nil {
		return nil, err
	}
	isZones := func(in Input) bool { return in.Type == zonefinder.Layer }
	i := slices.IndexFunc(published, isZones)
	if i < 0 {
		return inputs, nil
	}
	// The credit alone is not enough, because it may belong to another layer.
	head, err := readHead(published[i].Path)
	if err != nil || !hasZones(head.Sources) {
		return inputs, err
	}
	return append(based(slices.DeleteFunc(slices.Clone(inputs), isZones), *published[i].base), published[i]), nil
}

// readHead reads the first line of a kept layer.
func readHead(path string) (head layerHead, err error) {
	f, err := os.Open(path)
	if err != nil {
		return head, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err == nil {
		err = readLine(bufio.NewReader(z), &head)
	}
	if err != nil {
		return head, fmt.Errorf("%s: %w; the published generation is damaged: publish all layers anew", path, err)
	}
	return head, nil
}

func hasZones(sources []dataset.Source) bool {
	return slices.ContainsFunc(sources, func(s dataset.Source) bool { return strings.HasPrefix(s.Name, job.ZoneBorders.Name) })
}

// noteGone reports the published layers that are missing in the inputs, because their loss may be a
// mistake.
func noteGone(ctx context.Context, c *dataset.Catalog, name string, inputs []Input, rep job.Reporter) {
	m, err := c.Current(ctx, name)
	var meta tiles.Meta
	if err != nil || json.Unmarshal(m.Meta, &meta) != nil {
		return // nothing is published that could be read
	}
	var gone []string
	for _, t := range meta.Types {
		if !slices.ContainsFunc(inputs, func(in Input) bool { return in.Type == t.Name }) {
			gone = append(gone, t.Name)
		}
	}
	if len(gone) > 0 {
		rep.Note(fmt.Sprintf("published layers that are not named, and will be gone: %s; %s carries them over, and ingest "+
			"rollback %s brings generation %d back",
			strings.Join(gone, ", "), command(name), name, m.Generation))
	}
}

// based records the generation to which inputs were added.
func based(inputs []Input, generation uint64) []Input {
	inputs = slices.Clone(inputs)
	for i := range inputs {
		inputs[i].base = &generation
	}
	return inputs
}

// stillPublished refuses layers kept from a generation that is no longer the published one.
// Otherwise layers that another job has added meanwhile would be lost.
func stillPublished(ctx context.Context, c *dataset.Catalog, name string, base *uint64) error {
	if base == nil {
		return nil
	}
	var now uint64
	if m, err := c.Current(ctx, name); err == nil {
		now = m.Generation
	} else if !errors.Is(err, dataset.ErrNoGeneration) {
		return err
	}
	if now != *base {
		return fmt.Errorf("generation %d of %s was published meanwhile; run the command again to keep its layers too", now, name)
	}
	return nil
}

// writeLayer writes a layer to the directory of a build. head has its sources and columns.
func writeLayer(dir string, l *build.Layer, head layerHead) (err error) {
	dir = filepath.Join(dir, layersDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, l.Type+layerSuffix))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(z, 64<<10)
	head.Format, head.Type, head.Features = layerFormat, l.Type, len(l.Features)
	if len(l.Features) > 0 {
		_, head.Lines = l.Features[0].Geometry.(orb.MultiLineString)
	}
	out := json.NewEncoder(w)
	if err := out.Encode(head); err != nil {
		return err
	}
	for i := range l.Features {
		f := &l.Features[i]
		head := layerFeature{ID: f.ID, Name: f.Name, LongEdges: f.LongEdges, Label: f.Label, FromZoom: f.FromZoom}
		for _, p := range f.Properties {
			value, err := json.Marshal(p.Value)
			if err != nil {
				return err
			}
			head.Properties = append(head.Properties, layerProperty{p.Name, value})
		}
		if err := out.Encode(head); err != nil {
			return err
		}
		if err := writePolygons(w, polygonsOf(f.Geometry)); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return z.Close()
}

func writePolygons(w *bufio.Writer, polygons []orb.Polygon) error {
	var b [2 * binary.MaxVarintLen64]byte
	number := func(n int) { _, _ = w.Write(binary.AppendUvarint(b[:0], uint64(n))) }
	number(len(polygons))
	for _, p := range polygons {
		number(len(p))
		for _, r := range p {
			number(len(r))
			for _, pt := range r {
				binary.LittleEndian.PutUint64(b[:], math.Float64bits(pt[0]))
				binary.LittleEndian.PutUint64(b[8:], math.Float64bits(pt[1]))
				if _, err := w.Write(b[:16]); err != nil {
					return err // a buffered writer also returns the errors of earlier writes
				}
			}
		}
	}
	return nil
}

// readKept reads a layer back into l.
func (l *layer) readKept(ctx context.Context, in Input, vertices *vertexCount, rep job.Reporter) ([]dataset.Source, error) {
	fail := func(err error) error {
		return fmt.Errorf("%s: %w; the published generation is damaged: publish all layers anew", in.Path, err)
	}
	f, err := os.Open(in.Path)
	if err != nil {
		return nil, fmt.Errorf("%w; the generation has been pruned meanwhile: run the command again", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fail(err)
	}
	r := bufio.NewReaderSize(z, 64<<10)
	var head layerHead
	switch err := readLine(r, &head); {
	case err != nil:
		return nil, fail(err)
	case head.Format > layerFormat:
		return nil, fmt.Errorf("%s: %w", in.Path, cellstore.CheckLayout("the layer", head.Format, 0, layerFormat, ""))
	case head.Type != in.Type:
		return nil, fail(fmt.Errorf("holds layer %s", source.Excerpt(head.Type)))
	}
	// One scanner reads all values, because its buffer is large.
	values := jsonscan.New(nil)
	for i := range head.Features {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rep.Progress(job.Progress{Stage: "reading " + in.Type, Done: int64(i), Total: int64(head.Features), Unit: "records"})
		var feature layerFeature
		if err := readLine(r, &feature); err != nil {
			return nil, fail(err)
		}
		polygons, err := readPolygonsBack(r, vertices)
		if err != nil {
			return nil, fail(err)
		}
		if !vertices.fits() {
			l.features = nil
			continue
		}
		out := build.Feature{
			ID:        feature.ID,
			Name:      feature.Name,
			Geometry:  source.JoinPolygons(polygons),
			LongEdges: feature.LongEdges,
			Label:     feature.Label,
			FromZoom:  feature.FromZoom,
		}
		if head.Lines && len(polygons) == 1 {
			lines := make(orb.MultiLineString, len(polygons[0]))
			for i, r := range polygons[0] {
				lines[i] = orb.LineString(r)
			}
			out.Geometry = lines
		}
		for _, p := range feature.Properties {
			values.Reset(bytes.NewReader(p.Value))
			value, lost, err := values.Property()
			if err != nil || lost != "" {
				return nil, fail(cmp.Or(err, errors.New(lost)))
			}
			out.Properties = append(out.Properties, build.Property{Name: p.Name, Value: value})
		}
		l.features = append(l.features, out)
	}
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, fail(errors.New("more behind its end"))
	}
	l.inTiles = head.InTiles
	l.kept, l.remove, l.columns, l.patches = true, in.remove, head.Columns, min(head.Patches, len(head.Sources))
	return head.Sources, nil
}

func readLine(r *bufio.Reader, v any) error {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if len(line) > maxLayerLine {
			return fmt.Errorf("a line of more than %d bytes", maxLayerLine)
		}
	}
	return json.Unmarshal(line, v)
}

// readPolygonsBack reads the output of writePolygons. Slices grow with the data read, so that a
// damaged number cannot demand more memory than the file's size.
func readPolygonsBack(r *bufio.Reader, vertices *vertexCount) ([]orb.Polygon, error) {
	var polygons []orb.Polygon
	n, err := binary.ReadUvarint(r)
	for ; err == nil && n > 0; n-- {
		var rings uint64
		var p orb.Polygon
		for rings, err = binary.ReadUvarint(r); err == nil && rings > 0; rings-- {
			var points uint64
			if points, err = binary.ReadUvarint(r); err != nil {
				break
			}
			ring := make(orb.Ring, 0, min(points, 1<<12))
			for ; points > 0; points-- {
				var b [16]byte
				if _, err := io.ReadFull(r, b[:]); err != nil {
					return nil, err
				}
				if vertices.n++; vertices.fits() {
					ring = append(ring, orb.Point{
						math.Float64frombits(binary.LittleEndian.Uint64(b[:])),
						math.Float64frombits(binary.LittleEndian.Uint64(b[8:])),
					})
				}
			}
			p = append(p, ring)
		}
		polygons = append(polygons, p)
	}
	return polygons, err
}

// polygonsOf splits a geometry into the polygons that Join joined. Lines are the rings of one
// polygon.
func polygonsOf(g orb.Geometry) []orb.Polygon {
	switch g := g.(type) {
	case orb.MultiLineString:
		p := make(orb.Polygon, len(g))
		for i, l := range g {
			p[i] = orb.Ring(l)
		}
		return []orb.Polygon{p}
	case orb.Polygon:
		return []orb.Polygon{g}
	case orb.MultiPolygon:
		return g
	}
	return nil
}

// CheckUniqueLayers returns an error if a generation that has been published again has layers of
// another data set.
func CheckUniqueLayers(ctx context.Context, c *dataset.Catalog, m *dataset.Manifest) error {
	var meta tiles.Meta
	if err := json.Unmarshal(m.Meta, &meta); err != nil {
		return nil //nolint:nilerr // it is served by nobody
	}
	var inputs []Input
	for _, t := range meta.Types {
		inputs = append(inputs, Input{Type: t.Name})
	}
	return checkElsewhere(ctx, c, ask.Dataset{Name: m.Dataset}, inputs)
}

// checkElsewhere refuses layers that another data set has too, because one of the two would be
// hidden.
func checkElsewhere(ctx context.Context, c *dataset.Catalog, d ask.Dataset, inputs []Input) error {
	all, err := c.Datasets(ctx)
	if err != nil {
		return err
	}
	for _, other := range all {
		if other == d.Name || other != ask.BoundariesName && !strings.HasPrefix(other, ask.RegionSetPrefix) {
			continue
		}
		m, err := c.Current(ctx, other)
		var meta tiles.Meta
		if err != nil || json.Unmarshal(m.Meta, &meta) != nil {
			continue // nothing is served of it
		}
		for _, in := range inputs {
			if !in.kept && slices.ContainsFunc(meta.Types, func(t tiles.TypeMeta) bool { return t.Name == in.Type }) {
				return fmt.Errorf("the layer %s is published in %s: give this one another name, publish it there (%s), or drop "+
					"the other first (ingest drop %[2]s)",
					in.Type, other, command(other))
			}
		}
	}
	return nil
}

// command returns the command that adds a layer to a data set.
func command(dataset string) string {
	if set, own := strings.CutPrefix(dataset, ask.RegionSetPrefix); own {
		return "ingest boundaries --set " + set + " --keep"
	}
	return "ingest boundaries --keep"
}

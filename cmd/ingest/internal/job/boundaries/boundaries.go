// Package boundaries publishes layers of regions from files of any supported format. It gives
// regions their ids and names, and keeps the published layers that the job does not replace.
package boundaries

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/features"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/osm"
	"quadrille/feature"
	"quadrille/places/live"
	"quadrille/places/names"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// vertexCount counts the vertices of all layers of a job, because all are in memory together.
type vertexCount struct {
	n      int64
	memory int64 // the bound in bytes; 0: none
}

// fits reports whether the layers fit into memory. If they do not, further features are only
// counted, so that the error can give the memory needed.
func (v *vertexCount) fits() bool { return v.memory == 0 || build.MemoryFor(v.n) <= v.memory }

// moreMemory adds advice to a *build.MemoryError.
func moreMemory(err error) error {
	var short *build.MemoryError
	if errors.As(err, &short) {
		return fmt.Errorf("%w; give --memory %dMiB", err, short.NeedBytes>>20+1)
	}
	return err
}

// Input is a file of polygons or lines with the region type of its features. Several
// inputs of one type form one layer.
type Input struct {
	Type string
	job.Input
	// Told says which columns have the ids and the names. What it leaves out is decided by the type's preset, or else by the
	// features' own ids and the columns.
	Told columns.Told
	// Worldview selects the government whose view of disputed areas is used, by two letters, or
	// "ISO". If it is empty, the source's own view is taken, which mostly shows who controls an
	// area. Only layers of countries have such views.
	Worldview string
	// Encoding is the name of the encoding of GeoJSON and TopoJSON. If it is empty, they are UTF-8,
	// or windows-1252 if they cannot be UTF-8.
	Encoding string
	// Tags are those of the elements to read of data of OpenStreetMap.
	Tags []osm.Tag
	// Bounds leaves out the features outside, as format.Options.Bounds.
	Bounds *orb.Bound
	// Where leaves out features by their properties in the files. All inputs of a type have the same.
	Where features.Where
	// InTiles are the properties that tiles have, see build.Options.Columns. Texts of one whose Kind is
	// Number become numbers. If there are none, the job chooses. All inputs have the same.
	InTiles []feature.Field
	// LongEdges is the meaning of edges wider than 180°.
	LongEdges build.LongEdges
	// Patch is set if the regions replace those of the same ids in the published layer, which stays
	// otherwise. KeepSome adds that layer.
	Patch bool
	// AllowEmpty accepts a patch without regions.
	AllowEmpty bool

	chosen *features.Selection // by Where, of all files of the layer

	kept   bool          // Path is a layer of the published generation
	remove []string      // ids of its regions to leave out
	like   *layerColumns // of the layer that a patch changes
	base   *uint64       // the generation whose layers are kept, 0 for none; nil if nothing is to be kept
}

// flag is the flag that names a file of the layer.
func (in *Input) flag() string {
	if in.Patch {
		return "--patch"
	}
	return "--layer"
}

// typeName matches the names that package tiles accepts.
var typeName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// taken are names that URLs use for other layers. In URLs, points:NAME is a collection of points
// and TYPE:ID a region.
var taken = append(new(ask.Sets).SingleLayerNames(), "all", "points")

// CheckType returns an error if a region type cannot have this name.
func CheckType(typ string) error {
	switch {
	case !typeName.MatchString(typ):
		return fmt.Errorf("%q cannot name a region type: use a lower-case letter, then up to 31 of a-z, 0-9 and _", typ)
	case slices.Contains(taken, typ):
		return fmt.Errorf("%q cannot name a region type, it means something else in addresses of layers; choose another", typ)
	case strings.HasSuffix(typ, "_line") || strings.HasSuffix(typ, "_label"):
		return fmt.Errorf("%q cannot name a region type: layers ending in _line and _label hold the lines and labels of "+
			"another; choose another", typ)
	}
	return nil
}

// Ingest reads the layers and publishes a generation of exactly them.
func Ingest(ctx context.Context, c *dataset.Catalog, inputs []Input, o job.Options) (dataset.Manifest, error) {
	return ingest(ctx, c, ask.Boundaries.Dataset, inputs, o, nil)
}

// IndexFunc adds the index of names to a build of layers. It returns nil if there are none.
type IndexFunc func(ctx context.Context, c *dataset.Catalog, b *dataset.Build, of tiles.Meta, o job.Options) (*names.Meta, error)

// IngestSet does the same as Ingest for a separate data set, which includes the names of its
// regions. The set is changed, rolled back and dropped independently of the others. A layer is in
// one data set only.
func IngestSet(ctx context.Context, c *dataset.Catalog, set string, inputs []Input, index IndexFunc,
	o job.Options) (dataset.Manifest, error) {
	if err := live.CheckName(set); err != nil {
		return dataset.Manifest{}, fmt.Errorf("a data set of layers: %w", err)
	}
	return ingest(ctx, c, ask.RegionSetOf(set).Dataset, inputs, o, func(b *dataset.Build, meta tiles.Meta) (any, error) {
		found, err := index(ctx, c, b, meta, o)
		return ask.RegionSetMeta{Meta: meta, Names: found}, err
	})
}

// ingest publishes a generation of d. finish, if not nil, adds to the build and returns its
// description.
func ingest(
	ctx context.Context, c *dataset.Catalog, d ask.Dataset, inputs []Input, o job.Options,
	finish func(*dataset.Build, tiles.Meta) (any, error),
) (dataset.Manifest, error) {
	if err := checkLayers(inputs); err != nil {
		return dataset.Manifest{}, err
	}
	if err := checkElsewhere(ctx, c, d, inputs); err != nil {
		return dataset.Manifest{}, err
	}
	rep := o.ReporterOrSilent()
	noteGone(ctx, c, d.Name, inputs, rep)
	tally := job.NewTally(o.MaxBad)
	layers, sources, err := readLayers(ctx, inputs, tally, o)
	tally.Report(rep)
	if err == nil {
		err = tally.Err()
	}
	if err != nil {
		return dataset.Manifest{}, err
	}
	if err := o.Announce(c, boundaryNeed(layers)); err != nil {
		return dataset.Manifest{}, err
	}
	built := finishLayers(layers, rep)
	inTiles, err := usual(layers, built, inputs[0].InTiles, rep)
	if err != nil {
		return dataset.Manifest{}, err
	}
	return job.Publish(ctx, c, d, o, func(b *dataset.Build, m *dataset.Manifest) (any, error) {
		if err := stillPublished(ctx, c, d.Name, inputs[0].base); err != nil {
			return nil, err
		}
		if err := checkElsewhere(ctx, c, d, inputs); err != nil { // another process may have published meanwhile
			return nil, err
		}
		budget, err := tileBudget(ctx, c, d.Name, inputs[0].base, o)
		if err != nil {
			return nil, err
		}
		for i, l := range layers {
			head := layerHead{Sources: l.sources, Patches: l.patches, Columns: l.columns, InTiles: l.inTiles}
			if err := writeLayer(b.Dir(), &built[i], head); err != nil {
				return nil, err
			}
		}
		var mended, assumed []string
		meta, _, err := build.Run(ctx, b.Store(), built, build.Options{
			Timestamp:  dataset.Timestamp(sources),
			Columns:    inTiles,
			TileBudget: budget,
			OnRepair: func(typ, id, name, what string) {
				mended = append(mended, fmt.Sprintf("%s %s (%s): %s", typ, id, name, what))
			},
			OnAssumption: func(typ, id, name, what string) {
				if slices.ContainsFunc(layers, func(l *layer) bool { return l.typ == typ && l.kept && !l.patched[feature.FoldedRegionID(id)] }) {
					return // already noted when the layer was ingested
				}
				assumed = append(assumed, fmt.Sprintf("%s %s (%s): %s", typ, id, name, what))
			},
			Memory: o.MemoryLimit(),
			Progress: func(phase string, done, total int64, unit string) {
				rep.Progress(job.Progress{Stage: phase, Done: done, Total: total, Unit: unit})
			},
		})
		if err != nil {
			return nil, moreMemory(err)
		}
		job.NoteFew(rep, 5, "and %d more regions mended", mended)
		noteAssumed(rep, assumed)
		*m = dataset.Manifest{
			Sources: sources, Bad: tally.Counts(),
			Records: map[string]int64{}, Bounds: bounds(meta.Types),
		}
		for _, t := range meta.Types {
			m.Records[t.Name] = int64(t.Regions)
		}
		if finish != nil {
			return finish(b, meta)
		}
		return meta, nil
	})
}

// eachFile returns an input for each file of inputs that are several.
func eachFile(files *features.Files, inputs []Input) (all []Input, err error) {
	for _, in := range inputs {
		if in.kept {
			all = append(all, in)
			continue
		}
		each, err := files.Expand(in.Input, source.WantPolygons)
		if err != nil {
			return nil, err
		}
		for _, in.Input = range each {
			all = append(all, in)
		}
	}
	return all, nil
}

// finishLayers gives the regions their ids, and reports regions with several names or spellings.
func finishLayers(layers []*layer, rep job.Reporter) (built []build.Layer) {
	for _, l := range layers {
		built = append(built, l.finishTelling(rep))
	}
	return built
}

func (l *layer) finishTelling(rep job.Reporter) build.Layer {
	built, shared := l.finish(rep)
	job.NoteFew(rep, 5, "and %d more regions of several names or ids", shared)
	if len(shared) > 0 {
		rep.Note("if these are several regions, name a property that tells them apart: --layer " + l.typ + "=FILE:PROPERTY")
	}
	return built
}

// noteAssumed reports the regions with ambiguous edges.
func noteAssumed(rep job.Reporter, assumed []string) {
	job.NoteFew(rep, 100, "and %d more regions that can be read in two ways", assumed)
	if n := len(assumed); n > 0 {
		rep.Note(fmt.Sprintf("regions that can be read in two ways: %d; if they are meant otherwise, ingest their layer "+
			"with ingest boundaries --long-edges=straight or --long-edges=shortest", n))
	}
}

// tileBudget returns TileBudget if it is set, else the budget of the published generation if layers
// of it are kept, else the default. A new layer should not change the tiles of the others.
func tileBudget(ctx context.Context, c *dataset.Catalog, name string, base *uint64, o job.Options) (int64, error) {
	if o.TileBudget != nil {
		return *o.TileBudget, nil
	}
	if base == nil || *base == 0 {
		return build.DefaultTileBudget, nil
	}
	m, err := c.Current(ctx, name)
	if err != nil {
		return 0, err
	}
	var meta tiles.Meta
	if err := json.Unmarshal(m.Meta, &meta); err != nil || meta.SchemaVersion < tiles.OldestSchemaVersion {
		return build.DefaultTileBudget, err
	}
	return meta.TileBudget, nil
}

// boundaryCosts are the costs of a vertex of the layers. crossingCosts are the costs of a tile of
// the deepest zoom that a border enters. A border between two regions is stored once, but counted
// for both. The figures take that into account.
var (
	boundaryCosts = job.Costs{Nanoseconds: 26e3, Memory: 210, Disk: 40}
	crossingCosts = job.Costs{Nanoseconds: 27e3, Memory: 570, Disk: 320}
)

func boundaryNeed(layers []*layer) job.Need {
	var vertices, crossings int64
	for _, l := range layers {
		for i := range l.features {
			for _, p := range polygonsOf(l.features[i].Geometry) {
				for _, r := range p {
					vertices += int64(len(r))
					crossings += tilesEntered(r)
				}
			}
		}
	}
	a, b := boundaryCosts.NeedFor(vertices), crossingCosts.NeedFor(crossings)
	// Borders that many regions share are stored once, so b may be far too much.
	return job.Need{Time: a.Time + b.Time, MemoryBytes: a.MemoryBytes + b.MemoryBytes, DiskBytes: a.DiskBytes + b.DiskBytes,
		MinDiskBytes: a.MinDiskBytes}
}

// tilesEntered returns the approximate number of tiles of the deepest zoom that a ring enters: the
// number of tile lines that it crosses.
func tilesEntered(r orb.Ring) (n int64) {
	const side = 360.0 / (1 << 13) // degrees of longitude
	column := func(p orb.Point) float64 { return math.Floor(p[0] / side) }
	row := func(p orb.Point) float64 { // spherical Mercator
		lat := max(-quadkey.MaxLatitude, min(quadkey.MaxLatitude, p[1])) * math.Pi / 180
		return math.Floor(math.Asinh(math.Tan(lat)) * 180 / math.Pi / side)
	}
	for i := 1; i < len(r); i++ {
		columns := math.Abs(column(r[i]) - column(r[i-1]))
		n += int64(min(columns, 1<<13-columns) + math.Abs(row(r[i])-row(r[i-1])))
	}
	return n
}

// checkLayers checks the inputs before any is read.
func checkLayers(inputs []Input) error {
	view, viewed := "", false
	for _, in := range inputs {
		// A published layer stays, even if its name has been reserved since then.
		if err := CheckType(in.Type); err != nil && !in.kept {
			return err
		}
		if in.Worldview != "" {
			if err := CheckWorldview(in.Worldview); err != nil {
				return err
			}
			view, viewed = in.Worldview, viewed || hasWorldviews(in.Type) && !in.kept && !in.Patch
		}
	}
	if view != "" && !viewed {
		return fmt.Errorf("worldview %s: only a layer of countries is seen differently; name its file with --layer country=…", view)
	}
	if len(inputs) == 0 {
		return errors.New("no layers; name at least one as --layer TYPE=FILE")
	}
	return nil
}

// readLayers reads the inputs. All inputs of one type form one layer.
func readLayers(ctx context.Context, inputs []Input, tally *job.Tally, o job.Options) (layers []*layer, sources []dataset.Source,
	err error) {
	rep := o.ReporterOrSilent()
	files, err := features.New(ctx, rep, "", o.Stdin)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = cmp.Or(err, files.Close()) }()
	if inputs, err = eachFile(files, inputs); err != nil {
		return nil, nil, err
	}
	vertices := vertexCount{memory: o.MemoryLimit()}
	for _, in := range inputs {
		i := slices.IndexFunc(layers, func(l *layer) bool { return l.typ == in.Type })
		if i < 0 {
			if i = len(layers); i == build.MaxTypes {
				return nil, nil, fmt.Errorf("more than %d region types; publish fewer", build.MaxTypes)
			}
			layers = append(layers, &layer{typ: in.Type, chosen: features.Select(in.Where)})
		}
		to := layers[i]
		if in.Patch {
			if to.patch == nil {
				to.patch = &layer{typ: in.Type, chosen: features.Select(in.Where), allowEmpty: in.AllowEmpty}
			}
			in.like = to.columns
			in.Told.Nameless = in.Told.Nameless || !slices.ContainsFunc(to.features, func(f build.Feature) bool { return f.Name != "" })
			to = to.patch
		}
		src, err := to.read(ctx, files, in, tally, &vertices, rep)
		if err != nil {
			return nil, nil, err
		}
		to.sources = append(to.sources, src...)
	}
	for _, l := range layers {
		if err := l.checkSaid("--layer", rep); err != nil {
			return nil, nil, err
		}
		if l.patch != nil {
			if err := errors.Join(l.patch.checkSaid("--patch", rep), l.patch.chosen.Allowing(l.patch.allowEmpty)); err != nil {
				return nil, nil, err
			}
		}
		if err := l.chosen.Err(); err != nil {
			return nil, nil, fmt.Errorf("layer %s: %w", l.typ, err)
		}
	}
	if !vertices.fits() {
		return nil, nil, moreMemory(&build.MemoryError{Vertices: vertices.n, NeedBytes: build.MemoryFor(vertices.n)})
	}
	for _, l := range layers {
		if err := l.applyPatch(rep); err != nil {
			return nil, nil, err
		}
		for _, s := range l.sources {
			at := slices.IndexFunc(sources, s.Is) // one file may hold several layers
			if at < 0 {
				s.Layers, at = nil, len(sources)
				sources = append(sources, s)
			}
			if !slices.Contains(sources[at].Layers, l.typ) {
				sources[at].Layers = append(sources[at].Layers, l.typ)
			}
		}
	}
	return layers, sources, nil
}

// checkSaid refuses files that are pages of more, and notes pages that are together. flag is the one
// that names the files.
func (l *layer) checkSaid(flag string, rep job.Reporter) error {
	if err := l.said.Missing(fmt.Sprintf("%s %s=PAGE1 %[1]s %[2]s=PAGE2", flag, l.typ)); err != nil {
		return err
	}
	if note := l.said.Together(); note != "" {
		rep.Note(note)
	}
	return nil
}

// bounds returns the box around all types.
func bounds(types []tiles.TypeMeta) []float64 {
	b := types[0].Bounds
	for _, t := range types[1:] {
		if b[0] > b[2] || t.Bounds[0] > t.Bounds[2] {
			b[0], b[2] = -180, 180 // one crosses ±180°, and the other lies somewhere
		} else {
			b[0], b[2] = min(b[0], t.Bounds[0]), max(b[2], t.Bounds[2])
		}
		b[1], b[3] = min(b[1], t.Bounds[1]), max(b[3], t.Bounds[3])
	}
	return b[:]
}

// layer is a region type while its files are read.
type layer struct {
	typ        string
	chosen     *features.Selection
	allowEmpty bool // of a patch
	claims     []claim
	viewed     []viewed        // one per feature if there is a worldview
	features   []build.Feature // without ids as yet, unless kept
	sources    []dataset.Source
	kept       bool
	said       geojson.Said // members of its files outside the features
	named      bool         // the column of the ids was told for each of its files
	sentence   string       // on the columns of a file, as printed
	coded      string       // the column of the ids in it
	lines      bool         // its first feature, and so all, are lines

	columns *layerColumns   // of its files; nil if these differ
	patch   *layer          // files that replace some of its regions
	remove  []string        // ids of regions to leave out
	patched map[string]bool // folded ids of the regions that a patch replaced or added
	patches int             // how many of its last sources are patches
	inTiles []string        // properties that its tiles have; nil if not yet chosen
}

// kindOf returns the GeoJSON type of lines.
func kindOf(lines orb.MultiLineString) string {
	if len(lines) == 1 {
		return orb.LineString{}.GeoJSONType()
	}
	return lines.GeoJSONType()
}

// read reads an input into the layer. It adds bad records to all, and vertices to vertices.
func (l *layer) read(ctx context.Context, files *features.Files, in Input, all *job.Tally, vertices *vertexCount,
	rep job.Reporter) (src []dataset.Source, err error) {
	if in.kept {
		return l.readKept(ctx, in, vertices, rep)
	}
	file := &layerFile{
		in: in, view: in.Worldview, preset: presetFor(l.typ), tally: job.NewTally(all.MaxShare), chooser: columns.NewChooser(l.typ),
	}
	if !hasWorldviews(in.Type) || in.Patch {
		file.view = ""
	}
	defer func() { all.Merge(file.tally) }()
	before, some, leftOut := len(l.features), false, l.chosen.LeftOut()
	in.chosen = l.chosen
	src, err = readPolygons(ctx, files, in, file.preset.objects, &l.said, "reading "+l.typ, func(f source.Feature, err error) error {
		some = true
		if err == nil {
			if vertices.n += int64(countVertices(f.Geometry)); !vertices.fits() {
				l.features, l.claims, l.viewed, file.waiting = nil, nil, nil, nil
				return nil
			}
		}
		return l.take(file, &f, err)
	})
	if err == nil && !some && l.chosen.LeftOut() > leftOut {
		return src, nil // the layer may have features of other files
	}
	if err == nil && vertices.fits() {
		err = l.addWaiting(file)
	}
	file.lost.Note(rep)
	if n := file.badLabels; n > 0 {
		rep.Note(fmt.Sprintf("%s: places or ranks of labels that are not used, for they are no numbers or not in the world: "+
			"%d, the first in line %d", in.Path, n, file.badLabel))
	}
	job.NoteFew(rep, 5, in.Path+": and %d more repaired", file.repaired)
	if err != nil || !vertices.fits() {
		return src, err
	}
	if in.Patch && in.AllowEmpty && file.tally.TakenCount()+file.tally.LeftOutCount() == 0 {
		rep.Note(in.Path + " holds no regions: nothing of " + in.Type + " is changed by it, as --allow-empty says")
		return src, nil
	}
	if file.preset.own {
		file.settle(l, before, rep)
	}
	if err := file.check(len(l.features) > before); err != nil {
		return src, err
	}
	if err := l.noteColumns(file, before == 0, rep); err != nil {
		return src, err
	}
	learned := &layerColumns{ID: file.choice.ID, Name: file.choice.Name, Languages: file.choice.Languages}
	if before == 0 {
		l.columns = learned
	} else if !reflect.DeepEqual(l.columns, learned) {
		l.columns = nil
	}
	if n := file.badZooms; n > 0 {
		rep.Note(fmt.Sprintf("%s: min_zoom is no number from 0 to 13, so that tiles of every zoom have the line: %d, the "+
			"first in line %d", in.Path, n, file.badZoom))
	}
	if l.lines && len(l.features) > before {
		rep.Note(fmt.Sprintf("%s: %s is a layer of lines: vector tiles have them in %[2]s_line, and no question finds them at a place", in.Path, in.Type))
	}
	for i := range src {
		if file.view != "" {
			src[i].Name += ", as seen by " + strings.ToUpper(file.view)
		}
	}
	return src, nil
}

// layerFile is the state of reading one file of a layer.
type layerFile struct {
	in     Input
	view   string // the worldview to take; empty: the source's own
	preset preset

	tally *job.Tally // of this file
	lost  job.LostProperties
	// badLabels counts the features with unusable LABEL_X, LABEL_Y or LABELRANK; badLabel is the
	// line of the first
	badLabels, badLabel int
	// badZooms counts the lines with an unusable min_zoom; badZoom is the line of the first
	badZooms, badZoom int
	repaired          []string

	waiting      []waiting // until the columns and ids are known
	waitingBytes int       // of their properties
	numbered     bool      // numeric ids are ids of countries
	from         []string  // the meaning of each candidate of the features

	chooser          *columns.Chooser
	learned          bool // choice and codes are set
	choice           columns.Choice
	codes            *columns.Codes
	toldID, toldName bool // the user named the columns, or the published layer has them
	ownIDs           bool // the published layer has features' own ids
	sawID, sawName   bool // some feature has the columns that the user named
	unserial         bool // an id is not the number of a row in a column of such numbers
	sawView          bool
	views            []string // worldviews that the file knows
	named            bool     // whether a region has a name
}

// waiting is a feature, or the error of one.
type waiting struct {
	source.Feature
	err error
}

// maxWaitingBytes bounds the properties of features that wait.
const maxWaitingBytes = 64 << 20

// take adds a feature, or lets it wait until the first features have shown what the columns mean, and whether ids are those
// of countries.
func (l *layer) take(file *layerFile, f *source.Feature, err error) error {
	numbers := file.preset.numbers && err == nil && (len(file.waiting) > 0 || isNumber(f.ID))
	switch {
	case !file.learned:
		file.waiting = append(file.waiting, waiting{*f, err})
		for name, value := range f.Properties {
			text, _ := value.(string)
			file.waitingBytes += len(name) + len(text)
		}
		if len(file.waiting) < columns.Sample && file.waitingBytes < maxWaitingBytes {
			return nil
		}
		if err := file.choose(); err != nil {
			return err
		}
		if file.preset.numbers && slices.ContainsFunc(file.waiting, func(w waiting) bool { return isNumber(w.ID) }) {
			return nil
		}
		return l.addWaiting(file)
	case err != nil:
		return file.tally.Bad(err)
	case numbers:
		file.waiting = append(file.waiting, waiting{*f, nil})
		return nil
	}
	return l.add(file, f)
}

// choose decides what the columns mean, by the features that wait.
func (file *layerFile) choose() error {
	file.learned = true
	named := false
	for i := range file.waiting {
		if w := &file.waiting[i]; w.err == nil && file.chooser.Begin() {
			c := newColumns(&w.Feature)
			named = named || file.preset.isNamed(c)
			for _, key := range slices.Sorted(maps.Keys(c.folded)) {
				_, isText := c.folded[key].(string)
				file.chooser.Learn(c.names[key], c.value(key), isText)
			}
		}
	}
	if err := file.choice.Tell(&file.in.Told, file.chooser.Columns()); err != nil {
		return fmt.Errorf("%s: %w", file.in.Path, err)
	}
	file.toldID, file.toldName = file.choice.ID != nil, file.choice.Name != nil
	if file.in.like != nil {
		file.follow(file.in.like)
	} else if !file.toldName && !named {
		file.chooser.NameOfRegions(&file.choice, file.preset.isCustom)
	}
	file.from = file.preset.from
	if file.preset.own {
		file.from = append(slices.Clip(file.from), ownIDs, "")
		file.codes = columns.NewCodes(file.chooser, file.preset.isCustom)
	} else if file.ownIDs {
		file.from = append(slices.Clip(file.from), ownIDs)
	}
	if file.toldID {
		file.from = append([]string{file.choice.ID.String()}, file.from...)
	}
	return nil
}

// noteColumns reports what the columns mean. first is set for the first file of the layer. A layer of a type without a preset whose regions have no names is an error,
// unless the user says that it has none.
func (l *layer) noteColumns(file *layerFile, first bool, rep job.Reporter) error {
	in := &file.in
	switch {
	case file.named:
	case file.preset.isCustom && !in.Told.Nameless && file.tally.Err() == nil: // too many bad records are told first
		return file.chooser.Nameless(in.Path, in.flag())
	default:
		rep.Note(in.Path + ": no region has a name")
	}
	l.named = file.toldID && (l.named || first)
	chosen := file.choice.ID != nil && !file.toldID || file.choice.Name != nil && !file.toldName
	if text := file.choice.Sentence(); chosen && text != l.sentence {
		rep.Note(l.typ + ": " + text)
		l.sentence, l.coded = text, file.choice.ID.String()
	}
	return nil
}

// add adds a feature of a file to the layer, or counts it as bad.
func (l *layer) add(file *layerFile, f *source.Feature) error {
	in := &file.in
	c := newColumns(f)
	c.numbered, c.choice = file.numbered, &file.choice
	d := file.preset.of(c)
	lines, isLines := f.Geometry.(orb.MultiLineString)
	if len(l.features) == 0 {
		l.lines = isLines
	}
	if isLines != l.lines && l.lines {
		return fmt.Errorf("%s:%d: a polygon in a layer of lines: give lines and polygons a type each", in.Path, f.Line)
	} else if isLines != l.lines {
		return file.tally.Bad(&source.BadRecord{Source: in.Path, Line: f.Line, Reason: source.ReasonNotAPolygon, Detail: kindOf(lines)})
	}
	if d.refused == "" && !isLines && build.EnclosesNothing(f.Geometry, in.LongEdges) {
		d.refused = "it encloses nothing"
	}
	if d.refused != "" {
		return file.tally.Bad(&source.BadRecord{Source: in.Path, Line: f.Line, Reason: d.refused, Detail: d.name})
	}
	file.tally.Good()
	file.lost.Add(in.Path, f.Line, d.lost)
	if file.ownIDs {
		d.candidates = append(d.candidates, candidate{value: clean(c.id), shared: true})
	}
	var v viewed
	if file.view != "" {
		v = c.view(file.view)
		file.sawView = file.sawView || v.known
		if file.views == nil {
			file.views = c.views()
		}
	}
	if file.toldID {
		var has bool
		d, has = withIDColumns(d, c, file.choice.ID)
		file.sawID = file.sawID || has
	}
	file.sawName = file.sawName || file.toldName && c.has(file.choice.Name)
	if file.preset.own {
		file.codes.Add(c.idCode)
		file.unserial = file.unserial || !c.isSerial()
	}
	if f.Repair != "" {
		file.repaired = append(file.repaired, fmt.Sprintf("%s:%d %s: %s", in.Path, f.Line, d.name, f.Repair))
	}
	file.named = file.named || d.name != ""
	if d.fallback == "" {
		d.fallback = d.name
	}
	label, ok := c.label()
	if !ok {
		file.badLabels, file.badLabel = file.badLabels+1, cmp.Or(file.badLabel, f.Line)
	}
	fromZoom := 0 // of lines, from Natural Earth's column
	if written := c.written("min_zoom"); isLines && written != "" {
		zoom, number := source.ParseDecimal(written, 13)
		if !number || zoom < 0 {
			file.badZooms, file.badZoom = file.badZooms+1, cmp.Or(file.badZoom, f.Line)
		} else {
			fromZoom = int(zoom)
		}
	}
	d.from = file.from
	l.claims = append(l.claims, d.claim)
	l.viewed = append(l.viewed, v)
	l.features = append(l.features, build.Feature{
		Name:       d.name,
		Properties: d.properties,
		Geometry:   f.Geometry,
		LongEdges:  in.LongEdges,
		Label:      label,
		FromZoom:   fromZoom,
	})
	return nil
}

// addWaiting adds the features that wait.
func (l *layer) addWaiting(file *layerFile) error {
	if !file.learned {
		if err := file.choose(); err != nil {
			return err
		}
	}
	if file.preset.numbers {
		file.numbered = countryNumbers(file.waiting)
	}
	all := file.waiting
	file.waiting = nil
	for i := range all {
		err := all[i].err
		if err != nil {
			err = file.tally.Bad(err)
		} else {
			err = l.add(file, &all[i].Feature)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check refuses a file without the requested properties. some is set if any feature of the file can
// be used.
func (file *layerFile) check(some bool) error {
	in, tally := &file.in, file.tally
	switch {
	case !some:
		err := fmt.Errorf("%s: no polygon in it can be used as a %s", in.Path, in.Type)
		if tally.Err() != nil { // says why
			err = fmt.Errorf("%w: %w", err, tally.Err())
		} else if in.Patch {
			err = fmt.Errorf("%w; if a patch may be empty, give --allow-empty", err)
		}
		return err
	case tally.IsOther() && tally.Err() != nil:
		return fmt.Errorf("%s: most of it is not made of polygons: %w", in.Path, tally.Err())
	case file.toldID && !file.sawID, file.toldName && !file.sawName:
		if err := columns.Missing(in.Path, file.chooser.Columns(), file.choice.ID, file.choice.Name); err != nil {
			return err
		}
		return fmt.Errorf("%s: no feature has all the columns %s and %s", in.Path, file.choice.ID, file.choice.Name)
	case file.view != "" && len(file.views) == 0:
		return fmt.Errorf("%s: has no columns FCLASS_…, which say how disputed areas are seen; use ne_10m_admin_0_countries "+
			"of Natural Earth 5 or later, or leave out --worldview", in.Path)
	case file.view != "" && !file.sawView:
		return fmt.Errorf("%s: does not know how %s sees disputed areas; it knows %s", in.Path, strings.ToUpper(file.view),
			strings.Join(file.views, ", "))
	}
	return nil
}

// finish gives the features their ids. If several features form one region, the first gives the
// region its name. So features that belong to a region only by a worldview come last, and the
// others are ordered by size, the largest first: in world-atlas, Ashmore and Cartier Islands have
// Australia's code. shared lists the features of different names or ids that form one region.
func (l *layer) finish(rep job.Reporter) (out build.Layer, shared []string) {
	if l.kept {
		return build.Layer{Type: l.typ, Features: l.features}, nil
	}
	spellings := unify(l.claims)
	ids := assignIDs(l.typ, l.claims, func(i int) spot { return spotOf(l.features[i].Geometry) })
	for i, id := range ids {
		for _, other := range spellings[i] {
			if feature.SameRegionID(id, other) {
				shared = append(shared, fmt.Sprintf("%s %s: %s differs only in case, so that it is the same id", l.typ, id, other))
			}
		}
	}
	l.noteIDs(ids, rep)
	merged := l.merge(ids)
	count := map[string]int{}
	for i, id := range ids {
		l.features[i].ID = id
		count[id]++
	}
	area := func(f *build.Feature) float64 {
		if count[f.ID] == 1 {
			return 0
		}
		var sum float64
		for _, p := range polygonsOf(f.Geometry) {
			for i, r := range p {
				a := math.Abs(planar.Area(f.LongEdges.Unroll(r)))
				if i > 0 {
					a = -a
				}
				sum += a
			}
		}
		return sum
	}
	rank := func(i int) int {
		if merged[i] {
			return 1
		}
		return 0
	}
	areas := make([]float64, len(l.features))
	order := make([]int, len(l.features))
	for i := range l.features {
		order[i], areas[i] = i, area(&l.features[i])
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(areas[b], areas[a]))
	})
	out = build.Layer{Type: l.typ, Features: make([]build.Feature, len(order))}
	called := map[string]string{} // the first name of each id, "" once a second one has been noted
	var joined []string           // the ids of features that are parts of others by their id alone
	named := 0                    // those of them that are told with their names
	for to, from := range order {
		f := &l.features[from]
		out.Features[to] = *f
		first, ok := called[f.ID]
		if ok && !merged[from] {
			joined = append(joined, f.ID)
		}
		if !ok {
			called[f.ID] = f.Name
		} else if first != "" && first != f.Name && !merged[from] {
			shared = append(shared, fmt.Sprintf("%s %s (%s): %s has the same id and is a part of it", l.typ, f.ID, first, f.Name))
			named++
			called[f.ID] = ""
		}
	}
	if len(joined) > named {
		rep.Note(fmt.Sprintf("%s: %d features have the id of another and are one region with it, such as %s (%d features)", l.typ,
			len(joined), joined[0], count[joined[0]]))
	}
	l.features, l.claims, l.viewed = nil, nil, nil
	return out, shared
}

func countVertices(g orb.Geometry) (n int) {
	for _, p := range polygonsOf(g) {
		for _, r := range p {
			n += len(r)
		}
	}
	return n
}

// Package names publishes the index of names: of regions, airports, stations and points.
package names

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/zonefinder"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/names"
	"quadrille/places/points"
	"quadrille/places/search"
	"quadrille/places/stations"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// Ingest publishes the index for everything that search finds besides places: the regions of
// every published layer with their parents and population, the airports, time zones and weather
// stations, and the points of searchable collections. It reads only published data sets.
func Ingest(ctx context.Context, c *dataset.Catalog, o job.Options) (dataset.Manifest, error) {
	n := newNamer(ctx, o)
	defer n.close()
	if err := n.open(c); err != nil {
		return dataset.Manifest{}, err
	}
	if err := n.countPeople(); err != nil {
		return dataset.Manifest{}, err
	}
	return job.Publish(ctx, c, ask.Names.Dataset, o, func(b *dataset.Build, m *dataset.Manifest) (any, error) {
		meta, err := n.build(b, o)
		if err != nil {
			return nil, err
		}
		*m = dataset.Manifest{Sources: n.sources, Records: map[string]int64{"names": meta.Search.Names}}
		for kind, count := range meta.Features {
			m.Records[string(kind)+"s"] = count
		}
		return meta, nil
	})
}

func newNamer(ctx context.Context, o job.Options) *namer {
	return &namer{
		ctx:       ctx,
		rep:       o.ReporterOrSilent(),
		people:    map[regionID]uint64{},
		drawn:     map[string]map[string]uint64{},
		rows:      map[string]map[string]int{},
		seats:     map[string]seat{},
		countries: map[string]names.Parent{},
		shown:     map[string]bool{},
		divided:   map[string]bool{},
	}
}

// build writes the index.
func (n *namer) build(b *dataset.Build, o job.Options) (names.Meta, error) {
	return names.Build(n.ctx, b.Store(), job.Sequence(n.read), names.Options{
		TempDir: filepath.Dir(b.Dir()), Memory: o.Memory / 4, Timestamp: n.timestamp(), SourceCountryCodes: n.drawnIn(),
		Admin1Codes: n.divisions(),
		Progress: func(stage string, done, total int64) {
			n.rep.Progress(job.Progress{Stage: "names: " + stage, Done: done, Total: total, Unit: "records"})
		},
	})
}

// timestamp returns the time of all cells, in milliseconds: when the newest of the published data sets was built, or 0
// if none is published.
func (n *namer) timestamp() int64 { return max(n.newest.UnixMilli(), 0) }

// BuildSet adds an index of names to a build of layers of regions, as Ingest does for the layers of
// Boundaries. The parents of these regions may be in Boundaries. It returns nil if no region has a
// name.
func BuildSet(ctx context.Context, c *dataset.Catalog, b *dataset.Build, of tiles.Meta, o job.Options) (*names.Meta, error) {
	n := newNamer(ctx, o)
	defer n.close()
	own, err := tiles.Open(ctx, b.Store(), of)
	if err != nil {
		return nil, err
	}
	if n.regions, err = published(n, c, ask.Boundaries); err != nil {
		return nil, err
	}
	if n.places, err = published(n, c, ask.Places); err != nil {
		return nil, err
	}
	if n.regions == nil {
		n.regions = own
	} else {
		n.regions = tiles.Join(own, n.regions)
	}
	n.layers, n.only = coarsestFirst(n.regions.Types()), own
	var all []tiles.Selector
	for _, t := range own.Types() {
		all = append(all, tiles.Selector{Type: t.Name})
	}
	var extent quadkey.Extent
	if err := own.Extent(ctx, all, &extent); err != nil {
		return nil, err
	}
	e := extent.Bounds()
	n.ground = feature.Box{West: e[0], South: e[1], East: e[2], North: e[3]}
	if err := n.countPeople(); err != nil {
		return nil, err
	}
	meta, err := n.build(b, o)
	if err != nil || len(meta.Features) == 0 {
		return nil, err
	}
	return &meta, nil
}

// ErrNoNames is matched if no published data set except places has names.
var ErrNoNames = errors.New("nothing is published that has names besides places: ingest boundaries or airports first")

// regionID identifies a region of a layer.
type regionID struct{ typ, id string }

// namer makes features from the published data sets.
type namer struct {
	ctx context.Context
	rep job.Reporter

	regions  *tiles.Reader // nil without boundaries
	layers   []tiles.TypeMeta
	ground   feature.Area     // of these layers; nil: the world
	only     *tiles.Reader    // the layers to index; nil: all layers and everything else with names
	places   *places.Finder   // nil without places
	airports *airports.Finder // nil without airports
	stations *stations.Finder // nil without stations
	points   []*points.Collection
	zones    bool // whether there is a layer of time zones
	opened   []*dataset.Generation
	sources  []dataset.Source
	newest   time.Time

	people map[regionID]uint64
	// drawn has the population of places that the map draws in another country than their row
	// names, by the code of the row and then the code on the map.
	drawn map[string]map[string]uint64
	// rows counts the places of each state by first-level code. Its key is the state's id.
	rows      map[string]map[string]int
	seats     map[string]seat         // of first-level divisions, by their codes
	countries map[string]names.Parent // already read, by code
	divided   map[string]bool         // countries whose divisions are in a layer
	shown     map[string]bool         // countries that have a region
}

func (n *namer) open(c *dataset.Catalog) (err error) {
	if n.regions, err = published(n, c, ask.Boundaries); err != nil {
		return err
	}
	if n.regions != nil {
		types := n.regions.Types()
		n.layers = coarsestFirst(types)
		n.zones = len(n.layers) < len(types)
	}
	if n.places, err = published(n, c, ask.Places); err != nil {
		return err
	}
	if n.airports, err = published(n, c, ask.Airports); err != nil {
		return err
	}
	if n.stations, err = published(n, c, ask.Stations); err != nil {
		return err
	}
	if err = n.openPoints(c); err != nil {
		return err
	}
	if n.regions == nil && n.airports == nil && n.stations == nil && n.points == nil && (n.places == nil || len(n.places.Divisions()) == 0) {
		return ErrNoNames
	}
	return nil
}

// published opens a published data set, or nil if there is none.
func published[R any](n *namer, c *dataset.Catalog, d *ask.DatasetOf[R]) (R, error) {
	r, g, err := job.OpenCurrent(n.ctx, c, d)
	if g != nil {
		n.use(g)
	}
	return r, err
}

// use keeps a generation open until close, and credits its sources.
func (n *namer) use(g *dataset.Generation) {
	n.opened = append(n.opened, g)
	for _, src := range g.Manifest.Sources {
		credit := dataset.Source{Name: src.Name, License: src.License, Attribution: src.Attribution}
		if !slices.ContainsFunc(n.sources, credit.Is) {
			n.sources = append(n.sources, credit)
		}
	}
	if built := g.Manifest.Built; built.After(n.newest) {
		n.newest = built
	}
}

func (n *namer) close() {
	for _, g := range n.opened {
		_ = g.Close() // only read
	}
}

// coarsestFirst orders layers by the size of their regions. It leaves out layers that do not divide
// inhabited land, such as lakes.
func coarsestFirst(types []tiles.TypeMeta) []tiles.TypeMeta {
	var list []tiles.TypeMeta
	for _, t := range types {
		if t.Name != zonefinder.Layer {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b tiles.TypeMeta) int {
		return cmp.Or(cmp.Compare(layerRank(a.Name), layerRank(b.Name)), cmp.Compare(b.MeanExtent(), a.MeanExtent()))
	})
	return list
}

// layerRank returns the rank of a layer. Countries come before all other layers, even those with
// larger regions.
func layerRank(name string) int {
	if name == countryType {
		return 0
	}
	return 1
}

// These are names of layers with a fixed meaning.
const (
	countryType = "country"
	stateType   = "state"
	countyType  = "county"
)

// countPeople adds up the population of the places in each region and first-level division.
func (n *namer) countPeople() error {
	if n.places == nil {
		return nil
	}
	types := n.all()
	if n.only != nil {
		types = slices.DeleteFunc(types, func(typ string) bool { return !n.only.Has(typ) })
	}
	filter, err := places.Filter{Classes: []string{"P"}, MinPopulation: 500}.FeatureFilter()
	if err != nil {
		return err
	}
	var done int64
	h := &places.Hit{}
	err = n.eachImportant(n.places, feature.Query{In: n.ground, Filter: filter}, func(f *feature.Feature) error {
		if err := h.FromFeature(f); err != nil {
			return err
		}
		if done++; done%progressPlaces == 0 {
			n.rep.Progress(job.Progress{Stage: "counting people of regions", Done: done, Unit: "places"})
		}
		if h.Code == "PPLX" {
			return nil // its people are counted with the town that it is part of
		}
		n.countDivision(h)
		if n.regions == nil {
			return nil
		}
		at, err := n.regions.At(n.ctx, h.Lat, h.Lon, types...)
		if err != nil {
			return err
		}
		for _, r := range at {
			n.people[regionID{r.Type, r.ID}] += uint64(h.Population)
			if r.Type == stateType && h.Country != "" && h.Admin1 != "" {
				if n.rows[r.ID] == nil {
					n.rows[r.ID] = map[string]int{}
				}
				n.rows[r.ID][h.Country+"."+h.Admin1]++
			}
		}
		return n.noteDrawn(h, at)
	})
	n.rep.Progress(job.Progress{Stage: "counting people of regions", Done: done, Unit: "places"})
	return err
}

// eachImportant calls fn with the features of a query, the most important first.
func (n *namer) eachImportant(l feature.Layer, q feature.Query, fn func(*feature.Feature) error) error {
	q.Order, q.MaxExamined = feature.Order{Importance: true}, math.MaxInt // a job asks for all, and a bound is for requests
	for {
		next, err := feature.Page(n.ctx, l, q, places.MaxLimit, fn)
		if err == nil {
			err = q.Continue(l.Info(), next)
		}
		if err != nil || next == "" {
			return err
		}
	}
}

// progressPlaces is the number of places that are counted between reports.
const progressPlaces = 1000

// coarseDegrees bounds the distance of a border on the map from its true place.
const coarseDegrees = 0.05

// noteDrawn records that the map draws a place in another country than its row names. It ignores
// places so near to the border that the reason may be a coarse map.
func (n *namer) noteDrawn(h *places.Hit, at []tiles.Region) error {
	i := slices.IndexFunc(at, func(r tiles.Region) bool { return r.Type == countryType })
	if i < 0 || len(at[i].ID) != 2 || h.Country == "" || strings.EqualFold(at[i].ID, h.Country) {
		return nil
	}
	box := quadkey.Box{
		West:  max(h.Lon-coarseDegrees, -180),
		South: max(h.Lat-coarseDegrees, -90),
		East:  min(h.Lon+coarseDegrees, 180),
		North: min(h.Lat+coarseDegrees, 90),
	}
	own := false
	err := n.eachRegion(countryType, feature.Query{In: feature.Box(box), Detail: feature.WithoutGeometry}, func(f *feature.Feature) error {
		own = own || strings.EqualFold(f.ID, h.Country)
		return nil
	})
	if err != nil || own {
		return err
	}
	if n.drawn[h.Country] == nil {
		n.drawn[h.Country] = map[string]uint64{}
	}
	n.drawn[h.Country][strings.ToUpper(at[i].ID)] += uint64(h.Population)
	return nil
}

// drawnIn returns the field Drawn of names.Meta. Each code belongs to the country of the map in
// which most of its people are drawn.
func (n *namer) drawnIn() map[string][]string {
	in := map[string][]string{}
	for _, code := range slices.Sorted(maps.Keys(n.drawn)) {
		of := n.drawn[code]
		country := slices.MaxFunc(slices.Sorted(maps.Keys(of)), func(a, b string) int { return cmp.Compare(of[a], of[b]) })
		in[country] = append(in[country], code)
	}
	return in
}

// divisions returns the field Divisions of names.Meta: for each state, the code that four fifths of
// its places have.
func (n *namer) divisions() map[string]string {
	codes := map[string]string{}
	for state, of := range n.rows {
		all := 0
		for _, count := range of {
			all += count
		}
		for code, count := range of {
			if count*5 >= all*4 {
				codes[state] = code
			}
		}
	}
	return codes
}

// maxNameBytes is the greatest length in bytes of a searchable name.
const maxNameBytes = 1000

// read yields the features.
func (n *namer) read(keep func(names.Feature) error) error {
	take := func(f names.Feature) error {
		n.note(&f)
		f.Names = slices.DeleteFunc(f.Names, func(o search.Name) bool { return len(o.Text) > maxNameBytes })
		if len(f.Name) > maxNameBytes {
			n.rep.Note(fmt.Sprintf("%s %s %s is not searched: its name has %d bytes, and at most %d are", f.Kind, f.Type, f.ID,
				len(f.Name), maxNameBytes))
			return nil
		}
		return keep(f)
	}
	for level, t := range n.layers {
		if n.only != nil && !n.only.Has(t.Name) {
			continue
		}
		if err := n.readLayer(level, t.Name, take); err != nil {
			return err
		}
	}
	if n.only != nil {
		return nil
	}
	for _, read := range []func(func(names.Feature) error) error{
		n.readCountries,
		n.readDivisions,
		n.readAirports,
		n.readZones,
		n.readStations,
		n.readPoints,
	} {
		if err := read(take); err != nil {
			return err
		}
	}
	return nil
}

// regionRecord is the part of a region's record from which names are taken.
type regionRecord struct {
	Name    string `json:"name"`
	ISOA2   code   `json:"iso_a2"`
	ISOA3   code   `json:"iso_a3"`
	ISO3166 code   `json:"iso_3166_2"`
	Postal  code   `json:"postal"`
	Country code   `json:"country"`
	// These are members that users' own layers may have, under their usual names.
	Population count `json:"population"`
	PopEst     count `json:"pop_est"`
}

// code is a member that should be a text. Any other value is read as "", because a user's own layer
// may have any values.
type code string

func (c *code) UnmarshalJSON(value []byte) error {
	if value[0] != '"' {
		*c = ""
		return nil
	}
	return json.Unmarshal(value, (*string)(c))
}

// count is a member that should be a whole number, or a text that is one. Any other value is read
// as 0.
type count uint64

func (c *count) UnmarshalJSON(value []byte) error {
	number, err := strconv.ParseFloat(strings.Trim(string(value), `"`), 64)
	if *c = 0; err == nil && number >= 1 && number < 1<<53 && number == math.Trunc(number) {
		*c = count(number)
	}
	return nil
}

// eachRegion calls fn with the answer of a layer to a query.
func (n *namer) eachRegion(typ string, q feature.Query, fn func(*feature.Feature) error) error {
	l, err := n.regions.Layer(typ)
	if err != nil {
		return err
	}
	return feature.Each(l.Features(n.ctx, &q), fn)
}

func (n *namer) readLayer(level int, typ string, take func(names.Feature) error) error {
	return n.eachRegion(typ, feature.Query{}, func(region *feature.Feature) error {
		id, record := region.ID, append(region.Properties.AppendMembers([]byte{'{'}), '}')
		var r regionRecord
		if err := json.Unmarshal(record, &r); err != nil {
			return fmt.Errorf("the record of %s %s: %w", typ, id, err)
		}
		if r.Name == "" {
			return nil
		}
		f := names.Feature{
			Kind: names.Region, Type: typ, ID: id, Name: r.Name, Bounds: boundsOf(region), Level: level,
			PlacesPopulation: n.people[regionID{typ, id}], Population: uint64(cmp.Or(r.Population, r.PopEst)),
			Country: string(cmp.Or(r.ISOA2, r.Country)),
		}
		if n.only != nil && typ != countryType {
			f.Level = max(level, 1) // boundaries may come later
		}
		if len(f.Country) != 2 {
			f.Country = ""
		}
		if f.Country == "" && typ == countryType && r.Name == "Kosovo" {
			f.Country = "XK" // this code is in use, though ISO has not assigned it
		}
		if typ == countryType && f.Country != "" && n.places != nil {
			is, err := n.places.Country(n.ctx, f.Country)
			if err != nil && !errors.Is(err, places.ErrNoCode) {
				return err
			}
			if is.Population > 0 {
				f.Population = uint64(is.Population)
			}
		}
		if f.Title = countyTitle(typ, id, &r); f.Title != "" {
			f.Names = append(f.Names, search.Name{Text: f.Title})
		}
		geometry, err := region.Orb()
		if err != nil {
			return fmt.Errorf("%s %s: %w", typ, id, err)
		}
		f.Lon, f.Lat = pointOf(region, geometry)
		if typ == countryType {
			f.Bounds = mainBounds(geometry, f.Bounds)
		}
		if f.Parents, err = n.parents(f.Lat, f.Lon, n.all()[:level], f.Country); err != nil {
			return err
		}
		// Codes of the regions around a region are not its own.
		if slices.Contains(n.all()[:level], countryType) {
			r.ISOA2 = ""
		}
		if slices.ContainsFunc(f.Parents, func(p names.Parent) bool { return strings.EqualFold(p.ID, string(r.ISO3166)) }) {
			r.ISO3166 = ""
		}
		f.Code = string(cmp.Or(r.ISO3166, r.ISOA2))
		addCodes(&f, string(r.ISOA2), string(r.ISOA3), string(r.ISO3166), string(r.Postal))
		if err := n.otherNames(&f, record); err != nil {
			return err
		}
		if typ == stateType {
			addISONames(&f)
		}
		n.shown[f.Country] = n.shown[f.Country] || typ == countryType
		return take(f)
	})
}

// all returns the layers, the coarsest first.
func (n *namer) all() []string {
	layers := make([]string, len(n.layers))
	for i, t := range n.layers {
		layers[i] = t.Name
	}
	return layers
}

// parents returns the regions of layers at a point, the smallest first. No region holds another of
// its layer. If several regions of one layer hold the point, it returns the smallest, or the
// country that has a code.
func (n *namer) parents(lat, lon float64, layers []string, country string) (list []names.Parent, err error) {
	if n.regions == nil || len(layers) == 0 {
		return nil, nil
	}
	at, err := n.regions.At(n.ctx, lat, lon, layers...)
	if err != nil {
		return nil, err
	}
	for _, layer := range slices.Backward(layers) {
		best := -1
		for i := range at {
			if r := &at[i]; r.Type == layer && (best < 0 || layer == countryType && strings.EqualFold(r.ID, country)) {
				best = i
			}
		}
		if best >= 0 {
			r := &at[best]
			list = append(list, names.Parent{Type: r.Type, ID: r.ID, Name: r.Name})
		}
	}
	return list, nil
}

// addCodes adds the codes that a feature has, each once.
func addCodes(f *names.Feature, codes ...string) {
	for _, code := range codes {
		name := search.Name{Text: code, Lang: search.CodeLang}
		if code != "" && !slices.Contains(f.Names, name) {
			f.Names = append(f.Names, name)
		}
	}
}

// airportRecord is the part of an airport's record that the search needs.
type airportRecord struct {
	id                       uint32
	ident, iata, icao, local string
}

func (n *namer) readAirports(take func(names.Feature) error) error {
	if n.airports == nil {
		return nil
	}
	return n.eachImportant(n.airports, feature.Query{}, func(a *feature.Feature) (err error) {
		text := a.Properties.Text
		r := airportRecord{uint32(a.Number), text("ident"), text("iata"), text("icao"), text("local")}
		code := cmp.Or(r.iata, r.icao, r.ident)
		f := names.Feature{
			Kind:    names.Airport,
			Type:    text("type"),
			ID:      cmp.Or(r.ident, code),
			Name:    a.Name(),
			Country: text("country"),
			Code:    code,
			Lat:     a.Lat,
			Lon:     a.Lon,
		}
		addCodes(&f, r.iata, r.icao, r.ident, r.local)
		f.Names = append(f.Names, airportNames(f.Name, text("municipality"), r.iata)...)
		if err := n.addRecord(&f, &r); err != nil {
			return err
		}
		if f.Parents, err = n.parents(f.Lat, f.Lon, n.all(), f.Country); err != nil {
			return err
		}
		return take(f)
	})
}

func boundsOf(region *feature.Feature) [4]float64 {
	b := region.Bounds
	return [4]float64{b.West, b.South, b.East, b.North}
}

// pointOf returns a point inside a region, the point halfway along the longest of lines, or the
// middle of the bounds if the region encloses nothing.
func pointOf(region *feature.Feature, geometry orb.Geometry) (lon, lat float64) {
	var longest orb.LineString
	switch g := geometry.(type) {
	case orb.LineString:
		longest = g
	case orb.MultiLineString:
		for _, l := range g {
			if longest == nil || planar.Length(l) > planar.Length(longest) {
				longest = l
			}
		}
	case orb.Polygon, orb.MultiPolygon:
		return pointInside(geometry)
	}
	if len(longest) > 0 {
		return halfway(longest)
	}
	return region.Lon, region.Lat
}

// halfway returns the point in the middle of a line of at least one point.
func halfway(l orb.LineString) (lon, lat float64) {
	left := planar.Length(l) / 2
	for i := 1; i < len(l); i++ {
		a, b := l[i-1], l[i]
		step := planar.Distance(a, b)
		if step >= left && step > 0 {
			f := left / step
			return a[0] + f*(b[0]-a[0]), a[1] + f*(b[1]-a[1])
		}
		left -= step
	}
	return l[0][0], l[0][1]
}

// pointInside returns a point inside a Polygon or MultiPolygon: the middle of the widest
// stretch of a parallel halfway up its largest polygon.
func pointInside(g orb.Geometry) (lon, lat float64) {
	var largest orb.Polygon
	size := -1.0
	consider := func(p orb.Polygon) {
		if len(p) == 0 {
			return
		}
		if b := p[0].Bound(); (b.Max[0]-b.Min[0])*(b.Max[1]-b.Min[1]) > size {
			largest, size = p, (b.Max[0]-b.Min[0])*(b.Max[1]-b.Min[1])
		}
	}
	switch g := g.(type) {
	case orb.Polygon:
		consider(g)
	case orb.MultiPolygon:
		for _, p := range g {
			consider(p)
		}
	}
	if largest == nil {
		return 0, 0
	}
	b := largest[0].Bound()
	lat = (b.Min[1] + b.Max[1]) / 2
	var crossings []float64
	for _, ring := range largest {
		for i := 1; i < len(ring); i++ {
			a, c := ring[i-1], ring[i]
			if (a[1] > lat) != (c[1] > lat) {
				crossings = append(crossings, a[0]+(lat-a[1])/(c[1]-a[1])*(c[0]-a[0]))
			}
		}
	}
	slices.Sort(crossings)
	lon, widest := (b.Min[0]+b.Max[0])/2, -1.0
	for i := 0; i+1 < len(crossings); i += 2 {
		if width := crossings[i+1] - crossings[i]; width > widest {
			lon, widest = (crossings[i]+crossings[i+1])/2, width
		}
	}
	return lon, lat
}

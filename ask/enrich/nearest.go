package enrich

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"quadrille/ask"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/quadkey"
)

// These are the names of fields of the nearest feature that are not properties.
const (
	fieldID       = "id"
	fieldLat      = "lat"
	fieldLon      = "lon"
	fieldDistance = "distance_m"
)

// nearestSource makes columns of the nearest feature of a layer.
type nearestSource struct {
	layer  *ask.Layer
	filter feature.Filter
	prefix string
	fields []string
	memo   *memo // nil if the layer is quick enough alone
	note   string
}

const aliasPlace = "place"

// layerAlias is the name of one feature of a layer, with the features that are meant by it.
var layerAlias = map[string]struct {
	layer  string
	filter feature.Filter
}{
	aliasPlace: {ask.PlacesLayer, places.OnlyPopulated},
	"airport":  {ask.AirportsLayer, airports.ForTravellers},
	"station":  {ask.StationsLayer, nil},
}

// Nearest returns a Source of the nearest feature of a layer that can be asked so. The layer is one of ask.Moment.Layer,
// or the name of a collection of points without ask.PointsPrefix, or "place", "airport" or "station": the
// nearest populated place, airport for travellers and weather station. Fields are properties of the layer, or
// id, lat, lon and distance_m, rounded to the decimetre. If none is given, they are name and
// distance_m. The columns are called LAYER_FIELD, without ask.PointsPrefix. A collection that has the name of another
// layer, or of one of these three, is meant only with ask.PointsPrefix, as Plan.Notes says if there is a public one. Points that
// expire or take writes are asked for as they are when their row is filled. The caller must check access to a private layer.
func Nearest(v ask.View, layer string, fields ...string) (Source, error) {
	return nearest(v, v.Layer, layer, fields, maxMemoBytes)
}

// nearest does the same as Nearest, with layers from find, and with twice memoBytes for what neighbours share.
func nearest(v ask.View, find func(name string) (*ask.Layer, error), layer string, fields []string, memoBytes int) (Source, error) {
	s := &nearestSource{prefix: strings.TrimPrefix(layer, ask.PointsPrefix), fields: fields}
	name := layer
	if alias, ok := layerAlias[layer]; ok {
		name, s.filter = alias.layer, alias.filter
	}
	var err error
	s.layer, err = find(name)
	if errors.Is(err, ask.ErrNoLayer) && !strings.HasPrefix(name, ask.PointsPrefix) {
		if of, failed := find(ask.PointsPrefix + name); failed == nil || !errors.Is(failed, ask.ErrNoLayer) {
			s.layer, err = of, failed
		}
	}
	if errors.Is(err, ask.ErrNoLayer) {
		return nil, fmt.Errorf("%w; there are %s", err, strings.Join(v.LayerNames(), ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("nearest %s: %w", layer, err)
	}
	if own, failed := v.Layer(ask.PointsPrefix + layer); failed == nil && own.LayerInfo.Name != s.layer.LayerInfo.Name && !own.LayerInfo.Private {
		s.note = fmt.Sprintf("the nearest %s is one of the layer %s, not of the collection of that name: that is %s%[1]s", layer, s.layer.Info().Name,
			ask.PointsPrefix)
	}
	info := s.layer.Info()
	if !info.Can.Near {
		return nil, badRequest("the layer %s cannot be asked for what is nearest: name another one", name)
	}
	// Distances are those of positions, and stay. Most tiles of populated places have few rows, and the layer
	// has a table of the nearest ones.
	if info.AllPoints && !info.Live && layer != aliasPlace {
		s.memo = newMemo(info.Count, memoBytes)
	}
	if len(fields) == 0 {
		s.fields = []string{"name", fieldDistance}
	}
	for _, f := range s.fields {
		if _, known := info.Schema.Lookup(f); !known && !isFixed(f) && !(len(fields) == 0 && f == "name") {
			return nil, badRequest("the layer %s has no property %.60q; there are id, lat, lon, distance_m and %s", name, f,
				strings.Join(schemaNames(info.Schema), ", "))
		}
	}
	return s, nil
}

func isFixed(field string) bool {
	return slices.Contains([]string{fieldID, fieldLat, fieldLon, fieldDistance}, field)
}

func schemaNames(s feature.Schema) (names []string) {
	for _, f := range s {
		names = append(names, f.Name)
	}
	return names
}

func (s *nearestSource) Inputs() []string { return nil }

func (s *nearestSource) notes() []string {
	if s.note == "" {
		return nil
	}
	return []string{s.note}
}

func (s *nearestSource) Columns() (list []Column) {
	for _, name := range s.fields {
		c := Column{Name: s.prefix + "_" + name}
		switch f, _ := s.layer.Info().Schema.Lookup(name); {
		case isFixed(name):
			c.Raw = name != fieldID
		default:
			c.Raw = f.Kind == feature.Number || f.Kind == feature.Boolean
		}
		list = append(list, c)
	}
	return list
}

func (s *nearestSource) filler() fill {
	near := &feature.Near{}
	q := feature.Query{Near: near, Filter: s.filter, Limit: 1, Detail: feature.WithoutGeometry, MaxExamined: math.MaxInt}
	properties := feature.NewColumns(s.fields)
	one := func(ctx context.Context, p quadkey.Position, out []Cells) error {
		if near.Position = p; !near.Valid() {
			addEmpty(out)
			return nil
		}
		if s.memo != nil {
			of, tile, build := s.memo.take(near.Position)
			if build {
				var err error
				if of, err = s.candidates(ctx, tile, q, properties); err != nil {
					return err
				}
				s.memo.put(tile, of)
			}
			if best, metres, ok := of.nearest(near.Position); ok {
				s.addCandidate(out, of, best, metres)
				return nil
			}
		}
		return s.ask(ctx, &q, properties, out)
	}
	var by order
	sorted := make([]Cells, len(s.fields))
	return func(ctx context.Context, c *Chunk, out []Cells) error {
		by.sort(c.Points)
		for k := range sorted {
			sorted[k].Reset()
		}
		for _, r := range by.rows {
			if err := one(ctx, c.Points[r.row], sorted); err != nil {
				return err
			}
			if c.isFull(sorted) { // only the first rows may be left, so these are filled in their order
				return s.fillFirst(ctx, c, one, out)
			}
		}
		by.invert()
		for k := range out {
			for _, at := range by.at {
				out[k].AddBytes(sorted[k].At(int(at)))
			}
		}
		return nil
	}
}

// fillFirst fills as many rows as there is room for, in their order.
func (s *nearestSource) fillFirst(ctx context.Context, c *Chunk, one func(context.Context, quadkey.Position, []Cells) error, out []Cells) error {
	for _, p := range c.Points {
		if c.isFull(out) {
			return nil
		}
		if err := one(ctx, p, out); err != nil {
			return err
		}
	}
	return nil
}

// order is an order of rows in which neighbours are near each other, so that they share what is read.
type order struct {
	rows []orderedRow
	at   []int32 // where each row is in rows
}

type orderedRow struct {
	cell quadkey.Cell
	row  int32
}

// sort orders the rows of points. Those without a valid position come in any order.
func (o *order) sort(points []quadkey.Position) {
	o.rows = o.rows[:0]
	for i, p := range points {
		cell, _ := quadkey.CellOf(p.Lon, p.Lat) // of invalid positions 0
		o.rows = append(o.rows, orderedRow{cell, int32(i)})
	}
	slices.SortFunc(o.rows, func(a, b orderedRow) int { return cmp.Compare(a.cell, b.cell) })
}

// invert sets o.at.
func (o *order) invert() {
	o.at = slices.Grow(o.at[:0], len(o.rows))[:len(o.rows)]
	for i, r := range o.rows {
		o.at[r.row] = int32(i)
	}
}

// ask adds the cells of the nearest feature.
func (s *nearestSource) ask(ctx context.Context, q *feature.Query, properties *feature.Columns, out []Cells) error {
	for f, err := range s.layer.Features(ctx, q) {
		if err != nil {
			return err
		}
		s.add(out, f, properties.ValuesOf(f.Properties))
		return nil
	}
	addEmpty(out)
	return nil
}

// addCandidate adds the cells of a candidate.
func (s *nearestSource) addCandidate(out []Cells, of *tileCandidates, i int, metres float64) {
	for k, name := range s.fields {
		if name != fieldDistance {
			out[k].AddBytes(of.cells.At(i*of.columns + k))
			continue
		}
		out[k].text = appendMetres(out[k].text, metres)
		out[k].end()
	}
}

func appendMetres(text []byte, metres float64) []byte {
	return strconv.AppendFloat(text, metres, 'f', 1, 64)
}

// add adds the cells of a feature.
func (s *nearestSource) add(out []Cells, f *feature.Feature, values []feature.Value) {
	for k, name := range s.fields {
		c := &out[k]
		switch name {
		case fieldID:
			c.text = append(c.text, f.ID...)
		case fieldLat:
			c.text = strconv.AppendFloat(c.text, f.Lat, 'f', -1, 64)
		case fieldLon:
			c.text = strconv.AppendFloat(c.text, f.Lon, 'f', -1, 64)
		case fieldDistance:
			c.text = appendMetres(c.text, f.DistanceM)
		default:
			c.text = values[k].AppendText(c.text)
		}
		c.end()
	}
}

package ogc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	datasets "quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/stations"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// source is a collection of features in one generation of its data.
type source interface {
	// page returns the features that meet the box of what is asked, in an order that does
	// not change, and the cursor of the next page, "" if there is none. Features hold only
	// what tells them apart until they are loaded.
	page(ctx context.Context, ask *ask, limit int, cursor string) (features []item, next string, err error)
	// load reads the rest of a feature.
	load(ctx context.Context, f *item, geometry bool) error
	// one reads a feature by its id.
	one(ctx context.Context, id string, at time.Time) (item, error)
	// meets reports whether a feature that has been loaded meets a box.
	meets(ctx context.Context, f *item, box quadkey.Box) (bool, error)
}

// feature is one of a collection.
type item struct {
	id         string
	mark       string  // the cursor of what comes after it; "" where only the source knows
	lon, lat   float64 // of a point
	geometry   []byte  // as GeoJSON, of a region; nil for a point, and for one that has none
	region     bool
	bbox       []byte // "[west,south,east,north]", of a region
	properties []byte // the members of a JSON object, without the braces
}

// regions are those of a layer.
type regions struct {
	datasets.Boundaries
	layer string
	// met are the ids of the regions that meet a box, for filters with several boxes.
	met map[quadkey.Box]map[string]bool
}

// errFull ends a list.
var errFull = errors.New("the page is full")

func (s *regions) page(ctx context.Context, ask *ask, limit int, cursor string) (features []item, next string, err error) {
	if ask.boxed {
		var page []tiles.Overlap
		page, next, err = s.Within(ctx, tiles.WithinQuery{Box: ask.box, Types: []string{s.layer}, Limit: limit, After: cursor})
		for i := range page {
			features = append(features, item{id: page[i].ID, region: true, mark: page[i].ID})
		}
		if next != "" {
			next = features[len(features)-1].mark
		}
		return features, next, err
	}
	size := 0
	err = s.EachRegion(ctx, s.layer, cursor, ask.geometry, func(id string, record, geometry []byte) error {
		if err := web.Step(ctx); err != nil {
			return err
		}
		if len(features) == limit || size > maxPageBytes {
			next = features[len(features)-1].mark
			return errFull
		}
		size += len(record) + len(geometry)
		f := item{id: id, region: true, mark: id, geometry: bytes.Clone(geometry)}
		features = append(features, f)
		return features[len(features)-1].read(s.layer, bytes.Clone(record))
	})
	if errors.Is(err, errFull) {
		err = nil
	}
	return features, next, err
}

func (s *regions) load(ctx context.Context, f *item, geometry bool) error {
	if f.properties != nil {
		return nil
	}
	record, err := s.Region(ctx, s.layer, f.id, geometry)
	if err != nil {
		return err
	}
	return f.read(s.layer, record)
}

// read takes the record of a region, which may have its geometry.
func (f *item) read(layer string, record []byte) error {
	if len(record) < 2 {
		return fmt.Errorf("%w: record of %s %s", tiles.ErrCorrupt, layer, f.id)
	}
	f.properties = record[1 : len(record)-1]
	// The members are written by ingest, and quotes within texts are escaped. The geometry is
	// the last one, and the bounds stand before the properties of the source, which may hold
	// objects with members of these names. What follows such a member ends more than one object.
	const last = `,"geometry":`
	if i := bytes.LastIndex(f.properties, []byte(last)); i >= 0 {
		after := f.properties[i+len(last):]
		if bytes.HasPrefix(after, []byte("{")) && bytes.IndexByte(after, '}') == len(after)-1 {
			f.properties, f.geometry = f.properties[:i], after
		}
	}
	if before, after, ok := bytes.Cut(f.properties, []byte(`,"bbox":[`)); ok {
		end := bytes.IndexByte(after, ']')
		if end < 0 {
			return fmt.Errorf("%w: record of %s %s", tiles.ErrCorrupt, layer, f.id)
		}
		f.bbox = slices.Concat([]byte{'['}, after[:end+1])
		f.properties = slices.Concat(before, after[end+1:])
	}
	return nil
}

func (s *regions) one(ctx context.Context, id string, _ time.Time) (item, error) {
	f := item{id: id, region: true}
	return f, s.load(ctx, &f, true)
}

// maxMet is how many regions may meet a box of a filter that is not the box of the search.
const maxMet = 10_000

func (s *regions) meets(ctx context.Context, f *item, box quadkey.Box) (bool, error) {
	ids, ok := s.met[box]
	if !ok {
		ids = map[string]bool{}
		for cursor := ""; ; {
			page, next, err := s.Within(ctx, tiles.WithinQuery{Box: box, Types: []string{s.layer}, Limit: tiles.MaxLimit, Cursor: cursor})
			if err != nil {
				return false, err
			}
			for i := range page {
				ids[page[i].ID] = true
			}
			if err := web.Step(ctx); err != nil {
				return false, err
			}
			if cursor = next; next == "" {
				break
			}
			if len(ids) >= maxMet {
				return false, errManyMet
			}
		}
		if s.met == nil {
			s.met = map[quadkey.Box]map[string]bool{}
		}
		s.met[box] = ids
	}
	return ids[f.id], nil
}

// pointSource is what sources of points have in common: a page is loaded at once.
type pointSource struct{}

func (pointSource) load(context.Context, *item, bool) error { return nil }

func (pointSource) meets(_ context.Context, f *item, box quadkey.Box) (bool, error) {
	return box.Contains(f.lon, f.lat), nil
}

// maxVain is how many places that are outside the box a page reads at most.
const maxVain = 20_000

// eachPlace lists places or airports from a cursor on. It is the mark of the last one.
func eachPlace(ctx context.Context, ask *ask, limit int, cursor string,
	each func(ctx context.Context, b quadkey.Box, after *places.Mark, fn func(at places.Mark, h *places.Hit) bool) error) (features []item, next string, err error) {
	var after *places.Mark
	if cursor != "" {
		var at places.Mark
		if n, err := fmt.Sscanf(cursor, "%08x%08x", &at.Cell, &at.ID); n != 2 || err != nil || len(cursor) != 16 {
			return nil, "", errCursor
		}
		after = &at
	}
	vain, last := 0, ""
	var late error
	err = each(ctx, ask.box, after, func(at places.Mark, h *places.Hit) bool {
		if late = web.Step(ctx); late != nil {
			return false
		}
		if len(features) == limit || vain == maxVain {
			next = last
			return false
		}
		last = fmt.Sprintf("%08x%08x", uint32(at.Cell), at.ID)
		if h == nil {
			vain++
			return true
		}
		f := ofHit(h)
		f.properties, f.mark = bytes.Clone(h.JSON), last
		features = append(features, f)
		return true
	})
	return features, next, cmp.Or(err, late)
}

func ofHit(h *places.Hit) item {
	return item{id: strconv.FormatUint(uint64(h.ID), 10), lon: h.Lon, lat: h.Lat, properties: h.JSON}
}

// number reads the id of a place or an airport.
func number(id string) (uint32, bool) {
	n, err := strconv.ParseUint(id, 10, 32)
	return uint32(n), err == nil && strconv.FormatUint(n, 10) == id
}

type placeSource struct {
	pointSource
	datasets.Places
}

func (s placeSource) page(ctx context.Context, ask *ask, limit int, cursor string) ([]item, string, error) {
	return eachPlace(ctx, ask, limit, cursor, s.Each)
}

func (s placeSource) one(ctx context.Context, id string, _ time.Time) (item, error) {
	n, ok := number(id)
	if !ok {
		return item{}, fmt.Errorf("%w: %.40q", places.ErrNotFound, id)
	}
	var h places.Hit
	if err := s.Hit(ctx, n, &h); err != nil {
		return item{}, err
	}
	return ofHit(&h), nil
}

type airportSource struct {
	pointSource
	datasets.Airports
}

func (s airportSource) page(ctx context.Context, ask *ask, limit int, cursor string) ([]item, string, error) {
	return eachPlace(ctx, ask, limit, cursor, s.Each)
}

func (s airportSource) one(ctx context.Context, id string, _ time.Time) (item, error) {
	n, ok := number(id)
	if !ok {
		return item{}, fmt.Errorf("%w: %.40q", airports.ErrNotFound, id)
	}
	var h places.Hit
	if err := s.Hit(ctx, n, &h); err != nil {
		return item{}, err
	}
	return ofHit(&h), nil
}

type stationSource struct {
	pointSource
	datasets.Stations
}

func (s stationSource) page(ctx context.Context, ask *ask, limit int, cursor string) ([]item, string, error) {
	q := stations.WithinQuery{Box: ask.box, Limit: limit, Cursor: cursor}
	q.Country = ask.country
	hits, next, err := s.Within(ctx, q, nil)
	features := make([]item, len(hits))
	for i := range hits {
		features[i] = item{id: hits[i].ID.String(), lon: hits[i].Lon, lat: hits[i].Lat, properties: hits[i].JSON}
	}
	return features, next, err
}

func (s stationSource) one(ctx context.Context, id string, _ time.Time) (f item, err error) {
	var key stations.ID
	if len(id) != len(key) {
		return f, fmt.Errorf("%w: %.40q", stations.ErrNotFound, id)
	}
	copy(key[:], id)
	f.id = id
	if f.properties, err = s.Record(ctx, key, nil); err != nil {
		return f, err
	}
	var ok [2]bool
	f.lon, ok[0] = numberOf(f.properties, "lon")
	f.lat, ok[1] = numberOf(f.properties, "lat")
	if ok != [2]bool{true, true} {
		return f, fmt.Errorf("%w: record of station %s", cellstore.ErrCorrupt, id)
	}
	return f, nil
}

// collectionSource are points of a collection.
type collectionSource struct {
	pointSource
	datasets.Collection
}

func (s collectionSource) page(ctx context.Context, ask *ask, limit int, cursor string) (features []item, next string, err error) {
	q := feature.Query{In: feature.Box(ask.box), At: ask.at, Limit: limit + 1}
	if err := q.Continue(s.Info(), cursor); err != nil {
		return nil, "", err
	}
	for f, err := range s.Features(ctx, &q) {
		if err != nil {
			return nil, "", err
		}
		if len(features) == limit {
			return features, features[limit-1].mark, nil
		}
		features = append(features, ofPoint(f))
		features[len(features)-1].mark = q.Cursor(s.Info(), f.Mark)
	}
	return features, "", nil
}

func ofPoint(f *feature.Feature) item {
	return item{id: f.ID, lon: f.Lon, lat: f.Lat, properties: f.Properties.AppendMembers(nil)}
}

func (s collectionSource) one(ctx context.Context, id string, at time.Time) (item, error) {
	var f feature.Feature
	if err := s.Get(ctx, id, at, &f); err != nil {
		return item{}, err
	}
	return ofPoint(&f), nil
}

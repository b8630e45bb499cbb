package servertest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/toyworld"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/ipgeo"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/names"
	"quadrille/places/stations"
	"quadrille/places/zones"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// Rows are the rows of a data set. They are built in memory when a server first publishes them. All
// servers that publish them share the result.
type Rows struct {
	ask.Dataset

	build func(context.Context, cellstore.Store) (meta any, err error)
	once  sync.Once
	made  struct {
		store cellstore.Store
		meta  json.RawMessage
		sum   []byte // of all cells but for their dates
		err   error
	}
}

// open builds the rows.
func (r *Rows) open() (cellstore.Store, json.RawMessage, []byte, error) {
	r.once.Do(func() { r.made.err = r.make(context.Background()) })
	return r.made.store, r.made.meta, r.made.sum, r.made.err
}

func (r *Rows) make(ctx context.Context) error {
	store, err := buildtest.MemoryStore()
	if err != nil {
		return err
	}
	meta, err := r.build(ctx, store)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Name, err)
	}
	r.made.store = store
	if r.made.meta, err = json.Marshal(meta); err != nil {
		return err
	}
	r.made.sum, err = sum(ctx, store)
	return err
}

func sum(ctx context.Context, store cellstore.Store) ([]byte, error) {
	all := sha256.New()
	tables, err := store.Tables(ctx)
	for _, name := range tables {
		t, err := store.Table(ctx, name)
		if err != nil {
			return nil, err
		}
		for row, err := range t.Scan(ctx, cellstore.Scan{}) {
			if err != nil {
				return nil, err
			}
			for _, c := range row.Cells {
				for _, part := range [][]byte{[]byte(name), row.Key, []byte(c.Family), c.Qualifier, c.Value} {
					all.Write(binary.AppendUvarint(nil, uint64(len(part))))
					all.Write(part)
				}
			}
		}
	}
	return all.Sum(nil), err
}

// PublishInto builds the rows in a catalogue of other stores.
func (r *Rows) PublishInto(t testing.TB, c *dataset.Catalog) {
	t.Helper()
	b := must.Get(c.Begin(t.Context(), r.Name)).In(t)
	meta := must.Get(r.build(t.Context(), b.Store())).In(t)
	m := dataset.Manifest{
		SchemaVersion: r.Schema,
		Meta:          must.Get(json.Marshal(meta)).In(t),
		Built:         toyworld.Modified,
		Sources:       []dataset.Source{{Name: r.Name}},
	}
	must.Get(b.Publish(t.Context(), m)).In(t)
}

// rowsOf returns the rows that write builds. write also returns the metadata for the reader, and
// statistics.
func rowsOf[M, S any](d ask.Dataset, write func(context.Context, cellstore.Store) (M, S, error)) *Rows {
	return &Rows{Dataset: d, build: func(ctx context.Context, s cellstore.Store) (any, error) {
		meta, _, err := write(ctx, s)
		return meta, err
	}}
}

// Regions returns rows of boundaries.
func Regions(layers ...build.Layer) *Rows {
	return rowsOf(ask.Boundaries.Dataset, func(ctx context.Context, s cellstore.Store) (tiles.Meta, build.Stats, error) {
		return build.Run(ctx, s, layers, build.Options{Timestamp: 1})
	})
}

// Places returns rows of places, with their names in languages and the tables that explain their
// codes.
func Places(list []places.Place, names []places.AlternateName, gazetteer places.Gazetteer) *Rows {
	return rowsOf(ask.Places.Dataset, func(ctx context.Context, s cellstore.Store) (places.Meta, places.Stats, error) {
		return places.Build(ctx, s, places.Source{
			Places:    buildtest.SeqOf(list),
			Names:     buildtest.SeqOf(names),
			Gazetteer: gazetteer,
		}, places.BuildOptions{})
	})
}

// Airports returns rows of airports.
func Airports(list ...airports.Airport) *Rows {
	return rowsOf(ask.Airports.Dataset, func(ctx context.Context, s cellstore.Store) (airports.Meta, airports.Stats, error) {
		return airports.Build(ctx, s, buildtest.SeqOf(list), airports.BuildOptions{})
	})
}

// Stations returns rows of weather stations.
func Stations(list ...stations.Station) *Rows {
	return rowsOf(ask.Stations.Dataset, func(ctx context.Context, s cellstore.Store) (stations.Meta, stations.Stats, error) {
		return stations.Build(ctx, s, buildtest.SeqOf(list), stations.BuildOptions{})
	})
}

// Weather returns rows of observations of some stations.
func Weather(of []stations.Station, list []stations.Observation) *Rows {
	return rowsOf(ask.Weather.Dataset,
		func(ctx context.Context, s cellstore.Store) (m stations.WeatherMeta, _ stations.WeatherStats, err error) {
			store, meta, _, err := Stations(of...).open()
			if err != nil {
				return m, stations.WeatherStats{}, err
			}
			finder, err := openAs(ctx, store, meta, stations.Open)
			if err != nil {
				return m, stations.WeatherStats{}, err
			}
			return stations.BuildWeather(ctx, s, finder, buildtest.SeqOf(list), stations.BuildOptions{})
		})
}

// openAs opens a reader of rows.
func openAs[M, R any](ctx context.Context, store cellstore.Store, raw json.RawMessage,
	open func(context.Context, cellstore.Store, M) (R, error)) (r R, err error) {
	var meta M
	if err := json.Unmarshal(raw, &meta); err != nil {
		return r, err
	}
	return open(ctx, store, meta)
}

// Zones returns rows of time zones, and rows of countries with a single zone.
func Zones(names []string, countries map[string]string) *Rows {
	return rowsOf(ask.TimeZones.Dataset, func(ctx context.Context, s cellstore.Store) (zones.Meta, zones.Stats, error) {
		return zones.Build(ctx, s, names, countries)
	})
}

// Names returns rows of names of regions, airports and other features.
func Names(list ...names.Feature) *Rows {
	return rowsOf(ask.Names.Dataset, func(ctx context.Context, s cellstore.Store) (m names.Meta, _ struct{}, err error) {
		m, err = names.Build(ctx, s, buildtest.SeqOf(list), names.Options{Timestamp: 1})
		return m, struct{}{}, err
	})
}

// Ranges returns rows of IP ranges.
func Ranges(list ...ipgeo.Range) *Rows {
	return rowsOf(ask.Addresses.Dataset, func(ctx context.Context, s cellstore.Store) (ipgeo.Meta, ipgeo.Stats, error) {
		return ipgeo.Build(ctx, s, buildtest.SeqOf(list), ipgeo.BuildOptions{Timestamp: 1})
	})
}

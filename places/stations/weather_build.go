package stations

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"iter"
	"slices"
	"time"

	"quadrille/cellstore"
	"quadrille/internal/extsort"
	"quadrille/places/internal/bulkload"
	"quadrille/quadkey"
)

// WeatherMeta describes a data set of observations. Store it as JSON in the
// manifest; OpenWeather needs it.
type WeatherMeta struct {
	SchemaVersion int   `json:"schema_version"`
	Observations  int64 `json:"observations"`
	// Stations is the number of stations with observations.
	Stations int64 `json:"stations"`
	// Tiles is the number of rows of weather_tiles.
	Tiles int64 `json:"tiles"`
	// First and Last are the times of the oldest and the newest observation.
	First       time.Time `json:"first,omitzero"`
	Last        time.Time `json:"last,omitzero"`
	Fingerprint string    `json:"fingerprint"`
}

// WeatherStats counts what BuildWeather did.
type WeatherStats struct {
	Read       int64 // observations given
	Duplicates int64 // dropped for an earlier one of the same station and minute
	Spilled    int64 // bytes of temporary files written
}

// BuildWeather writes the tables of weather into a store that has none of them. Observations come
// in any order. Of several with the same station and minute, the first one is kept. The Finder must
// know their stations, whose positions decide which tiles they count for. An observation of another
// station, a time that keys cannot hold, or an error of the sequence ends the build. Discard the
// store after a failed build.
//
// Memory stays within opts.Memory plus the ids of the stations, for any number of observations.
func BuildWeather(ctx context.Context, store cellstore.Store, stations *Finder, seq iter.Seq2[Observation, error],
	opts BuildOptions) (WeatherMeta, WeatherStats, error) {
	b := &weatherBuilder{ctx: ctx, store: store, opts: opts, sum: sha256.New()}
	meta, err := b.build(stations, seq)
	if err != nil {
		return WeatherMeta{}, b.stats, fmt.Errorf("stations: %w", err)
	}
	return meta, b.stats, nil
}

// weatherBuilder sorts the observations three times. The first is by station and reversed time,
// which is the order of their table and brings duplicates together. The second is by hour and
// zoom-8 tile, in which they add up to the tiles of an hour in one pass. The third puts those tiles
// into the order of their table, by key and reversed hour.
type weatherBuilder struct {
	ctx   context.Context
	store cellstore.Store
	opts  BuildOptions
	stats WeatherStats
	meta  WeatherMeta
	sum   hash.Hash

	stations []weatherStation // in the order of their ids
	sorters  [3]*extsort.Sorter
}

type weatherStation struct {
	id   ID
	tile uint16 // packed quadkey of zoom partZoom
}

func (b *weatherBuilder) build(stations *Finder, seq iter.Seq2[Observation, error]) (_ WeatherMeta, err error) {
	for _, s := range weatherSchemas() {
		if err := b.store.CreateTable(b.ctx, s); err != nil {
			return WeatherMeta{}, err
		}
	}
	for i := range b.sorters {
		// At most two sorters are full at once: one is read while another is
		// filled.
		b.sorters[i] = extsort.New(b.opts.TempDir, b.opts.memory()/2)
	}
	defer func() {
		for _, s := range b.sorters {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := b.locate(stations); err != nil {
		return WeatherMeta{}, err
	}
	if err := b.collect(seq); err != nil {
		return WeatherMeta{}, err
	}
	for i, step := range []func() error{b.writeObservations, b.sumUp, b.writeTiles} {
		if err := step(); err != nil {
			return WeatherMeta{}, err
		}
		b.stats.Spilled += b.sorters[i].Spilled()
		if err := b.sorters[i].Close(); err != nil {
			return WeatherMeta{}, err
		}
	}
	b.meta.SchemaVersion = SchemaVersion
	b.meta.Fingerprint = hex.EncodeToString(b.sum.Sum(nil)[:16])
	return b.meta, nil
}

func (b *weatherBuilder) locate(f *Finder) error {
	b.stations = make([]weatherStation, len(f.entries))
	for i := range f.entries {
		lon, lat := f.entries[i].at.Degrees()
		t, err := quadkey.TileAt(lon, lat, partZoom)
		if err != nil {
			return err
		}
		b.stations[i] = weatherStation{f.entries[i].id, uint16(t.Packed())}
	}
	slices.SortFunc(b.stations, func(x, y weatherStation) int { return slices.Compare(x.id[:], y.id[:]) })
	return nil
}

// find returns the number of a station.
func (b *weatherBuilder) find(id ID) (int, bool) {
	return slices.BinarySearchFunc(b.stations, id, func(s weatherStation, id ID) int { return slices.Compare(s.id[:], id[:]) })
}

func (b *weatherBuilder) collect(seq iter.Seq2[Observation, error]) error {
	var value []byte
	var last ID
	n, found := 0, false
	for o, err := range seq {
		if err != nil {
			return err
		}
		if !found || o.Station != last { // files are of one station
			if n, found = b.find(o.Station); !found {
				return fmt.Errorf("%w: observation of station %.20q, which is not among the stations; leave it out, or build the stations anew", ErrInvalid, o.Station)
			}
			last = o.Station
		}
		minutes, ok := minutesOf(o.Time)
		if !ok {
			return fmt.Errorf("%w: observation at %v; times run from the year 1 to 6053", ErrInvalid, o.Time)
		}
		value = o.appendValue(value[:0])
		if err := b.sorters[0].Add(uint64(n)<<32|uint64(^minutes), value); err != nil {
			return err
		}
		if b.stats.Read++; b.stats.Read%progressEvery == 0 {
			if err := b.ctx.Err(); err != nil {
				return err
			}
		}
	}
	return b.ctx.Err()
}

// observationKey is a row key of observations.
type observationKey [len(ID{}) + 4]byte

func makeObservationKey(id ID, minutes uint32) (k observationKey) {
	copy(k[:], id[:])
	binary.BigEndian.PutUint32(k[len(id):], ^minutes)
	return k
}

func (k *observationKey) minutes() uint32 { return ^binary.BigEndian.Uint32(k[len(ID{}):]) }

func (b *weatherBuilder) writeObservations() error {
	const stage = "writing observations"
	return bulkload.Fill(b.ctx, b.store, tableObservations, func(l *bulkload.Load) error {
		last, station := ^uint64(0), -1 // no key: there are no 2³² stations
		var done int64
		err := b.sorters[0].Each(func(sortKey uint64, value []byte) error {
			if done++; done%progressEvery == 0 {
				b.opts.progress(stage, done, b.stats.Read)
				if err := b.ctx.Err(); err != nil {
					return err
				}
			}
			if sortKey == last {
				b.stats.Duplicates++
				return nil
			}
			last = sortKey
			n, minutes := int(sortKey>>32), ^uint32(sortKey)
			if n != station {
				station = n
				b.meta.Stations++
			}
			b.meta.Observations++
			t := minuteTime(minutes)
			if b.meta.First.IsZero() || t.Before(b.meta.First) {
				b.meta.First = t
			}
			if b.meta.Last.IsZero() || t.After(b.meta.Last) {
				b.meta.Last = t
			}
			s := &b.stations[n]
			key := makeObservationKey(s.id, minutes)
			b.sum.Write(key[:])
			b.sum.Write(value)
			if err := b.sorters[1].Add(uint64(hourOf(minutes))<<16|uint64(s.tile), value); err != nil {
				return err
			}
			return l.Add(key[:], cellstore.Cell{Family: famObservation, Timestamp: timestamp(t), Value: value})
		})
		b.opts.progress(stage, done, b.stats.Read)
		return err
	})
}

// sumUp computes the tiles of each hour.
func (b *weatherBuilder) sumUp() error {
	const stage = "adding up tiles"
	var s summer
	var value []byte
	s.emit = func(t quadkey.Tile, hour uint32, parts *[partsPerTile]Sums) error {
		value = appendParts(value[:0], parts)
		b.meta.Tiles++
		return b.sorters[2].Add(uint64(tileNumber(t))<<32|uint64(^hour), value)
	}
	var done int64
	var o Observation
	err := b.sorters[1].Each(func(sortKey uint64, value []byte) error {
		if !o.parseValue(value) {
			return errors.New("temporary file is damaged")
		}
		if done++; done%progressEvery == 0 {
			b.opts.progress(stage, done, b.meta.Observations)
			if err := b.ctx.Err(); err != nil {
				return err
			}
		}
		return s.add(uint32(sortKey>>16), uint16(sortKey), &o)
	})
	if err != nil {
		return err
	}
	b.opts.progress(stage, done, b.meta.Observations)
	return s.finish()
}

func (b *weatherBuilder) writeTiles() error {
	const stage = "writing tiles of weather"
	return bulkload.Fill(b.ctx, b.store, tableWeather, func(l *bulkload.Load) error {
		var done int64
		err := b.sorters[2].Each(func(sortKey uint64, value []byte) error {
			if done++; done%progressEvery == 0 {
				b.opts.progress(stage, done, b.meta.Tiles)
				if err := b.ctx.Err(); err != nil {
					return err
				}
			}
			hour := ^uint32(sortKey)
			key := makeWeatherKey(numberedTile(uint16(sortKey>>32)), hour)
			return l.Add(key[:], cellstore.Cell{Family: famWeather, Timestamp: timestamp(hourTime(hour)), Value: value})
		})
		b.opts.progress(stage, done, b.meta.Tiles)
		return err
	})
}

package stations

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// MaxWeatherZoom is the deepest zoom of tiles with weather.
const MaxWeatherZoom = partZoom

// Weather reads the tables of BuildWeather. Any number of goroutines may use it
// while its store is open.
type Weather struct {
	meta                WeatherMeta
	observations, tiles cellstore.Table
	rows                sync.Pool // of *cellstore.Row
}

// OpenWeather returns a reader of the tables in a store. Meta is the result of
// BuildWeather. Tables of another layout are refused with cellstore.ErrLayout.
func OpenWeather(ctx context.Context, store cellstore.Store, meta WeatherMeta) (*Weather, error) {
	if err := cellstore.CheckLayout("the weather", meta.SchemaVersion, 1, SchemaVersion, "run ingest weather"); err != nil {
		return nil, err
	}
	w := &Weather{meta: meta}
	w.rows.New = func() any { return new(cellstore.Row) }
	if err := openTables(ctx, store, map[string]*cellstore.Table{tableObservations: &w.observations, tableWeather: &w.tiles}); err != nil {
		return nil, err
	}
	return w, nil
}

// OpenPublishedWeather opens published observations, such as a generation of package dataset.
func OpenPublishedWeather(ctx context.Context, p cellstore.Published) (*Weather, error) {
	return cellstore.OpenPublished(ctx, p, SchemaVersion, OpenWeather)
}

// Span returns the times of the oldest and the newest observation. Both are
// zero if there are no observations.
func (w *Weather) Span() (first, last time.Time) { return w.meta.First, w.meta.Last }

// ObservationQuery selects observations of a station.
type ObservationQuery struct {
	Station  ID
	From, To time.Time // both included; zero: no bound
	Limit    int       // observations per page, as in NearbyQuery
	// Cursor continues after the page that returned it. All other fields, except
	// Limit, must be unchanged.
	Cursor string
}

// Observations returns a page of a station's observations, newest first, and
// the cursor of the next page, empty if there is none. An unknown station has
// no observations. The observations overwrite dst. A page takes one seek and
// one step for each observation.
//
// Errors match places.ErrQuery, places.ErrCursor or places.ErrCursorExpired, or
// are the store's.
func (w *Weather) Observations(ctx context.Context, q ObservationQuery, dst []Observation) (page []Observation, next string, err error) {
	dst = dst[:0]
	limit, err := near.CheckLimit(q.Limit)
	if err != nil {
		return dst, "", err
	}
	oldest, newest, err := q.minutes()
	if err != nil {
		return dst, "", err
	}
	// A mark is the time of an observation in minutes. It identifies the observation, because no
	// two of a station have the same time.
	of := feature.Info{Name: fmt.Sprintf("observations of %s %d-%d", q.Station[:], oldest, newest), Fingerprint: w.meta.Fingerprint}
	pages := feature.Query{Order: newestFirst}
	if err := pages.Continue(&of, q.Cursor); err != nil {
		return dst, "", err
	}
	if q.Cursor != "" {
		if len(pages.After) != 4 {
			return dst, "", near.BadCursor()
		}
		at := binary.BigEndian.Uint32(pages.After)
		if at == 0 || at > newest {
			return dst, "", near.BadCursor()
		}
		newest = at - 1
	}
	if oldest > newest {
		return dst, "", nil
	}
	first, last := makeObservationKey(q.Station, newest), makeObservationKey(q.Station, oldest)
	scan := cellstore.Scan{
		Ranges:    []cellstore.Range{{From: first[:], To: last[:], ToInclusive: true}},
		Selection: cellstore.Selection{Families: []string{famObservation}},
		Limit:     limit + 1, // one more tells whether there is a next page
		Batch:     limit + 1,
	}
	var at uint32 // time of the last observation of the page
	for row, err := range w.observations.Scan(ctx, scan) {
		if err != nil {
			return dst[:0], "", fmt.Errorf("stations: %w", err)
		}
		if len(row.Key) != len(observationKey{}) || len(row.Cells) != 1 {
			return dst[:0], "", cellstore.CorruptRow(tableObservations, row.Key, "has another layout")
		}
		minutes := (*observationKey)(row.Key).minutes()
		if len(dst) == limit {
			return dst, pages.Cursor(&of, binary.BigEndian.AppendUint32(nil, at)), nil
		}
		o := Observation{Station: q.Station, Time: minuteTime(minutes)}
		if !o.parseValue(row.Cells[0].Value) {
			return dst[:0], "", cellstore.CorruptRow(tableObservations, row.Key, "has another layout")
		}
		dst, at = append(dst, o), minutes
	}
	return dst, "", nil
}

// minutes returns the first and the last minute of a query.
func (q *ObservationQuery) minutes() (oldest, newest uint32, err error) {
	newest = ^uint32(0)
	if !q.From.IsZero() {
		// Keys have no seconds, so from is rounded up to a minute.
		from, ok := minutesOf(q.From.Add(time.Minute - time.Nanosecond))
		if !ok {
			return 0, 0, timeError("from", q.From)
		}
		oldest = from
	}
	if !q.To.IsZero() {
		to, ok := minutesOf(q.To)
		if !ok {
			return 0, 0, timeError("to", q.To)
		}
		newest = to
	}
	if !q.From.IsZero() && !q.To.IsZero() && q.From.After(q.To) {
		return 0, 0, feature.BadQuery("from %v is after to %v; exchange them", q.From, q.To)
	}
	return oldest, newest, nil
}

// newestFirst is the order of observations, newest first; other layers do not have it.
var newestFirst = feature.Order{Sort: feature.Sort{Field: feature.Field{Name: "time", Kind: feature.Time}, Descending: true}}

func timeError(name string, t time.Time) error {
	return feature.BadQuery("%s %v; give a time of the years 1 to 6053", name, t)
}

// TileWeather is the weather of a tile in an hour.
type TileWeather struct {
	Hour time.Time // when it begins, UTC
	// Total is the sum of the whole tile. Parts lists the parts that have observations, from west
	// to east and then from north to south. The tile has PartsPerSide × PartsPerSide parts. PartsPerSide is 4 up to zoom 6,
	// 2 at zoom 7 and 1 at zoom 8.
	Total        Sums
	PartsPerSide int
	Parts        []WeatherPart
}

// WeatherPart is the weather of a part of a tile.
type WeatherPart struct {
	X, Y int // column from the west and row from the north, from 0
	Sums
}

// Tile returns the weather of a tile, of a zoom up to MaxWeatherZoom, in the hour that contains a
// time. It takes one read. A tile without observations in that hour has empty weather, without an
// error. The parts reuse the memory of the parts of dst.
//
// Errors match places.ErrQuery or come from the store.
func (w *Weather) Tile(ctx context.Context, t quadkey.Tile, at time.Time, dst *TileWeather) error {
	if !t.Valid() || t.Z > MaxWeatherZoom {
		return feature.BadQuery("tile %v; weather is kept for tiles of zoom 0 to %d", t, MaxWeatherZoom)
	}
	minutes, ok := minutesOf(at)
	if !ok {
		return timeError("at", at)
	}
	hour := hourOf(minutes)
	*dst = TileWeather{Hour: hourTime(hour), Parts: dst.Parts[:0]}
	row := w.rows.Get().(*cellstore.Row)
	defer w.rows.Put(row)
	above := t.Ancestor(rowZoom)
	key := makeWeatherKey(above, hour)
	found, err := w.tiles.Get(ctx, key[:], nil, row)
	if err != nil {
		return fmt.Errorf("stations: %w", err)
	}
	// The tile covers a square of the row's parts.
	dst.PartsPerSide = partsPerSide >> (t.Z - above.Z)
	if !found {
		return nil
	}
	var parts [partsPerTile]Sums
	if len(row.Cells) != 1 || !parseParts(row.Cells[0].Value, &parts) {
		return cellstore.CorruptRow(tableWeather, row.Key, "has another layout")
	}
	first, _ := t.AtZoom(above.Z + partDepth)
	dst.Parts = slices.Grow(dst.Parts, dst.PartsPerSide*dst.PartsPerSide)
	for y := range dst.PartsPerSide {
		for x := range dst.PartsPerSide {
			p := &parts[partOf(quadkey.Tile{Z: first.Z, X: first.X + uint32(x), Y: first.Y + uint32(y)})]
			if p.Observations > 0 {
				dst.Total.merge(p)
				dst.Parts = append(dst.Parts, WeatherPart{X: x, Y: y, Sums: *p})
			}
		}
	}
	return nil
}

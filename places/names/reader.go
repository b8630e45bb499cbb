package names

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/places/search"
)

// Reader finds features by their names.
type Reader struct {
	features cellstore.Table
	local    cellstore.Table
	names    *search.Reader
	meta     *Meta
	states   map[string]string // the only one of each code of Meta.Admin1Codes, "" of several
	codes    map[string]string // Meta.Admin1Codes by the folds of the ids
	more     []*Reader         // see Join
}

// Open returns a Reader of the tables in a store. Meta is the result of Build. Tables of another
// layout are refused with cellstore.ErrLayout.
func Open(ctx context.Context, store cellstore.Store, meta Meta) (*Reader, error) {
	if err := cellstore.CheckLayout("names", meta.SchemaVersion, SchemaVersion, SchemaVersion, "run ingest names"); err != nil {
		return nil, err
	}
	r := &Reader{meta: &meta, states: map[string]string{}, codes: map[string]string{}}
	for state, code := range meta.Admin1Codes {
		r.codes[feature.FoldedRegionID(state)] = code
		if _, two := r.states[code]; two {
			state = ""
		}
		r.states[code] = state
	}
	var err error
	if r.features, err = store.Table(ctx, tableFeatures); err != nil {
		return nil, fmt.Errorf("names: %w", err)
	}
	if r.local, err = store.Table(ctx, tableLocal); err != nil {
		return nil, fmt.Errorf("names: %w", err)
	}
	if r.names, err = search.Open(ctx, store, meta.Search); err != nil {
		return nil, fmt.Errorf("names: %w", err)
	}
	return r, nil
}

// OpenPublished opens published names, such as a generation of package dataset.
func OpenPublished(ctx context.Context, p cellstore.Published) (*Reader, error) {
	return cellstore.OpenPublished(ctx, p, SchemaVersion, Open)
}

// SourceCountryCodes returns the codes, besides the country's own, that sources have for places in
// a country of the map: see Meta. The list is shared and must not be changed.
func (r *Reader) SourceCountryCodes(country string) []string {
	return r.meta.SourceCountryCodes[country]
}

// Admin1Code returns the source's code of the division to which a region of type state belongs, or ""
// if it is unknown: see Meta.
func (r *Reader) Admin1Code(state string) string { return r.codes[feature.FoldedRegionID(state)] }

// StateID returns the id of the region of type state for which Admin1Code returns the code. It returns
// "" if there are several such regions. known is false if there is none.
func (r *Reader) StateID(code string) (id string, known bool) {
	id, known = r.states[code]
	return id, known
}

// Hit is a feature found by a search.
type Hit struct {
	Feature
	Match search.Match
	Score int32 // the rank, greater first, as of search.Hit
}

// Search returns the matching features, best first: see search.Reader.Search, whose errors it
// returns. Classes have the values of Class. Hits are appended to dst[:0]. A Budget also pays for a
// seek of each hit; once it is spent, further hits are left out.
func (r *Reader) Search(ctx context.Context, q search.Query, dst []Hit) ([]Hit, error) {
	if len(r.more) > 0 {
		return r.searchAll(ctx, q, dst)
	}
	return r.search(ctx, q, dst[:0])
}

// search appends the hits of this index alone.
func (r *Reader) search(ctx context.Context, q search.Query, dst []Hit) ([]Hit, error) {
	budget, kept := q.Budget, 0
	if budget != nil { // keep some for reading the hits
		kept = max(min(cmp.Or(q.Limit, search.DefaultLimit), budget.Seeks/2), 0)
		budget.Seeks -= kept
	}
	found, _, err := r.names.Search(ctx, q, nil)
	if budget != nil {
		budget.Seeks += kept
	}
	if err != nil {
		return dst, err
	}
	var row cellstore.Row
	var key [4]byte
	for i := range found {
		if !budget.Take(1) {
			break
		}
		binary.BigEndian.PutUint32(key[:], found[i].ID)
		ok, err := r.features.Get(ctx, key[:], nil, &row)
		if err != nil {
			return dst, fmt.Errorf("names: %w", err)
		}
		h := Hit{Match: found[i].Match, Score: found[i].Score}
		if !ok || json.Unmarshal(row.Cells[0].Value, &h.Feature) != nil {
			return dst, fmt.Errorf("names: %w: there is no feature %d", cellstore.ErrCorrupt, found[i].ID)
		}
		dst = append(dst, h)
	}
	return dst, nil
}

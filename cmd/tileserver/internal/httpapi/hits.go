package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"quadrille/cellstore/dataset"
	"quadrille/internal/jsontext"
	"quadrille/places"
	"quadrille/places/search"
	"quadrille/tiles"
	"strconv"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
)

// nearbyHits is reused memory for the hits of one answer.
var nearbyHits = sync.Pool{New: func() any { return new([]places.Hit) }}

// sendHits answers with a page of places or airports of a data set: ask finds
// them and write appends them to the body, both in one generation.
func sendHits[F any](s *kit, c echo.Context, live *dataset.Live[F], form form,
	ask func(ctx context.Context, f F, dst []places.Hit) (hits []places.Hit, next string, err error),
	write func(ctx context.Context, f F, dst []byte, hits []places.Hit, next string) ([]byte, error)) error {
	p := pin(live)
	defer p.release()
	finder, err := p.get()
	if err != nil {
		return err
	}
	return s.reply(c, answer{form: form, byAccept: true}, []uint64{p.id}, func(ctx context.Context, out *scratch) error {
		memory := nearbyHits.Get().(*[]places.Hit)
		defer nearbyHits.Put(memory)
		hits, next, err := ask(ctx, finder, (*memory)[:0])
		if err != nil {
			return err
		}
		*memory = hits
		out.body, err = write(ctx, finder, out.body, hits, next)
		return err
	})
}

// placesHead begins a list of places.
const placesHead = `{"places":[`

// appendHits writes {"places":[…],"next":"…"}.
func appendHits(dst []byte, hits []places.Hit, next string) []byte {
	dst = append(dst, placesHead...)
	for i := range hits {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendHit(dst, &hits[i])
	}
	return appendNext(append(dst, ']'), next)
}

// appendHitFeatures writes a FeatureCollection of points; next is a foreign
// member of it.
func appendHitFeatures(dst []byte, hits []places.Hit, next string) []byte {
	dst = append(dst, collectionHead...)
	for i := range hits {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendFeatureHead(dst, hits[i].ID, hits[i].Lon, hits[i].Lat)
		dst = append(appendHit(dst, &hits[i]), '}')
	}
	return appendNext(append(dst, ']'), next)
}

// appendHit writes a place with its distance in metres, to the decimetre.
func appendHit(dst []byte, h *places.Hit) []byte {
	dst = append(append(dst, '{'), h.JSON...)
	dst = append(dst, `,"distance_m":`...)
	dst = strconv.AppendFloat(dst, h.DistanceM, 'f', 1, 64)
	return append(dst, '}')
}

// appendMembers writes a hit that has no distance.
func appendMembers(dst []byte, h *places.Hit) []byte {
	return append(append(append(dst, '{'), h.JSON...), '}')
}

// searchHits is reused memory for the hits of one search.
var searchHits = sync.Pool{New: func() any { return new([]search.Hit) }}

// nameMember begins the name among a place's members.
const nameMember = `,"name":`

// memberName returns where the name's JSON string stands in a place's members.
func memberName(members []byte) (from, to int) { return member(members, nameMember) }

// member returns where the JSON string of a member stands in a place's members or
// record, zeros when it has no such member. key is written as nameMember is. Within
// a string the quotes of a key are escaped, so the first match is the member itself,
// if there is one.
func member(members []byte, key string) (from, to int) {
	at := bytes.Index(members, []byte(key))
	if at < 0 {
		return 0, 0
	}
	from = at + len(key)
	to = from + stringEnd(members[from:])
	return from, to
}

// memberText is the text of a member that is a code, "" when there is none.
func memberText(members []byte, key string) string {
	from, to := member(members, key)
	if to-from < 2 {
		return ""
	}
	raw := members[from:to]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// stringEnd is the length of the JSON string that b begins with.
func stringEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// appendRenamed writes a place's members with another name, or with its own if
// that is "".
func appendRenamed(dst, members []byte, name string) []byte {
	from, to := memberName(members)
	if name == "" || from == 0 {
		return append(dst, members...)
	}
	dst = append(dst, members[:from]...)
	dst = jsontext.AppendString(dst, name)
	return append(dst, members[to:]...)
}

// appendRegion writes a region up to where its object may go on.
func appendRegion(dst []byte, r *tiles.Region) []byte {
	dst = jsontext.AppendString(append(dst, `{"type":`...), r.Type)
	dst = jsontext.AppendString(append(dst, `,"id":`...), r.ID)
	if r.Name != "" {
		dst = jsontext.AppendString(append(dst, `,"name":`...), r.Name)
	}
	return dst
}

// placeFilter is what endpoints of places let through.
type placeFilter struct {
	classes, codes, countries []string
	minPopulation             int64
}

// dear reports whether a search for so many places may look at very many: where
// the classes, codes and countries asked for are is known without reading, to a
// hundred places or so, but not where those of a population are.
func (f *placeFilter) dear(limit int) bool {
	return f.minPopulation > 0 || limit > 100 && len(f.classes)+len(f.codes)+len(f.countries) > 0
}

// isSearchText reports whether a text can be searched for.
func isSearchText(s string) bool {
	blank := true
	for _, r := range s {
		if unicode.IsControl(r) {
			return false
		}
		blank = blank && unicode.IsSpace(r)
	}
	return !blank && len(s) <= search.MaxQuery && utf8.ValidString(s)
}

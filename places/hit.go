package places

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"sync"

	"quadrille/feature"
	"quadrille/places/internal/members"
)

// Hit is a found place. Unknown values are empty or 0.
type Hit struct {
	ID         uint32 `json:"id" doc:"GeoNames id."`
	Name       string `json:"name"`
	Country    string `json:"country,omitempty" doc:"ISO 3166-1 alpha-2."`
	Class      string `json:"class,omitempty" doc:"GeoNames' feature class."` // "P"
	Code       string `json:"code,omitempty" doc:"GeoNames' feature code."`   // "PPLC"
	Admin1     string `json:"admin1,omitempty" doc:"Code of the first-order division."`
	Admin1Name string `json:"admin1_name,omitempty"`
	TimeZone   string `json:"timezone,omitempty" doc:"IANA."`
	Population int64  `json:"population,omitempty" schema:"min=1"`
	// MapPopulation is Place.Weight.
	MapPopulation int64   `json:"map_population,omitempty" schema:"min=1" doc:"The people of the agglomeration, which rank the place on maps."`
	Lat           float64 `json:"lat,omitempty" schema:"ref=Latitude"` // degrees
	Lon           float64 `json:"lon,omitempty" schema:"ref=Longitude"`
	DistanceM     float64 `json:"-"` // metres from the query's position, if it has one
	// JSON has the members of the place's object, without the braces around them:
	// "id":1,"name":"…",…,"lat":47.4,"lon":8.5. Put them inside braces, alone or with members of
	// your own before or after.
	JSON []byte `json:"-"`
}

// These are the keys of members of a place's object.
const (
	nameKey       = `,"name":`
	countryKey    = `,"country":`
	classKey      = `,"class":`
	codeKey       = `,"code":`
	populationKey = `,"population":`
	weightKey     = `,"map_population":`
	admin1Key     = `,"admin1":`
	admin1NameKey = `,"admin1_name":`
	admin2Key     = `,"admin2":`
	admin3Key     = `,"admin3":`
	namesKey      = `,"names":`
	timeZoneKey   = `,"timezone":`
)

// AppendNamed appends members of a place, from Hit.JSON or a record, with another name. If name is
// "", it appends them unchanged.
func AppendNamed(dst, json []byte, name string) []byte {
	return members.AppendNamed(dst, json, nameKey, name)
}

// FromFeature sets h to the place or airport of a feature. It copies into memory of h, which it reuses. The
// error matches cellstore.ErrCorrupt for a feature without a name.
func (h *Hit) FromFeature(f *feature.Feature) error {
	r := hitReaders.Get().(*hitReader)
	defer hitReaders.Put(r)
	return r.common.fill(h, f)
}

// CollectHits returns the places or airports of an answer. It overwrites dst and reuses its memory.
func CollectHits(dst []Hit, answer iter.Seq2[*feature.Feature, error]) ([]Hit, error) {
	r := hitReaders.Get().(*hitReader)
	defer func() {
		r.hits, r.err = nil, nil
		hitReaders.Put(r)
	}()
	r.hits = dst[:0]
	answer(r.take)
	if r.err != nil {
		return r.hits[:0], r.err
	}
	return r.hits, nil
}

// hitReader makes hits of features. It is a type because a loop with a function literal would
// allocate the literal, and what it refers to, for each answer.
type hitReader struct {
	common texts
	hits   []Hit
	err    error
	take   func(*feature.Feature, error) bool // next
}

var hitReaders = sync.Pool{New: func() any {
	r := &hitReader{common: texts{}}
	r.take = r.next
	return r
}}

// next takes a feature of an answer, and reports whether to continue.
func (r *hitReader) next(f *feature.Feature, err error) bool {
	if r.err != nil {
		return false // a further call would not complete the answer
	}
	if r.err = err; err == nil {
		r.hits = slices.Grow(r.hits, 1)[:len(r.hits)+1]
		r.err = r.common.fill(&r.hits[len(r.hits)-1], f)
	}
	return r.err == nil
}

// texts has one copy of each text that many places share, by its JSON form.
type texts map[string]string

const maxTexts = 1 << 12

// fill does the same as Hit.FromFeature.
func (t texts) fill(h *Hit, f *feature.Feature) (err error) {
	h.JSON = f.Properties.AppendMembers(h.JSON[:0])
	h.ID, h.Lat, h.Lon, h.DistanceM = uint32(f.Number), f.Lat, f.Lon, f.DistanceM
	h.Population, h.MapPopulation = numberOf(h.JSON, populationKey), numberOf(h.JSON, weightKey)
	// The name is often that of the previous hit.
	if q := members.Text(h.JSON, nameKey); len(q) < 2 || string(q[1:len(q)-1]) != h.Name || strings.Contains(h.Name, `\`) {
		if h.Name, err = nameOf(h.JSON); err != nil {
			return err
		}
	}
	h.Country, h.Class, h.Code = t.of(h.JSON, countryKey), t.of(h.JSON, classKey), t.of(h.JSON, codeKey)
	h.Admin1, h.Admin1Name, h.TimeZone = t.of(h.JSON, admin1Key), t.of(h.JSON, admin1NameKey), t.of(h.JSON, timeZoneKey)
	return nil
}

// numberOf reads the whole number of a member, or 0 where there is none.
func numberOf(json []byte, key string) (n int64) {
	_, digits, _ := bytes.Cut(json, []byte(key))
	for _, c := range digits {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int64(c-'0')
	}
	return n
}

// of returns the text of a member of a JSON object, with one shared copy of each text. It returns
// "" if there is no such member.
func (t texts) of(json []byte, key string) string {
	quoted := members.Text(json, key)
	if len(quoted) < 2 {
		return ""
	}
	raw := quoted[1 : len(quoted)-1]
	s, ok := t[string(raw)]
	if !ok {
		s, _ = members.Unquote(quoted)
		if len(t) < maxTexts {
			t[string(raw)] = s
		}
	}
	return s
}

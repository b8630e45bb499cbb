package ipgeo

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"quadrille/internal/jsontext"
	"quadrille/quadkey"
)

// parts is the decoded record of one source. The strings point into it.
type parts struct {
	part        [partCount]string
	code        string
	coordinates string
	derived     uint32
	extra       []string // members
}

// read decodes a record of encoder.encode.
func (p *parts) read(record string) {
	extra := p.extra[:0]
	*p = parts{}
	for len(record) >= partHeader {
		n := int(record[1]) | int(record[2])<<8 | int(record[3])<<16
		tag, body := record[0], record[partHeader:partHeader+n]
		record = record[partHeader+n:]
		switch tag {
		case tagCode:
			p.code = body
		case tagCoordinates:
			p.coordinates = body
		case tagDerived:
			p.derived = binary.LittleEndian.Uint32([]byte(body))
		case tagExtra:
			extra = append(extra, body)
		case tagNothing:
		default:
			p.part[tag] = body
		}
	}
	p.extra = extra
}

// These values rank the reliability of a part: lower values take precedence.
const (
	stated = iota
	implied
	derived // from other data sets
)

func (p *parts) founded(part int) int {
	switch {
	case part >= impliedShift:
	case p.derived&(1<<part) != 0:
		return derived
	case p.derived&(1<<(part+impliedShift)) != 0:
		return implied
	}
	return stated
}

// geographic are the parts about the place of an address. If a source places the address elsewhere,
// its geographic parts are not mixed with those of the other sources.
var geographic = [...]int{
	partContinent, partCountry, partCity, partPoint, partRadius, partIncome, partMetro, partDensity, partZone, partPostal, partSubdivisions,
}

// together are the parts that describe one place. They come from one source, or
// from several that name the same place.
var together = [...]int{partCity, partPoint, partRadius, partMetro, partPostal, partSubdivisions}

// placed reports whether a record locates an address more precisely than by its country.
func placed(p parts) bool {
	return p.part[partCity] != "" || p.part[partPoint] != "" || p.part[partPostal] != "" || p.part[partSubdivisions] != ""
}

// oneCountry clears the geographic parts of each source that places the address elsewhere than an
// earlier one. It reports whether there is such a source.
func oneCountry(sources []parts) (code string, apart bool) {
	for i := range sources {
		src := &sources[i]
		for j := range i {
			if sources[j].elsewhere(src) {
				for _, p := range geographic {
					src.part[p] = ""
				}
				src.code, apart = "", true
				break
			}
		}
		if code == "" {
			code = src.code
		}
	}
	return code, apart
}

// elsewhere reports whether another source gives the address a different location. If both sources
// have a country, the countries decide. Otherwise the other data that both have decide: continents,
// and places.
func (p *parts) elsewhere(src *parts) bool {
	if p.code != "" && src.code != "" {
		return p.code != src.code
	}
	return otherContinent(p.part[partContinent], src.part[partContinent]) || placed(*p) && placed(*src) && p.apart(src)
}

func otherContinent(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	code, _ := memberText(a, "code")
	other, _ := memberText(b, "code")
	if code != "" && other != "" {
		return code != other
	}
	return hasText(a) && hasText(b) && !shareText(a, b)
}

// These bound the distance of two points, in metres and in addition to both radii. Beyond it two
// places are treated as being in different countries. The point of a source that names nothing
// smaller than the country is the middle of the country, so farMiddle applies.
const (
	farPlaces = 500e3
	farMiddle = 5000e3
)

// apart reports whether two places are different and not near each other.
func (p *parts) apart(src *parts) bool {
	a, b := p.part[partCity], src.part[partCity]
	id, _ := memberText(a, "geoname_id")
	other, _ := memberText(b, "geoname_id")
	if id != "" && id == other {
		return false
	}
	lat, lon, ok := readCoordinates(p.coordinates)
	if srcLat, srcLon, srcOK := readCoordinates(src.coordinates); ok && srcOK {
		far := farPlaces
		if !p.local() || !src.local() {
			far = farMiddle
		}
		return quadkey.Distance(lon, lat, srcLon, srcLat) > far+p.radius()+src.radius()
	}
	if id != "" && other != "" || hasText(a) && hasText(b) {
		return !shareText(a, b)
	}
	return p.otherDivision(src)
}

// otherDivision reports whether both sources state codes of subdivisions without a common one.
func (p *parts) otherDivision(src *parts) bool {
	return p.founded(partSubdivisions) != derived && src.founded(partSubdivisions) != derived &&
		otherCodes(p.part[partSubdivisions], src.part[partSubdivisions])
}

// local reports whether a source names something smaller than a country.
func (p *parts) local() bool {
	return p.code == "" || p.part[partCity] != "" || p.part[partPostal] != "" || p.part[partSubdivisions] != ""
}

// radius returns the accuracy radius of the point, in metres.
func (p *parts) radius() float64 {
	text, _ := memberText(p.part[partPoint], "accuracy_radius")
	km, _ := strconv.ParseFloat(text, 64) // 0 for none
	return km * 1000
}

// onePlace looks for the first source that names a place. It clears the parts of together in the
// sources that do not name the same place.
func onePlace(sources []parts) {
	first := slices.IndexFunc(sources, placed)
	if first < 0 || len(sources) == 1 {
		return
	}
	place := parts{part: sources[first].part, derived: sources[first].derived}
	for i := range sources {
		src := &sources[i]
		same := i >= first && (i == first || place.sameAs(src))
		for _, p := range together {
			if !same {
				src.part[p] = ""
			} else if src.part[p] != "" && (place.part[p] == "" || src.founded(p) < place.founded(p)) { // the more precise source wins
				if place.part[p] = src.part[p]; p == partSubdivisions { // only this part may be derived
					place.derived = src.derived
				}
			}
		}
	}
}

// sameAs reports whether another source names the same place: the same city or, if p has no more
// about the place than its subdivision, the same subdivision.
func (p *parts) sameAs(src *parts) bool {
	if p.otherDivision(src) {
		return false
	}
	if city := p.part[partCity]; city != "" {
		id, _ := memberText(city, "geoname_id")
		other, _ := memberText(src.part[partCity], "geoname_id")
		return id != "" && id == other || shareText(city, src.part[partCity])
	}
	if p.part[partPoint] != "" || p.part[partPostal] != "" {
		return false
	}
	return shareText(p.part[partSubdivisions], src.part[partSubdivisions])
}

// otherCodes reports whether two lists of subdivisions both have codes, but none in common. Some
// sources give one level, and some two.
func otherCodes(a, b string) bool {
	both := false
	for code, rest := memberText(a, "iso_code"); code != ""; code, rest = memberText(rest, "iso_code") {
		for other, rest := memberText(b, "iso_code"); other != ""; other, rest = memberText(rest, "iso_code") {
			if code == other {
				return false
			}
			both = true
		}
	}
	return both
}

// memberText returns the raw value of the first member with the given name at any depth, and the
// text after it; "" if there is none.
func memberText(object, name string) (text, rest string) {
	for quoted, rest := nextQuoted(object); quoted != ""; quoted, rest = nextQuoted(rest) {
		if value, ok := strings.CutPrefix(rest, ":"); ok && quoted[1:len(quoted)-1] == name {
			end := strings.IndexAny(value, ",}")
			return value[:end], value[end:]
		}
	}
	return "", ""
}

// shareText reports whether two JSON values share a string that is not the name of a member. It
// ignores case and a suffix in brackets: DB-IP writes "Berlin (Mitte)".
func shareText(a, b string) bool {
	for text, rest := nextText(a); text != ""; text, rest = nextText(rest) {
		for other, rest := nextText(b); other != ""; other, rest = nextText(rest) {
			if strings.EqualFold(text, other) {
				return true
			}
		}
	}
	return false
}

func hasText(s string) bool { text, _ := nextText(s); return text != "" }

func nextText(s string) (text, rest string) {
	for {
		quoted, rest := nextQuoted(s)
		if quoted == "" || !strings.HasPrefix(rest, ":") {
			text, _, _ = strings.Cut(strings.Trim(quoted, `"`), " (")
			return text, rest
		}
		s = rest
	}
}

// nextQuoted returns the next string in a JSON value, with its quotes, and the text after it; "" at
// the end.
func nextQuoted(s string) (quoted, rest string) {
	i := strings.IndexByte(s, '"')
	if i < 0 {
		return "", ""
	}
	quoted = keyOf(s[i:])
	return quoted, s[i+len(quoted):]
}

// merger merges the records of several sources for the same addresses into an answer. Each part
// comes from the first source that states it, or else from the first that derives it from the code
// of the country or from other data sets. A source that places the addresses elsewhere than an
// earlier one contributes no geographic parts. A source that names another city contributes no
// parts of the place. A source that names another autonomous system contributes no organization.
// Answers are cached within a bound, because the same records meet again and again.
type merger struct {
	records *recordSet
	limit   int64 // bytes of the answers kept

	kept    map[string]keptAnswer
	size    int64
	key     []byte
	sources []parts
	out     parts
	w       objectWriter
	value   []byte
	apart   bool // the last answer had a source that is elsewhere than an earlier one
}

type keptAnswer struct {
	sections string
	apart    bool
}

// answer returns the sections of the answer for a tuple of records, in the order of precedence.
func (m *merger) answer(tuple []recordRef) string {
	m.key = m.key[:0]
	for i := range tuple {
		if tuple[i].inline != "" {
			return string(m.merged(tuple)) // rarely the same again
		}
		m.key = binary.LittleEndian.AppendUint64(m.key, tuple[i].at)
	}
	if s, ok := m.kept[string(m.key)]; ok {
		m.apart = s.apart
		return s.sections
	}
	s := string(m.merged(tuple))
	const overhead = 96 // of a map entry and its strings
	size := int64(len(s) + len(m.key) + overhead)
	if m.kept == nil || m.size+size > m.limit {
		m.kept, m.size = make(map[string]keptAnswer), 0
	}
	m.kept[string(m.key)] = keptAnswer{s, m.apart}
	m.size += size
	return s
}

// merged returns the sections of a tuple's answer, which are valid until the
// next call.
func (m *merger) merged(tuple []recordRef) []byte {
	for len(m.sources) < len(tuple) {
		m.sources = append(m.sources, parts{})
	}
	for i, ref := range tuple {
		record := ref.inline
		if record == "" {
			record = string(m.records.record(ref.at))
		}
		m.sources[i].read(record)
	}
	m.merge(m.sources[:len(tuple)])
	return m.sections()
}

func (m *merger) merge(sources []parts) {
	out := &m.out
	extra := out.extra[:0]
	*out = parts{}
	out.code, m.apart = oneCountry(sources)
	onePlace(sources)
	number := ""
	for i := range sources {
		if number == "" {
			number = sources[i].part[partASN]
		}
	}
	var founded [partCount]int
	for i := range sources {
		src := &sources[i]
		if src.part[partASN] != number {
			src.part[partASN+1] = "" // the organization is that of a number
		}
		for p, body := range src.part {
			how := src.founded(p)
			if body == "" || out.part[p] != "" && how >= founded[p] {
				continue // an earlier source wins, unless this one is better founded
			}
			if p == partCountry && src.code != out.code {
				continue // the names lack a code, which another source has
			}
			out.part[p], founded[p] = body, how
			if p == partPoint {
				out.coordinates = src.coordinates
			}
		}
		extra = append(extra, src.extra...)
	}
	if len(extra) > 1 {
		// Of equal keys, the first one stays. A single source is sorted too, by its raw keys, so
		// that equal answers have equal bytes.
		key := func(member string) string { return member[:len(keyOf(member))] }
		slices.SortStableFunc(extra, func(a, b string) int { return strings.Compare(key(a), key(b)) })
		extra = slices.CompactFunc(extra, func(a, b string) bool { return key(a) == key(b) })
	}
	out.extra = extra
	for p, how := range founded[:impliedShift] {
		if how == derived {
			out.derived |= 1 << p
		}
	}
}

// keyOf returns the quoted key of a member.
func keyOf(member string) string {
	for i := 1; i < len(member); i++ {
		switch member[i] {
		case '\\':
			i++
		case '"':
			return member[:i+1]
		}
	}
	return member
}

// sections joins the parts of the merged record into the sections of a row.
func (m *merger) sections() []byte {
	out, w := &m.out, &m.w
	v := appendSection(m.value[:0], sectionCode, out.code)

	w.b = w.b[:0]
	for p := partContinent; p <= partRepresented; p++ {
		w.raw(p, out)
	}
	v = appendSection(v, sectionCountry, w.b)

	w.b = w.b[:0]
	w.raw(partCity, out)
	at := w.open("location")
	if out.part[partPoint] != "" {
		w.b = append(w.b, out.part[partPoint]...)
	} else {
		w.raw(partRadius, out)
	}
	for p := partIncome; p <= partZone; p++ {
		w.raw(p, out)
	}
	w.close(at)
	w.raw(partPostal, out)
	w.raw(partSubdivisions, out)
	v = appendSection(v, sectionCity, w.b)

	w.b = w.b[:0]
	for p := partTraits; p < partCount; p++ {
		w.raw(p, out)
	}
	v = appendSection(v, sectionTraits, w.b)

	w.b = w.b[:0]
	w.own(out)
	v = appendSection(v, sectionOwn, w.b)

	v = appendSection(v, sectionCoordinates, out.coordinates)
	if asn, err := strconv.ParseUint(out.part[partASN], 10, 32); err == nil {
		v = appendSection(v, sectionASN, binary.BigEndian.AppendUint32(nil, uint32(asn)))
	}
	m.value = v
	return v
}

func (w *objectWriter) raw(part int, p *parts) {
	if body := p.part[part]; body != "" {
		w.key(partNames[part])
		w.b = append(w.b, body...)
	}
}

// own writes the members that GeoIP2 lacks.
func (w *objectWriter) own(p *parts) {
	if lat, lon, ok := readCoordinates(p.coordinates); ok {
		if cell, err := quadkey.CellOf(lon, lat); err == nil {
			w.key("quadkey")
			w.b = append(cell.Tile().AppendQuadkey(append(w.b, '"')), '"')
		}
	}
	if len(p.extra) > 0 {
		w.key("extra")
		w.b = append(w.b, '{')
		for _, member := range p.extra {
			w.b = append(jsontext.Next(w.b), member...)
		}
		w.b = append(w.b, '}')
	}
	if p.derived != 0 {
		w.key("derived")
		w.b = append(w.b, '[')
		for _, d := range derivable {
			if p.derived&(1<<d.part) != 0 {
				w.b = append(append(append(jsontext.Next(w.b), '"'), d.name...), '"')
			}
		}
		w.b = append(w.b, ']')
	}
}

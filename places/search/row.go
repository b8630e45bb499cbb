package search

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"quadrille/cellstore"
)

// SchemaVersion is the version of the row layouts in the package documentation.
// [Open] reads it and older ones. In version 1, folds distinguished forms of one letter, and names
// had no fold in Latin letters. Before version 3, names in all languages counted as main ones.
const SchemaVersion = 3

// These are the tables and their families.
const (
	tableNames   = "place_names"
	tablePrefix  = "place_prefix"
	tableContext = "place_context"
	tableFolds   = "place_folds"

	famName       = "n"
	famJSON       = "j"
	famCandidates = "c"
	famOthers     = "o"
	famContext    = "c"
	famFolds      = "f"
)

func schemas() []cellstore.Schema {
	return []cellstore.Schema{
		// Rows are written once: with a limit of one version, the store would look for others after
		// every load. The table is read by range, never by Get, so a filter would only cost.
		{Table: tableNames, Families: []cellstore.Family{
			{Name: famName, Bloom: cellstore.BloomNone, Compression: cellstore.CompressionZstd, MaxVersions: cellstore.Unlimited},
		}},
		{Table: tablePrefix, Families: []cellstore.Family{
			{Name: famJSON, Compression: cellstore.CompressionZstd, MaxVersions: cellstore.Unlimited},
			{Name: famCandidates, Compression: cellstore.CompressionZstd, MaxVersions: cellstore.Unlimited},
			{Name: famOthers, Compression: cellstore.CompressionZstd, MaxVersions: cellstore.Unlimited},
		}},
		{Table: tableContext, Families: []cellstore.Family{{Name: famContext, MaxVersions: cellstore.Unlimited}}},
		{Table: tableFolds, Families: []cellstore.Family{
			{Name: famFolds, Bloom: cellstore.BloomNone, Compression: cellstore.CompressionNone, MaxVersions: cellstore.Unlimited},
		}},
	}
}

// tailSize is the number of bytes after the fold in a key of place_names.
const tailSize = 7

// appendNameKey appends a key of place_names: the fold, a zero, the inverted
// base score, the id. Rows of one fold are thus in the order of answers.
func appendNameKey(dst, fold []byte, base uint16, id uint32) []byte {
	dst = append(append(dst, fold...), 0)
	dst = binary.BigEndian.AppendUint16(dst, ^base)
	return binary.BigEndian.AppendUint32(dst, id)
}

func parseNameKey(key []byte) (fold []byte, base uint16, id uint32, ok bool) {
	n := len(key) - tailSize
	if n < 1 || key[n] != 0 {
		return nil, 0, 0, false
	}
	return key[:n], ^binary.BigEndian.Uint16(key[n+1:]), binary.BigEndian.Uint32(key[n+3:]), true
}

// These flags are the first byte of a value.
const (
	flagLevel   = 7 // the level of the name
	flagSuffix  = 1 << 3
	flagVariant = 3 << 4
	atVariant   = 4
	flagCode    = 1 << 6 // a code, found only in full
	// flagPlain marks the place's own name if its lower case is the fold. The
	// name need not be stored then.
	flagPlain = 1 << 7
)

// record is the value of a row of place_names, over the memory of the row: the fields for filters
// and ranking, and the matched name.
//
//	flags (1) │ lat (4) │ lon (4) │ country (2) │ class (1) │ population
//	          │ length, code │ length, admin1 │ then if plain: length, head
//	          │ otherwise: start │ length, name │ length, language
//
// Numbers without a size are varints. head is the fold of the name's part before, for a row of a
// word inside it; start is where that word begins in name, in bytes. The language may be several,
// with commas between.
type record struct {
	flags        byte
	lat, lon     int32
	country      [2]byte
	class        byte
	population   uint64
	code, admin1 []byte
	head         []byte
	start        int
	name, lang   []byte
	schema       int // firstSchema if the row has that version, not stored
}

func (r *record) level() int   { return int(r.flags & flagLevel) }
func (r *record) variant() int { return int(r.flags & flagVariant >> atVariant) }

// folded returns how the name was folded.
func (r *record) folded() int { return r.variant() | r.schema }

const recordHead = 12

// appendPlace appends the bytes that all rows of a place share, after the
// flags.
func appendPlace(dst []byte, e *Entry) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(e.Lat))
	dst = binary.BigEndian.AppendUint32(dst, uint32(e.Lon))
	var country [2]byte
	copy(country[:], e.Country)
	dst = append(dst, country[0], country[1], e.Class)
	dst = binary.AppendUvarint(dst, e.Population)
	return appendText(appendText(dst, e.Code), e.Admin1)
}

func appendText[T string | []byte](dst []byte, s T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// parseRecord decodes a value. It returns false if the value is damaged.
func parseRecord(b []byte) (r record, ok bool) {
	if len(b) < recordHead {
		return r, false
	}
	r.flags = b[0]
	r.lat = int32(binary.BigEndian.Uint32(b[1:]))
	r.lon = int32(binary.BigEndian.Uint32(b[5:]))
	r.country = [2]byte(b[9:])
	r.class = b[11]
	d := decoder{b[recordHead:], true}
	r.population = d.number()
	r.code, r.admin1 = d.text(), d.text()
	if r.flags&flagPlain != 0 {
		r.head = d.text()
	} else {
		start := d.number()
		r.name, r.lang = d.text(), d.text()
		d.ok = d.ok && start <= uint64(len(r.name)) && utf8.Valid(r.name)
		r.start = int(start)
	}
	return r, d.ok && len(d.b) == 0 && r.level() < levels
}

// decoder reads varints and texts off the front of b until one is cut short.
type decoder struct {
	b  []byte
	ok bool
}

func (d *decoder) number() uint64 {
	if len(d.b) > 0 && d.b[0] < 0x80 {
		n := d.b[0]
		d.b = d.b[1:]
		return uint64(n)
	}
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.b, d.ok = nil, false
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) text() []byte {
	n := d.number()
	if n > uint64(len(d.b)) {
		d.b, d.ok = nil, false
		return nil
	}
	t := d.b[:n]
	d.b = d.b[n:]
	return t
}

// parseNameRow decodes a row of place_names.
func parseNameRow(row *cellstore.Row) (fold []byte, base uint16, id uint32, r record, err error) {
	fold, base, id, ok := parseNameKey(row.Key)
	if !ok || len(row.Cells) != 1 {
		return nil, 0, 0, r, cellstore.CorruptRow(tableNames, row.Key, "has another layout")
	}
	if r, ok = parseRecord(row.Cells[0].Value); !ok {
		return nil, 0, 0, r, cellstore.CorruptRow(tableNames, row.Key, "is damaged")
	}
	return fold, base, id, r, nil
}

// candidate is an element of family c, and of the lists a build keeps: a row of
// place_names without its fold.
//
//	base (2) │ id (4) │ exact (1) │ length, value
type candidate struct {
	base  uint16
	id    uint32
	exact bool // the prefix is the whole name
	value []byte
}

// score returns the score of a candidate whose prefix is the whole query, without the deduction for
// the beginning of a name that is not a main one.
func (c *candidate) score() int32 {
	score, flags := int32(c.base), c.value[0]
	switch {
	case c.exact:
		score += exactBonus
		switch {
		case flags&flagCode != 0 || isMain(flags) && c.base >= notable:
			score += mainBonus
		case c.base >= notable:
			score += otherBonus
		}
	case flags&flagSuffix != 0:
		score -= insidePenalty
	}
	return score
}

// begunCost returns what a text with a fold loses for the beginning of a name that is not a main
// one. It also reports whether such names are hidden as long as there are main ones. A text in
// other letters than Latin ones implies the languages that use these letters.
func begunCost(fold []byte) (cost int32, hides bool) {
	if !isASCII(fold) {
		return 0, false
	}
	return otherPenalty, len(fold) < otherLetters
}

// better orders lists: greater scores first, then lesser ids, and of one place whole names first.
// The rest of the order may be any fixed one.
func (c *candidate) better(d *candidate) bool {
	if a, b := c.score(), d.score(); a != b {
		return a > b
	}
	if c.id != d.id {
		return c.id < d.id
	}
	if c.exact != d.exact {
		return c.exact
	}
	return bytes.Compare(c.value, d.value) < 0
}

const candidateHead = 7

func appendCandidate(dst []byte, c *candidate) []byte {
	dst = binary.BigEndian.AppendUint16(dst, c.base)
	dst = binary.BigEndian.AppendUint32(dst, c.id)
	exact := byte(0)
	if c.exact {
		exact = 1
	}
	return appendText(append(dst, exact), c.value)
}

func (d *decoder) candidate() (c candidate) {
	if len(d.b) < candidateHead {
		d.b, d.ok = nil, false
		return c
	}
	c.base = binary.BigEndian.Uint16(d.b)
	c.id = binary.BigEndian.Uint32(d.b[2:])
	c.exact = d.b[6] == 1
	d.b = d.b[candidateHead:]
	c.value = d.text()
	d.ok = d.ok && len(c.value) >= recordHead
	return c
}

// This is the head of family c. It says how many rows of place_names begin with the prefix, and
// whether the list holds all of them that could matter.
func appendListHead(dst []byte, rows uint64, complete bool) []byte {
	dst = binary.AppendUvarint(dst, rows)
	if complete {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func (d *decoder) listHead() (rows uint64, complete bool) {
	rows = d.number()
	if len(d.b) == 0 {
		d.ok = false
		return 0, false
	}
	complete = d.b[0] == 1
	d.b = d.b[1:]
	return rows, complete
}

// isPlain reports whether a name is ASCII and its fold is its lower case.
func isPlain(name string, fold []byte) bool {
	if len(name) != len(fold) {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if c >= utf8.RuneSelf {
			return false
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != fold[i] {
			return false
		}
	}
	return true
}

// characters counts the characters of a fold.
func characters(fold []byte) int {
	if !bytes.ContainsFunc(fold, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return len(fold)
	}
	return utf8.RuneCount(fold)
}

package storetest

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"quadrille/cellstore"
)

// parser reads a line of a script; testdata/README.md describes them. It
// panics with a syntaxError, which machine.exec turns into an error.
type parser struct {
	s     string
	clock func() int64 // ms, for timestamps relative to now
}

type syntaxError string

func (p *parser) fail(format string, args ...any) {
	panic(syntaxError(fmt.Sprintf(format, args...) + fmt.Sprintf(" at %q", p.s)))
}

// more skips blanks and reports whether the clause continues.
func (p *parser) more() bool {
	p.s = strings.TrimLeft(p.s, " ")
	return p.s != "" && p.s[0] != ';'
}

func (p *parser) accept(token string) bool {
	rest, ok := strings.CutPrefix(p.s, token)
	if ok {
		p.s = rest
	}
	return ok
}

func (p *parser) expect(token string) {
	if !p.accept(token) {
		p.fail("want %q", token)
	}
}

func bare(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.~/+-", c) >= 0
}

// word reads bare characters, perhaps none, or a quoted string.
func (p *parser) word() string {
	if strings.HasPrefix(p.s, `"`) {
		quoted, err := strconv.QuotedPrefix(p.s)
		if err != nil {
			p.fail("open quotes")
		}
		p.s = p.s[len(quoted):]
		w, err := strconv.Unquote(quoted)
		if err != nil {
			p.fail("bad quotes")
		}
		return w
	}
	n := 0
	for n < len(p.s) && bare(p.s[n]) {
		n++
	}
	w := p.s[:n]
	p.s = p.s[n:]
	return w
}

// name reads the next word of the clause. There must be one.
func (p *parser) name() string {
	if !p.more() {
		p.fail("want a word")
	}
	before := p.s
	w := p.word()
	if p.s == before {
		p.fail("want a word")
	}
	return w
}

// bytes reads a word, or #N for the 8 bytes of a counter.
func (p *parser) bytes() []byte {
	if p.accept("#") {
		return counter(p.int())
	}
	return []byte(p.word())
}

func counter(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func counterValue(b string) int64 { return int64(binary.BigEndian.Uint64([]byte(b))) }

func (p *parser) int() int64 {
	w := p.word()
	n, err := strconv.ParseInt(w, 10, 64)
	if err != nil {
		p.fail("%q is not a number", w)
	}
	return n
}

// count reads a number, for example of versions.
func (p *parser) count() int {
	if p.accept("all") {
		return cellstore.Unlimited
	}
	return int(p.int())
}

// timestamp reads a number, now, now+5s, now-5s, max or all.
func (p *parser) timestamp() int64 {
	w := p.word()
	switch w {
	case "now":
		return cellstore.Now
	case "all":
		return cellstore.AllVersions
	case "max":
		return cellstore.MaxTimestamp
	}
	if offset, ok := strings.CutPrefix(w, "now"); ok {
		d, err := time.ParseDuration(offset)
		if err != nil {
			p.fail("%q is not a duration", offset)
		}
		return p.clock() + d.Milliseconds()
	}
	ts, err := strconv.ParseInt(w, 10, 64)
	if err != nil {
		p.fail("%q is not a timestamp", w)
	}
	return ts
}

// schema reads TABLE FAMILY{option=value,…} ….
func (p *parser) schema() cellstore.Schema {
	s := cellstore.Schema{Table: p.name()}
	for p.more() {
		f := cellstore.Family{Name: p.name()}
		if p.accept("{") {
			for !p.accept("}") {
				p.familyOption(&f)
				p.accept(",")
			}
		}
		s.Families = append(s.Families, f)
	}
	return s
}

func (p *parser) familyOption(f *cellstore.Family) {
	key := p.word()
	p.expect("=")
	switch key {
	case "versions":
		f.MaxVersions = p.count()
	case "min":
		f.MinVersions = p.count()
	case "ttl":
		d, err := time.ParseDuration(p.word())
		if err != nil {
			p.fail("bad ttl")
		}
		f.TTL = d
	case "bloom":
		f.Bloom = map[string]cellstore.Bloom{"row": cellstore.BloomRow, "none": cellstore.BloomNone, "rowcol": cellstore.BloomRowCol}[p.word()]
	case "compression":
		f.Compression = map[string]cellstore.Compression{
			"snappy": cellstore.CompressionSnappy,
			"none":   cellstore.CompressionNone,
			"zstd":   cellstore.CompressionZstd,
		}[p.word()]
	case "block":
		f.BlockSize = p.count()
	case "memory":
		f.InMemory = p.word() == "true"
	default:
		p.fail("unknown option %q of a family", key)
	}
}

// mutation reads the mutation OP … [async] of a row, up to the end of the clause.
func (p *parser) mutation(row []byte) cellstore.Mutation {
	m := cellstore.Mutation{Row: row}
	for p.more() && !p.async(&m.Durability) {
		m.Ops = append(m.Ops, p.op())
	}
	return m
}

// async reads the word that may end a clause that writes.
func (p *parser) async(d *cellstore.Durability) bool {
	is := p.more() && p.accept("async")
	if is {
		*d = cellstore.Async
	}
	return is
}

func (p *parser) row() []byte {
	p.more()
	before := p.s
	b := p.bytes()
	if p.s == before {
		p.fail("want a row")
	}
	return b
}

// op reads a put, f:q@5=v, or one of the deletes: -f:q@5, -f:q (the newest),
// -f:q<=5, -f@5, -f<=5, -*<=5.
func (p *parser) op() cellstore.Op {
	if !p.accept("-") {
		family, qualifier := p.column()
		ts := cellstore.Now
		if p.accept("@") {
			ts = p.timestamp()
		}
		p.expect("=")
		return cellstore.PutAt(family, qualifier, ts, p.bytes())
	}
	if p.accept("*<=") {
		return cellstore.DeleteRow(p.timestamp())
	}
	family := p.word()
	if p.accept(":") {
		qualifier := p.bytes()
		switch {
		case p.accept("@"):
			return cellstore.DeleteVersion(family, qualifier, p.timestamp())
		case p.accept("<="):
			return cellstore.DeleteColumn(family, qualifier, p.timestamp())
		}
		return cellstore.DeleteVersion(family, qualifier, cellstore.Now)
	}
	if p.accept("@") {
		return cellstore.DeleteFamilyVersion(family, p.timestamp())
	}
	p.expect("<=")
	return cellstore.DeleteFamily(family, p.timestamp())
}

func (p *parser) column() (family string, qualifier []byte) {
	family = p.word()
	p.expect(":")
	return family, p.bytes()
}

var compareOps = []struct {
	token string
	op    cellstore.CompareOp
}{ // longer tokens before their prefixes
	{"absent", cellstore.Absent}, {"present", cellstore.Present}, {"!=", cellstore.NotEqual},
	{"<=", cellstore.LessOrEqual}, {">=", cellstore.GreaterOrEqual},
	{"=", cellstore.Equal}, {"<", cellstore.Less}, {">", cellstore.Greater},
}

// check reads f:q OPERATOR [VALUE].
func (p *parser) check() cellstore.Check {
	p.more()
	var c cellstore.Check
	c.Family, c.Qualifier = p.column()
	p.more()
	for _, o := range compareOps {
		if p.accept(o.token) {
			c.Op = o.op
			if p.more() {
				c.Value = p.bytes()
			}
			return c
		}
	}
	p.fail("want an operator")
	return c
}

// readOptions are the options that may follow the name of a table in a read.
type readOptions struct {
	scan     cellstore.Scan
	from, to []byte
	families []string // as written
	noTime   bool     // the answer is printed without timestamps
}

// options reads the options of a read: f: selects a family, f:q a column.
func (p *parser) options() readOptions {
	var o readOptions
	s := &o.scan
	for p.more() {
		if p.accept("[") {
			r := cellstore.Range{From: p.bytes()}
			p.expect(",")
			r.To = p.bytes()
			if r.ToInclusive = p.accept("]"); !r.ToInclusive {
				p.expect(")")
			}
			s.Ranges = append(s.Ranges, r)
			continue
		}
		key := p.word()
		switch {
		case p.accept(":"):
			if p.s == "" || p.s[0] == ' ' || p.s[0] == ';' {
				s.Families = append(s.Families, key)
				o.families = append(o.families, key)
			} else {
				s.Columns = append(s.Columns, cellstore.Column{Family: key, Qualifier: p.bytes()})
			}
		case key == "reverse":
			s.Reverse = true
		case key == "notime":
			o.noTime = true
		default:
			p.expect("=")
			p.option(&o, key)
		}
	}
	return o
}

func (p *parser) option(o *readOptions, key string) {
	s := &o.scan
	switch key {
	case "from":
		o.from = p.bytes()
	case "to":
		o.to = p.bytes()
	case "prefix":
		s.Ranges = append(s.Ranges, cellstore.Prefix(p.bytes()))
	case "limit":
		s.Limit = p.count()
	case "batch":
		s.Batch = p.count()
	case "versions":
		s.Versions = p.count()
	case "asof":
		s.Time = cellstore.AsOf(p.timestamp())
	case "time":
		p.expect("[")
		min := p.timestamp()
		p.expect(",")
		max := p.timestamp()
		p.expect(")")
		s.Time = cellstore.Between(min, max)
	case "qprefix":
		s.Filter.Prefix = p.bytes()
	case "qrange":
		p.expect("[")
		s.Filter.From = p.bytes()
		p.expect(",")
		s.Filter.To = p.bytes()
		p.expect(")")
	case "qlimit":
		s.Filter.Limit = p.count()
	case "qoffset":
		s.Filter.Offset = p.count()
	default:
		p.fail("unknown option %q", key)
	}
}

// quote writes bytes in the form that word reads. A quoted string has no blank.
func quote(b []byte) string {
	for _, c := range b {
		if !bare(c) {
			return strings.ReplaceAll(strconv.Quote(string(b)), " ", `\x20`)
		}
	}
	if len(b) == 0 {
		return `""`
	}
	return string(b)
}

// quoteValue writes a value that looks like a counter as #N.
func quoteValue(b []byte) string {
	if len(b) == 8 && (b[0] == 0 || b[0] == 0xFF) {
		return "#" + strconv.FormatInt(int64(binary.BigEndian.Uint64(b)), 10)
	}
	return quote(b)
}

func formatRow(row *cellstore.Row, noTime bool) string {
	var b strings.Builder
	b.WriteString(quote(row.Key))
	for _, c := range row.Cells {
		fmt.Fprintf(&b, " %s:%s", c.Family, quote(c.Qualifier))
		if !noTime {
			fmt.Fprintf(&b, "@%s", formatTime(c.Timestamp))
		}
		b.WriteString("=" + quoteValue(c.Value))
	}
	return b.String()
}

// formatFamily writes a family without the closing brace of its options.
func formatFamily(f *cellstore.Family) string {
	versions := fmt.Sprint(f.MaxVersions)
	if f.MaxVersions == cellstore.Unlimited {
		versions = "all"
	}
	return fmt.Sprintf("%s{versions=%s,min=%d,ttl=%v", f.Name, versions, f.MinVersions, f.TTL)
}

func formatTime(ts int64) string {
	switch ts {
	case cellstore.MaxTimestamp:
		return "max"
	case math.MaxInt64:
		return "all"
	}
	return strconv.FormatInt(ts, 10)
}

package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"quadrille/cellstore"
)

// generator makes random lines of scripts. It knows only the tables and the time of the store,
// which it needs in order to make most lines meaningful.
type generator struct {
	// pick chooses one of n: from a seeded source or the bytes of a fuzzer.
	pick     func(n int) int
	caps     cellstore.Capabilities
	realTime bool
	crashes  bool

	now    int64
	tables []*genTable
	snaps  []string
	named  int // snapshots so far
	rows   []string
	quals  []string
}

type genTable struct {
	name     string
	families []cellstore.Family
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

var familyNames = []string{"f", "a", "a.b", "Z", "g-1"}

func newGenerator(pick func(int) int, caps cellstore.Capabilities, b *Backend) *generator {
	g := &generator{pick: pick, caps: caps, realTime: b.RealTime, crashes: b.Crash != nil, now: startOfTime}
	for range 8 {
		g.rows = append(g.rows, quote(g.someBytes(1, 3)))
	}
	g.quals = []string{`""`, "n"} // n holds counters, mostly
	for range 3 {
		g.quals = append(g.quals, quote(g.someBytes(0, 2)))
	}
	if g.chance(2) {
		g.quals = append(g.quals, strings.Repeat("q", 250)) // longer than a byte tells
	}
	return g
}

// someBytes returns a few letters from both ends of the alphabet, so that keys are often equal, or
// prefixes of each other.
func (g *generator) someBytes(min, max int) []byte {
	b := make([]byte, min+g.pick(max-min+1))
	for i := range b {
		b[i] = "ab\x00\xff"[g.pick(4)]
	}
	return b
}

func (g *generator) oneOf(s []string) string { return s[g.pick(len(s))] }

func (g *generator) chance(of int) bool { return g.pick(of) == of-1 }

func (g *generator) table() *genTable { return g.tables[g.pick(len(g.tables))] }

func (g *generator) row() string {
	if g.chance(8) {
		return quote(g.someBytes(1, 4))
	}
	return g.oneOf(g.rows)
}

// end returns an end of a range of rows, or "" for the end of the table.
func (g *generator) end() string {
	if g.chance(3) {
		return quote(g.someBytes(0, 4))
	}
	return g.oneOf(g.rows)
}

// to returns the end of a search for one row. It is mostly "".
func (g *generator) to() string {
	if g.chance(3) {
		return " to=" + g.end()
	}
	return ""
}

// family returns one of the table's families, seldom another name.
func (g *generator) family(t *genTable) string {
	if g.chance(200) {
		return "unknown"
	}
	return t.families[g.pick(len(t.families))].Name
}

func (g *generator) qualifier() string {
	if g.chance(10) {
		return quote(g.someBytes(0, 3))
	}
	return g.oneOf(g.quals)
}

func (g *generator) value() string {
	switch g.pick(8) {
	case 0:
		return fmt.Sprintf("#%d", g.pick(100)-50)
	case 1:
		return quote([]byte(strings.Repeat("long", 1+g.pick(100))))
	case 2:
		return `""`
	}
	return quote(g.someBytes(1, 3))
}

// timestamp returns a timestamp near the clock, where ages matter, or one of a few others.
func (g *generator) timestamp() int64 {
	switch g.pick(12) {
	case 0:
		return cellstore.MaxTimestamp
	case 1, 2:
		return int64(g.pick(4))
	}
	return g.now - 20 + int64(g.pick(25))
}

func (g *generator) bound() string {
	switch g.pick(6) {
	case 0:
		return "all"
	case 1:
		if !g.realTime {
			return "now"
		}
	}
	return formatTime(g.timestamp())
}

// create declares a table.
func (g *generator) create(name string) string {
	t := &genTable{name: name}
	for range 1 + g.pick(4) {
		g.addFamily(t)
	}
	g.tables = append(g.tables, t)
	return "create " + t.spec()
}

func (g *generator) addFamily(t *genTable) {
	f := cellstore.Family{Name: g.oneOf(familyNames), MaxVersions: []int{1, 1, 2, 3, cellstore.Unlimited}[g.pick(5)]}
	if slices.ContainsFunc(t.families, func(o cellstore.Family) bool { return o.Name == f.Name }) {
		return
	}
	f.Bloom = cellstore.Bloom(g.pick(3))
	if !g.realTime && g.chance(3) {
		f.TTL = ms(2 + g.pick(20))
		f.MinVersions = g.pick(3)
		if f.MaxVersions != cellstore.Unlimited {
			f.MinVersions = min(f.MinVersions, f.MaxVersions)
		}
	}
	t.families = append(t.families, f)
}

func (t *genTable) spec() string {
	spec := t.name
	for _, f := range t.families {
		spec += fmt.Sprintf(" %s,bloom=%s,block=1024}", formatFamily(&f), []string{"row", "none", "rowcol"}[f.Bloom])
	}
	return spec
}

// alter adds or drops a family or makes its options tighter. It never makes them looser, because it
// is undefined which cells that brings back (S5).
func (g *generator) alter(t *genTable) string {
	g.snaps = nil // snapshots do not outlive the change
	f := &t.families[g.pick(len(t.families))]
	switch g.pick(4) {
	case 0:
		g.addFamily(t)
	case 1:
		if len(t.families) > 1 {
			name := f.Name
			t.families = slices.DeleteFunc(t.families, func(o cellstore.Family) bool { return o.Name == name })
		}
	case 2:
		if f.MaxVersions != 1 {
			f.MaxVersions = 1 + g.pick(2)
			f.MinVersions = min(f.MinVersions, f.MaxVersions)
		}
	case 3:
		f.MinVersions = 0
		if !g.realTime && (f.TTL == 0 || f.TTL > ms(3)) {
			f.TTL = ms(3)
		}
	}
	return "alter " + t.spec()
}

func (g *generator) ops(t *genTable, most int) string {
	var b strings.Builder
	for range 1 + g.pick(most) {
		b.WriteString(" " + g.op(t))
	}
	return b.String()
}

func (g *generator) async() string {
	if g.crashes && g.chance(3) {
		return " async"
	}
	return ""
}

func (g *generator) op(t *genTable) string {
	f := g.family(t)
	switch g.pick(20) {
	case 0, 1:
		return fmt.Sprintf("-%s:%s@%s", f, g.qualifier(), formatTime(g.timestamp()))
	case 2, 3:
		return fmt.Sprintf("-%s:%s", f, g.qualifier())
	case 4:
		return fmt.Sprintf("-%s:%s<=%s", f, g.qualifier(), g.bound())
	case 5:
		return fmt.Sprintf("-%s<=%s", f, g.bound())
	case 6:
		return fmt.Sprintf("-%s@%s", f, formatTime(g.timestamp()))
	case 7:
		return "-*<=" + g.bound()
	}
	at := "@" + formatTime(g.timestamp())
	switch {
	case g.chance(300):
		at = "@-2"
	case g.chance(4) && !g.realTime:
		at = ""
	}
	q, v := g.qualifier(), g.value()
	if q == "n" && !g.chance(8) {
		v = fmt.Sprintf("#%d", g.pick(100)-50)
	}
	return fmt.Sprintf("%s:%s%s=%s", f, q, at, v)
}

// check returns a condition on a column that only check writes. A backend may treat a column with
// an empty value as absent.
func (g *generator) check(t *genTable) string {
	f := g.family(t)
	operator := []string{"absent", "present", "= b", "!= b", "< b", "<= b", "> b", ">= b"}[g.pick(8)]
	row, at, value := g.row(), formatTime(g.timestamp()), g.oneOf([]string{"a", "b", "c"})
	more := g.ops(t, 2)
	if !g.caps.MixedMutation || !g.caps.CellTimestamps {
		more = "" // in parts it would not be one step
	}
	return fmt.Sprintf("check %s %s %s:guard %s ; %s:guard@%s=%s%s%s", t.name, row, f, operator, f, at, value, more, g.async())
}

// bulk loads sorted cells, seldom unsorted ones, and aborts some loads.
func (g *generator) bulk(t *genTable) string {
	var cells []loaded
	for range 1 + g.pick(12) {
		row, q := g.row(), g.qualifier()
		cells = append(cells, loaded{row: unquote(row), col: column{g.family(t), unquote(q)}, ts: g.timestamp(), val: []byte(unquote(g.value()))})
	}
	slices.SortStableFunc(cells, compareLoaded)
	cells = slices.CompactFunc(cells, func(a, b loaded) bool { return compareLoaded(a, b) == 0 })
	if g.chance(20) {
		cells = append(cells, cells[0])
	}
	line := "bulk " + t.name
	for i, c := range cells {
		if i > 0 && c.row != cells[i-1].row {
			line += " ;"
		}
		if i == 0 || c.row != cells[i-1].row {
			line += " " + quote([]byte(c.row))
		}
		line += fmt.Sprintf(" %s:%s@%s=%s", c.col.family, quote([]byte(c.col.qualifier)), formatTime(c.ts), quoteValue(c.val))
	}
	if g.chance(6) {
		line += " ; abort"
	}
	return line
}

func unquote(word string) string {
	p := parser{s: word}
	return string(p.bytes())
}

// selection returns random options of a read.
func (g *generator) selection(t *genTable) string {
	if g.chance(3) {
		return ""
	}
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	for range g.pick(3) {
		add("%s:", g.family(t))
	}
	for range g.pick(3) {
		add("%s:%s", g.family(t), g.qualifier())
	}
	switch g.pick(3) {
	case 0:
		add("versions=%s", g.oneOf([]string{"1", "2", "3", "all"}))
	case 1:
		add("versions=all")
	}
	switch g.pick(4) {
	case 0:
		add("asof=%s", formatTime(g.timestamp()))
	case 1:
		a, b := g.timestamp(), g.timestamp()
		if !g.chance(30) {
			a, b = min(a, b), max(a, b)
		}
		add("time=[%s,%s)", formatTime(a), formatTime(b))
	}
	if g.chance(4) {
		add("qprefix=%s", g.qualifier())
	}
	if g.chance(4) {
		add("qrange=[%s,%s)", g.qualifier(), g.qualifier())
	}
	if g.chance(4) {
		add("qlimit=%d", 1+g.pick(3))
		add("qoffset=%d", g.pick(3))
	}
	return join(parts)
}

func join(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return " " + strings.Join(parts, " ")
}

func (g *generator) ranges(most int) string {
	var parts []string
	for range g.pick(most + 1) {
		if g.chance(4) {
			parts = append(parts, "prefix="+g.end())
		} else {
			parts = append(parts, fmt.Sprintf("[%s,%s%s", g.end(), g.end(), g.oneOf([]string{")", "]"})))
		}
	}
	return join(parts)
}

func (g *generator) read(t *genTable) string {
	name := t.name
	if len(g.snaps) > 0 && t == g.tables[0] && g.chance(3) {
		name = "@" + g.oneOf(g.snaps)
	}
	sel := g.selection(t)
	switch g.pick(8) {
	case 0, 1:
		return fmt.Sprintf("get %s %s%s", name, g.row(), sel)
	case 2:
		return fmt.Sprintf("next %s from=%s%s%s", name, g.end(), g.to(), sel)
	case 3:
		return fmt.Sprintf("prev %s from=%s%s%s", name, g.end(), g.to(), sel)
	case 4:
		each := ""
		for range 1 + g.pick(4) {
			each += " " + g.family(t) + ":"
		}
		return fmt.Sprintf("nexteach %s from=%s%s%s", name, g.end(), g.to(), each)
	case 5:
		keys := ""
		for range g.pick(5) {
			keys += " " + g.row()
		}
		return fmt.Sprintf("multiget %s%s ;%s", name, keys, sel)
	case 6:
		if name == t.name && g.chance(3) {
			return fmt.Sprintf("parallel %s %d%s%s", name, 1+g.pick(4), g.ranges(1), sel)
		}
	}
	line := "scan " + name + g.ranges(2) + sel
	if g.chance(3) {
		line += " reverse"
	}
	if g.chance(3) {
		line += fmt.Sprintf(" limit=%d", 1+g.pick(4))
	}
	return line
}

// line returns the next random line.
func (g *generator) line() string {
	t := g.table()
	switch n := g.pick(100); {
	case n < 40:
		return g.read(t)
	case n < 62 && g.caps.Bulk && g.chance(4):
		return g.bulk(t)
	case n < 62:
		return fmt.Sprintf("put %s %s%s%s", t.name, g.row(), g.ops(t, 5), g.async())
	case n < 66:
		var mutations []string
		for range 1 + g.pick(4) {
			mutations = append(mutations, g.row()+g.ops(t, 3)+g.async())
		}
		return "batch " + t.name + " " + strings.Join(mutations, " ; ")
	case n < 71:
		return g.check(t)
	case n < 76 && !g.realTime:
		line := fmt.Sprintf("incr %s %s", t.name, g.row())
		for range 1 + g.pick(3) {
			line += fmt.Sprintf(" %s:%s=%d", g.family(t), g.oneOf([]string{"n", "n", g.qualifier()}), g.pick(9)-4)
		}
		return line + g.async()
	case n < 80 && !g.realTime:
		return fmt.Sprintf("append %s %s %s:%s=%s%s", t.name, g.row(), g.family(t), g.qualifier(), g.value(), g.async())
	case n < 84 && g.caps.Bulk:
		return g.bulk(t)
	case n < 88:
		return "compact " + t.name
	case n < 89:
		g.snaps = nil
		return "reopen"
	case n < 91 && g.crashes:
		g.snaps = nil
		return "crash"
	case n < 95 && !g.realTime:
		d := 1 + g.pick(6)
		g.now += int64(d)
		return fmt.Sprintf("clock %dms", d)
	case n < 97 && g.caps.Snapshot:
		g.named++
		g.snaps = append(g.snaps, fmt.Sprint("s", g.named))
		return fmt.Sprintf("snapshot s%d %s", g.named, g.tables[0].name)
	case n < 98 && len(g.snaps) > 0:
		i := g.pick(len(g.snaps))
		name := g.snaps[i]
		g.snaps = slices.Delete(slices.Clone(g.snaps), i, i+1)
		return "release " + name
	case n == 98:
		return g.alter(t)
	case n == 99 && g.chance(4):
		g.snaps = nil
		name := t.name
		g.tables = slices.DeleteFunc(g.tables, func(o *genTable) bool { return o == t })
		return "drop " + name + "\n" + g.create(name)
	}
	return fmt.Sprintf("put %s %s%s", t.name, g.row(), g.ops(t, 3))
}

// script returns a random script of n lines.
func (g *generator) script(n int) []string {
	lines := []string{g.create("t")}
	if g.chance(3) {
		lines = append(lines, g.create("u"))
	}
	for range n {
		lines = append(lines, strings.Split(g.line(), "\n")...)
	}
	// After all other commands, the script checks everything.
	settle := []string{"compact", "reopen"}
	if g.crashes {
		settle = append(settle, "crash")
	}
	for _, what := range settle {
		for _, t := range g.tables {
			line := what
			if what == "compact" {
				line += " " + t.name
			}
			lines = append(lines, line, "scan "+t.name+" versions=all", "scan "+t.name+" versions=all reverse")
		}
	}
	return lines
}

package spelling

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/internal/jsontext"
)

// Style is what the caller says of how values are written. The zero Style says nothing.
type Style struct {
	Zone      *time.Location // of times that name none; nil is UTC
	DateOrder string         // DayFirst or MonthFirst, of dates that do not show it
	Decimal   string         // "," or "."; empty if the columns show it
	// IsTime and IsNumber report whether a property is declared to be a time or a number; nil means none. A whole
	// number may then be a time: seconds or milliseconds since 1970. IsText reports whether one stays as it is.
	IsTime, IsNumber, IsText func(property string) bool
	// Listed is set if a comma may also be that of a list, as where it separates columns. Numbers have decimal commas
	// then only if Decimal says so.
	Listed bool
}

// Reader rewrites the texts of features. It belongs to one goroutine.
type Reader struct {
	style   Style
	texts   bool // all columns, not only declared ones
	typed   bool // numbers are written as numbers, and not as texts
	name    string
	columns map[string]*column
	order   []string
	values  []byte
	members []source.Member
	idle    bool // no column is rewritten
}

// column is what is known of a property.
type column struct {
	forms           forms
	numbers, commas int64 // values read ahead that are numbers, and those of them with a comma
	first           map[forms]sighting
	time, num       bool          // its values are rewritten as times or as numbers
	epoch           time.Duration // of whole numbers that are times; 0: they are none
	whole           int64         // whole numbers that were read ahead, of which these are
	least, most     float64
	rewritten       int64
	other           int64
	firstOther      sighting
}

type sighting struct {
	text string
	line int
}

// The features that are read ahead, to see how columns are written, are at most so many or so large.
const (
	mostAhead      = 5000
	mostAheadBytes = 2 << 20
	mostColumns    = 2000 // the others stay as they are
)

// New returns a reader of the features of a file. If texts is set, all texts of the file are values that people or
// programs wrote without types, as in tables. Otherwise only the declared properties are rewritten. If typed is set,
// other values of the file have types, so that numbers are written as numbers.
func New(name string, texts, typed bool, style Style) *Reader {
	if style.Zone == nil {
		style.Zone = time.UTC
	}
	return &Reader{style: style, texts: texts, typed: typed, name: name, columns: map[string]*column{}}
}

// IsNeeded reports whether anything may be rewritten.
func (r *Reader) IsNeeded() bool { return r.texts || r.style.IsTime != nil || r.style.IsNumber != nil }

// Features yields the features with their values rewritten. Their Members are valid until the next feature.
func (r *Reader) Features(in iter.Seq2[source.Feature, error]) iter.Seq2[source.Feature, error] {
	return func(yield func(source.Feature, error) bool) {
		type read struct {
			source.Feature
			err error
		}
		var ahead []read
		size, learned := 0, false
		begin := func() bool {
			r.decide()
			learned = true
			for _, a := range ahead {
				r.rewrite(&a.Feature)
				if !yield(a.Feature, a.err) {
					return false
				}
			}
			ahead = nil
			return true
		}
		for f, err := range in {
			if learned {
				r.rewrite(&f)
				if !yield(f, err) {
					return
				}
				continue
			}
			f.Members = slices.Clone(f.Members) // also those of a feature whose geometry alone is bad
			for i := range f.Members {
				m := &f.Members[i]
				m.Value = bytes.Clone(m.Value)
				size += len(m.Name) + len(m.Value) + 64
			}
			if err == nil {
				r.learn(&f)
			} else if !errors.As(err, new(*source.BadRecord)) {
				if begin() {
					yield(f, err)
				}
				return
			}
			if ahead = append(ahead, read{f, err}); len(ahead) == mostAhead || size > mostAheadBytes {
				if !begin() {
					return
				}
			}
		}
		if !learned {
			begin()
		}
	}
}

func (r *Reader) declared(name string) (isTime, isNumber bool) {
	return r.style.IsTime != nil && r.style.IsTime(name), r.style.IsNumber != nil && r.style.IsNumber(name)
}

// learn notes how the values of a feature are written.
func (r *Reader) learn(f *source.Feature) {
	for _, m := range f.Members {
		c := r.columns[m.Name]
		if c == nil {
			if len(r.columns) == mostColumns {
				continue
			}
			c = &column{first: map[forms]sighting{}}
			r.columns[m.Name], r.order = c, append(r.order, m.Name)
		}
		text, is := source.TextOf(m.Value), m.Value[0] == '"'
		if !is && m.Value[0] != '-' && (m.Value[0] < '0' || m.Value[0] > '9') {
			if string(m.Value) != "null" {
				c.forms |= isOther
			}
			continue
		}
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		form := formOf(text)
		switch form {
		case isComma, isMaybeComma:
			c.numbers, c.commas = c.numbers+1, c.commas+1
		case isNumber:
			n, _ := source.ParseDecimal(text, 1e300)
			if c.whole++; c.whole == 1 {
				c.least, c.most = n, n
			}
			c.least, c.most = min(c.least, n), max(c.most, n)
			c.numbers++
		case isGrouped, isPoint:
			c.numbers++
		}
		if c.forms |= form; c.first[form].line == 0 {
			c.first[form] = sighting{string(text[:min(len(text), 60)]), f.Line}
		}
	}
}

// decide decides which columns are rewritten.
func (r *Reader) decide() {
	const dates = isDayFirst | isMonthLast | isDate
	defer func() {
		r.idle = true
		for _, c := range r.columns {
			r.idle = r.idle && !c.time && !c.num
		}
	}()
	for name, c := range r.columns {
		isDeclaredTime, isDeclaredNumber := r.declared(name)
		if !r.texts && !isDeclaredTime && !isDeclaredNumber {
			continue
		}
		if r.style.IsText != nil && r.style.IsText(name) {
			continue
		}
		has := func(f forms) bool { return c.forms&f != 0 }
		only := func(f forms) bool { return c.forms&^f == 0 }
		const numbers = isComma | isMaybeComma | isNumber | isGrouped
		comma := has(isComma|isMaybeComma|isGrouped) && r.style.Decimal == ","
		// A few commas among numbers may be those of lists, such as two numbers of a house.
		comma = comma || r.style.Decimal == "" && !r.style.Listed && has(isComma) && 2*c.commas >= c.numbers
		switch {
		case isDeclaredTime:
			c.time = true
			if only(isNumber) && has(isNumber) {
				c.epoch = epochOf(c.least, c.most)
			}
		case isDeclaredNumber:
			c.num = comma && !has(isPoint)
		case only(isTime|isZoneless|isWorded|dates) && has(isZoneless|isWorded|dates):
			// A column of dates that may have either first stays text unless the caller says which.
			c.time = !has(isDayFirst) || !has(isMonthLast) || r.style.DateOrder != ""
			if has(isDate) && !has(isDayFirst|isMonthLast) && r.style.DateOrder == "" {
				c.time = false
			}
		case only(numbers):
			c.num = comma
		}
	}
}

// epochOf returns the unit of whole numbers that are times since 1970, by the least and the greatest of them: seconds from
// 1973 on, or milliseconds, the same for all. It returns 0 for other numbers, such as years and dates of eight digits.
func epochOf(least, most float64) time.Duration {
	switch {
	case 1e8 <= least && most < 1e11:
		return time.Second
	case least >= 0 && 1e11 <= most && most < 1e14:
		return time.Millisecond
	}
	return 0
}

// dateOrder returns the order of the dates of a column that do not show it.
func (r *Reader) dateOrder(c *column) string {
	switch {
	case c.forms&isDayFirst != 0 && c.forms&isMonthLast == 0:
		return DayFirst
	case c.forms&isMonthLast != 0 && c.forms&isDayFirst == 0:
		return MonthFirst
	}
	return r.style.DateOrder
}

// rewrite rewrites the values of a feature.
func (r *Reader) rewrite(f *source.Feature) {
	if r.idle {
		return
	}
	var members []source.Member
	r.values = r.values[:0]
	for i := range f.Members {
		m := &f.Members[i]
		c := r.columns[m.Name]
		if c == nil || !c.time && !c.num {
			continue
		}
		from := len(r.values)
		if !r.appendValue(c, m.Value, f.Line) {
			continue
		}
		if members == nil {
			r.members = append(r.members[:0], f.Members...)
			members = r.members
		}
		members[i].Value = r.values[from:len(r.values):len(r.values)]
	}
	if members != nil {
		f.Members = members
	}
}

// appendValue appends a value to r.values as its column is rewritten. It reports whether it differs.
func (r *Reader) appendValue(c *column, value []byte, line int) bool {
	text, is := source.TextOf(value), value[0] == '"'
	if text = bytes.TrimSpace(text); len(text) == 0 || !is && c.epoch == 0 {
		return false
	}
	switch form := formOf(text); {
	case form == isTime, c.num && form == isNumber:
		return false
	case c.epoch != 0 && form == isNumber:
		if at, ok := epoch(text, c.epoch); ok {
			c.rewritten++
			r.values = append(parsed{at, false}.append(append(r.values, '"')), '"')
			return true
		}
	case c.time && form&(isZoneless|isWorded|isDayFirst|isMonthLast|isDate) != 0 && (form != isDate || r.dateOrder(c) != ""):
		p, read := parseTime(text, r.style.Zone, r.dateOrder(c))
		if read == isOther { // there is no such time in the zone
			break
		}
		if form == isDayFirst && r.dateOrder(c) == MonthFirst || form == isMonthLast && r.dateOrder(c) == DayFirst {
			break // it contradicts the others
		}
		c.rewritten++
		r.values = append(p.append(append(r.values, '"')), '"')
		return true
	case c.num && form&(isComma|isMaybeComma|isGrouped) != 0:
		c.rewritten++
		out, _ := number(text)
		if r.typed && json.Valid(out) {
			r.values = append(r.values, out...)
		} else {
			r.values = jsontext.AppendString(r.values, string(out))
		}
		return true
	}
	if c.other++; c.other == 1 {
		c.firstOther = sighting{string(text[:min(len(text), 60)]), line}
	}
	return false
}

// epoch reads a whole number of units since 1970.
func epoch(text []byte, unit time.Duration) (t time.Time, ok bool) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if t = time.UnixMilli(n); unit == time.Second {
		t = time.Unix(n, 0)
	}
	return t.UTC(), err == nil && t.UTC().Year() >= 0 && t.UTC().Year() <= 9999
}

// Notes returns how columns were rewritten so far, a sentence for each.
func (r *Reader) Notes() (notes []string) {
	for _, name := range r.order {
		c := r.columns[name]
		say := func(format string, args ...any) {
			notes = append(notes, fmt.Sprintf("%s: %s: ", r.name, source.Excerpt(name))+fmt.Sprintf(format, args...))
		}
		isDeclaredTime, _ := r.declared(name)
		day, month := c.first[isDayFirst], c.first[isMonthLast]
		switch {
		case (r.texts || isDeclaredTime) && c.forms&isDayFirst != 0 && c.forms&isMonthLast != 0 && c.forms&isOther == 0:
			say("its dates contradict each other: %q in line %d has the day first, and %q in line %d the month; correct the file",
				day.text, day.line, month.text, month.line)
		case (r.texts || isDeclaredTime) && c.forms == isDate && r.style.DateOrder == "":
			say("its dates, such as %q, may have the day or the month first, and stay text; --date-order says which", c.first[isDate].text)
		case c.rewritten == 0:
			continue
		case c.epoch != 0:
			unit := "seconds"
			if c.epoch == time.Millisecond {
				unit = "milliseconds"
			}
			first := c.first[isNumber].text
			at, _ := epoch([]byte(first), c.epoch)
			say("its numbers are times in %s since 1970, as %s is %s", unit, first, at.Format(time.RFC3339Nano))
		case c.num:
			say("its numbers have decimal commas, as %q", firstOf(c, isComma, isMaybeComma, isGrouped))
		case c.forms&(isDayFirst|isMonthLast|isDate) != 0:
			order := "day"
			if r.dateOrder(c) == MonthFirst {
				order = "month"
			}
			say("its dates have the %s first, as %q", order, firstOf(c, isDayFirst, isMonthLast, isDate))
		case c.forms&isZoneless != 0:
			say("its times without a zone, as %q, are those of %s; --zone says another", c.first[isZoneless].text, r.style.Zone)
		}
		if c.other > 0 && (c.time || c.num) {
			say("%d values are written otherwise and stay as they are, the first %q in line %d", c.other, c.firstOther.text, c.firstOther.line)
		}
	}
	return notes
}

func firstOf(c *column, of ...forms) string {
	for _, f := range of {
		if s := c.first[f]; s.line > 0 {
			return s.text
		}
	}
	return ""
}

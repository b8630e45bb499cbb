package spelling

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/internal/instant"
)

// forms is the set of the ways in which values of a column are written.
type forms uint16

const (
	isTime       forms = 1 << iota // as RFC 3339 writes it
	isZoneless                     // a time without a zone
	isWorded                       // a time with another spelling of a zone, such as UTC or +00
	isDayFirst                     // a date that has the day first: 31/12/2024, or 1.2.2024
	isMonthLast                    // a date that has the month first: 12/31/2024
	isDate                         // one that may have either first: 1/2/2024
	isComma                        // a number with a decimal comma
	isMaybeComma                   // one whose comma may be for thousands: 1,234
	isGrouped                      // a number whose points may be for thousands: 1.234
	isNumber                       // a number otherwise, without a point
	isPoint                        // one with a decimal point
	isOther
)

// Date orders of Style.
const (
	DayFirst   = "day-first"
	MonthFirst = "month-first"
)

// formOf returns the form of a text without blanks around it.
func formOf(text []byte) forms {
	if len(text) == 0 || len(text) > 40 || text[0] != '-' && text[0] != '+' && (text[0] < '0' || text[0] > '9') {
		return isOther
	}
	if _, ok := instant.Parse(text); ok {
		return isTime
	}
	if _, form := parseTime(text, time.UTC, DayFirst); form != isOther {
		return form
	}
	if _, form := number(text); form != isOther {
		return form
	}
	return isOther
}

// number returns a number as JSON writes it.
func number(text []byte) (out []byte, form forms) {
	if whole, fraction, comma := bytes.Cut(text, []byte{','}); comma {
		if whole, form = withoutGroups(whole); form == isOther || !source.IsDigits(fraction) {
			return nil, isOther
		}
		if out = append(append(bytes.Clone(whole), '.'), fraction...); form == isNumber && len(fraction) == 3 && len(bytes.TrimLeft(whole, "-")) <= 3 {
			return out, isMaybeComma
		}
		return out, isComma
	}
	if whole, form := withoutGroups(text); form == isGrouped {
		return whole, isGrouped
	}
	if _, ok := source.ParseDecimal(text, 1e300); ok {
		if bytes.IndexByte(text, '.') >= 0 {
			return text, isPoint
		}
		return text, isNumber
	}
	return nil, isOther
}

// withoutGroups removes the points, blanks or apostrophes between thousands.
func withoutGroups(text []byte) (out []byte, form forms) {
	digits := bytes.TrimLeft(text, "+-")
	if source.IsDigits(digits) && len(text)-len(digits) <= 1 && text[0] != '+' {
		return text, isNumber
	}
	for _, by := range []string{".", " ", "\u00a0", "\u202f", "'", "’"} {
		groups := bytes.Split(digits, []byte(by))
		if len(groups) < 2 || len(groups[0]) > 3 || len(groups[0]) == 0 || groups[0][0] == '0' || text[0] == '+' || len(text)-len(digits) > 1 {
			continue
		}
		fits := source.IsDigits(groups[0])
		for _, g := range groups[1:] {
			fits = fits && len(g) == 3 && source.IsDigits(g)
		}
		if fits {
			out = bytes.Join(groups, nil)
			if text[0] == '-' {
				out = append([]byte{'-'}, out...)
			}
			return out, isGrouped
		}
	}
	return nil, isOther
}

// parsed is a time that was read.
type parsed struct {
	time.Time
	dateOnly bool
}

// append appends the time as RFC 3339 writes it, or the date alone.
func (p parsed) append(dst []byte) []byte {
	if p.dateOnly {
		return p.AppendFormat(dst, time.DateOnly)
	}
	return p.AppendFormat(dst, time.RFC3339Nano)
}

// parseTime reads a date, or a date and a time of day. order is for dates that may have the day or the month
// first, and zone for times that name none.
func parseTime(text []byte, zone *time.Location, order string) (p parsed, form forms) {
	none := parsed{}
	s := string(text)
	cut := strings.IndexAny(s, "Tt ")
	date, clock := s, ""
	if cut >= 0 {
		date, clock = s[:cut], strings.TrimSpace(s[cut+1:])
	}
	var parts [3]int
	separator := strings.IndexAny(date, "-/.")
	if separator < 0 {
		return none, isOther
	}
	by := date[separator : separator+1]
	fields := strings.Split(date, by)
	if len(fields) != 3 {
		return none, isOther
	}
	for i, f := range fields {
		n, err := strconv.Atoi(f)
		if err != nil || !source.IsDigits(f) || len(f) > 4 || len(f) == 3 {
			return none, isOther
		}
		parts[i] = n
	}
	var year, month, day int
	switch {
	case len(fields[0]) == 4 && len(fields[1]) <= 2 && len(fields[2]) <= 2:
		year, month, day, form = parts[0], parts[1], parts[2], isZoneless
	case len(fields[2]) != 4 || len(fields[0]) > 2 || len(fields[1]) > 2:
		return none, isOther
	default:
		year = parts[2]
		switch day, month = parts[0], parts[1]; {
		case by == "." || parts[0] > 12:
			form = isDayFirst
		case parts[1] > 12:
			day, month, form = month, day, isMonthLast
		default:
			if form = isDate; order == MonthFirst {
				day, month = month, day
			}
		}
	}
	if month < 1 || month > 12 || day < 1 || day > time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day() {
		return none, isOther
	}
	if clock == "" {
		if cut >= 0 {
			return none, isOther
		}
		return parsed{time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC), true}, form
	}
	hour, minute, second, nano, at, ok := parseClock(clock, zone)
	if !ok {
		return none, isOther
	}
	if at != zone && form == isZoneless {
		form = isWorded
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, nano, at)
	// The clock may have jumped over the time.
	if y := t.UTC().Year(); t.Day() != day || t.Hour() != hour || t.Minute() != minute || y < 0 || y > 9999 {
		return none, isOther
	}
	return parsed{t, false}, form
}

// parseClock reads a time of day and its zone, or returns the given zone.
func parseClock(s string, zone *time.Location) (hour, minute, second, nano int, at *time.Location, ok bool) {
	end := strings.IndexFunc(s, func(r rune) bool { return r != ':' && r != '.' && (r < '0' || r > '9') })
	clock, rest := s, ""
	if end >= 0 {
		clock, rest = s[:end], strings.TrimSpace(s[end:])
	}
	clock, fraction, fractional := strings.Cut(clock, ".")
	fields := strings.Split(clock, ":")
	if len(fields) < 2 || len(fields) > 3 || fractional && (len(fields) < 3 || !source.IsDigits(fraction)) {
		return hour, minute, second, nano, at, false
	}
	numbers := [3]int{}
	for i, f := range fields {
		if !source.IsDigits(f) || len(f) > 2 || i > 0 && len(f) != 2 {
			return hour, minute, second, nano, at, false
		}
		numbers[i], _ = strconv.Atoi(f)
	}
	hour, minute, second = numbers[0], numbers[1], numbers[2]
	if fractional {
		nano, _ = strconv.Atoi((fraction + "000000000")[:9])
	}
	switch half := strings.ToUpper(strings.ReplaceAll(rest, ".", "")); half {
	case "AM", "PM":
		if hour < 1 || hour > 12 {
			return hour, minute, second, nano, at, false
		}
		if hour %= 12; half == "PM" {
			hour += 12
		}
		rest = ""
	}
	at, ok = zoneOf(rest, zone)
	return hour, minute, second, nano, at, ok && hour < 24 && minute < 60 && second < 60
}

// zoneOf reads the zone after a time of day.
func zoneOf(s string, zone *time.Location) (*time.Location, bool) {
	switch strings.ToUpper(s) {
	case "":
		return zone, true
	case "Z", "UTC", "GMT":
		return utc, true
	}
	if s = strings.TrimPrefix(strings.TrimPrefix(s, "UTC"), "GMT"); s == "" {
		return nil, false
	}
	digits := strings.ReplaceAll(s[1:], ":", "")
	if s[0] != '+' && s[0] != '-' || len(digits) != 2 && len(digits) != 4 || !source.IsDigits(digits) {
		return nil, false
	}
	hours, _ := strconv.Atoi(digits[:2])
	minutes := 0
	if len(digits) == 4 {
		minutes, _ = strconv.Atoi(digits[2:])
	}
	seconds := hours*3600 + minutes*60
	if s[0] == '-' {
		seconds = -seconds
	}
	if hours > 14 || minutes > 59 {
		return nil, false
	}
	if seconds == 0 {
		return utc, true
	}
	return time.FixedZone("", seconds), true
}

// utc differs from time.UTC as a pointer, so that a zone that is written differs from one that is assumed.
var utc = time.FixedZone("", 0)

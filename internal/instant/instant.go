// Package instant parses times in the common notations. All code that parses a time uses it, so
// that a time means the same in a file, a filter and a URL.
package instant

import "time"

// Parse parses a time of RFC 3339, or a date, which means its first instant in UTC. The separator
// of date and time may be T, t or a blank, and z counts as Z (section 5.6). Digits beyond
// nanoseconds are cut. A second 60 is refused. The result is in UTC.
func Parse[T string | []byte](text T) (t time.Time, ok bool) {
	if len(text) < len(time.DateOnly) || text[4] != '-' || text[7] != '-' {
		return t, false
	}
	year, month, day := number(text[0:4]), number(text[5:7]), number(text[8:10])
	if year < 0 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return t, false
	}
	if IsDate(text) {
		return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC), true
	}
	if len(text) < len("2006-01-02T15:04:05Z") || text[10] != 'T' && text[10] != 't' && text[10] != ' ' || text[13] != ':' || text[16] != ':' {
		return t, false
	}
	hour, minute, second := number(text[11:13]), number(text[14:16]), number(text[17:19])
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 {
		return t, false
	}
	nanosecond := 0
	zone := text[19:]
	if zone[0] == '.' {
		n := digits(zone[1:])
		if n == 0 {
			return t, false
		}
		for i := 1; i <= 9; i++ {
			nanosecond *= 10
			if i <= n {
				nanosecond += int(zone[i] - '0')
			}
		}
		zone = zone[1+n:]
	}
	offset := 0 // in minutes
	switch {
	case len(zone) == 1 && (zone[0] == 'Z' || zone[0] == 'z'):
	case len(zone) == len("+00:00") && (zone[0] == '+' || zone[0] == '-') && zone[3] == ':':
		h, m := number(zone[1:3]), number(zone[4:6])
		if h < 0 || h > 23 || m < 0 || m > 59 {
			return t, false
		}
		offset = h*60 + m
		if zone[0] == '-' {
			offset = -offset
		}
	default:
		return t, false
	}
	t = time.Date(year, time.Month(month), day, hour, minute-offset, second, nanosecond, time.UTC)
	return t, t.Year() >= 0 && t.Year() <= 9999 // RFC 3339 writes no other year
}

// ParseSpan parses the same texts as Parse, and returns their first and last instant: a date spans
// its whole day.
func ParseSpan[T string | []byte](text T) (first, last time.Time, ok bool) {
	first, ok = Parse(text)
	if last = first; ok && IsDate(text) {
		last = first.AddDate(0, 0, 1).Add(-1)
	}
	return first, last, ok
}

// IsDate reports whether a text that Parse accepts is a date without a time.
func IsDate[T string | []byte](text T) bool { return len(text) == len(time.DateOnly) }

// number returns the value of a few digits, or -1.
func number[T string | []byte](text T) int {
	n := 0
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return -1
		}
		n = n*10 + int(text[i]-'0')
	}
	return n
}

// digits returns the number of digits at the beginning of a text.
func digits[T string | []byte](text T) (n int) {
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

package points

import (
	"fmt"
	"time"
)

// ParseExpires reads when a point goes by itself: a time of RFC 3339 after 1970. Errors match
// ErrPoint: what is no such time is a mistake, and must not pass for never.
func ParseExpires(text string) (time.Time, error) {
	at, ok := ParseTime(text)
	if !ok || at.UnixMilli() <= 0 {
		return time.Time{}, fmt.Errorf("%w: expires is %.40q: give a time after 1970 such as 2026-07-01T12:00:00Z", ErrPoint, text)
	}
	return at, nil
}

// ParseTime reads a time of RFC 3339, or a date, which is its first instant in UTC. Between
// the two parts may be a T, a t or a blank, and z is Z (section 5.6). Digits beyond
// nanoseconds are cut.
func ParseTime(text string) (time.Time, bool) { return parseTime([]byte(text)) }

// parseTime is ParseTime.
func parseTime(b []byte) (t time.Time, ok bool) {
	if len(b) < len("2006-01-02") || b[4] != '-' || b[7] != '-' {
		return t, false
	}
	year, month, day := number(b[0:4]), number(b[5:7]), number(b[8:10])
	if year < 0 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return t, false
	}
	if len(b) == len("2006-01-02") {
		return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC), true
	}
	if len(b) < len("2006-01-02T15:04:05Z") || b[10] != 'T' && b[10] != 't' && b[10] != ' ' || b[13] != ':' || b[16] != ':' {
		return t, false
	}
	hour, minute, second := number(b[11:13]), number(b[14:16]), number(b[17:19])
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 {
		return t, false
	}
	nanosecond := 0
	zone := b[19:]
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

// appendTime writes a time as a JSON string: RFC 3339 in UTC, with the fewest
// digits. Without their Z such texts are in the order of their times.
func appendTime(dst []byte, t time.Time) []byte {
	return append(t.AppendFormat(append(dst, '"'), time.RFC3339Nano), '"')
}

// number returns the value of a few digits, or -1.
func number(b []byte) int {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
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

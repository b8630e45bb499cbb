package stations

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// appendMembers appends what is known of a station as members of a JSON
// object, without its braces.
func appendMembers(dst []byte, s *Station, at position) []byte {
	dst = append(append(dst, `"id":"`...), s.ID[:]...)
	dst = append(append(dst, `","usaf":"`...), s.ID[:usafLen]...)
	dst = append(append(dst, `","wban":"`...), s.ID[usafLen:]...)
	dst = append(dst, '"')
	dst = appendText(dst, "name", s.Name)
	dst = appendText(dst, "country", s.Country)
	dst = appendText(dst, "state", s.State)
	dst = appendText(dst, "icao", s.ICAO)
	if s.ElevationM != nil {
		dst = append(dst, `,"elevation_m":`...)
		dst = strconv.AppendFloat(dst, *s.ElevationM+0, 'f', -1, 64)
	}
	dst = appendDay(dst, "begin", s.Begin)
	dst = appendDay(dst, "end", s.End)
	dst = appendUnits(append(dst, `,"lat":`...), at.lat)
	return appendUnits(append(dst, `,"lon":`...), at.lon)
}

func appendText(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return appendString(append(append(append(dst, ',', '"'), name...), '"', ':'), value)
}

func appendDay(dst []byte, name string, day time.Time) []byte {
	if day.IsZero() {
		return dst
	}
	dst = append(append(append(dst, ',', '"'), name...), '"', ':', '"')
	return append(day.UTC().AppendFormat(dst, time.DateOnly), '"')
}

// appendString appends a JSON string. Characters that mean something in HTML
// or end a line of JavaScript are escaped too: names are other people's.
func appendString(dst []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < 0x20, r == 0x7f, r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029':
			dst = append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// appendUnits appends a coordinate in degrees, as short as it can be.
func appendUnits(dst []byte, units int32) []byte {
	v := int64(units)
	if v < 0 {
		dst, v = append(dst, '-'), -v
	}
	dst = strconv.AppendInt(dst, v/unitsPerDegree, 10)
	rest := v % unitsPerDegree
	if rest == 0 {
		return dst
	}
	dst = append(dst, '.')
	for unit := int64(unitsPerDegree) / 10; rest > 0; unit /= 10 {
		dst = append(dst, byte('0'+rest/unit))
		rest %= unit
	}
	return dst
}

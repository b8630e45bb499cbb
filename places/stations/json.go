package stations

import (
	"strconv"
	"time"

	"quadrille/internal/jsontext"
)

// appendMembers appends the known fields of a station as members of a JSON
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
	dst = jsontext.AppendDegrees(append(dst, `,"lat":`...), at.lat)
	return jsontext.AppendDegrees(append(dst, `,"lon":`...), at.lon)
}

func appendText(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return jsontext.AppendString(append(append(append(dst, ',', '"'), name...), '"', ':'), value)
}

func appendDay(dst []byte, name string, day time.Time) []byte {
	if day.IsZero() {
		return dst
	}
	dst = append(append(append(dst, ',', '"'), name...), '"', ':', '"')
	return append(day.UTC().AppendFormat(dst, time.DateOnly), '"')
}

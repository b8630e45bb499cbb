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
	dst = append(dst, '"')
	if !s.ID.GHCN() {
		dst = jsontext.AppendText(dst, "usaf", string(s.ID[:usafLen]))
	}
	dst = jsontext.AppendText(dst, "wban", s.ID.WBAN())
	dst = jsontext.AppendText(dst, "wmo", s.WMO)
	dst = jsontext.AppendText(dst, "name", s.Name)
	dst = jsontext.AppendText(dst, "country", s.Country)
	dst = jsontext.AppendText(dst, "state", s.State)
	dst = jsontext.AppendText(dst, "icao", s.ICAO)
	if s.ElevationM != nil {
		dst = append(dst, `,"elevation_m":`...)
		dst = strconv.AppendFloat(dst, *s.ElevationM+0, 'f', -1, 64)
	}
	dst = appendDay(dst, "begin", s.Begin)
	dst = appendDay(dst, "end", s.End)
	dst = jsontext.AppendDegrees(append(dst, `,"lat":`...), at.Lat)
	return jsontext.AppendDegrees(append(dst, `,"lon":`...), at.Lon)
}

func appendDay(dst []byte, name string, day time.Time) []byte {
	if day.IsZero() {
		return dst
	}
	return append(day.UTC().AppendFormat(append(jsontext.AppendName(dst, name), '"'), time.DateOnly), '"')
}

// Package columnname recognises columns of tables by their names, and lists them in messages.
package columnname

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Key returns the name of a column without insignificant parts: only letters and digits, in lower
// case. A unit in brackets after the name is dropped if it only means degrees of WGS84. Any other
// unit is kept.
func Key[T ~string | ~[]byte](name T) string {
	text := string(name)
	if i := strings.IndexAny(text, "(["); i > 0 {
		switch plain(text[i:]) {
		case "", "deg", "degree", "degrees", "decimaldegrees", "dd", "dg", "dezimalgrad", "grad", "wgs84", "epsg4326":
			text = text[:i]
		}
	}
	return plain(text)
}

func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// First returns the first column whose Key is names[0], or else names[1] and so on, or "".
func First(columns, names []string) string {
	first := map[string]string{}
	for _, column := range slices.Backward(columns) {
		first[Key(column)] = column
	}
	for _, name := range names {
		if column := first[name]; column != "" {
			return column
		}
	}
	return ""
}

// List returns the first columns, in quotes, for a message.
func List(columns []string) string {
	const most = 40
	var text strings.Builder
	for i, name := range columns[:min(len(columns), most)] {
		if i > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "%.80q", name)
	}
	if more := len(columns) - most; more > 0 {
		fmt.Fprintf(&text, " and %d more", more)
	}
	return text.String()
}

var (
	// axes lists pairs of names for latitude and longitude that belong together, as keys, the most
	// certain first.
	axes = []struct{ lat, lon []string }{
		{[]string{"lat", "latitude"}, []string{"lon", "lng", "long", "longitude"}},
		{
			[]string{"latitud", "latitudine", "breitengrad", "breedtegraad", "breddegrad", "szerokość", "szerokosc", "широта", "緯度", "纬度", "breite"}, //nolint:misspell // Italian
			[]string{"longitud", "longitudine", "längengrad", "laengengrad", "lengtegraad", "længdegrad", "lengdegrad", "długość", "dlugosc",
				"долгота", "経度", "经度", "länge", "laenge"},
		},
		{[]string{"y"}, []string{"x"}},
	}
	// affixes may come before or after these names. Both names of a pair have the same affix.
	affixes = []string{"", "deg", "geo", "gps", "stop", "decimal", "wgs84", "coord", "point", "geographische"}
)

// Axes returns the columns of latitudes and longitudes: those that are given, and for "" a pair of
// one family and affix, or else the first two of one family, or else two such members of one object, such as
// location.lat and location.lon. Without such columns the results are the arguments.
func Axes(columns []string, lat, lon string) (latColumn, lonColumn string) {
	latColumn, lonColumn = axesOf(columns, lat, lon)
	if latColumn != "" && lonColumn != "" || lat != "" || lon != "" {
		return latColumn, lonColumn
	}
	members := map[string][]string{} // of objects, by the objects' names
	var objects []string
	for _, column := range columns {
		if i := strings.LastIndexByte(column, '.'); i > 0 {
			if members[column[:i]] == nil {
				objects = append(objects, column[:i])
			}
			members[column[:i]] = append(members[column[:i]], column[i+1:])
		}
	}
	slices.SortStableFunc(objects, func(a, b string) int { return strings.Count(a, ".") - strings.Count(b, ".") })
	for _, object := range objects {
		if latColumn, lonColumn = axesOf(members[object], "", ""); latColumn != "" && lonColumn != "" {
			return object + "." + latColumn, object + "." + lonColumn
		}
	}
	return "", ""
}

func axesOf(columns []string, lat, lon string) (latColumn, lonColumn string) {
	for _, family := range axes {
		for i := range len(affixes) + 1 {
			some := affixes
			if i < len(affixes) {
				some = affixes[i : i+1]
			}
			if latColumn = lat; lat == "" {
				latColumn = First(columns, affixed(family.lat, some))
			}
			if lonColumn = lon; lon == "" {
				lonColumn = First(columns, affixed(family.lon, some))
			}
			if latColumn != "" && lonColumn != "" {
				return latColumn, lonColumn
			}
		}
	}
	return lat, lon
}

func affixed(names, affixes []string) (all []string) {
	for _, affix := range affixes {
		for _, name := range names {
			all = append(all, name+affix, affix+name)
		}
	}
	return all
}

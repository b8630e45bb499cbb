package endtoend

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// input is an invented source of one data set and the command that ingests it. Every name in the
// source ends in the mark, so that answers show which of two inputs they come from.
type input struct {
	dataset string
	args    []string
}

// inputs writes the sources of all data sets, with about the given number of records each.
func inputs(t *testing.T, dir, mark string, records int) []input {
	t.Helper()
	file := func(name, text string) string { return writeFile(t, filepath.Join(dir, mark, name), text) }
	return []input{
		{"boundaries", []string{"boundaries", "--layer", "country=" + file("countries.geojson", countries(mark, records)) + ":code"}},
		{"places", []string{"places", file("places.txt", placeRows(mark, records)), "--memory", "256MiB"}},
		{"airports", []string{"airports", file("airports.csv", airportRows(mark, records))}},
		{"stations", []string{"stations", file("isd-history.csv", stationRows(mark, records))}},
		{"ip", []string{"ip", file("ranges.csv", rangeRows(mark, records)), "--columns", "network,country,city"}},
	}
}

// countries returns squares of two degrees around the origin with wavy borders. Neighbours do not
// share their borders. This is more work than shared borders.
func countries(mark string, records int) string {
	side := max(2, int(math.Sqrt(float64(records))/8))
	var b strings.Builder
	b.WriteString(`{"type":"FeatureCollection","features":[`)
	for i := range side * side {
		if i > 0 {
			b.WriteByte(',')
		}
		x, y := float64(2*(i%side)-side), float64(2*(i/side)-side)
		fmt.Fprintf(&b, `{"type":"Feature","properties":{"code":"c%d","name":"Land %d %s"},"geometry":{"type":"Polygon","coordinates":[[`, i, i, mark)
		const steps = 64
		for s := range steps + 1 {
			a := 2 * math.Pi * float64(s%steps) / steps
			r := 0.9 + 0.05*math.Sin(9*a+float64(i))
			if s > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "[%.6f,%.6f]", x+r*math.Cos(a), y+r*math.Sin(a))
		}
		b.WriteString("]]}}")
	}
	b.WriteString("]}\n")
	return b.String()
}

func positions() func() (lon, lat float64) {
	r := rand.New(rand.NewPCG(5, 6))
	return func() (float64, float64) { return 8*r.Float64() - 4, 8*r.Float64() - 4 }
}

func placeRows(mark string, records int) string {
	var b strings.Builder
	next := positions()
	for i := range records {
		lon, lat := next()
		fmt.Fprintf(&b, "%d\tTown %d %s\tTown %d %s\t\t%.5f\t%.5f\tP\tPPL\tGB\t\tENG\t\t\t\t%d\t\t10\tEurope/London\t2022-03-09\n",
			i+1, i, mark, i, mark, lat, lon, 1000+i*37%100_000)
	}
	return b.String()
}

func airportRows(mark string, records int) string {
	var b strings.Builder
	b.WriteString("id,ident,type,name,latitude_deg,longitude_deg,elevation_ft,iso_country,tz\n")
	next := positions()
	for i := range records {
		lon, lat := next()
		fmt.Fprintf(&b, "%d,X%05d,small_airport,Field %d %s,%.5f,%.5f,83,GB,Europe/London\n", i+1, i, i, mark, lat, lon)
	}
	return b.String()
}

func stationRows(mark string, records int) string {
	var b strings.Builder
	b.WriteString(`"USAF","WBAN","STATION NAME","CTRY","STATE","ICAO","LAT","LON","ELEV(M)","BEGIN","END"` + "\n")
	next := positions()
	for i := range min(records, 99_999) {
		lon, lat := next()
		fmt.Fprintf(&b, `"%06d","99999","STATION %d %s","UK","","","%+07.3f","%+08.3f","+0025.3","19480101","20250501"`+"\n", i+1, i,
			mark, lat, lon)
	}
	return b.String()
}

func rangeRows(mark string, records int) string {
	var b strings.Builder
	for i := range records {
		fmt.Fprintf(&b, "%d.%d.%d.0/25,GB,City %d %s\n", 20+i>>16, i>>8&255, i&255, i, mark)
	}
	return b.String()
}

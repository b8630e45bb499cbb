package isd

import (
	"fmt"
	"io"
	"iter"
	"path"
	"strconv"
	"strings"
	"time"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/delimited"
)

// These are the fields of an observation, in the order of the file.
const (
	AirTemperature  = iota // 0.1 °C
	DewPoint               // 0.1 °C
	Pressure               // at sea level, 0.1 hPa
	WindDirection          // degrees clockwise from north
	WindSpeed              // 0.1 m/s
	SkyCode                // 0 to 19
	Precipitation1h        // 0.1 mm, or -1 for a trace
	Precipitation6h        // 0.1 mm, or -1 for a trace

	NumFields = iota
)

// Missing is the value of a field that was not observed.
const Missing = -9999

// Observation is a line of a file of observations.
type Observation struct {
	Time   time.Time      // a full hour, UTC
	Values [NumFields]int // as in the file, Missing if not observed
	Line   int            // 1-based
}

// These are the reasons of bad observations.
const (
	reasonFields = "not twelve fields"
	reasonNumber = "field is not a whole number"
	reasonTime   = "no such date or hour"
	reasonYear   = "year is not that of the file's name"
)

// File is the information in the name of a file of observations.
type File struct {
	USAF, WBAN string
	Year       int
}

// ParseName parses a file name such as 066600-99999-2024.gz, with or without a directory, and
// reports whether it has this form.
func ParseName(name string) (File, bool) {
	base := source.CutCompression(path.Base(strings.ReplaceAll(name, `\`, "/")))
	for _, suffix := range []string{".txt", ".op"} {
		base = strings.TrimSuffix(base, suffix)
	}
	parts := strings.Split(base, "-")
	if len(parts) != 3 {
		return File{}, false
	}
	usaf, wban := []byte(parts[0]), []byte(parts[1])
	year, err := strconv.ParseUint(parts[2], 10, 16)
	if !isID(usaf, 6) || !isID(wban, 5) || len(parts[2]) != 4 || err != nil || year < 1 {
		return File{}, false
	}
	return File{string(usaf), string(wban), int(year)}, true
}

const lineFields = 4 + NumFields

// ReadLite yields the observations of a file in the isd-lite format: twelve whole numbers in each
// line, separated by blanks. They are year, month, day and hour in UTC and then the fields above,
// or -9999 if a value is missing:
//
//	2024 01 01 06   -12   -30 10132   250    31     8     0    -1
//
// year is the year of the file, or 0 for any. name is the source in bad lines. The second value is
// nil, a *source.BadRecord, after which reading continues, or the error of r, which ends the
// sequence. The caller checks whether values are possible on Earth.
func ReadLite(r io.Reader, name string, year int) iter.Seq2[Observation, error] {
	in := delimited.New(r, name, format)
	return delimited.Records(in, func(o *Observation) error {
		var numbers [lineFields]int
		reason, detail := parseNumbers(in.Text(), &numbers)
		if reason == "" {
			reason, detail = o.set(&numbers, year)
		}
		o.Line = in.Line
		return in.Bad(reason, detail)
	})
}

// parseNumbers reads whole numbers separated by blanks.
func parseNumbers(line []byte, numbers *[lineFields]int) (reason, detail string) {
	n, i := 0, 0
	for {
		for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
			i++
		}
		if i == len(line) {
			break
		}
		if n == lineFields {
			return reasonFields, source.Excerpt(line)
		}
		from := i
		negative := line[i] == '-'
		if negative {
			i++
		}
		digits, v := i, 0
		for ; i < len(line) && line[i] >= '0' && line[i] <= '9' && i-digits < 7; i++ {
			v = v*10 + int(line[i]-'0')
		}
		if i == digits || i < len(line) && line[i] != ' ' && line[i] != '\t' {
			return reasonNumber, source.Excerpt(line[from:])
		}
		if negative {
			v = -v
		}
		numbers[n] = v
		n++
	}
	if n != lineFields {
		return reasonFields, source.Excerpt(line)
	}
	return "", ""
}

// set sets the observation from the numbers of a line.
func (o *Observation) set(numbers *[lineFields]int, year int) (reason, detail string) {
	y, month, day, hour := numbers[0], numbers[1], numbers[2], numbers[3]
	if year != 0 && y != year {
		return reasonYear, strconv.Itoa(y)
	}
	o.Time = time.Date(y, time.Month(month), day, hour, 0, 0, 0, time.UTC)
	// time.Date would accept the 31st of June as the 1st of July.
	if y < 1 || y > 9999 || month < 1 || month > 12 || o.Time.Day() != day || int(o.Time.Month()) != month || o.Time.Hour() != hour {
		return reasonTime, fmt.Sprintf("%d-%d-%d %d", y, month, day, hour)
	}
	o.Values = [NumFields]int(numbers[4:])
	return "", ""
}

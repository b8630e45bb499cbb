package geonames

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/delimited"
)

// This is the size of the sample that decides the kind of a file: the number of rows that are not
// comments, and the total of bytes.
const (
	sampleRows  = 100
	sampleBytes = sampleRows * MaxLineBytes
)

// Recognise returns the kind of a file by its name or, if the name says
// nothing, by its rows. onDisk is the path that opens it. It is an error if the rows contradict the name, or if
// no kind has such rows.
func Recognise(file, onDisk string) (Kind, error) {
	byName, err := kindByName(file)
	if err != nil {
		return "", err
	}
	f, err := source.OpenMember(onDisk, IsTableMember)
	if err != nil {
		return "", err
	}
	defer f.Close()
	f.Path = file
	if err := f.Refuse(source.WantRows); err != nil {
		return "", err
	}
	s, err := look(f, file)
	if err != nil {
		return "", err
	}
	if byName == "" {
		return s.kind(file)
	}
	switch best, votes := s.best(); {
	case s.votes[byName] > 0 || votes == 0 || 2*votes < s.rows:
		// Rows that match no kind are counted as bad when they are read.
		return byName, nil
	case best == postalCodes:
		return "", s.postal(file)
	default:
		return "", fmt.Errorf("%s: its name is that of %s and its rows are those of %s; name what it is, as in --as %s=%s",
			file, byName, best, best, file)
	}
}

// sample counts the shapes of the first rows of a file.
type sample struct {
	rows    int
	votes   map[Kind]int // the kinds a row may be of
	columns map[int]alike
}

// alike describes the rows with the same number of columns.
type alike struct {
	rows  int
	first string // an excerpt
}

// postalCodes are published by GeoNames under the same names as the places.
const postalCodes Kind = "postal codes"

// PostalColumns are the columns of a file of postal codes, which has no line of names.
var PostalColumns = []string{
	"country", "postal_code", "name", "state", "state_code", "county", "county_code", "community", "community_code", "lat", "lon", "accuracy",
}

// IsPostal reports whether a text begins with a row of postal codes.
func IsPostal(text []byte) bool {
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	c := bytes.Split(line, []byte{'\t'})
	if shape(c) != postalCodes {
		return false
	}
	_, isLat := source.ParseDecimal(c[9], 90)
	_, isLon := source.ParseDecimal(c[10], 180)
	return isLat && isLon
}

func look(r io.Reader, name string) (s sample, err error) {
	in := delimited.New(io.LimitReader(r, sampleBytes), name, delimited.Format{Separator: '\t', MaxBytes: MaxLineBytes,
		Comments: []string{"#"}})
	s.votes, s.columns = map[Kind]int{}, map[int]alike{}
	for s.rows < sampleRows {
		line, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return s, nil
		case delimited.IsBad(err):
			s.rows++
		case err != nil:
			return s, err
		default:
			s.rows++
			s.vote(line)
		}
	}
	return s, nil
}

func (s *sample) vote(line []byte) {
	columns := bytes.Split(line, []byte{'\t'})
	a := s.columns[len(columns)]
	if a.rows++; a.rows == 1 {
		a.first = source.Excerpt(line)
	}
	s.columns[len(columns)] = a
	if k := shape(columns); k != "" {
		s.votes[k]++
	}
}

// shape returns the kind that a row may be of. It returns "" if no kind fits, and for rows of two
// columns, which do not show enough.
func shape(c [][]byte) Kind {
	switch len(c) {
	case 3:
		switch {
		case string(c[0]) == noFeature || isFeature(string(c[0])):
			return KindFeatures
		case source.IsDigits(c[0]) && source.IsDigits(c[1]):
			return KindHierarchy
		case source.IsDigits(c[0]):
			return KindDeletions
		}
	case 4:
		if bytes.HasPrefix(c[0], []byte("ISO 639-3")) || isLanguage(string(c[0])) && !source.IsDigits(c[0]) {
			return KindLanguages
		}
		switch levelOf(string(c[0])) {
		case 1:
			return KindAdmin1
		case 2:
			return KindAdmin2
		}
	case 5:
		if string(c[0]) == "CountryCode" || isCountry(string(c[0])) && bytes.IndexByte(c[1], '/') > 0 {
			return KindTimeZones
		}
	case 8, 10:
		if source.IsDigits(c[0]) && source.IsDigits(c[1]) {
			return KindAlternates
		}
	case 12:
		if isCountry(string(c[0])) {
			return postalCodes
		}
	case 19:
		switch {
		case source.IsDigits(c[0]):
			return KindPlaces
		case isCountry(string(c[0])):
			return KindCountries
		}
	}
	return ""
}

// best returns the kind with the most votes. Of several such kinds it returns the first.
func (s *sample) best() (best Kind, votes int) {
	for _, k := range kinds {
		if n := s.votes[k.kind]; n > votes {
			best, votes = k.kind, n
		}
	}
	if n := s.votes[postalCodes]; n > votes {
		best, votes = postalCodes, n
	}
	return best, votes
}

// kind decides only by the rows: at least half of them must be of the same kind.
func (s *sample) kind(file string) (Kind, error) {
	best, votes := s.best()
	switch {
	case s.rows == 0:
		return "", fmt.Errorf("%s: has no rows; check that it was fetched completely", file)
	case best == postalCodes:
		return "", s.postal(file)
	case 2*votes >= s.rows:
		return best, nil
	}
	columns, most := 0, alike{}
	for n, a := range s.columns {
		if a.rows > most.rows || a.rows == most.rows && n < columns {
			columns, most = n, a
		}
	}
	if columns <= 1 {
		return "", fmt.Errorf("%s: its lines, such as %s, are not columns separated by tabs, as all tables of GeoNames are; "+
			"check that it is the file you mean", file, most.first)
	}
	known := ""
	for _, k := range kinds {
		known += fmt.Sprintf("%s %s, ", k.kind, k.columns)
	}
	return "", fmt.Errorf("%s: rows of %d columns, such as %s, do not show which table of GeoNames it is; these are "+
		"known, by their columns: %s; name it, as in --as %s=%s",
		file, columns, most.first, strings.TrimSuffix(known, ", "), guess(columns), file)
}

// guess returns a likely kind as an example for a message.
func guess(columns int) Kind {
	if columns == 2 {
		return KindAdmin5
	}
	return KindPlaces
}

func (s *sample) postal(file string) error {
	return fmt.Errorf("%s: holds postal codes, which GeoNames publishes under the same name; fetch the places from "+
		"https://download.geonames.org/export/dump/, or publish the codes as points: ingest points postcodes FILE", file)
}

package places

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"quadrille/cmd/ingest/internal/source/geonames"
	"quadrille/places"
)

// smallRows counts and limits the rows of small files in memory. Their texts are cloned, because a
// text of a record would keep its whole line in memory.
type smallRows struct{ rows, bytes int }

const (
	maxSmallRows  = 1_000_000 // the world has some 50,000 divisions
	maxSmallBytes = 256 << 20
)

var errTooMuchSmall = fmt.Errorf("more than %d rows or %d MB in the files of codes, countries, languages and "+
	"deletions; check that they are the files you mean", maxSmallRows, maxSmallBytes>>20)

// add counts a row and its texts.
func (h *smallRows) add(texts ...string) error {
	h.rows++
	h.bytes += 64
	for _, s := range texts {
		h.bytes += len(s)
	}
	if h.rows > maxSmallRows || h.bytes > maxSmallBytes {
		return errTooMuchSmall
	}
	return nil
}

// readSmall reads the files that are kept in memory: all except the files of places and the files
// joined with places.
func (j *placesJob) readSmall() error {
	j.given, j.deleted, j.languages = map[string]bool{}, map[uint32]int64{}, map[string]string{}
	for _, f := range j.files {
		var err error
		switch f.Kind {
		case geonames.KindAdmin1:
			err = readTable(j, f, divisions(1), j.keepDivision(f, &j.gazetteer.Admin1))
		case geonames.KindAdmin2:
			err = readTable(j, f, divisions(2), j.keepDivision(f, &j.gazetteer.Admin2))
		case geonames.KindCountries:
			err = readTable(j, f, geonames.ReadCountries, j.keepCountry(f))
		case geonames.KindFeatures:
			err = readTable(j, f, geonames.ReadFeatures, j.keepFeature(f))
		case geonames.KindDeletions:
			err = j.readDeletions(f)
		case geonames.KindLanguages:
			err = readTable(j, f, geonames.ReadLanguages, j.keepLanguage)
		case geonames.KindTimeZones:
			err = readTable(j, f, geonames.ReadTimeZones, j.keepTimeZone)
		}
		if errors.Is(err, errTooMuchSmall) {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func divisions(level int) tableReader[geonames.Division] {
	return func(r io.Reader, name string) iter.Seq2[geonames.Division, error] {
		return geonames.ReadDivisions(r, name, level)
	}
}

// first reports whether a code of a kind is new. If several files explain a code, the first
// explanation counts.
func (j *placesJob) first(kind geonames.Kind, code string) bool {
	key := string(kind) + " " + code
	if j.given[key] {
		return false
	}
	j.given[key] = true
	return true
}

func (j *placesJob) keepDivision(f *placesFile, to *[]places.Division) func(geonames.Division) error {
	return func(d geonames.Division) error {
		if !j.first(f.Kind, d.Code) {
			return nil
		}
		division := places.Division{
			Code: strings.Clone(d.Code), Name: strings.Clone(d.Name), ASCIIName: strings.Clone(d.ASCIIName), ID: d.ID,
		}
		if err := division.Validate(); err != nil {
			return f.cannotStore(d.Line, err)
		}
		*to = append(*to, division)
		return j.small.add(d.Code, d.Name, d.ASCIIName)
	}
}

func (j *placesJob) keepCountry(f *placesFile) func(geonames.Country) error {
	return func(c geonames.Country) error {
		if !j.first(f.Kind, c.Code) {
			return nil
		}
		country := places.Country{
			Code: c.Code, ISO3: c.ISO3, FIPS: c.FIPS, Name: c.Name, Capital: c.Capital, Continent: c.Continent, TLD: c.TLD,
			CurrencyCode: c.CurrencyCode, CurrencyName: c.CurrencyName, Phone: c.Phone,
			PostalFormat: c.PostalFormat, PostalPattern: c.PostalPattern, Numeric: c.Numeric, AreaKM2: c.AreaKM2,
			Population: c.Population, Languages: c.Languages, Neighbours: c.Neighbours, ID: c.ID,
		}
		if err := country.Validate(); err != nil {
			return f.cannotStore(c.Line, err)
		}
		j.gazetteer.Countries = append(j.gazetteer.Countries, country)
		return nil // there are 26 × 26 codes at most, each of a few kilobytes
	}
}

func (j *placesJob) keepFeature(f *placesFile) func(geonames.Feature) error {
	return func(x geonames.Feature) error {
		if !j.first(f.Kind, x.Code) {
			return nil
		}
		feature := places.Feature{
			Code: strings.Clone(x.Code), Name: strings.Clone(x.Name), Description: strings.Clone(x.Description),
		}
		if err := feature.Validate(); err != nil {
			return f.cannotStore(x.Line, err)
		}
		j.gazetteer.Features = append(j.gazetteer.Features, feature)
		return j.small.add(x.Code, x.Name, x.Description)
	}
}

func (j *placesJob) readDeletions(f *placesFile) error {
	on, err := geonames.DeletionDate(f.Path)
	if err != nil {
		return err
	}
	f.newer(on)
	return readTable(j, f, geonames.ReadDeletions, func(d geonames.Deletion) error {
		j.deleted[d.ID] = max(j.deleted[d.ID], daysOf(on))
		return j.small.add()
	})
}

// keepLanguage stores the short form of a language code, because the alternate names use both
// forms.
func (j *placesJob) keepLanguage(l geonames.Language) error {
	if l.ISO1 == "" {
		return nil
	}
	for _, code := range append([]string{l.ISO3}, l.ISO2...) {
		if code != "" {
			j.languages[strings.Clone(code)] = strings.Clone(l.ISO1)
		}
	}
	return j.small.add(l.ISO3, l.ISO1)
}

// language returns the short form of a code: "de" for "deu", "zh-Hant" for
// "zho-Hant".
func (j *placesJob) language(code string) string {
	base, variant, _ := strings.Cut(code, "-")
	short, ok := j.languages[base]
	switch {
	case !ok:
		return code
	case variant == "":
		return short
	}
	return short + "-" + variant
}

func (j *placesJob) keepTimeZone(z geonames.TimeZone) error {
	if j.zones == nil {
		j.zones = map[string]bool{}
	}
	j.zones[strings.Clone(z.Name)] = true
	return j.small.add(z.Name)
}

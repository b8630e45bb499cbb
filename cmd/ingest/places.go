package main

import (
	"encoding"
	"errors"
	"fmt"
	"strings"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/places"
	"quadrille/cmd/ingest/internal/source/geonames"
)

type placesCmd struct {
	Files []string   `arg:"" optional:"" config:"" extra:"" name:"file" help:"Files of GeoNames: allCountries.zip, cities15000.zip, NL.txt, alternateNamesV2.zip, countryInfo.txt, …."`
	As    []kindFlag `sep:";" placeholder:"KIND=FILE" help:"One more file, and what it holds: needed where neither its name nor its rows tell; repeatable. In the environment several are separated by semicolons."`

	positioned
}

func (placesCmd) Help() string {
	return `FILE is a table of GeoNames as downloaded (.zip), unpacked (.txt) or compressed (.gz, .zst, .bz2, .xz). What it
holds shows in its name, or else in its rows:

  places          allCountries, cities15000, NL, no-country, modifications-YYYY-MM-DD
  alternatenames  alternateNamesV2 or alternateNames, all or of one country: names in other languages, codes, links
  countries       countryInfo: names, capitals, currencies, neighbours
  admin1, admin2  admin1CodesASCII, admin2Codes: names of the divisions of countries
  admin5          adminCode5: the fifth-level divisions of places
  features        featureCodes_en: what feature codes mean
  hierarchy       hierarchy: which place lies in which
  deletes         deletes-YYYY-MM-DD: places deleted that day
  languages       iso-languagecodes: makes one of the two codes that languages have in alternate names
  timezones       timeZones: counts places with a time zone it does not know
  ranks           how many people the agglomeration of a city has, for its weight on maps: a table, or another file of
                  points, with names and people, such as ne_10m_populated_places.zip; only by --as

At least one file must hold places, and not one day's modifications alone; the others add to those. Of several
rows of a place, in one file or in several, the one with the latest modification date is taken. --max-bad is
the share of each file.

  ingest places allCountries.zip alternateNamesV2.zip hierarchy.zip adminCode5.zip countryInfo.txt admin1CodesASCII.txt admin2Codes.txt featureCodes_en.txt
  ingest places cities15000.zip NL.zip no-country.zip
  ingest places allCountries.zip modifications-2026-11-20.txt deletes-2026-11-20.txt
  ingest places NL.zip --as alternatenames=NL-names.txt
  ingest places cities15000.zip --as ranks=ne_10m_populated_places.zip

Files of --as come after the others, which decides what is taken where dates are equal.`
}

func (c *placesCmd) Run(s *session) error {
	var inputs []places.Input
	for _, f := range c.Files {
		inputs = append(inputs, places.Input{Input: job.Input{Path: f, Credit: job.GeoNames}})
	}
	for _, as := range c.As {
		credit := job.GeoNames
		if as.kind == geonames.KindRanks {
			credit = job.KnownCredit(as.file)
		}
		inputs = append(inputs, places.Input{Input: job.Input{Path: as.file, Credit: credit}, Kind: as.kind})
	}
	if len(inputs) == 0 {
		return &usageError{errors.New("no files; name at least one, such as cities15000.zip")}
	}
	_, err := places.Ingest(s.ctx, s.catalog, inputs, c.options(s))
	return err
}

// kindFlag is KIND=FILE.
type kindFlag struct {
	kind geonames.Kind
	file string
}

var _ encoding.TextUnmarshaler = (*kindFlag)(nil)

func (k *kindFlag) UnmarshalText(text []byte) error {
	kind, file, ok := strings.Cut(string(text), "=")
	if !ok || file == "" {
		return fmt.Errorf("%q is not a file; give one as KIND=FILE, KIND one of %s", text, geonames.KindNames())
	}
	var err error
	k.kind, err = geonames.ParseKind(kind)
	k.file = file
	return err
}

// MarshalText is the inverse of UnmarshalText.
func (k kindFlag) MarshalText() ([]byte, error) {
	return []byte(fmt.Sprint(k.kind) + "=" + k.file), nil
}

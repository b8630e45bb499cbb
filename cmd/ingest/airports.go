package main

import (
	"path/filepath"

	"quadrille/cmd/ingest/internal/job"
)

type airportsCmd struct {
	File string `arg:"" optional:"" config:"" name:"file" help:"airports.csv of OurAirports, plain, .gz or .zip."`
}

func (airportsCmd) Help() string {
	return `FILE is OurAirports' airports.csv (https://ourairports.com/data/), or a CSV file of your own with its header: ident, type, name, latitude_deg and longitude_deg, and any of id, elevation_ft, iso_country, iso_region, municipality, scheduled_service, icao_code, iata_code, gps_code, local_code, home_link, wikipedia_link, keywords and tz.

OurAirports has no time zones. An airport gets that of the region of type timezone it lies in, of its country where that has only one, or of the nearest place in it, whichever is published and knows better; so ingest boundaries, places and time zones first. A column tz, an IANA name such as Europe/Zurich, comes before both.

  ingest places cities15000.zip
  ingest airports airports.csv
  ingest airports sample/airports.csv`
}

func (c *airportsCmd) Run(s *session) error {
	credit := job.OurAirports
	if filepath.Base(filepath.Dir(c.File)) == "sample" {
		credit = job.SampleAirports
	}
	_, err := job.Airports(s.ctx, s.catalog, job.Input{Path: c.File, Credit: credit}, s.options)
	return err
}

type timezonesCmd struct{}

func (timezonesCmd) Help() string {
	return `Needs no file: the rules are those of this machine's zone database, and where it has none of the one compiled into this program. Run it again when the machine's database has been updated.

  ingest timezones`
}

func (timezonesCmd) Run(s *session) error {
	_, err := job.TimeZones(s.ctx, s.catalog, s.options)
	return err
}

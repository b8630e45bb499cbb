package main

import (
	"errors"
	"path/filepath"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/airports"
	"quadrille/cmd/ingest/internal/job/boundaries"
	"quadrille/cmd/ingest/internal/job/renew"
	"quadrille/cmd/ingest/internal/job/timezones"
	"quadrille/cmd/ingest/internal/source"
)

var _ = added.add(func() any {
	return new(struct {
		Airports airportsCmd `cmd:"" group:"publish" config:"" help:"Publish airports from a file of OurAirports."`
	})
})

type airportsCmd struct {
	File string `arg:"" optional:"" config:"" name:"file" help:"airports.csv of OurAirports, plain, compressed (.gz, .zst, .bz2, .xz) or .zip."`

	positioned
}

func (airportsCmd) Help() string {
	return `FILE is OurAirports' airports.csv (https://ourairports.com/data/), or a CSV file of your own with its
header: ident, type, name, latitude_deg and longitude_deg, and any of id, elevation_ft, iso_country,
iso_region, municipality, scheduled_service, icao_code, iata_code, gps_code, local_code, home_link,
wikipedia_link, keywords and tz.

OurAirports has no time zones. An airport gets that of the region of type timezone it lies in, of its country
where that has only one, or of the nearest place in it, whichever is published and knows better; so ingest
boundaries, places and time zones first. A column tz, an IANA name such as Europe/Zurich, comes before both.

  ingest places cities15000.zip
  ingest airports airports.csv
  ingest airports sample/airports.csv`
}

func (c *airportsCmd) reads() []string { return []string{c.File} }

func (c *airportsCmd) Run(s *session) error {
	credit := job.OurAirports
	if filepath.Base(filepath.Dir(c.File)) == "sample" {
		credit = job.SampleAirportsCredit
	}
	_, err := airports.Ingest(s.ctx, s.catalog, job.Input{Path: c.File, Credit: credit}, c.options(s))
	return err
}

type timezonesCmd struct {
	File string `arg:"" optional:"" config:"" extra:"" name:"file" help:"A release of timezone-boundary-builder, whose zones become the layer timezone."`

	publishing
}

func (timezonesCmd) Help() string {
	return `The offsets need no file: the rules are those of this machine's zone database, and where it has none
of the one compiled into this program. Run it again when the machine's database has been updated.

  ingest timezones

FILE tells which zone a point lies in: a release of timezone-boundary-builder
(https://github.com/evansiroky/timezone-boundary-builder/releases), GeoJSON or shapefile, as downloaded or
unpacked: all zones, those that differ since 1970, or since now; with oceans or without. Its zones are
published as the layer timezone of the boundaries. The layers published there stay, and are built anew. The
data is under the ODbL: maps must name OpenStreetMap's contributors, as the server's do.

  ingest timezones timezones.geojson.zip

Zones that are not in this program's list are counted as bad; it may be older than the file.`
}

func (c *timezonesCmd) left(s *session) string {
	if c.File == "" {
		return s.unpublished(ask.TimeZones.Name)
	}
	return s.unpublished(ask.TimeZones.Name, ask.Boundaries.Name)
}

func (c *timezonesCmd) Run(s *session) error {
	// The offsets need no file, so a broken file must not prevent them.
	_, err := timezones.Ingest(s.ctx, s.catalog, c.options(s))
	if c.File == "" {
		return err
	}
	file, _ := source.SplitLayer(c.File)
	credit := job.KnownCredit(file)
	if credit.Name == "" {
		credit = job.ZoneBorders
	}
	return errors.Join(err, addZones(s, job.Input{Path: c.File, Credit: credit}, c.options(s)))
}

// addZones publishes the polygons. The other layers stay as the last refresh made them, so the next
// refresh does not rebuild them.
func addZones(s *session, in job.Input, o job.Options) error {
	before, err := s.catalog.Current(s.ctx, ask.Boundaries.Name)
	if err != nil && !errors.Is(err, dataset.ErrNoGeneration) {
		return err
	}
	m, err := boundaries.IngestZones(s.ctx, s.catalog, in, o)
	if err != nil || o.DryRun {
		return err
	}
	return renew.CarryForward(refreshRecord(s, ask.Boundaries.Name), before.Generation, m.Generation)
}

package main

import (
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/stations"
)

var _ = added.add(func() any {
	return new(struct {
		Stations stationsCmd `cmd:"" group:"publish" config:"" help:"Publish weather stations from NOAA's list of them."`
		Weather  weatherCmd  `cmd:"" group:"publish" config:"" help:"Publish what weather stations observed, from NOAA's isd-lite files."`
	})
})

type stationsCmd struct {
	File string `arg:"" optional:"" config:"" name:"file" help:"NOAA's list of stations: isd-history.csv or ghcnh-station-list.csv, plain or compressed (.gz, .zst, .bz2, .xz)."`

	publishing
}

func (stationsCmd) Help() string {
	return `FILE is the list of stations of the Integrated Surface Database, with the names of its columns in the
first line, or that of its successor, GHCN hourly, which the header tells. Ids are then those of GHCN; ingest weather
needs the former. Stations without a position are counted and left out; they do not count towards --max-bad. Country
codes, which are FIPS 10-4 in the file, become those of ISO 3166.

  ingest stations isd-history.csv
  ingest stations ghcnh-station-list.csv`
}

func (c *stationsCmd) reads() []string { return []string{c.File} }

func (c *stationsCmd) Run(s *session) error {
	_, err := stations.Ingest(s.ctx, s.catalog, job.Input{Path: c.File, Credit: job.NOAA}, c.options(s))
	return err
}

type weatherCmd struct {
	Files []string `arg:"" optional:"" config:"" name:"file" help:"NOAA's isd-lite files, one for each station and year: 066600-99999-2024.gz …."`

	publishing
}

func (weatherCmd) Help() string {
	return `FILE is in the isd-lite format, plain or compressed (.gz, .zst, .bz2, .xz), under the name NOAA gives it: the USAF
and WBAN numbers of its station, and the year. Publish the stations first; a file of a station that is not
among them is counted and left out. The files named become the published ones: what was published before and
is not named again is gone.

  ingest stations isd-history.csv
  ingest weather isd-lite/2024/*.gz`
}

func (c *weatherCmd) reads() []string { return c.Files }

func (c *weatherCmd) Run(s *session) error {
	_, err := stations.IngestWeather(s.ctx, s.catalog, inputs(c.Files, job.NOAA), c.options(s))
	return err
}

func inputs(files []string, credit job.Credit) []job.Input {
	in := make([]job.Input, len(files))
	for i, f := range files {
		in[i] = job.Input{Path: f, Credit: credit}
	}
	return in
}

package main

import (
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"quadrille/ask"
	asked "quadrille/ask/enrich"
	"quadrille/cmd/ingest/internal/enrich"
	"quadrille/cmd/ingest/internal/joinclient"
	"quadrille/cmd/ingest/internal/serverclient"
	"quadrille/cmd/ingest/internal/source/pointtable"
)

type enrichCmd struct {
	File string `arg:"" help:"A table, or GeoJSON, a GeoPackage or a shapefile of points; - is standard input."`
	Out  string `required:"" env:"-" placeholder:"FILE" help:"The file to write, by its name as CSV (.csv, .tsv), JSON objects (.ndjson, .jsonl) or Features of GeoJSON (.geojsonl, .geojsons), one a line; - is standard output. One that is there is replaced."`

	Format   string   `env:"-" enum:",csv,tsv,ndjson,geojsonl" default:"" placeholder:"FORMAT" help:"The format to write, csv, tsv, ndjson or geojsonl, where the name does not tell."`
	Regions  []string `env:"-" placeholder:"TYPES" help:"Add the name and id of the regions of these types, such as country,state; all for every type. That is also done if nothing is asked for."`
	Timezone bool     `env:"-" help:"Add the time zone and its present offset from UTC."`
	Time     string   `env:"-" placeholder:"COLUMN" help:"Add the time zone and its offset from UTC at the time in a column, such as 2026-01-31T12:00:00Z."`
	Nearest  []string `text:"" env:"-" sep:"none" placeholder:"LAYER:FIELDS" help:"Add properties of the nearest feature of a layer, such as airport:name,iata,distance_m; name and distance_m without FIELDS. A layer is place, airport, station, or any that is published; repeatable. A name with a comma or a colon stands in double quotes."`
	IP       string   `text:"" env:"-" name:"ip" placeholder:"COLUMN:FIELDS" help:"Add what is known of the IP address in a column, such as country,city,asn, which are added without FIELDS. A column whose name has a colon stands in double quotes, as in '\"client:ip\":country'."`
	Reverse  bool     `env:"-" help:"Add the address of the position: the place and the regions around it."`
	Geocode  []string `text:"" env:"-" sep:"none" placeholder:"COLUMNS" help:"Add position and label of what the text in a column means, or in several, such as city,country. A column whose name has a comma stands in double quotes. Rows without a position take this one."`
	Prefix   string   `env:"-" placeholder:"TEXT" help:"What the names of the added columns begin with."`
	Server   string   `env:"-" placeholder:"URL" help:"Let this tileserver add the columns, such as http://127.0.0.1:8080, instead of the data in --data."`
	KeyFile  string   `env:"-" type:"path" placeholder:"FILE" help:"File whose first line is the key for --server."`

	Lat       string `env:"-" placeholder:"COLUMN" help:"The column of latitudes of a table, in degrees."`
	Lon       string `env:"-" placeholder:"COLUMN" help:"The column of longitudes of a table, in degrees; that of --lat again where it has positions."`
	AxisOrder string `env:"-" enum:",lat-lon,lon-lat" default:"" placeholder:"ORDER" help:"The order of two numbers in one column, lat-lon or lon-lat."`
	Encoding  string `env:"-" placeholder:"NAME" help:"The encoding of a table or GeoJSON, such as windows-1252. Left out, it is found as by ingest points."`
	Layer     string `env:"-" placeholder:"NAME" help:"The layer of a GeoPackage, or the shapefile of an archive, that has several."`
}

var _ = added.add(func() any {
	return new(struct {
		Enrich enrichCmd `cmd:"" group:"published" help:"Add columns to a table of points: regions, time zones, what is nearest, what is known of IP addresses."`
	})
})

func (enrichCmd) Help() string {
	return `Reads a table of points, and writes the same table with columns added from what is published. All rows are
answered by the generations that are published when the command begins.

  ingest enrich customers.csv --out customers-where.csv
  ingest enrich customers.csv --out where.csv --regions country,state --timezone --nearest airport:iata,distance_m
  ingest enrich visits.csv --out visits-where.ndjson --ip client:country,city,asn
  ingest enrich branches.csv --out branches-where.csv --geocode city,country --regions state
  zcat points.csv.gz | ingest enrich - --out - --nearest shops:name,distance_m > nearest.csv

FILE is read as ingest points reads it: any of its formats, with the columns of positions found by their names,
and separators and encodings by the text. All columns are written in their order, with their texts. Blanks
around a cell are left out, and quotes are written where a cell needs them. A CSV file has the separator of
the table, if that is a semicolon, or else commas. Features that are written as a table or as objects get the
columns id, lat and lon, unless they have such properties.

The added columns are, in this order:

  --geocode   geocode_label, geocode_lat and geocode_lon, of the best answer: a place, a region or an airport, and no street. All columns below use this position where the row has none, so the table needs no columns of positions.
  --regions   for each type, such as country: country with the name, and country_id. Where regions overlap, a cell has all of them, the smallest first, separated by semicolons.
  --timezone  timezone, a name of the IANA database, and utc_offset, such as +01:00, at the time of the command, or at that in the column of --time. Offsets before standard time have seconds, such as -00:01:15.
  --nearest   LAYER_FIELD: any property of the layer, or id, lat, lon and distance_m, in metres. place is the nearest populated place, airport the nearest with passenger service. Collections of points are named as ingest points names them; one that has the name of another layer as points:NAME.
  --reverse   address: the place that describes the position with the regions around it.
  --ip        ip_FIELD: country (its code), country_name, city, postal, lat, lon, timezone, asn and organization, or a path as in /ip?fields=, such as city.names.de.

In COLUMN, COLUMNS and FIELDS a name with a comma, a colon or quotes stands in double quotes, as in a CSV file, and
the shell wants single ones around them: --ip '"client:ip":country', --geocode '"city, town",country'. Without
quotes the last colon counts.

A column that the file has already is not replaced: --prefix gives the added ones other names. In JSON columns
without a name are called column_N. Rows without a usable position are kept with empty added columns, and counted,
also features with a geometry that cannot be used. Rows that cannot be read, such as those with more cells than the
header, are left out; --max-bad bounds their share. The file appears when it is complete, with the mode and owner of one that
is there, and where a symbolic link points.`
}

func (c *enrichCmd) reads() []string { return withoutLayers([]string{c.File}) }

func (c *enrichCmd) left(*session) string {
	if c.Out == "-" {
		return "standard output lacks the rest of the rows"
	}
	return c.Out + " is as before"
}

func (c *enrichCmd) Run(s *session) (err error) {
	format, err := enrich.FormatOf(c.Out, enrich.Format(c.Format))
	if err != nil {
		return &usageError{err}
	}
	if c.Out == "-" && s.json {
		return &usageError{errors.New("--json writes to standard output, which gets the rows: leave it out, or name a file by --out")}
	}
	if c.Out == "-" {
		signal.Ignore(syscall.SIGPIPE) // writing fails instead, and what was copied is removed
	}
	request := c.request()
	plan, done, err := c.plan(s, &request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }() // unless the run has done so
	stats, err := enrich.Run(s.ctx, plan, enrich.Options{
		In: c.File, Out: c.Out, Stdout: s.stdout, Format: format, Layer: c.Layer, Encoding: c.Encoding,
		Columns: pointtable.Columns{Lat: c.Lat, Lon: c.Lon, Order: c.AxisOrder},
		Prefix:  c.Prefix, NeedsPosition: request.NeedsPosition(), Locates: request.Locates(), Close: done,
	}, s.options)
	if c.Out == "-" && errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("%w: %w", errUnread, err)
	}
	if err != nil {
		return err
	}
	took := time.Since(s.began)
	s.reporter.close()
	text := fmt.Sprintf("enriched %s: %s rows, %d columns added, in %s", c.File, grouped(stats.Rows), len(plan.Columns),
		took.Round(100*time.Millisecond))
	if c.Out == "-" {
		s.reporter.Note(text)
		return nil
	}
	s.tell(struct {
		Event      string  `json:"event"`
		File       string  `json:"file"`
		Rows       int64   `json:"rows"`
		LeftOut    int64   `json:"left_out,omitempty"`
		NoPosition int64   `json:"no_position,omitempty"`
		Seconds    float64 `json:"seconds"`
	}{"enriched", c.Out, stats.Rows, stats.LeftOut, stats.NoPosition, took.Seconds()}, "%s", text)
	return nil
}

// request returns what the flags ask for.
func (c *enrichCmd) request() asked.Request {
	return asked.Request{
		Geocode: c.Geocode, Regions: c.Regions, TimeZone: c.Timezone, Time: c.Time, Nearest: c.Nearest, Reverse: c.Reverse, IP: c.IP,
	}
}

// plan returns the plan of a request. The caller calls done at the end.
func (c *enrichCmd) plan(s *session, request *asked.Request) (plan *enrich.Plan, done func() error, err error) {
	if c.Server != "" {
		server := serverclient.Client{Least: "one row", OnRetry: s.reporter.Note}
		if server.Server, server.Key, err = targetServer(s, "--server", c.Server, c.KeyFile); err != nil {
			return nil, nil, &usageError{err}
		}
		of, err := joinclient.New(s.ctx, &server, request)
		if err != nil {
			return nil, nil, err
		}
		plan = &enrich.Plan{Columns: of.Columns(), Inputs: of.Inputs(), Filler: func() enrich.Fill { return of.Filler() }}
		return plan, func() error { return nil }, nil
	}
	if c.KeyFile != "" {
		return nil, nil, &usageError{errors.New("--key-file is for --server URL: give both or none")}
	}
	view, done, err := s.openView()
	if err != nil {
		return nil, nil, err
	}
	of, err := request.Plan(view)
	if err != nil {
		return nil, nil, errors.Join(explain(err), done())
	}
	for _, note := range of.Notes() {
		s.reporter.Note(note)
	}
	return enrich.LocalPlan(of), done, nil
}

// explain writes the errors of a plan for the user, one for each flag.
func explain(err error) error {
	var all error
	for _, err := range asked.Errors(err) {
		var of *asked.MemberError
		switch isMember := errors.As(err, &of); {
		case isMember && errors.Is(err, ask.ErrMissing):
			err = fmt.Errorf("--%s: %w: ingest it first, or name another directory by --data", of.Member, of.Err)
		case isMember:
			err = fmt.Errorf("--%s: %w", of.Member, of.Err)
		}
		all = errors.Join(all, err)
	}
	return all
}

// openView opens what is published, and takes a view of it. A data set that cannot be read is an error only of
// questions that need it. closeAll does nothing when it is called again.
func (s *session) openView() (v ask.View, closeAll func() error, err error) {
	names, err := s.catalog.Datasets(s.ctx)
	if err != nil {
		return v, nil, err
	}
	sets := ask.PublishedSets(s.catalog.Generations)
	sets.RegionSets, sets.Collections = new(ask.DatasetGroup[*ask.RegionSet]), new(ask.Collections)
	opened := sets.LiveDatasets()
	_ = sets.Poll(s.ctx) // each keeps its error
	for _, name := range names {
		if set, ok := strings.CutPrefix(name, ask.RegionSetPrefix); ok {
			l := ask.RegionSetOf(set).Live(s.catalog.Generations)
			_ = l.Poll(s.ctx)
			sets.RegionSets.Add(set, l)
			opened = append(opened, l)
		} else if collection, ok := strings.CutPrefix(name, ask.CollectionPrefix); ok {
			l := ask.CollectionOf(collection).Live(s.catalog.Generations)
			_ = l.Poll(s.ctx)
			sets.Collections.Add(collection, l)
			opened = append(opened, l)
		}
	}
	sets.RegionSets.AddAll(nil)
	sets.Collections.AddAll(nil)
	v = ask.NewViews(sets).Take(s.began)
	closed := false
	return v, func() (err error) {
		if closed {
			return nil
		}
		closed = true
		v.Release()
		for _, l := range opened {
			err = errors.Join(err, l.Close())
		}
		return err
	}, nil
}

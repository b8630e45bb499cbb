package main

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"quadrille/cmd/ingest/internal/job/ip"
	"quadrille/cmd/ingest/internal/source/ipcsv"
)

type ipCmd struct {
	Files       []string      `arg:"" optional:"" config:"" name:"file" help:"Sources of address ranges: .mmdb files, GeoLite2 CSV sets, lists of ranges, workbooks, Parquet, geofeeds; - is standard input."`
	Columns     []columnsFlag `sep:";" placeholder:"[FILE=]LIST" help:"What the columns of a list hold, such as first,last,country,-,city; network,country=DE says what holds for all rows; of all lists, or of one, also of a folder or an archive, or of a pattern; repeatable. In the environment several are separated by semicolons."`
	KeepPrivate bool          `help:"Keep what lists say of private networks, such as 10.0.0.0/8 and fc00::/7, which are cut out otherwise. Databases never locate them."`
	Derive      bool          `default:"true" negatable:"" help:"Derive subdivision, time zone and country from coordinates, where a source lacks them and boundaries and places are published."`
	Check       bool          `help:"Before publishing, say what share of the addresses changed against what is published. It does publish; --dry-run says the same and does not."`
	License     string        `placeholder:"NAME" help:"Licence of the files, such as CC-BY-4.0, for /status. Known for GeoLite2, DB-IP Lite, IPinfo Lite, ip-location-db and iptoasn.com."`
	Attribution attribution   `text:"" placeholder:"TEXT" help:"What must be shown for using the files: text, with links as <a href=\"https://example.org\">text</a>."`

	publishing
}

func (ipCmd) Help() string {
	return `Each FILE is one source; what it is shows in its content:

  A MaxMind DB (.mmdb), alone, compressed by gzip, zstd, bzip2 or xz, or as it comes in a tar.gz or zip archive: GeoIP2, GeoLite2, DB-IP, IPinfo, ip-location-db. Fields no schema knows are kept under "extra".
  A GeoLite2 CSV set: its zip archive, or the folder with its Blocks and Locations files.
  A list of ranges, commas, tabs, semicolons, vertical bars or blanks between its columns, alone, compressed by gzip, zstd, bzip2 or xz, or in a zip archive: first and last address, or a network such as 192.0.2.0/24, and what is known of them. Addresses may be written as usual or as decimal numbers. The length of a prefix, a netmask or a wildcard mask may stand in a column of its own (prefix_length). A first line may name the columns, which then go by their names; only those of addresses may be recognised by what they hold. Without one the lists of ip-location-db, DB-IP, iptoasn.com and IP2Location, geofeeds (RFC 8805), the registries' delegated files and lists of countries are recognised; for others say --columns. A list of networks alone needs a value for all of them, as country=DE.
  The list of a provider's networks in JSON: AWS, Azure, Google. A list of a JSON object in each line, or in [ ], alone or as a member such as {"data":[ ]} (FILE#MEMBER), with its network and the fields of a MaxMind DB, as ingest export ip writes it.
  A sheet of a workbook (.xlsx, .ods; FILE#SHEET) or a Parquet file, with names of columns as of a list.

A folder or a pattern in quotes, such as 'dbip-*.csv.gz', is all its files. Of those whose names differ in a date alone the newest is read.

Where several sources cover an address, each field is taken from the first that has it, so put the best first;
within a source the narrowest range answers.

  ingest ip GeoLite2-City.mmdb GeoLite2-ASN.mmdb
  ingest ip own-offices.csv geofeed.csv dbip-city-lite.csv.gz ip2asn-combined.tsv.gz
  ingest ip GeoLite2-City-CSV_20260101.zip --max-change 10%
  ingest ip GeoLite2-City-CSV_20260101.zip --max-change 10% --dry-run
  ingest ip customers.csv --columns network,country,-,city,extra.customer
  ingest ip pfx2as.txt --columns network,prefix_length,asn
  ingest ip tor.txt de.zone --columns tor.txt=network,is_tor_exit_node=1 --columns de.zone=network,country=DE

--max-change protects against a bad delivery: above that share nothing is published, and the program ends with
exit code 3, also with --dry-run. Run it again with a larger share, or without, to publish all the same.`
}

// columnsFlag is [FILE=]LIST.
type columnsFlag struct {
	file    string
	columns []ipcsv.Column
	text    string // as given
}

var _ encoding.TextUnmarshaler = (*columnsFlag)(nil)

func (c *columnsFlag) UnmarshalText(text []byte) (err error) {
	c.text = string(text)
	list := c.text
	first, _, _ := strings.Cut(list, ",") // later columns may have values
	if i := strings.LastIndexByte(first, '='); i >= 0 {
		c.file, list = list[:i], list[i+1:]
	}
	c.columns, err = ipcsv.ParseColumns(list)
	return err
}

// MarshalText is the inverse of UnmarshalText.
func (c columnsFlag) MarshalText() ([]byte, error) { return []byte(c.text), nil }

func (c *ipCmd) Run(s *session) error {
	inputs := make([]ip.Input, len(c.Files))
	for i, f := range c.Files {
		inputs[i].Path = f
		inputs[i].License, inputs[i].Attribution = c.License, string(c.Attribution)
	}
	o := ip.Options{Options: c.options(s), Derive: c.Derive, KeepPrivate: c.KeepPrivate, OnCompared: s.reporter.compared}
	o.Check = c.Check || o.DryRun
	for _, flag := range c.Columns {
		if flag.file != "" {
			o.Columns = append(o.Columns, ip.NamedColumns{File: flag.file, List: flag.columns})
			continue
		}
		for i := range inputs {
			if inputs[i].Columns == nil {
				inputs[i].Columns = flag.columns
			}
		}
	}
	_, err := ip.Ingest(s.ctx, s.catalog, inputs, o)
	if errors.Is(err, ip.ErrUnnamed) {
		return &usageError{err}
	}
	return err
}

// compared reports the difference between a generation of ip and the published one.
func (r *reporter) compared(c ip.Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v4, v6 := c.Shares()
	if r.json {
		r.event(comparedEvent(&c, v4, v6))
		return
	}
	r.clearBar()
	fmt.Fprintf(r.out, "compared with ip generation %d: %s rows, then %s\n", c.Published, grouped(c.OldRows), grouped(c.NewRows))
	for _, v := range []struct {
		name string
		ip.Shares
	}{{"IPv4", v4}, {"IPv6", v6}} {
		fmt.Fprintf(r.out, "  %s: %.3f%% of the addresses added, %.3f%% removed, %.3f%% changed\n", v.name, 100*v.Added,
			100*v.Removed, 100*v.Changed)
	}
	if r.quiet {
		return
	}
	for _, e := range c.Examples {
		fmt.Fprintf(r.out, "  %s %s to %s: %s\n", e.Kind, e.First, e.Last, difference(e.Old, e.New))
	}
}

// difference shows two answers, shortened to the part where they differ.
func difference(before, after []byte) string {
	const most, context = 120, 40
	same := 0
	for same < min(len(before), len(after)) && before[same] == after[same] {
		same++
	}
	cut := func(b []byte) string {
		if b == nil {
			return "none"
		}
		from := max(0, min(same, len(b))-context)
		text := strings.ToValidUTF8(string(b[from:min(len(b), from+most)]), "")
		if from > 0 {
			text = "…" + text
		}
		if from+most < len(b) {
			text += "…"
		}
		return text
	}
	switch {
	case before == nil:
		return cut(after)
	case after == nil:
		return cut(before)
	}
	return cut(before) + " → " + cut(after)
}

func comparedEvent(c *ip.Change, v4, v6 ip.Shares) any {
	type shares struct {
		Added   float64 `json:"added"`
		Removed float64 `json:"removed"`
		Changed float64 `json:"changed"`
	}
	type example struct {
		Kind  string          `json:"kind"`
		First string          `json:"first"`
		Last  string          `json:"last"`
		Old   json.RawMessage `json:"old,omitempty"`
		New   json.RawMessage `json:"new,omitempty"`
	}
	object := func(members []byte) json.RawMessage {
		if members == nil {
			return nil
		}
		return slices.Concat([]byte{'{'}, members, []byte{'}'})
	}
	examples := make([]example, len(c.Examples))
	for i, e := range c.Examples {
		examples[i] = example{string(e.Kind), e.First.String(), e.Last.String(), object(e.Old), object(e.New)}
	}
	country4, country6 := c.Share(c.ChangedCountry)
	return struct {
		Event     string    `json:"event"`
		Published uint64    `json:"published"`
		OldRows   int64     `json:"old_rows"`
		NewRows   int64     `json:"new_rows"`
		IPv4      shares    `json:"ipv4"`
		IPv6      shares    `json:"ipv6"`
		Country4  float64   `json:"ipv4_country_changed"`
		Country6  float64   `json:"ipv6_country_changed"`
		Examples  []example `json:"examples"`
	}{"compared", c.Published, c.OldRows, c.NewRows, shares(v4), shares(v6), country4, country6, examples}
}

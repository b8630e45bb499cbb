package main

import (
	"fmt"
	"os"
	"time"

	"quadrille/ask"
	"quadrille/cmd/ingest/internal/export"
	"quadrille/cmd/ingest/internal/job"
)

type exportIPCmd struct {
	File         string `arg:"" type:"path" help:"The file to write: its name ends in .mmdb, .csv or .ndjson. One that is there is replaced."`
	Fields       string `placeholder:"LIST" help:"What to write of each network, as in /ip?fields=, such as country.iso_code,city.names.en; all of it or the fields of --database-type when not given, and in a CSV file the usual columns."`
	RecordSize   int    `enum:"0,24,28,32" default:"0" placeholder:"BITS" help:"Size of a record in the search tree of an .mmdb file, 24, 28 or 32 bits; the least that it needs when not given."`
	DatabaseType string `placeholder:"TYPE" help:"Type that an .mmdb file says it has; Quadrille-City, -Country, -ASN or -Traits by its content when not given. Some clients ask for one they know, such as GeoLite2-ASN: then the fields of that type are written, where its clients look for them."`
	Generation   uint64 `placeholder:"GENERATION" help:"The generation to export, as ingest list shows it; the published one when not given."`
}

func (exportIPCmd) Help() string {
	return `Writes the published IP ranges for other programs. Adjacent ranges that say the same become one, and
each is written as the fewest networks.

  .mmdb    a MaxMind DB file, version 2.0, with the fields of GeoIP2, for its clients, nginx, Logstash and others. It also answers for IPv6 addresses that carry IPv4: IPv4-mapped, NAT64 and 6to4; not Teredo, whose addresses are inverted. With traits alone they stand at the top, as in the ASN and ISP databases.
  .csv     a row for each network, which ingest ip reads again. Of the subdivisions the first is written.
  .ndjson  a JSON object for each network, with the members of the answers of /ip.

  ingest export ip world.mmdb
  ingest export ip asn.mmdb --database-type GeoLite2-ASN
  ingest export ip countries.csv --fields country.iso_code`
}

func (c *exportIPCmd) Run(s *session) (err error) {
	options := export.AddressOptions{
		Fields: c.Fields, DatabaseType: c.DatabaseType, RecordSize: c.RecordSize,
		// A quarter is left for memory that does not belong to the export, as in other commands.
		Memory: int64(s.cli.Memory) / 4 * 3,
		Progress: func(done, total int64) {
			s.reporter.Progress(job.Progress{Stage: "exporting ip", Done: done, Total: total})
		},
	}
	if err := export.CheckAddresses(c.File, options); err != nil {
		return &usageError{err}
	}
	begin := time.Now()
	gen, err := openGeneration(s, ask.Addresses.Name, c.Generation)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := gen.Close(); err == nil {
			err = cerr
		}
	}()
	reader, err := ask.AddressTable.Open(gen)
	if err != nil {
		return err
	}
	stats, err := export.WriteAddresses(s.ctx, reader, &gen.Manifest, c.File, options)
	if err != nil {
		return err
	}
	info, err := os.Stat(c.File)
	if err != nil {
		return err
	}
	took := time.Since(begin)
	s.reporter.close()
	event := struct {
		Event      string  `json:"event"`
		File       string  `json:"file"`
		Ranges     int64   `json:"ranges"`
		Networks   int64   `json:"networks"`
		Nodes      int64   `json:"nodes,omitempty"`
		RecordSize int     `json:"record_size,omitempty"`
		Bytes      int64   `json:"bytes"`
		Seconds    float64 `json:"seconds"`
	}{Event: "exported", File: c.File, Ranges: stats.Ranges, Networks: stats.Networks, Bytes: info.Size(), Seconds: took.Seconds()}
	tree := ""
	if t := stats.Tree; t != nil {
		event.Nodes, event.RecordSize = t.Nodes, t.RecordSize
		tree = fmt.Sprintf("%s nodes of records of %d bits, ", grouped(t.Nodes), t.RecordSize)
	}
	s.tell(event, "exported %s: %s ranges as %s networks, %s%s, in %s", c.File,
		grouped(stats.Ranges), grouped(stats.Networks), tree, byteCount(info.Size()), took.Round(100*time.Millisecond))
	return nil
}

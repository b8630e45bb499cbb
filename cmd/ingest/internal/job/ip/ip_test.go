package ip

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/testfile"
	"quadrille/internal/testrace"
	"quadrille/ipgeo"
)

const ipData = "../../../../../../shared/data/ip/"

// ipFile writes a source of a fixed age.
func ipFile(t testing.TB, name, text string) job.Input {
	t.Helper()
	if strings.HasSuffix(name, ".gz") {
		text = testfile.Gzip(text)
	}
	path := testfile.WriteTemp(t, name, text)
	at := time.UnixMilli(1700000000000)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	return job.Input{Path: path}
}

func ipInputs(inputs []job.Input) (list []Input) {
	for _, in := range inputs {
		list = append(list, Input{Input: in})
	}
	return list
}

func ipJob(t testing.TB, c *dataset.Catalog, o job.Options, inputs ...job.Input) (dataset.Manifest, error) {
	t.Helper()
	return Ingest(t.Context(), c, ipInputs(inputs), Options{Options: o})
}

// ipReader opens the published generation.
func ipReader(t testing.TB, c *dataset.Catalog) (*dataset.Generation, *ipgeo.Reader) {
	t.Helper()
	r, g := jobtest.Open(t, c, ask.AddressTable)
	return g, r
}

// ipRows returns all rows of the published generation, each as text.
func ipRows(t testing.TB, c *dataset.Catalog) (rows []string) {
	t.Helper()
	g, _ := ipReader(t, c)
	table, err := g.Store.Table(t.Context(), "ip")
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range table.Scan(t.Context(), cellstore.Scan{}) {
		if err != nil {
			t.Fatal(err)
		}
		cell := row.Cells[0]
		rows = append(rows, fmt.Sprintf("%x@%d %q", row.Key, cell.Timestamp, cell.Value))
	}
	return rows
}

// ipReport records a job's reports.
type ipReport struct {
	job.SilentReporter
	mu     sync.Mutex
	bad    []string
	notes  []string
	stages []string
}

func (r *ipReport) BadRecords(reason string, n int64, examples []*source.BadRecord) {
	r.bad = append(r.bad, fmt.Sprintf("%s %d, first line %d", reason, n, examples[0].Line))
}
func (r *ipReport) Note(s string) { r.notes = append(r.notes, s) }
func (r *ipReport) Progress(p job.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.stages); n == 0 || r.stages[n-1] != p.Stage {
		r.stages = append(r.stages, p.Stage)
	}
}

func TestIP(t *testing.T) {
	c := jobtest.Catalog(t)
	v4 := ipFile(t, "v4.csv.gz", "\ufeffstart,end,country\r\n"+
		"# comment\r\n"+
		"\"9.9.9.0\",\"9.9.9.255\",\"FR\"\r\n"+
		"9.9.0.0,9.9.255.255,CH\r\n"+
		"9.10.0.0,9.10.0.255,NA\r\n"+
		"9.11.0.0,9.11.0.255,AP\r\n"+
		"9.12.0.0,9.12.0.255,eu\r\n"+
		"9.13.0.0,9.13.0.255,UK\r\n"+
		"9.14.0.0,9.14.0.255,QQ\r\n"+
		"9.9.10.0,9.9.10.255,ZZ\r\n"+ // empty, so that CH shows through
		"9.15.0.0,9.15.0.255,\r\n"+
		"9.16.0.9,9.16.0.0,FR\r\n"+
		"9.17.0.0,2400::,FR\r\n"+
		"9.18.0.0,9.18.0.255,Germany\r\n"+
		"9.19.0.0,9.19.0.300,FR\r\n"+
		"10.0.0.0,10.255.255.255,FR\r\n")
	v4.Credit = job.Credit{Name: "Hand-made", License: "CC0-1.0", Version: "3"}
	v6 := ipFile(t, "v6.csv",
		"42540528726795050063891204319802818560,42540528806023212578155541913346768895,JP\n9.9.9.0,9.9.9.0,US\n9.20.0.0,9.20.0.0,US\n")
	var rep ipReport
	m, err := ipJob(t, c, job.Options{Reporter: &rep, MaxBad: 0.5}, v4, v6)
	if err != nil {
		t.Fatal(err)
	}

	_, r := ipReader(t, c)
	for _, tc := range []struct{ addr, network, country string }{
		{
			"9.9.9.9",
			"9.9.9.0/24",
			`"continent":{"code":"EU","names":{"en":"Europe"}},"country":{"is_in_european_union":true,"iso_code":"FR","names":{"en":"France"}}`,
		},
		// This is the file that is named first.
		{
			"9.9.9.0",
			"9.9.9.0/24",
			`"continent":{"code":"EU","names":{"en":"Europe"}},"country":{"is_in_european_union":true,"iso_code":"FR","names":{"en":"France"}}`,
		},
		{"9.9.10.1", "9.9.10.0/23", `"continent":{"code":"EU","names":{"en":"Europe"}},"country":{"iso_code":"CH","names":{"en":"Switzerland"}}`},
		{"9.10.0.1", "9.10.0.0/24", `"continent":{"code":"AF","names":{"en":"Africa"}},"country":{"iso_code":"NA","names":{"en":"Namibia"}}`},
		{"9.11.0.1", "9.11.0.0/24", `"country":{"iso_code":"AP","names":{"en":"Asia/Pacific Region"}}`},
		{"9.12.0.1", "9.12.0.0/24", `"continent":{"code":"EU","names":{"en":"Europe"}},"country":{"iso_code":"EU","names":{"en":"Europe"}}`},
		{
			"9.13.0.1",
			"9.13.0.0/24",
			`"continent":{"code":"EU","names":{"en":"Europe"}},"country":{"iso_code":"GB","names":{"en":"United Kingdom"}}`,
		},
		{
			"9.20.0.0",
			"9.20.0.0/32",
			`"continent":{"code":"NA","names":{"en":"North America"}},"country":{"iso_code":"US","names":{"en":"United States"}}`,
		},
		{"2001:200::8", "2001:200::/32", `"continent":{"code":"AS","names":{"en":"Asia"}},"country":{"iso_code":"JP","names":{"en":"Japan"}}`},
	} {
		var res ipgeo.Result
		if err := r.Lookup(t.Context(), netip.MustParseAddr(tc.addr), &res); err != nil {
			t.Errorf("%s: %v", tc.addr, err)
		} else if string(res.CountryJSON()) != tc.country || res.Network.String() != tc.network {
			t.Errorf("%s: %s %s", tc.addr, res.Network, res.CountryJSON())
		}
	}
	for _, addr := range []string{"9.14.0.1", "9.15.0.1", "9.16.0.1", "9.17.0.0", "9.18.0.1"} {
		if err := r.Lookup(t.Context(), netip.MustParseAddr(addr), new(ipgeo.Result)); !errors.Is(err, ipgeo.ErrNotFound) {
			t.Errorf("%s: %v", addr, err)
		}
	}

	if d := cmp.Diff(map[string]int64{
		ipgeo.ReasonReversed: 1, ipgeo.ReasonFamily: 1, "not a country code": 2, "not an IP address": 1,
	}, m.Bad); d != "" {
		t.Error(d)
	}
	if want := []string{
		"not a country code 2, first line 9", "last address before first 1, first line 12", "mixed IPv4 and IPv6 1, first line 13",
		"not an IP address 1, first line 15",
	}; !slices.Equal(rep.bad, want) {
		t.Errorf("reported %q", rep.bad)
	}
	if want := []string{
		v4.Path + ": list with column names",
		v6.Path + ": country list, by its content; after the addresses it has country \"JP\"",
		"2 ranges say nothing of their addresses and were left out",
		"2 ranges overlap others: of each field the source named first answers, and in it the narrowest range",
		"1 ranges are elsewhere by a later source than by one before it, such as 9.9.9.0 to 9.9.9.0: the one named first " +
			"says where they are, and what the later one says of that was left out",
		"1 ranges touch addresses that are reserved or carry IPv4 addresses; those were cut out (--keep-private keeps what " +
			"lists say of private ones)",
	}; !slices.Equal(rep.notes, want) {
		t.Errorf("noted %q", rep.notes)
	}
	if want := []string{"reading ranges", "sorting ranges", "writing ranges", "writing the index", "checking the index",
		"publishing ip"}; !slices.Equal(rep.stages, want) {
		t.Errorf("stages %q", rep.stages)
	}
	if m.Records["ipv4"] != 8 || m.Records["ipv6"] != 1 || m.SchemaVersion != ipgeo.Layout || len(m.Sources) != 2 {
		t.Errorf("manifest %+v", m)
	}
	s := m.Sources[0]
	if s.Name != "Hand-made" || s.File != "v4.csv.gz" || s.License != "CC0-1.0" || s.Version != "3" || len(s.SHA256) != 64 ||
		s.Bytes == 0 || s.Modified.UnixMilli() != 1700000000000 {
		t.Errorf("source %+v", s)
	}
	if m.Sources[1].Name != "v6.csv" {
		t.Errorf("source %+v", m.Sources[1])
	}
	for _, row := range ipRows(t, c) {
		if !strings.Contains(row, "@1700000000000 ") {
			t.Errorf("row %s is not of its source's age", row)
		}
	}
}

// A failed job leaves the published generation.
func TestIPFailures(t *testing.T) {
	c := jobtest.Catalog(t)
	good := ipFile(t, "good.csv", "9.9.9.0,9.9.9.255,FR\n")
	if _, err := ipJob(t, c, job.Options{}, good); err != nil {
		t.Fatal(err)
	}
	before := ipRows(t, c)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	rows := strings.Repeat("9.9.9.0,9.9.9.255,FR\n", 50) + "9.9.9.9,x,FR\n"
	oneBad, twoBad := ipFile(t, "bad.csv", rows), ipFile(t, "two.csv", rows+"9.9.9.9,x,FR\n")
	for _, tc := range []struct {
		name   string
		ctx    context.Context
		inputs []job.Input
		maxBad float64
		want   string
	}{
		{"no files", t.Context(), nil, 0, "name at least one"},
		{"missing file", t.Context(), []job.Input{good, {Path: filepath.Join(t.TempDir(), "none.csv")}}, 0, "no such file"},
		{"a bad record", t.Context(), []job.Input{oneBad}, 0, "1 of 51 records are bad"},
		{"too many bad records", t.Context(), []job.Input{twoBad}, 0.01, "2 of 52 records are bad"},
		{
			"not a list of ranges",
			t.Context(),
			[]job.Input{good, ipFile(t, "x.csv", "name,population\nParis,2000000\n")},
			1,
			"none of these holds addresses",
		},
		{"empty", t.Context(), []job.Input{good, ipFile(t, "x.csv", "# nothing\n")}, 1, "no range in it can be read"},
		{
			"nothing assigned",
			t.Context(),
			[]job.Input{ipFile(t, "x.csv", "9.9.9.0,9.9.9.255,ZZ\n10.0.0.0,10.0.0.1,FR\n")},
			1,
			"say nothing of any public address",
		},
		{"truncated gzip", t.Context(), []job.Input{truncated(t)}, 1, "truncated"},
		{"cancelled", cancelled, []job.Input{good}, 0, "context canceled"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Ingest(tc.ctx, c, ipInputs(tc.inputs), Options{Options: job.Options{MaxBad: tc.maxBad}})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			if !slices.Equal(ipRows(t, c), before) {
				t.Error("the published generation changed")
			}
		})
	}
	// One bad row is tolerated in a list of any size.
	for in, share := range map[*job.Input]float64{&oneBad: 0.01, &twoBad: 0.04} {
		if _, err := ipJob(t, c, job.Options{MaxBad: share}, *in); err != nil {
			t.Error("within the share:", err)
		}
	}
	var many *job.TooManyBadError
	if _, err := ipJob(t, c, job.Options{}, oneBad); !errors.As(err, &many) || many.Bad != 1 || many.Example.Line != 51 {
		t.Errorf("%+v", many)
	}
}

func truncated(t *testing.T) job.Input {
	in := ipFile(t, "cut.csv.gz", strings.Repeat("9.9.9.0,9.9.9.255,FR\n", 1000))
	b := testfile.Read(t, in.Path)
	testfile.Write(t, in.Path, b[:len(b)-20])
	return in
}

// The real lists in dotted and in decimal form give the same rows.
func TestIPRealFiles(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	list := func(notation string) []job.Input {
		return []job.Input{{Path: filepath.FromSlash(ipData + "geo-asn-country-ipv6" + notation + "-20201219.csv.gz")}}
	}
	if _, err := os.Stat(list("")[0].Path); err != nil {
		t.Skip("no real data: ", err)
	}
	rows := func(in []job.Input) []string {
		c := jobtest.Catalog(t)
		m, err := ipJob(t, c, job.Options{}, in...)
		if err != nil {
			t.Fatal(err)
		}
		if m.Records["ipv4"] != 0 || m.Records["ipv6"] != 49322 || m.Bad != nil {
			t.Errorf("records %v, bad %v", m.Records, m.Bad)
		}
		rows := ipRows(t, c)
		for i, r := range rows { // without timestamps, which come from the files
			key, rest, _ := strings.Cut(r, "@")
			_, value, _ := strings.Cut(rest, " ")
			rows[i] = key + value
		}
		return rows
	}
	if !slices.Equal(rows(list("")), rows(list("-num"))) {
		t.Error("the decimal list gives other rows")
	}
}

// Every line of the demo's lists is understood.
func TestIPSamplePackage(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	dir := jobtest.PackagesDir + "/@ip-location-db/geo-whois-asn-country/geo-whois-asn-country-"
	if _, err := os.Stat(dir + "ipv4.csv"); err != nil {
		t.Skip("no sample packages: ", err)
	}
	in, err := openRanges(t.Context(), ipInputs([]job.Input{{Path: dir + "ipv4.csv"}, {Path: dir + "ipv6.csv"}}), Options{}, nil, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer in.close()
	v4, v6 := 0, 0
	whole := &converter{fill: func(r *ipgeo.Record) error {
		if r.Country.Names["en"] == "" || r.Continent.Code == "" {
			return fmt.Errorf("%+v", r)
		}
		return nil
	}, memory: 1 << 20}
	for _, s := range in.sources {
		for r, err := range s.ranges(whole) {
			if err == nil {
				err = in.check(&r)
			}
			if err != nil || r.record == nil {
				t.Fatalf("%s: %v", r.first, err)
			}
			if r.first.Is4() {
				v4++
			} else {
				v6++
			}
		}
	}
	if v4 < 300000 || v6 < 200000 {
		t.Errorf("%d IPv4 and %d IPv6 ranges", v4, v6)
	}
}

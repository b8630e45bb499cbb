package export_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/oschwald/maxminddb-golang/v2"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/export"
	"quadrille/cmd/ingest/internal/export/mmdb"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/ip"
	"quadrille/cmd/ingest/internal/source/ipcsv"
	"quadrille/cmd/internal/testfile"
	"quadrille/cmd/internal/toyworld"
	"quadrille/internal/testrace"
	"quadrille/ipgeo"
)

// ranges publishes IP ranges from files and opens them.
func ranges(t *testing.T, files ...string) (*ipgeo.Reader, *dataset.Manifest) {
	t.Helper()
	c, err := dataset.Open(t.TempDir(), toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	var inputs []ip.Input
	for _, f := range files {
		in := ip.Input{Input: job.Input{Path: f}}
		if filepath.Base(f) == "offices.csv" {
			var err error
			if in.Columns, err = ipcsv.ParseColumns("network,country_code,country_name,city,latitude,longitude,timezone,asn,as_name,extra.carrier,extra.country"); err != nil {
				t.Fatal(err)
			}
		}
		inputs = append(inputs, in)
	}
	if _, err := ip.Ingest(t.Context(), c, inputs, ip.Options{Options: job.Options{MaxBad: 1}}); err != nil {
		t.Fatal(err)
	}
	g, err := c.OpenCurrent(t.Context(), ask.Addresses.Name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	r, err := ask.AddressTable.Open(g)
	if err != nil {
		t.Fatal(err)
	}
	return r, &g.Manifest
}

func list(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	testfile.Write(t, path, text)
	return path
}

const offices = `1.0.0.0/24,AU,Australia,"Sydney, ""West""",-33.87,151.2,Australia/Sydney,13335,Cloud & Co,,
1.0.1.0/24,AU,Australia,"Sydney, ""West""",-33.87,151.2,Australia/Sydney,13335,Cloud & Co,,
1.0.2.3/32,DE,Germany,Köln,50,7,Europe/Berlin,3320,,Telekom,
1.0.2.5/32,DE,Germany,,,,,3320,,Telekom,x
223.255.255.0/24,FR,France,,,,,,,,
2400::/12,JP,Japan,,,,,,,,
2a00:1::/32,DE,Germany,,,,,3320,,,
`

// asWritten returns the expected record of a MaxMind DB file for a range: the record with the
// source's own fields at the top level.
func asWritten(t *testing.T, res *ipgeo.Result, flat bool) any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte("{"+string(res.AppendRecord(nil, ipgeo.Fields{}))+"}"), &v); err != nil {
		t.Fatal(err)
	}
	extra, _ := v["extra"].(map[string]any)
	delete(v, "extra")
	delete(v, "derived")
	delete(v, "quadkey")
	for name, value := range extra {
		if v[name] == nil {
			v[name] = value
			delete(extra, name)
		}
	}
	if len(extra) > 0 {
		v["extra"] = extra
	}
	if traits, ok := v["traits"].(map[string]any); ok && flat {
		delete(v, "traits")
		maps.Copy(v, traits)
	}
	return v
}

// stored returns the record that another reader finds at an address, or nil if there is none.
func stored(t *testing.T, db *maxminddb.Reader, a netip.Addr) (v any) {
	t.Helper()
	res := db.Lookup(a)
	if !res.Found() && res.Err() == nil {
		return nil
	}
	var raw any
	if err := res.Decode(&raw); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// judge compares the answers of both readers at addresses. It decodes each pair of records once.
type judge struct {
	r     *ipgeo.Reader
	db    *maxminddb.Reader
	flat  bool
	equal map[string]bool // by the text of our record and the offset of theirs
}

func (j *judge) agree(t *testing.T, a netip.Addr) {
	t.Helper()
	var res ipgeo.Result
	var text []byte
	switch err := j.r.Lookup(t.Context(), a, &res); {
	case err == nil:
		text = res.AppendRecord(nil, ipgeo.Fields{})
	case !errors.Is(err, ipgeo.ErrNotFound) && !errors.Is(err, ipgeo.ErrReserved):
		t.Fatal(err)
	}
	found := j.db.Lookup(a)
	key := fmt.Sprint(found.Found(), found.Offset(), string(text))
	if j.equal[key] {
		return
	}
	var want any
	if text != nil {
		want = asWritten(t, &res, j.flat)
	}
	got := stored(t, j.db, a)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is %v, want %v", a, got, want)
		return
	}
	j.equal[key] = true
}

// teredo holds addresses with an inverted IPv4 address. A tree could hold them only by storing
// all IPv4 addresses again.
var teredo = netip.MustParsePrefix("2001::/32")

// agreeAll compares every edge and many addresses at random.
func agreeAll(t *testing.T, r *ipgeo.Reader, path string, flat bool, random int) (edges int) {
	t.Helper()
	db, err := maxminddb.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Verify(); err != nil {
		t.Fatal(err)
	}
	j := &judge{r, db, flat, map[string]bool{}}
	for res, err := range r.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []netip.Addr{res.First, res.Last, res.First.Prev(), res.Last.Next()} {
			if a.IsValid() && !teredo.Contains(a) {
				j.agree(t, a)
				edges++
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range random {
		n := rnd.Uint32()
		a := netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		j.agree(t, a)
		b := a.As16()
		j.agree(t, netip.AddrFrom16(b))
		b = [16]byte{0: byte(0x20 | rnd.Uint32()&15), 1: byte(rnd.Uint32()), 2: byte(rnd.Uint32()), 3: byte(rnd.Uint32()), 5: byte(rnd.Uint32())}
		if a = netip.AddrFrom16(b); !teredo.Contains(a) {
			j.agree(t, a)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	return edges
}

func TestAddresses(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	r, m := ranges(t, list(t, "offices.csv", offices))
	dir := t.TempDir()
	path := filepath.Join(dir, "world.mmdb")
	for _, size := range []int{0, 24, 28, 32} {
		stats, err := export.WriteAddresses(t.Context(), r, m, path, export.AddressOptions{RecordSize: size})
		if err != nil {
			t.Fatal(err)
		}
		if stats.Ranges != 6 || stats.Tree == nil || stats.Tree.RecordSize != max(size, 24) {
			t.Errorf("record size %d: %+v %+v", size, stats, stats.Tree)
		}
		agreeAll(t, r, path, false, 2000)
	}
	db, err := maxminddb.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if db.Metadata.DatabaseType != "Quadrille-City" || !strings.Contains(db.Metadata.Description["en"], "offices.csv") {
		t.Errorf("metadata %+v", db.Metadata)
	}
	for a, want := range map[string]string{
		"1.0.1.255": `{"city":{"names":{"en":"Sydney, \"West\""}},"continent":{"code":"OC","names":{"en":"Oceania"}},"country":{"iso_code":"AU","names":{"en":"Australia"}},"location":{"latitude":-33.87,"longitude":151.2,"time_zone":"Australia/Sydney"},"traits":{"autonomous_system_number":13335,"autonomous_system_organization":"Cloud \u0026 Co"}}`,
		// A source's own field moves to the top level, unless its name is taken there.
		"1.0.2.5": `{"carrier":"Telekom","continent":{"code":"EU","names":{"en":"Europe"}},"country":{"iso_code":"DE","names":{"en":"Germany"}},"extra":{"country":"x"},"traits":{"autonomous_system_number":3320}}`,
	} {
		if b, _ := json.Marshal(stored(t, db, netip.MustParseAddr(a))); string(b) != want {
			t.Errorf("%s is %s, want %s", a, b, want)
		}
	}
}

// Fields choose the exported values and the type's name. Ranges that differ only in other fields
// are joined.
func TestAddressFields(t *testing.T) {
	r, m := ranges(t, list(t, "offices.csv", offices))
	dir := t.TempDir()
	for _, c := range []struct{ fields, typ, at, want string }{
		{"country.iso_code", "Quadrille-Country", "1.0.2.3", `{"country":{"iso_code":"DE"}}`},
		{"traits.autonomous_system_number,traits.autonomous_system_organization", "Quadrille-ASN", "1.0.0.1",
			`{"autonomous_system_number":13335,"autonomous_system_organization":"Cloud \u0026 Co"}`},
		{"traits", "Quadrille-Traits", "1.0.2.3", `{"autonomous_system_number":3320}`},
		{"traits,extra.carrier", "Quadrille-Traits", "1.0.2.3", `{"autonomous_system_number":3320,"carrier":"Telekom"}`},
		{"location", "Quadrille-City", "1.0.2.3", `{"location":{"latitude":50,"longitude":7,"time_zone":"Europe/Berlin"}}`},
		{"city.names.en,country.names", "Quadrille-City", "1.0.2.5", `{"country":{"names":{"en":"Germany"}}}`},
	} {
		path := filepath.Join(dir, "a.mmdb")
		if _, err := export.WriteAddresses(t.Context(), r, m, path, export.AddressOptions{Fields: c.fields}); err != nil {
			t.Fatal(err)
		}
		db, err := maxminddb.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := json.Marshal(stored(t, db, netip.MustParseAddr(c.at))); string(b) != c.want || db.Metadata.DatabaseType != c.typ {
			t.Errorf("%s: %s, %s, want %s, %s", c.fields, b, db.Metadata.DatabaseType, c.want, c.typ)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for ext, want := range map[string]string{
		".csv": `network,country.iso_code,carrier
1.0.0.0/23,AU,
1.0.2.3/32,DE,Telekom
1.0.2.5/32,DE,Telekom
223.255.255.0/24,FR,
2400::/12,JP,
2a00:1::/32,DE,
`,
		".ndjson": `{"network":"1.0.0.0/23","country":{"iso_code":"AU"}}
{"network":"1.0.2.3/32","country":{"iso_code":"DE"},"extra":{"carrier":"Telekom"}}
{"network":"1.0.2.5/32","country":{"iso_code":"DE"},"extra":{"carrier":"Telekom"}}
{"network":"223.255.255.0/24","country":{"iso_code":"FR"}}
{"network":"2400::/12","country":{"iso_code":"JP"}}
{"network":"2a00:1::/32","country":{"iso_code":"DE"}}
`,
	} {
		path := filepath.Join(dir, "a"+ext)
		stats, err := export.WriteAddresses(t.Context(), r, m, path, export.AddressOptions{Fields: "country.iso_code,extra.carrier"})
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(path); string(b) != want || stats.Networks != 6 {
			t.Errorf("%s: %+v\n%s", ext, stats, b)
		}
	}
	// An export that failed leaves no file.
	if _, err := export.WriteAddresses(t.Context(), r, m, filepath.Join(dir, "none.csv"),
		export.AddressOptions{Fields: "postal.code"}); !errors.Is(err, export.ErrNoNetwork) {
		t.Errorf("an empty list: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3 {
		t.Errorf("in the directory: %v, %v", left, err)
	}
}

// A type of GeoIP2 has the fields that its clients read, in the place where they read them.
func TestAddressTypes(t *testing.T) {
	r, m := ranges(t, list(t, "a.csv", "network,country,city,asn,as_name,isp,domain,connection_type,tor,hosting,static_ip_score,color\n"+
		"1.0.0.0/24,DE,Bonn,3320,Any AG,Any,any.net,Cable,1,0,1.5,red\n1.0.1.0/24,,,,,,,,0,1,,\n1.0.2.0/24,,,3320,,,,,0,0,,\n"))
	const systems = `"autonomous_system_number":3320,"autonomous_system_organization":"Any AG"`
	for typ, want := range map[string][3]string{
		"GeoLite2-ASN":                        {"{" + systems + "}", "null", `{"autonomous_system_number":3320}`},
		"DBIP-ASN-Lite (compat=GeoLite2-ASN)": {"{" + systems + "}", "null", `{"autonomous_system_number":3320}`},
		"GeoIP2-ISP":                          {"{" + systems + `,"isp":"Any"}`, "null", `{"autonomous_system_number":3320}`},
		"GeoIP2-Domain":                       {`{"domain":"any.net"}`, "null", "null"},
		"GeoIP2-Connection-Type":              {`{"connection_type":"Cable"}`, "null", "null"},
		"GeoIP2-Anonymous-IP": {
			`{"is_anonymous":true,"is_tor_exit_node":true}`,
			`{"is_anonymous":true,"is_hosting_provider":true}`,
			"null",
		},
		"GeoIP2-Static-IP-Score": {`{"score":1.5}`, "null", "null"},
		"GeoLite2-Country": {
			`{"continent":{"code":"EU","names":{"en":"Europe"}},"country":{"is_in_european_union":true,"iso_code":"DE","names":{"en":"Germany"}}}`,
			"null",
			"null",
		},
		"Mine":                                  {"", `{"traits":{"is_hosting_provider":true}}`, `{"traits":{"autonomous_system_number":3320}}`},
		"GeoLite2-City":                         {"", `{"traits":{"is_hosting_provider":true}}`, `{"traits":{"autonomous_system_number":3320}}`},
		"DBIP-Location-ISP (compat=Enterprise)": {"", `{"traits":{"is_hosting_provider":true}}`, `{"traits":{"autonomous_system_number":3320}}`},
	} {
		path := filepath.Join(t.TempDir(), "a.mmdb")
		if _, err := export.WriteAddresses(t.Context(), r, m, path, export.AddressOptions{DatabaseType: typ}); err != nil {
			t.Fatal(err)
		}
		db, err := maxminddb.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range want {
			b, err := json.Marshal(stored(t, db, netip.AddrFrom4([4]byte{1, 0, byte(i), 9})))
			if err != nil || want != "" && string(b) != want || db.Metadata.DatabaseType != typ {
				t.Errorf("%s, network %d: %s, %v, want %s", typ, i, b, err, want)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := export.WriteAddresses(t.Context(), r, m, filepath.Join(t.TempDir(), "a.mmdb"), export.AddressOptions{
		DatabaseType: "GeoLite2-ASN",
		Fields:       "traits.autonomous_system_number,extra.color",
	}); err != nil {
		t.Error(err)
	}
}

func TestAddressesRefused(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		file string
		o    export.AddressOptions
		want string
	}{
		{"a.zip", export.AddressOptions{}, "must end in .mmdb, .csv or .ndjson"},
		{"no/a.csv", export.AddressOptions{}, "make it first"},
		{"a.csv", export.AddressOptions{RecordSize: 24}, "for .mmdb files"},
		{"a.ndjson", export.AddressOptions{DatabaseType: "X"}, "for .mmdb files"},
		{"a.csv", export.AddressOptions{Fields: "country"}, "holds one value"},
		{"a.csv", export.AddressOptions{Fields: "city.names"}, "city.names.en"},
		{"a.mmdb", export.AddressOptions{Fields: "traits.network"}, "every row has its network"},
		{"a.mmdb", export.AddressOptions{Fields: "planet"}, "no such member"},
		{"a.mmdb", export.AddressOptions{Fields: "traits.isp", DatabaseType: "GeoLite2-ASN"}, "not for traits.isp; leave --fields out"},
		{
			"a.mmdb",
			export.AddressOptions{Fields: "country.iso_code,traits,city", DatabaseType: "GeoIP2-Country"},
			"not for city; leave --fields out",
		},
		{"a.mmdb", export.AddressOptions{DatabaseType: "GeoIP2-DensityIncome"}, "or give a type of your own"},
	} {
		if err := export.CheckAddresses(filepath.Join(dir, c.file), c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %+v: %v, want %q", c.file, c.o, err, c.want)
		}
	}
	// The source can contain this number, but the format cannot.
	w, err := mmdb.Create(filepath.Join(dir, "b.mmdb"), mmdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := w.Put([]byte(`{"balance":-99999999999}`)); err == nil || !strings.Contains(err.Error(), "field balance: no type") {
		t.Error(err)
	}
}

// Exported ranges are the same after another ingest.
func TestAddressesAgain(t *testing.T) {
	r, m := ranges(t, list(t, "offices.csv", strings.ReplaceAll(offices, "Telekom,x", "Telekom,")))
	dir := t.TempDir()
	for name, o := range map[string]export.AddressOptions{
		"a.mmdb": {}, "a.ndjson": {}, "a.csv": {Fields: export.DefaultColumns + ",extra.carrier"},
	} {
		path := filepath.Join(dir, name)
		if _, err := export.WriteAddresses(t.Context(), r, m, path, o); err != nil {
			t.Fatal(err)
		}
		again, _ := ranges(t, path)
		same(t, name, r, again)
	}
}

// same fails the test if the tables differ.
func same(t *testing.T, name string, a, b *ipgeo.Reader) {
	t.Helper()
	d, err := ipgeo.Diff(t.Context(), a, b, ipgeo.DiffOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range d.Examples {
		t.Errorf("%s: %s %s to %s: %s → %s", name, e.Kind, e.First, e.Last, e.Old, e.New)
	}
}

const ipData = "../../../../../shared/data/"

// For every available database of a publisher, the export of its ranges gives the same answers as
// the original in another reader, is the same when it is ingested again, and is about as small as
// the publisher's file.
func TestAddressesOfPublishers(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	files, _ := filepath.Glob(filepath.FromSlash(ipData + "maxmind-test/test-data/Geo*.mmdb"))
	large, _ := filepath.Glob(filepath.FromSlash(ipData + "ip/mmdb/*.mmdb"))
	if !testing.Short() {
		files = append(files, large...)
	}
	if len(files) == 0 {
		t.Skip("no real data")
	}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.Contains(name, "Broken") || strings.Contains(name, "Invalid") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r, m := ranges(t, file)
			path := filepath.Join(t.TempDir(), name)
			var o export.AddressOptions
			// Databases of a single subject have their fields at the top level.
			flat := slices.ContainsFunc([]string{"Anonymous", "ASN", "asn", "Domain", "Proxy", "Risk", "Score", "User"},
				func(s string) bool { return strings.Contains(name, s) })
			if flat {
				o.Fields = "traits,extra"
			}
			stats, err := export.WriteAddresses(t.Context(), r, m, path, o)
			if err != nil {
				t.Fatal(err)
			}
			edges := agreeAll(t, r, path, flat, 2000)
			again, _ := ranges(t, path)
			same(t, name, r, again)
			theirs, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			ours, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			ratio := float64(ours.Size()) / float64(theirs.Size())
			t.Logf("%d ranges, %d networks, %d edges compared, %d bytes, %.3f of the publisher's", stats.Ranges, stats.Networks, edges,
				ours.Size(), ratio)
			if ratio > 1.05 {
				t.Errorf("%d bytes, %.3f of the publisher's", ours.Size(), ratio)
			}
		})
	}
}

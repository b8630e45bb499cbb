package ip

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/oschwald/maxminddb-golang/v2"

	"quadrille/ask"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/internal/testfile"
	"quadrille/internal/testrace"
	"quadrille/ipgeo"
)

const maxmindData = "../../../../../../shared/data/maxmind-test/"

// around returns the addresses at which mistakes about a range are visible.
func around(first, last netip.Addr) []netip.Addr {
	return []netip.Addr{first, last, first.Prev(), last.Next()}
}

// ipAnswer returns the answer as JSON, or nil for none, and whether the address is never looked up.
func ipAnswer(t *testing.T, r *ipgeo.Reader, a netip.Addr) (answer map[string]any, reserved bool) {
	t.Helper()
	var res ipgeo.Result
	switch err := r.Lookup(t.Context(), a, &res); {
	case errors.Is(err, ipgeo.ErrReserved):
		return nil, true
	case errors.Is(err, ipgeo.ErrNotFound):
		return nil, false
	case err != nil:
		t.Fatal(err)
	}
	if !res.Network.Contains(res.Addr) {
		t.Fatalf("%s: network %s", a, res.Network)
	}
	if err := json.Unmarshal([]byte("{"+string(res.JSON)+"}"), &answer); err != nil {
		t.Fatal(err)
	}
	return answer, false
}

// flat lists the leaves of a record by path; numbers as float64.
func flat(prefix string, v any, out map[string]any) map[string]any {
	switch v := v.(type) {
	case nil:
	case map[string]any:
		for k, w := range v {
			flat(prefix+"."+k, w, out)
		}
	case []any:
		for i, w := range v {
			flat(fmt.Sprint(prefix, ".", i), w, out)
		}
	case uint64:
		out[prefix[1:]] = float64(v)
	case int:
		out[prefix[1:]] = float64(v)
	case float32:
		out[prefix[1:]] = float64(v)
	case bool:
		if v { // false is absence
			out[prefix[1:]] = v
		}
	default:
		out[prefix[1:]] = v
	}
	return out
}

// MaxMind builds its test databases from source data. Every network of that source data has the
// same answer as maxminddb-golang gives from the database: at its first and last address, and at
// the addresses before and after it.
func TestIPMaxMindSourceData(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	files, err := filepath.Glob(filepath.FromSlash(maxmindData + "source-data/*.json"))
	if err != nil || files == nil {
		t.Skip("no real data")
	}
	compared := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		path := filepath.FromSlash(maxmindData + "test-data/" + name + ".mmdb")
		if _, err := os.Stat(path); err != nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			b := testfile.Read(t, file)
			var list []map[string]json.RawMessage
			if err := json.Unmarshal(b, &list); err != nil {
				t.Fatal(err)
			}
			db, err := maxminddb.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			c := jobtest.Catalog(t)
			if _, err := ipJob(t, c, job.Options{}, job.Input{Path: path}); err != nil {
				t.Fatal(err)
			}
			_, r := ipReader(t, c)
			for _, entry := range list {
				for cidr := range entry {
					p, err := netip.ParsePrefix(cidr)
					if err != nil {
						a, err := netip.ParseAddr(cidr)
						if err != nil {
							t.Fatal(err)
						}
						p = netip.PrefixFrom(a, a.BitLen())
					}
					for _, a := range around(p.Masked().Addr(), lastAddr(p)) {
						if a.IsValid() {
							compareMaxMind(t, db, r, a)
							compared++
						}
					}
				}
			}
		})
	}
	if compared < 5000 {
		t.Errorf("only %d addresses compared", compared)
	}
}

func lastAddr(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func compareMaxMind(t *testing.T, db *maxminddb.Reader, r *ipgeo.Reader, a netip.Addr) {
	t.Helper()
	// MaxMind keeps the IPv4 addresses in ::/96 and writes some of them in that form. As IPv6
	// addresses these are deprecated (RFC 4291, section 2.5.5.1).
	if b := a.As16(); a.Is6() && [12]byte(b[:12]) == [12]byte{} {
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	got, reserved := ipAnswer(t, r, a)
	if reserved {
		return // databases do not matter there
	}
	var record any
	if err := db.Lookup(a).Decode(&record); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{}
	for path, v := range flat("", record, map[string]any{}) {
		switch {
		case strings.HasPrefix(path, "is_"), strings.HasPrefix(path, "autonomous_"), path == "domain", path == "isp",
			path == "organization", path == "connection_type":
			path = "traits." + path
		case path == "score":
			path = "traits.static_ip_score"
		case path == "average_income", path == "population_density":
			path = "location." + path
		case !slices.Contains([]string{"city", "continent", "country", "location", "postal", "registered_country",
			"represented_country", "subdivisions", "traits"}, strings.SplitN(path, ".", 2)[0]):
			path = "extra." + path
		}
		if v == 0.0 && !strings.HasPrefix(path, "extra.") && !strings.HasSuffix(path, "itude") {
			continue // zero is absence
		}
		want[path] = v
	}
	have := flat("", got, map[string]any{})
	delete(have, "traits.network")
	delete(have, "quadkey") // derived from the coordinates
	delete(have, "location.quadkey")
	for path, v := range want {
		if have[path] != v {
			t.Errorf("%s: %s is %v, want %v", a, path, have[path], v)
		}
		delete(have, path)
	}
	for path, v := range have {
		t.Errorf("%s: %s is %v, the database has none", a, path, v)
	}
}

// Every damaged file is an error, and leaves nothing published.
func TestIPBadData(t *testing.T) {
	files, _ := filepath.Glob(filepath.FromSlash(maxmindData + "bad-data/*/*.mmdb"))
	broken, _ := filepath.Glob(filepath.FromSlash(maxmindData + "test-data/*[Bb]roken*.mmdb"))
	invalid, _ := filepath.Glob(filepath.FromSlash(maxmindData + "test-data/*Invalid*.mmdb"))
	files = slices.Concat(files, broken, invalid)
	if len(files) == 0 {
		t.Skip("no real data")
	}
	if len(files) < 24 {
		t.Errorf("%d files", len(files))
	}
	c := jobtest.Catalog(t)
	for _, file := range files {
		_, err := ipJob(t, c, job.Options{MaxBad: 1}, job.Input{Path: file})
		if err == nil {
			t.Errorf("%s: no error", file)
		} else if len(err.Error()) > 1000 {
			t.Errorf("%s: an error of %d bytes", file, len(err.Error()))
		}
	}
	if _, err := c.OpenCurrent(t.Context(), ask.Addresses.Name); err == nil {
		t.Error("something was published")
	}
}

// says is an answer of the reference: those of its fields that are compared.
type says struct {
	country, asn, city, lat string
}

// refSource is one source of the reference.
type refSource interface {
	find(a netip.Addr) says
	bounds() [][2]netip.Addr
}

// refList is a list of ranges as encoding/csv reads it.
type refList struct {
	rows []refRow
	most []netip.Addr // the highest last address of the rows so far
}

type refRow struct {
	first, last netip.Addr
	says
}

// readRefList reads a list with the country and so on in the given columns after the addresses, or
// -1 for none.
func readRefList(t *testing.T, path string, country, asn, city, lat int) *refList {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	l := &refList{}
	next := refRows(bufio.NewReader(z), strings.Contains(path, ".tsv"))
	for {
		fields, err := next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var row refRow
		if p, err := netip.ParsePrefix(fields[0]); err == nil {
			row.first, row.last, fields = p.Masked().Addr(), lastAddr(p), fields[1:]
		} else {
			row.first, row.last, fields = netip.MustParseAddr(fields[0]), netip.MustParseAddr(fields[1]), fields[2:]
		}
		at := func(i int) string {
			if i < 0 || i >= len(fields) {
				return ""
			}
			return strings.TrimSpace(fields[i])
		}
		row.says = says{at(country), at(asn), at(city), at(lat)}
		if len(row.country) != 2 || row.country == "ZZ" {
			row.country = ""
		}
		if row.asn == "0" {
			row.asn = ""
		}
		if row.says != (says{}) {
			l.rows = append(l.rows, row)
		}
	}
	slices.SortStableFunc(l.rows, func(a, b refRow) int { return a.first.Compare(b.first) })
	for i, r := range l.rows {
		if i > 0 && r.last.Less(l.most[i-1]) {
			l.most = append(l.most, l.most[i-1])
		} else {
			l.most = append(l.most, r.last)
		}
	}
	return l
}

func refRows(r *bufio.Reader, tabs bool) func() ([]string, error) {
	if !tabs {
		c := csv.NewReader(r)
		c.Comment, c.FieldsPerRecord = '#', -1
		return c.Read
	}
	return func() ([]string, error) {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		return strings.Split(strings.TrimSpace(line), "\t"), nil
	}
}

// find returns the fields of the narrowest row that holds the address.
func (l *refList) find(a netip.Addr) says {
	best := -1
	for i := sort.Search(len(l.rows), func(i int) bool { return a.Less(l.rows[i].first) }) - 1; i >= 0 && !l.most[i].Less(a); i-- {
		r := &l.rows[i]
		if r.last.Less(a) || r.first.Is4() != a.Is4() {
			continue
		}
		if best < 0 || narrower(r, &l.rows[best]) {
			best = i
		}
	}
	if best < 0 {
		return says{}
	}
	return l.rows[best].says
}

// narrower reports whether a is at most as wide as b. Rows are visited in reverse, so of equally
// wide rows the first in the list wins.
func narrower(a, b *refRow) bool {
	wa, wb := width(a), width(b)
	return bytes.Compare(wa, wb) <= 0
}

func width(r *refRow) []byte {
	f, l := r.first.As16(), r.last.As16()
	var out [16]byte
	borrow := 0
	for i := 15; i >= 0; i-- {
		d := int(l[i]) - int(f[i]) - borrow
		borrow = 0
		if d < 0 {
			d, borrow = d+256, 1
		}
		out[i] = byte(d)
	}
	return out[:]
}

func (l *refList) bounds() (list [][2]netip.Addr) {
	for _, r := range l.rows {
		list = append(list, [2]netip.Addr{r.first, r.last})
	}
	return list
}

// refDatabase uses the reader library.
type refDatabase struct {
	t  *testing.T
	db *maxminddb.Reader
}

func (d *refDatabase) find(a netip.Addr) says {
	if d.db.Metadata.IPVersion == 4 && a.Is6() {
		return says{}
	}
	var rec struct {
		CountryCode string `maxminddb:"country_code"`
		Country     struct {
			ISO string `maxminddb:"iso_code"`
		} `maxminddb:"country"`
		City struct {
			Names map[string]string `maxminddb:"names"`
		} `maxminddb:"city"`
		Location struct {
			Latitude *float64 `maxminddb:"latitude"`
		} `maxminddb:"location"`
		ASN uint32 `maxminddb:"autonomous_system_number"`
	}
	if err := d.db.Lookup(a).Decode(&rec); err != nil {
		d.t.Fatal(err)
	}
	s := says{country: rec.CountryCode + rec.Country.ISO, city: rec.City.Names["en"]}
	if rec.ASN != 0 {
		s.asn = fmt.Sprint(rec.ASN)
	}
	if rec.Location.Latitude != nil {
		s.lat = strconv.FormatFloat(*rec.Location.Latitude, 'g', -1, 64)
	}
	return s
}

func (d *refDatabase) bounds() (list [][2]netip.Addr) {
	for r := range d.db.Networks() {
		list = append(list, [2]netip.Addr{r.Prefix().Addr(), lastAddr(r.Prefix())})
	}
	return list
}

// TestIPRealFilesTogether ingests all real files together, as sources in this order, and compares
// random addresses and the ends of ranges. The first source that names a country decides. The
// others add fields if they name the same country or none.
func TestIPRealFilesTogether(t *testing.T) {
	if _, err := os.Stat(filepath.FromSlash(ipData)); err != nil {
		t.Skip("no real data: ", err)
	}
	path := func(name string) string { return filepath.FromSlash(ipData + name) }
	random, every := 100_000, 37
	if os.Getenv("QUADRILLE_FULL") != "" {
		random, every = 1_000_000, 1
	}
	testrace.SkipUnderRace(t, "one goroutine, and millions of rows")
	var inputs []job.Input
	var refs []refSource
	list := func(name string, country, asn, city, lat int) {
		inputs = append(inputs, job.Input{Path: path(name)})
		refs = append(refs, readRefList(t, path(name), country, asn, city, lat))
	}
	database := func(name string) {
		inputs = append(inputs, job.Input{Path: path("mmdb/" + name)})
		db, err := maxminddb.Open(path("mmdb/" + name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		refs = append(refs, &refDatabase{t, db})
	}
	list("city-geofeed-ipv6.csv.gz", 0, -1, 3, 5)
	list("geofeed-aws-20260822.csv.gz", 0, -1, 2, -1)
	list("geo-asn-country-ipv4-20231223.csv.gz", 0, -1, -1, -1)
	list("geo-whois-asn-country-ipv6-20201220.csv.gz", 0, -1, -1, -1)
	list("ip2asn-v6-20231208.tsv.gz", 1, 0, -1, -1)
	list("asn-country-ipv4-20231223.csv.gz", 0, -1, -1, -1)
	database("city.mmdb")
	database("asn-ipv6.mmdb")
	list("geofeed-verizon-20260423.csv.gz", 0, -1, 2, -1)
	list("city-geofeed-ipv4.csv.gz", 0, -1, 3, 5)
	list("geo-asn-country-ipv6-20201219.csv.gz", 0, -1, -1, -1)
	database("country.mmdb")

	c := jobtest.Catalog(t)
	m, err := ipJob(t, c, job.Options{MaxBad: 0.001}, inputs...)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Bad) != 0 {
		t.Errorf("bad records: %v", m.Bad)
	}
	_, r := ipReader(t, c)
	mistakes := 0
	var res ipgeo.Result
	check := func(a netip.Addr) {
		if !a.IsValid() || mistakes > 20 {
			return
		}
		err := r.Lookup(t.Context(), a, &res)
		if errors.Is(err, ipgeo.ErrReserved) {
			return
		}
		var got says
		if err == nil {
			var doc struct {
				Country struct {
					ISO string `json:"iso_code"`
				}
				City     struct{ Names map[string]string }
				Location struct{ Latitude *float64 }
				Traits   struct {
					ASN uint32 `json:"autonomous_system_number"`
				}
			}
			if err := json.Unmarshal([]byte("{"+string(res.JSON)+"}"), &doc); err != nil {
				t.Fatal(err)
			}
			got = says{country: doc.Country.ISO, city: doc.City.Names["en"]}
			if doc.Traits.ASN > 0 {
				got.asn = fmt.Sprint(doc.Traits.ASN)
			}
			if doc.Location.Latitude != nil {
				got.lat = strconv.FormatFloat(*doc.Location.Latitude, 'g', -1, 64)
			}
		} else if !errors.Is(err, ipgeo.ErrNotFound) {
			t.Fatal(err)
		}
		var want says
		all := make([]says, len(refs))
		for i, ref := range refs {
			all[i] = ref.find(res.Addr)
			if all[i].lat != "" {
				f, err := strconv.ParseFloat(all[i].lat, 64)
				if err != nil {
					t.Fatal(err)
				}
				all[i].lat = strconv.FormatFloat(f, 'g', -1, 64)
			}
			if want.country == "" {
				want.country = all[i].country
			}
		}
		for _, s := range all {
			if want.asn == "" {
				want.asn = s.asn
			}
			if s.country != "" && s.country != want.country {
				continue
			}
			if want.city == "" {
				want.city = s.city
			}
			if want.lat == "" {
				want.lat = s.lat
			}
		}
		if got != want {
			mistakes++
			t.Errorf("%s: %+v, want %+v", a, got, want)
		}
	}
	rnd := rand.New(rand.NewPCG(6, 8))
	for range random {
		var b [16]byte
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		check(netip.AddrFrom4([4]byte(b[:4])))
		b[0] = 0x20 | b[0]&0x0f // where addresses are in use
		check(netip.AddrFrom16(b))
	}
	n := 0
	for _, ref := range refs {
		for i, p := range ref.bounds() {
			if i%every == 0 {
				for _, a := range around(p[0], p[1]) {
					check(a)
					n++
				}
			}
		}
	}
	t.Logf("%d random addresses, %d at the ends of ranges", 2*random, n)
	if n < 5000 {
		t.Error("too few ranges")
	}
}

// A database and the lists from which it was made give the same answers.
func TestIPDatabaseIsItsLists(t *testing.T) {
	lists := []job.Input{{Path: ipData + "geo-asn-country-ipv4-20201219.csv.gz"}, {Path: ipData + "geo-asn-country-ipv6-20201219.csv.gz"}}
	if _, err := os.Stat(lists[0].Path); err != nil {
		t.Skip("no real data: ", err)
	}
	testrace.SkipUnderRace(t, "one goroutine, and much to read")
	rows := func(in ...job.Input) []string {
		c := jobtest.Catalog(t)
		if _, err := ipJob(t, c, job.Options{}, in...); err != nil {
			t.Fatal(err)
		}
		rows := ipRows(t, c)
		for i, r := range rows { // without timestamps
			key, rest, _ := strings.Cut(r, "@")
			_, value, _ := strings.Cut(rest, " ")
			rows[i] = key + value
		}
		return rows
	}
	want := rows(lists...)
	got := rows(job.Input{Path: ipData + "mmdb/country.mmdb"})
	if len(want) < 150000/64 || !slices.Equal(got, want) { // 64 ranges a row
		t.Errorf("%d rows from the database, %d from the lists, or others", len(got), len(want))
	}
}

// Each file that users had trouble with has its right answer, or a refusal with the reason.
func TestIPCases(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	const dir = "../../../../../../shared/cases/ip/"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no cases: ", err)
	}
	for _, tc := range []struct {
		files string
		addr  string
		want  string // in the answer; "" for none
		not   string // must not be in the answer
		err   string
	}{
		{files: "dbip-continent-country.csv", addr: "5.1.0.9", want: `"iso_code":"US"`},
		{files: "dbip-continent-country.csv", addr: "5.1.5.9", want: `"iso_code":"AQ"`},
		{
			files: "ipinfo-shape-asn.mmdb",
			addr:  "5.1.0.1",
			want:  `"traits":{"autonomous_system_number":64500,"autonomous_system_organization":"Example Networks"}`,
		},
		{files: "city-berlin-no-coords.csv city-munich-coords.csv", addr: "5.1.0.1", want: `"Berlin"`, not: "latitude"},
		{files: "city-berlin-no-coords.csv city-munich-coords.csv", addr: "5.1.0.1", want: `"iso_code":"BE"`, not: "80331"},
		{files: "city-berlin-no-coords.csv city-munich-coords.csv", addr: "5.1.1.1", want: `"accuracy_radius":20`},
		{files: "asn-number-only.csv asn-with-name.csv", addr: "5.1.0.1", want: `13335`, not: "Telekom"},
		{files: "asn-number-only.csv asn-with-name.csv", addr: "5.1.1.1", want: `"Deutsche Telekom AG"`},
		{files: "geofeed-blank-inside-wide.csv", addr: "5.1.2.1"},
		{files: "geofeed-blank-inside-wide.csv", addr: "5.1.3.1"},
		{files: "geofeed-blank-inside-wide.csv", addr: "5.1.1.1", want: `"Los Angeles"`},
		{files: "geofeed-one-fifth-bare-regions.csv", addr: "5.2.99.1", want: `"subdivisions":[{"iso_code":"CA"}]`},
		{files: "geofeed-region-names.csv", addr: "5.1.0.1", want: `"postal":{"code":"180150"},"subdivisions":[{"names":{"en":"Tungurahua"}}]`},
		{files: "geofeed-header-alpha2code.csv", addr: "5.1.0.1", want: `"iso_code":"NL"`},
		{files: "geofeed-puerto-rico.csv", addr: "5.3.0.1", want: `"San Juan"`, not: "subdivisions"},
		{files: "geofeed-lower-case-region.csv", addr: "5.1.0.1", want: `"subdivisions":[{"iso_code":"CA"}]`},
		{files: "geofeed-same-prefix-twice.csv", addr: "5.1.0.1", want: `"Los Angeles"`},
		{files: "geofeed-six-columns.csv", addr: "5.1.0.1", want: `"subdivisions":[{"iso_code":"9"}]`},
		{files: "ipinfo-shape-privacy.mmdb", addr: "5.1.0.1", want: `"traits":{"is_anonymous_vpn":true,"is_hosting_provider":true}`},
		{files: "ipinfo-shape-privacy.mmdb", addr: "5.1.1.1", want: `"is_public_proxy":true`},
		{
			files: "ipinfo-shape-extended-location.mmdb",
			addr:  "5.1.0.1",
			want:  `"subdivisions":[{"iso_code":"NSW","names":{"en":"New South Wales"}}]`,
		},
		{files: "ipinfo-shape-extended-location.mmdb", addr: "5.1.0.1", want: `"geoname_id":2147714`},
		{files: "flags-is-hosting.csv", addr: "5.1.0.1", want: `"is_hosting_provider":true`, not: "satellite"},
		{files: "privacy-list-with-header.csv", addr: "5.1.0.1", want: `"is_anonymous_vpn":true`},
		{files: "list-latin1.csv", err: "not UTF-8"},
		{files: "list-utf16.csv", addr: "1.0.0.1", want: `"AU"`},
		{files: "ip2location-asn.csv", addr: "1.0.0.1", want: `13335`},
		{files: "ip2location-db2-isp.csv", addr: "1.0.0.1", want: `"isp":"Example ISP"`},
	} {
		var inputs []job.Input
		for name := range strings.FieldsSeq(tc.files) {
			inputs = append(inputs, job.Input{Path: filepath.FromSlash(dir + name)})
		}
		c := jobtest.Catalog(t)
		if _, err := ipJob(t, c, job.Options{MaxBad: 0.01}, inputs...); tc.err != "" || err != nil {
			if tc.err == "" || err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: %v", tc.files, err)
			}
			continue
		}
		got := answer(t, c, tc.addr)
		if !strings.Contains(got, tc.want) || (got == "") != (tc.want == "") || tc.not != "" && strings.Contains(got, tc.not) {
			t.Errorf("%s, %s: %s", tc.files, tc.addr, got)
		}
	}
}

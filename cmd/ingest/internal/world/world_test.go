package world

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/pebblestore"
	"quadrille/cmd/ingest/internal/fetch"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/ip"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/testfile"
)

// mirror serves files by name. Instead of broken files it serves an error page.
type mirror struct {
	*httptest.Server
	mu     sync.Mutex
	files  map[string]string
	broken map[string]bool
	served []string
}

var released = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func newMirror(t *testing.T, files map[string]string) *mirror {
	m := &mirror{files: files, broken: map[string]bool{}}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		m.mu.Lock()
		text, ok := m.files[name]
		broken := m.broken[name]
		m.mu.Unlock()
		switch {
		case broken:
			fmt.Fprint(w, "<!doctype html>\n<p>maintenance</p>\n")
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		default:
			sent := &counted{ResponseWriter: w}
			w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(text))))
			http.ServeContent(sent, r, name, released, strings.NewReader(text))
			if sent.bytes > 0 {
				m.mu.Lock()
				m.served = append(m.served, name)
				m.mu.Unlock()
			}
		}
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *mirror) set(name, text string, broken bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[name], m.broken[name] = text, broken
}

// taken returns the files that were sent since its last call.
func (m *mirror) taken() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() { m.served = nil }()
	return strings.Join(m.served, " ")
}

type counted struct {
	http.ResponseWriter
	bytes int
}

func (c *counted) Write(p []byte) (int, error) {
	c.bytes += len(p)
	return c.ResponseWriter.Write(p)
}

func packed(name, text string) string { return testfile.ZipOf(released, [2]string{name, text}) }

// Except for the two capitals, the rows are invented, in the publishers' formats.
func smallWorld(t *testing.T) map[string]string {
	return map[string]string{
		"cities15000.zip": packed("cities15000.txt",
			"2643743\tLondon\tLondon\t\t51.50853\t-0.12574\tP\tPPLC\tGB\t\tENG\tGLA\t\t\t8961989\t\t10\tEurope/London\t2022-03-09\n"+
				"2988507\tParis\tParis\t\t48.85341\t2.3488\tP\tPPLC\tFR\t\t\t\t\t\t2138551\t\t10\tEurope/Paris\t2022-03-10\n"),
		"alternateNamesV2.zip": packed("alternateNamesV2.txt", "1\t2643743\tla\tLondinium\t\t\t\t1\t\t\n"),
		"hierarchy.zip":        packed("hierarchy.txt", "2643743\t2988507\tADM\n"),
		"adminCode5.zip":       packed("adminCode5.txt", "2643743\tX1\n"),
		"countryInfo.txt":      "GB\tGBR\t826\tUK\tUnited Kingdom\tLondon\t244820\t66488991\tEU\t.uk\tGBP\tPound\t44\t\t\ten-GB\t2635167\tIE\t\n",
		"admin1CodesASCII.txt": "GB.ENG\tEngland\tEngland\t6269131\n",
		"admin2Codes.txt":      "GB.ENG.GLA\tGreater London\tGreater London\t2648110\n",
		"featureCodes_en.txt":  "P.PPLC\tcapital of a political entity\t\n",
		"airports.csv": "id,ident,type,name,latitude_deg,longitude_deg,elevation_ft,iso_country,iata_code,icao_code\n" +
			"1,EGLL,large_airport,Heathrow,51.4706,-0.461941,83,GB,LHR,EGLL\n",
		"isd-history.csv": "\"USAF\",\"WBAN\",\"STATION NAME\",\"CTRY\",\"STATE\",\"ICAO\",\"LAT\",\"LON\",\"ELEV(M)\",\"BEGIN\",\"END\"\n" +
			"\"037720\",\"99999\",\"HEATHROW\",\"UK\",\"\",\"EGLL\",\"+51.478\",\"-000.461\",\"+0025.3\",\"19480101\",\"20250501\"\n",
		"geo-whois-asn-country-ipv4.csv": "8.8.8.0,8.8.8.255,US\n",
		"geo-whois-asn-country-ipv6.csv": "2001:4860::,2001:4860:ffff:ffff:ffff:ffff:ffff:ffff,US\n",
	}
}

type notes struct {
	job.SilentReporter
	mu   sync.Mutex
	text []string
	made []string
}

func (n *notes) Note(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.text = append(n.text, text)
}
func (n *notes) BadRecords(reason string, _ int64, _ []*source.BadRecord) { n.Note(reason) }
func (n *notes) Published(m dataset.Manifest) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.made = append(n.made, fmt.Sprint(m.Dataset, " ", m.Generation))
}

func TestWorld(t *testing.T) {
	m := newMirror(t, smallWorld(t))
	c, err := dataset.Open(t.TempDir(), func(_, dir string, readOnly bool) (cellstore.Store, error) {
		return pebblestore.Open(dir, &pebblestore.Options{ReadOnly: readOnly})
	})
	if err != nil {
		t.Fatal(err)
	}
	p := Options{
		Selection: Selection{
			Scale:    "10m",
			Places:   "cities15000",
			IP:       "ip-location-db",
			Mirror:   m.URL + "/pub/",
			Datasets: []string{"places", "timezones", "airports", "stations", "ip"},
		},
		Cache: t.TempDir(), Program: "1",
		Fetch: fetch.Options{UserAgent: "test", Attempts: 2, Wait: func(context.Context, time.Duration) error { return nil }},
		Job:   job.Options{MaxBad: 0.01},
		IP:    ip.Options{Derive: true},
	}
	run := func(wantErr, made string) {
		t.Helper()
		n := &notes{}
		p.Job.Reporter = n
		err := Run(t.Context(), c, p)
		if wantErr == "" && err != nil || wantErr != "" && (err == nil || !strings.Contains(err.Error(), wantErr)) {
			t.Fatalf("%v, want %q", err, wantErr)
		}
		if got := strings.Join(n.made, ", "); got != made {
			t.Fatalf("published %q, want %q: %q", got, made, n.text)
		}
	}
	run("", "places 1, timezones 1, airports 1, stations 1, ip 1")
	current, err := c.Current(t.Context(), "places")
	if err != nil || len(current.Sources) != 8 || current.Sources[0].License != "CC-BY-4.0" || current.Records["places"] != 2 {
		t.Errorf("%+v, %v", current, err)
	}
	if got := m.taken(); strings.Count(got, " ") != 11 {
		t.Errorf("taken: %s", got)
	}
	// Nothing has changed, so nothing is done.
	run("", "")
	if got := m.taken(); got != "" {
		t.Errorf("taken: %s", got)
	}
	// After a change of the list of airports, airports is built again, and no other data set.
	m.set("airports.csv", m.files["airports.csv"]+"2,LFPG,large_airport,Charles de Gaulle,49.0128,2.55,392,FR,CDG,LFPG\n", false)
	run("", "airports 2")
	if got := m.taken(); got != "airports.csv" {
		t.Errorf("taken: %s", got)
	}
	// Changed places rebuild the data sets that use them. A file that cannot be fetched leaves its
	// data set unchanged, and the others continue.
	m.set("featureCodes_en.txt", "P.PPLC\tcapital\t\nP.PPL\tpopulated place\t\n", false)
	m.set("isd-history.csv", m.files["isd-history.csv"], true)
	delete(m.files, "geo-whois-asn-country-ipv4.csv")
	run("still served as before where they were: stations, ip", "places 2, airports 3")
	m.set("isd-history.csv", m.files["isd-history.csv"], false)
	m.set("geo-whois-asn-country-ipv4.csv", "8.8.4.0,8.8.4.255,US\n", false)
	run("", "stations 2, ip 2")
	// A rolled-back data set stays so until a file changes. With Force everything is built.
	if _, err := c.Rollback(t.Context(), "ip"); err != nil {
		t.Fatal(err)
	}
	run("", "")
	m.set("geo-whois-asn-country-ipv4.csv", "8.8.4.0,8.8.5.255,US\n", false)
	run("", "ip 3")
	p.Datasets, p.Force = []string{"stations"}, true
	run("", "stations 3")
	// A failure of a job affects only its data set.
	p.Datasets, p.Force = []string{"airports", "stations"}, false
	m.set("airports.csv", "id,ident\nx,y\n", false)
	m.set("isd-history.csv",
		m.files["isd-history.csv"]+
			"\"037730\",\"99999\",\"OTHER\",\"UK\",\"\",\"\",\"+51.5\",\"-000.5\",\"+0025.3\",\"19480101\",\"20250501\"\n", false)
	run("airports: ", "stations 4")
	if err := c.Verify(t.Context(), "airports", 3, nil); err != nil {
		t.Error(err)
	}
	// The user's own ranges come first.
	own := filepath.Join(t.TempDir(), "own.csv")
	testfile.Write(t, own, "8.8.4.0,8.8.4.127,DE\n")
	p.Datasets, p.IPFiles = []string{"ip"}, []string{own}
	run("", "ip 4")
	// IPFiles may also name a folder, such as an unpacked GeoLite2 CSV set. A changed file in the
	// folder leads to a new generation.
	set := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		testfile.Write(t, filepath.Join(set, name), text)
	}
	write("GeoLite2-Country-Blocks-IPv4.csv",
		"network,geoname_id,registered_country_geoname_id,represented_country_geoname_id,is_anonymous_proxy,is_satellite_provider\n8.8.4.0/25,1,1,,0,0\n")
	write("GeoLite2-Country-Locations-en.csv",
		"geoname_id,locale_code,continent_code,continent_name,country_iso_code,country_name,is_in_european_union\n1,en,OC,Oceania,AU,Australia,0\n")
	p.IPFiles = []string{set}
	run("", "ip 5")
	run("", "")
	write("GeoLite2-Country-Locations-en.csv",
		"geoname_id,locale_code,continent_code,continent_name,country_iso_code,country_name,is_in_european_union\n1,en,OC,Oceania,NZ,New Zealand,0\n")
	run("", "ip 6")
	none := 0.0
	p.Job.MaxChange = &none
	m.set("geo-whois-asn-country-ipv4.csv", "9.9.9.0,9.9.9.255,CH\n", false)
	var change *ip.ChangeError
	if err := Run(t.Context(), c, p); !errors.As(err, &change) {
		t.Errorf("a change too large: %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(cancelled, c, p); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestSources(t *testing.T) {
	for _, scale := range []string{"10m", "50m", "110m"} {
		for _, ip := range []string{"ip-location-db", "geolite2-city", "geolite2-country", "none"} {
			list, err := Sources(Selection{Scale: scale, Places: "allCountries", IP: ip, Account: "1", Key: "2"})
			if err != nil {
				t.Fatal(err)
			}
			names := map[string]bool{}
			for _, s := range list {
				if names[s.File.Name] || filepath.Base(s.File.Name) != s.File.Name || s.ApproxBytes <= 0 ||
					s.File.MaxBytes < s.ApproxBytes ||
					s.Credit.License == "" || !strings.HasPrefix(s.File.URL, "https://") {
					t.Errorf("%+v", s)
				}
				if (s.File.Password != "") != strings.Contains(s.File.URL, "maxmind.com") {
					t.Errorf("%s is told of a key", s.File.URL)
				}
				names[s.File.Name] = true
			}
			list, err = Sources(Selection{
				Scale:   scale,
				Places:  "allCountries",
				IP:      ip,
				Account: "1",
				Key:     "2",
				Mirror:  "http://mirror.example.org/a",
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range list {
				if s.File.URL != "http://mirror.example.org/a/"+s.File.Name || s.File.Password != "" ||
					strings.Contains(s.File.ChecksumURL, "maxmind") {
					t.Errorf("%+v", s.File)
				}
			}
		}
	}
	for _, bad := range []Selection{{Datasets: []string{"place"}}, {IP: "geolite2-city"}, {Mirror: "ftp://a"}, {Mirror: "a"}} {
		if _, err := Sources(bad); err == nil {
			t.Errorf("%+v", bad)
		}
	}
	for _, bad := range []Options{
		{Selection: Selection{Datasets: []string{"places"}}, IPFiles: []string{"x"}},
		{IPFiles: []string{"no such file"}},
		{Selection: Selection{Datasets: []string{"ip"}, IP: "none"}},
	} {
		if err := bad.ready(); err == nil {
			t.Errorf("%+v", bad)
		}
	}
}

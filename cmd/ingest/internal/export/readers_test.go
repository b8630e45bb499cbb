package export_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/ingest/internal/export"
	"quadrille/cmd/internal/testfile"
	"quadrille/ipgeo"
)

// foreignDatabase exports a database as large as a publisher's, if one is at hand.
func foreignDatabase(t *testing.T) (*ipgeo.Reader, string) {
	t.Helper()
	source := filepath.FromSlash(ipData + "ip/mmdb/city.mmdb")
	if _, err := os.Stat(source); err != nil {
		source = list(t, "offices.csv", offices)
	}
	r, m := ranges(t, source)
	path := filepath.Join(t.TempDir(), "a.mmdb")
	if _, err := export.WriteAddresses(t.Context(), r, m, path, export.AddressOptions{}); err != nil {
		t.Fatal(err)
	}
	return r, path
}

// answerAt returns the expected answer of a reader at an address, as JSON.
func answerAt(t *testing.T, r *ipgeo.Reader, a netip.Addr) []byte {
	t.Helper()
	var res ipgeo.Result
	var want any
	switch err := r.Lookup(t.Context(), a, &res); {
	case err == nil:
		want = asWritten(t, &res, false)
	case !errors.Is(err, ipgeo.ErrNotFound) && !errors.Is(err, ipgeo.ErrReserved):
		t.Fatal(err)
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// questions returns the ends of all ranges, the addresses next to them, and random IPv4 addresses.
// In short tests it takes only one in fifty ranges.
func questions(t *testing.T, r *ipgeo.Reader, random int) iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		n := 0
		for res, err := range r.All(t.Context()) {
			if err != nil {
				t.Error(err)
				return
			}
			if n++; testing.Short() && n%50 != 0 {
				continue
			}
			for _, a := range []netip.Addr{res.First, res.Last, res.First.Prev(), res.Last.Next()} {
				if a.IsValid() && !teredo.Contains(a) && !yield(a) {
					return
				}
			}
		}
		rnd := rand.New(rand.NewPCG(3, 4))
		for range random {
			n := rnd.Uint32()
			if !yield(netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})) {
				return
			}
		}
	}
}

// TestMaxMindDBInPython needs python3 with maxminddb, for which QUADRILLE_MAXMINDDB may name a
// directory. It compares all ends of ranges and a million random addresses.
func TestMaxMindDBInPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), python, args...)
		cmd.Env = os.Environ()
		if dir := os.Getenv("QUADRILLE_MAXMINDDB"); dir != "" {
			cmd.Env = append(cmd.Env, "PYTHONPATH="+dir)
		}
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if _, err := run("-c", "import maxminddb"); err != nil {
		t.Skip("python3 finds no maxminddb; QUADRILLE_MAXMINDDB may say where it is")
	}
	r, path := foreignDatabase(t)
	random := 1_000_000
	if testing.Short() {
		random = 10_000
	}
	list := filepath.Join(t.TempDir(), "questions.tsv")
	f, err := os.Create(list)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriter(f)
	asked := 0
	for a := range questions(t, r, random) {
		fmt.Fprintf(out, "%s\t%s\n", a, answerAt(t, r, a))
		asked++
	}
	if err := errors.Join(out.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	text, err := run(filepath.FromSlash("testdata/compare.py"), path, list)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if want := fmt.Sprintf("%d compared, 0 differ", asked); !strings.Contains(text, want) {
		t.Errorf("%s, want %s", text, want)
	}
	t.Log(text)
}

// TestMMDBLookup tests libmaxminddb with the program that comes with it.
func TestMMDBLookup(t *testing.T) {
	program, err := exec.LookPath("mmdblookup")
	if err != nil {
		t.Skip("mmdblookup of libmaxminddb is not installed")
	}
	r, path := foreignDatabase(t)
	n := 0
	code := regexp.MustCompile(`"([A-Z]{2})" <utf8_string>`)
	for res, err := range r.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%2000 != 1 {
			continue
		}
		out, err := exec.CommandContext(t.Context(), program, "--file", path, "--ip", res.First.String(), "country", "iso_code").CombinedOutput()
		got := ""
		if m := code.FindSubmatch(out); err == nil && m != nil {
			got = string(m[1])
		}
		if got != res.Country {
			t.Errorf("%s is in %q, want %q: %v %s", res.First, got, res.Country, err, out)
		}
	}
}

// TestNginxGeoIP2 tests nginx with its module geoip2, which uses libmaxminddb. It compares all ends
// of ranges and a million random addresses.
func TestNginxGeoIP2(t *testing.T) {
	program, err := exec.LookPath("nginx")
	modules, _ := filepath.Glob("/usr/*/nginx/modules/ngx_http_geoip2_module.so")
	if err != nil || len(modules) == 0 {
		t.Skip("nginx with its module geoip2 is not installed")
	}
	r, path := foreignDatabase(t)
	random := 1_000_000
	if testing.Short() {
		random = 10_000
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	front := l.Addr().String()
	l.Close()
	dir := t.TempDir()
	conf := fmt.Sprintf(`load_module %s; daemon off; master_process off; pid %s/pid; error_log stderr; events {}
http {
	access_log off; keepalive_requests 100000000; keepalive_timeout 600s;
	client_body_temp_path %[2]s/b; proxy_temp_path %[2]s/p; fastcgi_temp_path %[2]s/f; uwsgi_temp_path %[2]s/u; scgi_temp_path %[2]s/s;
	geoip2 %[3]s {
		$geo_country source=$arg_ip country iso_code;
		$geo_city source=$arg_ip city names en;
		$geo_zone source=$arg_ip location time_zone;
	}
	server { listen %[4]s; location / { return 200 "$geo_country|$geo_city|$geo_zone"; } }
}
`, modules[0], dir, path, front)
	file := filepath.Join(dir, "nginx.conf")
	testfile.Write(t, file, conf)
	nginx := exec.CommandContext(t.Context(), program, "-p", dir, "-c", file)
	nginx.Stderr = os.Stderr
	if err := nginx.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = nginx.Process.Kill(), nginx.Wait() }()
	var conn net.Conn
	for range 100 {
		if conn, err = net.Dial("tcp", front); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	// Requests are written before their answers are read. Otherwise writer and reader would wait
	// for each other.
	asked := make(chan netip.Addr, 1000)
	go func() {
		defer close(asked)
		out := bufio.NewWriter(conn)
		defer func() { _ = out.Flush() }()
		for a := range questions(t, r, random) {
			fmt.Fprintf(out, "GET /?ip=%s HTTP/1.1\r\nHost: t\r\n\r\n", a)
			asked <- a
		}
	}()
	in, compared, differ := bufio.NewReader(conn), 0, 0
	for a := range asked {
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			Country struct {
				ISOCode string `json:"iso_code"`
			}
			City     struct{ Names map[string]string }
			Location struct {
				TimeZone string `json:"time_zone"`
			}
		}
		if err := json.Unmarshal(answerAt(t, r, a), &want); err != nil {
			t.Fatal(err)
		}
		compared++
		if want := want.Country.ISOCode + "|" + want.City.Names["en"] + "|" + want.Location.TimeZone; string(got) != want {
			if differ++; differ < 10 {
				t.Errorf("%s is %s, want %s", a, got, want)
			}
		}
	}
	t.Logf("%d compared, %d differ", compared, differ)
	if compared < random {
		t.Errorf("only %d compared", compared)
	}
}

package main

import (
	"encoding/json"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/cmd/internal/testfile"
	"quadrille/cmd/internal/toyworld"
	"quadrille/ipgeo"
)

// geoIPServer runs the program with invented address ranges, HTTPS, and the key "secret" of account
// 42.
func geoIPServer(t *testing.T) (hostPort, authority string) {
	t.Helper()
	data := t.TempDir()
	c := catalogIn(t, data)
	lat, lon := 47.3682, 8.5671
	ranges := []ipgeo.Range{
		{First: netip.MustParseAddr("81.2.69.0"), Last: netip.MustParseAddr("81.2.69.255"), Record: ipgeo.Record{
			City:              ipgeo.City{GeoNameID: 2657896, Names: ipgeo.Names{"de": "Zürich", "en": "Zurich <i>&"}, Confidence: 5},
			Continent:         ipgeo.Continent{Code: "EU", GeoNameID: 6255148, Names: ipgeo.Names{"en": "Europe"}},
			Country:           ipgeo.Country{GeoNameID: 2658434, ISOCode: "CH", Names: ipgeo.Names{"en": "Switzerland"}},
			RegisteredCountry: ipgeo.Country{ISOCode: "DE", IsInEuropeanUnion: true},
			Location:          ipgeo.Location{AccuracyRadius: 20, Latitude: &lat, Longitude: &lon, TimeZone: "Europe/Zurich"},
			Postal:            ipgeo.Postal{Code: "8001"},
			Subdivisions:      []ipgeo.Subdivision{{ISOCode: "ZH", Names: ipgeo.Names{"en": "Zurich"}}, {ISOCode: "112"}},
			Traits:            ipgeo.Traits{AutonomousSystemNumber: 559, IsAnycast: true, UserType: "business"},
			Extra:             map[string]any{"asn_type": "isp"},
		}},
		{First: netip.MustParseAddr("2a00:1::"), Last: netip.MustParseAddr("2a00:1:ffff:ffff:ffff:ffff:ffff:ffff"), Record: ipgeo.Record{
			Country: ipgeo.Country{ISOCode: "DE", IsInEuropeanUnion: true},
		}},
	}
	if err := toyworld.PublishRanges(t.Context(), c, func(yield func(ipgeo.Range, error) bool) {
		for _, r := range ranges {
			if !yield(r, nil) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	a := newAuthority(t)
	dir := t.TempDir()
	cert, key, keys := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "keys")
	a.issue(t, cert, key)
	testfile.Write(t, keys, "# of a test\n42:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\n")
	url, _, _ := start(t, "--data", data, "--tls-cert", cert, "--tls-key", key, "--geoip-keys", keys)
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "https://"), ":")
	return "localhost:" + port, a.file
}

// TestGeoIP2Node tests the GeoIP2 endpoints with unmodified Node.js clients. QUADRILLE_GEOIP2_NODE
// is a list of directories, like PATH. Each directory has one client installed:
//
//	npm install --prefix DIR @maxmind/geoip2-node@7.1.0
func TestGeoIP2Node(t *testing.T) {
	node, err := exec.LookPath("node")
	dirs := filepath.SplitList(os.Getenv("QUADRILLE_GEOIP2_NODE"))
	if err != nil || len(dirs) == 0 {
		t.Skip("needs node, and QUADRILLE_GEOIP2_NODE to say where @maxmind/geoip2-node is installed")
	}
	host, authority := geoIPServer(t)
	for _, dir := range dirs {
		manifest, err := os.ReadFile(filepath.Join(dir, "node_modules/@maxmind/geoip2-node/package.json"))
		if err != nil {
			t.Errorf("QUADRILLE_GEOIP2_NODE: %v", err)
			continue
		}
		var pkg struct{ Version string }
		if err := json.Unmarshal(manifest, &pkg); err != nil {
			t.Fatal(err)
		}
		t.Run(pkg.Version, func(t *testing.T) {
			script, err := os.Open("testdata/geoip2_check.mjs")
			if err != nil {
				t.Fatal(err)
			}
			defer script.Close()
			cmd := exec.CommandContext(t.Context(), node, "--input-type=module", "-", host)
			cmd.Dir, cmd.Stdin = dir, script
			cmd.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+authority)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

// TestGeoIP2Python does the same with Python's client, in the version of Debian's python3-geoip2.
func TestGeoIP2Python(t *testing.T) {
	// Only the system's own python3 finds the system's packages.
	python := ""
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), p, "-c", "import geoip2.webservice").Run() == nil {
			python = p
			break
		}
	}
	if python == "" {
		t.Skip("python3 finds no geoip2; install python3-geoip2")
	}
	host, authority := geoIPServer(t)
	cmd := exec.CommandContext(t.Context(), python, "testdata/geoip2_check.py", host)
	cmd.Env = append(os.Environ(), "REQUESTS_CA_BUNDLE="+authority, "SSL_CERT_FILE="+authority, "NO_PROXY=localhost", "no_proxy=localhost")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
}

// TestGeoIP2Java does the same with Java's client. QUADRILLE_GEOIP2_JAVA names the
// directory of its class path, which Maven resolves from testdata/geoip2/pom.xml.
func TestGeoIP2Java(t *testing.T) {
	java, err := exec.LookPath("java")
	jars := os.Getenv("QUADRILLE_GEOIP2_JAVA")
	if err != nil || jars == "" {
		t.Skip("needs a JDK, and QUADRILLE_GEOIP2_JAVA to say where the client's jars are")
	}
	server, authority := geoIPServer(t)
	address, port, _ := strings.Cut(server, ":")
	trust := filepath.Join(t.TempDir(), "trust")
	keytool := exec.CommandContext(t.Context(), "keytool", "-importcert", "-noprompt", "-file", authority, "-keystore", trust,
		"-storepass", "of a test")
	if out, err := keytool.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	check := exec.CommandContext(t.Context(), java, "-Dfile.encoding=UTF-8", "-Djavax.net.ssl.trustStore="+trust,
		"-Djavax.net.ssl.trustStorePassword=of a test",
		"-cp", filepath.Join(jars, "*"), "testdata/geoip2/Check.java", address, port)
	out, err := check.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
}

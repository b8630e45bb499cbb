package main

import (
	"io"
	"strings"
	"testing"

	"quadrille/cmd/internal/configfile"
	"quadrille/cmd/internal/configfile/configtest"
)

// A file with the output of config print has the same value for every setting.
func TestPrintedSettings(t *testing.T) {
	parser, err := newParser(&config{}, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	args := configtest.Args(t, configfile.Flags(parser.Model), map[string][]string{
		"store": {"hbase://a:9090,b:9090/ns"}, "require": {"places", "points-a"}, "live": {"./a b, 'c'-"},
		"listen":              {"unix:/run/a b.sock"},
		"socket-mode":         {"0600"},
		"proxy-protocol-from": {"10.0.0.0/8", "::1"},
		"trusted-proxy":       {"::ffff:1.2.3.4"},
		"public-url":          {"https://a.example/maps"}, "base-path": {"/maps"}, "glyphs": {"https://f.example/{fontstack}/{range}.pbf"},
		"cache-control": {`no-cache="Set-Cookie", max-age=60`},
		"cors-origin":   {"https://a.example,null"},
		"cache":         {"77MiB"},
		"batch-bytes":   {"1500"},
		"admin-listen":  {"127.0.0.1:6060"}, "key-limit": {"600/1m", "7000/h"}, "address-limit": {"60/1m", "1000/1d"}, "usage-clients": {"77"},
		"basemap": {"a=b,c.pmtiles", "d.mbtiles"}, "otlp-endpoint": {"http://127.0.0.1:4318/x"}, "trace-sample": {"0.125"},
	}, onlyFlags...)
	configtest.RoundTrip(t, "", args, func(args ...string) ([]configfile.Setting, error) {
		c, err := parse(args, io.Discard, io.Discard)
		if err != nil {
			return nil, err
		}
		return c.settings, nil
	})
}

// A value with characters that a shell would have removed, such as quotes, is refused, and the
// error gives the place of the value.
func TestWrappedValues(t *testing.T) {
	for _, tc := range []struct{ variable, value, want string }{
		{"QUADRILLE_CACHE_CONTROL", `"public, max-age=60"`, "directive"},
		{"QUADRILLE_CACHE_CONTROL", `max_age=60`, "did you mean max-age?"},
		{"QUADRILLE_DATA", `"/data"`, "(environment QUADRILLE_DATA) begins or ends with a quotation mark"},
		{"QUADRILLE_DATA", `'/data'`, "quotation mark"},
		{"QUADRILLE_DATA", `“/data”`, "quotation mark"},
		{"QUADRILLE_DATA", `/data"`, "quotation mark"},
		{"QUADRILLE_DATA", "/data\r", "end of a line"},
		{"QUADRILLE_DATA", " /data", "a blank"},
		{"QUADRILLE_DATA", "/data # of today", "no comment there"},
		{"QUADRILLE_REQUIRE", `"places,ip"`, "--require"},
		{"QUADRILLE_BASEMAP", `"world.pmtiles"`, "no name of a base map"},
		{"QUADRILLE_DATA", `/da"ta"`, ""},
		{"QUADRILLE_DATA", `./'t-data`, ""},
		{"QUADRILLE_DATA", `/data#2`, ""},
		{"QUADRILLE_CACHE_CONTROL", `no-cache="Set-Cookie"`, ""},
	} {
		t.Setenv(tc.variable, tc.value)
		_, err := parse([]string{"config", "check"}, io.Discard, io.Discard)
		if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s=%s: %v, want %q", tc.variable, tc.value, err, tc.want)
		}
		t.Setenv(tc.variable, "")
		configfile.Environment("QUADRILLE")
	}
	if _, err := parse([]string{`--data="/data"`}, io.Discard, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "--data (command line)") {
		t.Errorf("on the command line: %v", err)
	}
}

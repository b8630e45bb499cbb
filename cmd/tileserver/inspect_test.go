package main

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/internal/testfile"
)

func TestConfigFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quadrille.yaml")
	write := func(content string) {
		t.Helper()
		testfile.Write(t, path, content)
	}
	write("listen: :1\ncache: 1GiB\nread-timeout: 5s\ntrusted-proxy: [10.0.0.0/8, ::1]\naccess-log: true\n")
	t.Setenv("QUADRILLE_READ_TIMEOUT", "6s")
	c, err := parse([]string{"--config", path, "--listen=:2"}, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != ":2" || c.Cache != 1<<30 || c.ReadTimeout != 6*time.Second || len(c.TrustedProxy) != 2 || !c.AccessLog ||
		c.command != "serve" {
		t.Errorf("%+v", c)
	}

	// The environment can also name the file. The printed settings must be the same when they are
	// read again.
	t.Setenv("QUADRILLE_CONFIG", path)
	var out bytes.Buffer
	if err := run(t.Context(), []string{"config", "print"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`listen: ":1"`,
		"# " + path + ":1\n",
		"cache: 1GiB",
		"read-timeout: 6s",
		"# environment QUADRILLE_READ_TIMEOUT\n",
		`["10.0.0.0/8", "::1/128"]`,
		"# default\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in:\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "version") {
		t.Errorf("flags that are commands are listed:\n%s", &out)
	}
	write(out.String())
	var again bytes.Buffer
	if err := run(t.Context(), []string{"config", "print"}, &again, io.Discard); err != nil {
		t.Fatal(err)
	}
	strip := func(s string) (bare string) {
		for line := range strings.Lines(s) {
			value, _, _ := strings.Cut(line, "  #")
			bare += strings.TrimRight(value, " ") + "\n"
		}
		return bare
	}
	if strip(again.String()) != strip(out.String()) {
		t.Errorf("printed and read again:\n%s\nbecame\n%s", &out, &again)
	}

	for _, tt := range []struct{ content, want string }{
		{"lisen: :1\n", ":1: configuration file cannot be used: there is no setting lisen: did you mean listen?"},
		{"read-timeout: 0s\n", ""}, // the environment wins
		{"write-timeout: 0s\n", "--write-timeout"},
		{"version: true\n", "command line"},
		{"config: other.yaml\n", "command line"},
	} {
		write(tt.content)
		_, err := parse(nil, io.Discard, io.Discard)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%q: %v, want %q", tt.content, err, tt.want)
		}
	}
	if _, err := parse([]string{"--config", path + "x"}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "--config") {
		t.Errorf("%v, want one that names the flag", err)
	}
}

func TestConfigCheck(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"config", "check", "--data", dir}, &out, io.Discard); err != nil ||
		!strings.Contains(out.String(), "can be used") {
		t.Errorf("%v: %s", err, &out)
	}
	file := filepath.Join(dir, "file")
	testfile.Write(t, file, "x")
	err := run(t.Context(), []string{"config", "check", "--data", file, "--tls-cert", file, "--tls-key", file, "--geoip-keys",
		file}, io.Discard, io.Discard)
	for _, want := range []string{"--data", "--tls-cert", "--geoip-keys"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"quadrille/cmd/internal/bytesize"
	"quadrille/cmd/internal/configfile"
	"quadrille/cmd/internal/memlimit"
)

// Settings that take memory follow the memory of the process, unless they are set explicitly.
func TestFitMemory(t *testing.T) {
	const mib = 1 << 20
	for name, tc := range map[string]struct {
		args  []string
		limit int64
		cache bytesize.Size
		most  int // --max-concurrent
		warns bool
	}{
		"nothing known":  {cache: 256 * mib, most: 512},
		"much":           {limit: 8 << 30, cache: 256 * mib, most: 512},
		"512 MiB":        {limit: 512 * mib, cache: 182 * mib, most: 512},
		"256 MiB":        {limit: 256 * mib, cache: 70 * mib, most: 256},
		"128 MiB":        {limit: 128 * mib, cache: 14 * mib, most: 128},
		"64 MiB":         {limit: 64 * mib, cache: mib, most: 64, warns: true},
		"a page":         {limit: 4096, cache: mib, most: fewConnections, warns: true},
		"asked for":      {args: []string{"--cache=256MiB", "--max-concurrent=512"}, limit: 256 * mib, cache: 256 * mib, most: 512, warns: true},
		"asked for less": {args: []string{"--cache=2MiB", "--max-concurrent=3"}, limit: 256 * mib, cache: 2 * mib, most: 3},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := parse(append([]string{"config", "print"}, tc.args...), io.Discard, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if len(tc.args) == 0 { // as on a machine without a limit
				c.Cache, c.MaxConcurrent, c.MaxConnections = 256*mib, 512, 8192
				for i := range c.settings {
					c.settings[i].Source = "default"
				}
			}
			c.fitMemory(memlimit.Limit{Bytes: tc.limit, Source: "/a/file"})
			if c.Cache != tc.cache || c.MaxConcurrent != tc.most {
				t.Errorf("cache %d, requests %d; expected %d, %d", c.Cache, c.MaxConcurrent, tc.cache, tc.most)
			}
			var log, printed bytes.Buffer
			c.memory.say(c, slog.New(slog.NewTextHandler(&log, nil)))
			if strings.Contains(log.String(), "WARN") != tc.warns {
				t.Errorf("warns: %v expected:\n%s", tc.warns, &log)
			}
			if err := configfile.Print(&printed, c.settings); err != nil {
				t.Fatal(err)
			}
			lowered := tc.cache < 256*mib && len(tc.args) == 0
			if strings.Contains(printed.String(), "by /a/file") != lowered || strings.Contains(log.String(), "follow the memory") != lowered {
				t.Errorf("it is told: %v expected:\n%s%s", lowered, &log, &printed)
			}
		})
	}
	var log bytes.Buffer
	m := memory{Limit: memlimit.Limit{ReadErr: errors.New("no rights")}}
	if m.say(&config{}, slog.New(slog.NewTextHandler(&log, nil))); !strings.Contains(log.String(), "GOMEMLIMIT") {
		t.Errorf("limits that cannot be read are not told: %s", &log)
	}
}

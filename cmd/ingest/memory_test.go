package main

import (
	"errors"
	"io"
	"strings"
	"testing"

	"quadrille/cmd/internal/bytesize"
	"quadrille/cmd/internal/configfile"
	"quadrille/cmd/internal/memlimit"
)

// --memory follows the memory that the process may take, unless it is set.
func TestFitMemory(t *testing.T) {
	const mib = 1 << 20
	for name, tc := range map[string]struct {
		args   []string
		limit  memlimit.Limit
		memory bytesize.Size
		said   string
	}{
		"nothing known": {memory: 2 << 30},
		"much":          {limit: memlimit.Limit{Bytes: 8 << 30, Source: "/a"}, memory: 2 << 30},
		"1 GiB": {
			limit:  memlimit.Limit{Bytes: 1 << 30, Source: "/a"},
			memory: 896 * mib,
			said:   "--memory is 896MiB, of 1024MiB of memory, by /a",
		},
		"too little": {
			limit:  memlimit.Limit{Bytes: 100 * mib, Source: "/a"},
			memory: 256 * mib,
			said:   "warning: the system may end this process",
		},
		"asked for": {
			args:   []string{"--memory=2GiB"},
			limit:  memlimit.Limit{Bytes: 1 << 30, Source: "/a"},
			memory: 2 << 30,
			said:   "warning: the system may end",
		},
		"unread": {limit: memlimit.Limit{ReadErr: errors.New("no rights")}, memory: 2 << 30, said: "no rights"},
	} {
		t.Run(name, func(t *testing.T) {
			var c cli
			parser, err := newParser(&c, io.Discard, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			ctx, err := parser.Parse(append(tc.args, "list"))
			if err != nil {
				t.Fatal(err)
			}
			said := strings.Join(c.fitMemory(tc.limit, configfile.Settings(ctx, nil)), "\n")
			if c.Memory != tc.memory || !strings.Contains(said, tc.said) || (said == "") != (tc.said == "") {
				t.Errorf("%d, %q; expected %d, %q", c.Memory, said, tc.memory, tc.said)
			}
		})
	}
}

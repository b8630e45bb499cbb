package main

import (
	"io"
	"strings"
	"testing"

	"quadrille/cmd/internal/configfile"
	"quadrille/cmd/internal/configfile/configtest"
	"quadrille/cmd/internal/testfile"
)

// The output of config print has the same meaning as a configuration file, for every setting of
// every command.
func TestPrintedSettings(t *testing.T) {
	parser, err := newParser(&cli{}, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/a b, c.csv"
	testfile.Write(t, file, "x")
	own := map[string][]string{
		"store": {"hbase://a:9090/ns"}, "max-bad": {"0.5%"}, "memory": {"777MiB"}, "tile-budget": {"1500"}, "long-edges": {"shortest"},
		"layer":     {"ward=" + file + ":NO", `country=x\; y.zip`},
		"patch":     {"state=" + file + ":NO"},
		"remove":    {"state:E1", "state:e-2.x"},
		"property":  {"ref:INSEE", "turnover:number"},
		"worldview": {"IN"},
		"ip-file":   {strings.ReplaceAll(file, ",", `\,`)},
		"only":      {"places", "ip"},
		"parallel":  {"2"},
		"columns":   {"first,last,-,country"}, "type": {"code=text", "n=number"},
		"as":         {"places=" + strings.ReplaceAll(file, ",", `\,`)},
		"max-change": {"5%"},
		"bbox":       {"5.5,45,11,48"},
		"generation": {"7"},
		"grace":      {"7h0m0s"},
		"mirror":     {"https://m.example/a"},
		"contact":    {"mailto:a@b.example"},
		"min-zoom":   {"2"},
		"zone":       {"Europe/Berlin"},
		"decimal":    {","},
		"tags":       {"boundary=administrative,admin_level=8|9,name"},
		"where":      {`subtype = 'a, b; "c"' AND "my name" <> 'x'`},
	}
	configtest.RoundTrip(t, "", append(configtest.Args(t, configfile.Flags(parser.Model), own, onlyFlags...), "list"),
		func(args ...string) ([]configfile.Setting, error) {
			c := &cli{}
			parser, err := newParser(c, io.Discard, io.Discard)
			if err != nil {
				return nil, err
			}
			if args[len(args)-1] != "list" {
				args = append(args, "list")
			}
			ctx, err := parser.Parse(args)
			if err != nil {
				return nil, err
			}
			return configfile.Settings(ctx, c.file, onlyFlags...), nil
		})
	for _, command := range parser.Model.Children {
		if !command.Tag.Has("config") {
			continue
		}
		t.Run(command.Name, func(t *testing.T) {
			args := configtest.Args(t, command.Flags, own, onlyFlags...)
			for _, a := range command.Positional {
				if a.Tag.Has("config") {
					args = append(args, file)
				}
			}
			configtest.RoundTrip(t, command.Name, args, func(args ...string) ([]configfile.Setting, error) {
				c := &cli{}
				parser, err := newParser(c, io.Discard, io.Discard)
				if err != nil {
					return nil, err
				}
				ctx, err := parser.Parse(append([]string{command.Name}, args...))
				if err == nil {
					err = c.complete(ctx)
				}
				if err != nil {
					return nil, err
				}
				return configfile.CommandSettings(ctx, c.file, onlyFlags...), nil
			})
		})
	}
}

// A value with quotes that a shell would have removed is refused. A text that is only displayed may
// be in quotes.
func TestWrappedValues(t *testing.T) {
	for _, tc := range []struct {
		variable, value string
		args            []string
		want            string
	}{
		{variable: "QUADRILLE_DATA", value: `"./data"`, args: []string{"list"}, want: "environment QUADRILLE_DATA"},
		{args: []string{"list", `--data="./data"`}, want: "--data (command line)"},
		{variable: "QUADRILLE_WORLDVIEW", value: `'IN'`, args: []string{"boundaries", "--layer=a=b"}, want: "environment QUADRILLE_WORLDVIEW"},
		{variable: "QUADRILLE_ATTRIBUTION", value: `"© A"`, args: []string{"boundaries", "--layer=a=b"}, want: "quotation mark"},
		{variable: "QUADRILLE_ATTRIBUTION", value: `"Data" # 1 of A`, args: []string{"boundaries", "--layer=a=b"}},
		{args: []string{"boundaries", "--layer=a=b", `--attribution="© A"`}},
	} {
		if tc.variable != "" {
			t.Setenv(tc.variable, tc.value)
		}
		c := &cli{}
		parser, err := newParser(c, io.Discard, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		ctx, err := parser.Parse(tc.args)
		if err != nil {
			t.Fatal(err)
		}
		err = c.checked(ctx)
		if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s=%s %q: %v, want %q", tc.variable, tc.value, tc.args, err, tc.want)
		}
		if tc.variable != "" {
			t.Setenv(tc.variable, "")
			configfile.Environment("QUADRILLE")
		}
	}
}

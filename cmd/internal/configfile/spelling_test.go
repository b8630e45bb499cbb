package configfile

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// A name is accepted in either spelling on the command line, in the environment and in a file.
func TestSpellings(t *testing.T) {
	for name, tc := range map[string]struct{ file, variable, arg, err string }{
		"line":             {arg: "--map-licence=x"},
		"line as shown":    {arg: "--map-license=x"},
		"file":             {file: "map_licence: x"},
		"file as shown":    {file: "map-license: x"},
		"file twice":       {file: "map-licence: x\nmap-license: y", err: "map-license is set in line 1 already"},
		"variable":         {variable: "CONFIGFILE_MAP_LICENCE"},
		"variable is told": {variable: "CONFIGFILE_MAP_LICENSE"},
	} {
		t.Run(name, func(t *testing.T) {
			// An empty variable in the other spelling, before or after it, has no effect.
			for _, name := range []string{"CONFIGFILE_MAP_LICENCE", "CONFIGFILE_MAP_LICENSE"} {
				value := ""
				if name == tc.variable {
					value = "x"
				}
				t.Setenv(name, value)
			}
			Environment("CONFIGFILE")
			var p struct{ MapLicense string }
			parser, err := kong.New(&p, kong.DefaultEnvars("CONFIGFILE"), Spellings(), kong.Writers(io.Discard, io.Discard))
			if err != nil {
				t.Fatal(err)
			}
			file, err := Parse("program.yaml", []byte(tc.file))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("error %v, expected one with %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			values, err := file.Resolver(parser.Model)
			if err != nil {
				t.Fatal(err)
			}
			if err := kong.Resolvers(values).Apply(parser); err != nil {
				t.Fatal(err)
			}
			var args []string
			if tc.arg != "" {
				args = append(args, tc.arg)
			}
			if _, err := parser.Parse(args); err != nil || p.MapLicense != "x" {
				t.Errorf("the flag is %q, error %v; expected x", p.MapLicense, err)
			}
			if v, ok := os.LookupEnv("CONFIGFILE_MAP_LICENCE"); ok {
				t.Errorf("CONFIGFILE_MAP_LICENCE is still %q; it would be told as one that sets nothing", v)
			}
		})
	}
}

// Package archtest has no code. Its tests check the structure of the repository: which packages may
// import which, and why.
package archtest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "quadrille"

// A rule limits the imports of some of our packages. Tests may import any packages, because they
// check a package with readers, drivers and references that the package itself must not import.
type rule struct {
	// of are the packages to which the rule applies, relative to the module. "x/..." means x and
	// all packages below it.
	of []string
	// but lists the exceptions among them.
	but []string
	// ours, if not nil, lists all packages of this module that they may import directly. Packages
	// below the same entry of that list are always allowed.
	ours []string
	// never lists packages that they must not import, even indirectly.
	never []string
	// neverDirectly lists packages that they must not import directly.
	neverDirectly []string
	// alone is set if none of the packages may import another one of them.
	alone bool
	why   string
}

var none = []string{}

// faces returns the folders of the faces (the server's groups of endpoints), by the files that
// register them, and the operator's folder.
func faces() []string {
	files, err := filepath.Glob("../../../" + composer + "/face_*.go")
	if err != nil || len(files) == 0 {
		panic(fmt.Sprint("archtest: no file face_NAME.go registers a face in ", composer, ": look for them where they are now: ", err))
	}
	list := []string{server + "ops"}
	for _, file := range files {
		if name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "face_"), ".go"); name != "test" {
			list = append(list, server+name)
		}
	}
	return list
}

var rules = []rule{
	{
		of:   []string{"quadkey"},
		ours: none,
		why:  "cells and tiles are plain arithmetic that everything stands on, and that others can use without the rest",
	},
	{
		of:   []string{"cellstore"},
		ours: none,
		why:  "the data model knows neither its drivers nor what is kept in it",
	},
	{
		of:   []string{"cellstore/filelock"},
		ours: none,
		why:  "generations, keys and downloads are locked in one way, so it knows files only",
	},
	{
		of:   []string{"cellstore/dataset/..."},
		ours: []string{"cellstore", "cellstore/filelock"},
		why:  "generations meet their stores in the interfaces of cellstore, so that each can be replaced alone",
	},
	{
		of:   []string{"cellstore/sieve"},
		ours: none,
		why:  "caches of rows and of answers share the policy, so it knows neither",
	},
	{
		of:   []string{"cellstore/pebblestore/...", "cellstore/hbasestore/..."},
		ours: []string{"cellstore"},
		why:  "drivers meet the rest in the interfaces of cellstore, so that each can be replaced alone",
	},
	{
		of:   []string{"cellstore/rowcache/..."},
		ours: []string{"cellstore", "cellstore/sieve"},
		why:  "it stands before any driver, and knows none",
	},
	{
		of:   []string{"cellstore/published"},
		ours: []string{"cellstore", "cellstore/dataset", "cellstore/pebblestore"},
		why:  "it is where generations meet the driver that ingest writes them with, so that a program needs one call and no driver to open one",
	},
	{
		of:   []string{"cellstore/storetest/..."},
		ours: []string{"cellstore", "internal/testseed"},
		why:  "the conformance suite judges any driver, so it knows none",
	},
	{
		of:   []string{"internal/jsontext"},
		ours: none,
		why:  "one writer of JSON strings serves all answers, so it stands below every package that writes one",
	},
	{
		of:   []string{"internal/bom"},
		ours: none,
		why:  "whoever reads a text that people write passes over its mark with it, so it knows bytes only",
	},
	{
		of:   []string{"internal/instant"},
		ours: none,
		why:  "a time in a file, a filter and an address means the same, so its one reader stands below all that read one",
	},
	{
		of:   []string{"internal/lang"},
		ours: none,
		why:  "places, regions and searches look a name up in the same languages, so it knows codes only",
	},
	{
		of:   []string{"internal/extsort"},
		ours: none,
		why:  "builders of every kind sort on disk with it, so it knows byte strings and numbers only",
	},
	{
		of:   []string{"internal/repeats"},
		ours: none,
		why:  "it counts for whoever looks things up, and knows nothing of them",
	},
	{
		of:   []string{"internal/heap"},
		ours: none,
		why:  "searches of every kind keep what they have to look into in one, so it knows the order of elements only",
	},
	{
		of:   []string{"feature"},
		ours: []string{"cellstore", "quadkey", "internal/instant", "internal/jsontext"},
		why:  "features and what is asked of them are the same in every data set, so it knows none",
	},
	{
		of:   []string{"feature/layertest"},
		ours: []string{"feature", "quadkey"},
		why:  "it judges any layer, so it knows none",
	},
	{
		of:  []string{"tiles/...", "places/...", "ipgeo/..."},
		but: []string{"places/live/livetest"}, // imported by tests only
		ours: []string{"cellstore", "cellstore/sieve", "quadkey", "feature", "internal/jsontext", "internal/extsort", "internal/heap",
			"internal/bytecache", "internal/instant", "internal/lang", "internal/repeats"},
		why: "a domain package can be used alone, over any driver: it knows neither the others nor Pebble nor how generations are published",
	},
	{
		of: []string{"ask/..."},
		ours: []string{"cellstore", "cellstore/dataset", "feature", "quadkey", "tiles", "places/...", "ipgeo", "internal/instant",
			"internal/jsontext", "internal/lang"},
		why: "what takes several data sets to answer stands on the domains and on generations, whose drivers its caller " +
			"chooses, and no domain knows it",
	},
	{
		of:   []string{"internal/smallworld"},
		ours: []string{"ask", "cellstore", "cellstore/dataset", "cellstore/published", "places/...", "tiles", "tiles/build"},
		why:  "it publishes as ingest does, for examples of what asks several data sets, and asks nothing",
	},
	{
		of:   []string{"internal/tilestest"},
		ours: []string{"cellstore/pebblestore"},
		why:  "the tests of every package of boundaries share it, so it knows none of them",
	},
	{
		of:   []string{"internal/manypoints"},
		ours: none,
		why:  "benchmarks of the domain package and of the server share it, so it knows neither",
	},
	{
		of:   []string{"internal/testseed"},
		ours: none,
		why:  "random tests of every package have their seeds from it, so it knows none of them",
	},
	{
		of:   []string{"internal/testrace"},
		ours: none,
		why:  "tests of every package ask it for the race detector, so it knows none of them",
	},
	{
		of:   []string{"internal/must"},
		ours: none,
		why:  "tests of every package end with it where their preparation fails, so it knows none of them",
	},
	{
		of:   []string{"internal/buildtest"},
		ours: []string{"cellstore", "cellstore/pebblestore", "internal/must"},
		why:  "tests of every data set build in its stores, so it knows none of them",
	},
	{
		of:   []string{"internal/damagetest"},
		ours: none,
		why:  "tests of every store damage its files with it, so it knows none of them",
	},
	{
		of:   []string{"cmd/internal/testfile"},
		ours: none,
		why:  "tests of every room of the programs write files with it, so it knows none of them",
	},
	{
		of: []string{"quadkey/...", "cellstore", "cellstore/dataset/...", "cellstore/pebblestore/...", "cellstore/hbasestore/...",
			"cellstore/rowcache/...", "cellstore/published", "tiles/...", "places/...", "ipgeo/...", "ask/...", "feature", "static/...",
			"internal/jsontext", "internal/extsort", "internal/repeats", "cmd/..."},
		but: []string{server + "servertest", "places/live/livetest"},
		neverDirectly: []string{
			module + "/internal/tilestest", module + "/internal/testseed", module + "/internal/damagetest", module + "/internal/must",
			module + "/internal/buildtest", module + "/internal/smallworld", module + "/feature/layertest", module + "/places/live/livetest",
			module + "/cmd/ingest/internal/job/jobtest", module + "/cmd/ingest/internal/source/sourcetest",
			module + "/cmd/internal/testfile", module + "/" + server + "servertest",
		},
		why: "they are for tests and examples",
	},
	{
		of: []string{"quadkey/...", "cellstore/...", "tiles/...", "places/...", "ipgeo/...", "ask/...", "feature", "static/...",
			"internal/jsontext", "internal/extsort", "internal/repeats", "cmd/ingest/...", "cmd/tileserver/..."},
		never: []string{module + "/internal/testrace"},
		why:   "only tests ask for the race detector, and what starts programs for them",
	},
	{
		of:   []string{"tiles/internal/grid"},
		ours: none,
		why:  "geometry is arithmetic on whole numbers: it is judged without rows, stores or degrees",
	},
	{
		of:   []string{"tiles/mvt"},
		ours: []string{"tiles/internal/grid"},
		why:  "vector tiles of anything are written with it: it shares the points of the grid and knows no region",
	},
	{
		of:    []string{"tiles", "ask/...", "cmd/tileserver/..."},
		but:   []string{server + "servertest"}, // imported by tests only
		never: []string{module + "/tiles/build", module + "/tiles/verify"},
		why:   "a server reads boundaries; it does not carry what makes and checks them",
	},
	{
		of:    []string{"tiles/verify"},
		never: []string{module + "/tiles/build"},
		why:   "a check believes the rows alone, not the code that wrote them",
	},
	{
		of:    []string{"tiles/build"},
		never: []string{module + "/tiles/verify"},
		why:   "a build does not mark its own work",
	},
	{
		of:   []string{"places/live/livetest"},
		ours: []string{"cellstore", "feature", "places/live", "internal/must"},
		why:  "it judges any log and any index, so it knows none",
	},
	{
		of:   []string{"places/live"},
		ours: []string{"cellstore", "quadkey", "feature"},
		why:  "collections that take writes know no index: points are one kind of them, and others come",
	},
	{
		of:    []string{"places/search/...", "places/internal/..."},
		never: []string{module + "/places"},
		why:   "package places feeds the search and opens it: names are found without knowing how places are kept",
	},
	{
		of: []string{"quadkey/...", "cellstore", "tiles/...", "places/...", "ipgeo/...", "ask/...", "internal/jsontext",
			"internal/extsort", "internal/repeats"},
		never: []string{"net/http/...", "github.com/labstack/...", "github.com/prometheus/...", "go.opentelemetry.io/..."},
		why:   "programs embed these packages without a server; the shapes of HTTP belong to cmd/tileserver",
	},
	{
		of: []string{"quadkey/...", "cellstore/...", "tiles/...", "places/...", "ipgeo/...", "ask/..."},
		never: []string{
			"archive/...", "encoding/csv", "encoding/xml", "database/sql",
			"github.com/oschwald/maxminddb-golang/...", "github.com/maxmind/...",
			"github.com/twpayne/go-shapefile", "modernc.org/sqlite/...",
		},
		why: "a file format is known to its reader in cmd/ingest alone; storage and lookups see records",
	},
	{
		// storetest is missing: it is for tests and depends on testing, which has flags. hbasestore
		// is missing: Thrift's library depends on package flag, without registering any flags.
		of: []string{"quadkey/...", "cellstore", "cellstore/dataset/...", "cellstore/pebblestore/...", "cellstore/rowcache/...",
			"tiles/...", "places/...", "ipgeo/...", "ask/..."},
		but: []string{"places/live/livetest"},
		never: []string{
			"github.com/alecthomas/kong", "github.com/schollz/progressbar/...", "flag", "testing",
		},
		why: "flags and progress bars belong to programs; a library that registers flags puts them into everybody's --help",
	},
	{
		of:   []string{"cmd/internal/testfile"},
		ours: none,
		why:  "tests of every room of the programs write files with it, so it knows none of them",
	},
	{
		of: []string{"quadkey/...", "cellstore", "cellstore/dataset/...", "cellstore/hbasestore/...",
			"cellstore/storetest/...", "cellstore/rowcache/...", "tiles/...", "places/...", "ipgeo/...", "ask/...", "static/...", "cmd/..."},
		neverDirectly: []string{"github.com/cockroachdb/pebble/..."},
		why:           "nothing above cellstore assumes Pebble: the same tables run on another driver",
	},
	{
		of:            []string{"examples"},
		ours:          []string{"cellstore", "cellstore/pebblestore"},
		neverDirectly: []string{"github.com/cockroachdb/pebble/..."},
		why:           "a worked design needs nothing but the store, so that it can be copied; its program chooses a driver",
	},
	{
		of:   []string{"static/..."},
		ours: none,
		why:  "it only embeds the map page",
	},
	{
		of:   []string{"docs"},
		ours: none,
		why:  "it only embeds the documents beside it, which no path in go:embed could reach from elsewhere",
	},
	{
		of:    []string{"cmd/tileserver/internal/docspages"},
		ours:  []string{"cmd/tileserver/internal/theme"},
		never: []string{module + "/cellstore/...", "github.com/labstack/..."},
		why:   "it makes pages of any folder of documents, and is judged without a server",
	},
	{
		of: []string{"quadkey/...", "cellstore/...", "tiles/...", "places/...", "ipgeo/...", "ask/...", "feature/...",
			"cmd/ingest/..."},
		neverDirectly: []string{module + "/docs", "github.com/yuin/..."},
		why:           "the server alone has the documents to read",
	},
	{
		of:    []string{"cmd/internal/catalogue"},
		ours:  []string{"ask", "cellstore", "cellstore/dataset", "tiles", "places/...", "ipgeo", "cmd/internal/credit"},
		never: []string{"net/http/..."},
		why:   "both programs read the list of data sets, so it knows neither handlers nor jobs",
	},
	{
		of:            []string{"cmd/tileserver/internal/..."},
		neverDirectly: []string{module + "/cellstore/pebblestore/..."},
		why:           "handlers read through the domain packages; main alone chooses the driver",
	},
	{
		of:    []string{"cmd/tileserver/internal/quota/..."},
		ours:  []string{"cellstore", "internal/bom"},
		never: []string{"net/http/...", "github.com/labstack/..."},
		why:   "who may ask and how often is counted in tables of any driver, and judged without a server",
	},
	{
		of:   []string{"cmd/internal/cql2"},
		ours: []string{"feature", "quadkey", "tiles/shape", "internal/instant"},
		why:  "a language of filters is read and judged without a data set, a request or a store",
	},
	{
		of:    []string{"cmd/tileserver/internal/tracing/..."},
		ours:  none,
		never: []string{"github.com/labstack/..."},
		why:   "it delivers spans and knows nothing of what they are of",
	},
	{
		of: []string{"cmd/tileserver/internal/web"},
		ours: []string{"ask", "quadkey", "feature", "cmd/tileserver/internal/endpoint", "cmd/internal/iso3166",
			"cmd/internal/nearest", "internal/bytecache", "cmd/tileserver/internal/quota",
			"cmd/tileserver/internal/theme", "internal/bom", "internal/instant", "static"},
		why: "what every endpoint stands on takes a view for each question and knows no data set, so that a new one changes nothing in it",
	},
	{
		of:   []string{"cmd/tileserver/internal/endpoint"},
		ours: []string{"ask", "quadkey", "cmd/internal/iso3166", "cmd/internal/nearest", "internal/instant"},
		why: "a declaration is read by what serves it, describes it and tests it, so that it knows none of them; what a " +
			"question sees is handed over with its parameters",
	},
	{
		of:    faces(),
		alone: true,
		why: "a room answers one kind of question and can be read, tested and removed alone; what two need goes to ask, " +
			"web, problems, under, listing, timezone, ogcapi or ipdatabase",
	},
	{
		of: []string{"cmd/tileserver/internal/archive/..."},
		ours: []string{"quadkey", "cmd/internal/catalogue", "cmd/internal/credit", "cmd/internal/pmtiles",
			"cmd/internal/sqlitefile", "internal/bytecache"},
		never: []string{"github.com/labstack/..."},
		why:   "other people's archives are read and judged without a server",
	},
	{
		of:   []string{"cmd/tileserver/internal/basemaps"},
		ours: none,
		why:  "other people's maps can be taken from the server, so what it tells of them knows none",
	},
	{
		of:    []string{"internal/bytecache"},
		ours:  []string{"cellstore/sieve"},
		never: []string{"net/http/...", "github.com/labstack/..."},
		why:   "it keeps values of any kind, and knows nothing of them",
	},
	{
		of:   []string{"cmd/internal/geoparquet"},
		ours: []string{"feature", "internal/instant"},
		why:  "both programs write features with it, so it knows no layer of theirs",
	},
	{
		of:    []string{"cmd/internal/pmtiles", "cmd/internal/sqlitefile"},
		ours:  []string{"quadkey"},
		never: []string{"net/http/..."},
		why:   "both programs know these formats, so that neither knows the other",
	},
	{
		of:    []string{"cmd/bench/judged"},
		ours:  []string{"cmd/internal/programs"},
		never: []string{"quadrille/tiles/...", "quadrille/places/...", "quadrille/cmd/ingest/..."},
		why:   "a reference that shares code with what it judges shares its mistakes",
	},
	{
		of:   []string{"cmd/bench/replay"},
		ours: none,
		why:  "it judges what servers answer as clients meet it, so it shares no code with them",
	},
	{
		of:            []string{"cmd/tileserver/internal/web", "cmd/tileserver/internal/httpapi"},
		neverDirectly: []string{"go.opentelemetry.io/otel/sdk/...", "go.opentelemetry.io/otel/exporters/..."},
		why:           "handlers make spans by the interfaces alone; main chooses where they go",
	},
	{
		of:   []string{"cmd/ingest/internal/source/..."},
		ours: []string{"internal/bom", "internal/extsort", "internal/instant", "internal/jsontext", "cmd/internal/columnname", "cmd/internal/iso3166", "cmd/internal/sqlitefile"},
		why:  "a reader knows its format, never our rows: job translates, so one format can feed several data sets",
	},
	{
		of: []string{"cmd/ingest/internal/job"},
		ours: []string{"cellstore", "cellstore/dataset", "ask", "cmd/internal/catalogue", "cmd/ingest/internal/disk",
			"cmd/ingest/internal/source"},
		why: "what all jobs share knows no job and no domain, so that a new one changes nothing in it",
	},
	{
		of: []string{
			"cmd/ingest/internal/job/airports", "cmd/ingest/internal/job/boundaries", "cmd/ingest/internal/job/ip", "cmd/ingest/internal/job/names",
			"cmd/ingest/internal/job/places", "cmd/ingest/internal/job/points", "cmd/ingest/internal/job/stations",
			"cmd/ingest/internal/job/timezones",
		},
		ours: []string{
			"cellstore", "cellstore/dataset", "cmd/ingest/internal/job", "cmd/ingest/internal/job/features",
			"cmd/ingest/internal/job/zonefinder", "cmd/ingest/internal/source/...", "cmd/ingest/internal/iprecord",
			"cmd/ingest/internal/liveclient", "cmd/ingest/internal/serverclient", "ask", "cmd/internal/catalogue", "cmd/internal/columnname", "cmd/internal/iso3166", "cmd/internal/nearest", "internal/extsort",
			"internal/jsontext", "internal/repeats",
			"feature", "quadkey", "tiles", "tiles/build", "places/...", "ipgeo",
		},
		alone: true,
		why: "a job makes one kind of data set and can be read, tested and removed alone; what two need goes to job, and " +
			"what is published tells the rest",
	},
	{
		of: []string{"cmd/ingest/internal/job/zonefinder"},
		ours: []string{"cellstore/dataset", "cmd/ingest/internal/job", "ask", "cmd/internal/catalogue", "feature", "places",
			"places/zones", "tiles"},
		why: "several jobs ask it for time zones, so it reads what is published and knows none of them",
	},
	{
		of: []string{"cmd/ingest/internal/job/features"},
		ours: []string{"cellstore/dataset", "cmd/ingest/internal/disk", "cmd/ingest/internal/job", "cmd/ingest/internal/source",
			"cmd/ingest/internal/source/format", "cmd/internal/columnname", "cmd/internal/cql2", "cmd/internal/nearest", "feature",
			"internal/jsontext"},
		why: "several jobs read files of features by it, so it knows none of them, and no format but by the table",
	},
	{
		of: []string{"cmd/ingest/internal/job/renew"},
		ours: []string{"cellstore/dataset", "cmd/ingest/internal/job", "cmd/ingest/internal/job/timezones", "cmd/ingest/internal/source",
			"ask", "cmd/internal/catalogue"},
		why: "it compares what jobs depend on and runs none of them; of time zones that is the version of the machine's database",
	},
	{
		of: []string{"cmd/ingest/internal/job/demo"},
		ours: []string{"cellstore/dataset", "cmd/ingest/internal/job/...", "cmd/ingest/internal/source/columns",
			"cmd/ingest/internal/source/geonames", "tiles/build"},
		why: "it runs all jobs and does nothing that they do",
	},
	{
		of: []string{"cmd/ingest/internal/job/jobtest"},
		ours: []string{"cellstore", "cellstore/dataset", "cellstore/pebblestore", "cmd/ingest/internal/job",
			"cmd/ingest/internal/source", "ask", "cmd/internal/catalogue"},
		why: "the tests of every job use it, so it knows none of them",
	},
}

func TestImports(t *testing.T) {
	pkgs := load(t)
	for _, v := range violations(pkgs, rules) {
		t.Error(v)
	}
	// A rule about packages that no longer exist, after a renaming, would never fail.
	for _, r := range rules {
		if !slices.ContainsFunc(pkgs, func(p pkg) bool { return matchesAny(r.of, p.path) }) {
			t.Errorf("a rule is about %s, which do not exist: rename or remove it", strings.Join(r.of, ", "))
		}
	}
}

// TestEveryPackageHasItsRule: only programs may import all packages. Jobs may not.
func TestEveryPackageHasItsRule(t *testing.T) {
	for _, p := range load(t) {
		ruled := matches("cmd/...", p.path) && !matches("cmd/ingest/internal/job/...", p.path) ||
			slices.ContainsFunc(rules, func(r rule) bool { return r.ours != nil && matchesAny(r.of, p.path) })
		if !ruled {
			t.Errorf("no rule says which of our packages %s may import: add one, with its reason", p.path)
		}
	}
}

// TestRoomsAreAlone tests the packages that httpapi imports. Each is a face, or belongs to a face,
// or is common to all faces. No face may import another face.
func TestRoomsAreAlone(t *testing.T) {
	forAll := []string{
		server + "web",
		server + "endpoint",
		"ask",
		server + "problems",
		server + "listing",
		"ask/hierarchy",
		"ask/localtime",
		server + "timezone",
		server + "ogcapi",
		server + "basemaps",
		"cellstore/dataset",
	}
	i := slices.IndexFunc(rules, func(r rule) bool { return r.alone })
	faces, _ := loadFaces(t)
	for _, p := range load(t) {
		if p.path != composer {
			continue
		}
		for _, imp := range p.imports {
			own, isOurs := strings.CutPrefix(imp, module+"/")
			goes := slices.ContainsFunc(faces, func(f face) bool { return own != server+f.name && slices.Contains(f.owns, own) })
			if isOurs && !slices.Contains(forAll, own) && !slices.Contains(rules[i].of, own) && !goes {
				t.Errorf("%s is composed by httpapi: register it in a file face_NAME.go there, by the name of its folder", own)
			}
		}
	}
}

// TestNames tests that no package has a name without a purpose, because such a package collects
// unrelated code.
func TestNames(t *testing.T) {
	shapeless := []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "lib", "base", "types"}
	for _, p := range load(t) {
		for part := range strings.SplitSeq(p.path, "/") {
			if slices.Contains(shapeless, part) || slices.Contains(shapeless, p.name) {
				t.Errorf("package %s: name it for what it provides, not %q", p.path, part)
			}
		}
	}
}

func TestOnePackageComment(t *testing.T) {
	for _, p := range load(t) {
		files, err := packageComments(p)
		if err != nil {
			t.Fatal(err)
		}
		switch len(files) {
		case 0:
			t.Errorf("package %s has no package comment: say what it is for", p.path)
		case 1:
		default:
			t.Errorf("package %s has its package comment in %s: keep one, the others are not read", p.path, strings.Join(files, " and "))
		}
	}
}

// violations describes every import that breaks a rule, with the reason.
func violations(pkgs []pkg, rules []rule) (list []string) {
	for _, r := range rules {
		for _, p := range pkgs {
			for _, of := range r.of {
				if matches(of, p.path) && !matchesAny(r.but, p.path) {
					list = append(list, r.check(of, p)...)
				}
			}
		}
	}
	return list
}

func (r rule) check(of string, p pkg) (list []string) {
	say := func(format string, args ...any) {
		list = append(list, fmt.Sprintf("%s %s: %s", p.path, fmt.Sprintf(format, args...), r.why))
	}
	for _, imp := range p.imports {
		own, isOurs := strings.CutPrefix(imp, module+"/")
		if isOurs && r.ours != nil && !matches(of, own) && !matchesAny(r.ours, own) {
			say("imports %s", own)
		}
		if matchesAny(r.neverDirectly, imp) {
			say("imports %s", imp)
		}
		if isOurs && r.alone && !matches(of, own) && matchesAny(r.of, own) {
			say("imports %s", own)
		}
	}
	for _, dep := range p.deps {
		if matchesAny(r.never, dep) {
			say("depends on %s", dep)
		}
	}
	return list
}

// matches reports whether a package is the pattern or, if that ends in /...,
// lies beneath it.
func matches(pattern, path string) bool {
	tree, ok := strings.CutSuffix(pattern, "/...")
	return path == tree || (ok && strings.HasPrefix(path, tree+"/"))
}

func matchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, path) })
}

// TestRulesCanFail tests that every rule can fail, because a rule that cannot be broken protects
// nothing.
func TestRulesCanFail(t *testing.T) {
	for _, tc := range []struct {
		pkg  pkg
		want string // part of the only violation; empty: none
	}{
		{pkg{path: "quadkey", imports: []string{"math", "github.com/paulmach/orb"}}, ""},
		{pkg{path: "quadkey", imports: []string{"quadrille/cellstore"}}, "quadkey imports cellstore: cells and tiles"},
		{pkg{path: "cellstore", imports: []string{"quadrille/cellstore/dataset"}}, "cellstore imports cellstore/dataset"},
		{pkg{path: "cellstore/dataset", imports: []string{"quadrille/cellstore"}}, ""},
		{pkg{path: "cellstore/dataset", imports: []string{"quadrille/cellstore/pebblestore"}}, "imports cellstore/pebblestore"},
		{pkg{path: "cellstore/pebblestore", imports: []string{"github.com/cockroachdb/pebble/v2"}, deps: []string{"net/http"}}, ""},
		{pkg{path: "tiles", imports: []string{"quadrille/tiles/mvt", "quadrille/quadkey"}}, ""},
		{pkg{path: "tiles/raster", imports: []string{"quadrille/places"}}, "tiles/raster imports places"},
		{pkg{path: "tiles/internal/grid", imports: []string{"quadrille/tiles/mvt"}}, "geometry is arithmetic"},
		{pkg{path: "tiles", deps: []string{"quadrille/tiles/build"}}, "a server reads boundaries"},
		{pkg{path: "tiles/verify", deps: []string{"quadrille/tiles/build"}}, "believes the rows alone"},
		{pkg{path: "tiles/build", imports: []string{"quadrille/tiles", "quadrille/tiles/internal/grid"}}, ""},
		{pkg{path: "cmd/ingest/internal/world", imports: []string{"quadrille/internal/tilestest"}}, "they are for tests"},
		{pkg{path: "cmd/tileserver/internal/tile", imports: []string{"quadrille/cmd/tileserver/internal/servertest"}}, "they are for tests"},
		{
			pkg{
				path:    "cmd/tileserver/internal/servertest",
				imports: []string{"quadrille/feature/layertest"},
				deps:    []string{"quadrille/tiles/build"},
			},
			"",
		},
		{pkg{path: "tiles", imports: []string{"quadrille/cellstore/pebblestore"}}, "tiles imports cellstore/pebblestore"},
		{pkg{path: "places", deps: []string{"net/http"}}, "places depends on net/http"},
		{pkg{path: "places", deps: []string{"net/http/httptest"}}, "depends on net/http/httptest"},
		{pkg{path: "places", deps: []string{"net/httpx"}}, ""},
		{pkg{path: "places", imports: []string{"quadrille/ask"}}, "a domain package can be used alone"},
		{pkg{path: "ask/geocoder", imports: []string{"quadrille/ask", "quadrille/places/names"}}, ""},
		{pkg{path: "ask/geocoder", deps: []string{"net/http"}}, "belong to cmd/tileserver"},
		{pkg{path: "ask", imports: []string{"quadrille/cellstore/pebblestore"}}, "ask imports cellstore/pebblestore"},
		{pkg{path: "ipgeo", deps: []string{"encoding/csv"}}, "ipgeo depends on encoding/csv"},
		{pkg{path: "ipgeo", deps: []string{"github.com/oschwald/maxminddb-golang/v2"}}, "a file format"},
		{
			pkg{path: "cmd/tileserver/internal/httpapi", imports: []string{"github.com/cockroachdb/pebble/v2"}},
			"nothing above cellstore assumes Pebble",
		},
		{pkg{path: "cmd/tileserver/internal/httpapi", imports: []string{"quadrille/cellstore/pebblestore"}}, "main alone chooses"},
		{
			pkg{path: "cmd/tileserver/internal/tile", imports: []string{"quadrille/cmd/tileserver/internal/place"}},
			"a room answers one kind of question",
		},
		{pkg{path: "cmd/tileserver/internal/tile", imports: []string{"quadrille/cmd/tileserver/internal/web"}}, ""},
		{pkg{path: "cmd/tileserver/internal/web", imports: []string{"quadrille/tiles"}}, "knows no data set"},
		{pkg{path: "examples", imports: []string{"quadrille/cellstore/pebblestore"}}, ""},
		{pkg{path: "examples", imports: []string{"github.com/cockroachdb/pebble/v2"}}, "a worked design needs nothing but the store"},
		{pkg{path: "cmd/ingest/internal/source/geojson", imports: []string{"quadrille/cmd/ingest/internal/source"}}, ""},
		{pkg{path: "cmd/ingest/internal/source/geojson", imports: []string{"quadrille/tiles"}}, "never our rows"},
		{pkg{path: "cmd/ingest/internal/job/names", imports: []string{"quadrille/tiles", "quadrille/cellstore/dataset"}}, ""},
		{pkg{path: "cmd/ingest/internal/job", imports: []string{"quadrille/tiles"}}, "knows no job and no domain"},
		{pkg{path: "cmd/ingest/internal/job/demo", imports: []string{"quadrille/cmd/ingest/internal/job/ip"}}, ""},
	} {
		got := violations([]pkg{tc.pkg}, rules)
		if ok := len(got) == 0; tc.want == "" != ok || (!ok && (len(got) != 1 || !strings.Contains(got[0], tc.want))) {
			t.Errorf("%s importing %v, depending on %v: %q, want %q", tc.pkg.path, tc.pkg.imports, tc.pkg.deps, got, tc.want)
		}
	}
}

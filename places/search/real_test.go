package search

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"quadrille/internal/must"
	"quadrille/internal/testrace"
)

const geonames = "../../../shared/data/geonames/"

// The following functions read the files of GeoNames, without the checks of the real reader.

func lines(t testing.TB, file string) (out [][]string) {
	t.Helper()
	var r io.Reader
	if strings.HasSuffix(file, ".zip") {
		z := must.Get(zip.OpenReader(geonames + file)).In(t)
		defer z.Close()
		for _, f := range z.File {
			if name := filepath.Base(f.Name); name == strings.TrimSuffix(filepath.Base(file), ".zip")+".txt" {
				m := must.Get(f.Open()).In(t)
				defer m.Close()
				r = m
			}
		}
		if r == nil {
			t.Fatal("no table in ", file)
		}
	} else {
		f := must.Get(os.Open(geonames + file)).In(t)
		defer f.Close()
		r = f
	}
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if line := in.Text(); !strings.HasPrefix(line, "#") {
			out = append(out, strings.Split(line, "\t"))
		}
	}
	must.Do(t, in.Err())
	return out
}

func readPlaces(t testing.TB, files ...string) (entries []Entry) {
	t.Helper()
	for _, file := range files {
		for _, c := range lines(t, file) {
			id := must.Get(strconv.ParseUint(c[0], 10, 32)).In(t)
			lat, _ := strconv.ParseFloat(c[4], 64)
			lon, _ := strconv.ParseFloat(c[5], 64)
			people, _ := strconv.ParseUint(c[14], 10, 64)
			e := Entry{ID: uint32(id), Name: c[1], ASCIIName: c[2], Code: c[7], Country: c[8], Admin1: c[10], Population: people,
				Lat: int32(lat * unitsPerDegree), Lon: int32(lon * unitsPerDegree)}
			if c[6] != "" {
				e.Class = c[6][0]
			}
			for name := range strings.SplitSeq(c[3], ",") {
				if name != "" {
					e.Names = append(e.Names, Name{Text: name})
				}
			}
			entries = append(entries, e)
		}
	}
	return byID(entries)
}

func byID(entries []Entry) []Entry {
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(entries, func(a, b Entry) bool { return a.ID == b.ID })
}

func readContexts(t testing.TB) (contexts []ContextName) {
	t.Helper()
	for _, c := range lines(t, "meta/countryInfo.txt") {
		contexts = append(contexts, ContextName{c[4], c[0], ""})
	}
	for _, c := range lines(t, "meta/admin1CodesASCII.txt") {
		country, admin1, _ := strings.Cut(c[0], ".")
		contexts = append(contexts, ContextName{c[1], country, admin1}, ContextName{c[2], country, admin1})
	}
	return contexts
}

// readAreas makes areas of the tables of countries and divisions.
func readAreas(t testing.TB) (entries []Entry) {
	t.Helper()
	for _, c := range lines(t, "meta/countryInfo.txt") {
		id, _ := strconv.ParseUint(c[16], 10, 32)
		people, _ := strconv.ParseUint(c[7], 10, 64)
		if id > 0 {
			entries = append(entries, Entry{ID: uint32(id), Name: c[4], Class: 'A', Code: "PCLI", Country: c[0], Admin1: "00", Population: people})
		}
	}
	for _, c := range lines(t, "meta/admin1CodesASCII.txt") {
		id, _ := strconv.ParseUint(c[3], 10, 32)
		country, admin1, _ := strings.Cut(c[0], ".")
		// The table has no populations. They matter most for the largest areas.
		people := map[string]uint64{
			"US.NY": 19274244,
			"US.WA": 6271775,
			"CA.10": 8067055,
			"BR.27": 39827570,
			"DE.04": 1739117,
			"DE.02": 12542365,
		}[c[0]]
		if id > 0 {
			entries = append(entries, Entry{
				ID:         uint32(id),
				Name:       c[1],
				ASCIIName:  c[2],
				Class:      'A',
				Code:       "ADM1",
				Country:    country,
				Admin1:     admin1,
				Population: people,
			})
		}
	}
	return entries
}

type gazetteer struct {
	entries []Entry
	reader  *Reader
}

// The gazetteers are built once for all tests.
var realOnce = struct {
	sync.Mutex
	built map[string]gazetteer
}{built: map[string]gazetteer{}}

func realGazetteers(t testing.TB) map[string]gazetteer {
	t.Helper()
	if _, err := os.Stat(geonames); err != nil {
		t.Skip("the real GeoNames files are not there:", err)
	}
	realOnce.Lock()
	defer realOnce.Unlock()
	if len(realOnce.built) == 0 {
		contexts := readContexts(t)
		cities := readPlaces(t, "cities15000.zip")
		mix := byID(append(readPlaces(t, "cities15000.zip", "countries/NL.zip", "countries/SG.zip", "countries/LV.zip",
			"countries/no-country.zip"), readAreas(t)...))
		// The stores outlive a test. They are in memory, so they need no Close.
		for name, entries := range map[string][]Entry{"cities15000": cities, "mix": mix} {
			store := memoryStore(t)
			meta := buildIn(t, store, entries, contexts)
			r := must.Get(Open(t.Context(), store, meta)).In(t)
			t.Logf("%s: %+v", name, meta)
			realOnce.built[name] = gazetteer{entries, r}
		}
	}
	return realOnce.built
}

// ranking lists the expected first answers to texts.
var ranking = []struct {
	text, lang string
	want       uint32
	only       string // the gazetteer that has it, if not all
}{
	{"zurich", "", 2657896, ""},
	{"Zürich", "", 2657896, ""},
	{"zuerich", "", 2657896, ""},
	{"munchen", "", 2867714, ""},
	{"münchen", "", 2867714, ""},
	{"muenchen", "", 2867714, ""},
	{"tromso", "", 3133895, ""},
	{"Tromsø", "", 3133895, ""},
	{"saint petersbourg", "", 498817, ""},
	{"saint petersbxrg", "", 498817, ""},
	{"st petersburg russia", "", 498817, ""},
	{"leningrad", "", 498817, ""},
	{"北京", "", 1816670, ""},
	{"breslau", "", 3081368, ""},
	{"warszawa", "en", 756135, ""},
	{"dundee", "", 2650752, ""},
	{"liverpool", "", 2644210, ""},
	{"new york", "", 5128581, ""},
	{"new york ny", "", 5128581, ""},
	{"new york city", "", 5128581, ""},
	{"koln", "", 2886242, ""},
	{"koeln", "", 2886242, ""},
	{"cologne", "", 2886242, ""},
	{"sao paulo", "", 3448439, ""},
	{"são paulo", "", 3448439, ""},
	{"st louis", "", 4407066, ""},
	{"san jose california", "", 5392171, ""},
	{"san jose ca", "", 5392171, ""},
	{"san jose costa rica", "", 3621849, ""},
	{"paris", "", 2988507, ""},
	{"paris texas", "", 4717560, ""},
	{"paris tx", "", 4717560, ""},
	{"paris fr", "", 2988507, ""},
	{"springfield illinois", "", 4250542, ""},
	{"springfield missouri", "", 4409896, ""},
	{"frankfurt", "", 2925533, ""},
	{"frankfurt am main", "", 2925533, ""},
	{"frankfurt main", "", 2925533, ""},
	{"frankfrut", "", 2925533, ""},
	{"laquila", "", 3175121, ""},
	{"l'aquila", "", 3175121, ""},
	{"l’aquila", "", 3175121, ""},
	{"aquila", "", 3175121, ""},
	{"xian", "", 1790630, ""},
	{"xi'an", "", 1790630, ""},
	{"москва", "", 524901, ""},
	{"МОСКВА", "", 524901, ""},
	{"القاهرة", "", 360630, ""},
	{"tokyo", "", 1850147, ""},
	{"東京", "", 1850147, ""},
	{"the hague", "", 2747373, ""},
	{"den haag", "", 2747373, ""},
	{"ho chi minh", "", 1566083, ""},
	{"saigon", "", 1566083, ""},
	{"bombay", "", 1275339, ""},
	{"constantinople", "", 745044, ""},
	{"london", "", 2643743, ""},
	{"lond", "", 2643743, ""},
	{"lo", "", 2643743, "mix"},
	{"york", "", 2633352, ""},
	{"rio", "", 3451190, ""},
	{"los angeles", "", 5368361, ""},
	{"angeles california", "", 5368361, ""},
	{"moscow", "", 524901, ""},
	{"berlin", "", 2950159, ""},
	{"berlim", "", 2950159, ""},
	{"hamburg", "", 2911298, ""},
	{"quebec", "", 6325494, ""},
	{"amsterdam", "", 2759794, ""},
	{"riga", "", 456172, ""},
	{"singapore", "", 1880252, ""},
	{"france", "", 3017382, "mix"},
	{"bavaria", "", 2951839, "mix"},
	{"germany", "", 2921044, "mix"},
	{"mexico", "", 3996063, "mix"},
	{"mexico city", "", 3530597, ""},
	{"washington", "", 4140963, ""},
	{"sankt gallen", "", 2658822, ""},
	{"st gallen", "", 2658822, ""},
	{"schiphol", "", 6296680, "mix"}, // the airport,
}

func TestRanking(t *testing.T) {
	testrace.SkipUnderRace(t, "building these takes long")
	for name, g := range realGazetteers(t) {
		names := map[uint32]string{}
		for _, e := range g.entries {
			names[e.ID] = fmt.Sprintf("%d %s (%c.%s %s %d)", e.ID, e.Name, e.Class, e.Code, e.Country, e.Population)
		}
		for _, tc := range ranking {
			if tc.only != "" && tc.only != name {
				continue
			}
			hits := find(t, g.reader, Query{Text: tc.text, Lang: tc.lang})
			if len(hits) == 0 {
				t.Errorf("%s: %q finds nothing, want %s", name, tc.text, names[tc.want])
			} else if hits[0].ID != tc.want {
				var got []string
				for _, h := range hits[:min(3, len(hits))] {
					got = append(got, fmt.Sprintf("%s %d %+v", names[h.ID], h.Score, h.Match))
				}
				t.Errorf("%s: %q finds\n\t%s\nwant\t%s", name, tc.text, strings.Join(got, "\n\t"), names[tc.want])
			}
		}
	}
}

// While a text is typed, the right answer stays first once it is first.
func TestTypingKeepsTheAnswer(t *testing.T) {
	testrace.SkipUnderRace(t, "building these takes long")
	for name, g := range realGazetteers(t) {
		for _, text := range []string{
			"zurich", "munchen", "tromso", "saint petersbourg", "北京", "breslau", "warszawa", "dundee", "liverpool", "new york",
			"london", "paris", "berlin", "tokyo", "moscow", "москва", "cologne", "koeln", "rio de janeiro", "los angeles",
			"san francisco", "frankfurt am main", "amsterdam", "rotterdam", "constantinople", "bombay", "buenos aires", "sao paulo",
		} {
			hits := find(t, g.reader, Query{Text: text})
			right, was := hits[0].ID, false
			for i := range text {
				if i == 0 || text[i] == ' ' {
					continue
				}
				first := find(t, g.reader, Query{Text: text[:i]})
				is := len(first) > 0 && first[0].ID == right
				// "troms" is the whole name of another place.
				if was && !is && first[0].Match.Kind != Exact {
					t.Errorf("%s: %q finds %d %+v first, after less of it found %d", name, text[:i], first[0].ID, first[0].Match, right)
				}
				was = was || is && !first[0].Match.IsCode // "fra" is an airport's code, "fran" is France
			}
		}
	}
}

// For every beginning of users' texts, the answer equals the reference's.
func TestRealAgainstReference(t *testing.T) {
	testrace.SkipUnderRace(t, "building these takes long")
	g := realGazetteers(t)["cities15000"]
	ref := &reference{entries: g.entries}
	for i := range g.entries {
		ref.names = append(ref.names, refNames(&g.entries[i]))
	}
	compared := 0
	for _, tc := range ranking {
		for i := range tc.text + "$" {
			text := string(Fold(nil, tc.text[:i]))
			if text == "" || i > 8 || i < len(tc.text) && i > 4 || accented(tc.text[:i]) {
				continue
			}
			ref.best = map[uint32]refHit{}
			ref.q.Text = text
			ref.match(text, anywhere, false, 0, true)
			if len(ref.best) <= answerPlaces {
				continue
			}
			var want []refHit
			for _, h := range ref.best {
				want = append(want, h)
			}
			slices.SortFunc(want, func(a, b refHit) int { return cmp.Or(cmp.Compare(b.points, a.points), cmp.Compare(a.id, b.id)) })
			for k, h := range find(t, g.reader, Query{Text: text}) {
				if h.ID != want[k].id || h.Score != want[k].points {
					t.Fatalf("%q: hit %d is %+v, want %+v", text, k, h, want[k])
				}
			}
			compared++
		}
	}
	t.Logf("%d texts compared", compared)
}

// Complete and Search give the same answer for the beginnings of real names.
func TestRealAnswersAgree(t *testing.T) {
	testrace.SkipUnderRace(t, "building these takes long")
	for name, g := range realGazetteers(t) {
		stored := 0
		for i := 0; i < len(g.entries); i += 97 {
			fold := Fold(nil, g.entries[i].Name)
			for n := 1; n <= len(fold); n++ {
				text := string(bytes.TrimSpace(fold[:n]))
				out, found, err := g.reader.Complete(t.Context(), text, nil)
				if err != nil {
					continue // cut within a letter
				}
				hits, _ := must.Two(g.reader.Search(t.Context(), Query{Text: text}, nil)).In(t)
				if !found {
					break
				}
				stored++
				if want := answerOf(hits); string(out) != want {
					t.Fatalf("%s: %q is answered\n%s\nbut searched\n%s", name, text, out, want)
				}
				if !json.Valid(out) {
					t.Fatalf("%q: not JSON: %s", text, out)
				}
			}
		}
		t.Logf("%s: %d finished answers compared", name, stored)
	}
}

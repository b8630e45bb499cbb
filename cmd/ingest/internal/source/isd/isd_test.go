package isd

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/delimited"
	"quadrille/cmd/ingest/internal/source/sourcetest"
	"quadrille/cmd/internal/testfile"
)

// The rows here are hand-made, following NOAA's descriptions of the two formats (isd-history.txt
// and isd-lite-format.txt). None of them is copied from NOAA's files.

const head = `"USAF","WBAN","STATION NAME","CTRY","STATE","ICAO","LAT","LON","ELEV(M)","BEGIN","END"` + "\n"

func ptr(v float64) *float64 { return &v }

func stations(t testing.TB, text string) (list []Station, bad map[string]int, failure error) {
	t.Helper()
	list, records, failure := sourcetest.All(ReadStations(strings.NewReader(text), "list.csv"))
	for _, b := range records {
		if b.Source != "list.csv" || b.Line < 1 || len(b.Detail) > 400 {
			t.Errorf("%+v", b)
		}
	}
	return list, sourcetest.Reasons(records), failure
}

func TestStations(t *testing.T) {
	list, bad, err := stations(t, "\ufeff"+head+
		`"123450","99999","NORTH ""HILL"", A","SZ","","LSXX","+47.100","-008.500","+0431.9","19310101","20250529"`+"\r\n\n"+
		`a0001b,00012,,,,,-0.5,-180,-0999.0,,`)
	if err != nil || len(bad) != 0 {
		t.Fatal(bad, err)
	}
	want := []Station{
		{USAF: "123450", WBAN: "99999", Name: `NORTH "HILL", A`, Country: "SZ", ICAO: "LSXX", Lat: 47.1, Lon: -8.5, ElevationM: ptr(431.9),
			Begin: time.Date(1931, 1, 1, 0, 0, 0, 0, time.UTC), End: time.Date(2025, 5, 29, 0, 0, 0, 0, time.UTC), Line: 2},
		{USAF: "A0001B", WBAN: "00012", Lat: -0.5, Lon: -180, Line: 4},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	// The columns are in another order, and there are fewer or more.
	list, bad, err = stations(t, "lon,colour,wban,usaf,lat\n7,red,00001,000001,46\n")
	if err != nil || len(bad) != 0 || len(list) != 1 || list[0].Lat != 46 || list[0].Lon != 7 || list[0].USAF != "000001" {
		t.Error(list, bad, err)
	}
}

// TestGHCNhStations reads the list of GHCN hourly as NOAA and others write it.
func TestGHCNhStations(t *testing.T) {
	const names = "GHCN_ID,LATITUDE,LONGITUDE,ELEVATION,STATE,NAME,GSN,(US)HCN_(US)CRN,WMO_ID,ICAO"
	const rows = `USW00012345, 41.5,-87.25, 204.8,IL,"HILL, EAST",   ,CRN,72999,KXXX` + "\n" +
		"szm00001234,47.5,8.5,-999.9,  ,BERG,GSN,   ,01234,    \n"
	want := []Station{
		{GHCN: "USW00012345", Name: "HILL, EAST", Country: "US", State: "IL", ICAO: "KXXX", WMO: "72999", Lat: 41.5, Lon: -87.25,
			ElevationM: ptr(204.8)},
		{GHCN: "SZM00001234", Name: "BERG", Country: "SZ", WMO: "01234", Lat: 47.5, Lon: 8.5},
	}
	bars := strings.NewReplacer(`"HILL, EAST"`, "HILL, EAST", ",", "|")
	for name, tc := range map[string]struct {
		text string
		line int // of the first row
	}{
		"with names":    {names + "\n" + rows, 2},
		"without names": {"\ufeff" + rows, 1},
		"bars":          {bars.Replace(names + "\n" + rows), 2},
		"bars alone":    {bars.Replace(rows), 1},
		"tabs":          {strings.ReplaceAll(bars.Replace(names+"\n"+rows), "|", "\t"), 2},
	} {
		list, bad, err := stations(t, tc.text)
		for i := range want {
			want[i].Line = tc.line + i
		}
		if diff := cmp.Diff(want, list); diff != "" || len(bad) > 0 || err != nil {
			t.Errorf("%s: %s, %v, %v", name, diff, bad, err)
		}
	}
	// Newer lists say the country in ISO 3166 as well.
	for _, head := range []string{names + ",ISO_CODE\n", ""} {
		list, bad, err := stations(t, head+"SZM00001234,47.5,8.5,500,,BERG,,,01234,,CH\n")
		if err != nil || len(bad) > 0 || len(list) != 1 || list[0].ISO != "CH" {
			t.Error(list, bad, err)
		}
	}
	_, bad, err := stations(t, names+"\n"+rows+"SZM0000123,1,2,,,,,,,\n12M00001234,1,2,,,,,,,\nSZM00001235,,,,,,,,,\nSZM00001236,95,2,,,,,,,\n")
	if diff := cmp.Diff(map[string]int{reasonGHCN: 2, reasonNoPosition: 1, reasonLat: 1}, bad); diff != "" || err != nil {
		t.Error(diff, err)
	}
	// A list of fixed width has other rows. Its neighbour is the one to take.
	_, _, err = stations(t, "SZM00001234  47.5000    8.5000  500.0    BERG, OST                      GSN     01234\n")
	if !errors.Is(err, ErrHeader) || !strings.Contains(err.Error(), "ghcnh-station-list.csv") {
		t.Error(err)
	}
	// A list that has all ids keeps those that observations are named by.
	list, _, err := stations(t, "USAF,WBAN,GHCN_ID,LAT,LON\n123450,99999,SZM00012345,1,2\n")
	if err != nil || len(list) != 1 || list[0].ID() != "123450-99999" {
		t.Error(list, err)
	}
}

func TestBadStations(t *testing.T) {
	row := func(lat, lon, elevation, begin string) string {
		return `"123450","99999","X","SZ","","","` + lat + `","` + lon + `","` + elevation + `","` + begin + `","20200101"`
	}
	for reason, rows := range map[string][]string{
		reasonNoPosition: {row("", "", "", "")},
		reasonLatOnly:    {row("+47.000", "", "", ""), row("", "+008.000", "", "")},
		reasonOrigin:     {row("+00.000", "+000.000", "", ""), row("-00.000", "-000.000", "", "")},
		reasonLat:        {row("+90.001", "+008.000", "", ""), row("NaN", "8", "", ""), row("0x1p3", "8", "", ""), row("4 7", "8", "", "")},
		reasonLon:        {row("47", "-180.001", "", ""), row("47", "inf", "", ""), row("47", "1e3", "", "")},
		reasonElevation:  {row("47", "8", "high", ""), row("47", "8", "1000000", "")},
		reasonDate: {
			row("47", "8", "1", "20200230"),
			row("47", "8", "1", "2020"),
			row("47", "8", "1", "00000101"),
			row("47", "8", "1", "abcdefgh"),
		},
		delimited.ReasonHeader: {`"123450","99999"`, row("1", "1", "", "") + `,""`},
		reasonID: {
			`"12345","99999","","","","","1","1","","",""`,
			`"12345_","99999","","","","","1","1","","",""`,
			`"123456","9999é","","","","","1","1","","",""`,
		},
		delimited.ReasonQuotes: {`"123450`, `"123450"x,"99999"`},
		delimited.ReasonUTF8:   {"\"123450\",\"99999\",\"\xff\""},
		delimited.ReasonLong:   {`"` + strings.Repeat("x", 3*MaxLineBytes)},
	} {
		for _, r := range rows {
			list, bad, err := stations(t, head+r+"\n"+row("47", "8", "1", "")+"\n")
			if err != nil || len(list) != 1 || bad[reason] != 1 || len(bad) != 1 {
				t.Errorf("%s: %.100s: %d stations, %v, %v", reason, r, len(list), bad, err)
			}
		}
	}
	for _, text := range []string{"", "\n\n"} {
		if list, bad, err := stations(t, text); len(list) != 0 || len(bad) != 0 || err != nil {
			t.Errorf("%q: %v, %v, %v", text, list, bad, err)
		}
	}
	for _, text := range []string{"1,2,3\n", "USAF,WBAN,LAT\n", "2024 01 01 06 -12 -30 10132 250 31 8 0 -1\n"} {
		if _, _, err := stations(t, text); !errors.Is(err, ErrHeader) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, reason := range []string{reasonNoPosition, reasonLatOnly, reasonOrigin, reasonLat} {
		if IsUnplaced(&source.BadRecord{Reason: reason}) != (reason != reasonLat) {
			t.Error(reason)
		}
	}
	failure := errors.New("disk")
	for s, err := range ReadStations(io.MultiReader(strings.NewReader(head), failing{failure}), "x") {
		if !errors.Is(err, failure) {
			t.Error(s, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestRealStations(t *testing.T) {
	f, err := source.Open("../../../../../../shared/data/weather/isd-history.csv.gz")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the real list of stations is not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	good, high, bad := 0, 0, map[string]int{}
	for s, err := range ReadStations(f, "isd-history.csv") {
		var b *source.BadRecord
		if errors.As(err, &b) {
			bad[b.Reason]++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		good++
		if s.ElevationM != nil {
			high++
		}
	}
	want := map[string]int{reasonNoPosition: 1186, reasonLatOnly: 1, reasonOrigin: 379}
	if diff := cmp.Diff(want, bad); diff != "" || good != 28094 {
		t.Errorf("%d good; %s", good, diff)
	}
	t.Logf("%d stations, %d with an elevation", good, high)
}

func lite(t testing.TB, text string, year int) (list []Observation, bad map[string]int, failure error) {
	t.Helper()
	list, records, failure := sourcetest.All(ReadLite(strings.NewReader(text), "123450-99999-2024", year))
	return list, sourcetest.Reasons(records), failure
}

func TestLite(t *testing.T) {
	list, bad, err := lite(t, ""+
		"2024 01 01 06   -12   -30 10132   250    31     8     0    -1\n"+
		"2024 02 29 23 -9999 -9999 -9999 -9999 -9999 -9999 -9999 -9999\r\n", 2024)
	if err != nil || len(bad) != 0 {
		t.Fatal(bad, err)
	}
	m := Missing
	want := []Observation{
		{Time: time.Date(2024, 1, 1, 6, 0, 0, 0, time.UTC), Values: [NumFields]int{-12, -30, 10132, 250, 31, 8, 0, -1}, Line: 1},
		{Time: time.Date(2024, 2, 29, 23, 0, 0, 0, time.UTC), Values: [NumFields]int{m, m, m, m, m, m, m, m}, Line: 2},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
}

func TestBadLite(t *testing.T) {
	const rest = "   -12   -30 10132   250    31     8     0    -1"
	for reason, lines := range map[string][]string{
		reasonFields: {"2024 01 01 06   -12   -30", "2024 01 01 06" + rest + " 7", "2024"},
		reasonNumber: {"2024 01 01 06   -12   -30 10132   250    31     8     0    1.5", "2024 01 01 ab" + rest,
			"2024 01 01 06" + rest[:len(rest)-2] + "--1",
			"2024 01 01 06-9999-9999 10132   250    31     8     0    -1",
			"2024 01 01 06   -12   -30 12345678   250    31     8     0    -1", "2024 01 01 06   -12 - 10132   250    31     8     0    -1"},
		reasonTime: {
			"2024 02 30 06" + rest,
			"2024 13 01 06" + rest,
			"2024 00 01 06" + rest,
			"2024 01 00 06" + rest,
			"2024 01 01 24" + rest,
			"2024 01 01 -1" + rest,
			"2024 01 32 00" + rest,
		},
		reasonYear:           {"2023 01 01 06" + rest},
		delimited.ReasonUTF8: {"2024 01 01 06 \xff"},
		delimited.ReasonLong: {strings.Repeat("1 ", 3*MaxLineBytes)},
	} {
		for _, line := range lines {
			list, bad, err := lite(t, line+"\n2024 01 01 07"+rest+"\n", 2024)
			if err != nil || len(list) != 1 || bad[reason] != 1 || len(bad) != 1 {
				t.Errorf("%s: %.80s: %d observations, %v, %v", reason, line, len(list), bad, err)
			}
		}
	}
	if list, _, _ := lite(t, "1931 01 01 06"+rest, 0); len(list) != 1 {
		t.Error("without a year, every year is taken")
	}
	if _, bad, _ := lite(t, "0 01 01 06"+rest, 0); bad[reasonTime] != 1 {
		t.Error("there was no year 0")
	}
}

func TestNames(t *testing.T) {
	want := File{USAF: "066600", WBAN: "99999", Year: 2024}
	for _, name := range []string{"066600-99999-2024", "a/b/066600-99999-2024.gz", `c:\x\066600-99999-2024.txt.gz`, "066600-99999-2024"} {
		if got, ok := ParseName(name); !ok || got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, name := range []string{"", "isd-history.csv.gz", "06660-99999-2024", "066600-99999-24", "066600-99999-20x4",
		"066600-99999-0000", "066600-99999", "a-066600-99999-2024"} {
		if got, ok := ParseName(name); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A file that ends early or unpacks to too much is an error, never a short list.
func TestDamagedFiles(t *testing.T) {
	read := func(content string) (failure error) {
		path := testfile.WriteTemp(t, "123450-99999-2024.gz", content)
		f, err := source.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		for _, err := range ReadLite(f, path, 2024) {
			var b *source.BadRecord
			if err != nil && !errors.As(err, &b) {
				failure = err
			}
		}
		return failure
	}
	var text strings.Builder
	for h := range 24 * 28 {
		text.WriteString(time.Date(2024, 1, 1, h, 0, 0, 0, time.UTC).Format("2006 01 02 15") +
			"    12    30 10132   250    31     8     0    -1\n")
	}
	whole := testfile.Gzip(text.String())
	if err := read(whole); err != nil {
		t.Error(err)
	}
	for _, n := range []int{5, len(whole) / 2, len(whole) - 1} {
		if err := read(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes are taken for a file", n, len(whole))
		}
	}
	if err := read(testfile.Gzip(bytes.Repeat([]byte("\n"), 64<<20))); !errors.Is(err, source.ErrTooLarge) {
		t.Error(err)
	}
}

func FuzzReadStations(f *testing.F) {
	f.Add([]byte(head + `"123450","99999","X","SZ","","","+47.100","-008.500","+0431.9","19310101","20250529"` + "\n"))
	f.Add([]byte("GHCN_ID|LATITUDE|LONGITUDE\nSZM00001234|1|2\n"))
	f.Add([]byte("SZM00001234,1,2,\"\n"))
	f.Add([]byte("\xef\xbb\xbfusaf,wban,lat,lon\n123456,12345,1,2\n\"\"\"\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for s, err := range ReadStations(bytes.NewReader(b), "f") {
			if err == nil && (!(s.Lat >= -90 && s.Lat <= 90) || !(s.Lon >= -180 && s.Lon <= 180) || len(s.GHCN) != 11 && (len(s.USAF) != 6 ||
				len(s.WBAN) != 5) || s.Line < 1) {
				t.Fatalf("%+v", s)
			}
		}
	})
}

func FuzzReadLite(f *testing.F) {
	f.Add([]byte("2024 01 01 06   -12   -30 10132   250    31     8     0    -1\n"))
	f.Add([]byte("2024 02 30 06 - -30\n\n\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for o, err := range ReadLite(bytes.NewReader(b), "f", 0) {
			if err == nil && (o.Time.Year() < 1 || o.Time.Year() > 9999 || o.Time.Minute() != 0 || o.Line < 1) {
				t.Fatalf("%+v", o)
			}
		}
	})
}

func FuzzParseName(f *testing.F) {
	f.Add("066600-99999-2024.gz")
	f.Fuzz(func(t *testing.T, name string) {
		if got, ok := ParseName(name); ok && (len(got.USAF) != 6 || len(got.WBAN) != 5 || got.Year < 1 || got.Year > 9999) {
			t.Fatalf("%q: %+v", name, got)
		}
	})
}

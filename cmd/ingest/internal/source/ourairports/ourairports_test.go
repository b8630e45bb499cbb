package ourairports

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/delimited"
	"quadrille/cmd/ingest/internal/source/sourcetest"
)

const head = "id,ident,type,name,latitude_deg,longitude_deg,elevation_ft,continent,iso_country,iso_region,municipality,scheduled_service,icao_code,iata_code,gps_code,local_code,home_link,wikipedia_link,keywords\n"

// This is an invented airport with the columns of head.
const row = `7,"XA01","small_airport","Test Field",1.5,-2.25,100,"NA","US","US-CA","Testville","no",,,"XA01","A01",,,`

func collect(text string) (good []Record, bad []*source.BadRecord, err error) {
	return sourcetest.All(Read(strings.NewReader(text), "f.csv"))
}

func feet(v float64) *float64 { return &v }

func TestRead(t *testing.T) {
	text := head +
		`1,"LSZZ","large_airport","Zürich ""Ost"", Test",47.5,8.5,1416,"EU","CH","CH-ZH","Zürich","yes","LSZZ","ZZH","LSZZ",,"https://example.org/a?b=1&c=2","http://example.org/w","ZZH, ""Kloten"", ,ZZH"` + "\r\n" +
		"\n" +
		`2,"na-0001","closed","A Field` + "\n" + `on two lines",-90,180,,"AF","NA","NA-KH",,"no",,,,,,,` + "\n" +
		`3,US-0003,heliport,Pad,1e1,-0.5,-12.5,NA,US,US-U-A,,no,,,K 3,,javascript:alert(1),//x.example/y,`
	good, bad, err := collect(text)
	if err != nil || len(bad) != 0 {
		t.Fatalf("%v, bad %v", err, bad)
	}
	want := []Record{
		{ID: 1,
			Ident:       "LSZZ",
			Type:        "large_airport",
			Name:        `Zürich "Ost", Test`,
			Lat:         47.5,
			Lon:         8.5,
			ElevationFt: feet(1416),
			Country:     "CH",
			Region:      "CH-ZH",
			City:        "Zürich",
			Scheduled:   true,
			ICAO:        "LSZZ",
			IATA:        "ZZH",
			GPS:         "LSZZ",
			Home:        "https://example.org/a?b=1&c=2",
			Wikipedia:   "http://example.org/w",
			Keywords:    []string{"ZZH", `"Kloten"`}, Line: 2},
		{ID: 2, Ident: "NA-0001", Type: "closed", Name: "A Field\non two lines", Lat: -90, Lon: 180, Country: "NA", Region: "NA-KH", Line: 4},
		{
			ID:          3,
			Ident:       "US-0003",
			Type:        "heliport",
			Name:        "Pad",
			Lat:         10,
			Lon:         -0.5,
			ElevationFt: feet(-12.5),
			Country:     "US",
			Ignored:     3,
			Line:        6,
		},
	}
	if diff := cmp.Diff(want, good); diff != "" {
		t.Error(diff)
	}
}

// TestOtherColumns reads files without the column icao_code, files with the columns in another
// order, and files made by users.
func TestOtherColumns(t *testing.T) {
	good, bad, err := collect("\"id\",\"ident\",\"type\",\"name\",\"latitude_deg\",\"longitude_deg\",\"gps_code\",\"iata_code\"\n" +
		"1,EGXX,closed_airport,A,1,2,EGXY,\n2,GB-0001,small_airport,B,1,2,EGXZ,\n3,2G7,small_airport,C,1,2,K2G7,\n")
	if err != nil || len(bad) != 0 || len(good) != 3 {
		t.Fatalf("%v, %v, %v", good, bad, err)
	}
	for i, want := range []string{"EGXX", "EGXZ", ""} {
		if good[i].ICAO != want {
			t.Errorf("%s: ICAO %q, want %q", good[i].Ident, good[i].ICAO, want)
		}
	}
	if good[0].Type != "closed" {
		t.Errorf("type %q", good[0].Type)
	}
	good, bad, err = collect("Longitude_deg, TZ ,name,type,ident,latitude_deg\n8,Europe/Zurich,A,large_airport,AAAA,47\n")
	want := []Record{{Ident: "AAAA", Type: "large_airport", Name: "A", Lat: 47, Lon: 8, TimeZone: "Europe/Zurich", ICAO: "AAAA", Line: 2}}
	if diff := cmp.Diff(want, good); diff != "" || len(bad) != 0 || err != nil {
		t.Errorf("%s, %v, %v", diff, bad, err)
	}
}

func TestBadRecords(t *testing.T) {
	change := func(old, replacement string) string { return strings.Replace(row, old, replacement, 1) }
	for _, tt := range []struct{ row, reason string }{
		{"", ""},
		{"just text", delimited.ReasonHeader},
		{row + ",", delimited.ReasonHeader},
		{change(`7,`, `0,`), reasonID},
		{change(`7,`, `x,`), reasonID},
		{change(`7,`, `,`), reasonID},
		{change(`7,`, `4294967296,`), reasonID},
		{change(`7,`, `-1,`), reasonID},
		{change(`"XA01"`, ``), reasonIdent},
		{change(`"XA01"`, `"X<01"`), reasonIdent},
		{change(`"XA01"`, `"`+strings.Repeat("X", 17)+`"`), reasonIdent},
		{change(`small_airport`, `spaceport`), reasonType},
		{change(`Test Field`, ` `), reasonName},
		{change(`Test Field`, strings.Repeat("n", maxName+1)), reasonText},
		{change(`Testville`, strings.Repeat("n", maxName+1)), reasonText},
		{change(`Test Field`, "Caf\xe9"), delimited.ReasonUTF8},
		{change(`1.5`, `90.1`), reasonLat},
		{change(`1.5`, `NaN`), reasonLat},
		{change(`1.5`, ``), reasonLat},
		{change(`-2.25`, `-180.5`), reasonLon},
		{change(`-2.25`, `inf`), reasonLon},
		{change(`-2.25`, `2°`), reasonLon},
		{change(`,100,`, `,high,`), reasonElevation},
		{change(`,100,`, `,1e9,`), reasonElevation},
		{change(`"US"`, `"USA"`), reasonCountry},
		{change(`"US"`, `"us"`), reasonCountry},
		{change(`"no"`, `"maybe"`), reasonScheduled},
		{change(`"Test Field"`, `"Test "Field"`), delimited.ReasonQuotes},
		{change(`"Test Field"`, `Test "Field"`), delimited.ReasonQuotes},
		{change(`"Test Field"`, `"Test Field`), delimited.ReasonQuotes},
		{change(`"Test Field"`, `Test Field"`), delimited.ReasonQuotes},
		{change(`Test Field`, strings.Repeat("n", MaxRecordBytes)), delimited.ReasonLong},
		{change(`7,`, `8,`), reasonDuplicate}, // the ident
		{change(`XA01`, `XA02`), reasonDuplicate},
	} {
		t.Run(shorten(tt.row), func(t *testing.T) {
			// The rows around the bad one are read, whatever its error is.
			text := head + row + "\n" + tt.row + "\n" + strings.ReplaceAll(change("7,", "9,"), "XA01", "XA09") + "\n"
			good, bad, err := collect(text)
			if err != nil || len(good) != 2 || good[0].ID != 7 || good[1].ID != 9 || good[1].Line != 4 {
				t.Fatalf("%+v, %v, %v", good, bad, err)
			}
			if tt.reason == "" && len(bad) == 0 {
				return
			}
			if len(bad) != 1 || bad[0].Reason != tt.reason || bad[0].Line != 3 || len(bad[0].Detail) > 400 {
				t.Errorf("%v", bad)
			}
		})
	}
}

func shorten(s string) string { return s[:min(len(s), 60)] }

// A quote that stays open makes only its line bad, however long the file is.
func TestOpenQuote(t *testing.T) {
	var b strings.Builder
	b.WriteString(head)
	for i := range 5000 {
		if i == 100 {
			b.WriteString("99999,\"open\n")
		}
		fmt.Fprintf(&b, "%d,XB%d,heliport,\"N\",1,1,,,,,,,,,,,,,\n", i+1, i)
	}
	good, bad, err := collect(b.String())
	if err != nil || len(good) != 5000 || len(bad) != 1 || bad[0].Line != 102 {
		t.Errorf("%d good, %v, %v", len(good), bad, err)
	}
}

func TestNoTable(t *testing.T) {
	for _, text := range []string{
		"", "\n\n", "a,b,c\n1,2,3\n", "\"id\n", "{}", strings.Repeat("x", 3*MaxRecordBytes),
		"id,ident,type,name,latitude_deg\n1,A,heliport,B,1\n", "\x00\x01\x02", "PK\x03\x04",
	} {
		good, bad, err := collect(text)
		if err == nil || len(good)+len(bad) != 0 || !strings.Contains(err.Error(), "airports.csv") {
			t.Errorf("%.20q: %v, %v, %v", text, good, bad, err)
		}
	}
}

func TestReadError(t *testing.T) {
	broken := errors.New("broken")
	for _, text := range []string{"", "id,", head, head + row, head + row + "\n", head + `"`} {
		var last error
		for _, err := range Read(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), "f.csv") {
			last = err
		}
		if !errors.Is(last, broken) {
			t.Errorf("after %d bytes: %v", len(text), last)
		}
	}
}

func TestMember(t *testing.T) {
	for name, want := range map[string]bool{
		"airports.csv": true, "data/ourairports-airports.csv": true, "AIRPORTS.CSV": true,
		"runways.csv": false, "airports.txt": false, ".airports.csv": false, "airports/readme.csv": false,
	} {
		if IsTableMember(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}

func TestRealFile(t *testing.T) {
	f, err := source.OpenMember("../../../../../../shared/data/airports/ourairports-airports.csv.gz", IsTableMember)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the real file is not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	types := map[string]int{}
	n, iata, icao, namibia, elevations, ignored, scheduled := 0, 0, 0, 0, 0, 0, 0
	for rec, err := range Read(f, f.Path) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		types[rec.Type]++
		ignored += rec.Ignored
		for at, is := range map[*int]bool{
			&iata:       rec.IATA != "",
			&icao:       rec.ICAO != "",
			&namibia:    rec.Country == "NA",
			&elevations: rec.ElevationFt != nil,
			&scheduled:  rec.Scheduled,
		} {
			if is {
				*at++
			}
		}
		if rec.Ident == "KSFO" &&
			(rec.IATA != "SFO" || rec.Local != "SFO" || rec.City != "San Francisco" || rec.Region != "US-CA" || !rec.Scheduled) {
			t.Errorf("%+v", rec)
		}
	}
	want := map[string]int{
		"small_airport":  42579,
		"heliport":       22915,
		"closed":         13161,
		"medium_airport": 4095,
		"seaplane_base":  1260,
		"large_airport":  1182,
		"balloonport":    61,
	}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Error(diff)
	}
	if n != 85253 || iata != 9057 || icao != 9976 || namibia != 303 || n-elevations != 14767 || scheduled != 4424 {
		t.Errorf("%d rows: IATA %d, ICAO %d, Namibia %d, elevations %d, scheduled %d", n, iata, icao, namibia, elevations, scheduled)
	}
	t.Logf("%d fields ignored", ignored)
}

// FuzzRead compares the splitting into records with Go's reader, which agrees if the whole text is
// well-formed. It also searches for records that violate their documentation.
func FuzzRead(f *testing.F) {
	f.Add(head + row)
	f.Add(head + row + "\n\"a\",b\n\"\"\"\n,\",\",\r\n")
	f.Add("ident,type,name,latitude_deg,longitude_deg\nA,closed,\"B\nC\",1,2\n")
	f.Add("\"a\"\"b\",\"c\nd\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		for rec, err := range Read(strings.NewReader(text), "f") {
			var bad *source.BadRecord
			if err != nil {
				if errors.As(err, &bad) && (bad.Line < 2 || bad.Reason == "") {
					t.Fatalf("%+v", bad)
				}
				continue
			}
			if rec.Ident == "" || rec.Name == "" || rec.Line < 2 || !(rec.Lat >= -90 && rec.Lat <= 90) || !(rec.Lon >= -180 && rec.Lon <= 180) ||
				len(rec.IATA) != 0 && len(rec.IATA) != 3 || len(rec.ICAO) != 0 && len(rec.ICAO) != 4 {
				t.Fatalf("%+v", rec)
			}
		}

		if strings.HasPrefix(text, "\ufeff") || strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\r") ||
			strings.Count(text, "\n") >= maxLines || len(text) > 4<<10 {
			return // Go's reader sees other line ends in a lone \r, and a column in a byte order mark
		}
		theirs := csv.NewReader(strings.NewReader(text))
		theirs.FieldsPerRecord = -1
		want, err := theirs.ReadAll()
		if err != nil {
			return
		}
		ours := delimited.New(strings.NewReader(text), "f", format)
		for i := 0; ; i++ {
			_, err := ours.Next()
			if errors.Is(err, io.EOF) {
				if i != len(want) {
					t.Fatalf("%d records, want %d", i, len(want))
				}
				return
			}
			var fields []string
			if err == nil {
				var row [][]byte
				row, err = ours.Fields()
				for _, f := range row {
					fields = append(fields, string(f))
				}
			}
			if err != nil || i >= len(want) {
				t.Fatalf("record %d: %q, %v", i, fields, err)
			}
			if diff := cmp.Diff(want[i], fields); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

package geolite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/delimited"
	"quadrille/cmd/internal/testfile"
)

// These are hand-written rows in the columns of a GeoLite2 City set.
const (
	en = "geoname_id,locale_code,continent_code,continent_name,country_iso_code,country_name,subdivision_1_iso_code,subdivision_1_name,subdivision_2_iso_code,subdivision_2_name,city_name,metro_code,time_zone,is_in_european_union\n" +
		"6255148,en,EU,Europe,,,,,,,,,,0\n" +
		"2658434,en,EU,Europe,CH,Switzerland,,,,,,,Europe/Zurich,0\n" +
		"2657895,en,EU,Europe,CH,Switzerland,ZH,Zurich,,,,,Europe/Zurich,0\n" +
		"2657896,en,EU,Europe,CH,Switzerland,ZH,Zurich,112,\"Zürich, District\",Zurich,,Europe/Zurich,0\n" +
		"2661552,en,EU,Europe,CH,Switzerland,,Nameless,,,Bern,,Europe/Zurich,0\n" +
		"5128581,en,NA,\"North America\",US,\"United States\",NY,\"New York\",,,\"New York\",501,America/New_York,0\n" +
		"3017382,en,EU,Europe,FR,France,,,,,,,Europe/Paris,1\n"
	de = "geoname_id,locale_code,continent_code,continent_name,country_iso_code,country_name,subdivision_1_iso_code,subdivision_1_name,subdivision_2_iso_code,subdivision_2_name,city_name,metro_code,time_zone,is_in_european_union\n" +
		"2657896,de,EU,Europa,CH,Schweiz,ZH,\"Kanton Zürich\",112,,Zürich,,Europe/Zurich,0\n"
)

func TestPlaces(t *testing.T) {
	p := NewPlaces()
	bad := func(b *source.BadRecord) error { return b }
	for _, text := range []string{en, de} {
		if err := p.Read(strings.NewReader("\ufeff"+text), "x.csv", bad); err != nil {
			t.Fatal(err)
		}
	}
	p.Resolve()
	if p.Len() != 7 {
		t.Errorf("%d places", p.Len())
	}
	z := p.Find(2657896)
	if z == nil || z.Continent.ID != 6255148 || z.Continent.Names["de"] != "Europa" || z.Country.Code != "CH" ||
		z.Country.ID != 2658434 || z.Country.Names["de"] != "Schweiz" ||
		z.Subdivisions[0].Code != "ZH" || z.Subdivisions[0].ID != 2657895 || z.Subdivisions[0].Names["de"] != "Kanton Zürich" ||
		z.Subdivisions[1].Code != "112" || z.Subdivisions[1].ID != 0 ||
		z.Subdivisions[1].Names["en"] != "Zürich, District" || z.City.ID != 2657896 || z.City.Names["de"] != "Zürich" ||
		z.TimeZone != "Europe/Zurich" || z.EU {
		t.Errorf("%+v", z)
	}
	// A name that was read with another row.
	if c := p.Find(2658434); c.Country.Names["de"] != "Schweiz" || c.Country.ID != 2658434 || c.City.ID != 0 {
		t.Errorf("%+v", c)
	}
	if c := p.Find(2661552); c.Subdivisions[0].Names["en"] != "Nameless" || c.Subdivisions[0].ID != 0 {
		t.Errorf("%+v", c)
	}
	if c := p.Find(5128581); c.Metro != 501 || c.Continent.Code != "NA" {
		t.Errorf("%+v", c)
	}
	if c := p.Find(3017382); !c.EU {
		t.Errorf("%+v", c)
	}
	if p.Find(1) != nil {
		t.Error("a place nobody named")
	}
}

func TestBadPlaces(t *testing.T) {
	head, _, _ := strings.Cut(en, "\n")
	text := head + "\nx,en,EU\n0,en\n99999999999,en\n1,,EU\n\"1,en\n" + strings.Repeat("x", 2*maxLine) + "\n2,en,EU,Europe\n\n"
	var reasons []string
	p := NewPlaces()
	if err := p.Read(strings.NewReader(text), "x.csv", func(b *source.BadRecord) error {
		reasons = append(reasons, b.Reason)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{
		ReasonID,
		ReasonID,
		ReasonID,
		ReasonLanguage,
		delimited.ReasonQuotes,
		delimited.ReasonLong,
	}; !slices.Equal(reasons, want) || p.Len() != 1 {
		t.Errorf("%q, %d places", reasons, p.Len())
	}
	stop := errors.New("enough")
	if err := p.Read(strings.NewReader(text), "x.csv", func(*source.BadRecord) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	for _, text := range []string{"", "a,b\n", "\n\n"} {
		if err := NewPlaces().Read(strings.NewReader(text), "x.csv", nil); !errors.Is(err, errNoPlaces) {
			t.Errorf("%q: %v", text, err)
		}
	}
	broken := errors.New("disk on fire")
	if err := NewPlaces().Read(io.MultiReader(strings.NewReader(en), iotest.ErrReader(broken)), "x.csv", nil); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestOpen(t *testing.T) {
	files := map[string]string{
		"GeoLite2-City-Blocks-IPv4.csv": "b4", "GeoLite2-City-Blocks-IPv6.csv": "b6",
		"GeoLite2-City-Locations-de.csv": de, "GeoLite2-City-Locations-en.csv": en, "GeoLite2-City-Locations-pt-BR.csv": "", "README.txt": "x",
	}
	dir := filepath.Join(t.TempDir(), "GeoLite2-City-CSV_20260106")
	var members [][2]string
	for name, text := range files {
		testfile.Write(t, filepath.Join(dir, name), text)
		members = append(members, [2]string{"GeoLite2-City-CSV_20260106/" + name, text})
	}
	archive := testfile.WriteTemp(t, "download.zip", testfile.Zip(members...))
	for _, path := range []string{dir, archive} {
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var langs []string
		for _, m := range s.Locations {
			langs = append(langs, m.Language)
		}
		if s.Product != "GeoLite2-City" || !s.Released.Equal(time.Date(2026, 1, 6, 0, 0, 0, 0, time.UTC)) || len(s.Blocks) != 2 ||
			!slices.Equal(langs, []string{"en", "de", "pt-BR"}) || s.Blocks[0].Name != "GeoLite2-City-Blocks-IPv4.csv" {
			t.Errorf("%+v, %s", s, langs)
		}
		r, err := s.Blocks[1].Open()
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r); err != nil || string(b) != "b6" || s.Blocks[1].Size() == 0 {
			t.Errorf("%q, %v", b, err)
		}
		if err := errors.Join(r.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}
	testfile.Write(t, filepath.Join(dir, "GeoLite2-ASN-Blocks-IPv4.csv"), "")
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "folder of its own") {
		t.Error(err)
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "Blocks-IPv4.csv") {
		t.Error(err)
	}
	if _, err := Open("none"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func FuzzPlaces(f *testing.F) {
	f.Add([]byte(en))
	f.Add([]byte(de))
	f.Add([]byte("geoname_id,locale_code\n1,en\n\"1,en"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p := NewPlaces()
		if p.Read(bytes.NewReader(text), "x", func(b *source.BadRecord) error {
			if b.Reason == "" || b.Line < 1 {
				t.Fatalf("%+v", b)
			}
			return nil
		}) == nil {
			p.Resolve()
		}
	})
}

// The places take the estimated memory, and no more.
func TestPlacesMemory(t *testing.T) {
	dir := t.TempDir()
	header, _, _ := strings.Cut(en, "\n")
	for _, lang := range []string{"de", "en", "es", "fr", "ja", "pt-BR", "ru", "zh-CN"} {
		var b bytes.Buffer
		fmt.Fprintln(&b, header)
		for i := range 5_000 {
			city := ""
			if lang == "en" || i%4 == 0 { // most towns have a name in one language
				city = fmt.Sprintf("City %d in %s", i, lang)
			}
			fmt.Fprintf(&b, "%d,%s,EU,Europe (%s),FR,France (%s),R%d,Region %d (%s),%d,Department %d (%s),%s,,Europe/Paris,1\n",
				i+1, lang, lang, lang, i%13, i%13, lang, i%99, i%99, lang, city)
		}
		testfile.Write(t, filepath.Join(dir, "GeoLite2-City-Locations-"+lang+".csv"), b.Bytes())
	}
	testfile.Write(t, filepath.Join(dir, "GeoLite2-City-Blocks-IPv4.csv"), "network,geoname_id\n")
	set, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	p := NewPlaces()
	for _, m := range set.Locations {
		f, err := m.Open()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Read(f, m.Label(), func(b *source.BadRecord) error { return b }); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	p.Resolve()
	took := heap() - before
	t.Logf("%d bytes of files took %d bytes, said %d", set.PlacesMemory()/2, took, set.PlacesMemory())
	if took > set.PlacesMemory() || p.Len() != 5_000 {
		t.Errorf("%d places took %d bytes, not %d", p.Len(), took, set.PlacesMemory())
	}
}

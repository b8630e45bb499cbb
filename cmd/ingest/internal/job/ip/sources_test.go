package ip

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/iprecord"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/boundaries"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/job/places"
	"quadrille/cmd/ingest/internal/source/ipcsv"
	"quadrille/cmd/ingest/internal/source/mmdb"
	"quadrille/cmd/ingest/internal/source/mmdb/mmdbtest"
	"quadrille/cmd/internal/testfile"
	"quadrille/internal/testrace"
	"quadrille/ipgeo"
)

// answer returns the answer of the published generation and of its index for an address, without
// its network. It returns "" if there is no answer.
func answer(t *testing.T, c *dataset.Catalog, addr string) string {
	t.Helper()
	g, r := ipReader(t, c)
	ix, err := ipgeo.OpenIndex(filepath.Join(g.Dir, ipgeo.IndexFileName))
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	var res, again ipgeo.Result
	err = r.Lookup(t.Context(), netip.MustParseAddr(addr), &res)
	errAgain := ix.Lookup(t.Context(), netip.MustParseAddr(addr), &again)
	if !bytes.Equal(res.JSON, again.JSON) || (err == nil) != (errAgain == nil) {
		t.Fatalf("%s: table %s, %v; index %s, %v", addr, res.JSON, err, again.JSON, errAgain)
	}
	if errors.Is(err, ipgeo.ErrNotFound) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal([]byte("{"+string(res.JSON)+"}"), &m); err != nil {
		t.Fatal(err)
	}
	delete(m["traits"].(map[string]any), "network")
	if len(m["traits"].(map[string]any)) == 0 {
		delete(m, "traits")
	}
	if l, ok := m["location"].(map[string]any); ok {
		delete(l, "quadkey")
	}
	delete(m, "quadkey")
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func mmdbFile(t testing.TB, name string, d *mmdbtest.Database) job.Input {
	in := ipFile(t, name, string(d.Bytes()))
	return in
}

const (
	locationsEN = "geoname_id,locale_code,continent_code,continent_name,country_iso_code,country_name,subdivision_1_iso_code,subdivision_1_name,subdivision_2_iso_code,subdivision_2_name,city_name,metro_code,time_zone,is_in_european_union\n" +
		"2658434,en,EU,Europe,CH,Switzerland,,,,,,,Europe/Zurich,0\n" +
		"2657896,en,EU,Europe,CH,Switzerland,ZH,Zurich,,,Zürich,,Europe/Zurich,0\n" +
		"3017382,en,EU,Europe,FR,France,,,,,,,Europe/Paris,1\n"
	locationsDE = "geoname_id,locale_code,continent_code,continent_name,country_iso_code,country_name,subdivision_1_iso_code,subdivision_1_name,subdivision_2_iso_code,subdivision_2_name,city_name,metro_code,time_zone,is_in_european_union\n" +
		"2657896,de,EU,Europa,CH,Schweiz,ZH,Kanton Zürich,,,Zürich,,Europe/Zurich,0\n"
	blocksHead = "network,geoname_id,registered_country_geoname_id,represented_country_geoname_id,is_anonymous_proxy,is_satellite_provider,postal_code,latitude,longitude,accuracy_radius,is_anycast\n"
	blocks4    = blocksHead +
		"1.0.0.0/24,2657896,3017382,,0,0,8001,47.3667,8.55,10,\n1.0.1.0/24,99,,,0,0,,,,,\n1.0.2.0/24,,3017382,,0,1,,,,,\n"
	blocks6 = blocksHead + "2001:200::/32,3017382,3017382,,0,0,,48.8,2.3,500,1\n"
)

func TestIPGeoLiteSet(t *testing.T) {
	files := map[string]string{"GeoLite2-City-Blocks-IPv4.csv": blocks4, "GeoLite2-City-Blocks-IPv6.csv": blocks6,
		"GeoLite2-City-Locations-en.csv": locationsEN, "GeoLite2-City-Locations-de.csv": locationsDE, "COPYRIGHT.txt": "x"}
	dir := filepath.Join(t.TempDir(), "GeoLite2-City-CSV_20260106")
	var members [][2]string
	for name, text := range files {
		testfile.Write(t, filepath.Join(dir, name), text)
		members = append(members, [2]string{"GeoLite2-City-CSV_20260106/" + name, text})
	}
	for _, in := range []job.Input{{Path: dir}, ipFile(t, "set.zip", testfile.Zip(members...))} {
		c := jobtest.Catalog(t)
		m, err := ipJob(t, c, job.Options{MaxBad: 0.5}, in)
		if err != nil {
			t.Fatal(err)
		}
		want := `{"city":{"geoname_id":2657896,"names":{"de":"Zürich","en":"Zürich"}},"continent":{"code":"EU","names":{"de":"Europa","en":"Europe"}},` +
			`"country":{"geoname_id":2658434,"iso_code":"CH","names":{"de":"Schweiz","en":"Switzerland"}},` +
			`"location":{"accuracy_radius":10,"latitude":47.3667,"longitude":8.55,"time_zone":"Europe/Zurich"},"postal":{"code":"8001"},` +
			`"registered_country":{"geoname_id":3017382,"is_in_european_union":true,"iso_code":"FR","names":{"en":"France"}},` +
			`"subdivisions":[{"iso_code":"ZH","names":{"de":"Kanton Zürich","en":"Zurich"}}]}`
		if got := answer(t, c, "1.0.0.9"); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		if got := answer(t, c, "1.0.2.1"); !strings.Contains(got, `"registered_country":{"geoname_id":3017382`) ||
			!strings.Contains(got, `"is_satellite_provider":true`) {
			t.Error(got)
		}
		if got := answer(t, c, "2001:200::1"); !strings.Contains(got, `"is_anycast":true`) ||
			!strings.Contains(got, `"country":{"geoname_id":3017382,"is_in_european_union":true`) {
			t.Error(got)
		}
		if answer(t, c, "1.0.1.1") != "" || m.Bad[iprecord.ReasonPlace] != 1 {
			t.Errorf("bad %v", m.Bad)
		}
		s := m.Sources[0]
		if s.Name != "GeoLite2-City" || !s.Modified.Equal(time.Date(2026, 1, 6, 0, 0, 0, 0, time.UTC)) || s.License == "" ||
			!strings.Contains(s.Attribution, "MaxMind") || s.SHA256 == "" || s.Records != 3 {
			t.Errorf("%+v", s)
		}
		if in.Path == dir && len(m.Sources) != 4 || in.Path != dir && len(m.Sources) != 1 {
			t.Errorf("%d sources", len(m.Sources))
		}
	}
	c := jobtest.Catalog(t)
	if _, err := ipJob(t, c, job.Options{Memory: 1000}, job.Input{Path: dir}); err == nil ||
		!strings.Contains(err.Error(), "give --memory 1MiB") {
		t.Error(err)
	}
	if _, err := ipJob(t, c, job.Options{}, job.Input{Path: filepath.Join(dir, "GeoLite2-City-Blocks-IPv4.csv")}); err == nil ||
		!strings.Contains(err.Error(), dir) {
		t.Error(err)
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "GeoLite2-City-Locations-en.csv")),
		os.Remove(filepath.Join(dir, "GeoLite2-City-Locations-de.csv"))); err != nil {
		t.Fatal(err)
	}
	if _, err := ipJob(t, c, job.Options{}, job.Input{Path: dir}); err == nil || !strings.Contains(err.Error(), "Locations-en.csv") {
		t.Error(err)
	}
}

// TestIPSeveralSources uses sources of all kinds at once: each field comes from the first source
// that has it.
func TestIPSeveralSources(t *testing.T) {
	city := &mmdbtest.Database{Type: "GeoLite2-City", IPVersion: 6, Epoch: 1800000000, Entries: []mmdbtest.Entry{
		{
			Network: "9.0.0.0/8",
			Data: map[string]any{
				"country": map[string]any{"iso_code": "CH"},
				"city":    map[string]any{"names": map[string]any{"en": "Bern"}},
				"new":     uint32(7),
			},
		},
		{Network: "10.0.0.0/8", Data: map[string]any{"country": map[string]any{"iso_code": "CH"}}},
		{Network: "9.9.9.0/24", Data: map[string]any{"country": map[string]any{"iso_code": 1.5}}},
	}}
	asn := &mmdbtest.Database{Type: "DBIP-ASN-Lite", IPVersion: 4, Epoch: 1700000000, Entries: []mmdbtest.Entry{
		{Network: "9.0.0.0/9", Data: map[string]any{"autonomous_system_number": uint32(64512), "autonomous_system_organization": "A\"<b>"}},
	}}
	feed := ipFile(t, "geofeed.csv", "# a feed\n9.1.0.0/16,CH,CH-ZH,Zürich,8001\n9.2.0.0/16,FR,,,\n")
	var rep ipReport
	c := jobtest.Catalog(t)
	m, err := ipJob(t, c, job.Options{MaxBad: 0.1, Reporter: &rep}, feed, mmdbFile(t, "city.mmdb.gz", city), mmdbFile(t, "asn.mmdb", asn))
	if err != nil {
		t.Fatal(err)
	}
	country := `"continent":{"code":"EU","names":{"en":"Europe"}},"country":{"iso_code":"CH","names":{"en":"Switzerland"}}`
	for addr, want := range map[string]string{
		"9.1.2.3": `{"city":{"names":{"en":"Zürich"}},` + country +
			`,"extra":{"new":7},"postal":{"code":"8001"},"subdivisions":[{"iso_code":"ZH"}],"traits":{"autonomous_system_number":64512,"autonomous_system_organization":"A\"\u003cb\u003e"}}`,
		"9.128.0.0": `{"city":{"names":{"en":"Bern"}},` + country + `,"extra":{"new":7}}`,
		"9.9.9.9":   `{"traits":{"autonomous_system_number":64512,"autonomous_system_organization":"A\"\u003cb\u003e"}}`,
		"8.0.0.0":   "",
	} {
		if got := answer(t, c, addr); got != want {
			t.Errorf("%s: %s\nwant %s", addr, got, want)
		}
	}
	if m.Bad[iprecord.ReasonType] != 1 || len(m.Bad) != 1 || !slices.Contains(rep.bad, iprecord.ReasonType+" 1, first line 5") {
		t.Errorf("bad %v, %q", m.Bad, rep.bad)
	}
	if len(m.Sources) != 3 || m.Sources[1].Name != "GeoLite2-City" || !m.Sources[1].Modified.Equal(time.Unix(1800000000, 0)) ||
		m.Sources[2].License != "CC-BY-4.0" || m.Sources[1].SHA256 == "" {
		t.Errorf("%+v", m.Sources)
	}
	for _, row := range ipRows(t, c) {
		if !strings.Contains(row, "@1800000000000 ") {
			t.Errorf("row %s is not of its newest source's age", row)
		}
	}
	for _, f := range m.Files {
		if strings.Contains(f.Path, "unpacked") {
			t.Errorf("%s is part of the generation", f.Path)
		}
	}
	if !slices.ContainsFunc(m.Files, func(f dataset.File) bool { return f.Path == ipgeo.IndexFileName }) {
		t.Error("no index file")
	}
}

func TestIPSourceErrors(t *testing.T) {
	packed := testfile.Gzip(strings.Repeat("9.0.0.0/8,CH\n", 9))
	unknown := &mmdbtest.Database{
		Type:      "Mine",
		IPVersion: 4,
		Entries:   []mmdbtest.Entry{{Network: "9.0.0.0/8", Data: map[string]any{"a": "b"}}},
	}
	for name, tc := range map[string]struct {
		in   job.Input
		want string
		is   error
	}{
		"zip of nothing":   {ipFile(t, "x.zip", testfile.Zip([2]string{"readme.txt"})), "holds no .mmdb, .csv, .tsv or .json", nil},
		"folder":           {job.Input{Path: t.TempDir()}, "Blocks-IPv4.csv", nil},
		"binary":           {ipFile(t, "x.bin", "\x00\x01\x02\x03"), "x.bin", mmdb.ErrDamaged},
		"page of an error": {ipFile(t, "x.mmdb", "\n<!DOCTYPE html>\n<html>\n"), "a page in HTML", nil},
		"a message":        {ipFile(t, "x.mmdb", "Invalid license key\n"), `"Invalid license key"`, nil},
		"an empty file":    {ipFile(t, "x.csv", ""), "is empty", nil},
		"JSON":             {ipFile(t, "x.csv", "{\"error\": \"expired\"}"), `{\"error\": \"expired\"}`, nil},
		"of a crawler":     {ipFile(t, "x.json", `{"creationTime":"","prefixes":[{"ipv4Prefix":"9.0.0.0/24"}]}`), "jq -r", ipcsv.ErrColumns},
		"a late list": {
			ipFile(t, "x.json", strings.Repeat(" ", 600)+`{"prefixes":[{"ipv4Prefix":"9.0.0.0/24"}]}`),
			`begins with "{\"prefixes\"`,
			ipcsv.ErrColumns,
		},
		"other JSON": {ipFile(t, "x.json", `{"features":[`+strings.Repeat("{},\n", 2000)+"oops"), "no list of networks", ipcsv.ErrColumns},
		"a huge entry": {
			ipFile(t, "x.json", "{\"values\":[\n{\"properties\":{\"addressPrefixes\":[\""+strings.Repeat("9", 5<<20)+"\"]}}]}"),
			"line 2: an entry of more than 4 MiB",
			nil,
		},
		"JSON cut off": {ipFile(t, "x.json", `{"prefixes":[{"ip_prefix":"9.0.0.0/24"},`), "truncated", nil},
		"a workbook": {
			ipFile(t, "x.xlsx", testfile.Zip([2]string{"xl/workbook.xml", "x"}, [2]string{"[Content_Types].xml", "x"})),
			"x.xlsx: ",
			nil,
		},
		"a list without networks": {ipFile(t, "x.json", `[{"a":1}]`), "does not begin with an object that has a network", nil},
		"a BIN":                   {ipFile(t, "x.BIN", "\x01\x02\x1a\x0b\x14\x02"+strings.Repeat("\x00", 90)), "BIN file of IP2Location", nil},
		"objects of firsts":       {ipFile(t, "x.ndjson", `{"ip":"9.0.0.0","country":"DE"}`+"\n"), "behind it, /32 if", nil},
		"firsts of numbers":       {ipFile(t, "x.ndjson", `{"ip":150994944,"country":"DE"}`+"\n"), "behind it, /32 if", nil},
		"networks alone":          {ipFile(t, "x.txt", "9.0.0.0/24\n9.0.2.0/24\n"), "--columns network,country=DE", ipcsv.ErrColumns},
		"addresses alone":         {ipFile(t, "x.txt", "# exits\n9.0.0.1\n9.0.2.1\n"), "--columns network,country=DE", ipcsv.ErrColumns},
		"Parquet":                 {ipFile(t, "x.gz", "PAR1\x15\x04\x15"), "x.gz: ", nil},
		"UTF-32":                  {ipFile(t, "x.csv", "\xff\xfe\x00\x00n\x00\x00\x00"), "iconv", nil},
		"cut UTF-16":              {ipFile(t, "x.csv", "\x00n\x00e\x00t\x00,\x00c\x00"), "ends within a character of UTF-16", nil},
		"a cut header":            {ipFile(t, "x.csv", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"), "truncated", nil},
		"a cut archive":           {ipFile(t, "x.csv", packed[:len(packed)/2]), "truncated", nil},
		"Latin-1":                 {ipFile(t, "x.csv", "network,city\n9.0.0.0/8,M\xfcnchen\n"), "x.csv:2: not UTF-8", nil},
		"unknown columns":         {ipFile(t, "x.csv", "9.0.0.0,9.0.0.1,1.5,x\n"), "--columns", ipcsv.ErrColumns},
		"unknown fields":          {mmdbFile(t, "x.mmdb", unknown), "no schema knows (a)", nil},
	} {
		c := jobtest.Catalog(t)
		_, err := ipJob(t, c, job.Options{MaxBad: 1}, tc.in)
		if err == nil || !strings.Contains(err.Error(), tc.want) || tc.is != nil && !errors.Is(err, tc.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestIPColumnsGiven(t *testing.T) {
	columns, err := ipcsv.ParseColumns("extra.shop,network,-,country")
	if err != nil {
		t.Fatal(err)
	}
	c := jobtest.Catalog(t)
	if _, err := Ingest(t.Context(), c, []Input{{Input: ipFile(t, "x.csv", "A,9.0.0.0/8,z,CH\n"), Columns: columns}}, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := answer(t, c, "9.1.1.1"); !strings.Contains(got, `"extra":{"shop":"A"}`) {
		t.Error(got)
	}
	_, err = Ingest(t.Context(), c, []Input{{
		Input:   ipFile(t, "x.json", `{"prefixes":[{"ip_prefix":"9.0.0.0/24"}]}`),
		Columns: columns,
	}}, Options{})
	if err == nil || !strings.Contains(err.Error(), "leave --columns out") {
		t.Error(err)
	}
}

// TestIPPrivateNetworksOfLists tests lists for which --columns gives a field the same value in all
// rows. With the option for private networks, such lists may locate them, but databases may not.
func TestIPPrivateNetworksOfLists(t *testing.T) {
	columns, err := ipcsv.ParseColumns("network,country=DE,extra.list=offices")
	if err != nil {
		t.Fatal(err)
	}
	database := &mmdbtest.Database{
		Type:      "GeoLite2-Country",
		IPVersion: 4,
		Entries:   []mmdbtest.Entry{{Network: "0.0.0.0/1", Data: map[string]any{"country": map[string]any{"iso_code": "US"}}}},
	}
	for _, keep := range []bool{false, true} {
		c := jobtest.Catalog(t)
		inputs := []Input{
			{Input: ipFile(t, "x.txt", "10.0.0.0/9\nfd00::-fd00::ff\n9.0.0.0/24\n127.0.0.0/8\n"), Columns: columns},
			{Input: mmdbFile(t, "x.mmdb", database)},
		}
		var rep ipReport
		if _, err := Ingest(t.Context(), c, inputs, Options{Options: job.Options{Reporter: &rep}, KeepPrivate: keep}); err != nil {
			t.Fatal(err)
		}
		if advised := strings.Contains(strings.Join(rep.notes, "\n"), "--keep-private"); advised == keep {
			t.Errorf("private networks kept: %v; noted %q", keep, rep.notes)
		}
		_, r := ipReader(t, c)
		for addr, located := range map[string]bool{
			"9.0.0.1":    true,
			"10.0.0.1":   keep,
			"fd00::1":    keep,
			"10.128.0.1": false,
			"127.0.0.1":  false,
			"100.64.0.1": false,
		} {
			switch got, reserved := ipAnswer(t, r, netip.MustParseAddr(addr)); {
			case reserved == located,
				located && (got["country"].(map[string]any)["iso_code"] != "DE" || got["extra"].(map[string]any)["list"] != "offices"):
				t.Errorf("private networks kept: %v; %s: %v, reserved %v", keep, addr, got, reserved)
			}
		}
	}
}

// These are two countries, two states of which one has no code, and a time zone.
const (
	fijiSquare = `{"type":"FeatureCollection","features":[
{"type":"Feature","properties":{"tzid":"Pacific/Fiji"},"geometry":{"type":"Polygon","coordinates":[[[177.8,-18.2],[178.2,-18.2],[178.2,-17.8],[177.8,-17.8],[177.8,-18.2]]]}}]}`
	countrySquares = `{"type":"FeatureCollection","features":[
{"type":"Feature","properties":{"name":"Switzerland","iso_a2":"CH"},"geometry":{"type":"Polygon","coordinates":[[[7,46.5],[7.8,46.5],[7.8,47.2],[7,47.2],[7,46.5]]]}},
{"type":"Feature","properties":{"name":"Fiji","iso_a2":"FJ"},"geometry":{"type":"Polygon","coordinates":[[[177.8,-18.2],[178.2,-18.2],[178.2,-17.8],[177.8,-17.8],[177.8,-18.2]]]}}]}`
	stateSquares = `{"type":"FeatureCollection","features":[
{"type":"Feature","properties":{"name":"Bern","iso_3166_2":"CH-BE"},"geometry":{"type":"Polygon","coordinates":[[[7.2,46.7],[7.6,46.7],[7.6,47],[7.2,47],[7.2,46.7]]]}},
{"type":"Feature","properties":{"name":"West Isles"},"geometry":{"type":"Polygon","coordinates":[[[177.8,-18.2],[178.2,-18.2],[178.2,-17.8],[177.8,-17.8],[177.8,-18.2]]]}}]}`
)

func TestIPDerive(t *testing.T) {
	c := jobtest.Catalog(t)
	if _, err := boundaries.Ingest(t.Context(), c, []boundaries.Input{
		{
			Type:  "country",
			Input: jobtest.Input(testfile.WriteTemp(t, "countries.geojson", countrySquares)),
		}, {Type: "state", Input: jobtest.Input(testfile.WriteTemp(t, "states.geojson", stateSquares))},
		{Type: "timezone", Input: jobtest.Input(testfile.WriteTemp(t, "zones.geojson", fijiSquare))},
	}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := places.Ingest(t.Context(), c, []places.Input{{Input: job.Input{
		Path:   testfile.WriteTemp(t, "places.txt", jobtest.RowBern),
		Credit: job.GeoNames,
	}}}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	list := ipFile(t, "x.csv", "network,country,latitude,longitude,region_name,timezone\n"+
		"9.0.0.0/24,CH,46.9,7.4,,\n"+
		"9.0.1.0/24,,46.9,7.4,,\n"+
		"9.0.2.0/24,CH,46.9,7.4,Own,Europe/Vaduz\n"+
		"9.0.3.0/24,FR,46.9,7.4,,\n"+ // beyond its border
		"9.0.4.0/24,FJ,-18,178,,\n"+ // a state without a code
		"9.0.5.0/24,CH,,,,\n"+
		"9.0.6.0/24,BR,0,-40,,\n") // no region there
	run := func(derive bool) dataset.Manifest {
		m, err := Ingest(t.Context(), c, []Input{{Input: list}}, Options{Derive: derive})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := run(true)
	type derived struct {
		Country struct {
			ISO string `json:"iso_code"`
		}
		Subdivisions []struct {
			ISO   string `json:"iso_code"`
			Names map[string]string
		}
		Location struct {
			Zone string `json:"time_zone"`
		}
		Derived []string
	}
	var got []string
	for i := range 7 {
		var d derived
		if err := json.Unmarshal([]byte(answer(t, c, netip.AddrFrom4([4]byte{9, 0, byte(i), 1}).String())), &d); err != nil {
			t.Fatal(err)
		}
		sub := ""
		for _, s := range d.Subdivisions {
			sub += s.ISO + ":" + s.Names["en"]
		}
		got = append(got, strings.Join([]string{d.Country.ISO, sub, d.Location.Zone, strings.Join(d.Derived, " ")}, " | "))
	}
	want := []string{
		"CH | BE:Bern | Europe/Zurich | location.time_zone subdivisions",
		"CH | BE:Bern | Europe/Zurich | country location.time_zone subdivisions",
		"CH | :Own | Europe/Vaduz | ",
		"FR |  | Europe/Zurich | location.time_zone",
		"FJ | :West Isles | Pacific/Fiji | location.time_zone subdivisions",
		"CH |  |  | ",
		"BR |  |  | ",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if !slices.ContainsFunc(m.Sources, func(s dataset.Source) bool { return s.Name == "GeoNames" && s.Attribution != "" }) {
		t.Errorf("whose data was used for it is not told: %+v", m.Sources)
	}
	run(false)
	if got := answer(t, c, "9.0.0.1"); strings.Contains(got, "derived") || strings.Contains(got, "time_zone") {
		t.Error(got)
	}
}

// A state without an ISO code takes the code of the GeoNames division with the same name, in
// countries for which GeoNames uses ISO codes.
func TestIPDivisionCode(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	const division = "CH.BE\tBern\tBern\t2661551\nFJ.C\tWest Isles\tWest Isles\t2194371\n"
	for name, want := range map[string]string{"Bern": "BE", "BERN": "BE", "Bernina": ""} {
		c := jobtest.Catalog(t)
		states := strings.NewReplacer("CH-BE", "", `"Bern"`, `"`+name+`"`).Replace(stateSquares)
		if _, err := boundaries.Ingest(t.Context(), c, []boundaries.Input{
			{
				Type:  "country",
				Input: jobtest.Input(testfile.WriteTemp(t, "countries.geojson", countrySquares)),
			}, {Type: "state", Input: jobtest.Input(testfile.WriteTemp(t, "states.geojson", states))},
		}, job.Options{}); err != nil {
			t.Fatal(err)
		}
		if _, err := places.Ingest(t.Context(), c, []places.Input{
			{Input: job.Input{Path: testfile.WriteTemp(t, "places.txt", jobtest.RowBern+"\n"+jobtest.RowSuva)}},
			{Input: job.Input{Path: testfile.WriteTemp(t, "admin1CodesASCII.txt", division)}},
		}, job.Options{}); err != nil {
			t.Fatal(err)
		}
		list := ipFile(t, "x.csv", "network,country,latitude,longitude\n9.0.0.0/24,CH,46.9,7.4\n9.0.1.0/24,FJ,-18,178\n")
		if _, err := Ingest(t.Context(), c, []Input{{Input: list}}, Options{Derive: true}); err != nil {
			t.Fatal(err)
		}
		for addr, code := range map[string]string{"9.0.0.1": want, "9.0.1.1": ""} {
			var d struct {
				Subdivisions []struct {
					ISO string `json:"iso_code"`
				}
			}
			if err := json.Unmarshal([]byte(answer(t, c, addr)), &d); err != nil {
				t.Fatal(err)
			}
			if len(d.Subdivisions) != 1 || d.Subdivisions[0].ISO != code {
				t.Errorf("%s, %s: %+v, want the code %q", name, addr, d.Subdivisions, code)
			}
		}
	}
}

func TestIPCheck(t *testing.T) {
	c := jobtest.Catalog(t)
	var rep ipReport
	var told []Change
	run := func(text string, most float64) (dataset.Manifest, error) {
		told = nil
		return Ingest(t.Context(), c, []Input{{Input: ipFile(t, "x.csv", text)}}, Options{
			Options: job.Options{Reporter: &rep, MaxChange: &most}, OnCompared: func(ch Change) { told = append(told, ch) }})
	}
	if _, err := run("9.0.0.0/24,CH\n", 0); err != nil || told != nil ||
		!slices.ContainsFunc(rep.notes, func(n string) bool { return strings.Contains(n, "nothing to compare") }) {
		t.Fatal(err, told, rep.notes)
	}
	// A quarter of the ranges has changed, a quarter was removed, and a quarter was added; IPv6 is
	// new.
	before := ipRows(t, c)
	next := "9.0.0.0/26,FR\n9.0.0.64/26,CH\n9.0.0.128/26,CH\n9.0.1.0/26,CH\n2001:200::/32,JP\n"
	_, err := run(next, 0.5)
	var refused *ChangeError
	if !errors.As(err, &refused) || refused.Version != "IPv4" || refused.Published != 1 || len(told) != 1 {
		t.Fatal(err)
	}
	if want := (Shares{Added: 0.2, Removed: 0.2, Changed: 0.2}); refused.Shares != want || told[0].OldRows != 1 || told[0].NewRows != 4 {
		t.Errorf("%+v, %+v", refused.Shares, told[0])
	}
	if !strings.Contains(err.Error(), "60% of the IPv4") || !strings.Contains(err.Error(), "larger --max-change") {
		t.Error(err)
	}
	if !slices.Equal(ipRows(t, c), before) {
		t.Error("something was published")
	}
	if m, err := run(next, 0.61); err != nil || m.Generation != 2 {
		t.Error(m.Generation, err)
	}
	if m, err := run(next, 0); err != nil || m.Generation != 3 {
		t.Error("the same again:", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Ingest(cancelled, c, []Input{{Input: ipFile(t, "x.csv", next)}}, Options{Check: true}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{0: "0%", 1: "100%", 0.123456: "12.3%", 0.0005: "0.05%", 1e-9: "under 0.01%"} {
		if got := job.Percent(share); got != want {
			t.Errorf("%v: %s", share, got)
		}
	}
}

// The answers match the meaning of users' files. Each case has a set of files in order, the answers
// by address, and the reported losses.
func TestIPAsItIsMeant(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	for name, tc := range map[string]struct {
		files []string
		want  map[string]string // members of the answer, as JSON, that must be there; "" for no answer
		lost  string            // the reported loss
	}{
		"a blank row in a wider network of a geofeed": {[]string{"9.0.0.0/16,US,US-CA,Los Angeles,\n9.0.2.0/24,,,,\n9.0.3.0/24,ZZ,,,\n"},
			map[string]string{"9.0.1.1": `"iso_code":"CA"`, "9.0.2.1": "", "9.0.3.1": ""}, ""},
		"of which another source knows something": {[]string{"9.0.0.0/16,US,US-CA,Los Angeles,\n9.0.2.0/24,,,,\n",
			"network,country\n9.0.0.0/8,MX\n"},
			map[string]string{"9.0.1.1": `"iso_code":"US"`, "9.0.2.1": `"iso_code":"MX"`}, ""},
		"a blank row of another list": {
			[]string{"network,country,city,shop\n9.0.0.0/16,US,Reno,\n9.0.2.0/24,,,\n"},
			map[string]string{"9.0.2.1": `"en":"Reno"`},
			"",
		},
		"a region of another country": {[]string{"9.0.0.0/24,PR,US-PR,San Juan,\n9.0.1.0/24,US,US-NY,,\n"},
			map[string]string{"9.0.0.1": `{"city":{"names":{"en":"San Juan"}},"continent"`},
			iprecord.ReasonRegion + " 1, first line 1"},
		"a stray control character": {
			[]string{"9.0.0.0/24,US,US-CA,Fres\x00no,\n9.0.1.0/24,US,US-CA,Fresno,\n"},
			map[string]string{"9.0.1.1": `"en":"Fresno"`},
			"",
		},
		"the same network again": {
			[]string{"9.0.0.0/24,US,US-CA,Fresno,\n9.0.0.0/24,DE,DE-BE,Berlin,\n"},
			map[string]string{"9.0.0.1": `"en":"Fresno"`},
			reasonAgain + " 1, first line 2",
		},
		"a region of another country in the same network again": {[]string{"9.0.0.0/24,US,US-CA,Fresno,\n9.0.0.0/24,PR,US-PR,San Juan,\n"}, map[string]string{"9.0.0.1": `"en":"Fresno"`},
			iprecord.ReasonRegion + " 1, first line 2; " + reasonAgain + " 1, first line 2"},
		"a region of no country and nothing more": {[]string{"9.0.0.0/16,US,US-CA,Fresno,\n9.0.2.0/24,,QQ-AB,,\n"},
			map[string]string{"9.0.1.1": `"en":"Fresno"`, "9.0.2.1": ""},
			iprecord.ReasonRegion + " 1, first line 2"},
		"of a list that is no feed": {[]string{"network,country,region,shop\n9.0.0.0/16,US,US-CA,\n9.0.2.0/24,,QQ-AB,\n"},
			map[string]string{"9.0.2.1": `"iso_code":"CA"`},
			iprecord.ReasonRegion + " 1, first line 3"},
		"a feed before a database of another city": {[]string{"9.0.0.0/24,GB,GB-EDH,Edinburgh,\n",
			"network,country,region,city,postal,latitude,longitude,accuracy_radius\n9.0.0.0/16,GB,GB-ENG,London,E1,51.5,-0.1,10\n"},
			map[string]string{"9.0.0.1": `{"city":{"names":{"en":"Edinburgh"}},"continent":{"code":"EU","names":{"en":"Europe"}},"country":{"iso_code":"GB","names":{"en":"United Kingdom"}},"subdivisions":[{"iso_code":"EDH"}]}`,
				"9.0.1.1": `"accuracy_radius":10,"latitude":51.5`}, ""},
		"a bare code before names": {
			[]string{"9.0.0.0/24,GB,,,\n", "network,country,country_name\n9.0.0.0/16,GB,Britain\n"},
			map[string]string{"9.0.0.1": `"names":{"en":"Britain"}`},
			"",
		},
		"two lists of systems": {[]string{"network,asn\n9.0.0.0/24,13335\n", "network,asn,as_name\n9.0.0.0/16,3320,Any AG\n"},
			map[string]string{"9.0.0.1": `{"traits":{"autonomous_system_number":13335}}`, "9.0.1.1": `"Any AG"`}, ""},
		"a registry's delegations": {[]string{"2|apnic|20260101|5|19830613|20251231|+1000\napnic|*|ipv4|*|2|summary\napnic|JP|asn|173|1|20020801|allocated\n" +
			"apnic|AU|ipv4|9.0.0.0|768|20110811|assigned|A91\napnic||ipv4|9.0.3.0|256||available\napnic|ZZ|ipv4|9.0.4.0|256||reserved|\napnic|DE|ipv4|9.0.5.0|256||reserved|\napnic|JP|ipv6|2003::|32|19990813|allocated\n"},
			map[string]string{
				"9.0.2.255":     `"iso_code":"AU"`,
				"9.0.3.0":       "",
				"9.0.4.0":       "",
				"9.0.5.0":       "",
				"2003:0:ffff::": `"iso_code":"JP"`,
				"2003:1::":      "",
			}, ""},
		"networks of Amazon": {[]string{`{"syncToken":"1","prefixes":[{"ip_prefix":"9.0.0.0/24","region":"eu-west-1","service":"AMAZON"},{"ip_prefix":"9.0.0.0/24","region":"eu-west-1","service":"EC2"}],
			"ipv6_prefixes":[{"ipv6_prefix":"2003::/32","region":"GLOBAL","service":"S3"}]}`}, map[string]string{
			"9.0.0.1": `{"extra":{"region":"eu-west-1","service":"EC2"},"traits":{"is_hosting_provider":true,"organization":"Amazon"}}`,
			"2003::1": `"service":"S3"`}, ""},
		"networks of Amazon in another order": {[]string{`{"prefixes":[{"ip_prefix":"9.0.0.0/24","region":"us-east-1","service":"EC2"},{"ip_prefix":"9.0.0.0/24","region":"us-east-1","service":"AMAZON"},
			{"ip_prefix":"9.0.1.0/24","region":"us-east-1","service":"S3"},{"ip_prefix":"9.0.1.0/24","region":"us-east-1","service":"EC2"},{"ip_prefix":"9.0.2.0/24","region":"us-east-1","service":"EC2"},
			{"ip_prefix":"9.0.3.0/24","region":"us-east-1","service":"AMAZON"},{"ip_prefix":"9.0.4.0/24","region":"eu-west-1","service":"EC2"},{"ip_prefix":"9.0.4.0/24","region":"GLOBAL","service":"EC2"}]}`}, map[string]string{
			"9.0.0.1": `"service":"EC2"`,
			"9.0.1.1": `"service":"S3"`,
			"9.0.2.1": `"service":"EC2"`,
			"9.0.3.1": `"service":"AMAZON"`,
			"9.0.4.1": `"region":"eu-west-1"`}, ""},
		"networks of Google": {[]string{`{"creationTime":"","prefixes":[{"ipv4Prefix":"9.0.0.0/24","service":"Google Cloud","scope":"asia-east1"},{"ipv6Prefix":"2003::/32","service":"Google Cloud","scope":"global"}]}`,
			`{"prefixes":[{"ipv4Prefix":"9.0.0.0/16"}],"syncToken":"1"}`},
			map[string]string{"9.0.0.1": `"extra":{"region":"asia-east1","service":"Google Cloud"}`,
				"2003::1": `"organization":"Google"`,
				"9.0.1.1": `{"traits":{"is_hosting_provider":true,"organization":"Google"}}`}, ""},
		"networks of Azure": {[]string{`{"values":[{"name":"AzureCloud","properties":{"region":"","systemService":"","addressPrefixes":["9.0.0.0/24","9.0.1.0/24"]}},
			{"name":"SQL.EastUS","properties":{"region":"eastus","systemService":"SQL","addressPrefixes":["9.0.0.0/24"]}},
			{"name":"AzureCloud.eastus","properties":{"region":"eastus","systemService":"","addressPrefixes":["9.0.0.0/24"]}}]}`}, map[string]string{
			"9.0.0.1": `"extra":{"region":"eastus","service":"SQL"}`,
			"9.0.1.1": `{"traits":{"is_hosting_provider":true,"organization":"Microsoft"}}`}, ""},
		"bars and semicolons": {
			[]string{"9.0.0.0/24|DE\n", "9.0.1.0;9.0.1.255;US\n"},
			map[string]string{"9.0.0.1": `"iso_code":"DE"`, "9.0.1.1": `"iso_code":"US"`},
			"",
		},
		"ids of places in a list without cities": {[]string{"network,geoname_id,continent_code,country_iso_code,country_name\n9.0.0.0/24,2635167,EU,GB,United Kingdom\n9.0.1.0/24,6255148,EU,,\n",
			"network,country,city,latitude,longitude\n9.0.0.0/16,GB,London,51.5,-0.1\n"}, map[string]string{
			"9.0.0.1": `{"city":{"names":{"en":"London"}},"continent":{"code":"EU","names":{"en":"Europe"}},"country":{"geoname_id":2635167,"iso_code":"GB","names":{"en":"United Kingdom"}},"location":{"latitude":51.5,"longitude":-0.1}}`,
			"9.0.1.1": `"continent":{"code":"EU","geoname_id":6255148,`}, ""},
		"and in one with some": {[]string{"network,geoname_id,country,region,city,postal\n9.0.0.0/24,2643743,GB,ENG,London,\n9.0.1.0/24,6269131,GB,ENG,,\n9.0.2.0/24,2635167,GB,,,\n9.0.3.0/24,1,,,,E1\n"}, map[string]string{
			"9.0.0.1": `"city":{"geoname_id":2643743,`,
			"9.0.1.1": `"subdivisions":[{"geoname_id":6269131,`,
			"9.0.2.1": `"country":{"geoname_id":2635167,`,
			"9.0.3.1": `"extra":{"geoname_id":1}`}, ""},
		"several systems of a network": {[]string{"prefix\tlength\tasn\n9.0.0.0\t24\t64500_64501\n9.0.1.0\t24\t64502,64503_64504\n9.0.2.0\t23\t64505\n"}, map[string]string{
			"9.0.0.1":   `{"traits":{"autonomous_system_number":64500}}`,
			"9.0.1.1":   `"autonomous_system_number":64502}`,
			"9.0.3.255": `"autonomous_system_number":64505}`}, iprecord.ReasonOrigins + " 2, first line 2"},
		"and a region elsewhere": {[]string{"network,country,region,asn\n9.0.0.0/24,DE,FR-IDF,64500_64501\n"},
			map[string]string{"9.0.0.1": `"autonomous_system_number":64500}`},
			iprecord.ReasonRegion + " 1, first line 2; " + iprecord.ReasonOrigins + " 1, first line 2"},
		"objects as they are exported": {[]string{`{"network":"9.0.0.0/24","country":{"iso_code":"DE"},"city":{"names":{"en":"Berlin"}},"location":{"latitude":52.5,"longitude":13.4},"traits":{"autonomous_system_number":64500},"extra":{"site":"HQ"}}` + "\n\n" +
			`{"network":"2003::/32","country":{"iso_code":"AT"},"postal":null}` + "\n"}, map[string]string{
			"9.0.0.9": `{"city":{"names":{"en":"Berlin"}},"continent":{"code":"EU","names":{"en":"Europe"}},"country":{"is_in_european_union":true,"iso_code":"DE","names":{"en":"Germany"}},"extra":{"site":"HQ"},"location":{"latitude":52.5,"longitude":13.4},"traits":{"autonomous_system_number":64500}}`,
			"2003::1": `"iso_code":"AT"`}, ""},
		"objects of a publisher": {[]string{`{"start_ip":"9.0.0.0","end_ip":"9.0.0.255","country":"DE","country_name":"Germany","asn":"AS64500","as_name":"Any"}` + "\n" +
			`{"start_ip":"9.0.1.0","end_ip":"9.0.1.255","country":"AT","country_name":"Austria","asn":"","as_name":""}`}, map[string]string{
			"9.0.0.255": `{"autonomous_system_number":64500,"autonomous_system_organization":"Any"}`,
			"9.0.1.1":   `"country":{"iso_code":"AT","names":{"en":"Austria"}}`}, ""},
		"objects in capitals": {[]string{`{"CIDR":"9.0.0.0/24","ASN":64500,"Hits":7}` + "\n"}, map[string]string{
			"9.0.0.9": `{"extra":{"Hits":7},"traits":{"autonomous_system_number":64500}}`}, ""},
		"objects in a list": {[]string{" [\n" + `{"network":"9.0.0.0/24","country":"DE",` + "\n" + `"as_name":"a,\"]["},{"network":"9.0.1.0/24","country":"AT"}]` + "\n"},
			map[string]string{"9.0.0.9": `"autonomous_system_organization":"a,\"]["`, "9.0.1.1": `"AT"`}, ""},
		"objects with masks, and bad ones": {[]string{strings.Repeat(`{"ip":"9.0.0.0","netmask":"255.255.255.0","country":"DE"}`+"\n", 500) +
			`{"ip":"9.1.0.1","prefix_length":16,"country":"DE"}` + "\n" + `{"country":"DE"}` + "\n[]\n"},
			map[string]string{"9.0.0.9": `"DE"`, "9.1.0.1": ""},
			reasonNetwork + " 1, first line 502; " + reasonObject + " 1, first line 503; " + ipcsv.ReasonHost + " 1, first line 501"},
		"objects with two names for networks": {[]string{`{"ip":"9.0.0.1","network":"9.0.0.0/24","country":"DE"}` + "\n" +
			`{"subnet":"255.255.255.0","prefix":"Office","ip":"9.0.1.0","country":"DE"}` + "\n" +
			`{"start_ip":"9.0.2.0","prefix":24,"country":"DE"}` + "\n" +
			`{"start_ip":"9.0.3.0","start":"2024-01-31","network_start_integer":150995712,"end_ip":"9.0.3.255","prefix":"24","country":"DE"}` + "\n"}, map[string]string{
			"9.0.0.255": `"extra":{"ip":"9.0.0.1"}`,
			"9.0.1.255": `"extra":{"prefix":"Office"}`,
			"9.0.2.255": `"DE"`,
			"9.0.3.255": `"start":"2024-01-31"`}, ""},
		"objects with two networks": {[]string{strings.Repeat(`{"network":"9.0.0.0/24","country":"DE"}`+"\n", 5) +
			`{"cidr":"9.0.1.0/24","prefix":"9.0.2.0/24","country":"DE"}` + "\n"}, map[string]string{"9.0.1.1": "", "9.0.2.1": ""},
			reasonNetworks + " 1, first line 6"},
		"objects with decimal addresses": {[]string{`{"ip_from":42540528726795050063891204319802818561,"ip_to":42540528726795050063891204319802818562,"country":"JP"}` + "\n" +
			`{"ip_from":150994945,"ip_to":150994946,"country":"DE"}` + "\n"}, map[string]string{
			"2001:200::":  "",
			"2001:200::1": `"JP"`,
			"2001:200::2": `"JP"`,
			"2001:200::3": "",
			"9.0.0.1":     `"DE"`,
			"9.0.0.3":     "",
		}, ""},
		"objects with firsts that lengths follow": {
			[]string{`{"ip":"9.0.0.0","country":"DE","mask":24}` + "\n" + `{"ip":"9.0.1.0","mask":24,"country":"DE"}` + "\n"},
			map[string]string{"9.0.0.9": `"DE"`},
			"",
		},
		"names that nobody knows": {
			[]string{"address,vlan,description\n9.0.0.0/24,104,Office\n"},
			map[string]string{"9.0.0.1": `{"extra":{"description":"Office","vlan":"104"}}`},
			"",
		},
		"flags of a list": {[]string{"network,vpn,relay,is_hosting,is_shop\n9.0.0.0/24,true,false,1,no\n"},
			map[string]string{"9.0.0.1": `{"traits":{"is_anonymous_vpn":true,"is_hosting_provider":true}}`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var inputs []job.Input
			for _, text := range tc.files {
				inputs = append(inputs, ipFile(t, "x.csv", text))
			}
			c, rep := jobtest.Catalog(t), ipReport{}
			if _, err := ipJob(t, c, job.Options{MaxBad: 0.01, Reporter: &rep}, inputs...); err != nil {
				t.Fatal(err)
			}
			for addr, want := range tc.want {
				if got := answer(t, c, addr); !strings.Contains(got, want) || (got == "") != (want == "") {
					t.Errorf("%s: %s, want %s", addr, got, want)
				}
			}
			if got := strings.Join(rep.bad, "; "); got != tc.lost {
				t.Errorf("reported %q, want %q", got, tc.lost)
			}
		})
	}
}

// Sources that place addresses elsewhere than an earlier source are reported, with the number of
// ranges.
func TestElsewhereIsTold(t *testing.T) {
	continents := "network,continent\n9.0.0.0/24,EU\n9.0.1.0/24,EU\n9.0.2.0/24,NA\n"
	for name, tc := range map[string]struct {
		files []string
		want  string
	}{
		"a country of another continent": {
			[]string{continents, "network,country\n9.0.0.0/23,US\n9.0.2.0/24,US\n"},
			"2 ranges are elsewhere by a later source than by one before it, such as 9.0.0.0 to 9.0.0.255: ",
		},
		"a place far away": {
			[]string{"network,city,latitude,longitude\n2003::/64,Berlin,52.52,13.405\n",
				"network,country,city,latitude,longitude\n2003::/64,GB,London,51.5,-0.1\n"},
			"1 ranges are elsewhere by a later source than by one before it, such as 2003:: to 2003::ffff:ffff:ffff:ffff: ",
		},
		"the same country":   {[]string{continents, "network,country\n9.0.0.0/23,DE\n9.0.2.0/24,US\n"}, ""},
		"ranges of a source": {[]string{"network,country\n9.0.0.0/16,DE\n9.0.1.0/24,US\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var inputs []job.Input
			for _, text := range tc.files {
				inputs = append(inputs, ipFile(t, "x.csv", text))
			}
			var rep ipReport
			if _, err := ipJob(t, jobtest.Catalog(t), job.Options{Reporter: &rep}, inputs...); err != nil {
				t.Fatal(err)
			}
			told := slices.DeleteFunc(rep.notes, func(n string) bool { return !strings.Contains(n, "elsewhere") })
			if len(told) != min(len(tc.want), 1) || tc.want != "" && !strings.HasPrefix(told[0], tc.want) {
				t.Errorf("told %q, want %q", told, tc.want)
			}
		})
	}
}

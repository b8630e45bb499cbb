package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/cmd/internal/testfile"
	"quadrille/cmd/internal/toyworld"
	"quadrille/internal/testrace"
)

// Layers that users manage are published, changed, rolled back and removed while the server runs.
// Requests for points, tiles, lists and searches include them, and tiles of other layers keep their
// ETags.
func TestRegionsOfTheirOwn(t *testing.T) {
	testrace.SkipUnderRace(t, "one server is started and asked, again and again")
	dir := t.TempDir()
	c := catalogIn(t, dir)
	if err := toyworld.Publish(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	url, log, stop := start(t, "--data", dir)
	tag := func(layers string) string {
		t.Helper()
		r, err := http.Get(url + "/tiles/" + layers + "/0/0/0.mvt")
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		return r.Header.Get("ETag")
	}
	country := tag("country")
	answers(t, url+"/tiles/district/0/0/0.mvt", http.StatusNotFound)

	publish := func(names ...string) {
		t.Helper()
		if err := toyworld.PublishDistricts(t.Context(), c, names...); err != nil {
			t.Fatal(err)
		}
	}
	publish("Ost", "West")
	eventually(t, url+"/regions/within?bbox=-180,-90,180,90&types=district", `"id":"Ost"`)
	var doc struct{ Tiles []string }
	_, text := fetch(t, url+"/tiles/district.json?pinned=true")
	if err := json.Unmarshal([]byte(text), &doc); err != nil || len(doc.Tiles) == 0 ||
		!strings.Contains(doc.Tiles[0], "/g/boundaries-sales.1-") {
		t.Fatalf("%s: %v", text, err)
	}
	pinned := strings.NewReplacer("{z}", "0", "{x}", "0", "{y}", "0").Replace(doc.Tiles[0])
	first, both := tag("district"), tag("country,district")
	if first == "" || tag("country") != country {
		t.Error("a new data set changes the tags of tiles that do not have it")
	}
	_, before := fetch(t, pinned)

	publish("Nord", "Sued", "Mitte")
	eventually(t, url+"/regions/within?bbox=-180,-90,180,90&types=district", `"id":"Mitte"`)
	eventually(t, url+"/geocode?q=Mitte", `"type":"district"`)
	if tag("district") == first || tag("country,district") == both || tag("country") != country {
		t.Error("tiles of a layer that is renewed have another tag, and those of others do not")
	}
	if code, now := fetch(t, pinned); code != http.StatusOK || now != before {
		t.Errorf("a pinned tile is %d, and another one", code)
	}
	eventually(t, url+"/status", `"types":[{"name":"district"`)

	if _, err := c.Rollback(t.Context(), "boundaries-sales"); err != nil {
		t.Fatal(err)
	}
	eventually(t, url+"/regions/within?bbox=-180,-90,180,90&types=district", `"id":"Ost"`)
	if tag("district") != first {
		t.Error("the tiles of a generation that is back have their tags again")
	}
	if _, err := c.Unpublish(t.Context(), "boundaries-sales"); err != nil {
		t.Fatal(err)
	}
	eventually(t, url+"/tiles/district/0/0/0.mvt", "country")
	answers(t, url+"/tiles/country/0/0/0.mvt", http.StatusOK)
	answers(t, url+"/readyz", http.StatusOK)
	if tag("country") != country || log.has("panic") {
		t.Error("what is left is not as before")
	}
	stop()
}

// A data set that cannot be read when the server starts does not prevent serving everything else,
// and is never reported as missing.
func TestRegionsBesideADamagedDataSet(t *testing.T) {
	dir := t.TempDir()
	c := catalogIn(t, dir)
	if err := errors.Join(toyworld.Publish(t.Context(), dir), toyworld.PublishDistricts(t.Context(), c, "Ost", "West")); err != nil {
		t.Fatal(err)
	}
	for damaged, whole := range map[string]string{"boundaries": "district", "boundaries-sales": "country"} {
		path := filepath.Join(dir, damaged, "g0000000001", "manifest.json")
		before := testfile.Read(t, path)
		testfile.Write(t, path, "{")
		url, _, stop := start(t, "--data", dir)
		lost := map[string]string{"country": "district", "district": "country"}[whole]
		if code, body := fetch(t, url+"/tiles/"+whole+"/0/0/0.mvt"); code != http.StatusOK || body == "" {
			t.Errorf("%s is damaged: a tile of %s is %d with %d bytes", damaged, whole, code, len(body))
		}
		answers(t, url+"/regions/within?bbox=-180,-90,180,90&types="+whole, http.StatusOK, `"type":"`+whole+`"`)
		answers(t, url+"/ogc/collections/"+whole+"/items", http.StatusOK, `"type":"`+whole+`"`)
		for _, path := range []string{
			"/tiles/" + lost + "/0/0/0.mvt", "/tiles/" + whole + "," + lost + ".json", "/tiles/all/0/0/0.mvt", "/regions/at?lat=0&lon=0",
			"/regions/at?lat=0&lon=0&types=" + lost, "/regions/" + lost + "/x", "/regions/count", "/at?lat=0&lon=0", "/reverse?lat=0&lon=0",
			"/ogc/collections/" + lost, "/places/count?region=" + lost + ":x",
		} {
			if code, body := fetch(t, url+path); code != http.StatusServiceUnavailable {
				t.Errorf("%s is damaged: %s is %d %.200s", damaged, path, code, body)
			}
		}
		stop()
		testfile.Write(t, path, string(before))
	}
}

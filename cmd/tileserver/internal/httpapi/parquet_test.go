//go:build !race

package httpapi_test

import (
	"bytes"
	"encoding/csv"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
)

// parquetOf opens an answer, and returns its columns and its ids.
func parquetOf(t *testing.T, res *http.Response) (f *parquet.File, columns, ids []string) {
	t.Helper()
	text := servertest.Body(t, res)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/vnd.apache.parquet" ||
		res.Header.Get("Content-Disposition") != `attachment; filename="features.parquet"` || res.Header.Get("Content-Encoding") != "" {
		t.Fatalf("%d %v %.300q", res.StatusCode, res.Header, text)
	}
	f, err := parquet.OpenFile(strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Schema().Fields() {
		columns = append(columns, c.Name())
	}
	for _, g := range f.RowGroups() {
		rows := make([]parquet.Row, g.NumRows())
		r := g.Rows()
		if n, err := r.ReadRows(rows); n != len(rows) {
			t.Fatalf("%d rows of %d: %v", n, len(rows), err)
		}
		for _, row := range rows {
			ids = append(ids, string(row[0].ByteArray()))
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return f, columns, ids
}

// GeoParquet has the rows and columns of the table in CSV, with a geometry in place of the position.
func TestParquetOfEveryList(t *testing.T) {
	w := servertest.NewWhole(t)
	for _, path := range []string{
		"/places/nearby?lat=47&lon=8", "/places/within?bbox=-180,-90,180,90", "/places/search?q=WLD", "/airports/within/country/wl?",
		"/stations/within?tile=0/0/0", "/stations/nearest?lat=47&lon=8", "/points/shops/nearby?lat=47&lon=8&price.lt=9",
		"/points/shops/within?tile=0/0/0", "/points/shops/within?tile=0/0/0&limit=7&sort=price&fields=price",
		"/points/shops/within?tile=0/0/0&skipGeometry=true", "/regions/within?bbox=-180,-90,180,90", "/regions/nearby?lat=47&lon=8",
		"/geocode?q=place", "/reverse?lat=47&lon=4.5", "/ogc/collections/country/items?", "/ogc/collections/country/items/wl?",
		"/ogc/collections/places/items?limit=3", "/ogc/collections/points:shops/items?price=7",
	} {
		name := "&format="
		if strings.HasPrefix(path, "/ogc") {
			name = "&f="
		}
		table := w.Get(path + name + "csv")
		rows, err := csv.NewReader(strings.NewReader(servertest.Body(t, table))).ReadAll()
		if err != nil || len(rows) == 0 {
			t.Fatalf("%s: %v", path, err)
		}
		var want, wantIDs []string
		for _, column := range rows[0] {
			if !slices.Contains([]string{"lat", "lon", "wkt"}, column) {
				want = append(want, strings.Replace(column, "bbox", "p.bbox", 1))
			}
		}
		for _, row := range rows[1:] {
			wantIDs = append(wantIDs, row[0])
		}
		located := !strings.Contains(path, "skipGeometry")
		if located {
			want = append(want, "geometry", "bbox")
		}
		res := w.Do(http.MethodGet, path+name+"parquet", "Accept-Encoding", "gzip, zstd, br")
		f, columns, ids := parquetOf(t, res)
		if !slices.Equal(columns, want) || !slices.Equal(ids, wantIDs) {
			t.Errorf("%s: %q %q, want %q %q", path, columns, ids, want, wantIDs)
		}
		if _, ok := f.Lookup("geo"); ok != located {
			t.Errorf("%s: has metadata of geometries: %v", path, ok)
		}
		if got, want := res.Header.Get("Link"), strings.Replace(table.Header.Get("Link"), "=csv", "=parquet", 1); got != want {
			t.Errorf("%s: Link: %s, want %s", path, got, want)
		}
	}
	for _, c := range []struct{ path, detail string }{
		{"/ogc/collections/country/items?f=parquet&crs=http://www.opengis.net/def/crs/EPSG/0/3857", "Leave crs out"},
		{"/ogc/collections/country/items/wl?f=parquet&crs=http://www.opengis.net/def/crs/EPSG/0/4326", "Leave crs out"},
	} {
		if text := servertest.Body(t, w.Get(c.path)); !strings.Contains(text, `"status":400`) || !strings.Contains(text, c.detail) {
			t.Errorf("%s: %s", c.path, text)
		}
	}
}

// Collections that take writes have columns for what their schema lacks, and for their versions.
func TestParquetOfLiveCollections(t *testing.T) {
	w, _ := servertest.NewCollections(t)
	_, columns, ids := parquetOf(t, w.Get("/points/cars,shops/nearby?lat=1&lon=20&format=parquet"))
	for _, name := range []string{"collection", "distance_m", "version", "expires", "more", "geometry"} {
		if !slices.Contains(columns, name) {
			t.Errorf("there is no column %s: %q", name, columns)
		}
	}
	if len(ids) == 0 {
		t.Error("no rows")
	}
	if b := []byte(servertest.Body(t, w.Do(http.MethodHead, "/points/cars/within?tile=0/0/0&format=parquet"))); !bytes.Equal(b, nil) {
		t.Errorf("HEAD is answered with %d bytes", len(b))
	}
}

// A list in GeoParquet for which there is no memory is refused before its first byte. Other forms are sent, and it is too when
// memory is free again.
func TestParquetWithoutMemory(t *testing.T) {
	w := servertest.NewWhole(t)
	s := httpapi.Compose(&w.Config, httpapi.Faces())
	w.Handler = s.Handler()
	free := servertest.FillStreamMemory(t, s)
	for _, path := range []string{"/places/within?bbox=-180,-90,180,90", "/points/shops/within?tile=0/0/0"} {
		res := w.Get(path + "&format=parquet")
		if res.Header.Get("Retry-After") == "" || res.Header.Get("Content-Disposition") != "" {
			t.Errorf("%s: %v", path, res.Header)
		}
		servertest.WantProblem(t, res, http.StatusServiceUnavailable, "too-busy")
		for _, form := range []string{"csv", "ndjson"} {
			if res := w.Get(path + "&format=" + form); res.StatusCode != http.StatusOK || servertest.Body(t, res) == "" {
				t.Errorf("%s in %s: %d", path, form, res.StatusCode)
			}
		}
	}
	free()
	for range 3 { // each gives its memory back
		if _, _, ids := parquetOf(t, w.Get("/points/shops/within?tile=0/0/0&format=parquet")); len(ids) == 0 {
			t.Error("no rows")
		}
		servertest.FillStreamMemory(t, s)()
	}
}

package servertest_test

import (
	"encoding/json"
	"encoding/xml"
	"net/url"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/places/live"
)

// A track is a line, a table and a track of GPX too; it is in parts where the point was gone, and the
// next page has an address.
func TestTracksInOtherForms(t *testing.T) {
	w := servertest.NewShops(t)
	c, err := w.Config.Collections.Live.Find("drivers")
	if err != nil {
		t.Fatal(err)
	}
	const id = `<a & "b">`
	write := func(writes ...live.Write) {
		t.Helper()
		for _, one := range writes {
			one.ID = id
			out := make([]live.Outcome, 1)
			if err := c.Write(t.Context(), []live.Write{one}, out); err != nil || out[0].Err != nil {
				t.Fatal(err, out)
			}
		}
	}
	at := func(lat, lon float64) live.Write {
		return live.Write{Kind: live.Put, Lat: lat, Lon: lon, Properties: []byte("{}")}
	}
	write(at(1, 20), at(1.5, 20.25), live.Write{Kind: live.Delete}, at(2, 21))
	path := "/points/drivers/" + url.PathEscape(id) + "/track"
	var line struct {
		ID         string
		Properties struct {
			Times [][]time.Time `json:"coordTimes"`
		}
		Geometry struct{ Coordinates [][][2]float64 }
	}
	if err := json.Unmarshal([]byte(servertest.Body(t, w.Get(path+"?format=geojson"))), &line); err != nil {
		t.Fatal(err)
	}
	if n := line.Geometry.Coordinates; line.ID != id || len(n) != 2 || len(n[0]) != 2 || len(n[1]) != 2 || n[0][1] != [2]float64{20.25, 1.5} {
		t.Errorf("%+v", line)
	}
	if times := line.Properties.Times; len(times) != 2 || len(times[0]) != 2 || !times[0][1].Before(times[1][0]) {
		t.Errorf("times %v", line.Properties.Times)
	}
	res := w.Get(path + "?format=gpx")
	var gpx struct {
		Name     string `xml:"trk>name"`
		Segments []struct {
			Points []struct {
				Lat  float64 `xml:"lat,attr"`
				Lon  float64 `xml:"lon,attr"`
				Time string  `xml:"time"`
			} `xml:"trkpt"`
		} `xml:"trk>trkseg"`
	}
	if err := xml.Unmarshal([]byte(servertest.Body(t, res)), &gpx); err != nil || res.Header.Get("Content-Type") != "application/gpx+xml" {
		t.Fatal(err, res.Header)
	}
	if s := gpx.Segments; gpx.Name != id || len(s) != 2 || len(s[0].Points) != 2 || s[0].Points[1].Lat != 1.5 || s[1].Points[0].Lon != 21 ||
		!strings.HasSuffix(s[0].Points[0].Time, "Z") {
		t.Errorf("%+v", gpx)
	}
	rows := strings.Split(strings.TrimSuffix(servertest.Body(t, w.Get(path+"?format=csv")), "\r\n"), "\r\n")
	if len(rows) != 5 || rows[0] != "time,lat,lon" || !strings.HasSuffix(rows[2], ",1.5,20.25") || !strings.HasSuffix(rows[3], "Z,,") {
		t.Errorf("%q", rows)
	}
	first := w.Get(path + "?format=csv&limit=2")
	next := first.Header.Get("Link")
	address, _, ok := strings.Cut(strings.TrimPrefix(next, "<"), ">")
	u, err := url.Parse(address)
	if !ok || err != nil {
		t.Fatal(next, err)
	}
	if rest := servertest.Body(t, w.Get(u.RequestURI())); !strings.Contains(rest, "Z,,") {
		t.Errorf("the page at %s is %q", next, rest)
	}
	if whole := w.Get(path + "?format=gpx"); whole.Header.Get("Link") != "" {
		t.Errorf("the last page leads to %s", whole.Header.Get("Link"))
	}
	servertest.WantProblem(t, w.Get(path+"?format=kml"), 400, "bad-parameter")
}

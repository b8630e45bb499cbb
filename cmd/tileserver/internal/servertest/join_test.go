package servertest_test

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"quadrille/cmd/tileserver/internal/join"
	"quadrille/cmd/tileserver/internal/servertest"
)

func TestJoin(t *testing.T) {
	f := servertest.NewGlobe(t, nil)
	for _, tt := range []struct{ name, query, body, want string }{
		{
			"csv", "regions=country", "name,lat,lon\nhome,47.4,8.5\n\"a, \"\"b\"\"\nc\",47.4,8.5\n",
			"name,lat,lon,country,country_id,error\nhome,47.4,8.5,Switzerland,ch,\n\"a, \"\"b\"\"\nc\",47.4,8.5,Switzerland,ch,\n",
		},
		{
			"semicolons, marks and names", "regions=country&prefix=at_", "\ufeffGPS Latitude;GPS Longitude;note\r\n47.4;8.5;\"x;y\"\r\n",
			"GPS Latitude;GPS Longitude;note;at_country;at_country_id;at_error\n47.4;8.5;\"x;y\";Switzerland;ch;\n",
		},
		{"given columns", "regions=country&lat=n&lon=e", "n\te\n47.4\t8.5", "n\te\tcountry\tcountry_id\terror\n47.4\t8.5\tSwitzerland\tch\t\n"},
		{
			"bad rows", "regions=country", "lat,lon\n91,0\n,8\nNaN,8\nx,y\n47.4\n47.4,8.5,more\n",
			"lat,lon,country,country_id,error\n" +
				"91,0,,,\"the position is outside of the world: latitudes are from -90 to 90 degrees, longitudes from -180 to 180\"\n" +
				",8,,,there is no latitude or longitude\n" +
				"NaN,8,,,\"the position is outside of the world: latitudes are from -90 to 90 degrees, longitudes from -180 to 180\"\n" +
				"x,y,,,\"latitude and longitude are not decimal degrees with a point, such as 47.37\"\n" +
				"47.4,,,,\"the row has 1 cells, and the header 2; there is no latitude or longitude\"\n" +
				"47.4,8.5,Switzerland,ch,\"the row has 3 cells, and the header 2: the further ones are left out\"\n",
		},
		{"an odd quote in the header", "regions=country", "size 5\",lat,lon\na,47.4,8.5\n3\" pipe,47.4,8.5\n",
			"\"size 5\"\"\",lat,lon,country,country_id,error\na,47.4,8.5,Switzerland,ch,\n\"3\"\" pipe\",47.4,8.5,Switzerland,ch,\n"},
		{
			"quotes between tabs", "regions=country", "\"lat\"\t\"lon\"\t\"note\"\n\"47.4\"\t\"8.5\"\t\"a\tb\"\n",
			"lat\tlon\tnote\tcountry\tcountry_id\terror\n47.4\t8.5\t\"a\tb\"\tSwitzerland\tch\t\n",
		},
		{
			"an odd quote before tabs", "regions=country", "size 5\"\tlat\tlon\n3\" pipe, steel, long\t47.4\t8.5\n",
			"\"size 5\"\"\"\tlat\tlon\tcountry\tcountry_id\terror\n\"3\"\" pipe, steel, long\"\t47.4\t8.5\tSwitzerland\tch\t\n",
		},
		{
			"a header of two lines", "regions=country", "\n\n\"a\nb\",lat,lon\nx,47.4,8.5\n",
			"\"a\nb\",lat,lon,country,country_id,error\nx,47.4,8.5,Switzerland,ch,\n",
		},
		{"a column without a name", "geocode=city&regions=country", ",city\n10,zurich\n",
			",city,geocode_label,geocode_lat,geocode_lon,country,country_id,error\n10,zurich,\"Zürich, Switzerland\",47.36667,8.55,Switzerland,ch,\n"},
		{"blanks before objects", "regions=country", "\n {\"lat\":47.4,\"lon\":8.5}", "\n{\"lat\":47.4,\"lon\":8.5,\"country\":\"Switzerland\",\"country_id\":\"ch\"}\n"},
		{"only a header", "regions=country", "lat,lon\n", "lat,lon,country,country_id,error\n"},
		{"formulas of the user stay", "regions=country", "lat,lon,sum\n47.4,8.5,=1+1\n", "lat,lon,sum,country,country_id,error\n47.4,8.5,=1+1,Switzerland,ch,\n"},
		{
			"objects", "regions=country", `{"lat":47.4, "lon":"8.5", "deep":{"a":[1, 2]}}` + "\n\n{\"lat\":null,\"lon\":1}\n{}\n",
			`{"lat":47.4,"lon":"8.5","deep":{"a":[1,2]},"country":"Switzerland","country_id":"ch"}` + "\n\n" +
				`{"lat":null,"lon":1,"country":null,"country_id":null,"error":"there is no latitude or longitude"}` + "\n" +
				`{"country":null,"country_id":null,"error":"there is no latitude or longitude"}` + "\n",
		},
		{
			"features", "regions=country",
			`{"type":"Feature","properties":{"a":1},"geometry":{"type":"Point","coordinates":[8.5,47.4]},"id":"x"}` + "\n" +
				`{"type":"Feature","properties":null,"geometry":{"type":"LineString","coordinates":[[8.5,47.4],[9,48]]}}` + "\n",
			`{"type":"Feature","geometry":{"type":"Point","coordinates":[8.5,47.4]},"id":"x","properties":{"a":1,"country":"Switzerland","country_id":"ch"}}` + "\n" +
				`{"type":"Feature","geometry":{"type":"LineString","coordinates":[[8.5,47.4],[9,48]]},"properties":{"country":null,"country_id":null,"error":"the geometry is not a Point"}}` + "\n",
		},
		{
			"a column called type", "regions=country", `{"lat":47.4,"lon":8.5,"type":"Feature"}`,
			`{"lat":47.4,"lon":8.5,"type":"Feature","country":"Switzerland","country_id":"ch"}` + "\n",
		},
		{
			"names of several pairs", "regions=country", `{"x":8.5,"y":47.4}` + "\n" + `{"lng":8.5,"lat":47.4}` + "\n",
			`{"x":8.5,"y":47.4,"country":"Switzerland","country_id":"ch"}` + "\n" + `{"lng":8.5,"lat":47.4,"country":"Switzerland","country_id":"ch"}` + "\n",
		},
		{
			"nearest and addresses", "nearest=airport:iata%7Cplace:name&ip=client:country", "lat,lon,client\n47.4,8.5,x\n47.4,8.5,\n",
			"lat,lon,client,airport_iata,place_name,ip_country,error\n47.4,8.5,x,ZUR,Zürich,,not an IP address: x\n47.4,8.5,,ZUR,Zürich,,\n",
		},
		{"a text is a position", "geocode=city", "city\nzurich\n", "city,geocode_label,geocode_lat,geocode_lon,error\nzurich,\"Zürich, Switzerland\",47.36667,8.55,\n"},
	} {
		res := f.PostTo("/join?"+tt.query, strings.NewReader(tt.body))
		if got := servertest.Body(t, res); res.StatusCode != http.StatusOK || got != tt.want {
			t.Errorf("%s: %d\n%s, want\n%s", tt.name, res.StatusCode, got, tt.want)
		}
	}
}

// What cannot be a table, or be added to it, is refused before anything is answered, and the answer says what to do.
func TestJoinRefuses(t *testing.T) {
	f := servertest.NewGlobe(t, nil)
	for _, tt := range []struct {
		query, body string
		status      int
		want        string
	}{
		{"", "", 400, "Send a table"},
		{"", `[{"lat":1}]`, 400, "jq"},
		{"", `{"type":"FeatureCollection","features":[]}`, 400, "features"},
		{"regions=country", ",name,hochwert,rechtswert\n10,Bern,46.9,7.4\n", 400, "not known by their names"},
		{"geocode=%2C", "lat,lon\n", 400, "Name 1 to 20"},
		{"geocode=" + strings.Repeat("a,", 30) + "a", "a\n", 400, "Name 1 to 20"},
		{"", "a,b\n1,2\n", 400, `name them by lat and lon, of \"a\", \"b\"`},
		{"lat=x", "a,lon\n1,2\n", 400, `There is no column \"x\" in the table; there are \"a\", \"lon\"`},
		{"ip=client", "lat,lon\n1,2\n", 400, `There is no column \"client\"`},
		{"regions=country", "lat,lon,country\n1,2,x\n", 400, "prefix"},
		{"regions=country", "lat,lon,error\n1,2,x\n", 400, "prefix"},
		{"", "lat,\xff\n", 400, "UTF-8"},
		{"", "lat,lon\n\xff,2\n", 200, "UTF-8"}, // as below
		{"", "lat,lon," + strings.Repeat("x", 70<<10) + "\n1,2\n", 400, "65536"},
		{"", "lat,lon,note\n1,2,\"never closed" + strings.Repeat("x\n", 70<<10), 200, "65536"}, // the header has been sent
		{"", strings.Repeat("lat,", 2000) + "lon\n", 400, "1000 columns"},
		{"regions=planet", "lat,lon\n", 400, `"parameter":"regions"`},
		{"nearest=shops", "lat,lon\n", 400, `"parameter":"nearest"`},
		{"nearest=airport:colour", "lat,lon\n", 400, "airports has no property"},
		{"nearest=airport%7C", "lat,lon\n", 400, "before and after each |"},
		{"nearest=:name", "lat,lon\n", 400, "Name a layer"},
		{"nearest=airport%7Cairport", "lat,lon\n", 400, "ask for it once"},
		{"ip=client:..", "lat,lon\n", 400, `"parameter":"ip"`},
		{"regions=country&colour=red", "lat,lon\n", 400, "colour"},
	} {
		res := f.PostTo("/join?"+tt.query, strings.NewReader(tt.body))
		if got := servertest.Body(t, res); res.StatusCode != tt.status || !strings.Contains(got, tt.want) {
			t.Errorf("%s %.40q: %d %s, want %s", tt.query, tt.body, res.StatusCode, got, tt.want)
		}
	}
}

// What is refused after the first answers becomes the last row, which says so.
func TestJoinEndsEarly(t *testing.T) {
	f := servertest.NewGlobe(t, nil)
	var rows strings.Builder
	rows.WriteString("lat,lon\n")
	for range join.MaxRows + 1 {
		rows.WriteString("47.4,8.5\n")
	}
	got, err := csv.NewReader(f.PostTo("/join?regions=country", strings.NewReader(rows.String())).Body).ReadAll()
	if err != nil || len(got) != join.MaxRows+2 {
		t.Fatal(len(got), err)
	}
	if last := got[len(got)-1]; last[0] != "" || !strings.Contains(last[4], "100001 lines are answered at once") {
		t.Errorf("%q", last)
	}
	for _, row := range got[1 : len(got)-1] {
		if row[2] != "Switzerland" || row[4] != "" {
			t.Fatalf("%q", row)
		}
	}
}

// Each row has the answers of single requests about its point, in both forms of a table.
func TestJoinIsAt(t *testing.T) {
	f := servertest.NewGlobe(t, nil)
	var table, objects bytes.Buffer
	table.WriteString("lat,lon\n")
	var points [][2]float64
	for lat := -90.0; lat <= 90; lat += 7.5 {
		for lon := -180.0; lon <= 180; lon += 11.25 {
			points = append(points, [2]float64{lat, lon})
			fmt.Fprintf(&table, "%v,%v\n", lat, lon)
			fmt.Fprintf(&objects, "{\"lat\":%v,\"lon\":%v}\n", lat, lon)
		}
	}
	const query = "/join?regions=country&timezone=true&nearest=place:name,distance_m"
	rows, err := csv.NewReader(f.PostTo(query, &table).Body).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(f.PostTo(query, &objects).Body)
	for i, p := range points {
		var object map[string]any
		if err := lines.Decode(&object); err != nil {
			t.Fatal(err)
		}
		for k, name := range rows[0][:len(rows[0])-1] {
			want := ""
			switch value := object[name].(type) {
			case string:
				want = value
			case float64:
				want = strconv.FormatFloat(value, 'f', 1, 64)
			}
			if rows[i+1][k] != want && k > 1 {
				t.Fatalf("%v: %s is %q as CSV, and %q as JSON", p, name, rows[i+1][k], want)
			}
		}
		var at struct {
			Regions []struct {
				Name string
				Type string
			}
			TimeZone struct{ ID string } `json:"timezone"`
			Place    struct {
				Name string
			}
		}
		if err := json.Unmarshal([]byte(servertest.Body(t, f.Get(fmt.Sprintf("/at?lat=%v&lon=%v&types=country,timezone", p[0], p[1])))), &at); err != nil {
			t.Fatal(err)
		}
		country := ""
		for _, r := range at.Regions {
			if r.Type == "country" {
				country = r.Name
			}
		}
		if got := rows[i+1]; got[2] != country || got[4] != at.TimeZone.ID {
			t.Errorf("%v: %q, want %+v", p, got, at)
		}
	}
}

// Answers come while rows are sent, and a compressed table is read.
func TestJoinStreams(t *testing.T) {
	f := servertest.NewGlobe(t, nil)
	s := httptest.NewServer(f.Handler)
	defer s.Close()
	read, write := io.Pipe()
	res := make(chan *http.Response, 1)
	go func() {
		r, err := http.Post(s.URL+"/join?regions=country", "text/csv", read)
		if err != nil {
			t.Error(err)
		}
		res <- r
	}()
	fmt.Fprint(write, "lat,lon\n47.4,8.5\n")
	var body *bufio.Reader
	select {
	case r := <-res:
		if r == nil {
			return
		}
		defer r.Body.Close()
		body = bufio.NewReader(r.Body)
	case <-time.After(20 * time.Second):
		t.Fatal("no answer while the table is open")
	}
	for range 3 {
		if line, err := body.ReadString('\n'); err != nil {
			t.Fatal(line, err)
		}
		fmt.Fprint(write, "47.4,8.5\n")
	}
	write.Close()

	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, "lat,lon\n47.4,8.5\n")
	z.Close()
	if got := servertest.Body(t, f.PostTo("/join", &packed, "Content-Encoding", "gzip")); !strings.Contains(got, "Switzerland") {
		t.Error(got)
	}
}

// A private collection does not exist for a join, and texts by others are no formulas.
func TestJoinOfCollections(t *testing.T) {
	w := servertest.NewShops(t)
	res := w.PostTo("/join?nearest=secret:name", strings.NewReader("lat,lon\n1,2\n"))
	if got := servertest.Body(t, res); res.StatusCode != http.StatusBadRequest || strings.Contains(strings.ReplaceAll(got, `\"secret\"`, ""), "secret") {
		t.Errorf("%d %s", res.StatusCode, got)
	}
	got := servertest.Body(t, w.PostTo("/join?nearest=drivers:name,price", strings.NewReader("lat,lon\n48,6\n")))
	if want := "lat,lon,drivers_name,drivers_price,error\n48,6,Ann,3,\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

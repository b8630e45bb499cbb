package geocoder

import (
	"math"
	"strings"
	"testing"
)

func TestParsePosition(t *testing.T) {
	for _, c := range []struct {
		text     string
		lat, lon float64
	}{
		{"47.37, 8.54", 47.37, 8.54},
		{"47.37 8.54", 47.37, 8.54},
		{"47.37;8.54", 47.37, 8.54},
		{" -33.86,151.21 ", -33.86, 151.21},
		{"−33.86, 151.21", -33.86, 151.21},
		{"47,37 8,54", 47.37, 8.54},
		{"47,37; 8,54", 47.37, 8.54},
		{"151.21, -33.86", -33.86, 151.21}, // cannot be a latitude
		{"47.37N 8.54E", 47.37, 8.54},
		{"N47.37 E8.54", 47.37, 8.54},
		{"8.54E 47.37N", 47.37, 8.54},
		{"33.86 S, 151.21 E", -33.86, 151.21},
		{"47°22'12\"N 8°32'24\"E", 47.37, 8.54},
		{"47° 22′ 12″ N, 8° 32′ 24″ E", 47.37, 8.54},
		{"47°22.2'N 8°32.4'E", 47.37, 8.54},
		{"N 47 22 12 E 8 32 24", 47.37, 8.54},
		{"47 22 12 N, 8 32 24 E", 47.37, 8.54},
		{"47.37° 8.54°", 47.37, 8.54},
		{"34°36'S 58°22'O", -34.6, -58 - 22.0/60},
		{"geo:47.37,8.54", 47.37, 8.54},
		{"geo:0,0?q=47.37,8.54(Home)", 47.37, 8.54},
		{"geo:0,0?q=47.37,8.54", 47.37, 8.54},
		{"geo:0,0?z=3&q=47.37%2C8.54(My+home%20(the+old+one))", 47.37, 8.54},
		{"geo:1,2?q=47.37,+8.54+(Home)", 47.37, 8.54},
		{"geo:47.37,8.54?q=Home", 47.37, 8.54},
		{"geo:47.37,8.54;u=35?z=11", 47.37, 8.54},
		{"geo:0,0", 0, 0},
		{"geo:0,0?q=47.37,8.54(" + strings.Repeat("x", 100) + ")", 47.37, 8.54},
		{"https://maps.google.com/maps?q=47.37,8.54(Home)", 47.37, 8.54},
		{"https://maps.google.com/maps?q=47.37,8.54+(Home)&z=3", 47.37, 8.54},
		{"N 47.37 E 8.54", 47.37, 8.54},
		{"N 40° 42.767' W 74° 00.367'", 40 + 42.767/60, -74 - 0.367/60},
		{"lat 47.37 lon 8.54", 47.37, 8.54},
		{"lat: 47.37, lon: 8.54", 47.37, 8.54},
		{"Latitude=47.37&Longitude=8.54", 47.37, 8.54},
		{"(47.37, 8.54)", 47.37, 8.54},
		{"[47.37, 8.54]", 47.37, 8.54},
		{"POINT(8.54 47.37)", 47.37, 8.54},
		{"point ( -8.5 47 )", 47, -8.5},
		{"GEO:47.37,8.54,400;u=35?z=3", 47.37, 8.54},
		{"52.52,13.405,15z", 52.52, 13.405},
		{"52.52, 13.405, 1200m", 52.52, 13.405},
		{"@52.52,13.405,15z", 52.52, 13.405},
		{"@-8.5275,119.7458151,642m/data=!3m1!1e3", -8.5275, 119.7458151},
		{"@48.8583701,2.2922926,3a,75y,90t", 48.8583701, 2.2922926},
		{"https://www.google.com/maps/@15.5566057,73.7777969,3179m/data=!3m1!1e3!5m1!1e1?entry=ttu&g_ep=Egoy", 15.5566057, 73.7777969},
		{
			"https://www.google.com/maps/place/Washington+Monument/@38.8894583,-77.0377464,1469m/data=!3m2!1e3!4b1!8m2!3d38.8894838!4d-77.0352791!16zL20v",
			38.8894838,
			-77.0352791,
		},
		{"https://www.google.com/maps/search/52.52,+13.405?sa=X", 52.52, 13.405},
		{"https://maps.google.com/?q=52.52,13.405", 52.52, 13.405},
		{"https://maps.google.com/?q=loc:52.52%2C13.405&z=3", 52.52, 13.405},
		{"https://www.google.com/maps/d/u/0/viewer?mid=1EpC&ll=61.19171304966161%2C-104.53748034782325&z=5", 61.191713050, -104.537480348},
		{"https://maps.apple.com/?ll=52.52,13.405", 52.52, 13.405},
		{"https://www.openstreetmap.org/#map=15/15.49210/73.84349", 15.4921, 73.84349},
		{"openstreetmap.org/#map=15/15.49210/73.84349&layers=N", 15.4921, 73.84349},
		{"https://www.openstreetmap.org/?mlat=52.52&mlon=13.405#map=3/1/1", 52.52, 13.405},
		{"#map=12/52.52/13.405", 52.52, 13.405},
		{"?mlat=52.52&mlon=13.405", 52.52, 13.405},
		{"https://maps.example.org/#12.5/52.52/13.405", 52.52, 13.405},
		{"https://www.bing.com/maps?cp=52.52~13.405&lvl=11", 52.52, 13.405},
		{"52d31m12s N 13d24m18s E", 52.52, 13.405},
		{"52d31m12s 13d24m18s", 52.52, 13.405},
		{"33D51.6M S, 151D12.6M E", -33.86, 151.21},
		{"52 deg 31' 12.00\" N, 13 deg 24' 18.00\" E", 52.52, 13.405},
		{"52&deg;31'12\"N 13&deg;24'18\"E", 52.52, 13.405},
		{"52.52\t13.405", 52.52, 13.405},
		{"52.52; 13.405", 52.52, 13.405},
		{"52.52 / 13.405", 52.52, 13.405},
		{"52.52|13.405", 52.52, 13.405},
		{"52,52;13,405", 52.52, 13.405},
		{"52.52, 13.405.", 52.52, 13.405},
		{"N 52 31.2 E 13 24.3", 52.52, 13.405},
		{"N 52° 31' 12.0'', E 013° 24' 18.0''", 52.52, 13.405},
		{"N 52° 31,200' E 013° 24,300'", 52.52, 13.405},
		{"52,52° N, 13,405° E", 52.52, 13.405},
		{"52.52°N 13.405°E", 52.52, 13.405},
		{"31 42 28.5 34 36 23.9", 31.707916667, 34.606638889},
		{"-30 28.453, 150 55.265", -30.474216667, 150.921083333},
		{"-30° 28.453, 150° 55.265", -30.474216667, 150.921083333},
		{"52:31:12 13:24:18", 52.52, 13.405},
		{"52:31:12N, 13:24:18E", 52.52, 13.405},
		{"N523112 E0132418", 52.52, 13.405},
		{"523112N 0132418E", 52.52, 13.405},
		{"375400N930000W", 0, 0},
		{"335136.0S1511236.0E", -33.86, 151.21},
		{"+52.52+013.405/", 52.52, 13.405},
		{"-33.86+151.21+12CRSWGS_84/", -33.86, 151.21},
		{"52.52 North, 13.405 East", 52.52, 13.405},
		{"Lat 52.52 N Long 13.405 E", 52.52, 13.405},
		{"lon=13.405&lat=52.52", 52.52, 13.405},
		{`{"lat": 52.52, "lng": 13.405}`, 52.52, 13.405},
		{`{"longitude":"13.405","latitude":"52.52"}`, 52.52, 13.405},
		{`{"type":"Point","coordinates":[13.405,52.52]}`, 52.52, 13.405},
		{"SRID=4326;POINT(13.405 52.52)", 52.52, 13.405},
		{"<http://www.opengis.net/def/crs/OGC/1.3/CRS84> POINT(13.405 52.52)", 52.52, 13.405},
		{"<http://www.opengis.net/def/crs/EPSG/0/4326> POINT(52.52 13.405)", 52.52, 13.405},
		{"<http://www.opengis.net/def/crs/EPSG/0/4326> POINT(52.520008123456 13.404954123456)", 52.520008123, 13.404954123},
		{"<http://www.wikidata.org/entity/Q2> Point(13.405 52.52)", 52.52, 13.405},
		{"POINT Z (13.405 52.52 34)", 52.52, 13.405},
		{"LatLng(52.52, 13.405)", 52.52, 13.405},
		{"LngLat(13.405, 52.52)", 52.52, 13.405},
		{"GPS: 52.52, 13.405", 52.52, 13.405},
		{"loc:52.52,13.405", 52.52, 13.405},
		{"北緯52度31分12秒 東経13度24分18秒", 52.52, 13.405},
		{"东经116.4度，北纬39.9度", 39.9, 116.4},
		{"４７.３７， ８.５４", 47.37, 8.54},
		{"٤٧٫٣٧، ٨٫٥٤", 47.37, 8.54},
		{"۴۷٫۳۷، ۸٫۵۴", 47.37, 8.54},
		{"४७.३७, ८.५४", 47.37, 8.54},
		{"\u202a52.52\u202c,\u200e 13.405\ufeff", 52.52, 13.405},
		{"52.52、13.405", 52.52, 13.405},
		{"90, 180", 0, 0},
		{"8FVC9G8F+6W", 47.3655625, 8.5248125},
		{"8fvc9g8f+6w", 47.3655625, 8.5248125},
		{"8FVC0000+", 47.5, 8.5},
		{"0/0/0", 0, 0},
		{"1/1/0", 42.525564, 90},
		{"120220", 0, 0},
	} {
		r, ok := ParsePosition(c.text, "")
		switch {
		case c.text == "90, 180": // two whole numbers with a comma are a position
			c.lat, c.lon = 90, 180
		case c.text == "375400N930000W": // the longitude lacks a digit
			if ok {
				t.Errorf("%q: %+v", c.text, r)
			}
			continue
		case c.text == "120220":
			if !ok || r.Type != "quadkey" {
				t.Errorf("%q: %+v", c.text, r)
			}
			continue
		}
		if !ok || math.Abs(r.Lat-c.lat) > 1e-6 || math.Abs(r.Lon-c.lon) > 1e-6 {
			t.Errorf("%q: %v, %v, %v; want %v, %v", c.text, ok, r.Lat, r.Lon, c.lat, c.lon)
		}
	}
}

func TestNoPosition(t *testing.T) {
	for _, text := range []string{
		"", "zürich", "47", "47 8", "12 34", "10115 berlin", "91.5, 181.5", "200.5, 8.5", "nan, nan", "inf,inf", "1e1, 1e1", "47.37N 8.54N",
		"geo:", "geo:x,y", "geo:91,0", "geo:0,0?q=Zurich", "geo:0,0?q=91,0(x)", "geo:0.0,0?q=1%zz", "geo:?q=1,2x", "8FVC9G8F",
		"8FVC9G8F+6", "XXVC9G8F+6W", "8FVA9G8F+6W", "8FVC0000+6W", "23/1/1/1", "1/2/0", "99/0/0", "33/0/0",
		"444444", "47°61'N 8°0'E", "47.5°30'N 8°0'E", "n47 e8 x", strings.Repeat("4", 300), "N47.37 8.54", "lat=91&lon=10", "POINT(10 91)",
		"<http://www.wikidata.org/entity/Q405> Point(10 20)", "<http://www.opengis.net/def/crs/EPSG/0/3857> POINT(10 20)",
		"<http://example.org/CRS84> POINT(10 20)",
		"91,0", "91, 0", "0, 181", "100 5", "120,-45", "95;10", "91.5,0", "lat=91&lng=0", "@91,0,3z",
		"https://www.openstreetmap.org/#map=1/91/0", "https://yandex.ru/maps/?ll=13.4,52.5",
		"\u202e\x00", "https://example.org/", "#map", "@", "?", "10:30 11:45", "10,20,30,40.5", "13.1,52.3,13.7,52.6", "32 33 34 35",
		"32 33 34 35 36.5", "1.5.2024, 12", "N 5 E", "5 West 42nd", "route 66", "24/7",
	} {
		if r, ok := ParsePosition(text, ""); ok {
			t.Errorf("%q is %+v", text, r)
		}
	}
}

func FuzzParsePosition(f *testing.F) {
	for _, text := range []string{
		"47.37, 8.54", "47°22'12\"N 8°32'24\"E", "geo:1,2", "8FVC9G8F+6W", "1/1/0", "0123", "@1,2,3z",
		"https://a.example/#map=1/2/3", "?mlat=1&mlon=2", "1d2m3s N 4d5m6s E",
		"N523112 E0132418", "+52.52+013.405/", `{"lat":1,"lng":2}`, `"coordinates":[1,2]`, "SRID=4326;POINT(1 2)", "北緯1度 東経2度",
		"1 2 3.4 5 6 7.8", "٤٧٫٣٧، ٨٫٥٤", "200.5,1.5",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, ok := ParsePosition(text, "")
		if ok && (!(math.Abs(r.Lat) <= 90) || !(math.Abs(r.Lon) <= 180) || r.Name == "") {
			t.Errorf("%q: %+v", text, r)
		}
	})
}

// TestSwappedPosition tests that ParsePosition marks a position as swapped if it had to guess that
// the longitude comes first.
func TestSwappedPosition(t *testing.T) {
	for text, want := range map[string]string{"151.21, -33.86": "swapped", "-151.5 33.5": "swapped", "33.86, 151.21": "", "80.5, 10.5": ""} {
		if r, ok := ParsePosition(text, ""); !ok || r.Type != want {
			t.Errorf("%q: %v, %q", text, ok, r.Type)
		}
	}
}

func TestReadings(t *testing.T) {
	first := func(text string) reading {
		list := readings(text)
		if len(list) == 0 {
			return reading{}
		}
		return list[0]
	}
	if r := first("portland, oregon, us"); r.name != "portland" || strings.Join(r.context, "|") != "oregon|us" {
		t.Errorf("%+v", r)
	}
	if r := first("new york city"); r.name != "new york" || r.context[0] != "city" {
		t.Errorf("%+v", r)
	}
	if list := readings("zürich"); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	if list := readings(strings.Repeat("a ", 100)); len(list) != 0 {
		t.Errorf("%d readings of 100 words", len(list))
	}
}

// O is the east in languages whose word for it begins with O, and otherwise the west.
func TestPositionInLanguage(t *testing.T) {
	for lang, want := range map[string]float64{
		"":      -8.5,
		"fr":    -8.5,
		"es-MX": -8.5,
		"it":    -8.5,
		"pt":    -8.5,
		"de":    8.5,
		"de-CH": 8.5,
		"DE":    8.5,
		"nl":    8.5,
	} {
		for _, text := range []string{"47.25N 8.5O", "N47°15' O8°30'", "47.25° n, 8.5° o"} {
			r, ok := ParsePosition(text, lang)
			if !ok || r.Lat != 47.25 || r.Lon != want {
				t.Errorf("%q in %q: %v, %v, %v", text, lang, r.Lat, r.Lon, ok)
			}
		}
	}
	if r, ok := ParsePosition("47.25N 8.5W", "de"); !ok || r.Lon != -8.5 {
		t.Error(r, ok)
	}
}

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
		"geo:", "geo:x,y", "geo:91,0", "8FVC9G8F", "8FVC9G8F+6", "XXVC9G8F+6W", "8FVA9G8F+6W", "8FVC0000+6W", "23/1/1/1", "1/2/0", "99/0/0", "33/0/0",
		"444444", "47°61'N 8°0'E", "47.5°30'N 8°0'E", "n47 e8 x", strings.Repeat("4", 300), "N47.37 8.54", "lat=91&lon=10", "POINT(10 91)",
	} {
		if r, ok := ParsePosition(text, ""); ok {
			t.Errorf("%q is %+v", text, r)
		}
	}
}

func FuzzParsePosition(f *testing.F) {
	for _, text := range []string{"47.37, 8.54", "47°22'12\"N 8°32'24\"E", "geo:1,2", "8FVC9G8F+6W", "1/1/0", "0123"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, ok := ParsePosition(text, "")
		if ok && (!(math.Abs(r.Lat) <= 90) || !(math.Abs(r.Lon) <= 180) || r.Name == "") {
			t.Errorf("%q: %+v", text, r)
		}
	})
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

// O is the east where the word for it begins with O, and else the west.
func TestPositionInLanguage(t *testing.T) {
	for lang, want := range map[string]float64{"": -8.5, "fr": -8.5, "es-MX": -8.5, "it": -8.5, "pt": -8.5, "de": 8.5, "de-CH": 8.5, "DE": 8.5, "nl": 8.5} {
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

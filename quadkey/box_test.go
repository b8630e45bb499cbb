package quadkey

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseBox(t *testing.T) {
	for s, want := range map[string]Box{
		"-180,-90,180,90":               World,
		"1,2,3,4":                       {1, 2, 3, 4},
		" 1 , 2 ,\t3 , 4 ":              {1, 2, 3, 4},
		"+1.5,-2e1,.25,4.":              {1.5, -20, 0.25, 4},
		"170,-20,-170,20":               {170, -20, -170, 20},
		"180,0,-180,0":                  {180, 0, -180, 0},
		"7,7,7,7":                       {7, 7, 7, 7},
		"1e-400,0,0,0":                  {},
		"5.9559,45.818,10.4921,47.8084": {5.9559, 45.818, 10.4921, 47.8084},
	} {
		if got, err := ParseBox(s); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{
		"", ",", ",,,", "1,2,3", "1,2,3,", "1,2,3,4,", "1,2,3,4,5", "1,2,3,4,5,6", "a,b,c,d",
		"NaN,0,1,1", "0,nan,1,1", "0,0,Inf,1", "0,0,1,+inf", "0x1p-2,0,1,1", "1_0,0,11,1", "1 0,0,11,1",
		"1e999,0,1,1", "0,0,1,1e999", "--1,0,1,1", "e,0,1,1", "1;2;3;4", "1,2,3,4\x00", "１,2,3,4",
		"-180.1,0,0,0", "0,0,180.1,0", "0,-90.1,0,0", "0,0,0,90.1", "0,10,1,9",
		strings.Repeat("9", 1<<20), strings.Repeat(",", 1<<20),
	} {
		got, err := ParseBox(s)
		if !errors.Is(err, ErrBox) || got != (Box{}) {
			t.Errorf("%.40q: %v, %v; want ErrBox", s, got, err)
		} else if len(err.Error()) > 500 {
			t.Errorf("%.40q: error of %d bytes", s, len(err.Error()))
		}
	}
}

func TestBoxCheck(t *testing.T) {
	for name, b := range map[string]Box{
		"NaN west":         {West: nan},
		"NaN south":        {South: nan},
		"NaN east":         {East: nan},
		"NaN north":        {North: nan},
		"infinite west":    {West: -inf},
		"infinite south":   {South: -inf},
		"infinite east":    {East: inf},
		"infinite north":   {North: inf},
		"west beyond":      {West: belowDeg(-180)},
		"east beyond":      {East: aboveDeg(180)},
		"south beyond":     {South: belowDeg(-90)},
		"north beyond":     {North: aboveDeg(90)},
		"south over north": {South: 1, North: 0},
	} {
		if err := b.Check(); !errors.Is(err, ErrBox) || b.Valid() {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := CoverBox(b, 4); !errors.Is(err, ErrBox) || got != nil {
			t.Errorf("%s: cover %v, %v", name, got, err)
		}
	}
}

func TestBoxContains(t *testing.T) {
	for _, tt := range []struct {
		name     string
		box      Box
		lon, lat float64
		want     bool
	}{
		{"inside", Box{1, 1, 3, 3}, 2, 2, true},
		{"corner", Box{1, 1, 3, 3}, 3, 1, true},
		{"west of", Box{1, 1, 3, 3}, 0.9, 2, false},
		{"north of", Box{1, 1, 3, 3}, 2, 3.1, false},
		{"crossing, east part", Box{170, -1, -170, 1}, 175, 0, true},
		{"crossing, west part", Box{170, -1, -170, 1}, -175, 0, true},
		{"crossing, outside", Box{170, -1, -170, 1}, 0, 0, false},
		{"180 in a box that begins at -180", Box{-180, -1, -170, 1}, 180, 0, true},
		{"-180 in a box that ends at 180", Box{170, -1, 180, 1}, -180, 0, true},
		{"180 in a crossing box", Box{170, -1, -170, 1}, 180, 0, true},
		{"180 on the meridian alone", Box{180, -1, -180, 1}, 180, 0, true},
		{"-180 on the meridian alone", Box{180, -1, 180, 1}, -180, 0, true},
		{"180 in a box far from it", Box{0, -1, 90, 1}, 180, 0, false},
		{"pole", World, 12, 90, true},
		{"NaN lon", World, nan, 0, false},
		{"NaN lat", World, 0, nan, false},
		{"Inf", Box{170, -1, -170, 1}, inf, 0, false},
		{"-Inf", Box{170, -1, -170, 1}, -inf, 0, false},
	} {
		if got := tt.box.Contains(tt.lon, tt.lat); got != tt.want {
			t.Errorf("%s: %v in %v: %v", tt.name, [2]float64{tt.lon, tt.lat}, tt.box, got)
		}
	}
}

func TestBoxString(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := drawBox(rt)
		got, err := ParseBox(b.String())
		if err != nil || got != b {
			rt.Fatalf("%q: %v, %v; want %v", b.String(), got, err, b)
		}
	})
	if got, want := (Box{-180, -8.5, 180, 1e-7}).String(), "-180,-8.5,180,0.0000001"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// drawBox draws any valid box.
func drawBox(rt *rapid.T) Box {
	b := Box{drawLon(rt, "west"), drawLat(rt, "south"), drawLon(rt, "east"), drawLat(rt, "north")}
	if b.South > b.North {
		b.South, b.North = b.North, b.South
	}
	if rapid.Bool().Draw(rt, "small") {
		b.East = math.Min(180, b.West+rapid.Float64Range(0, 0.3).Draw(rt, "width"))
		b.South = math.Max(-90, b.North-rapid.Float64Range(0, 0.3).Draw(rt, "height"))
	}
	return b
}

func TestParseNumbers(t *testing.T) {
	for text, want := range map[string]bool{
		"1,2,3": true, " 1 ,\t-2,+3e0 ": true, "0,0,.5": true,
		"": false, "1,2": false, "1,2,": false, "1,2,3,": false, "1,2,3,4": false, ",2,3": false, "1;2;3": false, "0x1,2,3": false,
		"1_0,2,3": false, "nan,2,3": false, "inf,2,3": false, "1e999,2,3": false, "1 2,3,4": false, "-,2,3": false,
	} {
		var v [3]float64
		if got := ParseNumbers(text, v[:], ParseNumber); got != want {
			t.Errorf("%q: %v, %v", text, got, v)
		}
	}
	var v [1]float64
	if !ParseNumbers("∞", v[:], func(s string) (float64, bool) { return 7, s == "∞" }) || v[0] != 7 {
		t.Errorf("a number of the caller's is %v", v)
	}
}

func TestPositionValid(t *testing.T) {
	values := []float64{0, 90, -90, 90.5, -90.5, 180, -180, 180.5, -180.5, math.NaN(), math.Inf(1), math.Inf(-1)}
	for _, lat := range values {
		for _, lon := range values {
			if p := (Position{Lat: lat, Lon: lon}); p.Valid() != (p.Check() == nil) {
				t.Errorf("%v: %v, %v", p, p.Valid(), p.Check())
			}
		}
	}
}

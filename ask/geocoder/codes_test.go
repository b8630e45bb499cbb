package geocoder

import (
	"math"
	"testing"

	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
)

// A code means an airport, unless it also begins the name of a large city.
func TestCodesOfAirports(t *testing.T) {
	for _, c := range []struct {
		text, city string
		people     int64
		want       names.Kind
	}{
		{"maa", "Chennai", 4_000_000, names.Airport},
		{"ist", "İstanbul", 15_000_000, Place},
		{"ist", "Istres", 40_000, names.Airport},
	} {
		code := string([]byte{c.text[0] - 32, c.text[1] - 32, c.text[2] - 32})
		city := Result{Match: &search.Match{Name: code, Kind: search.Exact, IsCode: true}, Score: codeScore(float64(c.people)), Place: places.Hit{}}
		city.Place.Name, city.Place.Population = c.city, c.people
		airport := Result{
			Feature: names.Feature{Kind: names.Airport, Type: largeAirport, Code: code},
			Match:   &search.Match{Name: code, Kind: search.Exact, IsCode: true},
			Score:   codeScore(300_000),
		}
		f := finding{q: &Query{Text: c.text, Limit: 2}, found: []Result{placeResult(city), airport}}
		f.preferCodes()
		f.order()
		if got := f.found[0].Kind; got != c.want {
			t.Errorf("%s with the city %s: first is %s, want %s", c.text, c.city, got, c.want)
		}
	}
}

// codeScore is what package search gives the code of something that ranks by so many people.
func codeScore(people float64) int32 { return int32(256*(8+math.Log2(people))) + search.CodeBonus }

// An exact name with the text's accents comes before one without them, and a city comes before an
// airport that has the city's name among its names.
func TestPreferred(t *testing.T) {
	exact := func(kind names.Kind, name, matched string, score int32) Result {
		r := Result{
			Feature: names.Feature{Kind: kind, Name: name, Level: 1},
			Match:   &search.Match{Kind: search.Exact, Name: matched},
			Score:   score,
		}
		r.Place.Population = 1000
		return r
	}
	for _, c := range []struct {
		text, want string
		found      []Result
	}{
		{"bali", "Bali", []Result{exact(Place, "Bāli", "", 1000), exact(names.Region, "Bali", "", 900)}},
		{"bali", "Bāli", []Result{exact(Place, "Bāli", "", 2000), exact(names.Region, "Bali", "", 900)}},
		{"kiev", "Kyiv", []Result{exact(Place, "Kyiv", "Kiẹv", 1000), exact(names.Region, "Kiev", "", 900)}},
		{"tromso", "Tromsø", []Result{exact(names.Airport, "Tromsø Airport", "Tromso", 2000), exact(Place, "Tromsø", "", 1000)}},
		{"tromsø airport", "Tromsø Airport", []Result{exact(names.Airport, "Tromsø Airport", "", 2000), exact(Place, "Tromsø", "", 1000)}},
	} {
		f := finding{q: &Query{Text: c.text, Limit: 1}, found: c.found}
		f.preferLetters()
		f.preferSeats()
		if f.order(); f.found[0].Name != c.want {
			t.Errorf("%s: %s", c.text, f.found[0].Name)
		}
	}
}

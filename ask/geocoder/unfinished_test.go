package geocoder

import (
	"strings"
	"testing"

	"quadrille/internal/must"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
)

// A code in small letters is rather the beginning of a city's name, unless the code begins nothing
// of note. In capitals it is the code.
func TestCodesInSmallLetters(t *testing.T) {
	at := func(id uint32, name, other, country string, people int64, lat, lon float64) places.Place {
		return places.Place{ID: id, Name: name, AlternateNames: other, Country: country, Population: people, Lat: lat, Lon: lon}
	}
	more := []places.Place{
		at(5, "Munich", "München,Muenchen", "DE", 1_260_000, 48.14, 11.58), at(20, "Maturín", "MUN", "VE", 410_000, 9.75, -63.18),
		at(21, "Genève", "Geneva", "CH", 184_000, 46.2, 6.15), at(22, "Puente-Genil", "GEN", "ES", 30_000, 37.39, -4.77),
		at(23, "San", "", "ML", 66_000, 13.3, -4.9), at(24, "San Diego", "SAN", "US", 1_390_000, 32.72, -117.16),
		at(25, "San Francisco", "SFO", "US", 864_000, 37.77, -122.42), at(26, "São Tomé", "", "ST", 53_000, 0.34, 6.73),
		at(27, "Saint Petersburg", "", "RU", 5_000_000, 59.9, 30.3), at(28, "Le Port", "Port", "RE", 40_000, -20.9, 55.3),
		at(29, "Porto Alegre", "", "BR", 1_370_000, -30, -51.2), at(30, "Santa Fe", "", "AR", 490_000, -31.6, -60.7),
		at(31, "Buenos Aires", "Santa María del Buen Ayre", "AR", 2_890_000, -34.6, -58.4), at(32, "Zürich", "ZRH", "CH", 340_000, 47.4, 8.5),
		at(33, "Lagos", "LOS", "NG", 15_000_000, 6.45, 3.4), at(34, "Los Angeles", "LAX", "US", 3_970_000, 34.05, -118.24),
		at(35, "Egling", "", "DE", 5_000, 47.9, 11.5), at(36, "Dublin", "DUB", "IE", 1_020_000, 53.3, -6.2),
		at(37, "Dubai", "", "AE", 3_000_000, 25.2, 55.3),
	}
	airport := func(id, code, name, country string, lat, lon float64) names.Feature {
		return names.Feature{Kind: names.Airport, Type: largeAirport, ID: id, Name: name, Country: country, Code: code, Lat: lat, Lon: lon,
			Names: []search.Name{{Text: code, Lang: search.CodeLang}, {Text: id, Lang: search.CodeLang}}}
	}
	features := []names.Feature{
		airport("EDDM", "MUC", "München Airport", "DE", 48.35, 11.79), airport("LSGG", "GVA", "Geneva Airport", "CH", 46.24, 6.11),
		airport("LSZH", "ZRH", "Zurich Airport", "CH", 47.46, 8.55), airport("EGLL", "LHR", "London Heathrow Airport", "GB", 51.47, -0.45),
		airport("DNMM", "LOS", "Murtala Muhammed International Airport", "NG", 6.58, 3.32),
		{Kind: names.Region, Type: "country", ID: "st", Name: "São Tomé and Principe", Country: "ST", Population: 176_000, Lat: 0.2, Lon: 6.6,
			Bounds: [4]float64{6, 0, 7, 1}, Names: []search.Name{{Text: "ST", Lang: search.CodeLang}}},
	}
	s := serveFrom(t, openStore, more, features, boundarySet, placesSet, nameSet)
	for text, want := range map[string]string{ // the first results
		"mun": "Munich|München Airport", "MUN": "Maturín", "muen": "Munich|München Airport", "muc": "München Airport",
		"gen": "Genève|Geneva Airport", "GEN": "Puente-Genil", "genev": "Genève|Geneva Airport", "geneva airport": "Geneva Airport",
		"st": "Saint Petersburg|São Tomé and Principe", "ST": "São Tomé and Principe", "port": "Porto Alegre", "santa": "Santa Fe|Buenos Aires",
		"zrh": "Zurich Airport|Zürich", "ZRH": "Zurich Airport", "los": "Los Angeles", "LOS": "Murtala Muhammed International Airport",
		"lax": "Los Angeles", "egll": "London Heathrow Airport", "EGLL": "London Heathrow Airport", "dub": "Dublin|Dubai", "duba": "Dubai",
		"sfo": "San Francisco",
	} {
		found := must.Get(s.Search(t.Context(), Query{Text: text})).In(t)
		var got []string
		for i := range found {
			got = append(got, found[i].Name)
		}
		if list := strings.Join(got, "|") + "|"; !strings.HasPrefix(list, want+"|") {
			t.Errorf("%s: %s", text, list)
		}
	}
	near := must.Get(s.Search(t.Context(), Query{Text: "san", Bias: true, Lat: 37.8, Lon: -122.4})).In(t)
	if near[0].Name != "San Francisco" {
		t.Errorf("san near San Francisco: %s", near[0].Name)
	}
}

package geonames

import "testing"

// Distances have no trailing zeros, and at most the precision of a centimetre.
func TestAppendKilometres(t *testing.T) {
	for metres, want := range map[float64]string{
		0:              "0",
		1000:           "1",
		1234.5:         "1.2345",
		0.01:           "0.00001",
		0.004:          "0",
		20_015_086.796: "20015.0868",
		10_000:         "10",
	} {
		if got := string(appendKilometres(nil, metres)); got != want {
			t.Errorf("%v metres are %s km, want %s", metres, got, want)
		}
	}
}

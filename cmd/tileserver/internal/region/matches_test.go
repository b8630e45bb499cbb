package region

import (
	"testing"

	"quadrille/tiles"
)

// A search that was cut short says so of the types that it did not find, and of no others.
func TestMatchesOfASearchCutShort(t *testing.T) {
	got := string(appendMatches([]byte(`{"regions":[`), []tiles.Match{
		{Region: tiles.Region{Type: "state"}, Truncated: true},
		{Region: tiles.Region{Type: "country", ID: "wl", Name: "Westland"}, Kind: tiles.MatchSnapped, Distance: 12.34},
		{Region: tiles.Region{Type: "lake"}},
	}))
	want := `{"regions":[{"type":"country","id":"wl","name":"Westland","match":"snapped","distance_m":12.3}],` +
		`"none":[{"type":"state","match":"none","truncated":true},{"type":"lake","match":"none"}]}`
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

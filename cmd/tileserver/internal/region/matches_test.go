package region

import (
	"testing"

	"quadrille/tiles"
)

// A search that was stopped early reports this for the types that it did not find, and for no
// others.
func TestMatchesOfASearchCutShort(t *testing.T) {
	got := string(appendMatches([]byte(`{"regions":[`), []tiles.Match{
		{Region: tiles.Region{Type: "state"}, Truncated: true},
		{Region: tiles.Region{Type: "country", ID: "wl", Name: "Westland"}, Kind: tiles.MatchSnapped, DistanceM: 12.34},
		{Region: tiles.Region{Type: "lake"}},
	}))
	want := `{"regions":[{"type":"country","id":"wl","name":"Westland","match":"snapped","distance_m":12.3}],` +
		`"none":[{"type":"state","match":"none","truncated":true},{"type":"lake","match":"none"}]}`
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

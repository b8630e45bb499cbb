package follow

import (
	"testing"

	"quadrille/ask/fence"
	"quadrille/places/live"
)

// TestAppendMembers tests that AppendMembers writes the previous position of a move and the fence
// of a crossing, and the new position of both.
func TestAppendMembers(t *testing.T) {
	from, to := &[2]float64{8.5, 47.25}, &[2]float64{-0.125, 51}
	for _, c := range []struct {
		fence string
		e     live.Event
		want  string
	}{
		{"", live.Event{From: from, To: to, Version: 7}, `,"from":{"lat":47.25,"lon":8.5},"lat":51,"lon":-0.125,"version":7`},
		{"", live.Event{To: to, Version: 1}, `,"lat":51,"lon":-0.125,"version":1`},
		{"", live.Event{From: from, Version: 8}, `,"from":{"lat":47.25,"lon":8.5},"gone":true,"version":8`},
		{"", live.Event{From: from, Version: 8, Expired: true}, `,"from":{"lat":47.25,"lon":8.5},"gone":true,"expired":true,"version":8`},
		{`state:"a"`, live.Event{From: from, To: to, Version: 7}, `,"fence":"state:\"a\"","lat":51,"lon":-0.125,"version":7`},
	} {
		if got := string(AppendMembers(nil, &fence.Event{Fence: c.fence, Event: &c.e})); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

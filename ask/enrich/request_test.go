package enrich_test

import (
	"errors"
	"slices"
	"testing"

	"quadrille/ask/enrich"
	"quadrille/ask/localtime"
	"quadrille/internal/smallworld"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// A request names its columns in the order of its members, whose names go into a query and errors.
func TestRequest(t *testing.T) {
	layers := append(smallworld.Layers(), build.Layer{Type: localtime.TimeZoneType, Features: smallworld.Layers()[0].Features})
	v, _ := regions(t, layers)
	for _, tt := range []struct {
		of                       enrich.Request
		query                    string
		needsPosition, locatable bool
		want                     []string
	}{
		{enrich.Request{}, "", true, false, []string{"country", "country_id", "state", "state_id", "timezone", "timezone_id"}},
		{
			enrich.Request{Regions: []string{"all"}, TimeZone: true}, "regions=all&timezone=true", true, false,
			[]string{"country", "country_id", "state", "state_id", "timezone", "utc_offset"},
		},
		{
			enrich.Request{Nearest: []string{"airport:iata, distance_m", "place"}, Reverse: true},
			"nearest=airport%3Aiata%2C+distance_m%7Cplace&reverse=true", true, false, []string{"airport_iata", "airport_distance_m", "place_name", "place_distance_m", "address"},
		},
	} {
		p, err := tt.of.Plan(v)
		if err != nil {
			t.Errorf("%+v: %v", tt.of, err)
			continue
		}
		var got []string
		for _, c := range p.Columns() {
			got = append(got, c.Name)
		}
		if !slices.Equal(got, tt.want) || tt.of.Query().Encode() != tt.query || tt.of.NeedsPosition() != tt.needsPosition ||
			tt.of.Locates() != tt.locatable {
			t.Errorf("%+v: %q, %s", tt.of, got, tt.of.Query().Encode())
		}
	}
	wrong := enrich.Request{Regions: []string{"planet"}, Nearest: []string{":name", "airport:gates"}}
	_, err := wrong.Plan(v)
	var member *enrich.MemberError
	if len(enrich.Errors(err)) != 3 || !errors.As(err, &member) || member.Member != enrich.RegionsMember ||
		!errors.Is(err, tiles.ErrUnknownType) || !errors.Is(err, enrich.ErrRequest) {
		t.Error(err)
	}
	for text, want := range map[string]int{`airport:iata|place`: 2, `shops:"a|b"`: 1, `a`: 1} {
		if got := enrich.SplitNearest(text); len(got) != want {
			t.Errorf("%s: %q", text, got)
		}
	}
	if _, err := (&enrich.Request{Nearest: []string{"airport:a|b"}}).Plan(v); !errors.Is(err, enrich.ErrRequest) {
		t.Error(err)
	}
}

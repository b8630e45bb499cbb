package geocode

import (
	"testing"

	"quadrille/ask/geocoder"
	"quadrille/places/names"
)

// Unknown members of a result are omitted, and names are valid JSON whatever they contain.
func TestAppendResult(t *testing.T) {
	for _, tc := range []struct {
		result geocoder.Result
		want   string
	}{
		{
			geocoder.Result{Feature: names.Feature{Kind: names.Region, Type: "country", ID: "ch", Name: "Switzerland"}},
			`"kind":"region","type":"country","id":"ch","name":"Switzerland"`,
		},
		{
			geocoder.Result{Feature: names.Feature{Kind: geocoder.Place, Name: "\"<b>\n", Population: 12}},
			`"kind":"place","name":"\"\u003cb\u003e\u000a","population":12`,
		},
	} {
		if got := string(appendResult(nil, &tc.result)); len(got) < len(tc.want) || got[:len(tc.want)] != tc.want {
			t.Errorf("%s, want %s …", got, tc.want)
		}
	}
}

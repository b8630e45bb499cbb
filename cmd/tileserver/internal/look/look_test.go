package look

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"quadrille/static"
)

func TestTokensAreComplete(t *testing.T) {
	tokens, err := parse(static.Tokens)
	if err != nil {
		t.Fatal(err)
	}
	if len(tokens.Themes) != len(Themes) {
		t.Errorf("%d themes, want %v", len(tokens.Themes), Themes)
	}
	for name, theme := range tokens.Themes {
		// What one theme has, all have: an absent key would be invisible.
		body, err := json.Marshal(theme.Label)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(body, []byte(`"A":0}`)) {
			t.Errorf("%s: a label has no colour: %s", name, body)
		}
		if transparent := theme.Map.Water.A == 0; transparent != (name == "plain") {
			t.Errorf("%s: water is %s", name, theme.Map.Water.CSS())
		}
		for _, c := range theme.Map.Land {
			if c.A != 0xff {
				t.Errorf("%s: land is %s", name, c.CSS())
			}
		}
	}
	for _, rank := range strings.Fields("country-large country country-small state county capital city town village water") {
		if tokens.Type.Labels[rank].Size == 0 {
			t.Errorf("no label rank %s", rank)
		}
	}
}

func TestColor(t *testing.T) {
	for text, want := range map[string]string{
		"#0a0b0c": "#0a0b0c", "#FFFFFFff": "#ffffff", "#00000080": "rgba(0,0,0,0.502)", "#00000000": "rgba(0,0,0,0)",
		"": "", "0a0b0c": "", "#abc": "", "#0a0b0c0": "", "#0a0b0cgg": "", "#+a0b0c": "", "red": "",
	} {
		var c Color
		if err := c.UnmarshalText([]byte(text)); (err == nil) != (want != "") {
			t.Errorf("%q: error %v", text, err)
		} else if err == nil && c.CSS() != want {
			t.Errorf("%q reads as %s, want %s", text, c.CSS(), want)
		}
	}
}

func TestBadTokensAreRefused(t *testing.T) {
	for old, bad := range map[string]string{
		`"light": {`: `"lite": {`, `"water": "#`: `"wasser": "#`, `"slant": "italic"`: `"slant": "bent"`, `"ink": "quiet"`: `"ink": "loud"`,
		`"rim": "#`: `"rim": "`,
	} {
		if _, err := parse(bytes.Replace(static.Tokens, []byte(old), []byte(bad), 1)); err == nil {
			t.Errorf("%s for %s is accepted", bad, old)
		}
	}
}

package theme

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
		// All themes have the same keys, because the effect of an absent key would be invisible.
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
}

func TestNamesAreComplete(t *testing.T) {
	names, err := parseNames(static.Names)
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range strings.Fields("continent country marine state lake county other") {
		if _, ok := names.Regions[typ]; !ok {
			t.Errorf("no regions of the type %s", typ)
		}
	}
	if got, want := names.Region("parish"), names.Regions["other"]; got.Turn != want.Turn || got.From != want.From {
		t.Errorf("regions of an unknown type are named as %+v, want %+v", got, want)
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
		`"light": {`: `"lite": {`, `"water": "#`: `"wasser": "#`, `"rim": "#`: `"rim": "`,
	} {
		if _, err := parse(bytes.Replace(static.Tokens, []byte(old), []byte(bad), 1)); err == nil {
			t.Errorf("%s for %s is accepted", bad, old)
		}
	}
	for old, bad := range map[string]string{
		`"slant": "italic"`:  `"slant": "bent"`,
		`"ink": "quiet"`:     `"ink": "loud"`,
		`"looks": ["state"]`: `"looks": ["estate"]`,
		`"turn": 2`:          `"turns": 2`,
		`"other": {`:         `"others": {`, `"from": 8`: `"from": 18`, `"fonts": [`: `"fonts": [], "faces": [`, `"capital": 4.5`: `"capital": 0`,
	} {
		if _, err := parseNames(bytes.Replace(static.Names, []byte(old), []byte(bad), 1)); err == nil {
			t.Errorf("%s for %s is accepted", bad, old)
		}
	}
}

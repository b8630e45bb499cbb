package servertest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/cmd/tileserver/internal/tile"
	"quadrille/internal/testrace"
)

// Names in a language come from tiles with these names. A style without names still has dots, which
// are pictures of the sprite.
func TestStyleNames(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	f := servertest.New(t, nil, ask.Boundaries.Name, ask.Places.Name)
	ask := func(query string) (text string, style tile.MapStyle) {
		t.Helper()
		text = servertest.Body(t, f.Get("/style.json?layers=country,places"+query))
		if err := json.Unmarshal([]byte(text), &style); err != nil {
			t.Fatal(err)
		}
		return text, style
	}
	text, style := ask("&lang=de")
	if got := style.Sources["quadrille"].URL; !strings.HasSuffix(got, "/tiles/country,places.json?names=de&pixels=512") ||
		!strings.Contains(text, `["coalesce",["get","name:de"],["get","name"]]`) {
		t.Errorf("German names: tiles of %s, want them to have names=de, and texts %s", got, text)
	}
	if text, _ := ask(""); strings.Contains(text, "names=") || strings.Contains(text, "name:") {
		t.Errorf("a language that nobody asked for: %s", text)
	}
	text, style = ask("&names=false")
	dots := 0
	for _, l := range style.Layers {
		if l.Layout["icon-image"] == "dot" {
			dots++
		}
	}
	if strings.Contains(text, `"text-`) || dots != 4 || !strings.HasSuffix(style.Sprite, "/sprite") {
		t.Errorf("without names: %d layers of dots, want 4 and no text: %s", dots, text)
	}
	servertest.WantProblem(t, f.Get("/style.json?lang=de_CH"), 400, "bad-parameter")

	var sprite tile.SpriteIndex
	for _, file := range []string{"/sprite", "/sprite@2x"} {
		if err := json.Unmarshal([]byte(servertest.Body(t, f.Get(file+".json"))), &sprite); err != nil {
			t.Fatal(err)
		}
		img := servertest.DecodePNG(t, f.Get(file+".png"))
		if size := img.Bounds().Size(); size.X != sprite.Dot.Width || size.Y != sprite.Dot.Height || !sprite.Dot.SDF {
			t.Errorf("%s: the picture is %v, the index says %+v", file, size, sprite.Dot)
		}
		// The edge is where alpha is three quarters, 8 pixels from the middle.
		for x, inside := range map[int]bool{12: true, 19: true, 20: false, 23: false} {
			if _, _, _, a := img.At(x, 12).RGBA(); (a >= 0xc000) != inside {
				t.Errorf("%s: alpha %x at %d, inside should be %v", file, a, x, inside)
			}
		}
	}
}

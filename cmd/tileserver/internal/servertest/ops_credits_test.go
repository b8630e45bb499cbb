//go:build !race

package servertest_test

import (
	"encoding/json"
	"html"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/servertest"
)

// A link in an attribution is HTML where maps accept HTML, and elsewhere text with the address.
// Other markup never appears.
func TestCredits(t *testing.T) {
	const link, text = `© <a href="https://example.org/l" onclick="x()">City</a><img src=x>`, "© City, https://example.org/l"
	w := servertest.NewWorld(t)
	named := servertest.New(t, nil)
	named.PublishRows(servertest.Names())
	named.PublishAs(ask.NamesName, func(m *dataset.Manifest) { m.Sources = []dataset.Source{{Name: "City", Attribution: link}} })
	named.Poll()
	w.Config.Names = named.Config.Names
	w.Serve()
	var tiles struct{ Attribution string }
	if err := json.Unmarshal([]byte(servertest.Body(t, w.Get("/tiles/country.json?names=de"))), &tiles); err != nil {
		t.Fatal(err)
	}
	if want := `© <a href="https://example.org/l" target="_blank" rel="noopener">City</a>`; !strings.Contains(tiles.Attribution,
		want) || strings.Contains(tiles.Attribution, "img") {
		t.Errorf("TileJSON has %s", tiles.Attribution)
	}
	for _, accept := range []string{"application/json", "text/html"} {
		body := html.UnescapeString(servertest.Body(t, w.Get("/status", "Accept", accept)))
		if !strings.Contains(body, text) || strings.Contains(body, "onclick") || strings.Contains(body, "src=x") {
			t.Errorf("/status as %s:\n%s", accept, body)
		}
	}
}

package ops

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
)

// maxPopup bounds the characters of a popup, as static/leaflet/src/popup.js does.
const maxPopup = 1000

// placeholder matches a column in the text of a popup, as static/leaflet/src/popup.js does.
var placeholder = regexp.MustCompile(`\{([^{}]+)\}`)

// getEmbed answers GET /embed.
func (s *Handlers) getEmbed(c echo.Context, q *endpoint.Params) error {
	values := q.Values()
	var layers []string // without a list the page chooses
	if list := values.Get("layers"); list != "" {
		colored, _, _ := strings.Cut(values.Get("color"), ".")
		layers = append(strings.Split(list, ","), colored)
	}
	if err := checkPopup(q, values.Get("popup"), layers); err != nil {
		web.FrameProblems(c)
		return err
	}
	return s.getPage(c, q)
}

// checkPopup refuses a popup with a column that no layer of the map has: its cards would lack it without
// a word. Live layers may get it later.
func checkPopup(q *endpoint.Params, popup string, layers []string) error {
	if len([]rune(popup)) > maxPopup {
		return endpoint.Refuse(endpoint.ErrParameter, "popup", "Shorten popup to at most "+strconv.Itoa(maxPopup)+" characters.")
	}
	var columns []string
	for _, m := range placeholder.FindAllStringSubmatch(popup, -1) {
		columns = append(columns, m[1])
	}
	if columns == nil {
		columns = strings.Split(popup, ",")
	}
	if popup == "" {
		return nil
	}
	schema := feature.Schema{{Name: "id", Kind: feature.Text}, {Name: "name", Kind: feature.Text}}
	view, described := q.View(), false
	for _, all := range [][]string{layers, view.LayerNames()} { // the page shows its usual layers if it has none of those that are named
		for _, name := range all {
			if l, err := view.PublicLayer(name); err == nil {
				if l.LayerInfo.Live {
					return nil
				}
				schema, described = schema.Merge(l.LayerInfo.Schema), true
			}
		}
		if described {
			break
		}
	}
	for _, name := range columns {
		name = strings.TrimSpace(name)
		if _, known := schema.LookupPath(name); !known && name != "" && described {
			return endpoint.Refuse(endpoint.ErrParameter, "popup", "No layer of this map has a column "+endpoint.Printable(name)+": use some of "+
				columnNames(schema)+".")
		}
	}
	return nil
}

// columnNames lists the columns of a schema for a refusal.
func columnNames(schema feature.Schema) string {
	const most = 20
	var names []string
	for _, f := range schema {
		if name := endpoint.Printable(f.Name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " and " + strconv.Itoa(len(names)-most) + " others"
	}
	return strings.Join(names, ", ")
}

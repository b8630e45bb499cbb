package ops

import (
	"regexp"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
)

// placeholder matches a column in the text of a popup, as static/leaflet/src/popup.js does.
var placeholder = regexp.MustCompile(`\{([^{}]+)\}`)

// mostColumns is the number of columns that static/leaflet/src/popup.js takes.
const mostColumns = 32

// getEmbed answers GET /embed. It refuses a popup with a column that no layer of the map has: cards would
// lack it without a word. Live layers may get it later.
func (s *Handlers) getEmbed(c echo.Context, q *endpoint.Params) error {
	var columns []string
	popup := q.Values().Get("popup")
	for _, m := range placeholder.FindAllStringSubmatch(popup, -1) {
		columns = append(columns, m[1])
	}
	if columns == nil && popup != "" {
		columns = strings.Split(popup, ",")
		columns = columns[:min(len(columns), mostColumns)]
	}
	if columns == nil {
		return s.getPage(c, q)
	}
	schema, live := embedSchema(q)
	for _, name := range columns {
		name = strings.TrimSpace(name)
		if _, known := schema.LookupPath(name); !known && name != "" && !live {
			web.FrameProblems(c)
			return endpoint.Refuse(endpoint.ErrParameter, "popup", "No layer of this map has a column "+endpoint.Printable(name)+": "+
				listing.PropertyNames([]listing.Filtered{{Schema: schema}}, ""))
		}
	}
	return s.getPage(c, q)
}

// embedSchema returns the columns of the layers that a map is asked for, or of all if none of these is there, as
// the page does, and whether one of them is live.
func embedSchema(q *endpoint.Params) (schema feature.Schema, live bool) {
	var layers []string
	view, found := q.View(), false
	if list := q.Values().Get("layers"); list != "" {
		colored, _, _ := strings.Cut(q.Values().Get("color"), ".")
		layers = append(strings.Split(list, ","), colored)
	}
	schema = feature.Schema{{Name: "id", Kind: feature.Text}, {Name: "name", Kind: feature.Text}}
	for _, names := range [][]string{layers, view.LayerNames()} {
		for _, name := range names {
			if own, ok := strings.CutPrefix(name, ask.PointsPrefix); ok { // without its filter
				own, _, _ = strings.Cut(own, ".")
				name = ask.PointsPrefix + own
			}
			if l, err := view.PublicLayer(name); err == nil && !found {
				schema, live = schema.Merge(l.LayerInfo.Schema), live || l.LayerInfo.Live
				if d := l.LayerInfo.Drawing; d != nil {
					schema = schema.Merge(d.Attributes)
				}
			}
		}
		found = found || len(schema) > 2
	}
	return schema, live || !found // without data nothing is known
}

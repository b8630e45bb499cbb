package ogc

import (
	"context"
	"slices"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/ogcapi"
	"quadrille/cmd/tileserver/internal/web"
)

// countFormats are the forms of counts; the first is the default.
var countFormats = []ogcapi.Format{
	{Name: "json", Type: ogcapi.TypeJSON, Format: web.FormatJSON},
	{Name: "geojson", Type: ogcapi.TypeGeoJSON, Format: web.FormatGeoJSON},
	{Name: "csv", Type: "text/csv", Format: web.FormatCSV},
}

// getCount answers GET /ogc/collections/{id}/count with the number of features that pass the filters of items, and with
// groups and measures.
func (s *Handlers) getCount(c echo.Context, q *endpoint.Params) error {
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	format, byAccept, err := ogcapi.ChooseFormat(q, c.Request(), countFormats)
	if err != nil {
		return err
	}
	of, err := open(q.View(), values[0])
	if err != nil {
		return err
	}
	a := &question{}
	if err := a.readFilters(q, of); err != nil {
		return err
	}
	a.MaxExamined = 0 // a page ends early where much is examined; a count has no next page
	name := of.LayerInfo.Name
	t, err := listing.ReadTally(q, []listing.Counted{{Layer: of.Layer, Name: name, Filter: a.Filter}}, name+"/queryables", format.Format)
	if err != nil {
		return err
	}
	from := t.AppendGenerationIDs(slices.Clone(of.GenerationIDs))
	if of.LayerInfo.Live {
		from = nil
	}
	release, err := t.Admit(c, s.Timeout)
	if err != nil {
		return err
	}
	defer release()
	return s.Reply(c, web.Answer{Format: format.Format, ByAccept: byAccept}, from, func(ctx context.Context, out *web.Scratch) error {
		return s.InTurn(s.WithClientOf(ctx, c), func(turn context.Context) (err error) {
			out.Body, err = t.Append(turn, out.Body, a.Query)
			return explain(err)
		})
	})
}

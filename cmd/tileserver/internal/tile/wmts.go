package tile

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/xml"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/template"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/internal/credit"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/theme"
	"quadrille/cmd/tileserver/internal/web"
)

// This file serves the OGC's Web Map Tile Service 1.0.0 (OGC 07-057r7): the capabilities, which have the addresses
// below /tiles, and tiles by parameters whose names have any case. The styles of pictures are the themes.

// wmtsPath is the path of questions by parameters, and wmtsDocument that of the capabilities.
const wmtsPath, wmtsDocument = "/wmts", "/wmts/1.0.0/WMTSCapabilities.xml"

// wmtsFormats are the forms of the tiles of WMTS, the default first.
var wmtsFormats = []web.Format{web.FormatPNG, web.FormatMVT}

var formatWMTS = web.NewFormat(web.Media{Name: "wmts", Type: "application/xml"})

// wmtsParam declares a parameter that WMTS defines.
func wmtsParam(name, doc string, example any) *endpoint.Value[string] {
	read := func(q *endpoint.Params, name string) string { return q.Text(name, endpoint.MaxListBytes) }
	return endpoint.New(name, doc, endpoint.Schema{"type": "string"}, read).WithExample(example)
}

// These are the parameters of WMTS.
var (
	wmtsService = wmtsParam("SERVICE", "WMTS. Names of parameters may have any case.", "WMTS")
	wmtsRequest = wmtsParam("REQUEST", "GetCapabilities or GetTile.", "GetTile")
	wmtsLayer   = wmtsParam("LAYER", "Layers as in the paths of tiles.", "country")
	wmtsStyle   = wmtsParam("STYLE", "Of pictures, a theme; without it, the first one.", "light")
	wmtsFormat  = wmtsParam("FORMAT", "image/png, which is the default, or application/vnd.mapbox-vector-tile.", "image/png")
	wmtsSet     = wmtsParam("TILEMATRIXSET", "WebMercatorQuad.", "WebMercatorQuad")
	wmtsMatrix  = wmtsParam("TILEMATRIX", "The zoom.", "4")
	wmtsRow     = wmtsParam("TILEROW", "The row, from the north.", "5")
	wmtsCol     = wmtsParam("TILECOL", "The column, from 180° west.", "8")
)

var _ = added.Add(func(s *Handlers) endpoint.Endpoint {
	return endpoint.Endpoint{
		Path: wmtsDocument,
		ID:   "getWMTSCapabilities", Tag: "tiles", Rank: 7,
		Summary: "The layers for clients of WMTS",
		Doc: "The capabilities of a Web Map Tile Service 1.0.0: each public layer with its bounds and credits, and with the addresses of its " +
			"pictures and vector tiles, which are those below `/tiles`. The styles are the themes.",
		IgnoresOthers: true, // clients add those of WMTS
		Handle:        s.getCapabilities, Cost: endpoint.Light,
		Answers: endpoint.Content{"application/xml": nil}, CachePolicy: endpoint.CacheVaries,
		Problems: []string{"bad-host", "dataset-missing"},
		Example:  endpoint.Example{Request: wmtsDocument},
	}
})

var _ = added.Add(func(s *Handlers) endpoint.Endpoint {
	return endpoint.Endpoint{
		Path: wmtsPath,
		ID:   "getWMTS", Tag: "tiles", Rank: 8,
		Summary: "A tile, or the capabilities, by the parameters of WMTS",
		Doc:     "Parameters that WMTS does not know are ignored. Errors are an ExceptionReport of OWS.",
		Params: []endpoint.Param{
			wmtsService, wmtsRequest, wmtsLayer, wmtsStyle, wmtsFormat, wmtsSet, wmtsMatrix, wmtsRow, wmtsCol,
			pictureThemeParam, endpoint.Names, fieldsParam,
		},
		IgnoresOthers: true,
		Handle: func(c echo.Context, q *endpoint.Params) error {
			if err := s.getWMTS(c, q); err != nil {
				return s.failWMTS(c, err)
			}
			return nil
		},
		Cost: endpoint.Mixed, Refuse: func(c echo.Context, err error) { _ = s.failWMTS(c, err) },
		Answers: endpoint.Content{"application/xml": nil, "image/png": nil, "application/vnd.mapbox-vector-tile": nil},
		Empty:   "The vector tile is empty.", CachePolicy: endpoint.CacheVaries,
		OtherAnswers: endpoint.RefusedAnswers(endpoint.Content{"application/xml": nil}, wmtsRefused),
		Example: endpoint.Example{Request: "/wmts?SERVICE=WMTS&REQUEST=GetTile&LAYER=country&TILEMATRIXSET=WebMercatorQuad" +
			"&TILEMATRIX=4&TILEROW=5&TILECOL=8"},
	}
})

var wmtsRefused = map[int]string{
	http.StatusBadRequest:          "A parameter is missing or not valid.",
	http.StatusUnauthorized:        "A key is needed, or the one that was sent is not valid.",
	http.StatusNotFound:            "There is no such tile, layer or tile matrix set.",
	http.StatusUnprocessableEntity: "The tile is too complex to be drawn.",
	http.StatusTooManyRequests:     "The limit of requests is used up.",
	http.StatusInternalServerError: "The server failed.",
	http.StatusServiceUnavailable:  "The server is at its limit, or the data cannot be read right now.",
}

// failWMTS answers with an exception report of OWS Common 1.1.
func (s *Handlers) failWMTS(c echo.Context, err error) error {
	kind, problem := s.Judge(c, err)
	if kind.Retry {
		web.SetRetryAfter(c.Response().Header(), web.RetryAfter)
	}
	code := "NoApplicableCode"
	switch {
	case errors.Is(err, endpoint.ErrTileOutside):
		code = "TileOutOfRange"
	case problem.Parameter != "" || kind.Status == http.StatusNotFound:
		code = "InvalidParameterValue"
	}
	out := web.GetScratch()
	defer out.Release()
	text := bytes.NewBuffer(out.Body)
	report := map[string]string{"Code": code, "Locator": problem.Parameter, "Text": problem.Detail}
	if err := wmtsTemplate.ExecuteTemplate(text, "exception", report); err != nil {
		return err
	}
	out.Body = text.Bytes()
	return s.Send(c, web.Answer{Format: formatWMTS, Status: kind.Status, CacheControl: web.NoStore}, out)
}

// anyCase returns the parameters of a request by their declared names. Parameters that are not declared are omitted.
func anyCase(q *endpoint.Params) endpoint.Params {
	values := url.Values{}
	for given, list := range q.Values() {
		for _, p := range q.Endpoint().Params {
			if name := p.Declaration().Name; strings.EqualFold(name, given) {
				if values[name] = append(values[name], list...); len(values[name]) > 1 {
					q.Refuse(name, "Give "+name+" once.")
				}
			}
		}
	}
	return q.Line(values)
}

// getWMTS answers GET /wmts?SERVICE=WMTS&REQUEST=.
func (s *Handlers) getWMTS(c echo.Context, given *endpoint.Params) error {
	q := anyCase(given)
	if service := wmtsService.Of(&q); service != "" && !strings.EqualFold(service, "WMTS") {
		q.Refuse(wmtsService.Name, "Set SERVICE to WMTS.")
	}
	request := wmtsRequest.Of(&q)
	if err := cmp.Or(given.Err, q.Err); err != nil {
		return err
	}
	switch {
	case strings.EqualFold(request, "GetCapabilities"):
		return s.getCapabilities(c, given)
	case strings.EqualFold(request, "GetTile"):
		return s.getWMTSTile(c, &q)
	}
	return endpoint.Refuse(endpoint.ErrParameter, wmtsRequest.Name, "Set REQUEST to GetCapabilities or to GetTile.")
}

func (s *Handlers) getWMTSTile(c echo.Context, q *endpoint.Params) error {
	layer, style, set := wmtsLayer.Of(q), wmtsStyle.Of(q), wmtsSet.Of(q)
	format := slices.IndexFunc(wmtsFormats, func(f web.Format) bool { return f.Type() == cmp.Or(wmtsFormat.Of(q), wmtsFormats[0].Type()) })
	switch {
	case layer == "":
		q.Refuse(wmtsLayer.Name, "Set LAYER to a layer that the capabilities list.")
	case format < 0:
		q.Refuse(wmtsFormat.Name, "Set FORMAT to image/png or application/vnd.mapbox-vector-tile.")
	case style != "" && !slices.Contains(theme.Themes, style):
		q.Refuse(wmtsStyle.Name, "Set STYLE to one of: "+strings.Join(theme.Themes, ", ")+".")
	case style != "" && wmtsFormats[format].IsPicture():
		q.Values().Set(pictureThemeParam.Name, style) // they are those of anyCase
	}
	t, err := webMercator().tile([]string{wmtsMatrix.Of(q), wmtsRow.Of(q), wmtsCol.Of(q)})
	switch {
	case q.Err != nil:
		return q.Err
	case err != nil:
		return err
	case set != webMercatorQuad:
		return errNoTileMatrixSet
	}
	v := viewOf(q.View())
	defer v.release()
	return s.sendTile(c, q, v, layer, t, wmtsFormats[format], manner{cache: s.CacheControl})
}

// wmtsLayerInfo describes a layer in the capabilities. Templates has the addresses of its tiles in wmtsFormats.
type wmtsLayerInfo struct {
	*TileJSON
	Title, Credits string
	Templates      []string
}

// getCapabilities answers GET /wmts/1.0.0/WMTSCapabilities.xml.
func (s *Handlers) getCapabilities(c echo.Context, q *endpoint.Params) error {
	base, err := s.BaseURL(c.Request())
	if err != nil {
		return err
	}
	v := viewOf(q.View())
	defer v.release()
	set, err := s.everything(c.Request().Context(), v)
	if err != nil {
		return err
	}
	key, address := "", base+wmtsPath+"?"
	if k := web.KeyOfQuery(c); k != "" {
		key = endpoint.KeyParameter + "=" + url.QueryEscape(k)
		address += key + "&"
	}
	h, _, live := s.describedBy(v, set, base)
	from := []uint64{uint64(h.Bytes(key))}
	if live {
		from = nil
	}
	return s.Reply(c, web.Answer{Format: formatWMTS, Linked: true}, from, func(ctx context.Context, out *web.Scratch) error {
		var layers []wmtsLayerInfo
		var credits []string
		for _, name := range slices.Concat(set.types, set.points) {
			one, err := s.resolveLayers(ctx, v, name)
			if err != nil {
				return err
			}
			doc, err := describe(ctx, v, one, base)
			if err != nil {
				return err
			}
			layer, err := v.PublicLayer(name)
			if err != nil {
				return err
			}
			l := wmtsLayerInfo{TileJSON: doc, Title: layer.LayerInfo.Title, Credits: credit.AsText(doc.Attribution)}
			tile := base + "/tiles/" + escapeLayers(name) + "/{TileMatrix}/{TileCol}/{TileRow}"
			l.Templates = []string{withQuery(tile+".png?theme={Style}", key), withQuery(tile+vectorFile, key)}
			if layers = append(layers, l); l.Credits != "" && !slices.Contains(credits, l.Credits) {
				credits = append(credits, l.Credits)
			}
		}
		text := bytes.NewBuffer(out.Body)
		err := wmtsTemplate.Execute(text, map[string]any{
			"Operations": []string{"GetCapabilities", "GetTile"}, "Address": address, "Credits": strings.Join(credits, " | "), "Layers": layers,
			"Styles": theme.Themes, "Set": webMercator(),
			"Formats": []string{wmtsFormats[0].Type(), wmtsFormats[1].Type()}, "Document": withQuery(base+wmtsDocument, key),
		})
		out.Body = text.Bytes()
		return err
	})
}

//go:embed wmts.xml
var wmtsText string

var wmtsTemplate = template.Must(template.New("wmts").Funcs(template.FuncMap{"xml": func(text string) (string, error) {
	var b strings.Builder
	err := xml.EscapeText(&b, []byte(text))
	return b.String(), err
}}).Parse(wmtsText))

package listing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/paulmach/orb"

	"quadrille/cmd/internal/cql2"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles/shape"
)

const (
	maxPolygonText = 8000    // bytes
	maxPolygonBody = 4 << 20 // bytes
)

// These are the parameters of an area that a client draws. Its edges belong to it.
var (
	DrawnPolygon = endpoint.New("polygon", "A polygon: its corners as `lon,lat,lon,lat,…`, or WKT such as "+
		"`POLYGON((8 47,9 47,9 48,8 47))`. With `radius` also a position or two, or WKT of lines and points. Longer ones go into the body "+
		"of a POST, as GeoJSON.",
		endpoint.Schema{"type": "string", "minLength": 1, "maxLength": maxPolygonText}, readPolygon).WithExample("8,47,9,47,9,48")
	DrawnRadius = endpoint.Number("radius", "metres", 0, endpoint.MaxRadiusM,
		"Also what is within this distance in metres of the polygon. A line or a point needs it: what is along a route, or in a circle.").WithDefault(0)
)

// DrawnContent is the body of questions about an area that a client draws.
var DrawnContent = endpoint.Content{
	"application/geo+json": endpoint.Schema{"type": "object", "required": []string{"type"}},
	"application/json":     endpoint.Schema{"type": "object", "required": []string{"type"}},
}

// DrawnText describes the body.
const DrawnText = "The body is a GeoJSON geometry, a Feature, or a FeatureCollection, whose geometries are one area. Edges are " +
	"straight in longitude and latitude, and belong to the area; what crosses 180 degrees has longitudes beyond, such as 190, or is cut there. " +
	"What a ring winds around is inside, even if it crosses itself. It has at most 4 MiB and 100,000 positions, 10,000 with `radius`. Further pages are asked for with the same body."

// DrawnExample is such a body.
const DrawnExample = `{"type":"Polygon","coordinates":[[[8,47],[9,47],[9,48],[8,47]]]}`

// DrawnProblems are the problems of such a body.
var DrawnProblems = []string{"body-too-large", "bad-body", "unsupported-coding", "unsupported-type"}

// readPolygon reads positions or WKT.
func readPolygon(q *endpoint.Params, name string) orb.Geometry {
	text := strings.TrimSpace(q.Text(name, maxPolygonText))
	if text == "" {
		q.Refuse(name, "Set polygon to corners such as 8,47,9,47,9,48, or leave it out.")
		return nil
	}
	if first := text[0] | 0x20; first >= 'a' && first <= 'z' {
		g, err := cql2.ParseGeometry(text)
		if syntax := (*cql2.SyntaxError)(nil); errors.As(err, &syntax) {
			q.Refuse(name, endpoint.Sentence(syntax.Message+" (at byte "+strconv.Itoa(syntax.Offset)+" of polygon)"))
		}
		return g
	}
	numbers := strings.Split(strings.ReplaceAll(text, ";", ","), ",")
	var line orb.LineString
	for at := range slices.Chunk(numbers, 2) {
		lon, isLon := quadkey.ParseNumber(strings.TrimSpace(at[0]))
		lat, isLat := quadkey.ParseNumber(strings.TrimSpace(at[len(at)-1]))
		if !isLon || !isLat || len(at) < 2 {
			q.Refuse(name, "Write the corners of polygon as longitude,latitude one after another, such as 8,47,9,47,9,48, or as WKT.")
			return nil
		}
		line = append(line, orb.Point{lon, lat})
	}
	switch {
	case len(line) == 1:
		return line[0]
	case len(line) == 2:
		return line
	case line[0] != line[len(line)-1]:
		line = append(line, line[0])
	}
	return orb.Polygon{orb.Ring(line)}
}

// drawn returns the area of a geometry and what is around it.
func drawn(g orb.Geometry, parameter string, radius float64) (*shape.Area, error) {
	if radius == 0 && hasLine(g) {
		return nil, endpoint.Refuse(endpoint.ErrParameter, parameter,
			"Give a polygon: a line or a point alone is no area. With radius, in metres, it is one.")
	}
	a, err := shape.New(g, radius)
	if detail := feature.DetailOf(err, shape.ErrGeometry); detail != "" {
		err = endpoint.Refuse(endpoint.ErrParameter, parameter, endpoint.Sentence(detail))
	}
	return a, err
}

// hasLine reports whether a geometry has lines or points.
func hasLine(g orb.Geometry) bool {
	if all, ok := g.(orb.Collection); ok {
		for _, g := range all {
			if hasLine(g) {
				return true
			}
		}
		return false
	}
	return g != nil && g.Dimensions() < 2
}

// PostedAreaOf reads the area in the body of a request, in its turn on a processor. It first returns the refusal of a
// parameter, if there is one.
func PostedAreaOf(k *web.Kit, c echo.Context, q *endpoint.Params) (w AreaParams, err error) {
	radius := DrawnRadius.Of(q)
	if q.Err != nil {
		return w, q.Err
	}
	body, _, err := web.ReadBody(c, maxPolygonBody, endpoint.Refuse(web.ErrBodyTooLarge, "", "Send a geometry of at most 4 MiB; simplify it."))
	if err != nil {
		return w, err
	}
	if len(body) == 0 {
		return w, endpoint.Refuse(endpoint.ErrParameter, "", "Send GeoJSON as the body, either a geometry or a Feature with one.")
	}
	ctx, cancel := context.WithTimeout(k.WithClientOf(c.Request().Context(), c), k.Timeout)
	defer cancel()
	w.posted = true
	err = k.InTurn(ctx, func(context.Context) error {
		g, err := readGeoJSON(body)
		if err != nil {
			return endpoint.Refuse(endpoint.ErrParameter, "", endpoint.Sentence("the body is no geometry: "+err.Error()))
		}
		w.Drawn, err = drawn(g, "", radius)
		return err
	})
	return w, err
}

// geoJSON is a geometry, a Feature or a FeatureCollection.
type geoJSON struct {
	Type        string          `json:"type"`
	Coordinates json.RawMessage `json:"coordinates"`
	Geometries  []*geoJSON      `json:"geometries"`
	Geometry    *geoJSON        `json:"geometry"`
	Features    []*geoJSON      `json:"features"`
}

func readGeoJSON(body []byte) (orb.Geometry, error) {
	if bytes.Count(body, []byte{'['}) > 2*shape.MaxVertices {
		return nil, fmt.Errorf("it has more than %d positions; simplify it", shape.MaxVertices)
	}
	var read *geoJSON
	if err := json.Unmarshal(body, &read); err != nil {
		return nil, fmt.Errorf("%w; send GeoJSON", err)
	}
	const maxDepth = 8
	return read.geometry(maxDepth)
}

func (g *geoJSON) geometry(depth int) (orb.Geometry, error) {
	if g == nil || depth == 0 {
		return nil, errors.New("a geometry is null or too deep in others; send a Polygon")
	}
	switch g.Type {
	case "Feature":
		return g.Geometry.geometry(depth - 1)
	case "FeatureCollection":
		return collect(g.Features, depth)
	case "GeometryCollection":
		return collect(g.Geometries, depth)
	case "Point":
		return coordinates[orb.Point](g)
	case "MultiPoint":
		return coordinates[orb.MultiPoint](g)
	case "LineString":
		return coordinates[orb.LineString](g)
	case "MultiLineString":
		return coordinates[orb.MultiLineString](g)
	case "Polygon":
		return coordinates[orb.Polygon](g)
	case "MultiPolygon":
		return coordinates[orb.MultiPolygon](g)
	}
	return nil, fmt.Errorf("%.40q is no type of GeoJSON; send a Polygon, a MultiPolygon, or a Feature with one", g.Type)
}

func collect(list []*geoJSON, depth int) (all orb.Collection, err error) {
	for _, of := range list {
		g, err := of.geometry(depth - 1)
		if err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	return all, nil
}

// noPosition matches what is read as 0 or left out in place of a position.
var noPosition = regexp.MustCompile(`null|\[\s*[^\[\],\s]*\s*\]`)

func coordinates[T orb.Geometry](g *geoJSON) (orb.Geometry, error) {
	var v T
	if len(g.Coordinates) == 0 || noPosition.Match(g.Coordinates) || json.Unmarshal(g.Coordinates, &v) != nil {
		return nil, fmt.Errorf("the coordinates of a %s are not as GeoJSON has them; write positions as [longitude, latitude]", g.Type)
	}
	return v, nil
}

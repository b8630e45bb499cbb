// Package ogc implements OGC API – Features 1.0, with part 2 (coordinate reference systems) and the
// simple filters of part 3: a landing page, the conformance classes, a description of the
// interface, collections, and their features.
//
// A collection is a layer of regions, the places, the airports, the weather stations, or a public
// collection of users' points.
package ogc

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"html/template"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/internal/credit"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/ogcapi"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/quadkey"
)

// Config configures the endpoints of this package.
type Config struct {
	// Parts are the additions of other packages.
	Parts []ogcapi.Part
	// Describe returns an OpenAPI 3.0 document of the paths below /ogc; server is the address of
	// /ogc.
	Describe func(server string) ([]byte, error)
	// CacheBytes bounds the cache of finished pages.
	CacheBytes int64
}

// Handlers has the handlers of OGC API – Features.
type Handlers struct {
	*web.Kit
	parts    []ogcapi.Part
	describe func(server string) ([]byte, error)
	kept     *web.ResponseCache[pageKey]
	// formats are the formats of features, and fFeatures is the parameter f that selects one of
	// them.
	formats   []ogcapi.Format
	fFeatures *endpoint.Value[string]
}

// New returns the handlers.
func New(k *web.Kit, cfg Config) *Handlers {
	kept := web.NewLargeResponseCache[pageKey](k, "features", cfg.CacheBytes)
	formats := []ogcapi.Format{{Name: "json", Type: ogcapi.TypeGeoJSON, Format: web.FormatGeoJSON}, {Name: "html", Type: ogcapi.TypeHTML}}
	for _, f := range listing.Formats {
		if !f.Object { // a list that is an object has no OGC links
			formats = append(formats, ogcapi.Format{Name: f.Name, Type: f.Media(), Format: f.Format})
		}
	}
	return &Handlers{
		Kit: k, describe: cfg.Describe, parts: cfg.Parts, kept: kept,
		formats: formats, fFeatures: ogcapi.FormatParam("The format; else the Accept header chooses.", formats),
	}
}

// content describes features in all formats; geojson is the answer in the first format.
func (s *Handlers) content(geojson any) endpoint.Content {
	c := endpoint.Content{}
	for _, f := range s.formats {
		c[f.Type] = nil
		if form := listOf(f); form != nil && form.Content != nil {
			c[f.Type] = form.Content(&listing.Spec{Item: Feature{}})
		}
	}
	c[ogcapi.TypeGeoJSON] = geojson
	return c
}

// conformance lists the conformance classes that this package implements.
var conformance = []string{
	"http://www.opengis.net/spec/ogcapi-common-1/1.0/conf/core",
	"http://www.opengis.net/spec/ogcapi-common-1/1.0/conf/landing-page",
	"http://www.opengis.net/spec/ogcapi-common-1/1.0/conf/json",
	"http://www.opengis.net/spec/ogcapi-common-1/1.0/conf/html",
	"http://www.opengis.net/spec/ogcapi-common-1/1.0/conf/oas30",
	"http://www.opengis.net/spec/ogcapi-common-2/1.0/conf/collections",
	"http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core",
	"http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/oas30",
	"http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/html",
	"http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/geojson",
	"http://www.opengis.net/spec/ogcapi-features-2/1.0/conf/crs",
	"http://www.opengis.net/spec/ogcapi-features-3/1.0/conf/queryables",
	"http://www.opengis.net/spec/ogcapi-features-3/1.0/conf/queryables-query-parameters",
	"http://www.opengis.net/spec/ogcapi-features-3/1.0/conf/filter",
	"http://www.opengis.net/spec/ogcapi-features-3/1.0/conf/features-filter",
	"http://www.opengis.net/spec/cql2/1.0/conf/cql2-text",
	"http://www.opengis.net/spec/cql2/1.0/conf/cql2-json",
	"http://www.opengis.net/spec/cql2/1.0/conf/basic-cql2",
	"http://www.opengis.net/spec/cql2/1.0/conf/advanced-comparison-operators",
	"http://www.opengis.net/spec/cql2/1.0/conf/case-insensitive-comparison",
	"http://www.opengis.net/spec/cql2/1.0/conf/basic-spatial-functions",
}

const intro = "Regions, places, airports and weather stations of this server, and the points of its users."

//go:embed pages.html
var pagesText string

var pages = template.Must(template.New("pages").Parse(pagesText))

// getLanding answers GET /ogc.
func (s *Handlers) getLanding(c echo.Context, q *endpoint.Params) error {
	base, err := s.BaseURL(c.Request())
	if err != nil {
		return err
	}
	here := base + "/ogc"
	links := []ogcapi.Link{
		{Href: here + "?f=json", Rel: "self", Type: ogcapi.TypeJSON, Title: "This document"},
		{Href: here + "?f=html", Rel: "alternate", Type: ogcapi.TypeHTML, Title: "This document as a page"},
		{Href: here + "/api?f=json", Rel: "service-desc", Type: ogcapi.TypeOpenAPI, Title: "The description of the interface"},
		{Href: here + "/api?f=html", Rel: "service-doc", Type: ogcapi.TypeHTML, Title: "The documentation of the interface"},
		{Href: here + "/conformance", Rel: "conformance", Type: ogcapi.TypeJSON, Title: "What is conformed to"},
		{Href: here + "/collections", Rel: "data", Type: ogcapi.TypeJSON, Title: "The collections of features"},
	}
	for _, p := range s.parts {
		if p.LandingLinks != nil {
			links = append(links, p.LandingLinks(base)...)
		}
	}
	return ogcapi.Send(s.Kit, c, q, nil, false, &ogcapi.Document{
		Title:     "OGC API",
		JSON:      Landing{Title: "Quadrille", Description: intro, Links: links},
		Templates: pages, Template: "landing", Data: struct {
			Intro string
			Here  string
			Links []ogcapi.Link
		}{intro, here, forPeople(links)},
	})
}

// forPeople returns the links for people, with only one link to each document.
func forPeople(links []ogcapi.Link) (all []ogcapi.Link) {
	seen := map[string]bool{}
	for _, l := range links {
		at, _, _ := strings.Cut(l.Href, "?")
		if l.Rel == "self" || l.Rel == "alternate" || l.Rel == "service-desc" || l.Templated || seen[at] {
			continue
		}
		seen[at] = true
		if l.Type == ogcapi.TypeJSON || l.Type == ogcapi.TypeGeoJSON || l.Type == ogcapi.TypeSchema {
			l.Href = at + "?f=html"
		}
		all = append(all, l)
	}
	return all
}

// getConformance answers GET /ogc/conformance.
func (s *Handlers) getConformance(c echo.Context, q *endpoint.Params) error {
	classes := slices.Clone(conformance)
	for _, p := range s.parts {
		for _, class := range p.Conformance {
			if !slices.Contains(classes, class) {
				classes = append(classes, class)
			}
		}
	}
	return ogcapi.Send(s.Kit, c, q, nil, false, &ogcapi.Document{
		Title:     "Conformance",
		JSON:      Conformance{ConformsTo: classes},
		Templates: pages, Template: "conformance", Data: classes,
	})
}

// getAPI answers GET /ogc/api. Browsers are redirected to the documentation.
func (s *Handlers) getAPI(c echo.Context, q *endpoint.Params) error {
	r := c.Request()
	base, err := s.BaseURL(r)
	if err != nil {
		return err
	}
	format, _, err := ogcapi.ChooseFormat(q, r, []ogcapi.Format{{Name: "json", Type: ogcapi.TypeOpenAPI},
		{Name: "html", Type: ogcapi.TypeHTML}})
	if err != nil {
		return err
	}
	if format.Name == "html" {
		return ogcapi.SendHTML(s.Kit, c, &ogcapi.Document{Title: "The interface", Templates: pages, Template: "api", Data: base})
	}
	text, err := s.describe(base + "/ogc")
	if err != nil {
		return err
	}
	return ogcapi.Send(s.Kit, c, q, nil, false, &ogcapi.Document{JSON: json.RawMessage(text), Format: ogcapi.FormatOpenAPI})
}

// Collection describes a collection.
type Collection struct {
	_           struct{}      `name:"OGCCollection" doc:"A collection."`
	ID          string        `json:"id"`
	Title       string        `json:"title"`
	Description string        `json:"description,omitempty"`
	Attribution string        `json:"attribution,omitempty"`
	Extent      extent        `json:"extent"`
	ItemType    string        `json:"itemType" schema:"const=feature"`
	CRS         []string      `json:"crs"`
	StorageCRS  string        `json:"storageCrs"`
	Can         []string      `json:"can" doc:"What the layer can be asked in its other lists, besides boxes and filters: near (the nearest first), area (what is in a region), near_area (the nearest of a region), importance (the most important first) and sort (the order of a property)."`
	Links       []ogcapi.Link `json:"links"`
}

type extent struct {
	Spatial struct {
		BBox [][4]float64 `json:"bbox"`
		CRS  string       `json:"crs"`
	} `json:"spatial"`
}

func (s *Handlers) describeCollection(base string, c *collection) *Collection {
	d := &Collection{
		ID:          c.LayerInfo.Name,
		Title:       c.LayerInfo.Title,
		Description: c.LayerInfo.Description,
		Attribution: credit.AsText(c.LayerInfo.Attribution),
		ItemType:    "feature", CRS: systemIDs, StorageCRS: crs84.uri,
		Can: canBeAsked(&c.LayerInfo.Can), Links: s.links(base, c),
	}
	b := c.LayerInfo.Bounds
	d.Extent.Spatial.BBox, d.Extent.Spatial.CRS = [][4]float64{{b.West, b.South, b.East, b.North}}, crs84.uri
	return d
}

// getCollections answers GET /ogc/collections.
func (s *Handlers) getCollections(c echo.Context, q *endpoint.Params) error {
	base, err := s.BaseURL(c.Request())
	if err != nil {
		return err
	}
	from := []uint64{}
	all := []*Collection{}
	for _, name := range q.View().LayerNames() {
		l, err := q.View().Layer(name)
		if err != nil {
			continue // removed meanwhile, or not readable now: that must not hide the others
		}
		if about := &l.LayerInfo; !about.Private { // it may have become so since
			all = append(all, s.describeCollection(base, newCollection(q.View(), l)))
			from = append(append(from, l.GenerationIDs...), saidOf(about))
		}
	}
	here := base + "/ogc/collections"
	return ogcapi.Send(s.Kit, c, q, from, false, &ogcapi.Document{
		Title: "Collections",
		JSON: Collections{Links: []ogcapi.Link{
			{Href: here + "?f=json", Rel: "self", Type: ogcapi.TypeJSON, Title: "This document"},
			{Href: here + "?f=html", Rel: "alternate", Type: ogcapi.TypeHTML, Title: "This document as a page"},
		}, Collections: all},
		Templates: pages, Template: "collections", Data: all,
	})
}

// saidOf returns a hash of those parts of a description that may change within a generation.
func saidOf(about *feature.Info) uint64 {
	h := web.HashStart
	for _, text := range []string{about.Name, about.Title, about.Description, about.Attribution} {
		h = h.Number(uint64(len(text))).Bytes(text)
	}
	return uint64(h)
}

// getCollection answers GET /ogc/collections/{id}.
func (s *Handlers) getCollection(c echo.Context, q *endpoint.Params) error {
	return s.aboutCollection(c, q, func(base string, of *collection) *ogcapi.Document {
		d := s.describeCollection(base, of)
		return &ogcapi.Document{
			Title: d.Title, JSON: d, Templates: pages, Template: "collection", Data: struct {
				*Collection
				Fields []field
				Count  int64
				Links  []ogcapi.Link
			}{d, of.fields(), max(of.LayerInfo.Count, 0), forPeople(d.Links)},
		}
	})
}

// getQueryables answers GET /ogc/collections/{id}/queryables.
func (s *Handlers) getQueryables(c echo.Context, q *endpoint.Params) error {
	return s.aboutCollection(c, q, func(base string, of *collection) *ogcapi.Document {
		properties := map[string]property{"geometry": {Title: "The geometry", Format: "geometry-any", Role: "primary-geometry"}}
		for _, f := range of.LayerInfo.Schema {
			properties[f.Name] = property{Title: f.Name, Type: schemaTypes[f.Kind]}
		}
		return &ogcapi.Document{
			Title: of.LayerInfo.Title, Format: formSchema,
			JSON: Queryables{
				Schema:     "https://json-schema.org/draft/2020-12/schema",
				ID:         ogcapi.CollectionURL(base, of.LayerInfo.Name) + "/queryables",
				Type:       "object",
				Title:      of.LayerInfo.Title,
				Properties: properties,
			},
			Templates: pages, Template: "queryables", Data: struct {
				ID, Title string
				Fields    []field
			}{of.LayerInfo.Name, of.LayerInfo.Title, of.fields()},
		}
	})
}

// aboutCollection answers with a document about the collection in the path.
func (s *Handlers) aboutCollection(c echo.Context, q *endpoint.Params, describe func(base string, of *collection) *ogcapi.Document) error {
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	base, err := s.BaseURL(c.Request())
	if err != nil {
		return err
	}
	of, err := open(q.View(), values[0])
	if err != nil {
		return err
	}
	return ogcapi.Send(s.Kit, c, q, append(slices.Clone(of.GenerationIDs), saidOf(&of.LayerInfo)), of.LayerInfo.Live, describe(base, of))
}

// noCollection returns the error for an unknown collection. The error lists the existing
// collections.
func noCollection(v ask.View) error {
	names := v.LayerNames()
	if len(names) > endpoint.MaxListEntries {
		names = append(names[:endpoint.MaxListEntries:endpoint.MaxListEntries], "…")
	}
	return endpoint.Refuse(ogcapi.ErrNoCollection, "collection",
		"Use a collection that /ogc/collections lists: "+strings.Join(names, ", ")+".")
}

// row is a feature in a table of a page.
type row struct {
	ID, Href string
	Cells    []string
}

// sendItemsPage answers with an HTML page of features.
func (s *Handlers) sendItemsPage(ctx context.Context, c echo.Context, base string, of *collection, a *question) error {
	const mostColumns = 8
	var columns []string // in the order of the features' members
	var found []map[string]string
	var rows []row
	var next string
	a.Detail = feature.WithoutGeometry
	err := s.InTurn(ctx, func(ctx context.Context) (err error) {
		next, _, err = a.page(ctx, of, func(f *feature.Feature) (int, error) {
			values := map[string]string{}
			for name, v := range f.Properties.All() {
				if a.properties != nil && !slices.Contains(a.properties, name) {
					continue
				}
				if values[name] = cell(v); name != "id" && !slices.Contains(columns, name) { // id has the first column
					columns = append(columns, name)
				}
			}
			rows, found = append(rows, row{
				ID:   f.ID,
				Href: ogcapi.CollectionURL(base, of.LayerInfo.Name) + "/items/" + url.PathEscape(f.ID) + "?f=html",
			}), append(found, values)
			return 0, nil
		})
		return err
	})
	if err != nil {
		return err
	}
	columns = columns[:min(len(columns), mostColumns)]
	for i := range rows {
		for _, name := range columns {
			rows[i].Cells = append(rows[i].Cells, found[i][name])
		}
	}
	here := c.Request().URL
	data := struct {
		ID, Title, GeoJSON, First, Next, Collection string
		Columns                                     []string
		Rows                                        []row
	}{
		ID: of.LayerInfo.Name, Title: of.LayerInfo.Title, Columns: columns, Rows: rows,
		Collection: ogcapi.CollectionURL(base, of.LayerInfo.Name) + "?f=html",
		GeoJSON:    ogcapi.CollectionURL(base, of.LayerInfo.Name) + "/items" + query(here, "f", "json"),
	}
	if next != "" {
		data.Next = ogcapi.CollectionURL(base, of.LayerInfo.Name) + "/items" + query(here, "f", "html", "cursor", next)
	}
	if a.After != nil {
		first := *here
		values := first.Query()
		values.Del("cursor")
		first.RawQuery = values.Encode()
		data.First = ogcapi.CollectionURL(base, of.LayerInfo.Name) + "/items" + query(&first, "f", "html")
	}
	return ogcapi.SendHTML(s.Kit, c, &ogcapi.Document{Title: of.LayerInfo.Title, Templates: pages, Template: "items", Data: data})
}

// sendItemPage answers with the HTML page of a feature. properties are the requested properties, or
// nil for all.
func (s *Handlers) sendItemPage(c echo.Context, base string, of *collection, f *feature.Feature, properties []string) error {
	type property struct{ Name, Value string }
	var list []property
	for name, v := range f.Properties.All() {
		if properties == nil || slices.Contains(properties, name) {
			list = append(list, property{name, cell(v)})
		}
	}
	box := f.Bounds
	if of.LayerInfo.AllPoints {
		box = quadkey.Box{West: f.Lon, South: f.Lat, East: f.Lon, North: f.Lat}
	}
	name := cmp.Or(f.Name(), f.ID)
	here := ogcapi.CollectionURL(base, of.LayerInfo.Name)
	return ogcapi.SendHTML(s.Kit, c, &ogcapi.Document{Title: name, Templates: pages, Template: "item", Data: struct {
		Name, Title, Collection, GeoJSON, Map string
		Properties                            []property
	}{
		name, of.LayerInfo.Title, here + "/items?f=html", here + "/items/" + url.PathEscape(f.ID) +
			"?f=json", base + "/" + viewOf(box), list,
	}})
}

// formSchema is a JSON schema.
var formSchema = web.NewFormat(web.Media{Name: "schema", Type: ogcapi.TypeSchema})

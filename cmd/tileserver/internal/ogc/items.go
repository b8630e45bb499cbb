package ogc

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/internal/cql2"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/ogcapi"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/tiles/shape"
)

// These are bounds of a page.
const (
	defaultLimit = 10
	maxLimit     = 1000 // as in the searches behind it
	// maxLooked bounds the features that a filter examines for a page. At this limit the page ends,
	// and the next page continues. A filter that costs more than readCost examines fewer features.
	maxLooked = 20_000
	readCost  = 64 // of reading a feature, in comparisons
	// maxBoxes bounds the boxes of a filter of regions in addition to the box of the search. Each
	// box needs a separate search for the regions that intersect it.
	maxBoxes = 8
	// maxOffset bounds the features that are read only to be skipped. Links use cursors, which need
	// not skip features.
	maxOffset = 10_000
	// maxPageBytes is the size in bytes at which a page of large features ends.
	maxPageBytes = 16 << 20
)

var errCursor = endpoint.Refuse(endpoint.ErrParameter, "cursor",
	"Leave cursor out for the first page; for the next one follow the link next.")

var errOffset = endpoint.Refuse(endpoint.ErrParameter, "offset",
	"Leave offset out and follow the links next: what the filter or the box lets through is too far apart to be counted again.")

var errUnasked = endpoint.Refuse(endpoint.ErrParameter, "",
	"Leave out bbox, datetime and geometries of the filter: this collection cannot be asked by them.")

var errManyMet = endpoint.Refuse(endpoint.ErrParameter, "filter",
	"Put the box that most features must meet into bbox: the filter has several geometries, and one is met by too many features.")

var errManyBoxes = endpoint.Refuse(endpoint.ErrParameter, "filter",
	"Give a filter of regions at most "+strconv.Itoa(maxBoxes+1)+" different geometries; ask for the others by further requests.")

// shown is the part of features that a client gets, and its coordinate system.
type shown struct {
	*crs
	skipGeometry bool
	properties   []string // nil for all
}

// readShown reads the parameters of the shown part of the features of a collection.
func readShown(q *endpoint.Params, c *collection) (s shown) {
	s = shown{crsParam.Of(q), listing.SkipGeometry.Of(q), listing.Properties.Of(q)}
	for _, name := range s.properties {
		if _, ok := c.LayerInfo.Schema.Lookup(name); !ok {
			q.Refuse(listing.Properties.Name, "There is no property "+endpoint.Printable(name)+
				": use those that "+c.LayerInfo.Name+"/queryables lists"+c.someProperties()+".")
		}
	}
	return s
}

// someProperties returns a list of the most common properties, for a refusal.
func (c *collection) someProperties() string {
	const most = 20
	var names []string
	for _, f := range c.fields() {
		names = append(names, endpoint.Printable(f.Name))
	}
	if len(names) > most {
		names = append(names[:most], "…")
	}
	if len(names) == 0 {
		return ""
	}
	return ": " + strings.Join(names, ", ")
}

// question is a request for features.
type question struct {
	feature.Query
	limit  int
	offset int // features that pass and are left out before the first
	shown
}

// read converts the parameters of a request to a question about a collection.
func read(q *endpoint.Params, c *collection) (a *question, err error) {
	a = &question{limit: defaultLimit}
	if a.shown = readShown(q, c); a.skipGeometry {
		a.Detail = feature.WithoutGeometry
	}
	cursor := endpoint.Cursor.Of(q)
	// By the standard, a limit above the maximum means the maximum.
	a.limit = min(int(limitParam.Of(q)), maxLimit)
	a.offset = int(offsetParam.Of(q))
	if err := a.readFilters(q, c); err != nil {
		return nil, err
	}
	if a.Continue(&c.LayerInfo, cursor) != nil {
		return nil, errCursor
	}
	return a, nil
}

// readFilters reads what features must pass.
func (a *question) readFilters(q *endpoint.Params, c *collection) error {
	if box, ok := bbox(q); ok {
		a.In = feature.Box(box)
	}
	var lasting *span
	if when, ok := datetime(q); ok {
		switch {
		case c.LayerInfo.History:
			a.At = when.to // the features as they were, at the end of an interval
		case c.first != "":
			lasting = &span{when, c.first, c.last, nil}
		}
	}
	if filterCRSParam.Of(q) != crs84 {
		q.Refuse("filter-crs", "Write the geometries of the filter in CRS84, longitude before latitude, and leave filter-crs out.")
	}
	filters := readFilters(q, c)
	if q.Err != nil {
		return q.Err
	}
	a.MaxExamined, a.Step = maxLooked, web.Step
	if len(filters) > 0 {
		filter := feature.And(filters...)
		a.MaxExamined = max(maxLooked*readCost/(readCost+filter.Cost()), 1)
		var given feature.Ground
		if in := filter.Area(); in != nil && a.In == nil {
			a.In, given = in, in
		}
		if !c.LayerInfo.AllPoints && len(filter.Areas()) > maxBoxes+1 {
			return errManyBoxes
		}
		a.Filter = filter.Expression(c.LayerInfo.Schema, given, c.meets())
	}
	if lasting != nil {
		lasting.also, a.Filter = a.Filter, lasting
	}
	return nil
}

// readFilters reads the parameter filter and the parameters with the names of properties. A feature
// must pass all filters. Errors are in q.Err.
func readFilters(q *endpoint.Params, c *collection) (filters []feature.Test) {
	parse := cql2.Parse
	if filterLangParam.Of(q) == "cql2-json" {
		parse = cql2.ParseJSON
	}
	if filterParam.Given(q) {
		f, err := parse(filterParam.Of(q))
		if err != nil && q.Err == nil {
			q.Refuse("filter", sentence(err))
		}
		if q.Err == nil {
			filters = append(filters, f.Test)
			for _, name := range f.Properties() {
				if !c.has(name) {
					q.Refuse("filter", "Use properties that "+c.LayerInfo.Name+"/queryables lists, not "+endpoint.Printable(name)+".")
				}
			}
			for _, name := range f.Geometries() {
				if name != "geometry" && name != "geom" {
					q.Refuse("filter", "Call the geometry of a feature geometry, not "+endpoint.Printable(name)+".")
				}
			}
		}
	}
	for _, other := range q.ExtraParams() {
		if !c.has(other.Name) {
			shown := endpoint.Printable(other.Name)
			q.Refuse(shown, "Unknown parameter "+shown+". Besides "+strings.Join(q.Endpoint().ParamNames().Names, ", ")+
				" there are the properties that "+c.LayerInfo.Name+"/queryables lists; names that begin with _ are ignored.")
			break
		}
		value := other.Value
		if other.Name == "country" && slices.Contains(upperCountries, c.LayerInfo.Name) {
			value = endpoint.Country.Of(q)
		}
		filters = append(filters, cql2.EqualTest(other.Name, value))
	}
	return filters
}

// upperCountries lists collections with country codes in capital letters. Clients write the codes
// in either case.
var upperCountries = []string{ask.PlacesLayer, ask.AirportsLayer, ask.StationsLayer}

// has reports whether features have a property, or may have a member within one.
func (c *collection) has(name string) bool {
	_, ok := c.LayerInfo.Schema.LookupPath(name)
	return ok
}

// maxMet bounds the features that may intersect the boxes of a filter other than the box of the
// search.
const maxMet = 10_000

// meets returns a function that reports which areas a feature intersects, other than that of the
// search, or is in. It returns nil for points, because their position is sufficient.
func (c *collection) meets() feature.Meets {
	if c.LayerInfo.AllPoints {
		return nil
	}
	met := map[feature.Ground]map[string]bool{}
	return func(ctx context.Context, f *feature.Feature, in feature.Ground, whole bool) (bool, error) {
		if whole {
			return c.isIn(ctx, f.ID, in)
		}
		if met[in] == nil {
			ids := map[string]bool{}
			for f, err := range c.Features(ctx, &feature.Query{In: in, Detail: feature.WithoutGeometry, Step: web.Step}) {
				switch {
				case err != nil:
					return false, err
				case len(ids) == maxMet:
					return false, errManyMet
				}
				ids[f.ID] = true
			}
			met[in] = ids
		}
		return met[in][f.ID], nil
	}
}

// isIn reports whether all of a feature is in an area.
func (c *collection) isIn(ctx context.Context, id string, in feature.Ground) (bool, error) {
	var f feature.Feature
	if err := c.read(ctx, id, &f); err != nil {
		return false, err
	}
	g, err := f.Orb()
	covers, ok := in.(*shape.Area)
	if err != nil || !ok || g == nil {
		return false, err
	}
	if err := web.Step(ctx); err != nil {
		return false, err
	}
	return covers.Covers(g)
}

// page calls fn with each feature of a page. fn returns the length of the answer so far, and the
// page ends early when it reaches maxPageBytes. page returns the cursor of the next page, or "" if
// there is none, and how many features it skipped before the first.
func (a *question) page(ctx context.Context, c *collection, fn func(f *feature.Feature) (size int, err error)) (next string,
	left int, err error) {
	a.Limit = a.offset + a.limit + 1 // one more, to see whether another page follows
	var last feature.Mark
	found, full := 0, false
	for f, err := range c.Features(ctx, &a.Query) {
		if work := (*feature.TooMuchWork)(nil); errors.As(err, &work) && work.After != nil {
			if left < a.offset {
				return "", left, errOffset
			}
			return a.Cursor(&c.LayerInfo, work.After), left, nil
		}
		if err == nil {
			err = web.Step(ctx)
		}
		err = explain(err)
		switch {
		case err != nil:
			return "", left, err
		case full:
			return a.Cursor(&c.LayerInfo, last), left, nil
		case left < a.offset:
			left++
			continue
		}
		size, err := fn(f)
		if err != nil {
			return "", left, err
		}
		last = append(last[:0], f.Mark...)
		found++
		full = found == a.limit || size >= maxPageBytes
	}
	return "", left, nil
}

// explain returns an error that tells a client why a collection cannot be asked so.
func explain(err error) error {
	if feature.IsUnsupported(err) {
		return errUnasked
	} else if detail := feature.DetailOf(err, shape.ErrGeometry); detail != "" {
		return endpoint.Refuse(endpoint.ErrParameter, "filter", "A geometry cannot be used: "+detail+".")
	}
	return err
}

// getItems answers GET /ogc/collections/{id}/items.
func (s *Handlers) getItems(c echo.Context, q *endpoint.Params) error {
	r := c.Request()
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	format, byAccept, err := ogcapi.ChooseFormat(q, r, s.formats)
	if err != nil {
		return err
	}
	of, err := open(q.View(), values[0])
	if err != nil {
		return err
	}
	a, err := read(q, of)
	if err != nil {
		return err
	}
	base, err := s.BaseURL(r)
	if err != nil {
		return err
	}
	if format.Name == "html" {
		ctx, cancel := context.WithTimeout(s.WithClientOf(r.Context(), c), s.Timeout)
		defer cancel()
		return s.sendItemsPage(ctx, c, base, of, a)
	}
	return s.sendFeatures(c, of, base, a.crs, format.Format, byAccept, func(ctx context.Context, dst []byte) ([]byte, string, error) {
		if form := listOf(format); form != nil {
			dst, next, err := appendList(ctx, dst, of, a, form, s.list(of))
			if next != "" {
				next = ogcapi.CollectionURL(base, of.LayerInfo.Name) + "/items" +
					query(r.URL, s.withKey(c, "f", form.Name, "cursor", next)...)
			}
			return dst, next, err
		}
		dst, err := s.appendItems(ctx, dst, r.URL, base, of, a)
		return dst, "", err
	})
}

// list returns the description of a list of a collection. Some collections have properties with
// arbitrary names.
func (s *Handlers) list(of *collection) *listing.Spec {
	return &listing.Spec{Open: s.Views.IsOpen(of.LayerInfo.Name)}
}

// listOf returns the form of lists for a format. It returns nil for GeoJSON, which is written with
// links here.
func listOf(format ogcapi.Format) *listing.Format {
	i := slices.IndexFunc(listing.Formats, func(f *listing.Format) bool { return !f.Object && f.Format == format.Format })
	if i < 0 {
		return nil
	}
	return listing.Formats[i]
}

// withKey adds the key of the request to the parameters of an address for the header Link, because
// query removes keys from addresses.
func (s *Handlers) withKey(c echo.Context, pairs ...string) []string {
	if web.KeyInQuery(c) {
		pairs = append(pairs, endpoint.KeyParameter, web.KeyOfQuery(c))
	}
	return pairs
}

// listIn returns a list of features of a collection in a form.
func (s *shown) listIn(form *listing.Format, set *listing.Spec, of *collection) listing.List {
	l := listing.List{Spec: set, Format: form, Writer: *s.writer(), Schema: of.LayerInfo.Schema,
		Shapes: !of.LayerInfo.AllPoints, Axes: s.axes}
	l.UnlistedProperties = listing.MayLackProperties(l.Schema, of.TakesWrites)
	l.Writer.GeoJSON = form.GeoJSON
	return l
}

// appendList writes a page in a form of lists, and returns the cursor of the next page.
func appendList(
	ctx context.Context, dst []byte, of *collection, a *question, form *listing.Format, set *listing.Spec,
) (_ []byte, next string, err error) {
	l := a.listIn(form, set, of)
	dst = l.Begin(dst)
	next, _, err = a.page(ctx, of, func(f *feature.Feature) (_ int, err error) {
		dst, err = l.Append(dst, f, "")
		return len(dst), err
	})
	return l.End(dst, next), next, err
}

// appendItems writes a page as a FeatureCollection.
func (s *Handlers) appendItems(ctx context.Context, dst []byte, here *url.URL, base string, of *collection, a *question) ([]byte, error) {
	dst = append(dst, listing.CollectionHead...)
	n := 0
	w := a.writer()
	next, left, err := a.page(ctx, of, func(f *feature.Feature) (_ int, err error) {
		n++
		dst, err = w.Append(jsontext.Next(dst), f, "")
		return len(dst), err
	})
	if err != nil {
		return dst, err
	}
	dst = append(dst, `],"numberReturned":`...)
	dst = strconv.AppendInt(dst, int64(n), 10)
	switch plain := a.In == nil && a.Filter == nil; {
	case a.After == nil && next == "":
		dst = append(dst, `,"numberMatched":`...)
		dst = strconv.AppendInt(dst, int64(n+left), 10)
	case plain && of.LayerInfo.Count > 0:
		dst = append(dst, `,"numberMatched":`...)
		dst = strconv.AppendInt(dst, of.LayerInfo.Count, 10)
	}
	dst = append(dst, `,"timeStamp":"`...)
	dst = append(time.Now().UTC().AppendFormat(dst, time.RFC3339), `","links":`...)
	links, err := json.Marshal(s.itemLinks(here, base, of, next))
	if err != nil {
		return dst, err
	}
	return append(append(dst, links...), '}'), nil
}

// itemLinks returns the links of a page of features.
func (s *Handlers) itemLinks(here *url.URL, base string, of *collection, next string) []ogcapi.Link {
	address := ogcapi.CollectionURL(base, of.LayerInfo.Name)
	all := []ogcapi.Link{
		{Href: address + "/items" + query(here, "f", "json"), Rel: "self", Type: ogcapi.TypeGeoJSON, Title: "This page"},
		{Href: address + "/items" + query(here, "f", "html"), Rel: "alternate", Type: ogcapi.TypeHTML, Title: "This page for people"},
		{Href: address + "?f=json", Rel: "collection", Type: ogcapi.TypeJSON, Title: of.LayerInfo.Title},
	}
	all = append(all, s.alternates(address+"/items", here, "This page")...)
	if next != "" {
		all = append(all, ogcapi.Link{
			Href:  address + "/items" + query(here, "f", "json", "cursor", next),
			Rel:   "next",
			Type:  ogcapi.TypeGeoJSON,
			Title: "The next page",
		})
	}
	return all
}

// alternates returns links to the same features in the forms of lists.
func (s *Handlers) alternates(address string, here *url.URL, what string) (all []ogcapi.Link) {
	for _, f := range s.formats {
		if form := listOf(f); form != nil {
			all = append(all, ogcapi.Link{Href: address + query(here, "f", f.Name), Rel: "alternate", Type: f.Type, Title: what + " as " + f.Name})
		}
	}
	return all
}

// query returns the query of the address with other values of some parameters. Links do not contain
// keys.
func query(here *url.URL, pairs ...string) string {
	values := maps.Clone(here.Query())
	values.Del("key")
	if slices.Contains(pairs, "cursor") {
		values.Del("offset")
	}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return "?" + values.Encode()
}

// getItem answers GET /ogc/collections/{id}/items/{featureId}.
func (s *Handlers) getItem(c echo.Context, q *endpoint.Params) error {
	r := c.Request()
	values, err := endpoint.WholePath(c)
	if err != nil {
		return err
	}
	if crsParam.Of(q); q.Err != nil {
		return q.Err
	}
	format, byAccept, err := ogcapi.ChooseFormat(q, r, s.formats)
	if err != nil {
		return err
	}
	of, err := open(q.View(), values[0])
	if err != nil {
		return err
	}
	in := readShown(q, of)
	if q.Err != nil {
		return q.Err
	}
	base, err := s.BaseURL(r)
	if err != nil {
		return err
	}
	if format.Name == "html" {
		ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
		defer cancel()
		var f feature.Feature
		if err := of.read(ctx, values[1], &f); err != nil {
			return err
		}
		return s.sendItemPage(c, base, of, &f, in.properties)
	}
	return s.sendFeatures(c, of, base, in.crs, format.Format, byAccept, func(ctx context.Context, dst []byte) ([]byte, string, error) {
		var f feature.Feature
		if err := of.read(ctx, values[1], &f); err != nil {
			return dst, "", err
		}
		if form := listOf(format); form != nil {
			l := in.listIn(form, s.list(of), of)
			dst, err := l.Append(l.Begin(dst), &f, "")
			return l.End(dst, ""), "", err
		}
		dst, err := in.writer().AppendUnclosed(dst, &f, "")
		if err != nil {
			return dst, "", err
		}
		address := ogcapi.CollectionURL(base, of.LayerInfo.Name)
		here := address + "/items/" + url.PathEscape(f.ID)
		links, err := json.Marshal(append([]ogcapi.Link{
			{Href: here + query(r.URL, "f", "json"), Rel: "self", Type: ogcapi.TypeGeoJSON, Title: "This feature"},
			{Href: here + query(r.URL, "f", "html"), Rel: "alternate", Type: ogcapi.TypeHTML, Title: "This feature for people"},
			{Href: address + "?f=json", Rel: "collection", Type: ogcapi.TypeJSON, Title: of.LayerInfo.Title},
		}, s.alternates(here, r.URL, "This feature")...))
		return append(append(append(dst, `,"links":`...), links...), '}'), "", err
	})
}

// pageKey is the key of a cached answer.
type pageKey struct {
	address string // with the server's, which is in the links
	from    uint64
	form    web.Format // a format that the header Accept may have chosen
	coding  web.Coding
}

func (k pageKey) Hash() uint64 {
	return uint64(web.HashStart.Bytes(k.address).Number(k.from).Number(k.form.Tag()).Number(uint64(k.coding)))
}

func (k pageKey) ExtraBytes() int { return len(k.address) }

// sendFeatures answers with the body that fill writes, and caches it unless it is valid for this
// moment only. next is the address of the next page, if the body has no place for it.
func (s *Handlers) sendFeatures(
	c echo.Context, of *collection, base string, in *crs, form web.Format, byAccept bool,
	fill func(ctx context.Context, dst []byte) (_ []byte, next string, err error),
) error {
	if list := listOf(ogcapi.Format{Format: form}); list != nil && list.Degrees && in != crs84 {
		return endpoint.Refuse(endpoint.ErrParameter, crsParam.Name,
			"Leave crs out, or ask for another form: "+list.Name+" has longitudes and latitudes in degrees.")
	}
	r := c.Request()
	c.Response().Header()["Content-Crs"] = []string{"<" + in.uri + ">"}
	a := web.Answer{Format: form, ByAccept: byAccept, EmptyStatus: http.StatusOK, Linked: true} // lines of no features
	if form == web.FormatGeoJSON {
		a.Base = base // the body has links
	}
	var link []string
	inTurn := func(ctx context.Context, out *web.Scratch) error {
		return s.InTurn(ctx, func(ctx context.Context) (err error) {
			var next string
			if out.Body, next, err = fill(ctx, out.Body); next != "" {
				link = web.NextLink(next)
			}
			return err
		})
	}
	if of.LayerInfo.Live || web.KeyInQuery(c) { // links with a key are for one client
		var from []uint64
		if !of.LayerInfo.Live {
			from = append(slices.Clone(of.GenerationIDs), uint64(web.HashStart.Bytes(base)))
		}
		return s.Reply(c, a, from, func(ctx context.Context, out *web.Scratch) error {
			err := inTurn(s.WithClientOf(ctx, c), out)
			if link != nil {
				c.Response().Header()["Link"] = link
			}
			return err
		})
	}
	key := pageKey{address: base + "\x00" + r.URL.RequestURI(), from: of.GenerationIDs[0], form: form, coding: web.AcceptedCacheCoding(r)}
	a.Tag, a.Coding, a.CacheControl = s.ETagSeed.Number(key.Hash()).Tag(), key.coding, s.CacheControl
	return s.kept.Send(c, key, &a, of.GenerationIDs, func(ctx context.Context, out *web.Scratch) (res *web.CachedResponse, err error) {
		if err = inTurn(ctx, out); err == nil {
			res = web.NewCachedResponse(&a, out.Body)
			res.Link = link
		}
		return res, err
	})
}

// sentence returns the text of an error as a sentence for the client.
func sentence(err error) string {
	var s *cql2.SyntaxError
	if errors.As(err, &s) {
		return strings.ToUpper(s.Message[:1]) + s.Message[1:] + " (at byte " + strconv.Itoa(s.Offset) + " of the filter)."
	}
	return err.Error()
}

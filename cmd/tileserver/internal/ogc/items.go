package ogc

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/cql2"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/ogcapi"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/quadkey"
)

// Bounds of a page.
const (
	defaultLimit = 10
	maxLimit     = 1000 // as those of the searches behind it
	// maxLooked is how many features a filter looks at for a page. One that finds less ends
	// there, and the next page goes on. A filter that costs more than readCost looks at fewer.
	maxLooked = 20_000
	readCost  = 64 // of reading a feature, in comparisons
	// maxBoxes is how many boxes a filter of regions has besides the one of the search: which
	// regions meet one is found out for each as a search of its own.
	maxBoxes = 8
	// maxOffset bounds what is read to be left out. Links use cursors, which leave out nothing.
	maxOffset = 10_000
	// maxPageBytes ends a page of large features.
	maxPageBytes = 16 << 20
)

var errCursor = endpoint.Refuse(endpoint.ErrParameter, "cursor", "Leave cursor out for the first page; for the next one follow the link next.")

var errOffset = endpoint.Refuse(endpoint.ErrParameter, "offset", "Leave offset out and follow the links next: what the filter lets through is too far apart to be counted again.")

var errManyMet = endpoint.Refuse(endpoint.ErrParameter, "filter", "Put the box that most features must meet into bbox: the filter has several, and one is met by too many features.")

var errManyBoxes = endpoint.Refuse(endpoint.ErrParameter, "filter", "Give a filter of regions at most "+strconv.Itoa(maxBoxes+1)+" different boxes; ask for the others by further requests.")

// itemFormats are those of features.
var itemFormats = []ogcapi.Format{{Name: "json", Type: ogcapi.TypeGeoJSON, Form: web.FormGeoJSON}, {Name: "html", Type: ogcapi.TypeHTML}}

// ask is what a request for features asks.
type ask struct {
	box      quadkey.Box
	boxed    bool   // box is given by bbox or by the filter
	country  string // of stations, by their index
	geometry bool   // is wanted
	limit    int
	offset   int // features that pass and are left out before the first
	skipped  int // of them, by a page
	cursor   string
	at       time.Time // of collections with a history
	span     *interval // of features that last
	filter   *cql2.Filter
	// indexed is the box of the filter that the search has taken as its own.
	indexed *quadkey.Box
	crs     *crs
}

// readAsk reads the parameters of a request for features of a collection.
func readAsk(q *endpoint.Params, c *collection) (a *ask, err error) {
	a = &ask{limit: defaultLimit}
	a.box, a.boxed = bbox(q)
	a.crs = crsParam.Of(q)
	a.cursor = endpoint.Cursor.Of(q)
	// The standard has more than the most mean the most.
	a.limit = min(int(limitParam.Of(q)), maxLimit)
	a.offset = int(offsetParam.Of(q))
	if span, ok := datetime(q); ok {
		switch {
		case c.history:
			// The points as they were, at the end of an interval.
			a.at = cmp.Or(span.to, time.Time{})
		case c.lasting || c.seen != "":
			a.span = &span
		}
	}
	filterLangParam.Of(q)
	if filterCRSParam.Of(q) != crs84 {
		q.Refuse("filter-crs", "Write the boxes of the filter in CRS84, longitude before latitude, and leave filter-crs out.")
	}
	var filters []*cql2.Filter
	if filterParam.Given(q) {
		f, err := cql2.Parse(filterParam.Of(q))
		if err != nil && q.Err == nil {
			q.Refuse("filter", sentence(err))
		}
		if q.Err == nil {
			filters = append(filters, f)
			for _, name := range f.Properties() {
				if !c.has(name) {
					q.Refuse("filter", "Use properties that "+c.id+"/queryables lists, not "+endpoint.Printable(name)+".")
				}
			}
			for _, name := range f.Geometries() {
				if name != "geometry" && name != "geom" {
					q.Refuse("filter", "Call the geometry of a feature geometry, not "+endpoint.Printable(name)+".")
				}
			}
		}
	}
	for _, other := range q.Others() {
		if !c.has(other.Name) {
			shown := endpoint.Printable(other.Name)
			q.Refuse(shown, "Unknown parameter "+shown+". Besides "+strings.Join(q.Of().Query().Names, ", ")+" there are the properties that "+c.id+"/queryables lists; names that begin with _ are ignored.")
			break
		}
		value := other.Value
		if other.Name == "country" && (c.id == placesID || c.id == airportsID || c.id == stationsID) {
			if value = endpoint.Country.Of(q); c.id == stationsID {
				a.country = value
			}
		}
		filters = append(filters, cql2.Equal(other.Name, value))
	}
	if q.Err != nil {
		return nil, q.Err
	}
	switch len(filters) {
	case 0:
	case 1:
		a.filter = filters[0]
	default:
		a.filter = cql2.And(filters...)
	}
	if a.filter != nil && !a.boxed {
		if box, ok := a.filter.Box(); ok {
			a.box, a.boxed, a.indexed = box, true, &box
		}
	}
	if _, ok := c.source.(*regions); ok && a.filter != nil && len(a.filter.Boxes()) > maxBoxes+1 {
		return nil, errManyBoxes
	}
	return a, nil
}

// has reports whether features have a property.
func (c *collection) has(name string) bool {
	return slices.ContainsFunc(c.fields, func(f field) bool { return f.Name == name })
}

// page reads a page of features, and calls fn with each; size is how long the answer has
// become by then. It returns the cursor of the next page.
func (a *ask) page(ctx context.Context, c *collection, geometry bool, fn func(f *item) (size int, err error)) (next string, err error) {
	cursor, found, looked, skip, most := a.cursor, 0, 0, a.offset, maxLooked
	if a.filter != nil {
		most = max(maxLooked*readCost/(readCost+a.filter.Cost()), 1)
	}
	a.geometry = geometry
	for {
		n := min(a.limit-found+skip, maxLimit)
		if a.filter != nil || a.span != nil {
			n = min(max(4*n, 100), maxLimit, most) // of which some pass
		}
		features, next, err := c.source.page(ctx, a, n, cursor)
		if err != nil {
			return "", err
		}
		for i := range features {
			f := &features[i]
			if err := web.Step(ctx); err != nil {
				return "", err
			}
			if err := c.source.load(ctx, f, geometry); err != nil {
				return "", err
			}
			pass, err := a.passes(ctx, c, f)
			if err != nil {
				return "", err
			}
			if pass && skip > 0 {
				pass = false
				skip--
				a.skipped++
			}
			if !pass {
				continue
			}
			size, err := fn(f)
			if err != nil {
				return "", err
			}
			f.geometry, f.properties = nil, nil // a page has megabytes of them
			if found++; found < a.limit && size < maxPageBytes {
				continue
			}
			switch {
			case i+1 == len(features):
			case f.mark != "":
				next = f.mark
			default: // only the cursor after this one is wanted
				_, next, err = c.source.page(ctx, a, i+1, cursor)
			}
			return next, err
		}
		// What a source reads in vain counts, too.
		looked += max(len(features), maxLimit)
		switch cursor = next; {
		case next == "" || found == a.limit:
			return next, nil
		case looked >= most && skip > 0:
			return "", errOffset
		case looked >= most:
			return next, nil
		}
	}
}

// passes reports whether a feature passes the filters.
func (a *ask) passes(ctx context.Context, c *collection, f *item) (pass bool, err error) {
	if a.span == nil && a.filter == nil {
		return true, nil
	}
	var values map[string]any
	if err := json.Unmarshal(slices.Concat([]byte{'{'}, f.properties, []byte{'}'}), &values); err != nil {
		return false, err
	}
	if a.span != nil {
		first, last := "begin", "end"
		if c.seen != "" {
			first, last = c.seen, c.seen
		}
		begin, _ := values[first].(string)
		end, _ := values[last].(string)
		if !a.span.meets(begin, end) {
			return false, nil
		}
	}
	if a.filter == nil {
		return true, nil
	}
	pass = a.filter.Match(func(name string) any {
		switch v := values[name].(type) {
		case string, float64, bool:
			return v
		default:
			return nil
		}
	}, func(box quadkey.Box) bool {
		if a.indexed != nil && box == *a.indexed || err != nil {
			return true
		}
		var meets bool
		meets, err = c.source.meets(ctx, f, box)
		return meets
	})
	return pass && err == nil, err
}

// getItems answers GET /ogc/collections/{id}/items.
func (s *Room) getItems(c echo.Context, q *endpoint.Params) error {
	r := c.Request()
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	format, byAccept, err := ogcapi.Choose(q, r, itemFormats)
	if err != nil {
		return err
	}
	of, err := s.open(values[0])
	if err != nil {
		return err
	}
	defer of.release()
	a, err := readAsk(q, of)
	if err != nil {
		return err
	}
	base, err := s.BaseURL(r)
	if err != nil {
		return err
	}
	if format.Name == "html" {
		ctx, cancel := context.WithTimeout(s.As(r.Context(), c), s.Timeout)
		defer cancel()
		return s.sendItemsPage(ctx, c, base, of, a)
	}
	return s.sendFeatures(c, of, base, a.crs, byAccept, func(ctx context.Context, dst []byte) ([]byte, error) {
		return s.appendItems(ctx, dst, r.URL, base, of, a)
	})
}

// appendItems writes a page as a FeatureCollection.
func (s *Room) appendItems(ctx context.Context, dst []byte, here *url.URL, base string, of *collection, a *ask) ([]byte, error) {
	dst = append(dst, `{"type":"FeatureCollection","features":[`...)
	n := 0
	next, err := a.page(ctx, of, true, func(f *item) (int, error) {
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		dst = f.append(dst, a.crs, nil)
		return len(dst), nil
	})
	if err != nil {
		return dst, err
	}
	dst = append(dst, `],"numberReturned":`...)
	dst = strconv.AppendInt(dst, int64(n), 10)
	switch plain := !a.boxed && a.filter == nil && a.span == nil; {
	case a.cursor == "" && next == "":
		dst = append(dst, `,"numberMatched":`...)
		dst = strconv.AppendInt(dst, int64(n+a.skipped), 10)
	case plain && of.count > 0:
		dst = append(dst, `,"numberMatched":`...)
		dst = strconv.AppendInt(dst, of.count, 10)
	}
	dst = append(dst, `,"timeStamp":"`...)
	dst = append(time.Now().UTC().AppendFormat(dst, time.RFC3339), `","links":`...)
	links, err := json.Marshal(itemLinks(here, base, of, next))
	if err != nil {
		return dst, err
	}
	return append(append(dst, links...), '}'), nil
}

// itemLinks are those of a page of features.
func itemLinks(here *url.URL, base string, of *collection, next string) []ogcapi.Link {
	address := ogcapi.Collection(base, of.id)
	all := []ogcapi.Link{
		{Href: address + "/items" + query(here, "f", "json"), Rel: "self", Type: ogcapi.TypeGeoJSON, Title: "This page"},
		{Href: address + "/items" + query(here, "f", "html"), Rel: "alternate", Type: ogcapi.TypeHTML, Title: "This page for people"},
		{Href: address + "?f=json", Rel: "collection", Type: ogcapi.TypeJSON, Title: of.title},
	}
	if next != "" {
		all = append(all, ogcapi.Link{Href: address + "/items" + query(here, "f", "json", "cursor", next), Rel: "next", Type: ogcapi.TypeGeoJSON, Title: "The next page"})
	}
	return all
}

// query is that of an address with other values of some parameters. Keys do not go into
// links.
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

// append writes a feature as GeoJSON, with links if there are any.
func (f *item) append(dst []byte, of *crs, links []ogcapi.Link) []byte {
	dst = jsontext.AppendString(append(dst, `{"type":"Feature","id":`...), f.id)
	if f.bbox != nil && of == crs84 {
		dst = append(append(dst, `,"bbox":`...), f.bbox...)
	}
	dst = append(dst, `,"geometry":`...)
	switch {
	case f.geometry != nil:
		dst = of.appendGeometry(dst, f.geometry)
	case f.region:
		dst = append(dst, "null"...)
	default:
		dst = append(of.appendPosition(append(dst, `{"type":"Point","coordinates":`...), f.lon, f.lat), '}')
	}
	dst = append(append(append(dst, `,"properties":{`...), f.properties...), '}')
	if links != nil {
		text, _ := json.Marshal(links) //nolint:errchkjson // texts alone
		dst = append(append(dst, `,"links":`...), text...)
	}
	return append(dst, '}')
}

// getItem answers GET /ogc/collections/{id}/items/{featureId}.
func (s *Room) getItem(c echo.Context, q *endpoint.Params) error {
	r := c.Request()
	if endpoint.RunsOn(c) {
		return endpoint.ErrNoRoute
	}
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	in := crsParam.Of(q)
	if q.Err != nil {
		return q.Err
	}
	format, byAccept, err := ogcapi.Choose(q, r, itemFormats)
	if err != nil {
		return err
	}
	of, err := s.open(values[0])
	if err != nil {
		return err
	}
	defer of.release()
	base, err := s.BaseURL(r)
	if err != nil {
		return err
	}
	if format.Name == "html" {
		ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
		defer cancel()
		f, err := of.source.one(ctx, values[1], time.Time{})
		if err != nil {
			return err
		}
		return s.sendItemPage(c, base, of, &f)
	}
	return s.sendFeatures(c, of, base, in, byAccept, func(ctx context.Context, dst []byte) ([]byte, error) {
		f, err := of.source.one(ctx, values[1], time.Time{})
		if err != nil {
			return dst, err
		}
		address := ogcapi.Collection(base, of.id)
		here := address + "/items/" + url.PathEscape(f.id)
		return f.append(dst, in, []ogcapi.Link{
			{Href: here + query(r.URL, "f", "json"), Rel: "self", Type: ogcapi.TypeGeoJSON, Title: "This feature"},
			{Href: here + query(r.URL, "f", "html"), Rel: "alternate", Type: ogcapi.TypeHTML, Title: "This feature for people"},
			{Href: address + "?f=json", Rel: "collection", Type: ogcapi.TypeJSON, Title: of.title},
		}), nil
	})
}

// pageKey tells kept answers apart.
type pageKey struct {
	address string // with the server's, which is in the links
	from    uint64
	coding  web.Coding
}

func (k pageKey) Spread() uint64 {
	return uint64(web.HashStart.Bytes(k.address).Number(k.from).Number(uint64(k.coding)))
}

func (k pageKey) Extra() int { return len(k.address) }

// sendFeatures answers with what fill writes, which is kept unless it is of the moment.
func (s *Room) sendFeatures(c echo.Context, of *collection, base string, in *crs, byAccept bool, fill func(ctx context.Context, dst []byte) ([]byte, error)) error {
	r := c.Request()
	c.Response().Header()["Content-Crs"] = []string{"<" + in.uri + ">"}
	a := web.Answer{Form: web.FormGeoJSON, ByAccept: byAccept, Base: base}
	if of.live || web.KeyInQuery(c) { // the links of the latter are nobody else's
		var from []uint64
		if !of.live {
			from = append(slices.Clone(of.from), uint64(web.HashStart.Bytes(base)))
		}
		return s.Reply(c, a, from, func(ctx context.Context, out *web.Scratch) error {
			return s.InTurn(s.As(ctx, c), func(ctx context.Context) (err error) {
				out.Body, err = fill(ctx, out.Body)
				return err
			})
		})
	}
	key := pageKey{address: base + "\x00" + r.URL.RequestURI(), from: of.from[0], coding: web.AcceptedKept(r)}
	a.Tag, a.Coding, a.Cache = s.TagStart.Number(key.Spread()).Tag(), key.coding, s.CacheControl
	return s.kept.Send(c, key, &a, of.from, func(ctx context.Context, out *web.Scratch) (res *web.Finished, err error) {
		err = s.InTurn(ctx, func(ctx context.Context) (err error) {
			if out.Body, err = fill(ctx, out.Body); err == nil {
				res = web.Finish(&a, out.Body)
			}
			return err
		})
		return res, err
	})
}

// numberOf is the value of a member of an object without its braces.
func numberOf(members []byte, name string) (float64, bool) {
	_, after, ok := bytes.Cut(members, []byte(`"`+name+`":`))
	if !ok {
		return 0, false
	}
	end := bytes.IndexByte(after, ',')
	if end < 0 {
		end = len(after)
	}
	v, err := strconv.ParseFloat(string(after[:end]), 64)
	return v, err == nil
}

// sentence is an error's text as words for the client.
func sentence(err error) string {
	var s *cql2.SyntaxError
	if errors.As(err, &s) {
		return strings.ToUpper(s.Message[:1]) + s.Message[1:] + " (at byte " + strconv.Itoa(s.Offset) + " of the filter)."
	}
	return err.Error()
}

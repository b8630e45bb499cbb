package collection

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"quadrille/ask/fence"
	"quadrille/cellstore"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/quota"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/places/live"
	"quadrille/places/points"
)

// These paths accept writes.
const (
	collectionPath = "/points/:collection"
	pointPath      = "/points/:collection/:id"
)

// readMethods are the methods of a collection and its points on a server that does not accept
// writes.
const readMethods = "GET, HEAD, OPTIONS"

// These are reasons for refusing a write.
var (
	errReadOnly    = errors.New("no writes are taken")
	errDescription = errors.New("description of a collection is not valid")
	errDiffers     = errors.New("collection is there with another description")
	errTooLarge    = errors.New("body of a write is too large")
)

var writeKinds = []web.ProblemKind{
	{Err: errReadOnly, Status: http.StatusMethodNotAllowed, Type: "read-only", Title: "No writes are taken here",
		Detail: "This server takes no writes: the operator starts it with --live DIR for that."},
	{Err: live.ErrName, Status: http.StatusBadRequest, Type: "bad-name", Title: "A collection cannot have this name",
		Detail: "Give a letter a to z and then letters a to z, digits, hyphens and underscores, at most 40 in all."},
	{Err: errDescription, Status: http.StatusBadRequest, Type: "bad-description", Title: "The description of the collection is not valid",
		Detail: `Write an object such as {"title":"Shops","history":"720h","schema":{"price":"number"}}, all members of which may be left out.`},
	{Err: errDiffers, Status: http.StatusConflict, Type: "collection-exists", Title: "The collection is there with another description",
		Detail: "Change its description by PATCH, which takes the members that are to be others, or choose another name."},
	{Err: live.ErrTooMany, Status: http.StatusConflict, Type: "too-many-collections", Title: "There are as many collections as there may be",
		Detail: "Delete a collection that is not needed, or ask the operator to raise --max-collections."},
	{Err: errTooLarge, Status: http.StatusRequestEntityTooLarge, Type: "body-too-large", Title: "The request body is too large",
		Detail: "Send at most 1 MiB; many points go by POST /points/{collection}, one in each line."},
	{Err: points.ErrInvalidPoint, Status: http.StatusBadRequest, Type: "bad-point", Title: "The point is not valid",
		Detail: "Correct the point and send it again."},
	{Err: feature.ErrProperties, Status: http.StatusBadRequest, Type: "bad-properties", Title: "The properties are not valid",
		Detail: "Correct the properties and send the point again."},
	{Err: feature.ErrType, Status: http.StatusBadRequest, Type: "bad-properties", Title: "The properties are not valid",
		Detail: "Correct the properties and send the point again."},
	{Err: live.ErrExists, Status: http.StatusPreconditionFailed, Type: "point-exists", Title: "The point is there already",
		Detail: "Leave out If-None-Match to replace it."},
	{Err: live.ErrChanged, Status: http.StatusPreconditionFailed, Type: "point-changed", Title: "The point has changed",
		Detail: "Read it again and repeat the change with its new ETag."},
	{Err: live.ErrClosed, Status: http.StatusServiceUnavailable, Type: "dataset-unavailable", Title: "The data set cannot be read right now",
		Detail: "Try again in a moment: the collection was deleted, or the server is about to stop.", Retry: true, IsExpected: true},
	{Err: live.ErrOtherWriter, Status: http.StatusServiceUnavailable, Type: "dataset-unavailable",
		Title: "The data set cannot be read right now",
		Detail: "Nothing was written, as another program has written to the collection. Send the request again; " +
			"if it lasts, tell the operator that one program alone may have the directory.", Retry: true},
	{Err: live.ErrEventsGone, Status: http.StatusGone, Type: "events-gone", Title: "Events after that one are not kept any more",
		Detail: "Read the points again, and follow events without a last event id."},
}

// refusal converts the reason why a point or collection was not written to an error for the client.
func refusal(err error) error {
	if errors.Is(err, live.ErrWritesRefused) && errors.Is(err, cellstore.ErrUnknownOutcome) {
		cause := cellstore.ErrNoSpace
		if !errors.Is(err, cause) {
			cause = live.ErrWritesRefused
		}
		return endpoint.Refuse(cause, "",
			"The disk refused the write, and whether it holds a part of it shows only when it is read again. Read what is "+
				"there, and repeat the write later.")
	}
	for _, known := range [...]error{points.ErrInvalidPoint, feature.ErrProperties, feature.ErrType, live.ErrName} {
		detail := feature.DetailOf(err, known)
		switch {
		case detail == "" || endpoint.DetailOf(err) != "":
			continue
		case errors.Is(err, feature.ErrType): // begins with the name of a property
			return endpoint.Refuse(known, "", "Correct "+detail+".")
		case strings.HasSuffix(detail, "?"): // whether latitude and longitude are swapped
			detail += " Give longitude, then latitude"
		}
		return endpoint.Refuse(known, "", endpoint.Sentence(detail))
	}
	return err
}

// pathOf returns the parts of the path of a write.
func pathOf(c echo.Context) ([]string, error) {
	path, err := endpoint.WholePath(c)
	if err != nil {
		return nil, err
	}
	// Requests for a collection's own paths reach the handler of points if their method is not
	// declared there. Such a word is the id of a point only if it is percent-encoded.
	if at := strings.LastIndexByte(c.Request().URL.EscapedPath(), '/'); slices.Contains(ownPaths,
		c.Request().URL.EscapedPath()[at+1:]) && c.Path() == pointPath {
		c.Response().Header()["Allow"] = []string{readMethods}
		return nil, endpoint.Refuse(errReadOnly, "",
			"This is an address of the collection. A point of this id is written with one letter encoded, such as %63ount.")
	}
	return path, nil
}

// ownPaths lists the last segments of the paths that belong to collections and not to points.
var ownPaths = []string{"nearby", "within", "count", "events", "hooks"}

// mayWrite returns an error if the sender may not write a collection.
func (s *Handlers) mayWrite(c echo.Context, name string) error {
	if s.live() == nil {
		c.Response().Header()["Allow"] = []string{readMethods}
		return errReadOnly
	}
	if err := live.CheckName(name); err != nil {
		return refusal(err)
	}
	return s.CheckScope(c, quota.Scope{Write: true, Collection: name})
}

// toWrite returns the collection of a request if its sender may write it, and the parts of the
// path.
func (s *Handlers) toWrite(c echo.Context) (l *live.Collection, path []string, err error) {
	if path, err = pathOf(c); err != nil {
		return nil, nil, err
	}
	name := path[0]
	if err := s.mayWrite(c, name); err != nil {
		return nil, nil, err
	}
	if l, err = s.live().Find(name); !errors.Is(err, live.ErrNoCollection) {
		return l, path, err
	}
	if s.Views.Collections.Published(name) != nil {
		c.Response().Header()["Allow"] = []string{readMethods}
		return nil, nil, endpoint.Refuse(errReadOnly, "",
			"The collection was published by ingest, which replaces it as a whole. Write to a live collection of another name.")
	}
	return nil, nil, endpoint.Refuse(live.ErrNoCollection, "", "Make the collection by PUT /points/"+name+" first.")
}

// maxBody bounds the body of one write in bytes, compressed or not.
const maxBody = 1 << 20

// readBody reads the body of a write, and returns its media type.
func readBody(c echo.Context) (body []byte, mediaType string, err error) {
	return web.ReadBody(c, maxBody, errTooLarge)
}

// creation is the description of a collection that is to be made, or changed.
type creation struct {
	Title       string            `json:"title"`
	Attribution string            `json:"attribution"`
	Licence     string            `json:"licence"`
	Private     bool              `json:"private"`
	History     live.Duration     `json:"history"`
	Events      live.Duration     `json:"events"`
	Schema      map[string]string `json:"schema"`
}

var descriptionMembers = []string{"title", "attribution", "licence", "private", "history", "events", "schema"}

// describing returns the description from which a collection with the given metadata would be made.
func describing(m *live.Meta) *creation {
	d := &creation{m.Title, m.Attribution, m.Licence, m.Private, m.HistoryRetention, m.EventRetention, map[string]string{}}
	for _, f := range m.Schema {
		d.Schema[f.Name] = f.Kind.String()
	}
	return d
}

func readCreation(name string, body []byte) (m live.Meta, err error) {
	var d creation
	if len(body) > 0 {
		if err := checkMembers(body, descriptionMembers...); err != nil {
			return m, err
		}
		if err := json.Unmarshal(body, &d); err != nil || !utf8.Valid(body) {
			return m, errDescription
		}
	}
	m = live.Meta{
		Name: name, Title: d.Title, Attribution: d.Attribution, Licence: d.Licence,
		Private: d.Private, HistoryRetention: d.History, EventRetention: d.Events,
	}
	if m.EventRetention == 0 {
		m.EventRetention = live.DefaultEventRetention
	}
	var fields []feature.Field
	for name, text := range d.Schema {
		field, err := feature.ParseField(name, text)
		if err != nil {
			return m, refusal(err)
		}
		fields = append(fields, field)
	}
	m.Schema, err = feature.NewSchema(fields)
	return m, refusal(err)
}

// checkMembers refuses an object with a repeated or unknown member, or with text after it.
// encoding/json would accept names in any case, and use the last of two members with one name. In
// the object schema every name is accepted.
func checkMembers(text []byte, known ...string) error {
	seen := map[string]bool{}
	for o := (objectReader{in: text}); ; {
		name, value, more, err := o.next()
		if err != nil {
			return endpoint.Refuse(errDescription, "", endpoint.DetailOf(err))
		}
		if !more {
			return nil
		}
		switch {
		case len(known) > 0 && !slices.Contains(known, string(name)):
			return endpoint.Refuse(errDescription, "",
				"Leave out "+strconv.Quote(shorten(name))+": a description has "+strings.Join(known, ", ")+".")
		case seen[string(name)]:
			return endpoint.Refuse(errDescription, "", "Give "+strconv.Quote(shorten(name))+" once.")
		case len(known) > 0 && string(name) == "schema" && value[0] == '{':
			if err := checkMembers(value); err != nil {
				return err
			}
		}
		seen[string(name)] = true
	}
}

// putCollection answers PUT /points/{collection}. It makes the collection, or checks that the
// existing one has the same description.
func (s *Handlers) putCollection(c echo.Context, _ *endpoint.Params) error {
	path, err := pathOf(c)
	if err != nil {
		return err
	}
	if err := s.mayWrite(c, path[0]); err != nil {
		return err
	}
	body, _, err := readBody(c)
	if err != nil {
		return err
	}
	m, err := readCreation(path[0], body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), s.Timeout)
	defer cancel()
	status := http.StatusCreated
	created, err := s.live().Create(ctx, m)
	if err == nil {
		// Otherwise its first moves would be compared with the borders of a later generation. A
		// failure is retried later.
		_, _ = fence.Redraw(ctx, created, s.Views, nil)
	}
	if errors.Is(err, live.ErrExists) {
		status, err = http.StatusOK, nil
		if l := s.live().Collection(m.Name); l == nil || !isAs(l, &m) {
			err = errDiffers
		}
	}
	if err != nil {
		return undescribed(err)
	}
	return s.sendDescribed(c, status, m.Name, nil)
}

// patchCollection answers PATCH /points/{collection}. It merges the body into the description, as
// in RFC 7396. A null restores the default.
func (s *Handlers) patchCollection(c echo.Context, _ *endpoint.Params) error {
	l, path, err := s.toWrite(c)
	if err != nil {
		return err
	}
	body, _, err := readBody(c)
	if err != nil {
		return err
	}
	if err := checkMembers(body, descriptionMembers...); err != nil {
		return err
	}
	if len(body) > 0 && (!json.Valid(body) || !utf8.Valid(body)) {
		return errDescription // before it waits for its turn among the writes
	}
	others, err := l.Describe(c.Request().Context(), func(m *live.Meta) error {
		was, err := json.Marshal(describing(m))
		if err != nil {
			return err
		}
		all, err := feature.MergeObject(nil, was, body, 2*maxBody)
		if err != nil {
			return errDescription
		}
		next, err := readCreation(m.Name, all)
		next.SchemaVersion, next.Since = m.SchemaVersion, m.Since
		*m = next
		return err
	})
	if err != nil {
		return undescribed(err)
	}
	return s.sendDescribed(c, http.StatusOK, path[0], others)
}

// undescribed converts the reason why a description was refused to an error for the client.
func undescribed(err error) error {
	if detail := feature.DetailOf(err, points.ErrInvalidPoint); detail != "" { // of a description
		return endpoint.Refuse(errDescription, "", "Correct the description: "+detail+".")
	}
	return refusal(err)
}

// sendDescribed answers that a collection has the requested description. others counts the values
// that are not of the type declared for their property.
func (s *Handlers) sendDescribed(c echo.Context, status int, name string, others map[string]int64) error {
	return s.sendDocument(c, status, CollectionName{Name: name, Others: others})
}

// isAs reports whether a collection was made from the description.
func isAs(l *live.Collection, m *live.Meta) bool {
	was := l.Meta()
	return was.Title == m.Title && was.Attribution == m.Attribution && was.Licence == m.Licence && was.Private == m.Private &&
		was.HistoryRetention == m.HistoryRetention && was.EventRetention == m.EventRetention && slices.Equal(l.DeclaredTypes(), m.Schema)
}

// deleteCollection answers DELETE /points/{collection}.
func (s *Handlers) deleteCollection(c echo.Context, _ *endpoint.Params) error {
	_, path, err := s.toWrite(c)
	if err != nil {
		return err
	}
	if err := s.live().Drop(context.WithoutCancel(c.Request().Context()), path[0]); err != nil {
		return refusal(err)
	}
	return s.sendNothing(c)
}

// sendNothing answers 204 to a removal.
func (s *Handlers) sendNothing(c echo.Context) error {
	c.Response().Header()["Cache-Control"] = web.PrivateNoStore
	c.Response().WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Handlers) putPoint(c echo.Context, q *endpoint.Params) error {
	return s.writePoint(c, q, live.Put, formFeature)
}

func (s *Handlers) patchPoint(c echo.Context, q *endpoint.Params) error {
	return s.writePoint(c, q, live.Patch, formPatch)
}

func (s *Handlers) deletePoint(c echo.Context, q *endpoint.Params) error {
	return s.writePoint(c, q, live.Delete, 0)
}

// writePoint answers PUT, PATCH and DELETE /points/{collection}/{id}.
func (s *Handlers) writePoint(c echo.Context, q *endpoint.Params, kind live.WriteKind, f form) error {
	l, path, err := s.toWrite(c)
	if err != nil {
		return err
	}
	id := path[1]
	if err := points.CheckID(id); err != nil {
		return refusal(err)
	}
	var w live.Write
	ignored := ""
	if err := readConditions(c.Request().Header, kind, &w); err != nil {
		return err
	}
	if kind != live.Delete {
		now := l.Now()
		if err := readLifetime(q, now, &w); err != nil {
			return err
		}
		body, t, err := readBody(c)
		if err != nil {
			return err
		}
		switch merge := strings.HasSuffix(t, "merge-patch+json"); {
		case merge && f == formPatch:
			f = formMerge
		case merge:
			return endpoint.Refuse(web.ErrBodyType, "", "Send a merge patch by PATCH, and a Feature as application/geo+json.")
		}
		if ignored, err = readChange(body, f, now, &w); err != nil {
			return refusal(err)
		}
		if w.ID != "" && w.ID != id {
			return errOtherID
		}
	}
	w.Kind, w.ID = kind, id
	var outcome [1]live.Outcome
	ctx, cancel := context.WithTimeout(c.Request().Context(), s.Timeout)
	defer cancel()
	if err := l.Write(ctx, []live.Write{w}, outcome[:]); err != nil {
		return err
	}
	if err := outcome[0].Err; err != nil {
		return refusal(err)
	}
	if kind == live.Delete {
		return s.sendNothing(c)
	}
	return s.sendWritten(c, id, ignored, &outcome[0])
}

// sendWritten answers with the version of a point, and with the ignored member, if any.
func (s *Handlers) sendWritten(c echo.Context, id, ignored string, o *live.Outcome) error {
	status := http.StatusOK
	if o.Created {
		status = http.StatusCreated
	}
	out := web.GetScratch()
	defer out.Release()
	out.Body = jsontext.AppendString(append(out.Body, `{"id":`...), id)
	out.Body = strconv.AppendInt(append(out.Body, `,"version":`...), o.Version, 10)
	out.Body = append(jsontext.AppendText(out.Body, "ignored", ignored), '}')
	c.Response().Header()["Etag"] = []string{web.VersionTag(o.Version)}
	return s.Send(c, web.Answer{Format: web.FormatJSON, Status: status, CacheControl: web.PrivateNoStore}, out)
}

// otherVersion is a version that no point has.
const otherVersion = -1

// readConditions reads the headers If-Match and If-None-Match.
func readConditions(h http.Header, kind live.WriteKind, w *live.Write) error {
	if none := strings.Join(h["If-None-Match"], ","); none != "" {
		if strings.TrimSpace(none) != "*" || kind != live.Put {
			return refuseCondition("If-None-Match", "Only PUT takes If-None-Match, with the value *: the point must not be there.")
		}
		w.IfAbsent = true
	}
	match := strings.TrimSpace(strings.Join(h["If-Match"], ","))
	if w.IfPresent = match == "*"; w.IfPresent || match == "" && len(h["If-Match"]) == 0 {
		return nil
	}
	for tag := range strings.SplitSeq(match, ",") {
		if tag = strings.TrimSpace(tag); tag == "" {
			continue // RFC 9110, 5.6.1
		}
		version := int64(otherVersion)
		digits, ok := strings.CutPrefix(tag, `"v`)
		if v, err := strconv.ParseInt(strings.TrimSuffix(digits, `"`), 10, 64); ok && err == nil && web.VersionTag(v) == tag {
			version = v
		}
		if tag == "*" {
			w.IfVersions = nil
			break
		}
		w.IfVersions = append(w.IfVersions, version)
	}
	if len(w.IfVersions) == 0 {
		return refuseCondition("If-Match", `Set If-Match to ETags with commas between, such as "v1767225600000", or to * alone, or leave it out.`)
	}
	return nil
}

// unconditional refuses conditions on requests for which there is no ETag.
func unconditional(h endpoint.Handler) endpoint.Handler {
	return func(c echo.Context, q *endpoint.Params) error {
		for _, name := range [...]string{"If-Match", "If-None-Match"} {
			if c.Request().Header[name] != nil {
				return refuseCondition(name, "Leave out "+name+": only points have ETags. A line of a batch has its own if_match.")
			}
		}
		return h(c, q)
	}
}

func refuseCondition(header, detail string) error {
	return endpoint.Refuse(endpoint.ErrParameter, header, detail)
}

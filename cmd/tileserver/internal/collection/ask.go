package collection

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/instant"
	"quadrille/places/points"
)

const (
	// maxCollections is how many collections one question may be for.
	maxCollections = 10
	// maxFields is how many properties may be chosen.
	maxFields = 64
)

// asked is a collection that a question is for.
type asked struct {
	name   string
	pin    ask.PinnedCollection
	from   ask.Collection
	meta   *points.Meta
	filter feature.Filter
}

// dropped reports whether a live collection is gone.
func (a *asked) dropped(s *Room) bool {
	return a.pin.Live != nil && s.Collections.Live.Collection(a.name) != a.pin.Live
}

// question is what a request asks of collections, which are held for it.
type question struct {
	inRegion bool // answers take a processor by turns
	room     *Room
	context  echo.Context
	asked    []asked
	from     []uint64 // what answers depend on; nil if they may not be kept
	shape    shape
	at       time.Time
}

// asking says how an endpoint asks.
type asking struct {
	several bool // collections may be asked at once
	shape   shape
	at      time.Time
}

// readAsking reads the parameters that searches have in common but for their filters.
func readAsking(q *endpoint.Params, r *http.Request, format *endpoint.Value[string]) asking {
	a := asking{at: pastParam.Of(q)}
	a.shape = shapeOf(web.FormOf(r, format.Of(q)), fieldsParam.Of(q))
	return a
}

// readFields reads the properties that are wanted.
func readFields(q *endpoint.Params, name string) []string {
	names := feature.SplitValues(q.Text(name, endpoint.MaxListText))
	switch {
	case len(names) > maxFields:
		q.Refuse("fields", "Shorten fields to at most "+strconv.Itoa(maxFields)+" entries.")
	case len(names) == 1 && names[0] == "":
		q.Refuse("fields", "List at least one entry in fields, or leave it out.")
	}
	return names
}

// ask takes the collections that the path names, and reads the filters. Release what it
// returns.
func (s *Room) ask(c echo.Context, p *endpoint.Params, a asking) (*question, error) {
	if p.Err != nil {
		return nil, p.Err
	}
	values, err := endpoint.PathParams(c)
	if err != nil {
		return nil, err
	}
	names := strings.Split(values[0], ",")
	switch {
	case len(names) > 1 && !a.several:
		return nil, endpoint.Refuse(endpoint.ErrParameter, "collection", "Name one collection: only nearby and count take several.")
	case len(names) > maxCollections:
		return nil, endpoint.Refuse(endpoint.ErrParameter, "collection", "Name at most "+strconv.Itoa(maxCollections)+" collections.")
	}
	q := &question{room: s, context: c, from: []uint64{}, shape: a.shape, at: a.at}
	if err = q.holdAll(names); err == nil {
		err = q.read(p, &a)
	}
	if err != nil {
		q.release()
		return nil, err
	}
	return q, nil
}

func (q *question) holdAll(names []string) error {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return endpoint.Refuse(endpoint.ErrParameter, "collection", "Name each collection once.")
		}
		if err := q.hold(name); err != nil {
			return err
		}
	}
	return nil
}

// hold takes a collection. One that is private is not there for those who may not read it.
func (q *question) hold(name string) error {
	a := asked{name: name, pin: q.room.Collections.Pin(name)}
	from, err := a.pin.Get()
	if err != nil {
		return q.room.unread(q.context, name, err)
	}
	a.from, a.meta = from, from.Meta()
	ids := a.pin.From()
	if ids == nil || a.meta.Private { // what is shown of private ones depends on the key
		q.from = nil
	} else if q.from != nil {
		q.from = append(q.from, ids...)
	}
	if !q.room.mayRead(q.context, name, a.meta) {
		a.pin.Release()
		return fmt.Errorf("%w: %.60q", points.ErrNoCollection, name)
	}
	q.asked = append(q.asked, a)
	return nil
}

// unread is why a collection cannot be read, for those who might: it may be a private one.
func (s *Room) unread(c echo.Context, name string, err error) error {
	// A failure is never "not found", unless the collection is known to be private.
	if errors.Is(err, ask.ErrFailed) && !ask.OfPrivate(err) {
		return err
	}
	if !s.mayRead(c, name, &points.Meta{Private: true}) {
		return fmt.Errorf("%w: %.60q", points.ErrNoCollection, name)
	}
	return err
}

// release gives the collections back.
func (q *question) release() {
	for i := range q.asked {
		q.asked[i].pin.Release()
	}
}

// read checks what can be checked only against the collections.
func (q *question) read(p *endpoint.Params, a *asking) error {
	for i := range q.asked {
		if err := q.checkAt(&q.asked[i]); err != nil {
			return err
		}
	}
	for _, name := range q.shape.writer.Fields {
		known := func(a asked) bool { _, ok := a.meta.Schema.Lookup(name); return ok }
		if !slices.ContainsFunc(q.asked, known) {
			return endpoint.Refuse(endpoint.ErrParameter, "fields", "There is no property "+endpoint.Printable(name)+": "+q.properties())
		}
	}
	if !p.Of().Filters {
		return nil
	}
	others := p.Others()
	if p.Err != nil {
		return p.Err
	}
	if len(others) > feature.MaxTerms {
		return endpoint.Refuse(endpoint.ErrParameter, "", "Filter by at most "+strconv.Itoa(feature.MaxTerms)+" parameters.")
	}
	for i := range q.asked {
		if err := q.filter(&q.asked[i], p.Of().Query(), others); err != nil {
			return err
		}
	}
	return nil
}

// filter makes the filter of a collection. Each parameter is tried alone first, so that
// the refusal names it.
func (q *question) filter(a *asked, query *endpoint.Query, others []endpoint.Extra) error {
	schema := a.meta.Schema
	var terms []feature.Term
	for _, o := range others {
		term, err := schema.ParseTerm(o.Name, o.Value)
		if err == nil {
			_, err = feature.ParseFilter(schema, []feature.Term{term})
		}
		if err == nil {
			terms = append(terms, term)
			continue
		}
		shown := endpoint.Printable(o.Name)
		if _, known := schema.Lookup(term.Name); term.Name == "" || known {
			return endpoint.Refuse(endpoint.ErrParameter, shown, "The filter cannot be used: "+reason(err)+".")
		}
		detail := "Unknown parameter " + shown
		if meant := query.Nearest(o.Name); meant != "" {
			detail += ": did you mean " + meant + "?"
		} else {
			detail += "."
		}
		return endpoint.Refuse(endpoint.ErrParameter, shown, detail+" As a filter it names no property of "+a.name+": "+q.properties())
	}
	var err error
	a.filter, err = feature.ParseFilter(schema, terms)
	return err
}

// reason is the text of an error without that of its kind.
func reason(err error) string {
	return strings.TrimPrefix(err.Error(), feature.ErrFilter.Error()+": ")
}

// namesInRefusal is how many properties a refusal lists.
const namesInRefusal = 8

// properties says which properties there are.
func (q *question) properties() string {
	var names []string
	for i := range q.asked {
		for _, f := range q.asked[i].meta.Schema {
			if name := endpoint.Printable(f.Name); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	switch {
	case len(names) == 0:
		return "these points have none."
	case len(names) > namesInRefusal:
		return "use one of those that /points/" + q.asked[0].name + " lists, such as " + strings.Join(names[:namesInRefusal], ", ") + "."
	}
	return "use one of " + strings.Join(names, ", ") + "."
}

// lastMillisecond is that of the year 9999.
const lastMillisecond = 253_402_300_799_999

// readInstant reads an instant.
func readInstant(q *endpoint.Params, name string) time.Time {
	text := q.Text(name, 64)
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms > 0 && ms <= lastMillisecond {
		return time.UnixMilli(ms)
	}
	at, ok := instant.Parse(text)
	if !ok || at.UnixMilli() <= 0 || at.UnixMilli() > lastMillisecond {
		q.Refuse(name, "Set "+name+" to an instant such as 2026-07-01T12:00:00Z, with + written as %2B, or to milliseconds since 1970.")
	}
	return at
}

// checkAt refuses an instant that a collection cannot answer for.
func (q *question) checkAt(a *asked) error {
	if q.at.IsZero() {
		return nil
	}
	switch {
	case a.pin.Live == nil || a.meta.History == 0:
		return endpoint.Refuse(endpoint.ErrParameter, "at", "Leave out at: the collection "+a.name+" has no history.")
	case q.at.Before(a.meta.Remembers(a.pin.Live.Now())):
		return endpoint.Refuse(endpoint.ErrParameter, "at", "Set at to a later instant: the collection "+a.name+" remembers "+time.Duration(a.meta.History).String()+
			", back to "+a.meta.Remembers(a.pin.Live.Now()).UTC().Format(time.RFC3339)+".")
	}
	return nil
}

// explain gives an error the words it has here. A live collection that was removed in the
// meantime is one that is not there.
func (q *question) explain(err error) error {
	if err == nil {
		return nil
	}
	for i := range q.asked {
		if q.asked[i].dropped(q.room) {
			return fmt.Errorf("%w: %.60q", points.ErrNoCollection, q.asked[i].name)
		}
	}
	if errors.Is(err, points.ErrTooMuchWork) {
		return endpoint.Refuse(points.ErrTooMuchWork, "", "Too few of the points that are looked at pass. Give a smaller area, lower the limit or drop a filter.")
	}
	return err
}

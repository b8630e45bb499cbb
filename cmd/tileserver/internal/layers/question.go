package layers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
)

const (
	// maxLayers bounds the number of layers of one question.
	maxLayers = 10
)

// asked is a requested layer.
type asked struct {
	*ask.Layer
	name   string // from the path, or of the layer
	filter feature.Filter
}

// question is the question of a request to one or several layers.
type question struct {
	*list
	view    ask.View
	context echo.Context
	asked   []asked
	from    []uint64 // the generations that answers depend on; nil if answers may not be cached
	turns   bool     // answers take a processor by turns
	// filtered is the filter of a layer without open properties.
	filtered feature.Filter
	asking
}

// asking has the options of an endpoint's question.
type asking struct {
	several bool // one question may be for several layers
	at      time.Time
	form    *listing.Format
	// byAccept is set if no parameter names the form.
	byAccept bool
	writer   feature.Writer
	show     func(ctx context.Context, l feature.Layer, f *feature.Feature) error
}

// begin opens the layers that a path names, and makes their filters.
func (l *list) begin(c echo.Context, p *endpoint.Params, a asking) (*question, error) {
	q := &question{list: l, view: p.View(), context: c, from: []uint64{}, asking: a}
	var err error
	if l.Filter != nil {
		q.filtered, err = l.Filter(p)
	}
	if err := cmp.Or(p.Err, err); err != nil {
		return nil, err
	}
	err = q.addAll()
	if err == nil {
		err = q.read(p)
	}
	if err != nil {
		return nil, err
	}
	return q, nil
}

// past returns the instant at which the layers are read, or the zero time for the present.
func (l *list) past(p *endpoint.Params) (at time.Time) {
	if l.Open {
		at = pastParam.Of(p)
	}
	return at
}

// readWriter returns the feature.Writer that the parameters of the request select.
func (l *list) readWriter(p *endpoint.Params, geojson bool) feature.Writer {
	w := feature.Writer{GeoJSON: geojson, NestProperties: l.Open, WithVersion: l.Open, NumericIDs: l.NumericIDs}
	w.SkipGeometry, w.Fields = listing.SkipGeometry.Of(p), listing.Properties.Of(p)
	if l.Open && fieldsParam.Given(p) {
		if w.Fields = fieldsParam.Of(p); listing.Properties.Given(p) {
			p.Refuse(fieldsParam.Name, "Give either fields or properties, which are the same.")
		}
	}
	return w
}

func (q *question) addAll() error {
	if !q.named {
		return q.add(q.Layer, q.Layer)
	}
	values, err := endpoint.PathParams(q.context)
	if err != nil {
		return err
	}
	names := strings.Split(values[0], ",")
	switch {
	case len(names) > 1 && !q.several:
		return endpoint.Refuse(endpoint.ErrParameter, "collection", "Name one collection: only nearby and count take several.")
	case len(names) > maxLayers:
		return endpoint.Refuse(endpoint.ErrParameter, "collection", "Name at most "+strconv.Itoa(maxLayers)+" collections.")
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return endpoint.Refuse(endpoint.ErrParameter, "collection", "Name each collection once.")
		}
		if err := q.add(q.Layer+name, name); err != nil {
			return err
		}
	}
	return nil
}

// add adds a layer. For clients that may not read a private layer, it does not exist.
func (q *question) add(layer, name string) error {
	l, err := q.view.Layer(layer)
	if err != nil {
		return q.unread(layer, name, err)
	}
	q.asked = append(q.asked, asked{Layer: l, name: name})
	switch {
	case !l.LayerInfo.Private:
	case !q.named: // keys give access to collections only
		return ask.ErrMissing
	case !q.mayRead(name):
		return fmt.Errorf("%w: %.60q", ask.ErrNoLayer, layer)
	}
	q.from = l.AppendGenerationIDs(q.from)
	return nil
}

func (q *question) mayRead(name string) bool {
	return q.handlers.MayRead != nil && q.handlers.MayRead(q.context, name)
}

// unread returns the error about a layer that cannot be read. The error does not reveal whether a
// private layer exists.
func (q *question) unread(layer, name string, err error) error {
	// A failure is never "not found", unless the layer is known to be private.
	if !q.named || errors.Is(err, ask.ErrFailed) && !ask.IsPrivateFailure(err) || q.mayRead(name) {
		return err
	}
	return fmt.Errorf("%w: %.60q", ask.ErrNoLayer, layer)
}

// read makes the filters of the layers, and checks the parameters whose validity depends on the
// layers.
func (q *question) read(p *endpoint.Params) error {
	for i := range q.asked {
		if a := &q.asked[i]; !q.at.IsZero() && !a.LayerInfo.History {
			return endpoint.Refuse(endpoint.ErrParameter, "at", "Leave out at: the collection "+a.name+" has no history.")
		}
	}
	if err := q.checkFields(p); err != nil {
		return err
	}
	if q.Open {
		return q.readOpen(p)
	}
	if w := &q.writer; w.SkipGeometry {
		if w.Fields == nil {
			for _, f := range q.layer().LayerInfo.Schema {
				w.Fields = append(w.Fields, f.Name)
			}
		}
		w.Fields = slices.DeleteFunc(w.Fields, func(name string) bool { return name == "lat" || name == "lon" }) // positions are properties here
	}
	q.layer().filter = q.filtered
	return nil
}

// layer returns the layer of a question about a single layer.
func (q *question) layer() *asked { return &q.asked[0] }

// explain adds a text for the client to an error. A layer that was removed in the meantime counts
// as missing.
func (q *question) explain(err error) error {
	if err == nil {
		return nil
	}
	for i := range q.asked {
		if q.asked[i].IsDropped() {
			return fmt.Errorf("%w: %.60q", ask.ErrNoLayer, q.asked[i].LayerInfo.Name)
		}
	}
	past := feature.DetailOf(err, feature.ErrQuery)
	switch {
	case !q.at.IsZero() && past != "":
		return endpoint.Refuse(endpoint.ErrParameter, "at", endpoint.Sentence(past))
	case q.Open && errors.Is(err, feature.ErrTooMuchWork) && feature.DetailOf(err, feature.ErrTooMuchWork) == "":
		return endpoint.Refuse(feature.ErrTooMuchWork, "",
			"Too few of the points that are looked at pass. Give a smaller area, lower the limit or drop a filter.")
	}
	return err
}

// reply answers with the body that fill writes.
func (q *question) reply(a web.Answer, fill func(ctx context.Context, out *web.Scratch) error) error {
	return q.handlers.Reply(q.context, a, q.from, func(ctx context.Context, out *web.Scratch) error {
		if !q.turns {
			return q.explain(fill(ctx, out))
		}
		return q.handlers.InTurn(q.handlers.WithClientOf(ctx, q.context),
			func(turn context.Context) error { return q.explain(fill(turn, out)) })
	})
}

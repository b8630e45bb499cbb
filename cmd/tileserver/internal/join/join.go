// Package join serves tables of points with columns added: the regions that hold each point, its time
// zone, what is nearest, what is known of an IP address. Nothing of a table is kept.
package join

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/ask/enrich"
	"quadrille/cmd/internal/columnname"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/ipgeo"
	"quadrille/tiles"
)

// MaxRows is the number of rows that a table may have.
const MaxRows = 100_000

// memoBytes bounds what a request keeps of the layers that it asks for what is nearest.
const memoBytes = 8 << 20

// Handlers has the handlers of /join.
type Handlers struct {
	*web.Kit
	batch web.BatchLimits
}

// New returns the handlers. batch has the limits of requests with many questions, of which a table has
// MaxRows rows at most.
func New(k *web.Kit, batch web.BatchLimits) *Handlers {
	batch.Lines = min(batch.Lines, MaxRows+1) // with a header
	return &Handlers{k, batch}
}

// question is what a request asks for.
type question struct {
	enrich.Request
	lat, lon string // columns of the table; "" for those that their names tell
	prefix   string // of added columns
	plan     *enrich.Plan
	added    []string // names of the added columns
	flaw     string   // name of the column of reasons
	keys     [][]byte // the names as those of members, the last that of reasons
}

// flawName is the name of the column that says why cells of a row are empty.
const flawName = "error"

// read reads the question of a request, and makes its plan.
func read(q *endpoint.Params) (*question, error) {
	of := &question{
		Request: enrich.Request{
			Regions: regionsParam.Of(q), TimeZone: timeZoneParam.Of(q), Time: timeParam.Of(q),
			Nearest: nearestParam.Of(q), Reverse: reverseParam.Of(q), IP: ipParam.Of(q), PublicOnly: true, MemoBytes: memoBytes,
		},
		lat: latParam.Of(q), lon: lonParam.Of(q), prefix: prefixParam.Of(q),
	}
	if columns := geocodeParam.Of(q); columns != "" {
		of.Geocode = []string{columns}
	}
	if q.Err != nil {
		return nil, q.Err
	}
	var err error
	if of.plan, err = of.Plan(q.View()); err != nil {
		return nil, explain(err)
	}
	for _, c := range of.plan.Columns() {
		of.added = append(of.added, of.prefix+c.Name)
	}
	for of.flaw = of.prefix + flawName; slices.Contains(of.added, of.flaw); { // a type of regions may be called so
		of.flaw += "_"
	}
	for _, name := range append(of.added, of.flaw) {
		of.keys = append(of.keys, append(jsontext.AppendString(nil, name), ':'))
	}
	return of, nil
}

// explain returns the error of a plan with its parameter.
func explain(err error) error {
	for _, one := range enrich.Errors(err) {
		for _, users := range []error{enrich.ErrRequest, ask.ErrNoLayer, tiles.ErrUnknownType, ipgeo.ErrFields} {
			if !errors.Is(one, users) {
				continue
			}
			if of := (*enrich.MemberError)(nil); errors.As(one, &of) {
				return endpoint.Refuse(endpoint.ErrParameter, of.Member, endpoint.Sentence(of.Err.Error()))
			}
			return endpoint.Refuse(endpoint.ErrParameter, "", endpoint.Sentence(one.Error()))
		}
	}
	return err
}

// getJoin answers GET /join with the columns that POST /join adds for the same parameters.
func (s *Handlers) getJoin(c echo.Context, q *endpoint.Params) error {
	of, err := read(q)
	if err != nil {
		return err
	}
	columns := Columns{
		Inputs: of.plan.Inputs(), NeedsPosition: of.NeedsPosition() && !of.Locates(), Error: of.flaw, MaxRows: s.batch.Lines - 1,
	}
	for i, col := range of.plan.Columns() {
		columns.Columns = append(columns.Columns, Column{Name: of.added[i], Raw: col.Raw})
	}
	return s.SendJSON(c, web.Answer{CacheControl: web.PrivateNoStore}, func() (any, error) { return &columns, nil })
}

// postJoin answers POST /join, with a table in the body.
func (s *Handlers) postJoin(c echo.Context, q *endpoint.Params) error {
	of, err := read(q)
	if err != nil {
		return err
	}
	t := &table{
		Batch: s.NewBatch(c, s.batch), question: of, filler: of.plan.Filler(),
		// The context of the request ends when the client closes its half of the connection. A
		// client may do this after sending the whole body.
		ctx: context.WithoutCancel(c.Request().Context()), kit: s.Kit,
	}
	defer t.Release()
	t.Chunk.Inputs, t.Chunk.Bad = make([]enrich.Cells, len(of.plan.Inputs())), t.bad
	t.Text, t.Sample = true, `{"lat":47.37,"lon":8.54}`
	t.Answer, t.Refuse = t.readAll, t.refuse
	t.Wait = t.wait
	return t.Run()
}

// checkNew refuses a column of the table that has the name of an added one. Two members of one name would
// be read differently by each program.
func (q *question) checkNew(name string) error {
	if name != q.flaw && !slices.Contains(q.added, name) {
		return nil
	}
	return endpoint.Refuse(endpoint.ErrParameter, "prefix",
		"The table has a column "+columnname.List([]string{name})+" already: give the added columns other names by prefix, such as prefix=at_.")
}

// excerpt returns the beginning of a text that is not what it should be.
func excerpt(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

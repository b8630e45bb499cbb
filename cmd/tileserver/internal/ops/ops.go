// Package ops serves the endpoints for operation: health, readiness, the state of the data sets,
// metrics, and the usage of a key. It also serves the map page and the description of the
// interface.
package ops

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/internal/credit"
	"quadrille/cmd/tileserver/internal/apidoc"
	"quadrille/cmd/tileserver/internal/basemaps"
	"quadrille/cmd/tileserver/internal/docspages"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/problems"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/docs"
	"quadrille/tiles"
)

// Config is the configuration of the pages for operators and browsers.
type Config struct {
	// BaseMaps are the base maps that /status lists.
	BaseMaps basemaps.Maps
	// Version is the version that /status reports.
	Version string
	// Store is the kind of store that /status shows: "local" or "hbase".
	Store string
	// Usage returns the reason why the counts of clients are not stored on disk, or nil if they
	// are. Usage itself may be nil.
	Usage func() error
	// Require names the data sets without which the server is not ready.
	Require []string
	// NoData returns the reason why there is no data at all, such as a missing directory, or nil if
	// there may be data. NoData may be nil.
	NoData func() error
	// Draining is closed when the server is about to stop. Then /readyz reports this, and all other
	// endpoints still work. It may be nil.
	Draining <-chan struct{}
	// MetricsHandler answers /metrics. If it is nil, the answer is 404.
	MetricsHandler http.Handler
	// PageFiles has the built map page with index.html at its root. If it is nil, the server shows a
	// page with instructions to build it.
	PageFiles fs.FS
}

// Handlers has the handlers for the state of the service, its page and its documents.
type Handlers struct {
	*web.Kit
	Config
	page *page
	// description is the description of the interface. pages are its page and style, and the pages
	// of the guide.
	description func() (*apidoc.Document, error)
	guide       func() (*docspages.Pages, error)
	pages       func() (map[string]*web.Asset, error)
	// AllEndpoints returns all endpoints of the server.
	AllEndpoints func() []endpoint.Endpoint
}

// New returns the handlers, and adds the metrics of the data sets to k. The description is made at
// its first use.
func New(k *web.Kit, cfg Config) *Handlers {
	s := &Handlers{Kit: k, Config: cfg, page: newPage(cfg.PageFiles, k.Origins())}
	s.guide = sync.OnceValues(func() (*docspages.Pages, error) { return docspages.Read(docs.FS, docs.FirstDocuments...) })
	s.description, s.pages = sync.OnceValues(s.makeDescription), sync.OnceValues(s.documents)
	k.Collect(s.collectDatasets)
	return s
}

// These are reasons why the server is not ready.
var (
	errDraining = errors.New("server is about to stop")
	errNotReady = errors.New("not every published data set is open")
	errDamaged  = errors.New("a data set in service is damaged")
)

// Kinds are the problems that /readyz answers with.
var Kinds = []web.ProblemKind{
	{Err: errNotReady, Status: http.StatusServiceUnavailable, Type: "not-ready", Title: "The server is not ready",
		Detail: "A published data set is not open yet; /status says which.", Retry: true, IsExpected: true},
	{Err: errDamaged, Status: http.StatusServiceUnavailable, Type: "data-damaged", Title: "A data set is damaged",
		Detail: "A data set in service is damaged; /status says which.", Retry: true, IsExpected: true},
	{Err: errDraining, Status: http.StatusServiceUnavailable, Type: "draining", Title: "The server is about to stop",
		Detail: "Send requests to another server.", Retry: true, IsExpected: true},
}

// getHealth answers GET /healthz. A success means that the process runs and accepts requests.
func (s *Handlers) getHealth(c echo.Context, _ *endpoint.Params) error {
	return s.sendText(c, `{"status":"ok"}`)
}

// getReady answers GET /readyz. A success means that every published or required data set is open,
// and that no damage was found in it. A data set is also ready if an older generation is served
// because the newest cannot be opened; /status and the log report this error. A server that is
// about to stop is not ready, so that load balancers use another server.
func (s *Handlers) getReady(c echo.Context, _ *endpoint.Params) error {
	select {
	case <-s.Draining:
		return errDraining
	default:
	}
	var waiting, damaged []string
	missing, serving := slices.Clone(s.Require), false
	for _, st := range s.Views.AllStates() { // a required data set may be private
		if st.Serving != nil {
			serving = true
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == st.Dataset })
		}
	}
	for _, st := range s.states(c) {
		switch catalogue.State(st) {
		case catalogue.Failed:
			waiting = append(waiting, st.Dataset)
		case catalogue.Damaged:
			damaged = append(damaged, st.Dataset)
		}
	}
	if len(damaged) > 0 {
		return endpoint.Refuse(errDamaged, "", "Reads of these data sets fail: "+strings.Join(damaged, ", ")+
			". See what is wrong by ingest verify NAME, then serve the generation before by ingest rollback NAME, or ingest the data again.")
	}
	if len(waiting) > 0 {
		return endpoint.Refuse(errNotReady, "",
			"Wait until these published data sets are open: "+strings.Join(waiting, ", ")+"; /status says more.")
	}
	if len(missing) > 0 {
		return endpoint.Refuse(errNotReady, "",
			"Publish these data sets, which --require names, by ingest: "+strings.Join(missing, ", ")+"; /status says what is there.")
	}
	if !serving && s.NoData != nil {
		if err := s.NoData(); err != nil {
			return endpoint.Refuse(errNotReady, "", "The data directory of the server is missing: mount or make it, or correct --data.")
		}
	}
	// Errors of collections and of the disk for writes do not prevent serving everything else, so
	// they do not change the status.
	doc := Health{Status: "ready", Trouble: s.troubles(c)}
	body, err := json.Marshal(&doc)
	if err != nil {
		return err
	}
	return s.sendText(c, string(body))
}

// Health is the answer of /readyz and, without the member trouble, of /healthz.
type Health struct {
	_       struct{}           `doc:"How the server is."`
	Status  string             `json:"status" schema:"enum=ok|ready"`
	Trouble []problems.Trouble `json:"trouble,omitempty" doc:"What the server writes and cannot read or write now; the rest is served. Private collections are named by the admin listener only."`
}

// troubles returns the troubles that the sender of a request may see.
func (s *Handlers) troubles(c echo.Context) []problems.Trouble {
	private := isOperator(c)
	all := problems.LiveTroubles(s.Views.Collections, private)
	if !private {
		all = append(all, problems.UnopenedTroubles(s.Views.Collections)...)
	}
	return append(all, s.usageTrouble()...)
}

func (s *Handlers) usageTrouble() []problems.Trouble {
	if s.Usage != nil {
		if err := s.Usage(); err != nil {
			return []problems.Trouble{problems.NewTrouble("usage", "", err)}
		}
	}
	return nil
}

func isOperator(c echo.Context) bool { return c.Request().Context().Value(operator{}) != nil }

// operator is the context key of requests of the operator.
type operator struct{}

// ForOperator marks requests to h as the operator's. Only the operator sees private collections in
// /status and /readyz.
func ForOperator(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), operator{}, true)))
	})
}

// states returns the states of the data sets that the sender of a request may see.
func (s *Handlers) states(c echo.Context) []dataset.Status {
	if isOperator(c) {
		return s.Views.AllStates()
	}
	return s.Views.States()
}

// Status is the answer of /status.
type Status struct {
	_        struct{}           `doc:"What is being served."`
	Version  string             `json:"version"`
	Store    string             `json:"store,omitempty" doc:"Where the data comes from." schema:"enum=local|hbase"`
	Datasets []datasetStatus    `json:"datasets"`
	BaseMaps []basemaps.Map     `json:"basemaps,omitempty" doc:"Other people's archives of tiles, in the order in which they lie over one another. Absent where there are none."`
	Trouble  []problems.Trouble `json:"trouble,omitempty" doc:"What the server writes and cannot read or write now; the rest is served. Private collections are named by the admin listener only."`
}

type datasetStatus struct {
	Name       string           `json:"name"`
	State      string           `json:"state" schema:"enum=serving|stale|damaged|failed|missing"`
	Generation uint64           `json:"generation,omitempty"`
	Built      time.Time        `json:"built,omitzero"`
	Bytes      int64            `json:"bytes,omitempty" doc:"What the generation takes on the disk, as du counts it; with --store the bytes of its rows."`
	Since      time.Time        `json:"since,omitzero"`
	Records    map[string]int64 `json:"records,omitempty"`
	Bad        map[string]int64 `json:"bad_records,omitempty"`
	Bounds     []float64        `json:"bounds,omitempty" schema:"ref=BBox"`
	Sources    []dataset.Source `json:"sources"`
	Types      []typeStatus     `json:"types,omitempty"`
	Outdated   string           `json:"outdated,omitempty" doc:"What the data set is made of that is too old, and what to do: a zone database that is more than a year old."`
	Warnings   []string         `json:"warnings,omitempty" doc:"What the generation lost against the one it replaced, where that is more than a tenth of a kind, and sources older than those of that one."`
}

type typeStatus struct {
	Name        string                 `json:"name"`
	Regions     int                    `json:"regions"`
	Generalised []tiles.Generalisation `json:"generalised,omitempty" doc:"Zooms, from 0 on, whose tiles do not show every region as it is."`
	OverBudget  int                    `json:"over_budget,omitempty" doc:"Tiles of zoom 13, which is exact, that are larger than the budget of tiles."`
}

// getStatus answers GET /status. The reason why a generation cannot be opened is only in the log,
// because it may contain file names, which are only for the operator.
func (s *Handlers) getStatus(c echo.Context, q *endpoint.Params) error {
	doc := Status{Version: s.Version, Store: s.Store, Datasets: []datasetStatus{}, BaseMaps: s.BaseMaps.All(), Trouble: s.troubles(c)}
	for _, st := range s.states(c) {
		d := datasetStatus{Name: st.Dataset, State: catalogue.State(st), Sources: []dataset.Source{}}
		if m := st.Serving; m != nil {
			d.Generation, d.Built, d.Bytes, d.Since = m.Generation, m.Built, m.Size(), st.Since.UTC().Truncate(time.Second)
			d.Records, d.Bad, d.Bounds = m.Records, m.Bad, m.Bounds
			d.Outdated, d.Warnings = catalogue.Outdated(m, time.Now()), catalogue.Warnings(m)
			for _, source := range m.Sources {
				source.Attribution = credit.AsText(source.Attribution)
				d.Sources = append(d.Sources, source)
			}
			types, hidden := q.View().Boundaries.TypesOf(st.Dataset)
			for _, t := range types {
				d.Types = append(d.Types, typeStatus{Name: t.Name, Regions: t.Regions, Generalised: t.Generalised, OverBudget: t.OverBudget})
			}
			if len(hidden) > 0 {
				d.Warnings = append(d.Warnings, "another data set has layers of the same names, which are read instead: "+strings.Join(hidden, ", ")+
					"; publish one of the two under another name")
			}
		}
		doc.Datasets = append(doc.Datasets, d)
	}
	if web.PrefersHTML(c.Request()) {
		page, err := statusPage(&doc, time.Now())
		if err != nil {
			return err
		}
		return s.SendPage(c, "", page)
	}
	return s.sendJSON(c, web.Answer{ByAccept: true}, doc)
}

// sendJSON answers with a document that must not be cached.
func (s *Handlers) sendJSON(c echo.Context, a web.Answer, doc any) error {
	a.Format, a.CacheControl, a.Coding = web.FormatJSON, web.NoStore, web.AcceptedCoding(c.Request())
	return s.SendJSON(c, a, func() (any, error) { return doc, nil })
}

func (s *Handlers) sendText(c echo.Context, text string) error {
	b := web.GetScratch()
	defer b.Release()
	b.Body = append(b.Body, text...)
	return s.Send(c, web.Answer{Format: web.FormatJSON, CacheControl: web.NoStore}, b)
}

// servePlain passes requests to a handler of net/http.
func servePlain(h http.Handler) endpoint.Handler {
	return func(c echo.Context, _ *endpoint.Params) error {
		c.Response().Header()["Cache-Control"] = web.NoStore
		var w http.ResponseWriter = c.Response()
		if c.Request().Method == http.MethodHead {
			w = headers{w}
		}
		h.ServeHTTP(w, c.Request())
		if !c.Response().Committed {
			c.Response().WriteHeader(http.StatusOK)
		}
		return nil
	}
}

// headers are an answer without its body.
type headers struct{ http.ResponseWriter }

func (headers) Write(b []byte) (int, error) { return len(b), nil }

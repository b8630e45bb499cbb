package httpapi

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore/dataset"
)

// opsConfig says what operators and browsers are told.
type opsConfig struct {
	// Datasets are the states of the data sets, in the order of /status.
	Datasets []func() dataset.Status
	// Boundaries tells the types of regions in /status.
	Boundaries *dataset.Live[Boundaries]
	// Version is reported by /status.
	Version string
	// Store says in /status what the data comes from: "local" or "hbase".
	Store string
	// Draining is closed when the server is about to stop: /readyz says so, and
	// everything else goes on. Nil never is.
	Draining <-chan struct{}
	// MetricsHandler answers /metrics; nil makes it a page there is not.
	MetricsHandler http.Handler
	// Page holds the built map page with index.html at its root; nil serves a
	// page that says how to build it.
	Page fs.FS
}

// opsRoom answers how the service is, and with its page and documents.
type opsRoom struct {
	*kit
	opsConfig
	page *page
}

func newOpsRoom(k *kit, cfg opsConfig) *opsRoom {
	s := &opsRoom{kit: k, opsConfig: cfg, page: newPage(cfg.Page)}
	k.collect(s.collectDatasets)
	return s
}

func (s *opsRoom) routes() []route {
	// Documents and the page are found by links, to which others add parameters.
	list := append(s.documentRoutes(),
		route{path: "/*", handle: s.getPage, cost: light, query: anything, keys: keysUnasked},
		route{path: "/*", methods: []string{http.MethodOptions}, handle: s.preflight("GET, HEAD, OPTIONS"), cost: vital, query: anything, keys: keysUnasked, label: preflightLabel},
		// Probes and scrapers have parameters of their own.
		route{path: "/healthz", handle: s.getHealth, cost: vital, query: anything, keys: keysUnasked},
		route{path: "/readyz", handle: s.getReady, cost: vital, query: anything, keys: keysUnasked},
		route{path: "/status", handle: s.getStatus, cost: vital, query: anything, keys: keysUnasked},
	)
	if s.MetricsHandler != nil {
		list = append(list, route{path: "/metrics", methods: []string{http.MethodGet}, handle: servePlain(s.MetricsHandler), cost: vital, query: anything, keys: keysUnasked})
	}
	if s.guarding != nil && s.guarding.Keys != nil {
		list = append(list, route{path: "/usage", handle: s.getUsage, cost: light, keys: keysUnasked})
	}
	return list
}

// states is the state of every data set that is configured.
func (s *opsRoom) states() []dataset.Status {
	all := make([]dataset.Status, 0, len(s.Datasets))
	for _, status := range s.Datasets {
		all = append(all, status())
	}
	return all
}

// Why the server is not ready.
var (
	errDraining = errors.New("server is about to stop")
	errNotReady = errors.New("not every published data set is open")
	errDamaged  = errors.New("a data set in service is damaged")
)

var opsKinds = []kind{
	{err: errNotReady, status: http.StatusServiceUnavailable, typ: "not-ready", title: "The server is not ready",
		detail: "A published data set is not open yet; /status says which.", retry: true, expected: true},
	{err: errDamaged, status: http.StatusServiceUnavailable, typ: "data-damaged", title: "A data set is damaged",
		detail: "A data set in service is damaged; /status says which.", retry: true, expected: true},
	{err: errDraining, status: http.StatusServiceUnavailable, typ: "draining", title: "The server is about to stop",
		detail: "Send requests to another server.", retry: true, expected: true},
}

// getHealth answers GET /healthz: the process runs and takes requests.
func (s *opsRoom) getHealth(c echo.Context) error {
	return s.sendText(c, `{"status":"ok"}`)
}

// getReady answers GET /readyz: every published data set is open and not known
// to be damaged. One that keeps serving an older generation because the newest
// does not open is ready; that trouble shows in /status and in the log. One that
// is about to stop is not, so that load balancers turn elsewhere.
func (s *opsRoom) getReady(c echo.Context) error {
	select {
	case <-s.Draining:
		return errDraining
	default:
	}
	var waiting, damaged []string
	for _, st := range s.states() {
		switch {
		case st.Serving == nil && (st.Published != 0 || st.Err != nil):
			waiting = append(waiting, st.Dataset)
		case st.Damage != nil:
			damaged = append(damaged, st.Dataset)
		}
	}
	if len(damaged) > 0 {
		return refuse(errDamaged, "", "Reads of these data sets fail: "+strings.Join(damaged, ", ")+
			". See what is wrong by ingest verify NAME, then serve the generation before by ingest rollback NAME, or ingest the data again.")
	}
	if len(waiting) > 0 {
		return refuse(errNotReady, "", "Wait until these published data sets are open: "+strings.Join(waiting, ", ")+"; /status says more.")
	}
	return s.sendText(c, `{"status":"ready"}`)
}

type statusDoc struct {
	Version  string          `json:"version"`
	Store    string          `json:"store,omitempty"`
	Datasets []datasetStatus `json:"datasets"`
}

type datasetStatus struct {
	Name       string           `json:"name"`
	State      string           `json:"state"`
	Generation uint64           `json:"generation,omitempty"`
	Built      time.Time        `json:"built,omitzero"`
	Bytes      int64            `json:"bytes,omitempty"`
	Since      time.Time        `json:"since,omitzero"`
	Records    map[string]int64 `json:"records,omitempty"`
	Bad        map[string]int64 `json:"bad_records,omitempty"`
	Bounds     []float64        `json:"bounds,omitempty"`
	Sources    []dataset.Source `json:"sources"`
	Types      []typeStatus     `json:"types,omitempty"`
}

type typeStatus struct {
	Name    string `json:"name"`
	Regions int    `json:"regions"`
}

// States of a data set in /status.
const (
	stateServing = "serving" // the published generation
	stateStale   = "stale"   // an older one, because the published one does not open
	stateDamaged = "damaged" // one whose files turned out damaged, as far as they are whole
	stateFailed  = "failed"  // nothing, although one is published
	stateMissing = "missing" // nothing is published
)

// getStatus answers GET /status. Why a generation does not open is in the log:
// it may name files, which are nobody else's business.
func (s *opsRoom) getStatus(c echo.Context) error {
	doc := statusDoc{Version: s.Version, Store: s.Store, Datasets: []datasetStatus{}}
	for _, st := range s.states() {
		d := datasetStatus{Name: st.Dataset, State: stateServing, Sources: []dataset.Source{}}
		switch {
		case st.Serving == nil && st.Err == nil && st.Published == 0:
			d.State = stateMissing
		case st.Serving == nil:
			d.State = stateFailed
		case st.Damage != nil:
			d.State = stateDamaged
		case st.Err != nil:
			d.State = stateStale
		}
		if m := st.Serving; m != nil {
			d.Generation, d.Built, d.Bytes, d.Since = m.Generation, m.Built, m.Size(), st.Since.UTC().Truncate(time.Second)
			d.Records, d.Bad, d.Bounds = m.Records, m.Bad, m.Bounds
			if m.Sources != nil {
				d.Sources = m.Sources
			}
			if st.Dataset == BoundariesDataset {
				d.Types = s.regionTypes()
			}
		}
		doc.Datasets = append(doc.Datasets, d)
	}
	body, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	b := getScratch()
	defer b.release()
	b.body = append(b.body, body...)
	return s.send(c, answer{form: formJSON, cache: noStore, coding: accepted(c.Request())}, b)
}

func (s *opsRoom) regionTypes() []typeStatus {
	p := pin(s.Boundaries)
	defer p.release()
	b, err := p.get()
	if err != nil {
		return nil
	}
	var types []typeStatus
	for _, t := range b.Types() {
		types = append(types, typeStatus{Name: t.Name, Regions: t.Regions})
	}
	return types
}

func (s *opsRoom) sendText(c echo.Context, text string) error {
	b := getScratch()
	defer b.release()
	b.body = append(b.body, text...)
	return s.send(c, answer{form: formJSON, cache: noStore}, b)
}

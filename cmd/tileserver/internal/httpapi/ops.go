package httpapi

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/catalogue"
)

// getHealth answers GET /healthz: the process runs and takes requests.
func (s *server) getHealth(c echo.Context) error {
	return s.sendText(c, `{"status":"ok"}`)
}

// getReady answers GET /readyz: every published data set is open and not known
// to be damaged. One that keeps serving an older generation because the newest
// does not open is ready; that trouble shows in /status and in the log. One that
// is about to stop is not, so that load balancers turn elsewhere.
func (s *server) getReady(c echo.Context) error {
	select {
	case <-s.draining:
		return errDraining
	default:
	}
	var waiting, damaged []string
	for _, st := range s.datasets() {
		switch catalogue.State(st) {
		case catalogue.Failed:
			waiting = append(waiting, st.Dataset)
		case catalogue.Damaged:
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

// datasets is the state of every data set that is configured.
func (s *server) datasets() (all []dataset.Status) {
	all = appendStatus(all, s.boundaries)
	all = appendStatus(all, s.places)
	all = appendStatus(all, s.addresses)
	all = appendStatus(all, s.airports)
	all = appendStatus(all, s.timeZones)
	all = appendStatus(all, s.stations)
	return appendStatus(all, s.weather)
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

// getStatus answers GET /status. Why a generation does not open is in the log:
// it may name files, which are nobody else's business.
func (s *server) getStatus(c echo.Context) error {
	doc := statusDoc{Version: s.version, Store: s.store, Datasets: []datasetStatus{}}
	for _, st := range s.datasets() {
		d := datasetStatus{Name: st.Dataset, State: catalogue.State(st), Sources: []dataset.Source{}}
		if m := st.Serving; m != nil {
			d.Generation, d.Built, d.Bytes, d.Since = m.Generation, m.Built, m.Size(), st.Since.UTC().Truncate(time.Second)
			d.Records, d.Bad, d.Bounds = m.Records, m.Bad, m.Bounds
			if m.Sources != nil {
				d.Sources = m.Sources
			}
			if st.Dataset == catalogue.Boundaries.Name {
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

func (s *server) regionTypes() []typeStatus {
	p := pin(s.boundaries)
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

func (s *server) sendText(c echo.Context, text string) error {
	b := getScratch()
	defer b.release()
	b.body = append(b.body, text...)
	return s.send(c, answer{form: formJSON, cache: noStore}, b)
}

package ops

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/quota"
	"quadrille/cmd/tileserver/internal/web"
)

// BusyClients is the answer of TopHandler.
type BusyClients struct {
	_         struct{}     `doc:"Who asks most."`
	Addresses []quota.Busy `json:"addresses" doc:"Those that send no key, or a wrong one."`
	Keys      []quota.Busy `json:"keys"`
}

// Usage is the answer of /usage.
type Usage struct {
	_      struct{}     `doc:"What a key was used for, and what is left of its limits."`
	Name   string       `json:"name" doc:"Name of the key."`
	Limits []UsageLimit `json:"limits"`
	quota.Usage
}

// UsageLimit is a limit of a key, with the remaining number of requests.
type UsageLimit struct {
	Requests  int64 `json:"requests" schema:"min=0"`
	Window    int64 `json:"window_s" doc:"Length of the window in seconds." schema:"min=0"`
	Remaining int64 `json:"remaining" schema:"min=0"`
	Reset     int64 `json:"reset_s" doc:"Seconds until the window ends." schema:"min=0"`
}

// getUsage answers GET /usage with the counts of the request's key. The request itself is not
// counted.
func (s *Handlers) getUsage(c echo.Context, _ *endpoint.Params) error {
	k, err := s.KeyOf(c)
	if err != nil {
		return err
	}
	m := s.Guard.Meter
	doc := Usage{Name: k.Name, Limits: []UsageLimit{}}
	for w, n := range *s.Guard.Limits(k) {
		if n == 0 {
			continue
		}
		var one quota.Limits
		one[w] = n
		v := m.Peek(k.Name, &one)
		doc.Limits = append(doc.Limits, UsageLimit{n, int64(v.Limit.Window.Duration() / time.Second), v.Remaining, int64(v.Reset / time.Second)})
	}
	if doc.Usage, err = m.Usage(c.Request().Context(), k.Name); err != nil {
		return err
	}
	return s.sendJSON(c, web.Answer{}, doc)
}

// maxTop bounds the lists of the busiest clients.
const maxTop = 1000

// TopHandler answers with the busiest addresses and keys. The parameter limit, 100 by default,
// bounds each list. The handler is for the operator, so it needs no key.
func TopHandler(m *quota.Meter) http.Handler {
	top := endpoint.Endpoint{Params: []endpoint.Param{limitParam}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := endpoint.ParamsOf(&top, r.URL.RawQuery)
		err := top.ParamNames().Check(r.URL.RawQuery)
		limit := int(limitParam.Of(&q))
		if err = cmp.Or(err, q.Err); err != nil {
			http.Error(w, endpoint.DetailOf(err), http.StatusBadRequest)
			return
		}
		w.Header()["Content-Type"] = []string{web.FormatJSON.Type()}
		w.Header()["Cache-Control"] = web.NoStore
		_ = json.NewEncoder(w).Encode(BusyClients{Addresses: m.Top(limit), Keys: m.TopKeys(limit)}) // the client is gone if this fails
	})
}

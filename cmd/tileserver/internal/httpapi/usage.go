package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"quadrille/cmd/tileserver/internal/quota"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
)

type usageDoc struct {
	Name   string       `json:"name"`
	Limits []usageLimit `json:"limits"`
	quota.Usage
}

type usageLimit struct {
	Requests  int64 `json:"requests"`
	Window    int64 `json:"window_s"`
	Remaining int64 `json:"remaining"`
	Reset     int64 `json:"reset_s"`
}

// getUsage answers GET /usage: what the key it is asked with was used for. It
// uses up nothing.
func (s *opsRoom) getUsage(c echo.Context) error {
	sent := sentKey(keysAsked, c.Request())
	if sent == "" {
		return refuseUnkeyed(c, errKeyMissing)
	}
	k := s.guarding.Keys().Find(sent)
	if k == nil {
		return refuseUnkeyed(c, errKeyUnknown)
	}
	s.nameClient(c, k.Name)
	m := s.guarding.Meter
	doc := usageDoc{Name: k.Name, Limits: []usageLimit{}}
	for w, n := range *s.guarding.limits(k) {
		if n == 0 {
			continue
		}
		var one quota.Limits
		one[w] = n
		v := m.Look(k.Name, &one)
		doc.Limits = append(doc.Limits, usageLimit{n, int64(v.Limit.Window.Duration() / time.Second), v.Remaining, int64(v.Reset / time.Second)})
	}
	var err error
	if doc.Usage, err = m.Usage(c.Request().Context(), k.Name); err != nil {
		return err
	}
	return s.sendJSON(c, doc)
}

// maxTop bounds the lists of the busiest.
const maxTop = 1000

var topQuery = takes("limit")

// TopHandler answers with the busiest addresses and keys, at most the number of
// the parameter limit or 100 of each. It is for the operator: it asks nobody for a
// key.
func TopHandler(m *quota.Meter) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := topQuery.check(r.URL.RawQuery); err != nil {
			http.Error(w, detailOf(err), http.StatusBadRequest)
			return
		}
		limit := 100
		if q := r.URL.Query(); q.Has("limit") {
			n, err := strconv.Atoi(q.Get("limit"))
			if err != nil || n < 1 || n > maxTop {
				http.Error(w, fmt.Sprintf("Give a limit from 1 to %d.", maxTop), http.StatusBadRequest)
				return
			}
			limit = n
		}
		w.Header()["Content-Type"] = contentTypes[formJSON]
		w.Header()["Cache-Control"] = noStore
		_ = json.NewEncoder(w).Encode(map[string]any{"addresses": m.Top(limit), "keys": m.TopKeys(limit)}) // the client is gone if this fails
	})
}

package ops

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/quota"
	"quadrille/cmd/tileserver/internal/web"
)

type Usage struct {
	Name   string       `json:"name"`
	Limits []UsageLimit `json:"limits"`
	quota.Usage
}

type UsageLimit struct {
	Requests  int64 `json:"requests"`
	Window    int64 `json:"window_s"`
	Remaining int64 `json:"remaining"`
	Reset     int64 `json:"reset_s"`
}

// getUsage answers GET /usage: what the key it is asked with was used for. It
// uses up nothing.
func (s *Room) getUsage(c echo.Context) error {
	k, err := s.KeyOf(c)
	if err != nil {
		return err
	}
	m := s.Guarding.Meter
	doc := Usage{Name: k.Name, Limits: []UsageLimit{}}
	for w, n := range *s.Guarding.Limits(k) {
		if n == 0 {
			continue
		}
		var one quota.Limits
		one[w] = n
		v := m.Look(k.Name, &one)
		doc.Limits = append(doc.Limits, UsageLimit{n, int64(v.Limit.Window.Duration() / time.Second), v.Remaining, int64(v.Reset / time.Second)})
	}
	if doc.Usage, err = m.Usage(c.Request().Context(), k.Name); err != nil {
		return err
	}
	return s.sendJSON(c, web.Answer{}, doc)
}

// maxTop bounds the lists of the busiest.
const maxTop = 1000

var topQuery = web.Takes("limit")

// TopHandler answers with the busiest addresses and keys, at most the number of
// the parameter limit or 100 of each. It is for the operator: it asks nobody for a
// key.
func TopHandler(m *quota.Meter) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := topQuery.Check(r.URL.RawQuery); err != nil {
			http.Error(w, web.DetailOf(err), http.StatusBadRequest)
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
		w.Header()["Content-Type"] = []string{web.FormJSON.Type()}
		w.Header()["Cache-Control"] = web.NoStore
		_ = json.NewEncoder(w).Encode(map[string]any{"addresses": m.Top(limit), "keys": m.TopKeys(limit)}) // the client is gone if this fails
	})
}

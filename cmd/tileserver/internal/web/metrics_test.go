package web

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
)

func TestMetricsOfPanics(t *testing.T) {
	s := &Kit{metrics: NewMetrics(), journal: journal{ids: newRequestIDs(), log: slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil))}}
	e := echo.New()
	e.GET("/x", s.watch(&endpoint.Endpoint{Path: "/x"}, "/x", s.answering(func(echo.Context) error { panic("boom") })))
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/x", nil))
	if w.Code != http.StatusInternalServerError || s.metrics.panics.Load() != 1 {
		t.Errorf("answered %d with %d panics counted", w.Code, s.metrics.panics.Load())
	}
}

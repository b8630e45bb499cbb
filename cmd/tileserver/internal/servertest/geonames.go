package servertest

import (
	"encoding/json"
)

// Geonames sends a request in GeoNames' manner and decodes the answer.
func (g *Server) Geonames(path string) map[string]any {
	g.T.Helper()
	res := g.Get(path)
	text := Body(g.T, res)
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/json;charset=UTF-8" {
		g.T.Fatalf("%s: %d %v %s", path, res.StatusCode, res.Header, text)
	}
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		g.T.Fatalf("%s: %v: %s", path, err, text)
	}
	return doc
}

// WantGeonames checks that the answer is an error object with the value.
func (g *Server) WantGeonames(path string, value int) string {
	g.T.Helper()
	status, ok := g.Geonames(path)["status"].(map[string]any)
	if !ok || status["value"] != float64(value) || status["message"] == "" {
		g.T.Errorf("%s: %v, want value %d", path, status, value)
		return ""
	}
	return status["message"].(string)
}

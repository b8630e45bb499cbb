package servertest

import (
	"encoding/json"
)

// Geonames sends a GeoNames request and decodes the answer.
func (f *Server) Geonames(path string) map[string]any {
	f.T.Helper()
	res := f.Get(path)
	text := Body(f.T, res)
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/json;charset=UTF-8" {
		f.T.Fatalf("%s: %d %v %s", path, res.StatusCode, res.Header, text)
	}
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		f.T.Fatalf("%s: %v: %s", path, err, text)
	}
	return doc
}

// WantGeonames checks that the answer is an error object with the value.
func (f *Server) WantGeonames(path string, value int) string {
	f.T.Helper()
	status, ok := f.Geonames(path)["status"].(map[string]any)
	if !ok || status["value"] != float64(value) || status["message"] == "" {
		f.T.Errorf("%s: %v, want value %d", path, status, value)
		return ""
	}
	return status["message"].(string)
}

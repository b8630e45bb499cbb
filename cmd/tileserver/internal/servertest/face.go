package servertest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/httpapi"
)

// FacesWithout returns all faces but one.
func FacesWithout(name string) []httpapi.Face {
	return slices.DeleteFunc(httpapi.Faces(), func(f httpapi.Face) bool { return f.Name == name })
}

// DescribedOperations returns the operations of the description of a server, such as "GET /at".
func (f *Server) DescribedOperations() (list []string) {
	f.T.Helper()
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	res := f.Get("/openapi.json")
	text := Body(f.T, res)
	if err := json.Unmarshal([]byte(text), &doc); err != nil || res.StatusCode != http.StatusOK {
		f.T.Fatalf("/openapi.json: %d, %v: %.300s", res.StatusCode, err, text)
	}
	for path, methods := range doc.Paths {
		for method := range methods {
			list = append(list, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(list)
	return list
}

// OperationsOf returns the operations of endpoints.
func OperationsOf(endpoints []endpoint.Endpoint) (list []string) {
	for _, e := range endpoints {
		methods := e.OfferedMethods()
		if e.Any {
			methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
		}
		for _, path := range e.Paths() {
			for _, method := range methods {
				list = append(list, method+" "+path)
			}
		}
	}
	return list
}

//go:build !race

package httpapi_test

import (
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"quadrille/cmd/tileserver/internal/servertest"
)

// Our own tests of the contract make the same assumptions about OpenAPI as the code that writes it.
// Therefore a third-party reader also checks both documents: their structure, the examples against
// their schemas, and the patterns. More such tests are in package clienttest.
func TestForeignReaderOfContract(t *testing.T) {
	f := servertest.New(t, nil)
	for path, version := range map[string]string{"/openapi.json": "3.1", "/ogc/api": "3.0"} {
		doc, err := openapi3.NewLoader().LoadFromData([]byte(servertest.Body(t, f.Get(path))))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if !strings.HasPrefix(doc.OpenAPI, version) || doc.Paths.Len() == 0 {
			t.Errorf("%s is of OpenAPI %s with %d paths, want %s with some", path, doc.OpenAPI, doc.Paths.Len(), version)
		}
		if err := doc.Validate(t.Context()); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if path != "/ogc/api" {
			continue
		}
		// The standard's tests require these defaults to be explicit.
		for route, item := range doc.Paths.Map() {
			for _, p := range item.Get.Parameters {
				if p.Value.In == "query" && (p.Value.Style != "form" || p.Value.Explode == nil) {
					t.Errorf("%s: %s does not say style and explode", route, p.Value.Name)
				}
			}
		}
	}
}

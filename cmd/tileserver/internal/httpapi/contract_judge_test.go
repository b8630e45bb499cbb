package httpapi

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// A reader of OpenAPI that nobody here wrote finds nothing to say of either document: of its
// structure, of examples against their schemas, and of patterns. Our own tests of the contract
// share their notion of OpenAPI with what writes it. More judges are in package clienttest.
func TestForeignReaderOfContract(t *testing.T) {
	f := newFixture(t, nil)
	for path, version := range map[string]string{"/openapi.json": "3.1", "/ogc/api": "3.0"} {
		doc, err := openapi3.NewLoader().LoadFromData([]byte(body(t, f.get(path))))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if len(doc.OpenAPI) < 3 || doc.OpenAPI[:3] != version || doc.Paths.Len() == 0 {
			t.Errorf("%s is of OpenAPI %s with %d paths, want %s with some", path, doc.OpenAPI, doc.Paths.Len(), version)
		}
		if err := doc.Validate(t.Context(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaPatternValidation()); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

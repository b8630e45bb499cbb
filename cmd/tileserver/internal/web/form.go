package web

import (
	"fmt"
	"strconv"
)

// Form is the representation of an answer. Its numbers are part of entity tags.
type Form uint8

// Forms that several rooms answer in. Rooms have others of their own; see NewForm.
const (
	FormJSON    Form = 0
	FormGeoJSON Form = 1
	FormMVT     Form = 2
	FormScript  Form = 4
	FormText    Form = 5
	FormNDJSON  Form = 6
	FormMLT     Form = 13
	FormPNG     Form = 14 // the first of the images

	mostForms = 32
)

// contentTypes are ready to be put into a header map.
var contentTypes = [mostForms][]string{
	FormJSON:    {"application/json"},
	FormGeoJSON: {"application/geo+json"},
	FormMVT:     {"application/vnd.mapbox-vector-tile"},
	FormScript:  {"text/javascript;charset=UTF-8"},
	FormText:    {"text/plain;charset=UTF-8"},
	FormNDJSON:  {"application/x-ndjson"},
	FormMLT:     {"application/vnd.maplibre-tile"},
	FormPNG:     {"image/png"},
}

// NewForm makes a form of a room's own while the program starts. The caller chooses its
// number, since tags must be the same in every process; images have numbers from FormPNG
// on.
func NewForm(number Form, contentType string) Form {
	if contentTypes[number] != nil {
		panic(fmt.Sprintf("web: %s and %s are both form %d", contentTypes[number][0], contentType, number))
	}
	contentTypes[number] = []string{contentType}
	return number
}

// Type is the media type of the form.
func (f Form) Type() string { return contentTypes[f][0] }

// Picture reports whether the form is an image. Images are compressed as they
// are and have no content coding.
func (f Form) Picture() bool { return f >= FormPNG }

// Header values, ready to be put into a header map.
var (
	problemTypes   = []string{problemType}
	htmlTypes      = []string{"text/html; charset=utf-8"}
	NoStore        = []string{"no-store"}
	PrivateNoStore = []string{"private, no-store"}
	noSniff        = []string{"nosniff"}
)

// problemType is the media type of problems.
const problemType = "application/problem+json"

// Values of Vary.
var (
	varyEncoding         = []string{"Accept-Encoding"}
	varyAccept           = []string{"Accept"}
	varyAcceptEncoding   = []string{"Accept, Accept-Encoding"}
	varyLanguage         = []string{"Accept-Language"}
	varyLanguageEncoding = []string{"Accept-Language, Accept-Encoding"}
)

// lengths are the values of Content-Length of small bodies. Most answers about
// addresses are small, and made so quickly that making these values would
// matter.
var lengths = func() (all [2 << 10][]string) {
	for i := range all {
		all[i] = []string{strconv.Itoa(i)}
	}
	return all
}()

// lengthHeader returns the value of Content-Length, not to be changed.
func lengthHeader(n int) []string {
	if n < len(lengths) {
		return lengths[n]
	}
	return []string{strconv.Itoa(n)}
}

const (
	allowOriginHeader   = "Access-Control-Allow-Origin"
	exposeHeadersHeader = "Access-Control-Expose-Headers"
)

// exposed lets pages of other origins read every header. Without it browsers do not
// show them headers such as ETag and Retry-After.
var exposed = []string{"*"}

// crossOrigin lets pages that keep themselves apart from other sites show what they load
// without CORS, as by an img or a script.
var crossOrigin = []string{"cross-origin"}

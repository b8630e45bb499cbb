// Package servertest makes whole servers for tests, over fakes that answer what a test puts
// into them, and over toy data that real builders have published. The rooms' tests and those
// of package httpapi ask such a server over HTTP, as clients do. Only tests import it.
//
// New is a server over fakes, NewGlobe one over a short gazetteer, and NewWorld one over toy
// data; more have what one face asks for. The fields of a Server adapt what it answers from,
// and its methods ask it. Worlds are servers that between them have everything, with the
// requests for each path; a Description holds answers against what /openapi.json says.
package servertest

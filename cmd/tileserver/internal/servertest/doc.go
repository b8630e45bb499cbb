// Package servertest makes whole servers for tests, over small worlds that real builders have
// made in memory, and over toy data that they have published. The tests of the faces, in
// files that begin with a face's name, and those of package httpapi ask such a server over HTTP,
// as clients do. Only tests import it.
//
// New is a server over a few regions and places, NewGlobe one over a short gazetteer, and NewWorld
// one over toy data; other functions add what one face needs. PublishRows gives a Server other
// rows, the fields of a Server let their reads fail, wait and be counted, and its methods ask it.
// Worlds are servers that between them have everything, with the requests for each path;
// ReadDescription returns what compares answers with /openapi.json.
package servertest

// Package servertest makes whole servers for tests, with small worlds that real builders have made
// in memory, and with published toy data. The tests of groups of endpoints, in files that begin
// with the name of their package, and the tests of package httpapi query such a server over HTTP,
// like clients. Only tests import it.
//
// New makes a server with a few regions and places, NewGlobe one with a short gazetteer, and
// NewWorld one with toy data. Other functions add the data for one group of endpoints. PublishRows gives a
// Server other rows. The fields of a Server let their reads fail, wait and be counted, and its
// methods send requests. Worlds are servers that together have all data, with the requests for each
// path. ReadDescription returns an object that compares answers with /openapi.json.
package servertest

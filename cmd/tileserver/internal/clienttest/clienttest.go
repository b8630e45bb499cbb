// Package clienttest has only tests. They test the whole server with third-party programs: with
// browsers, which show its pages, and also with map libraries, clients of geocoders, GIS programs
// and the OGC's suites, if `make check-clients` has installed them.
package clienttest

// Package clienttest holds no code: its tests let clients that others wrote use the whole
// program. These are browsers, which show its pages, and where `make check-clients` has
// installed them map libraries, geocoders' clients, GIS programs and the OGC's suites.
package clienttest

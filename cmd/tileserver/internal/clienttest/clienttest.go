// Package clienttest holds no code: its tests let programs of others use the whole server. These
// are browsers, which show its pages. Where `make check-clients` has installed them, they are also
// map libraries, geocoders' clients, GIS programs and the OGC's suites.
package clienttest

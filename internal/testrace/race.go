//go:build race

package testrace

// Enabled says that this is built with the race detector, which makes pools forget and
// allocates by itself.
const Enabled = true

//go:build race

package testrace

// Enabled is set if this build has the race detector, which makes pools drop their content and
// allocates memory itself.
const Enabled = true

//go:build race

package ipgeo

// raceEnabled: the race detector allocates by itself.
const raceEnabled = true

//go:build !race

package stations

const raceEnabled = false

//go:build race

package stations

const raceEnabled = true

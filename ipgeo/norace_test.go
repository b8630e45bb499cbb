//go:build !race

package ipgeo

const raceEnabled = false

// Package sun computes sunrise and sunset. The formulas are those of the solar calculator of NOAA's
// Global Monitoring Laboratory (gml.noaa.gov/grad/solcalc), which follow Jean Meeus, Astronomical
// Algorithms. Between 1800 and 2100 they are accurate to a minute within 72 degrees of the equator,
// and to ten minutes beyond, where the sun moves along the horizon.
package sun

import (
	"math"
	"time"
)

// State tells whether the sun crosses the horizon on a day, or on which side it stays.
type State uint8

const (
	RisesAndSets State = iota // it crosses the horizon
	AlwaysUp                  // polar day
	AlwaysDown                // polar night
)

// horizon is the zenith distance of the sun's centre, in degrees, when its
// upper edge is on the horizon: 90 degrees, 34 minutes of refraction and 16 of
// radius.
const horizon = 90.833

const (
	radians = math.Pi / 180
	degrees = 180 / math.Pi
	// unixEpoch and j2000 are Julian dates; century is in days.
	unixEpoch = 2440587.5
	j2000     = 2451545.0
	century   = 36525
)

// Times returns sunrise and sunset on a calendar day of clocks that are offset seconds ahead of
// UTC. Both belong to the solar noon that is nearest to twelve o'clock on these clocks. Latitude
// and longitude are in degrees. The times are in UTC, and are zero unless the state is
// RisesAndSets.
func Times(lat, lon float64, day time.Time, offset int) (rise, set time.Time, state State) {
	midday := time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, time.UTC).Add(-time.Duration(offset) * time.Second)
	noon := noonNear(midday, lon)
	at := func(side float64) (time.Time, State) {
		t := noon
		// The sun moves between noon and the event. Three iterations give the time to a fraction of
		// a second.
		for range 3 {
			declination, equation := position(t)
			angle, state := hourAngle(lat, declination)
			if state != RisesAndSets {
				return time.Time{}, state
			}
			t = noonAt(noon, lon, equation).Add(minutes(side * 4 * angle))
		}
		return t, RisesAndSets
	}
	if rise, state = at(-1); state != RisesAndSets {
		return time.Time{}, time.Time{}, state
	}
	if set, state = at(+1); state != RisesAndSets {
		return time.Time{}, time.Time{}, state
	}
	return rise, set, RisesAndSets
}

// noonNear returns the culmination of the sun nearest to an instant.
func noonNear(t time.Time, lon float64) time.Time {
	_, equation := position(t)
	return noonAt(t, lon, equation)
}

// noonAt returns the culmination nearest to an instant, given the equation of
// time in minutes.
func noonAt(t time.Time, lon, equation float64) time.Time {
	midnight := t.UTC().Truncate(24 * time.Hour)
	noon := midnight.Add(minutes(720 - 4*lon - equation))
	for noon.Sub(t) > 12*time.Hour {
		noon = noon.Add(-24 * time.Hour)
	}
	for t.Sub(noon) > 12*time.Hour {
		noon = noon.Add(24 * time.Hour)
	}
	return noon
}

func minutes(m float64) time.Duration { return time.Duration(m * float64(time.Minute)) }

// position returns the sun's declination in degrees and the equation of time,
// apparent minus mean solar time, in minutes.
func position(at time.Time) (declination, equation float64) {
	t := (float64(at.UnixMilli())/86_400_000 + unixEpoch - j2000) / century
	meanLongitude := math.Mod(280.46646+t*(36000.76983+t*0.0003032), 360)
	meanAnomaly := 357.52911 + t*(35999.05029-0.0001537*t)
	eccentricity := 0.016708634 - t*(0.000042037+0.0000001267*t)
	sin, cos := func(d float64) float64 { return math.Sin(d * radians) }, func(d float64) float64 { return math.Cos(d * radians) }
	centre := sin(meanAnomaly)*(1.914602-t*(0.004817+0.000014*t)) +
		sin(2*meanAnomaly)*(0.019993-0.000101*t) + sin(3*meanAnomaly)*0.000289
	node := 125.04 - 1934.136*t // of the Moon's orbit, for nutation
	longitude := meanLongitude + centre - 0.00569 - 0.00478*sin(node)
	obliquity := 23 + (26+(21.448-t*(46.815+t*(0.00059-t*0.001813)))/60)/60 + 0.00256*cos(node)

	declination = math.Asin(sin(obliquity)*sin(longitude)) * degrees
	y := math.Tan(obliquity / 2 * radians)
	y *= y
	equation = 4 * degrees * (y*sin(2*meanLongitude) - 2*eccentricity*sin(meanAnomaly) +
		4*eccentricity*y*sin(meanAnomaly)*cos(2*meanLongitude) -
		y*y/2*sin(4*meanLongitude) - 1.25*eccentricity*eccentricity*sin(2*meanAnomaly))
	return declination, equation
}

// hourAngle returns the hour angle of the sun in degrees when it is on the horizon.
func hourAngle(lat, declination float64) (float64, State) {
	sinLat, cosLat := math.Sincos(lat * radians)
	sinDec, cosDec := math.Sincos(declination * radians)
	c := (math.Cos(horizon*radians) - sinLat*sinDec) / (cosLat * cosDec)
	switch {
	case c > 1:
		return 0, AlwaysDown
	case c < -1:
		return 0, AlwaysUp
	}
	return math.Acos(c) * degrees, RisesAndSets
}

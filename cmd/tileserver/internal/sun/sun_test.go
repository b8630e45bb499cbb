package sun

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestKnownTimes compares the computed times with those of almanacs, in local time, with a
// tolerance of two minutes.
func TestKnownTimes(t *testing.T) {
	for _, tt := range []struct {
		name      string
		lat, lon  float64
		day       string
		offset    int // hours
		rise, set string
		state     State
	}{
		{"Greenwich, midsummer", 51.4769, 0, "2024-06-21", 1, "04:43", "21:21", RisesAndSets},
		{"Greenwich, midwinter", 51.4769, 0, "2024-12-21", 0, "08:04", "15:53", RisesAndSets},
		{"Zürich", 47.3769, 8.5417, "2025-06-21", 2, "05:29", "21:26", RisesAndSets},
		{"New York", 40.7128, -74.0060, "2024-07-04", -4, "05:29", "20:31", RisesAndSets},
		{"Sydney, ahead of UTC", -33.8688, 151.2093, "2024-01-01", 11, "05:48", "20:09", RisesAndSets},
		{"Quito, equinox", -0.1807, -78.4678, "2024-03-20", -5, "06:17", "18:24", RisesAndSets},
		{"Tromsø, midsummer", 69.6492, 18.9553, "2024-06-21", 2, "", "", AlwaysUp},
		{"Tromsø, midwinter", 69.6492, 18.9553, "2024-12-21", 1, "", "", AlwaysDown},
		{"North pole, June", 90, 0, "2024-06-01", 0, "", "", AlwaysUp},
		{"South pole, June", -90, 0, "2024-06-01", 0, "", "", AlwaysDown},
	} {
		day, err := time.Parse(time.DateOnly, tt.day)
		if err != nil {
			t.Fatal(err)
		}
		rise, set, state := Times(tt.lat, tt.lon, day, tt.offset*3600)
		if state != tt.state {
			t.Errorf("%s: state %d, want %d", tt.name, state, tt.state)
			continue
		}
		for _, e := range []struct {
			got  time.Time
			want string
		}{{rise, tt.rise}, {set, tt.set}} {
			if e.want == "" {
				if !e.got.IsZero() {
					t.Errorf("%s: a time without an event: %v", tt.name, e.got)
				}
				continue
			}
			want, err := time.Parse("2006-01-02 15:04", tt.day+" "+e.want)
			if err != nil {
				t.Fatal(err)
			}
			got := e.got.Add(time.Duration(tt.offset) * time.Hour)
			if got.Sub(want).Abs() > 2*time.Minute {
				t.Errorf("%s: %s, want %s", tt.name, got.Format("2006-01-02 15:04"), e.want)
			}
		}
	}
}

// altitude returns the sun's altitude in degrees by another, less accurate theory: the
// low-precision formulas of the Astronomical Almanac and sidereal time.
func altitude(at time.Time, lat, lon float64) float64 {
	n := float64(at.UnixMilli())/86_400_000 + unixEpoch - j2000
	mean := 280.460 + 0.9856474*n
	anomaly := (357.528 + 0.9856003*n) * radians
	ecliptic := (mean + 1.915*math.Sin(anomaly) + 0.020*math.Sin(2*anomaly)) * radians
	tilt := (23.439 - 0.0000004*n) * radians
	ascension := math.Atan2(math.Cos(tilt)*math.Sin(ecliptic), math.Cos(ecliptic))
	declination := math.Asin(math.Sin(tilt) * math.Sin(ecliptic))
	sidereal := (280.46061837 + 360.98564736629*n + lon) * radians
	h := sidereal - ascension
	return math.Asin(math.Sin(lat*radians)*math.Sin(declination)+math.Cos(lat*radians)*math.Cos(declination)*math.Cos(h)) * degrees
}

// TestAgainstAltitude tests that the sun is on the horizon at the computed times, and that it rises
// before noon and sets after noon. If there are no times, it must stay on one side of the horizon
// all day.
func TestAgainstAltitude(t *testing.T) {
	const tolerance = 0.06 // degrees: the coarser theory is good to 0.01 to 0.03
	rapid.Check(t, func(rt *rapid.T) {
		lat := rapid.Float64Range(-90, 90).Draw(rt, "lat")
		lon := rapid.Float64Range(-180, 180).Draw(rt, "lon")
		day := time.Date(rapid.IntRange(1950, 2050).Draw(rt, "year"), 1, rapid.IntRange(1, 365).Draw(rt, "day"), 0, 0, 0, 0, time.UTC)
		offset := 900 * rapid.IntRange(-48, 56).Draw(rt, "quarters")
		rise, set, state := Times(lat, lon, day, offset)
		midday := day.Add(12*time.Hour - time.Duration(offset)*time.Second)
		if state != RisesAndSets {
			noon := noonNear(midday, lon)
			if high := altitude(noon, lat, lon); state == AlwaysDown && high > 90-horizon+tolerance+0.3 {
				rt.Fatalf("night, but the sun is at %v at noon", high)
			}
			if low := altitude(noon.Add(12*time.Hour), lat, lon); state == AlwaysUp && low < 90-horizon-tolerance-0.3 {
				rt.Fatalf("day, but the sun is at %v at midnight", low)
			}
			return
		}
		for _, at := range []time.Time{rise, set} {
			if a := altitude(at, lat, lon); math.Abs(a-(90-horizon)) > tolerance {
				rt.Fatalf("altitude %v at %v", a, at)
			}
		}
		if !rise.Before(set) || set.Sub(rise) > 25*time.Hour {
			rt.Fatalf("rise %v, set %v", rise, set)
		}
		if noon := rise.Add(set.Sub(rise) / 2); noon.Sub(midday).Abs() > 13*time.Hour {
			rt.Fatalf("noon %v is not of the day around %v", noon, midday)
		}
	})
}

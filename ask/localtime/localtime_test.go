package localtime

import (
	"math"
	"testing"
	"time"
)

func TestNauticalZone(t *testing.T) {
	for lon, want := range map[float64]string{
		0:       "Etc/GMT",
		7.49:    "Etc/GMT",
		-7.5:    "Etc/GMT",
		-7.51:   "Etc/GMT+1",
		7.5:     "Etc/GMT-1",
		15:      "Etc/GMT-1",
		22.5:    "Etc/GMT-2",
		172.5:   "Etc/GMT-12",
		179.999: "Etc/GMT-12", 180: "Etc/GMT+12", -180: "Etc/GMT+12", -172.51: "Etc/GMT+12", -172.5: "Etc/GMT+11", -140: "Etc/GMT+9",
	} {
		z := nauticalZone(lon)
		if z.ID != want {
			t.Errorf("%v: %s, want %s", lon, z.ID, want)
		}
		// The name has the sign convention of POSIX, like the zone database.
		if loc, err := time.LoadLocation(z.ID); err == nil {
			if _, offset := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC).In(loc).Zone(); offset != z.Offset.Seconds {
				t.Errorf("%v: %s is %d s ahead, not %d", lon, z.ID, offset, z.Offset.Seconds)
			}
		}
		if off := math.Abs(float64(z.Offset.Seconds)/3600*15 - lon); off > 7.5 && off < 352.5 {
			t.Errorf("%v: offset %d", lon, z.Offset.Seconds)
		}
	}
}

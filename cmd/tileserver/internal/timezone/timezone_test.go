package timezone

import (
	"testing"
	"time"

	"quadrille/ask/localtime"
	"quadrille/places/zones"
)

// TestAppend tests that a zone is written with the members that are known of it, and with no
// others.
func TestAppend(t *testing.T) {
	at := time.Date(2026, 7, 1, 22, 30, 0, 0, time.UTC)
	summer := zones.Offset{Seconds: 7200, DST: true, Abbreviation: "CEST", Since: time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)}
	const clock = `"offset":"+02:00","offset_s":7200,"dst":true,"abbreviation":"CEST",`
	for _, c := range []struct {
		z    localtime.LocalZone
		want string
	}{
		{
			localtime.LocalZone{ID: "Europe/Zurich", Source: "region", Match: "inside", Offset: summer, Known: true},
			`{"id":"Europe/Zurich",` + clock + `"local_time":"2026-07-02T00:30:00+02:00","source":"region","match":"inside"}`,
		},
		{
			localtime.LocalZone{ID: "Mars/Base", Source: "place", Match: localtime.MatchNearest, DistanceM: 12.34, Offset: summer},
			`{"id":"Mars/Base","source":"place","match":"nearest","distance_m":12.3}`,
		},
		{
			localtime.LocalZone{ID: "Etc/GMT+9", Source: "longitude", Match: "derived", Nautical: true},
			`{"id":"Etc/GMT+9","source":"longitude","match":"derived","nautical":true}`,
		},
		{
			localtime.LocalZone{ID: "Asia/Urumqi", Source: "region", Match: "inside", OtherZones: []string{"Asia/Shanghai", `"`}},
			`{"id":"Asia/Urumqi","source":"region","match":"inside","also":["Asia/Shanghai","\""]}`,
		},
	} {
		got := AppendZone(nil, &c.z, at)
		if string(got) != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	for since, want := range map[time.Time]string{summer.Since: `"since":"2026-03-29T01:00:00Z",`, {}: ""} {
		o := summer
		o.Since = since
		got := "{" + string(AppendOffsetMembers(nil, at, o)) + "}"
		if got != "{"+clock+want+`"local_time":"2026-07-02T00:30:00+02:00"}` {
			t.Errorf("since %v: %s", since, got)
		}
	}
}

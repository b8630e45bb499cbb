package catalogue

import (
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
)

func TestOutdated(t *testing.T) {
	for _, tt := range []struct {
		set, version, now string
		want              bool
	}{
		{ask.TimeZonesName, "2024b", "2026-01-01", true},
		{ask.TimeZonesName, "2024b", "2025-12-31", false}, // it may be from December
		{ask.TimeZonesName, "2023zz", "2026-11-26", true},
		{ask.TimeZonesName, "2026b", "2026-11-26", false},
		{ask.TimeZonesName, "", "2026-11-26", false},
		{ask.TimeZonesName, "2020", "2026-11-26", false},
		{ask.TimeZonesName, "v1.2.3", "2026-11-26", false},
		{ask.BoundariesName, "2020a", "2026-11-26", false},
	} {
		now, err := time.Parse(time.DateOnly, tt.now)
		if err != nil {
			t.Fatal(err)
		}
		m := &dataset.Manifest{Dataset: tt.set, Sources: []dataset.Source{{Version: tt.version}}}
		if got := Outdated(m, now); (got != "") != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

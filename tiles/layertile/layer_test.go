package layertile

import (
	"testing"

	"quadrille/feature"
	"quadrille/tiles/mvt"
)

func TestShortCount(t *testing.T) {
	for n, want := range map[int64]string{
		2: "2", 999: "999", 1000: "1k", 1200: "1.2k", 9949: "9.9k", 9951: "10k", 12345: "12k", 999_499: "999k", 999_500: "1M",
		1_250_000: "1.2M", 4_000_000_000: "4G", 1 << 62: "4.6E",
	} {
		if got := ShortCount(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

// A property with the name of an attribute of clusters is not taken for one.
func TestNamesOfOwnAttributes(t *testing.T) {
	var l layer
	l.Reset("shops")
	text := func(name string) feature.Property {
		return feature.Property{Name: name, Value: feature.TextValue([]byte("mine"))}
	}
	l.show(&feature.Feature{ID: "a", Properties: feature.PropertiesOf(
		text("cluster"), text("cluster_id"), text("id"), text("kind"), text("point_count"), text("point_count_abbreviated"),
	)})
	var v mvt.LayerView
	if _, ok, err := mvt.NextLayer(l.AppendTo(nil), &v); !ok || err != nil || v.Len() != 1 {
		t.Fatal(ok, err, v.Len())
	}
	f, err := v.Feature(0)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	if err := v.EachTag(f, func(key, value []byte) bool {
		text, _ := mvt.StringValue(value)
		got[string(key)] = string(text)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got["id"] != "a" || got["kind"] != "mine" {
		t.Errorf("attributes %v", got)
	}
}

package catalogue_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/internal/testfile"
	"quadrille/cmd/internal/toyworld"
	"quadrille/ipgeo"
)

func TestLive(t *testing.T) {
	dir := t.TempDir()
	c, err := dataset.Open(dir, toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	if err := toyworld.Publish(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	boundaries := ask.Boundaries.Live(c.Generations)
	index := ask.Addresses.Live(c.Generations)
	table := ask.AddressTable.Live(c.Generations)
	stations := ask.Stations.Live(c.Generations)
	for _, l := range []interface{ Close() error }{boundaries, index, table, stations} {
		defer func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}()
	}
	if err := errors.Join(boundaries.Poll(t.Context()), index.Poll(t.Context()), table.Poll(t.Context()),
		stations.Poll(t.Context())); err != nil {
		t.Fatal(err)
	}
	h, err := boundaries.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer h.Release()
	if n := len(h.Value().Types()); n != 2 {
		t.Errorf("%d types", n)
	}
	i, err := index.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer i.Release()
	o, err := table.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer o.Release()
	var fast, slow ipgeo.Result
	addr := toyworld.Address(8)
	if err := errors.Join(i.Value().Lookup(t.Context(), addr, &fast), o.Value().Lookup(t.Context(), addr, &slow)); err != nil {
		t.Fatal(err)
	}
	if _, isTable := i.Value().(*ipgeo.Reader); isTable || fast.Country != slow.Country {
		t.Errorf("the index says %s, the table %s", fast.Country, slow.Country)
	}
	if got := catalogue.State(stations.Status()); got != catalogue.Missing {
		t.Errorf("stations are %s", got)
	}
}

// TestDamagedIndex tests that addresses in a damaged part of the index are answered from the table,
// and the damage is reported.
func TestDamagedIndex(t *testing.T) {
	dir := t.TempDir()
	c, err := dataset.Open(dir, toyworld.Open)
	if err == nil {
		err = toyworld.PublishAddresses(t.Context(), c)
	}
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "ip", "g0000000001", ipgeo.IndexFileName)
	file := testfile.Read(t, path)
	lookup := func(from ipgeo.Lookuper) string {
		t.Helper()
		var res ipgeo.Result
		if err := from.Lookup(t.Context(), toyworld.Address(0), &res); err != nil {
			t.Fatal(err)
		}
		return string(res.CountryJSON())
	}
	testfile.Write(t, path, bytes.ReplaceAll(file, []byte(`"DE"`), []byte(`"EE"`)))
	bare, err := ipgeo.OpenIndex(path)
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	if got := lookup(bare); !strings.Contains(got, `"EE"`) {
		t.Fatalf("the damaged index says %s", got)
	}
	live := ask.Addresses.Live(c.Generations)
	defer live.Close()
	for live.Status().Damage == nil { // reported after the file has been read
		if err := live.Poll(t.Context()); err != nil && !errors.Is(err, cellstore.ErrCorrupt) {
			t.Fatal(err)
		}
		h, err := live.Acquire()
		if err != nil {
			t.Fatal(err)
		}
		if got := lookup(h.Value()); !strings.Contains(got, `"DE"`) {
			t.Errorf("it says %s", got)
		}
		h.Release()
	}
}

func TestState(t *testing.T) {
	m := &dataset.Manifest{Built: time.Unix(1, 0)}
	fault := errors.New("fault")
	for want, st := range map[string]dataset.Status{
		catalogue.Missing: {},
		catalogue.Failed:  {Published: 2, Err: fault},
		catalogue.Damaged: {Published: 2, Serving: m, Err: fault, Damage: fault},
		catalogue.Stale:   {Published: 2, Serving: m, Err: fault},
		catalogue.Serving: {Published: 2, Serving: m},
	} {
		if got := catalogue.State(st); got != want {
			t.Errorf("State(%+v) = %s, want %s", st, got, want)
		}
	}
	// The data set was read before it was published, or cannot be read. It is neither open nor
	// missing.
	for _, st := range []dataset.Status{{Err: fault}, {Published: 1}} {
		if got := catalogue.State(st); got != catalogue.Failed {
			t.Errorf("State(%+v) = %s", st, got)
		}
	}
}

func TestAppendCredits(t *testing.T) {
	m := &dataset.Manifest{Sources: []dataset.Source{
		{Attribution: "A & B"},
		{Name: "asks for none"},
		{Attribution: "C"},
		{Attribution: "A & B"},
	}}
	if got, want := catalogue.AppendCredits([]string{"C"}, nil, m), []string{"C", "A &amp; B"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// A map credits the layers that it shows, and sources that do not say theirs.
	m.Sources[0].Layers, m.Sources[2].Layers = []string{"country", "state"}, []string{"timezone"}
	if got := catalogue.AppendCredits(nil, []string{"lake", "timezone"}, m); !slices.Equal(got, []string{"C", "A &amp; B"}) {
		t.Errorf("credits of some layers: %q", got)
	}
	if m.Sources = m.Sources[:3]; !slices.Equal(catalogue.AppendCredits(nil, []string{"state"}, m), []string{"A &amp; B"}) {
		t.Errorf("credits of a layer")
	}
}

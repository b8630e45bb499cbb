package search

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
)

// schema1 has the rows of a builder of version 1. Each line is a cell: its table, key, family,
// timestamp and value.
//
//go:embed testdata/schema1.txt
var schema1 string

// Tables of version 1 are read with the folds of that version.
func TestSchema1(t *testing.T) {
	store := buildtest.NewStore(t)
	for _, s := range schemas() {
		must.Do(t, store.CreateTable(t.Context(), s))
	}
	for line := range strings.Lines(schema1) {
		var name, family string
		var key, value []byte
		var ts int64
		must.Get(fmt.Sscanf(line, "%s %q %s %d %q", &name, &key, &family, &ts, &value)).In(t)
		table := must.Get(store.Table(t.Context(), name)).In(t)
		m := cellstore.Mutation{Row: key, Ops: []cellstore.Op{cellstore.PutAt(family, nil, ts, value)}}
		must.Do(t, table.Apply(t.Context(), m))
	}
	r := must.Get(Open(t.Context(), store, Meta{SchemaVersion: 1})).In(t)
	for text, want := range map[string]string{
		"zuri":            "[1]",
		"東京":              "[10]",
		"トウ":              "[10]",
		"서울":              "[11]",
		"서":               "[11]",
		"القاهره":         "[13]",
		"frankfurt hesse": "[12]",
		"main frankfurt":  "[12]",
		"frankfrut":       "[12]",
		"东京":              "[]", "とう": "[]", "ㅅ": "[]", // of version 2
	} {
		if got := fmt.Sprint(ids(find(t, r, Query{Text: text}))); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

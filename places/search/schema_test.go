package search

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"quadrille/cellstore"
)

// schema1 is what a builder of version 1 wrote, as dump prints it.
//
//go:embed testdata/schema1.txt
var schema1 string

// Tables of version 1 are read with the folds of that version.
func TestSchema1(t *testing.T) {
	store := newStore(t)
	for _, s := range schemas() {
		if err := store.CreateTable(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(schema1) {
		var name, family string
		var key, value []byte
		var ts int64
		if _, err := fmt.Sscanf(line, "%s %q %s %d %q", &name, &key, &family, &ts, &value); err != nil {
			t.Fatal(err)
		}
		table, err := store.Table(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		m := cellstore.Mutation{Row: key, Ops: []cellstore.Op{cellstore.PutAt(family, nil, ts, value)}}
		if err := table.Apply(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Open(t.Context(), store, Meta{SchemaVersion: 1})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"zuri": "[1]", "東京": "[10]", "トウ": "[10]", "서울": "[11]", "서": "[11]", "القاهره": "[13]", "frankfurt hesse": "[12]", "main frankfurt": "[12]", "frankfrut": "[12]",
		"东京": "[]", "とう": "[]", "ㅅ": "[]", // of version 2
	} {
		if got := fmt.Sprint(ids(find(t, r, Query{Text: text}))); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

package live

import (
	"bytes"
	"errors"
	"testing"

	"quadrille/cellstore"
	"quadrille/feature"
)

// rowOfEvent returns a row with the value of an event.
func rowOfEvent(value []byte) *cellstore.Row {
	return &cellstore.Row{Key: eventKey(7), Cells: []cellstore.Cell{{Family: famEvent, Value: value}}}
}

// TestEventIsDamaged tests that a row with anything but an event, in a log that keeps whole
// features, gives ErrCorrupt, without a panic.
func TestEventIsDamaged(t *testing.T) {
	for text, whole := range map[string]bool{
		`{"id":"a","version":1,"to":[8,47],"is":{"properties":{}}}`:             true,
		`{"id":"a","version":1,"from":[8,47]}`:                                  true,
		`{"id":"a","version":1,"to":[8,47]}`:                                    false,
		`{"id":"a","version":1,"is":{}}`:                                        false,
		`{"id":"a","version":1,"to":[8,47],"is":{}}`:                            false,
		`{"id":"a","version":1,"to":[8,47],"is":{"properties":null}}`:           false,
		`{"id":"a","version":1,"to":[8,47],"is":{"properties":[1]}}`:            false,
		`{"id":"a","version":1,"to":[8,47],"is":{"properties":{"":1}}}`:         false,
		`{"id":"a","version":1,"to":[8,97],"is":{"properties":{}}}`:             false,
		`{"id":"a","version":0,"to":[8,47],"is":{"properties":{}}}`:             false,
		`{"id":"a","version":1,"is":{"properties":{}}}`:                         false,
		`{"id":"a","version":1,"from":[8,47],"to":null,"is":{"properties":{}}}`: false,
	} {
		var e Event
		ok := e.parse(rowOfEvent([]byte(text)))
		if ok {
			_, err := e.change()
			if ok = err == nil; !ok && !errors.Is(err, cellstore.ErrCorrupt) {
				t.Errorf("%s: %v", text, err)
			}
		}
		if ok != whole {
			t.Errorf("%s is whole: %v", text, ok)
		}
	}
}

func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"before":6,"id":"a","from":[1,2],"to":[8,47],"version":5,"by":1,"is":{"properties":{"a":{"b":[1]}},"expires":9}}`))
	f.Add([]byte(`{"id":"a","version":1,"is":{}}`))
	f.Add([]byte(`{"id":"a","version":1,"to":[8],"is":{"properties":"x"},"was":1}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		var e Event
		if !e.parse(rowOfEvent(value)) {
			return
		}
		c, err := e.change()
		if err != nil || c.Is == nil {
			return
		}
		object := append(c.Is.Properties.AppendMembers([]byte{'{'}), '}')
		if again, err := feature.AppendProperties(nil, object); err != nil || !bytes.Equal(again, object) || !bytes.Equal(c.is, object) {
			t.Fatalf("%s and %s: %v", object, c.is, err)
		}
	})
}

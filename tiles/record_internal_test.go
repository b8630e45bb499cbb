package tiles

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"quadrille/feature"
)

// FuzzRecord parses any record: it is either damaged, or the result agrees with encoding/json.
func FuzzRecord(f *testing.F) {
	rt := &readerType{TypeMeta: TypeMeta{Name: "land"}}
	for _, text := range []string{
		`{"type":"land","id":"a","name":"A","bbox":[0,-1.5,10,20],"map_color":1,"x":{"bbox":[1],"a":"}"}}`,
		`{"type":"land","id":"a","bbox":[179,0,-179,1]}`,
		`{"id":"a","bbox":[0,0,1,1]`, `{"id":"a","bbox":[0,0,1,91]}`, `{"bbox":[0,0,1,1],"id":"a"}`,
		`{"id":"a","x":"\"bbox\":[","bbox":[0,0,1,1]}`, "{", "", `{"id":"a`, `{"id":"a","bbox":[,,,]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		rec, err := rt.parseRecord("a", value)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		if compact, err := feature.AppendProperties(nil, value); err != nil || !bytes.Equal(compact, value) {
			return
		}
		var want struct {
			Name any
			BBox [4]float64
		}
		if err := json.Unmarshal(value, &want); err != nil || want.BBox != rec.bounds {
			t.Fatalf("%v, %v", rec.bounds, err)
		}
		if name, ok := want.Name.(string); ok && name != string(rec.name) {
			t.Fatalf("%q", rec.name)
		}
		if rest := bytes.Join([][]byte{[]byte("{"), rec.before, rec.after, []byte("}")}, nil); !json.Valid(rest) {
			t.Fatalf("%s", rest)
		}
	})
}

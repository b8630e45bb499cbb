package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/source/jsonscan"
	"quadrille/internal/must"
)

// TestLines tests that the lines of a list are its elements, however it is written and read.
func TestLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`["\\\\,{}\[\] a]*`)
		element := rapid.OneOf(text.AsAny(), rapid.Int32().AsAny(), rapid.SliceOfN(text, 0, 3).AsAny(),
			rapid.MapOfN(text, rapid.SliceOfN(text, 0, 2), 0, 3).AsAny())
		list := rapid.SliceOfN(element, 1, 5).Draw(t, "list")
		indent := rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "indent")
		in := must.Get(json.MarshalIndent(list, "", indent)).In(t)
		reader := jsonscan.Lines(iotest.HalfReader(bytes.NewReader(in)))
		got := must.Get(io.ReadAll(reader)).In(t)
		var lines []string
		written, begin := 0, 2 // the element after the first bracket
		for line := range strings.Lines(string(got)) {
			written++
			if line = strings.TrimSpace(line); line != "" {
				if at := reader.Line(written); at != begin || reader.Line(written) != at {
					t.Fatalf("%s: element %d begins in line %d, not %d", in, written, begin, at)
				}
				element := must.Get(json.MarshalIndent(list[len(lines)], "", indent)).In(t)
				begin += 1 + bytes.Count(element, []byte("\n"))
				var v json.RawMessage // with all digits of a number
				if err := json.Unmarshal([]byte(line), &v); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				lines = append(lines, string(must.Get(json.Marshal(v)).In(t)))
			}
		}
		var want []string
		for _, v := range list {
			want = append(want, string(must.Get(json.Marshal(v)).In(t)))
		}
		if d := cmp.Diff(want, lines); d != "" || len(got) != len(in) {
			t.Fatalf("%s: %s", in, d)
		}
	})
}

func TestUnseparated(t *testing.T) {
	got := must.Get(io.ReadAll(jsonscan.Unseparated(strings.NewReader("\x1e1\x1e\x1e2")))).In(t)
	if string(got) != " 1  2" {
		t.Errorf("%q", got)
	}
}

package ip

import (
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/source/ipcsv"
	"quadrille/cmd/internal/testfile"
)

// Objects with networks are found in JSON documents as records of points are.
func TestDocuments(t *testing.T) {
	const swiss, german = `{"network":"9.0.0.0/8","country":{"iso_code":"CH"}}`, `{"cidr":"11.0.0.0/8","country":"DE"}`
	for name, tc := range map[string]struct {
		files []string // ended by # and a member, if one is named
		want  []string // countries of 9.1.1.1 and 11.1.1.1, or the error
		notes string
	}{
		"a member":          {[]string{`{"status":"ok","data":[` + swiss + `]}`}, []string{"CH"}, `in its member "data"`},
		"deeper":            {[]string{`{"result":{"total":1,"items":[` + "\n" + swiss + "\n" + `]}}`}, []string{"CH"}, `in its member "result.items"`},
		"another":           {[]string{`{"data":[{"a":1}],"nets":[` + swiss + `]}#nets`}, []string{"CH"}, `in its member "nets"`},
		"two lists":         {[]string{`{"data":[` + swiss + `],"old":[{"network":"11.0.0.0/8"}]}`}, []string{"CH", ""}, `other lists, such as "old", are not read; write FILE#old`},
		"JSON:API":          {[]string{`{"data":[{"type":"n","id":"1","attributes":` + german + `}]}`}, []string{"", "DE"}, "2 members around the records' own are left out"},
		"by network":        {[]string{`{"9.0.0.0/8":{"country":"CH"},"11.0.0.0/8":{"country":"DE"}}`}, []string{"CH", "DE"}, ""},
		"one after another": {[]string{"{\n\"network\": \"9.0.0.0/8\",\n\"country\": \"CH\"\n}\n" + german}, []string{"CH"}, ""},
		"pages": {[]string{`{"data":[` + swiss + `],"next":"https://example.org/2"}`, `{"data":[{"network":"11.0.0.0/8","country":{"iso_code":"DE"}}]}`},
			[]string{"CH", "DE"}, ""},
		"one page": {[]string{`{"data":[` + swiss + `],"next":"https://example.org/2"}`},
			[]string{"is one page of several, says its next; fetch all pages and give them together: ingest ip PAGE1 PAGE2"}, ""},
		"no such member":    {[]string{`{"data":[` + swiss + `]}#rows`}, []string{"there is no list rows of objects with networks"}, ""},
		"a member of lines": {[]string{"network,country\n9.0.0.0/8,CH\n#rows"}, []string{"there is no list rows of objects with networks"}, ""},
		"no networks":       {[]string{`{"data":[{"a":1}]}`}, []string{"is JSON and no list of networks"}, ""},
	} {
		c := jobtest.Catalog(t)
		rep := &jobtest.Recorder{}
		var inputs []Input
		for i, text := range tc.files {
			text, member, named := strings.Cut(text, "#")
			path := testfile.WriteTemp(t, "x"+string(rune('1'+i))+".json", text)
			if named {
				path += "#" + member
			}
			inputs = append(inputs, Input{Input: job.Input{Path: path}})
		}
		_, err := Ingest(t.Context(), c, inputs, Options{Options: job.Options{Reporter: rep, MaxBad: 0}})
		if err != nil {
			if len(tc.want) > 1 || !strings.Contains(err.Error(), tc.want[0]) || len(tc.want[0]) < 3 {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		for i, want := range tc.want {
			got := answer(t, c, []string{"9.1.1.1", "11.1.1.1"}[i])
			if (want == "") != (got == "") || !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		if notes := strings.Join(rep.Notes, "\n"); !strings.Contains(notes, tc.notes) {
			t.Errorf("%s: %s", name, notes)
		}
	}
}

// Columns are of lists of lines. They are refused for JSON of every form.
func TestDocumentsHaveNoColumns(t *testing.T) {
	for _, text := range []string{`{"data":[{"network":"9.0.0.0/8","country":"CH"}]}`, `[{"network":"9.0.0.0/8","country":"CH"}]`, `{"network":"9.0.0.0/8","country":"CH"}`} {
		_, err := Ingest(t.Context(), jobtest.Catalog(t), []Input{{Input: ipFile(t, "x.json", text), Columns: []ipcsv.Column{"network"}}}, Options{})
		if err == nil || !strings.Contains(err.Error(), "is JSON, and columns are those of lists of lines") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Bad records of a document are counted with the lines of the file.
func TestLinesOfDocuments(t *testing.T) {
	rows := "{\"data\": [\n  {\n \"network\": \"9.0.0.0/8\",\n \"country\": \"CH\"\n },\n\n  {\"network\": \"bad\", \"country\": \"CH\"}, 5,\n" +
		" {\"country\": \"CH\"\n}]}\n"
	var rep badLines
	_, err := Ingest(t.Context(), jobtest.Catalog(t), []Input{{Input: ipFile(t, "x.json", rows)}}, Options{Options: job.Options{Reporter: &rep, MaxBad: 1}})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(rep.lines)
	if !slices.Equal(rep.lines, []int{7, 7, 8}) {
		t.Errorf("%v", rep.lines)
	}
}

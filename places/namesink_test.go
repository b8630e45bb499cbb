package places

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/places/search"

	"github.com/google/go-cmp/cmp"
)

// recorder is a nameSink that keeps copies.
type recorder struct {
	t        *testing.T
	members  func(id uint32) (bool, error)
	entries  []search.Entry
	progress func(stage string, done, total int64)
	finished bool
	closed   bool
}

func (r *recorder) Add(e *search.Entry) error {
	c := *e
	c.Names = append([]search.Name(nil), e.Names...)
	r.entries = append(r.entries, c)
	return nil
}

func (r *recorder) Finish() (search.Meta, error) {
	r.finished = true
	r.progress("names", 1, 1)
	for _, e := range r.entries {
		if found, err := r.members(e.ID); err != nil || !found {
			r.t.Errorf("members of %d cannot be read when name search is finished: %v", e.ID, err)
		}
	}
	return search.Meta{}, nil
}

func (r *recorder) Close() error { r.closed = true; return nil }

// Name search gets every place once, in the order of ids, with its searchable names, and the names
// of countries and divisions.
func TestNameSink(t *testing.T) {
	var r *recorder
	var contexts []search.ContextName
	old := newNameSink
	defer func() { newNameSink = old }()
	newNameSink = func(b *builder, _ cellstore.Store, info cellstore.Table, memory int64) (nameSink, error) {
		if memory < minMemory/4 {
			t.Errorf("%d bytes of memory", memory)
		}
		contexts = b.names.searchContexts()
		r = &recorder{t: t, progress: b.searchProgress, members: func(id uint32) (bool, error) {
			var row cellstore.Row
			return info.Get(b.ctx, appendInfoKey(nil, id), selectMembers, &row)
		}}
		return r, nil
	}
	build := func(src Source, opts BuildOptions) {
		must.Two(Build(t.Context(), buildtest.NewStore(t), src, opts)).In(t)
	}
	build(fullSource(), BuildOptions{})
	if !r.finished || !r.closed || len(r.entries) != 7 {
		t.Fatalf("finished %v, closed %v, %d entries", r.finished, r.closed, len(r.entries))
	}
	last := uint32(0)
	var texts []string
	for _, e := range r.entries {
		if e.ID <= last {
			t.Errorf("%d after %d", e.ID, last)
		}
		if last = e.ID; e.ID != zurich.ID {
			continue
		}
		for _, n := range e.Names {
			texts = append(texts, n.Text+"/"+n.Lang)
			if n.Text == "Turicum" && !n.Historic || n.Text == "Züri" && (!n.Colloquial || !n.Preferred) {
				t.Errorf("%+v", n)
			}
		}
		e.Names = nil
		want := search.Entry{ID: zurich.ID, Importance: bruteImportance(&zurich), Name: "Zürich", ASCIIName: "Zuerich", Class: 'P', Code: "PPLA",
			Country: "CH", Admin1: "ZH", Population: 341730, Lat: 473666700, Lon: 85500000}
		if d := cmp.Diff(want, e); d != "" {
			t.Error(d)
		}
	}
	if got := strings.Join(texts,
		" "); got != "Zürich/de Zurich/fr Zurich sur Limmat/fr Turicum/la Züri/de Zuri\"ch/ 苏黎世/zh 蘇黎世/zh-Hant ZRH/iata OLD/iata CHZRH/unlc" {
		t.Error(got)
	}
	if got := fmt.Sprint(contexts); got != "[{Schweiz CH } {Liechtenstein LI } {Kanton Bern CH BE} {Bern CH BE} {Zurich "+
		"CH ZH} {Zürich CH ZH} {England GB ENG} {Scotland GB SCT} {Wales GB WLS} {Northern Ireland GB NIR}]" {
		t.Error(got)
	}

	// Without alternate names in the input, a place has the names of its row.
	build(Source{Places: buildtest.SeqOf([]Place{zurich})}, BuildOptions{})
	if got := fmt.Sprint(r.entries[0].Names); got != "[{Turicum  false false false false false} {Zurich  false false false false false}]" {
		t.Error(got)
	}
	// A link is not a searchable name.
	link := AlternateName{PlaceID: zurich.ID, Lang: "link", Name: "https://example.org/Zurich"}
	build(Source{Places: buildtest.SeqOf([]Place{zurich}), Names: buildtest.SeqOf([]AlternateName{link})}, BuildOptions{})
	if got := fmt.Sprint(r.entries[0].Names); got != "[{Turicum  false false false false false} {Zurich  false false false false false}]" {
		t.Error(got)
	}
	r = nil
	build(Source{Places: buildtest.SeqOf([]Place{zurich})}, BuildOptions{NoNames: true})
	if r != nil {
		t.Error("name search is built though it is not wanted")
	}
}

// TestFinishFails tests that a failure of the build of places, or of the sink for names, ends both,
// and that Build returns this failure.
func TestFinishFails(t *testing.T) {
	old := newNameSink
	defer func() { newNameSink = old }()
	broken := errors.New("broken")
	newNameSink = func(b *builder, _ cellstore.Store, _ cellstore.Table, _ int64) (nameSink, error) {
		return failingSink{b, broken}, nil
	}
	if _, _, err := Build(t.Context(), buildtest.NewStore(t), source(scatter(1, 100, clustered)), BuildOptions{}); !errors.Is(err, broken) {
		t.Errorf("search fails: %v", err)
	}
	newNameSink = func(b *builder, _ cellstore.Store, _ cellstore.Table, _ int64) (nameSink, error) {
		return failingSink{b, nil}, nil
	}
	tooMany := make([]Place, maxCodes+1)
	for i := range tooMany {
		tooMany[i] = Place{ID: uint32(i + 1), Name: "x", Code: fmt.Sprint(i)}
	}
	if _, _, err := Build(t.Context(), buildtest.NewStore(t), source(tooMany), BuildOptions{}); !errors.Is(err, ErrInvalidPlace) {
		t.Errorf("tiles fail: %v", err)
	}
}

// failingSink is a sink that fails, or that waits until it is cancelled.
type failingSink struct {
	b   *builder
	err error
}

func (s failingSink) Add(*search.Entry) error { return nil }
func (s failingSink) Close() error            { return nil }
func (s failingSink) Finish() (search.Meta, error) {
	if s.err == nil {
		<-s.b.ctx.Done()
		return search.Meta{}, s.b.ctx.Err()
	}
	return search.Meta{}, s.err
}

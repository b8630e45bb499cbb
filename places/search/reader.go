package search

import (
	"context"
	"strings"
	"sync"

	"quadrille/cellstore"
)

// Reader answers searches over the tables of a Builder. Any number of
// goroutines may use it while its store is open.
type Reader struct {
	names, prefixes, context cellstore.Table
	sizes                    sizes
	schema                   int       // firstSchema, or 0 for later ones
	together                 bool      // the lists of candidates hold all names, before schema 3
	folds                    *foldList // nil if there are too many

	searches sync.Pool // of *search
	answers  sync.Pool // of *answer
}

// Open returns a Reader of the tables in a store. Meta is the result of Finish.
// Tables of a newer layout are refused with cellstore.ErrNewer.
func Open(ctx context.Context, store cellstore.Store, meta Meta) (*Reader, error) {
	if err := cellstore.CheckLayout("the search index", meta.SchemaVersion, 0, SchemaVersion, ""); err != nil {
		return nil, err
	}
	r := &Reader{sizes: usual, together: meta.SchemaVersion < 3}
	if meta.SchemaVersion < 2 {
		r.schema = firstSchema
	}
	r.searches.New = func() any { return newSearch(r) }
	r.answers.New = func() any { return new(answer) }
	for _, t := range []struct {
		name string
		into *cellstore.Table
	}{{tableNames, &r.names}, {tablePrefix, &r.prefixes}, {tableContext, &r.context}} {
		table, err := store.Table(ctx, t.name)
		if err != nil {
			return nil, wrap(err)
		}
		*t.into = table
	}
	if meta.FoldBytes > 0 {
		table, err := store.Table(ctx, tableFolds)
		if err != nil {
			return nil, wrap(err)
		}
		if r.folds, err = readFolds(ctx, table, meta.FoldBytes); err != nil {
			return nil, err
		}
	}
	return r, nil
}

var (
	selectName       = &cellstore.Selection{Families: []string{famName}}
	selectJSON       = &cellstore.Selection{Families: []string{famJSON}}
	selectCandidates = &cellstore.Selection{Families: []string{famCandidates}}
	selectLists      = &cellstore.Selection{Families: []string{famCandidates, famOthers}}
)

// answer is the memory of one Complete call.
type answer struct {
	fold []byte
	row  cellstore.Row
}

// Complete appends the finished answer for a text without any filter, the 10
// best places:
//
//	{"places":[{"id":…,…,"match":{…}},…]}
//
// with the members that Options.Lookup gave and the match as [AppendMatch] writes it. Answers are
// stored for texts of 1 to 12 characters that match more than 10 places. For other texts, for
// initials, and for texts whose fold differs in more than case, found is false. Use [Reader.Search]
// for these, because accents count, and codes are not folded. It costs one Get and allocates
// nothing but to grow dst.
func (r *Reader) Complete(ctx context.Context, text string, dst []byte) (out []byte, found bool, err error) {
	if err := checkText(text); err != nil {
		return dst, false, err
	}
	a := r.answers.Get().(*answer)
	defer r.answers.Put(a)
	a.fold = foldAs(a.fold[:0], text, plainFold|r.schema)
	if len(a.fold) == 0 || characters(a.fold) > prefixCharacters || areInitials(a.fold) || accented(normalize(text)) {
		return dst, false, nil
	}
	if isASCII(a.fold) && !strings.EqualFold(strings.TrimSpace(text), string(a.fold)) {
		return dst, false, nil
	}
	if found, err = r.prefixes.Get(ctx, a.fold, selectJSON, &a.row); err != nil || !found {
		return dst, false, wrap(err)
	}
	return append(dst, a.row.Cells[0].Value...), true, nil
}

package recipes

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"quadrille/cellstore"
)

// ErrRedirects is the error of a title whose redirects go round or on too long.
var ErrRedirects = errors.New("too many redirects")

// maxRedirects bounds how many redirects a title is followed through.
const maxRedirects = 4

// Articles is an encyclopedia. The article row keeps its latest texts as
// versions, dated by their revision, which answers "as it stood at"; the
// revisions keep the whole history as rows, newest first, which answers "who
// changed what" and may grow without bound. Titles and categories are indexes.
//
//	table           row                     cells
//	articles        id 8 B                  text:(empty)=body @rev (3 versions)  c:<category>="" per category
//	revisions       id 8 B | ^rev 8 B       r:author  r:comment  r:text
//	titles          title                   t:id=id 8 B, or t:to=title redirected to
//	categories      category | 00 | title   m:id=id 8 B
//
// Save writes the article row last but for its title: a crash leaves rows
// nothing leads to, or index rows that a repeated Save completes.
type Articles struct{ Pages, Revisions, Titles, Categories cellstore.Table }

// Revision is one edit of an article. At is in ms since 1970, not negative.
type Revision struct {
	At                    int64
	Author, Comment, Text string
}

func articleKey(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }

func categoryKey(category, title string) ([]byte, error) {
	if category == "" || strings.Contains(category, "\x00") {
		return nil, fmt.Errorf("category %q must not be empty or contain a zero byte", category)
	}
	return []byte(category + "\x00" + title), nil
}

// Save writes a revision of an article, and the categories it adds. After a
// failure it may be repeated: it writes the same cells.
func (a Articles) Save(ctx context.Context, id uint64, title string, r Revision, categories ...string) error {
	key := articleKey(id)
	page := cellstore.Mutation{Row: key, Ops: []cellstore.Op{cellstore.PutAt("text", nil, r.At, []byte(r.Text))}}
	var index []cellstore.Mutation
	for _, category := range categories {
		row, err := categoryKey(category, title)
		if err != nil {
			return err
		}
		index = append(index, cellstore.Mutation{Row: row, Ops: []cellstore.Op{cellstore.Put("m", []byte("id"), key)}})
		page.Ops = append(page.Ops, cellstore.PutAt("c", []byte(category), r.At, nil))
	}
	revision := cellstore.Mutation{
		Row: binary.BigEndian.AppendUint64(articleKey(id), ^uint64(r.At)),
		Ops: []cellstore.Op{
			cellstore.PutAt("r", []byte("author"), r.At, []byte(r.Author)),
			cellstore.PutAt("r", []byte("comment"), r.At, []byte(r.Comment)),
			cellstore.PutAt("r", []byte("text"), r.At, []byte(r.Text)),
		},
	}
	if err := a.Revisions.Apply(ctx, revision); err != nil {
		return err
	}
	if err := a.Categories.Apply(ctx, index...); err != nil {
		return err
	}
	if err := a.Pages.Apply(ctx, page); err != nil {
		return err
	}
	return a.Titles.Apply(ctx, cellstore.Mutation{Row: []byte(title), Ops: []cellstore.Op{cellstore.Put("t", []byte("id"), key)}})
}

// Redirect makes a title lead to another.
func (a Articles) Redirect(ctx context.Context, title, to string) error {
	return a.Titles.Apply(ctx, cellstore.Mutation{Row: []byte(title), Ops: []cellstore.Op{cellstore.Put("t", []byte("to"), []byte(to))}})
}

// Find returns the id of the article a title leads to, through redirects, and
// whether there is one. ErrRedirects.
func (a Articles) Find(ctx context.Context, title string) (id uint64, found bool, err error) {
	var row cellstore.Row
	next := title
	for range maxRedirects + 1 {
		if ok, err := a.Titles.Get(ctx, []byte(next), nil, &row); err != nil || !ok {
			return 0, false, err
		}
		if to, ok := row.Value("t", []byte("to")); ok {
			next = string(to)
			continue
		}
		key, _ := row.Value("t", []byte("id"))
		if len(key) != 8 {
			return 0, false, fmt.Errorf("title %q has an id of %d bytes, not 8: save its article again", next, len(key))
		}
		return binary.BigEndian.Uint64(key), true, nil
	}
	return 0, false, fmt.Errorf("%w from %q: let it lead straight to an article", ErrRedirects, title)
}

// TextAsOf returns the text of an article as it stood at a time in ms, and
// whether a version that old is kept.
func (a Articles) TextAsOf(ctx context.Context, id uint64, at int64) (string, bool, error) {
	var row cellstore.Row
	sel := &cellstore.Selection{Families: []string{"text"}, Time: cellstore.AsOf(at)}
	_, err := a.Pages.Get(ctx, articleKey(id), sel, &row)
	text, ok := row.Value("text", nil)
	return string(text), ok && err == nil, err
}

// History returns the newest n revisions of an article, all for n = 0,
// without reading their texts out of the store.
func (a Articles) History(ctx context.Context, id uint64, n int) ([]Revision, error) {
	scan := cellstore.Scan{Ranges: []cellstore.Range{cellstore.Prefix(articleKey(id))}, Limit: n}
	scan.Columns = []cellstore.Column{{Family: "r", Qualifier: []byte("author")}, {Family: "r", Qualifier: []byte("comment")}}
	var revisions []Revision
	for row, err := range a.Revisions.Scan(ctx, scan) {
		if err != nil {
			return nil, err
		}
		author, _ := row.Value("r", []byte("author"))
		comment, _ := row.Value("r", []byte("comment"))
		at := int64(^binary.BigEndian.Uint64(row.Key[8:]))
		revisions = append(revisions, Revision{At: at, Author: string(author), Comment: string(comment)})
	}
	return revisions, nil
}

// Members lists the titles in a category, sorted.
func (a Articles) Members(ctx context.Context, category string) ([]string, error) {
	prefix, err := categoryKey(category, "")
	if err != nil {
		return nil, err
	}
	return keySuffixes(ctx, a.Categories, prefix)
}

// Autocomplete keeps the finished answer for every prefix, so that a key
// stroke costs one Get, and one for a prefix nobody has costs a look into the
// row filter.
//
//	row    j:
//	chim   (empty)=["chimera","chimpanzee"]
type Autocomplete struct{ T cellstore.Table }

// Build writes the answers for all prefixes of up to depth characters of the
// titles: for each the first n titles in the order given, best first.
func (a Autocomplete) Build(ctx context.Context, titles []string, depth, n int) error {
	answers := map[string][]string{}
	for _, title := range titles {
		runes := []rune(title)
		for i := 1; i <= min(depth, len(runes)); i++ {
			prefix := strings.ToLower(string(runes[:i]))
			if len(answers[prefix]) < n {
				answers[prefix] = append(answers[prefix], title)
			}
		}
	}
	var batch []cellstore.Mutation
	for prefix, titles := range answers {
		answer, err := json.Marshal(titles)
		if err != nil {
			return err
		}
		batch = append(batch, cellstore.Mutation{Row: []byte(prefix), Ops: []cellstore.Op{cellstore.Put("j", nil, answer)}})
	}
	for some := range slices.Chunk(batch, 1000) {
		if err := a.T.Apply(ctx, some...); err != nil {
			return err
		}
	}
	return nil
}

// Get returns the answer for a prefix, JSON to be sent as it is, and whether
// there is one.
func (a Autocomplete) Get(ctx context.Context, prefix string) ([]byte, bool, error) {
	return getValue(ctx, a.T, []byte(strings.ToLower(prefix)), "j", "")
}

func articleRecipes() []Recipe {
	return []Recipe{
		recipe("articles, versions, revisions, categories, redirects", checkArticles,
			schema("articles", cellstore.Family{Name: "text", MaxVersions: 3}, cellstore.Family{Name: "c"}),
			schema("revisions", cellstore.Family{Name: "r"}), schema("titles", cellstore.Family{Name: "t"}),
			schema("categories", cellstore.Family{Name: "m"})),
		recipe("autocomplete", checkAutocomplete, schema("title_autocomp", cellstore.Family{Name: "j", Bloom: cellstore.BloomRow})),
	}
}

func checkArticles(ctx context.Context, v *verdict, t []cellstore.Table, _ *Clock) {
	a := Articles{t[0], t[1], t[2], t[3]}
	for i, author := range []string{"ann", "bob", "cy", "di"} {
		at := int64(i+1) * 100
		v.ok(a.Save(ctx, 7, "Chimpanzee", Revision{at, author, "edit by " + author, "text of " + author}, "Apes"))
	}
	v.ok(a.Save(ctx, 256, "Bonobo", Revision{At: 100, Author: "ann", Text: "bonobo"}, "Apes", "Apes of Congo"))
	for at, want := range map[int64]string{199: "", 200: "text of bob", 399: "text of cy", 1000: "text of di"} {
		got, found, err := a.TextAsOf(ctx, 7, at)
		v.list(fmt.Sprintf("text as of %d", at), []string{got}, err, want)
		v.is(fmt.Sprintf("a text is kept as of %d", at), found, want != "", nil)
	}
	history := func(n int, want ...string) {
		revisions, err := a.History(ctx, 7, n)
		var got []string
		for _, r := range revisions {
			got = append(got, fmt.Sprintf("%d %s", r.At, r.Author))
		}
		v.list("history", got, err, want...)
	}
	history(0, "400 di", "300 cy", "200 bob", "100 ann")
	history(2, "400 di", "300 cy")
	members, err := a.Members(ctx, "Apes")
	v.list("Apes", members, err, "Bonobo", "Chimpanzee")

	for _, r := range [][2]string{{"Chimp", "Chimpanzee"}, {"Chimps", "Chimp"}, {"A", "B"}, {"B", "A"}, {"Gone", "Nowhere"}} {
		v.ok(a.Redirect(ctx, r[0], r[1]))
	}
	for title, want := range map[string]uint64{"Chimpanzee": 7, "Chimps": 7, "Bonobo": 256, "Gone": 0, "Chi": 0} {
		id, found, err := a.Find(ctx, title)
		v.is("title "+title, id == want && found == (want != 0), true, err)
	}
	_, _, err = a.Find(ctx, "A")
	v.is("redirects in a circle are refused", errors.Is(err, ErrRedirects), true, nil)
}

func checkAutocomplete(ctx context.Context, v *verdict, t []cellstore.Table, _ *Clock) {
	a := Autocomplete{t[0]}
	v.ok(a.Build(ctx, []string{"Chimpanzee", "Chimera", "Hadoop", "Chimney", "Édith"}, 5, 2))
	for prefix, want := range map[string]string{"chim": `["Chimpanzee","Chimera"]`, "Chimn": `["Chimney"]`, "é": `["Édith"]`, "hdaoop": "", "chimpa": ""} {
		got, found, err := a.Get(ctx, prefix)
		v.list("answer for "+prefix, []string{string(got)}, err, want)
		v.is("there is an answer for "+prefix, found, want != "", nil)
	}
}

package main

import (
	"context"
	"fmt"

	"quadrille/cellstore"
)

// encyclopedia stores articles. The row of an article has the latest texts as versions, with the
// times of their revisions, for queries of a past state. The revisions have the whole history as
// rows, newest first, for queries of changes. They may grow without bound. Titles and categories
// are indexes.
//
//	table           row                          cells
//	articles        id 8 B                       text:(empty)=body @at (3 versions)  c:<category>="" per category
//	revisions       id 8 B | MaxInt64 − at 8 B   r:author  r:comment  r:text
//	titles          title                        t:id=id 8 B, or t:to=title redirected to
//	categories      category | 00 | title        m:id=id 8 B
//
// save writes the row of the article, and then its title, last. Therefore a crash leaves only
// unreachable rows, or index rows that a repeated save completes.
type encyclopedia struct{ articles, revisions, titles, categories cellstore.Table }

// revision is one edit of an article, at a time in ms since 1970.
type revision struct {
	at                    int64
	author, comment, text string
}

// maxRedirects bounds the number of redirects that are followed from a title.
const maxRedirects = 4

// save writes a revision of an article, and the categories that it adds. It may be repeated after a
// failure, because it writes the same cells.
func (e encyclopedia) save(ctx context.Context, id int64, title string, r revision, categories ...string) error {
	key := number(id)
	article := []cellstore.Op{cellstore.PutAt("text", nil, r.at, []byte(r.text))}
	if err := put(ctx, e.revisions, string(key)+newestFirst(r.at),
		cellstore.PutAt("r", []byte("author"), r.at, []byte(r.author)),
		cellstore.PutAt("r", []byte("comment"), r.at, []byte(r.comment)),
		cellstore.PutAt("r", []byte("text"), r.at, []byte(r.text)),
	); err != nil {
		return err
	}
	for _, category := range categories {
		if err := put(ctx, e.categories, category+"\x00"+title, cellstore.Put("m", []byte("id"), key)); err != nil {
			return err
		}
		article = append(article, cellstore.PutAt("c", []byte(category), r.at, nil))
	}
	if err := put(ctx, e.articles, string(key), article...); err != nil {
		return err
	}
	return put(ctx, e.titles, title, cellstore.Put("t", []byte("id"), key))
}

// redirect makes a title an alias of another.
func (e encyclopedia) redirect(ctx context.Context, title, to string) error {
	return put(ctx, e.titles, title, cellstore.Put("t", []byte("to"), []byte(to)))
}

// find returns the id of the article with a title, following redirects, or 0 if there is none.
func (e encyclopedia) find(ctx context.Context, title string) (int64, error) {
	var row cellstore.Row
	next := title
	for range maxRedirects + 1 {
		found, err := e.titles.Get(ctx, []byte(next), nil, &row)
		if !found || err != nil {
			return 0, err
		}
		to, redirected := row.Value("t", []byte("to"))
		if !redirected {
			return count(row.Cells[0].Value), nil
		}
		next = string(to)
	}
	return 0, fmt.Errorf("too many redirects from %q: let it lead straight to an article", title)
}

// textAsOf returns the text of an article at a past time, or "" if no version of this age is
// stored.
func (e encyclopedia) textAsOf(ctx context.Context, id, at int64) (string, error) {
	var row cellstore.Row
	_, err := e.articles.Get(ctx, number(id), &cellstore.Selection{Families: []string{"text"}, Time: cellstore.AsOf(at)}, &row)
	text, _ := row.Value("text", nil)
	return string(text), err
}

// history returns the newest n revisions of an article, or all if n is 0. It does not read their
// texts.
func (e encyclopedia) history(ctx context.Context, id int64, n int) ([]string, error) {
	scan := cellstore.Scan{Ranges: []cellstore.Range{cellstore.Prefix(number(id))}, Limit: n}
	scan.Columns = []cellstore.Column{{Family: "r", Qualifier: []byte("author")}, {Family: "r", Qualifier: []byte("comment")}}
	var revisions []string
	for row, err := range e.revisions.Scan(ctx, scan) {
		if err != nil {
			return nil, err
		}
		author, _ := row.Value("r", []byte("author"))
		comment, _ := row.Value("r", []byte("comment"))
		revisions = append(revisions, fmt.Sprintf("%d by %s, %s", timeOf(row.Key[8:]), author, comment))
	}
	return revisions, nil
}

// members returns the sorted titles in a category.
func (e encyclopedia) members(ctx context.Context, category string) ([]string, error) {
	return suffixes(ctx, e.categories, category+"\x00")
}

func playArticles(d *demo) {
	e := encyclopedia{
		articles:  d.table("articles", cellstore.Family{Name: "text", MaxVersions: 3}, cellstore.Family{Name: "c"}),
		revisions: d.table("revisions", cellstore.Family{Name: "r"}), titles: d.table("titles", cellstore.Family{Name: "t"}),
		categories: d.table("categories", cellstore.Family{Name: "m"}),
	}
	for i, author := range []string{"ann", "bob", "cy", "di"} {
		ok(e.save(d.ctx, 7, "Chimpanzee", revision{int64(i+1) * 100, author, "an edit", "text of " + author}, "Apes"))
	}
	ok(e.save(d.ctx, 256, "Bonobo", revision{100, "ann", "", "bonobo"}, "Apes", "Apes of Congo"))
	for _, at := range []int64{199, 200, 399, 1000} {
		d.print(fmt.Sprintf("text as of %d", at), must(e.textAsOf(d.ctx, 7, at)))
	}
	d.print("history", must(e.history(d.ctx, 7, 0)))
	d.print("newest two", must(e.history(d.ctx, 7, 2)))
	d.print("categories of the article", must(qualifiers(d.ctx, e.articles, string(number(256)), "c")))
	d.print("apes", must(e.members(d.ctx, "Apes")))
	for _, r := range [][2]string{{"Chimp", "Chimpanzee"}, {"Chimps", "Chimp"}, {"A", "B"}, {"B", "A"}, {"Gone", "Nowhere"}} {
		ok(e.redirect(d.ctx, r[0], r[1]))
	}
	for _, title := range []string{"Chimpanzee", "Chimps", "Bonobo", "Gone", "Chi"} {
		d.print("title "+title, must(e.find(d.ctx, title)))
	}
	_, err := e.find(d.ctx, "A")
	d.print("redirects in a circle", err)
}

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"quadrille/cellstore"
)

// wideFollows keep whom a user follows in one row, a column per followee:
//
//	row         f:
//	TheFakeMT   HRogers=""  TheRealMT=""
//
// To follow is one put, one read answers both questions, and the followees of
// a user change and are read as one. But a row is read as a whole: the design
// suits users who follow thousands, not millions.
type wideFollows struct{ table cellstore.Table }

func (w wideFollows) follow(ctx context.Context, user, other string) error {
	return put(ctx, w.table, user, cellstore.Put("f", []byte(other), nil))
}

func (w wideFollows) whom(ctx context.Context, user string) ([]string, error) {
	return qualifiers(ctx, w.table, user, "f")
}

func (w wideFollows) does(ctx context.Context, user, other string) (bool, error) {
	return has(ctx, w.table, user, "f", other)
}

// tallFollows keep a row per pair:
//
//	row                   f:
//	TheFakeMT+HRogers     (empty)=""
//	TheFakeMT+TheRealMT   (empty)=""
//
// No row grows, a Get finds a pair (and the row filter misses it), and the
// followees of a user are a prefix. The prefix ends in the separator: without
// it TheFake would also answer for TheFakeMT. Names must not contain it.
type tallFollows struct{ table cellstore.Table }

func (t tallFollows) follow(ctx context.Context, user, other string) error {
	if user == "" || strings.Contains(user+other, "+") {
		return fmt.Errorf("%q follows %q: a name must not be empty or contain +", user, other)
	}
	return put(ctx, t.table, user+"+"+other, cellstore.Put("f", nil, nil))
}

func (t tallFollows) whom(ctx context.Context, user string) ([]string, error) {
	return suffixes(ctx, t.table, user+"+")
}

func (t tallFollows) does(ctx context.Context, user, other string) (bool, error) {
	return has(ctx, t.table, user+"+"+other, "f", "")
}

func playFollows(d *demo) {
	tall := tallFollows{d.table("follows_tall", cellstore.Family{Name: "f"})}
	for _, f := range []interface {
		follow(ctx context.Context, user, other string) error
		whom(ctx context.Context, user string) ([]string, error)
		does(ctx context.Context, user, other string) (bool, error)
	}{wideFollows{d.table("follows_wide", cellstore.Family{Name: "f", Bloom: cellstore.BloomRowCol})}, tall} {
		for _, pair := range [][2]string{{"TheFakeMT", "TheRealMT"}, {"TheFakeMT", "HRogers"}, {"TheFakeMTToo", "Olivia"}} {
			ok(f.follow(d.ctx, pair[0], pair[1]))
		}
		design := strings.TrimPrefix(fmt.Sprintf("%T", f), "main.")
		d.print(design+": TheFakeMT follows", must(f.whom(d.ctx, "TheFakeMT")))
		d.print(design+": TheFake follows", must(f.whom(d.ctx, "TheFake")))
		d.print(design+": TheFakeMT follows HRogers", must(f.does(d.ctx, "TheFakeMT", "HRogers")))
		d.print(design+": HRogers follows TheFakeMT", must(f.does(d.ctx, "HRogers", "TheFakeMT")))
		ok(f.follow(d.ctx, "TheFakeMT", "MTFanBoy2"))
		d.print(design+": TheFakeMT follows", must(f.whom(d.ctx, "TheFakeMT")))
	}
	d.print("a prefix without its separator", must(suffixes(d.ctx, tall.table, "TheFakeMT")))
	d.print("a name with a separator", tall.follow(d.ctx, "a+b", "c"))
}

// relations keep both directions of an edge:
//
//	row                                            r:
//	hash(user) 16 B  | follows 01    | hash(other) name=other
//	hash(other) 16 B | followedBy 02 | hash(user)  name=user
//
// Hashed names spread the users evenly over the table. Every part of the key
// has a fixed width, so a prefix needs no separator and names may hold any
// byte. A hash does not lead back to its name: the cell holds it.
//
// The two rows are written by one Apply, which a backend need not make atomic.
// follow may be repeated until it succeeds: it writes the same cells.
type relations struct{ table cellstore.Table }

const follows, followedBy = "\x01", "\x02"

// hashSize is 16 bytes of SHA-256: nobody can make two names share them.
const hashSize = 16

func hashName(name string) string {
	h := sha256.Sum256([]byte(name))
	return string(h[:hashSize])
}

func (r relations) follow(ctx context.Context, user, other string) error {
	edge := func(from, relation, to string) cellstore.Mutation {
		return cellstore.Mutation{Row: []byte(hashName(from) + relation + hashName(to)),
			Ops: []cellstore.Op{cellstore.Put("r", []byte("name"), []byte(to))}}
	}
	return r.table.Apply(ctx, edge(user, follows, other), edge(other, followedBy, user))
}

// each calls fn with every user at the other end of a relation, in the order
// of their hashes.
func (r relations) each(ctx context.Context, user, relation string, fn func(name string) error) error {
	ends := cellstore.Prefix([]byte(hashName(user) + relation))
	for row, err := range r.table.Scan(ctx, cellstore.Scan{Ranges: []cellstore.Range{ends}}) {
		if err != nil {
			return err
		}
		if err := fn(string(row.Cells[0].Value)); err != nil {
			return err
		}
	}
	return nil
}

// stream is what every reader sees of those they follow. A post is written
// once per follower, so that reading is one short scan:
//
//	row                                             s: (TTL 72 h), all cells @at
//	hash(reader) 16 B | MaxInt64 − at 8 B | id 8 B   author  text
//
// The time counts down, so the newest post is the first row. The cells are
// dated by the post's time, and so is their TTL.
type stream struct {
	table cellstore.Table
	fans  relations
}

// post is a message; its id is unique among the posts of one millisecond.
type post struct {
	at, id       int64
	author, text string
}

// publish writes a post to the stream of every follower of its author. After a
// failure it may be repeated: a post written twice is the same row.
func (s stream) publish(ctx context.Context, p post) error {
	var batch []cellstore.Mutation
	err := s.fans.each(ctx, p.author, followedBy, func(reader string) error {
		batch = append(batch, cellstore.Mutation{
			Row: []byte(hashName(reader) + newestFirst(p.at) + string(number(p.id))),
			Ops: []cellstore.Op{
				cellstore.PutAt("s", []byte("author"), p.at, []byte(p.author)),
				cellstore.PutAt("s", []byte("text"), p.at, []byte(p.text)),
			}})
		if len(batch) < 1000 { // bounds memory, however many the followers are
			return nil
		}
		err := s.table.Apply(ctx, batch...)
		batch = batch[:0]
		return err
	})
	if err != nil {
		return err
	}
	return s.table.Apply(ctx, batch...)
}

// newest returns the latest n posts of a reader's stream, all for n = 0.
func (s stream) newest(ctx context.Context, reader string, n int) ([]post, error) {
	var posts []post
	scan := cellstore.Scan{Ranges: []cellstore.Range{cellstore.Prefix([]byte(hashName(reader)))}, Limit: n}
	for row, err := range s.table.Scan(ctx, scan) {
		if err != nil {
			return nil, err
		}
		author, _ := row.Value("s", []byte("author"))
		text, _ := row.Value("s", []byte("text"))
		posts = append(posts, post{timeOf(row.Key[hashSize:]), count(row.Key[hashSize+8:]), string(author), string(text)})
	}
	return posts, nil
}

func playStream(d *demo) {
	fans := relations{d.table("relations", cellstore.Family{Name: "r"})}
	s := stream{d.table("stream", cellstore.Family{Name: "s", TTL: 72 * time.Hour}), fans}
	for _, user := range []string{"ann", "bob", "a+b\x00"} {
		ok(fans.follow(d.ctx, user, "mark"))
	}
	ok(fans.follow(d.ctx, "ann", "olivia"))
	for _, user := range []string{"ann", "mark"} {
		for _, relation := range []string{follows, followedBy} {
			var names []string
			ok(fans.each(d.ctx, user, relation, func(name string) error { names = append(names, name); return nil }))
			d.print(fmt.Sprintf("relation %x of %s", relation, user), fmt.Sprintf("%q", names))
		}
	}
	ok(s.publish(d.ctx, post{d.now(), 1, "mark", "first"}))
	d.pass(time.Hour)
	for range 2 { // repeated
		ok(s.publish(d.ctx, post{d.now(), 2, "olivia", "second"}))
	}
	d.print("ann's stream", must(s.newest(d.ctx, "ann", 0)))
	d.print("ann's newest", must(s.newest(d.ctx, "ann", 1)))
	d.print("bob's stream", must(s.newest(d.ctx, "bob", 0)))
	d.print("mark's stream", must(s.newest(d.ctx, "mark", 0)))
	d.pass(71 * time.Hour)
	d.print("bob's, the first post as old as the TTL", must(s.newest(d.ctx, "bob", 0)))
	d.pass(time.Millisecond)
	d.print("bob's, 1 ms later", must(s.newest(d.ctx, "bob", 0)))
	d.print("ann's, 1 ms later", must(s.newest(d.ctx, "ann", 0)))
}

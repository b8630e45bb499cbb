package recipes

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"quadrille/cellstore"
)

// WideFollows keeps whom a user follows in one row, a column per followee.
// Following is one put, and one read answers both questions, but a row is read
// as a whole: it suits users who follow thousands, not millions.
//
//	row         follows:
//	TheFakeMT   HRogers=1  TheRealMT=1
type WideFollows struct{ T cellstore.Table }

// Follow records that user follows other.
func (w WideFollows) Follow(ctx context.Context, user, other string) error {
	return w.T.Apply(ctx, cellstore.Mutation{Row: []byte(user), Ops: []cellstore.Op{cellstore.Put("follows", []byte(other), []byte("1"))}})
}

// Whom lists the users that user follows, sorted.
func (w WideFollows) Whom(ctx context.Context, user string) ([]string, error) {
	return columnsOf(ctx, w.T, user, "follows")
}

// Does reports whether user follows other.
func (w WideFollows) Does(ctx context.Context, user, other string) (bool, error) {
	var row cellstore.Row
	return w.T.Get(ctx, []byte(user), oneColumn("follows", other), &row)
}

// TallFollows keeps a row per pair. No row grows, a pair is found by a Get
// (and missed by the row filter), and whom a user follows is a prefix. The
// prefix ends in the separator: without it TheFake would also answer for
// TheFakeMT. Names must not contain it.
//
//	row                   f:
//	TheFakeMT+HRogers     (empty)=1
//	TheFakeMT+TheRealMT   (empty)=1
type TallFollows struct{ T cellstore.Table }

func tallKey(user, other string) ([]byte, error) {
	if user == "" || strings.Contains(user+other, "+") {
		return nil, fmt.Errorf("follow key of %q and %q: a name must not be empty or contain +", user, other)
	}
	return []byte(user + "+" + other), nil
}

// Follow records that user follows other.
func (t TallFollows) Follow(ctx context.Context, user, other string) error {
	key, err := tallKey(user, other)
	if err != nil {
		return err
	}
	return t.T.Apply(ctx, cellstore.Mutation{Row: key, Ops: []cellstore.Op{cellstore.Put("f", nil, []byte("1"))}})
}

// Whom lists the users that user follows, sorted.
func (t TallFollows) Whom(ctx context.Context, user string) ([]string, error) {
	prefix, err := tallKey(user, "")
	if err != nil {
		return nil, err
	}
	return keySuffixes(ctx, t.T, prefix)
}

// Does reports whether user follows other.
func (t TallFollows) Does(ctx context.Context, user, other string) (bool, error) {
	key, err := tallKey(user, other)
	if err != nil {
		return false, err
	}
	var row cellstore.Row
	return t.T.Get(ctx, key, nil, &row)
}

// Relation is the kind of an edge between two users.
type Relation byte

const Follows, FollowedBy Relation = 1, 2

// hashSize is the width of a hashed name in a key: 16 bytes of SHA-256, which
// nobody can make two names share.
const hashSize = 16

// hashName is the fixed-width stand-in for a name of any length and content.
func hashName(name string) []byte {
	h := sha256.Sum256([]byte(name))
	return h[:hashSize]
}

// Relations keeps both directions of an edge. Hashed names spread the users
// evenly over the table, and since every part of the key has a fixed width a
// prefix needs no separator and names may hold any byte. A hash does not lead
// back to its name, so the cell holds it.
//
//	row                                           r:
//	hash(user) 16 B | Follows 01    | hash(other) name=other
//	hash(other) 16 B | FollowedBy 02 | hash(user)  name=user
//
// The two rows are written by one Apply, which a backend need not make
// atomic. Follow may be repeated until it succeeds: it writes the same cells.
type Relations struct{ T cellstore.Table }

func relationPrefix(user string, r Relation) []byte { return append(hashName(user), byte(r)) }

// Follow records that user follows other, in both directions.
func (g Relations) Follow(ctx context.Context, user, other string) error {
	edge := func(from string, r Relation, to string) cellstore.Mutation {
		return cellstore.Mutation{Row: append(relationPrefix(from, r), hashName(to)...), Ops: []cellstore.Op{cellstore.Put("r", []byte("name"), []byte(to))}}
	}
	return g.T.Apply(ctx, edge(user, Follows, other), edge(other, FollowedBy, user))
}

// Each calls fn with every user at the other end of user's relation, in the
// order of their hashes.
func (g Relations) Each(ctx context.Context, user string, r Relation, fn func(name string) error) error {
	for row, err := range g.T.Scan(ctx, cellstore.Scan{Ranges: []cellstore.Range{cellstore.Prefix(relationPrefix(user, r))}}) {
		if err != nil {
			return err
		}
		name, _ := row.Value("r", []byte("name"))
		if err := fn(string(name)); err != nil {
			return err
		}
	}
	return nil
}

// Post is a message. At is in ms since 1970, not negative; an ID is unique
// among the posts of one millisecond.
type Post struct {
	At           int64
	ID           uint64
	Author, Text string
}

// StreamRetention is how long a post stays in the streams of its readers: the
// TTL of the family, reckoned from Post.At because that dates the cells.
const StreamRetention = 72 * time.Hour

// Stream is what every reader sees of those they follow: a post is written
// once per follower, so that reading is one short scan. Times are stored as
// their complement, which makes the newest post the first row.
//
//	row                                    s: (TTL 72 h), all cells @At
//	hash(reader) 16 B | ^At 8 B | ID 8 B   author  text
type Stream struct {
	T    cellstore.Table
	Fans Relations
}

const fanOutBatch = 1000 // bounds memory, however many the followers are

// Publish writes a post to the stream of every follower of its author. After a
// failure it may be repeated: a post written twice is the same row.
func (s Stream) Publish(ctx context.Context, p Post) error {
	var batch []cellstore.Mutation
	err := s.Fans.Each(ctx, p.Author, FollowedBy, func(reader string) error {
		key := binary.BigEndian.AppendUint64(hashName(reader), ^uint64(p.At))
		key = binary.BigEndian.AppendUint64(key, p.ID)
		batch = append(batch, cellstore.Mutation{Row: key, Ops: []cellstore.Op{
			cellstore.PutAt("s", []byte("author"), p.At, []byte(p.Author)),
			cellstore.PutAt("s", []byte("text"), p.At, []byte(p.Text)),
		}})
		if len(batch) < fanOutBatch {
			return nil
		}
		err := s.T.Apply(ctx, batch...)
		batch = batch[:0]
		return err
	})
	if err != nil {
		return err
	}
	return s.T.Apply(ctx, batch...)
}

// Newest returns the latest n posts of a reader's stream, newest first; n = 0
// means all that are retained.
func (s Stream) Newest(ctx context.Context, reader string, n int) ([]Post, error) {
	var posts []Post
	scan := cellstore.Scan{Ranges: []cellstore.Range{cellstore.Prefix(hashName(reader))}, Limit: n}
	for row, err := range s.T.Scan(ctx, scan) {
		if err != nil {
			return nil, err
		}
		author, _ := row.Value("s", []byte("author"))
		text, _ := row.Value("s", []byte("text"))
		posts = append(posts, Post{
			At:     int64(^binary.BigEndian.Uint64(row.Key[hashSize:])),
			ID:     binary.BigEndian.Uint64(row.Key[hashSize+8:]),
			Author: string(author), Text: string(text),
		})
	}
	return posts, nil
}

func socialRecipes() []Recipe {
	return []Recipe{
		recipe("follows, wide and tall", checkFollows,
			schema("follows_wide", cellstore.Family{Name: "follows"}), schema("follows_tall", cellstore.Family{Name: "f"})),
		recipe("stream of those one follows, kept for 72 hours", checkStream,
			schema("relations", cellstore.Family{Name: "r"}), schema("stream", cellstore.Family{Name: "s", TTL: StreamRetention})),
	}
}

func checkFollows(ctx context.Context, v *verdict, t []cellstore.Table, _ *Clock) {
	wide, tall := WideFollows{t[0]}, TallFollows{t[1]}
	type follows interface {
		Follow(ctx context.Context, user, other string) error
		Whom(ctx context.Context, user string) ([]string, error)
		Does(ctx context.Context, user, other string) (bool, error)
	}
	for _, f := range []follows{wide, tall} {
		whom := func(user string, want ...string) {
			got, err := f.Whom(ctx, user)
			v.list(fmt.Sprintf("%T: whom %s follows", f, user), got, err, want...)
		}
		v.ok(f.Follow(ctx, "TheFakeMT", "TheRealMT"))
		v.ok(f.Follow(ctx, "TheFakeMT", "HRogers"))
		v.ok(f.Follow(ctx, "TheFakeMTToo", "Olivia"))
		whom("TheFakeMT", "HRogers", "TheRealMT")
		whom("TheFake")
		does, err := f.Does(ctx, "TheFakeMT", "HRogers")
		v.is("TheFakeMT follows HRogers", does, true, err)
		does, err = f.Does(ctx, "HRogers", "TheFakeMT")
		v.is("HRogers follows TheFakeMT", does, false, err)
		v.ok(f.Follow(ctx, "TheFakeMT", "MTFanBoy2"))
		whom("TheFakeMT", "HRogers", "MTFanBoy2", "TheRealMT")
	}
	// Without the separator the prefix takes in another user's rows.
	got, err := keySuffixes(ctx, tall.T, []byte("TheFakeMT"))
	v.list("rows of the bare prefix", got, err, "+HRogers", "+MTFanBoy2", "+TheRealMT", "Too+Olivia")
	v.is("a name with a separator is refused", tall.Follow(ctx, "a+b", "c") != nil, true, nil)
}

func checkStream(ctx context.Context, v *verdict, t []cellstore.Table, clock *Clock) {
	fans := Relations{t[0]}
	stream := Stream{T: t[1], Fans: fans}
	for _, user := range []string{"ann", "bob", "a+b\x00"} {
		v.ok(fans.Follow(ctx, user, "mark"))
	}
	v.ok(fans.Follow(ctx, "ann", "olivia"))
	others := func(user string, r Relation, want ...string) {
		var got []string
		err := fans.Each(ctx, user, r, func(name string) error { got = append(got, name); return nil })
		v.set(fmt.Sprintf("relation %d of %q", r, user), got, err, want...)
	}
	others("ann", Follows, "mark", "olivia")
	others("ann", FollowedBy)
	others("mark", FollowedBy, "a+b\x00", "ann", "bob")
	others("mark", Follows)

	newest := func(reader string, n int, want ...string) {
		posts, err := stream.Newest(ctx, reader, n)
		var got []string
		for _, p := range posts {
			got = append(got, fmt.Sprintf("%s: %s", p.Author, p.Text))
		}
		v.list(fmt.Sprintf("stream of %q", reader), got, err, want...)
	}
	v.ok(stream.Publish(ctx, Post{At: clock.Now(), ID: 1, Author: "mark", Text: "first"}))
	clock.Advance(time.Hour)
	v.ok(stream.Publish(ctx, Post{At: clock.Now(), ID: 2, Author: "olivia", Text: "second"}))
	v.ok(stream.Publish(ctx, Post{At: clock.Now(), ID: 2, Author: "olivia", Text: "second"})) // repeated
	newest("ann", 0, "olivia: second", "mark: first")
	newest("ann", 1, "olivia: second")
	newest("bob", 0, "mark: first")
	newest("mark", 0)
	clock.Advance(StreamRetention - time.Hour) // of the first post's age, which still stays
	newest("bob", 0, "mark: first")
	clock.Advance(time.Millisecond)
	newest("bob", 0)
	newest("ann", 0, "olivia: second")
}

// qualifiersOf lists the columns a row has in a family.
func qualifiersOf(row *cellstore.Row, family string) []string {
	var names []string
	for _, c := range row.Cells {
		if c.Family == family {
			names = append(names, string(c.Qualifier))
		}
	}
	return names
}

// columnsOf lists the columns of a row that is to be read.
func columnsOf(ctx context.Context, t cellstore.Table, key, family string) ([]string, error) {
	var row cellstore.Row
	_, err := t.Get(ctx, []byte(key), &cellstore.Selection{Families: []string{family}}, &row)
	return qualifiersOf(&row, family), err
}

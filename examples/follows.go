package main

import (
	"context"
	"fmt"
	"strings"

	"quadrille/cellstore"
)

// wideFollows stores the followees of a user in one row, with a column per followee:
//
//	row         f:
//	TheFakeMT   HRogers=""  TheRealMT=""
//
// Following a user is one put, one read answers both questions, and the followees of a user are
// changed and read atomically. But a row is always read as a whole, so the design suits users with
// thousands of followees, not millions.
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

// tallFollows stores a row for each pair:
//
//	row                   f:
//	TheFakeMT+HRogers     (empty)=""
//	TheFakeMT+TheRealMT   (empty)=""
//
// No row grows, a Get finds a pair (the row filter excludes missing pairs), and the followees of a
// user are the rows with a prefix. The prefix ends with the separator, because without it a scan
// for TheFake would also return the rows of TheFakeMT. Names must not contain the separator.
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

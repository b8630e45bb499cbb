package main

import (
	"context"
	"fmt"
	"sync"

	"quadrille/cellstore"
)

// ids assigns short ids of a fixed length to names, permanently:
//
//	uid   row: name        ── id   : kind → id (3)
//	      row: id (3)      ── name : kind → name
//	      row: 0x00        ── id   : kind → counter, the last id given out
//
// Both directions are in one table, and the families keep them apart. Each kind of name has
// separate ids. To create an id, a process takes a number from the counter, writes id → name, and
// then writes name → id, if no other process has written it. A crash at any moment leaves only an
// unused number, so an id in data always has a name. If several processes create an id for the same
// name, all take different numbers and exactly one succeeds; the others return the id that it
// wrote.
//
// If block is 1, every new name costs an increment. If block is greater, one increment reserves
// this many numbers for the process, and those that it has not used at its end are lost. Processes
// with different blocks may run together, because they use one counter.
type ids struct {
	table cellstore.Table
	block int64

	mu     sync.Mutex
	grants map[string]*grant // by kind
}

type grant struct{ next, last int64 }

const idCounters = "\x00"

// lookup returns the id of a name, or "" if it has none. nameOf returns the name of an id.
func (u *ids) lookup(ctx context.Context, kind, name string) (string, error) {
	return value(ctx, u.table, name, "id", kind)
}

func (u *ids) nameOf(ctx context.Context, kind, id string) (string, error) {
	return value(ctx, u.table, id, "name", kind)
}

// create returns the id of a name, and assigns an id if it has none. It may be repeated after a
// failure.
func (u *ids) create(ctx context.Context, kind, name string) (string, error) {
	if name == idCounters {
		return "", fmt.Errorf("name %q is the row of the counters: choose another", name)
	}
	if id, err := u.lookup(ctx, kind, name); id != "" || err != nil {
		return id, err
	}
	id, err := u.take(ctx, kind)
	if err != nil {
		return "", err
	}
	if err := put(ctx, u.table, id, cellstore.Put("name", []byte(kind), []byte(name))); err != nil {
		return "", err
	}
	won, err := u.table.CheckAndMutate(ctx,
		cellstore.Check{Family: "id", Qualifier: []byte(kind), Op: cellstore.Absent},
		cellstore.Mutation{Row: []byte(name), Ops: []cellstore.Op{cellstore.Put("id", []byte(kind), []byte(id))}})
	if won || err != nil {
		return id, err
	}
	return u.lookup(ctx, kind, name)
}

// take returns a unique number.
func (u *ids) take(ctx context.Context, kind string) (string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	g := u.grants[kind]
	if g == nil || g.next == g.last {
		n, err := u.table.Increment(ctx, cellstore.Increment{
			Row:    []byte(idCounters),
			Deltas: []cellstore.Delta{{Family: "id", Qualifier: []byte(kind), By: u.block}},
		}, nil)
		if err != nil {
			return "", err
		}
		g = &grant{next: n[0] - u.block, last: n[0]}
		u.grants[kind] = g
	}
	if g.next+1 >= 1<<24 {
		return "", fmt.Errorf("kind %s has given out all ids of 3 bytes: widen them", kind)
	}
	g.next++
	return string([]byte{byte(g.next >> 16), byte(g.next >> 8), byte(g.next)}), nil
}

// suggest returns up to n names of a kind that begin with a prefix, sorted. It reads only the
// column id:kind. Therefore it reads neither columns of the family name nor names of other kinds,
// except the counters.
func (u *ids) suggest(ctx context.Context, kind, prefix string, n int) ([]string, error) {
	names := cellstore.Prefix([]byte(prefix))
	if prefix == "" || prefix == idCounters {
		names.From = []byte(idCounters + "\x00") // after the counters
	}
	var found []string
	for row, err := range u.table.Scan(ctx, cellstore.Scan{Ranges: []cellstore.Range{names}, Selection: *column("id", kind), Limit: n}) {
		if err != nil {
			return nil, err
		}
		found = append(found, string(row.Key))
	}
	return found, nil
}

func playIDs(d *demo) {
	t := d.table("uid", cellstore.Family{Name: "id"}, cellstore.Family{Name: "name"})
	single := &ids{table: t, block: 1, grants: map[string]*grant{}}
	ten := &ids{table: t, block: 10, grants: map[string]*grant{}}
	for _, step := range []struct {
		ids        *ids
		kind, name string
	}{
		{single, "metrics", "mysql.bytes_sent"},
		{ten, "metrics", "mysql.uptime"}, // takes 2 to 11
		{single, "metrics", "mysql.slow"},
		{ten, "metrics", "mz.first"},
		{ten, "metrics", "mysql.slow"}, // has its id already
		{single, "tagk", "my.host"},
		{single, "tagk", "mysql.slow"},
	} {
		id := must(step.ids.create(d.ctx, step.kind, step.name))
		d.print(fmt.Sprintf("%s %s has id %x, which leads back to", step.kind, step.name, id), must(single.nameOf(d.ctx, step.kind, id)))
	}
	for _, q := range []struct {
		kind, prefix string
		n            int
	}{{"metrics", "my", 25}, {"metrics", "mysql.", 2}, {"tagk", "", 25}, {"tagk", "\x00", 25}, {"tagv", "my", 25}} {
		d.print(fmt.Sprintf("suggestions for %s %q", q.kind, q.prefix), must(single.suggest(d.ctx, q.kind, q.prefix, q.n)))
	}

	_, err := single.create(d.ctx, "tagk", idCounters)
	d.print("the row of the counters as a name", err)

	const workers, names = 8, 4
	var got [workers][names]string
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for n := range names {
				got[w][n] = must([]*ids{single, ten}[w%2].create(d.ctx, "tagv", fmt.Sprint("host", n)))
			}
		})
	}
	wg.Wait()
	agree := true
	for w := range workers {
		agree = agree && got[w] == got[0]
	}
	d.print("racing creators agree", agree)
	for _, id := range got[0] {
		d.print("an id of theirs leads back to", must(single.nameOf(d.ctx, "tagv", id)))
	}
}

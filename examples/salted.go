package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"quadrille/cellstore"
)

// buckets is the number of buckets, 1 to 256. It must not change once there is data.
const buckets = 8

// bucketOf spreads names evenly over the buckets.
func bucketOf(name string) string {
	h := fnv.New32a()
	h.Write([]byte(name))
	return string([]byte{byte(h.Sum32() % buckets)})
}

// saltedKeys returns, in order, the keys from ≤ key < to of a table with salted keys. An empty to
// means no upper bound. Salts distribute keys that arrive in order, such as times, over a fixed
// number of buckets, so that not all writes are at the end of the table. The salt is computed from
// the key, so a Get still costs one read.
//
//	row                v:
//	bucket 1 B | key   (empty)=value  (bucket = bucketOf(key))
//
// The read is one scan with a range per bucket. Only the keys within a bucket are in order.
// Therefore the result is sorted, which needs the whole result in memory.
func saltedKeys(ctx context.Context, t cellstore.Table, from, to string) ([]string, error) {
	var ranges []cellstore.Range
	for i := range buckets {
		salt := []byte{byte(i)}
		r := cellstore.Range{From: slices.Concat(salt, []byte(from)), To: slices.Concat(salt, []byte(to))}
		if to == "" {
			r.To = cellstore.PrefixEnd(salt)
		}
		ranges = append(ranges, r)
	}
	var found []string
	for row, err := range t.Scan(ctx, cellstore.Scan{Ranges: ranges}) {
		if err != nil {
			return nil, err
		}
		found = append(found, string(row.Key[1:]))
	}
	slices.Sort(found)
	return found, nil
}

func playSaltedKeys(d *demo) {
	t := d.table("keys_salted", cellstore.Family{Name: "v"})
	for i := range 40 {
		key := fmt.Sprintf("day%02d", i)
		ok(put(d.ctx, t, bucketOf(key)+key, cellstore.Put("v", nil, []byte(key))))
	}
	d.print("all", must(saltedKeys(d.ctx, t, "", "")))
	d.print("from day07 to day31", must(saltedKeys(d.ctx, t, "day07", "day31")))
	d.print("one", must(value(d.ctx, t, bucketOf("day09")+"day09", "v", "")))
}

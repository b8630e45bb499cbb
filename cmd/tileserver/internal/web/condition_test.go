package web

import (
	"fmt"
	"testing"
)

func TestHashesDiffer(t *testing.T) {
	seen := map[Hash]string{}
	add := func(name string, h Hash) {
		if was, ok := seen[h]; ok {
			t.Errorf("%s and %s have one hash", name, was)
		}
		seen[h] = name
	}
	add("ab|c", HashStart.Bytes("ab").Bytes("c"))
	add("a|bc", HashStart.Bytes("a").Bytes("bc"))
	add("abc", HashStart.Bytes("abc"))
	add("abc|", HashStart.Bytes("abc").Bytes(""))
	for i := range uint64(1000) {
		for j := range uint64(10) {
			add(fmt.Sprint(i, j), HashStart.Number(i).Number(j))
		}
	}
	if a := HashStart.Bytes("stable").Number(1).Tag(); string(a.text[:a.n]) != `"`+stableTag+`"` {
		t.Errorf("tags must be the same in every process: %s", a.text[:a.n])
	}
}

const stableTag = "3b339785b4cb0203"

package cql2_test

import (
	"fmt"

	"quadrille/cmd/tileserver/internal/cql2"
	"quadrille/quadkey"
)

func Example() {
	f, err := cql2.Parse("CASEI(name) LIKE CASEI('o%') AND s_intersects(geometry, BBOX(7, 46, 8, 47))")
	if err != nil {
		fmt.Println(err)
		return
	}
	box, _ := f.Box()
	fmt.Println("search", box, "for", f.Properties())
	oak := map[string]any{"name": "Oak"}
	fmt.Println(f.Match(
		func(name string) any { return oak[name] },
		func(b quadkey.Box) bool { return b.Contains(7.4, 46.9) },
	))
	_, err = cql2.Parse("name = Oak")
	fmt.Println(err)
	// Output:
	// search 7,46,8,47 for [name]
	// true
	// filter, byte 7: two properties are compared; write a value on one side, and text in single quotes, such as 'Oak'
}

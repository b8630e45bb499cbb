package quadkey_test

import (
	"bytes"
	"errors"
	"fmt"

	"quadrille/quadkey"
)

// This finds the tile in which a web map shows the Brandenburg Gate.
func ExampleTileAt() {
	t, err := quadkey.TileAt(13.3777, 52.5163, 13)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t)
	fmt.Println(t.Quadkey())
	fmt.Printf("%.4f\n", t.Bound())
	// Output:
	// 13/4400/2686
	// 1202102332220
	// {13.3594 52.5095 13.4033 52.5363}
}

func ExampleTileAt_edges() {
	for _, p := range [][2]float64{{180, 0}, {-180, 0}, {0, 90}, {0, -90}} {
		t, err := quadkey.TileAt(p[0], p[1], 4)
		fmt.Println(p, t, err)
	}
	_, err := quadkey.TileAt(0, 91, 4)
	fmt.Println(errors.Is(err, quadkey.ErrCoordinate), err)
	// Output:
	// [180 0] 4/0/8 <nil>
	// [-180 0] 4/0/8 <nil>
	// [0 90] 4/8/0 <nil>
	// [0 -90] 4/8/15 <nil>
	// true coordinate out of range: latitude 91; give degrees from -90 to 90
}

func ExampleTile_Packed() {
	t, err := quadkey.ParseQuadkey("12301230")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t, t.Packed())
	// Output: 8/170/102 27756
}

// A tile's key sorts right after those of its descendants.
func ExampleTile_Key() {
	parent := quadkey.Tile{Z: 3, X: 4, Y: 2}
	children := parent.Children()
	for _, t := range append(children[:], parent) {
		key := t.Key()
		fmt.Printf("%x %s\n", key, t)
	}
	first, last := parent.KeyRange()
	grandchild := quadkey.Tile{Z: 5, X: 17, Y: 11}.Key()
	fmt.Println(bytes.Compare(first[:], grandchild[:]) <= 0 && bytes.Compare(grandchild[:], last[:]) <= 0)
	// Output:
	// 60fffffffb 4/8/4
	// 61fffffffb 4/9/4
	// 62fffffffb 4/8/5
	// 63fffffffb 4/9/5
	// 63fffffffc 3/4/2
	// true
}

// A few range scans read the row keys that start with a cell. Check their results against the
// circle, which is smaller than its cover.
func ExampleCoverCircle() {
	ranges, err := quadkey.CoverCircle(-0.1276, 51.5072, 2000, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range ranges {
		start, stop := r.Keys()
		fmt.Printf("from %x to %x: %d cells\n", start, stop, r.Last-r.First+1)
	}
	// Output:
	// from 3777569b to 377756d0: 53 cells
	// from 377756e0 to 377756ff: 31 cells
	// from 37775c05 to 37775c20: 27 cells
	// from 37775c30 to 37775c71: 65 cells
}

// Fiji lies on both sides of ±180°.
func ExampleCoverBox() {
	fiji, err := quadkey.ParseBox("176.8,-21.1,-178.1,-12.4")
	if err != nil {
		fmt.Println(err)
		return
	}
	ranges, err := quadkey.CoverBox(fiji, 8)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, lon := range []float64{178.4, 180, -179.9, 0} {
		cell, err := quadkey.CellOf(lon, -18.1)
		if err != nil {
			fmt.Println(err)
			return
		}
		found := false
		for _, r := range ranges {
			found = found || r.Contains(cell)
		}
		fmt.Println(lon, found)
	}
	// Output:
	// 178.4 true
	// 180 true
	// -179.9 true
	// 0 false
}

// A nearest search may skip every tile whose bound is beyond the best distance so far.
func ExampleTile_MinDistance() {
	t, err := quadkey.ParseQuadkey("120210233222")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.0f m\n", t.MinDistance(13.3777, 52.5163)) // inside
	fmt.Printf("%.0f m\n", t.MinDistance(2.2945, 48.8583))
	fmt.Printf("%.0f m\n", quadkey.Distance(2.2945, 48.8583, 13.3777, 52.5163))
	// Output:
	// 0 m
	// 876492 m
	// 879094 m
}

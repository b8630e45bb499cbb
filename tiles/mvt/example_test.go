package mvt_test

import (
	"fmt"
	"log"

	"quadrille/tiles/mvt"
)

// This writes a layer with one point and reads it again.
func ExampleNextLayer() {
	var l mvt.Layer
	l.Reset("town")
	l.Begin(1, mvt.Point)
	l.TagString("name", "Middletown")
	l.Point(mvt.XY{X: 2048, Y: 2048})
	l.End()
	tile := l.AppendTo(nil)

	var v mvt.LayerView
	if _, _, err := mvt.NextLayer(tile, &v); err != nil {
		log.Fatal(err)
	}
	for i := range v.Len() {
		f, err := v.Feature(i)
		if err != nil {
			log.Fatal(err)
		}
		var p mvt.Path
		p.Reset(f)
		points, _, _, err := p.Next(nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s at %v\n", v.Name, v.StringTag(f, "name"), points)
	}
	// Output:
	// town: Middletown at [{2048 2048}]
}

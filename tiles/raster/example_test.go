package raster_test

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"log"

	"quadrille/tiles/mvt"
	"quadrille/tiles/raster"
)

// This draws a tile that one region covers.
func ExampleRenderer_AppendPNG() {
	var l mvt.Layer
	l.Reset("country")
	l.Begin(1, mvt.Polygon)
	l.TagString("id", "ls")
	l.Ring([]mvt.XY{{X: -64, Y: -64}, {X: 4160, Y: -64}, {X: 4160, Y: 4160}, {X: -64, Y: 4160}})
	l.End()

	r, err := raster.New(raster.PoliticalStyle(&raster.Palette{
		Land: []color.NRGBA{{0xf6, 0xed, 0xd1, 0xff}, {0xde, 0xef, 0xd4, 0xff}},
	}))
	if err != nil {
		log.Fatal(err)
	}
	file, err := r.AppendPNG(nil, &raster.Tile{Zoom: 8, Scale: 2, Vector: l.AppendTo(nil)})
	if err != nil {
		log.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(img.Bounds().Size())
	// Output:
	// (512,512)
}

package cql2_test

import (
	"context"
	"fmt"

	"quadrille/cmd/internal/cql2"
	"quadrille/feature"
	"quadrille/quadkey"
)

func Example() {
	f, err := cql2.Parse("CASEI(name) LIKE CASEI('o%') AND s_intersects(geometry, BBOX(7, 46, 8, 47))")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("search", f.Area(), "for", f.Properties())
	fmt.Println(f.Expression(nil, nil, nil).Match(context.Background(), &feature.Feature{
		Position:   quadkey.Position{Lat: 46.9, Lon: 7.4},
		Properties: feature.PropertiesOf(feature.Property{Name: "name", Value: feature.TextValue([]byte("Oak"))}),
	}))
	_, err = cql2.Parse("name = Oak")
	fmt.Println(err)
	// Output:
	// search box 7,46,8,47 for [name]
	// true <nil>
	// filter, byte 7: two properties are compared; write a value on one side, and text in single quotes, such as 'Oak'
}

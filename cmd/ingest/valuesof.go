package main

import "errors"

// valuesOf is the flag of tables whose rows are about regions.
type valuesOf struct {
	ValuesOf string `name:"values-of" env:"QUADRILLE_POINTS_VALUES_OF" placeholder:"LAYER" help:"The rows are values of the regions of this published layer, which a column has by their ids, codes or names; --id says which. Points get the ids and places of the regions, and maps of the layer can be coloured by the values."`
}

// check refuses other flags that cannot go with it.
func (v *valuesOf) check(c *pointsCmd) error {
	if v.ValuesOf == "" {
		return nil
	}
	switch {
	case c.IntoLive != "":
		return &usageError{errors.New("--values-of is for collections that are published: leave out --into-live, or give the points positions and the ids of regions")}
	case c.Lat != "" || c.Lon != "" || c.AxisOrder != "":
		return &usageError{errors.New("--values-of takes the positions of regions: leave out --lat, --lon and --axis-order")}
	}
	return nil
}

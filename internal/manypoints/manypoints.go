// Package manypoints makes collections of very many points for benchmarks. The points are
// distributed like places: around cities of all sizes. Each has ten properties. The same number
// gives the same points everywhere, and a smaller number gives the first of them. All names are
// invented.
package manypoints

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
)

// categories are the values of the property category, the most frequent first.
var categories = [...]string{"cafe", "bakery", "shop", "charger", "zoo"}

// areas are the boxes that contain the cities: south, west, north and east. Some of the boxes have
// many borders of regions.
var areas = [...][4]float64{
	{43, -1, 53, 15},     // Western Europe
	{12, 74, 28, 86},     // India
	{24, 105, 40, 120},   // China
	{31, -95, 42, -78},   // the east of the United States
	{-25, -55, -5, -40},  // Brazil
	{-15, 12, 12, 32},    // Central Africa
	{-60, -180, 70, 180}, // anywhere
}

// cities is the number of cities.
const cities = 5000

// point is a point before it is written.
type point struct {
	number                       int
	lat, lon                     float64
	category                     string
	price                        float64
	open                         bool
	phone, street, city, rating  int
	year, month, tagOne, tagMore int
}

// each yields n points; p is valid until the next.
func each(n int) iter.Seq[*point] {
	return func(yield func(*point) bool) {
		r := rand.New(rand.NewPCG(9, 9))
		var at [cities]struct{ lat, lon, size float64 }
		for i := range at {
			a := areas[i%len(areas)]
			at[i].lat, at[i].lon = a[0]+(a[2]-a[0])*r.Float64(), a[1]+(a[3]-a[1])*r.Float64()
			at[i].size = 0.005 + r.ExpFloat64()*0.05
		}
		for i := range n {
			// A few cities have many points.
			city := int(cities * r.Float64() * r.Float64() * r.Float64())
			c := at[city]
			p := point{
				number: i, lat: c.lat + r.NormFloat64()*c.size, lon: math.Remainder(c.lon+r.NormFloat64()*c.size, 360),
				category: categories[min(int(r.ExpFloat64()), len(categories)-1)], price: float64(r.IntN(1000)) / 10, open: r.IntN(3) > 0,
				phone:   r.IntN(1e7),
				street:  r.IntN(300),
				city:    city,
				rating:  r.IntN(6),
				year:    r.IntN(26),
				month:   1 + r.IntN(9),
				tagOne:  r.IntN(20),
				tagMore: r.IntN(20),
			}
			if !yield(&p) {
				return
			}
		}
	}
}

func (p *point) properties(dst []byte) []byte {
	return fmt.Appendf(dst, `{"name":"Shop number %d","category":%q,"price":%.1f,"open":%v,"phone":"+41 44 %07d","street":"Main Street %d","city":"City %d","opened":"20%02d-0%d-11T00:00:00Z","tags":["a%d","b%d"],"rating":%d}`,
		p.number, p.category, p.price, p.open, p.phone, p.street, p.city, p.year, p.month, p.tagOne, p.tagMore, p.rating)
}

// Point is a point with its properties, a JSON object.
type Point struct {
	ID         string
	Lat, Lon   float64
	Properties []byte
}

// Each yields the first n points. Properties are valid until the next one.
func Each(n int) iter.Seq[Point] {
	return func(yield func(Point) bool) {
		var b []byte
		for p := range each(n) {
			b = p.properties(b[:0])
			if !yield(Point{fmt.Sprint("shop-", p.number), p.lat, p.lon, b}) {
				return
			}
		}
	}
}

// AppendFeature appends a point as a feature of GeoJSON.
func AppendFeature(dst []byte, p Point) []byte {
	dst = fmt.Appendf(dst, `{"type":"Feature","id":%q,"geometry":{"type":"Point","coordinates":[%.7f,%.7f]},"properties":`, p.ID, p.Lon, p.Lat)
	return append(append(dst, p.Properties...), '}')
}

// WriteLines writes the first n points as GeoJSON features, one a line.
func WriteLines(w io.Writer, n int) error {
	out := bufio.NewWriterSize(w, 1<<20)
	var b []byte
	for p := range Each(n) {
		b = append(AppendFeature(b[:0], p), '\n')
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
	return out.Flush()
}

// WriteTable writes the first n points as a table with a header, separated by commas.
func WriteTable(w io.Writer, n int) error {
	out := bufio.NewWriterSize(w, 1<<20)
	fmt.Fprintln(out, "id,lat,lon,name,category,price,open,phone,street,city,opened,tags,rating")
	for p := range each(n) {
		_, err := fmt.Fprintf(out,
			"shop-%d,%.7f,%.7f,Shop number %d,%s,%.1f,%v,+41 44 %07d,Main Street %d,City %d,20%02d-0%d-11T00:00:00Z,a%d;b%d,%d\n",
			p.number, p.lat, p.lon, p.number, p.category, p.price, p.open, p.phone, p.street, p.city, p.year, p.month, p.tagOne, p.tagMore, p.rating)
		if err != nil {
			return err
		}
	}
	return out.Flush()
}

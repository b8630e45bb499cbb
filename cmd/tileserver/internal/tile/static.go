package tile

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/theme"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/quadkey"
	"quadrille/tiles/layertile"
)

// These are bounds of a static picture.
const (
	maxSide   = 1280 // CSS pixels
	maxPins   = 100
	pinRadius = 6  // CSS pixels
	pinRoom   = 24 // between pins and the edge, if these decide what is shown
)

var (
	centerParam = endpoint.Text("center", 64, "Latitude and longitude of the middle, such as `47.37,8.54`. With `zoom`; or else `bbox` or `pin`.").
			WithExample("47.37,8.54")
	staticZoomParam = endpoint.Integer("zoom", 0, quadkey.MaxZoom, "The zoom of tiles of 256 pixels. Left out, it is the deepest that shows the box or the pins.").
			WithExample(9)
	staticBoxParam = endpoint.BBox.AsOptional()
	sizeParam      = endpoint.Text("size", 16, "Width and height in pixels, at most "+strconv.Itoa(maxSide)+" each, such as `600x400`, which is the default.").
			WithExample("600x400")
	pinParam = endpoint.Text("pin", 4096, "Positions to mark, at most "+strconv.Itoa(maxPins)+": latitude and longitude of each, all joined by commas.").
			WithExample("47.37,8.54,46.95,7.44")
)

// staticMap is a picture of a map.
type staticMap struct {
	width, height, scale int
	zoom                 uint8
	x, y                 float64 // of the middle, 0 to 1, from 180° west and from the north
	pins                 []quadkey.Position
}

var _ = added.Add(func(s *Handlers) endpoint.Endpoint {
	return endpoint.Endpoint{
		Path: "/static/{layers}.png", Route: "/static/:file",
		ID: "getStaticMap", Tag: "tiles", Rank: 7,
		Summary: "A picture of a map",
		Doc: "For a page, a mail or a document: the tiles of the layers around a middle, in a box or around pins, in one picture. " +
			"What is to be credited is in the TileJSON of the layers, and belongs beside the picture.",
		Params: []endpoint.Param{s.layersParam(), centerParam, staticZoomParam, staticBoxParam, sizeParam, pinParam, scaleParam,
			pictureThemeParam, endpoint.Names, colorParam, classesParam, schemeParam, legendParam, filtersParam},
		TakesFilters: true,
		Handle:       s.getStatic, Cost: endpoint.Heavy,
		Answers: endpoint.Content{"image/png": nil}, CachePolicy: endpoint.CacheTagged,
		Problems: []string{
			"bad-parameter", "unknown-format", "unknown-layer", "region-not-found", "tile-too-complex", "search-too-wide", "dataset-missing",
		},
		Example: endpoint.Example{Request: "/static/country.png?center=47.37,8.54&zoom=5&size=300x200&pin=47.37,8.54"},
	}
})

// getStatic answers GET /static/{layers}.png.
func (s *Handlers) getStatic(c echo.Context, q *endpoint.Params) error {
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	list, ok := strings.CutSuffix(values[0], ".png")
	if !ok {
		return web.ErrFormat
	}
	m := readStatic(q)
	v := viewOf(q.View())
	defer v.release()
	v.naming = layertile.Names{Lang: langOf(q, endpoint.Names), Instead: true}
	v.color = coloringOf(q, true)
	legend := legendParam.Of(q)
	f := web.FormatPNG
	if m.scale == 2 {
		f = formPNG2x
	}
	look, err := pictureTheme(q, f)
	if err != nil {
		return err
	}
	set, err := s.resolveLayers(c.Request().Context(), v, list)
	if err != nil {
		return err
	}
	set = set.colored(v)
	if err := v.filter(q, set); err != nil {
		return err
	}
	v.spare(set, f)
	_, from, live := s.keyOf(v, set, quadkey.Tile{}, f, nil)
	a := web.Answer{Format: web.FormatPNG, CacheControl: s.CacheControl}
	if live {
		a.CacheControl, from = web.NoStore, nil
	}
	return s.Reply(c, a, from, func(ctx context.Context, out *web.Scratch) error {
		picture := image.NewNRGBA(image.Rect(0, 0, m.width*m.scale, m.height*m.scale))
		colors := &theme.GetTokens().Themes[theme.Themes[look]].Map
		draw.Draw(picture, picture.Bounds(), image.NewUniform(colors.Water.NRGBA), image.Point{}, draw.Src) // beyond the poles
		painted, err := s.color(s.WithClientOf(ctx, c), v, set, v.color, theme.Themes[look], true)
		if err != nil {
			return err
		}
		ctx = s.withHeavy(ctx, v, set, f)
		for t, at := range m.tiles() {
			tile, err := s.tileOf(ctx, v, set, t, f, look, painted, live)
			if err != nil {
				return err
			}
			draw.Draw(picture, image.Rectangle{at, at.Add(tile.Bounds().Size())}, tile, image.Point{}, draw.Over)
		}
		m.drawPins(picture, colors)
		if painted != nil && legend {
			if err := painted.drawLegend(picture, m.scale, theme.GetTokens().Themes[theme.Themes[look]]); err != nil {
				return err
			}
		}
		var b bytes.Buffer
		encoder := png.Encoder{CompressionLevel: png.BestSpeed}
		if err := encoder.Encode(&b, picture); err != nil {
			return err
		}
		out.Body = append(out.Body, b.Bytes()...)
		return nil
	})
}

// tileOf returns a tile as an image, from the cache if it may be cached.
func (s *Handlers) tileOf(ctx context.Context, v *view, set *layerSet, t quadkey.Tile, f web.Format, look uint8,
	painted *colored, live bool) (image.Image, error) {
	key, _, _ := s.keyOf(v, set, t, f, nil)
	key.theme = look
	left := mostNames
	v.naming.Left = &left
	if !live {
		a := web.Answer{Format: f, Tag: key.tag()}
		res, err := s.kept.Get(ctx, key, func(ctx context.Context, out *web.Scratch) (_ *web.CachedResponse, err error) {
			// The request has a heavy place.
			if out.Body, err = s.appendPNG(ctx, out.Body, v, set, t, f, look, painted); err != nil {
				return nil, err
			}
			return web.NewCachedResponse(&a, out.Body), nil
		})
		if err != nil {
			return nil, err
		}
		return png.Decode(bytes.NewReader(res.Body))
	}
	b := web.GetScratch()
	defer b.Release()
	var err error
	if b.Body, err = s.appendPNG(ctx, b.Body, v, set, t, f, look, painted); err != nil {
		return nil, err
	}
	return png.Decode(bytes.NewReader(b.Body))
}

// tileSide is the side of a tile in CSS pixels.
const tileSide = 256

// readStatic reads what a picture shows.
func readStatic(q *endpoint.Params) (m staticMap) {
	m.width, m.height, m.scale = 600, 400, 1
	if scaleParam.Of(q) == "2" {
		m.scale = 2
	}
	if sizeParam.Given(q) {
		w, h, _ := strings.Cut(sizeParam.Of(q), "x")
		var errs [2]error
		m.width, errs[0] = strconv.Atoi(w)
		m.height, errs[1] = strconv.Atoi(h)
		if errs != [2]error{} || m.width < 1 || m.height < 1 || m.width > maxSide || m.height > maxSide {
			q.Refuse(sizeParam.Name, "Write size as width and height in pixels, at most "+strconv.Itoa(maxSide)+" each, such as 600x400.")
			m.width, m.height = 1, 1
		}
	}
	if pinParam.Given(q) {
		if m.pins = positionsOf(pinParam.Of(q)); m.pins == nil {
			q.Refuse(pinParam.Name, "Give at most "+strconv.Itoa(maxPins)+" pins, latitude and longitude of each, all joined by commas, such as "+
				"47.37,8.54,46.95,7.44.")
		}
	}
	m.zoom = uint8(staticZoomParam.Of(q)) //nolint:gosec // at most MaxZoom
	box := staticBoxParam.Of(q)
	switch {
	case centerParam.Given(q):
		at := positionsOf(centerParam.Of(q))
		if len(at) != 1 {
			q.Refuse(centerParam.Name, "Write center as latitude and longitude, such as 47.37,8.54.")
			at = []quadkey.Position{{}}
		}
		if !staticZoomParam.Given(q) {
			q.Refuse(staticZoomParam.Name, "Add zoom, such as 9, since center alone does not say how much to show.")
		}
		m.x, m.y = quadkey.Project(at[0].Lon, at[0].Lat)
	case staticBoxParam.Given(q):
		m.fit(box, 0, staticZoomParam.Given(q))
	case len(m.pins) > 0:
		m.fit(boxAround(m.pins), pinRoom, staticZoomParam.Given(q))
	default:
		q.Refuse(centerParam.Name, "Add center and zoom, bbox or pin, to say what to show.")
	}
	return m
}

// positionsOf returns at most maxPins positions, latitude and longitude of each, all joined by commas; nil if the text
// is not of this form.
func positionsOf(text string) (all []quadkey.Position) {
	numbers := make([]float64, min(strings.Count(text, ",")+1, 2*maxPins+1))
	if len(numbers)%2 != 0 || !quadkey.ParseNumbers(text, numbers, quadkey.ParseNumber) {
		return nil
	}
	for pair := range slices.Chunk(numbers, 2) {
		p := quadkey.Position{Lat: pair[0], Lon: pair[1]}
		if !p.Valid() {
			return nil
		}
		all = append(all, p)
	}
	return all
}

// maxFitted is the deepest zoom that a box or pins lead to: around a single pin there is more than bare
// land.
const maxFitted = 12

// boxAround returns the narrowest box around positions.
func boxAround(pins []quadkey.Position) quadkey.Box {
	b := quadkey.Box{South: 90, North: -90}
	var lons []float64
	for _, p := range pins {
		b.South, b.North = min(b.South, p.Lat), max(b.North, p.Lat)
		lons = append(lons, p.Lon)
	}
	slices.Sort(lons)
	widest := -1.0 // the gap east of b.East
	for i, lon := range lons {
		next := lons[(i+1)%len(lons)]
		gap := next - lon
		if i+1 == len(lons) {
			gap += 360
		}
		if gap > widest {
			widest, b.East, b.West = gap, lon, next
		}
	}
	return b
}

// fit shows a box with room around it in CSS pixels, at the deepest zoom that has place for it, or at
// the zoom that is set.
func (m *staticMap) fit(b quadkey.Box, room int, fixed bool) {
	left, top := quadkey.Project(b.West, b.North)
	right, bottom := quadkey.Project(b.East, b.South)
	if b.West > b.East {
		right++
	}
	m.x, m.y = math.Mod((left+right)/2, 1), (top+bottom)/2
	for z := uint8(0); !fixed && z <= maxFitted; z++ {
		side := tileSide * float64(uint64(1)<<z)
		if z > 0 && ((right-left)*side > float64(max(m.width-2*room, 1)) || (bottom-top)*side > float64(max(m.height-2*room, 1))) {
			break
		}
		m.zoom = z
	}
}

// corner returns the upper left corner in pixels of the world at the zoom.
func (m *staticMap) corner() (left, top float64) {
	side := float64(tileSide*m.scale) * float64(uint64(1)<<m.zoom)
	return math.Round(m.x*side - float64(m.width*m.scale)/2), math.Round(m.y*side - float64(m.height*m.scale)/2)
}

// tiles yields the tiles of the picture, each with its place. Columns repeat around the world; there
// is nothing north and south of it.
func (m *staticMap) tiles() iter.Seq2[quadkey.Tile, image.Point] {
	return func(yield func(quadkey.Tile, image.Point) bool) {
		left, top := m.corner()
		side := tileSide * m.scale
		count := 1 << m.zoom
		first := func(from float64) int { return int(math.Floor(from / float64(side))) }
		for row := max(first(top), 0); row < count && row*side < int(top)+m.height*m.scale; row++ {
			for column := first(left); column*side < int(left)+m.width*m.scale; column++ {
				x := ((column % count) + count) % count
				t := quadkey.Tile{Z: m.zoom, X: uint32(x), Y: uint32(row)} //nolint:gosec // below 2 to the zoom
				if !yield(t, image.Pt(column*side-int(left), row*side-int(top))) {
					return
				}
			}
		}
	}
}

// drawPins draws a disc with a rim at each pin.
func (m *staticMap) drawPins(picture draw.Image, colors *theme.MapColors) {
	left, top := m.corner()
	world := float64(tileSide*m.scale) * float64(uint64(1)<<m.zoom)
	radius := float64(pinRadius * m.scale)
	for _, p := range m.pins {
		x, y := quadkey.Project(p.Lon, p.Lat)
		for _, turn := range []float64{-1, 0, 1} { // the picture may go across ±180°
			disc(picture, (x+turn)*world-left, y*world-top, radius+1.5*float64(m.scale), colors.PointsRim.NRGBA)
			disc(picture, (x+turn)*world-left, y*world-top, radius, colors.Points[0].NRGBA)
		}
	}
}

// disc draws a disc with a smooth edge.
func disc(picture draw.Image, x, y, radius float64, c color.NRGBA) {
	box := image.Rect(int(x-radius)-1, int(y-radius)-1, int(x+radius)+2, int(y+radius)+2).Intersect(picture.Bounds())
	for py := box.Min.Y; py < box.Max.Y; py++ {
		for px := box.Min.X; px < box.Max.X; px++ {
			share := min(max(radius-math.Hypot(float64(px)+0.5-x, float64(py)+0.5-y)+0.5, 0), 1)
			if share == 0 {
				continue
			}
			mask := image.NewUniform(color.Alpha{A: uint8(share * 255)})
			at := image.Rect(px, py, px+1, py+1)
			draw.DrawMask(picture, at, image.NewUniform(c), image.Point{}, mask, image.Point{}, draw.Over)
		}
	}
}

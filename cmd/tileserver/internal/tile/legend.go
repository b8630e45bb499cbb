package tile

import (
	"image"
	"image/color"
	"image/draw"
	"math"
	"strconv"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/theme"
	"quadrille/tiles/raster"
)

var legendParam = endpoint.Flag("legend", "The legend of `color` in a corner of the picture.").WithDefault(true).WithExample(false)

// These are lengths of a legend in CSS pixels.
const (
	legendMargin = 8   // around it, and within
	legendRow    = 16  // height of a row
	legendText   = 11  // size of letters
	legendSwatch = 12  // side of a square
	legendWidth  = 220 // of a text, at most
)

type legendLine struct {
	text  string
	color *color.NRGBA // nil for the title
}

// lines returns the title and the classes of a legend. It says the same as the legend of the map page.
func (of *colored) lines() []legendLine {
	list := []legendLine{{text: of.property}}
	for _, class := range of.classes.List {
		text := class.Value
		if of.classes.Numeric {
			text = legendNumber(class.From)
			if to := legendNumber(class.To); to != text {
				text += " – " + to
			}
		} else if text == "" {
			text = "–"
		}
		var c theme.Color
		_ = c.UnmarshalText([]byte(class.Color)) // it is one of package choropleth
		list = append(list, legendLine{text, &c.NRGBA})
	}
	if of.legend.Rest != nil {
		list = append(list, legendLine{"Other values", &of.missing.NRGBA})
	}
	if of.legend.Missing != nil {
		list = append(list, legendLine{"No value", &of.missing.NRGBA})
	}
	return list
}

// legendNumber writes a number with at most six digits that count, those of thousands in groups.
func legendNumber(v float64) string {
	text := strconv.FormatFloat(v, 'g', 6, 64)
	if a := math.Abs(v); a < 1e-4 && a > 0 || a >= 1e15 {
		return text
	}
	short, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	text = strconv.FormatFloat(short+0, 'f', -1, 64)
	first, end := 0, len(text)
	for i := range len(text) {
		switch {
		case text[i] == '-':
			first = 1
		case text[i] == '.':
			end = i
		}
	}
	for i := end - 3; i > first; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// drawLegend draws what the colours mean in the lower left corner. Rows for which the picture has no room are
// left out, and dots stand for them.
func (of *colored) drawLegend(picture draw.Image, scale int, colors *theme.Theme) error {
	size, ink, paper := picture.Bounds().Size(), colors.Label.Capital.NRGBA, colors.Label.Halo.NRGBA
	lines := of.lines()
	rows := (size.Y/scale - 4*legendMargin) / legendRow
	most := min(legendWidth, size.X/scale-4*legendMargin-legendSwatch-legendMargin) * scale
	if rows < 2 || most < legendText*scale {
		return nil
	}
	if len(lines) > rows {
		lines = append(lines[:rows-1], legendLine{text: "…"})
	}
	indent := func(l legendLine) int {
		if l.color == nil {
			return 0
		}
		return (legendSwatch + legendMargin) * scale
	}
	write := func(dst draw.Image, at image.Point, i int) (int, error) {
		return raster.DrawText(dst, at, lines[i].text, legendText*float64(scale), i == 0, ink, most)
	}
	width := 0
	for i, l := range lines {
		taken, err := write(nil, image.Point{}, i)
		if err != nil {
			return err
		}
		width = max(width, taken+indent(l))
	}
	margin, row, swatch := legendMargin*scale, legendRow*scale, legendSwatch*scale
	box := image.Rect(margin, size.Y-3*margin-len(lines)*row, 3*margin+width, size.Y-margin)
	draw.Draw(picture, box, image.NewUniform(paper), image.Point{}, draw.Over)
	paper.A = 255 // below a colour that is transparent
	for i, l := range lines {
		at := image.Pt(box.Min.X+margin, box.Min.Y+margin+i*row)
		if l.color != nil {
			square := image.Rect(at.X, at.Y+(row-swatch)/2, at.X+swatch, at.Y+(row+swatch)/2)
			draw.Draw(picture, square, image.NewUniform(ink), image.Point{}, draw.Over)
			for _, c := range []color.NRGBA{paper, *l.color} {
				draw.Draw(picture, square.Inset(scale), image.NewUniform(c), image.Point{}, draw.Over)
			}
		}
		if _, err := write(picture, image.Pt(at.X+indent(l), at.Y+row-(legendRow-legendText+1)*scale/2-scale), i); err != nil {
			return err
		}
	}
	return nil
}

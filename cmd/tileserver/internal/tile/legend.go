package tile

import (
	"cmp"
	"image"
	"image/draw"
	"math"
	"strconv"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

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

// lines returns the texts of the classes, and of other and of missing values, as the legend of the map page has them.
func (of *colored) lines() (texts []string) {
	for _, class := range of.classes.List {
		text := cmp.Or(class.Value, "–")
		if of.classes.Numeric {
			text = legendNumber(class.From)
			if class.From != class.To {
				text += " – " + legendNumber(class.To)
			}
		}
		texts = append(texts, text)
	}
	if of.legend.Rest != nil {
		texts = append(texts, "Other values")
	}
	if of.legend.Missing != nil {
		texts = append(texts, "No value")
	}
	return texts
}

// legendNumber writes a number with at most six digits that count.
func legendNumber(v float64) string {
	if a := math.Abs(v); a > 0 && a < 1e-4 || a >= 1e15 {
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	return message.NewPrinter(language.English).Sprint(number.Decimal(v, number.Precision(6)))
}

// drawLegend draws what the colours mean in the lower left corner. Rows for which the picture has no room are
// left out, and dots stand for them.
func (of *colored) drawLegend(picture draw.Image, scale int, style *theme.Theme) error {
	size, ink, paper := picture.Bounds().Size(), style.Label.Capital.NRGBA, style.Label.Halo.NRGBA
	margin, row, swatch, letters := legendMargin*scale, legendRow*scale, legendSwatch*scale, legendText*float64(scale)
	texts, colors := append([]string{of.property}, of.lines()...), of.colors()
	rows, most := (size.Y-4*margin)/row, min(legendWidth*scale, size.X-4*margin)
	if rows < 2 || most < 4*swatch {
		return nil
	}
	if len(texts) > rows {
		texts = append(texts[:rows-1], "…")
	}
	content := image.NewNRGBA(image.Rect(0, 0, most, len(texts)*row))
	width := 0
	for i, text := range texts {
		left := 0
		if i > 0 && (text != "…" || i+1 < rows) {
			left = swatch + margin
			square := image.Rect(0, 0, swatch, swatch).Add(image.Pt(0, i*row+(row-swatch)/2))
			draw.Draw(content, square, image.NewUniform(ink), image.Point{}, draw.Src)
			draw.Draw(content, square.Inset(scale), image.NewUniform(colors[min(i, len(colors))-1]), image.Point{}, draw.Src)
		}
		taken, err := raster.DrawText(content, image.Pt(left, i*row+row*3/4), text, letters, i == 0, ink, most-left)
		if err != nil {
			return err
		}
		width = max(width, left+taken)
	}
	inner := image.Rect(0, 0, width, content.Rect.Dy()).Add(image.Pt(2*margin, size.Y-2*margin-content.Rect.Dy()))
	draw.Draw(picture, inner.Inset(-margin), image.NewUniform(paper), image.Point{}, draw.Over)
	draw.Draw(picture, inner, content, image.Point{}, draw.Over)
	return nil
}

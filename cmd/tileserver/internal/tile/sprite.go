package tile

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
)

// spritePath is the beginning of the addresses of the sprite. Styles need the sprite for dots,
// because names can avoid icons but not circles.
const (
	spritePath   = "/sprite"
	spriteDot    = "dot"
	spriteRadius = 8.0 // of the dot, in pixels
	spriteSide   = 24
)

// SpriteIndex is the index of a sprite of the MapLibre Style Specification.
type SpriteIndex struct {
	_   struct{}    `name:"Sprite" doc:"The index of a sprite of the MapLibre Style Specification."`
	Dot spriteImage `json:"dot"`
}

type spriteImage struct {
	X          int  `json:"x"`
	Y          int  `json:"y"`
	Width      int  `json:"width"`
	Height     int  `json:"height"`
	PixelRatio int  `json:"pixelRatio"`
	SDF        bool `json:"sdf" doc:"The alpha channel is a distance field."`
}

// getSprite answers GET /sprite.json and /sprite.png, and the same files with @2x.
func (s *Handlers) getSprite(c echo.Context, _ *endpoint.Params) error {
	body, form := sprite()[0], web.FormatJSON
	if strings.HasSuffix(c.Path(), ".png") {
		body, form = sprite()[1], web.FormatPNG
	}
	return s.Reply(c, web.Answer{Format: form}, []uint64{}, func(_ context.Context, out *web.Scratch) error {
		out.Body = append(out.Body, body...)
		return nil
	})
}

// sprite is the index and the picture. For clients the edge of the dot is where alpha is three
// quarters. Alpha decreases by an eighth with each pixel outwards.
var sprite = sync.OnceValue(func() (files [2][]byte) {
	img := image.NewNRGBA(image.Rect(0, 0, spriteSide, spriteSide))
	for y := range spriteSide {
		for x := range spriteSide {
			outside := math.Hypot(float64(x)+0.5-spriteSide/2, float64(y)+0.5-spriteSide/2) - spriteRadius
			img.SetNRGBA(x, y, color.NRGBA{A: uint8(255 * min(max(0.75-outside/8, 0), 1))})
		}
	}
	var picture bytes.Buffer
	index, err := json.Marshal(SpriteIndex{Dot: spriteImage{Width: spriteSide, Height: spriteSide, PixelRatio: 1, SDF: true}})
	if err == nil {
		err = png.Encode(&picture, img)
	}
	if err != nil {
		panic(err) // both are made of constants
	}
	files[0], files[1] = index, picture.Bytes()
	return files
})

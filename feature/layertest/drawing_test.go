package layertest

import (
	"context"
	"strings"
	"testing"

	"quadrille/feature"
	"quadrille/quadkey"
)

// sketched is a Drawer with one attribute, or a faulty one.
type sketched struct {
	*Memory
	draw func(ctx context.Context, m *Memory, t quadkey.Tile, pen feature.Pen) error
}

func (s *sketched) Draw(ctx context.Context, t quadkey.Tile, _ feature.Filter, pen feature.Pen) error {
	return s.draw(ctx, s.Memory, t, pen)
}

// drawKind draws a layer with the property kind. Each change of this drawing is a fault.
func drawKind(ctx context.Context, m *Memory, t quadkey.Tile, pen feature.Pen) error {
	return feature.Each(m.Tile(ctx, t, nil), func(f *feature.Feature) error {
		if err := pen.Begin(f.Number, f.Position); err != nil {
			return err
		}
		pen.Text("kind", f.Properties.Text("kind"))
		pen.End()
		return nil
	})
}

func TestPlantedDrawings(t *testing.T) {
	type drawer = func(ctx context.Context, m *Memory, t quadkey.Tile, pen feature.Pen) error
	for name, c := range map[string]struct {
		draw  drawer
		named bool
		want  string
	}{
		"none":                {drawKind, false, ""},
		"no names":            {drawKind, true, "names in languages"},
		"nothing drawn":       {func(context.Context, *Memory, quadkey.Tile, feature.Pen) error { return nil }, false, "draws [], and has"},
		"an unknown property": {renamed("price"), false, "price, of kind"},
		"an error kept": {func(ctx context.Context, m *Memory, t quadkey.Tile, pen feature.Pen) error {
			_ = drawKind(ctx, m, t, pen)
			return nil
		}, false, "goes on after an error"},
	} {
		l := &sketched{shops(40), c.draw}
		l.LayerInfo.Drawing = &feature.Drawing{
			Attributes: feature.Schema{{Name: "kind", Kind: feature.Text}},
			HasNames:   c.named,
		}
		found := &findings{T: t}
		Test(found, l, Options{Rounds: 1})
		if text := strings.Join(found.all, "\n"); c.want == "" && text != "" || !strings.Contains(text, c.want) {
			t.Errorf("%s: found %q, want %q", name, text, c.want)
		}
	}
}

// renamed draws kind under another name.
func renamed(name string) func(ctx context.Context, m *Memory, t quadkey.Tile, pen feature.Pen) error {
	return func(ctx context.Context, m *Memory, t quadkey.Tile, pen feature.Pen) error {
		return drawKind(ctx, m, t, otherName{pen, name})
	}
}

type otherName struct {
	feature.Pen
	name string
}

func (o otherName) Text(_, value string) { o.Pen.Text(o.name, value) }

package clienttest

import (
	"fmt"
	"image"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/internal/programs"
	"quadrille/cmd/tileserver/internal/theme"
	"quadrille/cmd/tileserver/internal/tile"
	"quadrille/internal/must"
	"quadrille/quadkey"
	"quadrille/tiles/raster"
)

// mapName is a name on a map of either kind.
type mapName struct {
	ID   string // type/id for regions, id for places
	Text string
	Look string
	Box  struct{ Left, Top, Right, Bottom float64 } // CSS pixels from the window's corner
}

// The page and the pictures of tiles draw a name in the same style, and most names appear in both.
// Only the style of names of regions may differ, because it depends on the size: the page uses a
// smaller style if there is too little room. QUADRILLE_NAMES names a data directory whose map is
// tested in more views.
func TestMapPageAndPicturesAgree(t *testing.T) {
	browser := startBrowser(t)
	dir := os.Getenv("QUADRILLE_NAMES")
	views := []string{
		"#2/20/10", "#3/48/5", "#3/-15/-60", "#4/48/10", "#4/20/80", "#4/-5/25", "#5/52/-1", "#5/38/-95", "#5/28.6/77.2", "#6/47/9",
		"#6/41/29", "#6/-33/149", "#7/51/7", "#7/30/31.2", "#8/48.2/16.4", "#8/52.5/13.4", "#9/40.7/-74", "#9/19.4/-99.1",
		"#10/35.7/139.7", "#10/51.5/-0.1",
	}
	if dir == "" {
		dir, views = t.TempDir(), []string{"#4/48/3", "#5/48/3", "#6/45/10", "#7/47/3", "#9/45/10"}
		ingest := programs.Ingester(t)
		ingest("--data", dir, "boundaries", "--layer", "country=testdata/browser/countries.geojson:code",
			"--layer", "state=testdata/browser/states.geojson:code")
		ingest("--data", dir, "places", "testdata/browser/places.tsv")
	}
	site := programs.Serve(t, "--data", dir).URL
	pictures := newPictureNames(t, site)
	w := open(t, browser, site+"/#3/0/0", screen{width: 1280, height: 800, density: 1})
	var page, drawn, both, sized int
	differ := map[string][]string{} // names that differ in size only, by both looks
	for _, at := range views {
		w.visitNames(site + "/" + at)
		here := map[string]mapName{}
		for _, one := range evaluate[[]mapName](w, namesInView) {
			here[one.ID] = one
		}
		page += len(here)
		var only []string
		for _, one := range pictures.of(w, at) {
			drawn++
			other, ok := here[one.ID]
			if !ok {
				only = append(only, one.Text)
				continue
			}
			both++
			delete(here, one.ID)
			typ, _, _ := strings.Cut(one.ID, "/")
			several := len(theme.GetNames().Regions[typ].Looks) > 1
			if several {
				sized++
			}
			switch looks := other.Look + " → " + one.Look; {
			case one.Look == other.Look:
			case several:
				differ[looks] = append(differ[looks], one.Text+" "+at)
			default:
				t.Errorf("%s: %s is %s", at, one.Text, looks)
			}
		}
		var onlyHere []string
		for _, one := range here {
			onlyHere = append(onlyHere, one.Text)
		}
		t.Logf("%s: only the page has %q, only pictures have %q", at, onlyHere, only)
	}
	others := 0
	for looks, names := range differ {
		t.Logf("%d names of regions: %s: %q", len(names), looks, names)
		others += len(names)
	}
	t.Logf("%d views: the page has %d names, pictures %d, both %d, %d of them of regions with sizes, which differ for %d",
		len(views), page, drawn, both, sized, others)
	if 100*both < 80*page || 100*both < 85*drawn || sized > 20 && 100*others > 10*sized || both == 0 {
		t.Errorf("want at least 80 %% of the page's names in pictures, 85 %% of theirs in the page, and at most 10 %% of sizes that differ")
	}
}

// namesInView is an expression for the names of the page that are in its window.
const namesInView = `(() => {
	const canvas = [...document.querySelectorAll('.names canvas')].at(-1)
	const o = canvas.getBoundingClientRect()
	return canvas.names.filter(({ text }) => text).map(({ id, text, look, box: { left, top, right, bottom } }) =>
		({ id: id.replace(/:-?\d+$/, ''), text, look, box: { left: o.left + left, top: o.top + top, right: o.left + right, bottom: o.top + bottom } }))
		.filter(({ box }) => box.left >= 0 && box.right <= innerWidth && box.top >= 0 && box.bottom <= innerHeight)
})()`

// pictureNames finds the names in pictures of tiles.
type pictureNames struct {
	t        *testing.T
	site     string
	renderer *raster.Renderer
	looks    map[string]string // names of looks, by type and appearance
	layers   string
	tiles    map[quadkey.Tile][]byte
}

func newPictureNames(t *testing.T, site string) *pictureNames {
	style, table := tile.PictureStyle(theme.GetTokens().Themes["political"]), theme.GetNames()
	p := &pictureNames{
		t:        t,
		site:     site,
		renderer: must.Get(raster.New(style)).In(t),
		looks:    map[string]string{},
		tiles:    map[quadkey.Tile][]byte{},
	}
	var layers []string
	_, tileJSON := fetch(t, site+"/tiles/all.json")
	for _, typ := range []string{"country", "state", "county", "lake", "marine", "places"} {
		if strings.Contains(tileJSON, quote(typ)) {
			layers = append(layers, typ)
		}
		if one := style.Types[typ]; typ != "places" {
			for i, text := range append([]raster.TextStyle{one.Text}, one.SmallerTexts...) {
				p.looks[typ+kindOf(text)] = table.Regions[typ].Looks[i]
			}
		}
	}
	for i, tier := range theme.PlaceTiers {
		p.looks["places"+kindOf(style.Places.Tiers[i].Text)] = tier
	}
	p.layers = strings.Join(layers, ",")
	return p
}

func kindOf(text raster.TextStyle) string {
	return fmt.Sprint(text.Size, text.Bold, text.UpperCase, text.Color)
}

// of returns the names in the pictures of a window, except those that a panel of the page would
// cover.
func (p *pictureNames) of(w *window, at string) (all []mapName) {
	p.t.Helper()
	var zoom int
	var lat, lon float64
	must.Get(fmt.Sscanf(at, "#%d/%f/%f", &zoom, &lat, &lon)).In(p.t)
	x, y := quadkey.Project(lon, lat)
	size := 256 * math.Exp2(float64(zoom))
	left, top := x*size-float64(w.width)/2, y*size-float64(w.height)/2
	over := evaluate[[]struct{ Left, Top, Right, Bottom float64 }](w,
		`[...document.querySelectorAll('.bar, #card:not([hidden]), #layers, .leaflet-control, .pin span')].map(one => one.getBoundingClientRect().toJSON())`)
	seen := map[string]bool{}
	for row := math.Floor(top / 256); row*256 < top+float64(w.height); row++ {
		for column := math.Floor(left / 256); column*256 < left+float64(w.width); column++ {
			for _, name := range p.in(zoom, int(column), int(row)) {
				one := mapName{ID: fmt.Sprint(name.Number), Text: name.Text, Look: p.looks[name.Type+kindOf(name.Look)]}
				if name.Label {
					one.ID = name.Type + "/" + name.ID
				}
				box := name.Box.Add(image.Pt(int(column)*256, int(row)*256))
				one.Box.Left, one.Box.Right = float64(box.Min.X)-left, float64(box.Max.X)-left
				one.Box.Top, one.Box.Bottom = float64(box.Min.Y)-top, float64(box.Max.Y)-top
				hidden := one.Box.Left < 0 || one.Box.Top < 0 || one.Box.Right > float64(w.width) || one.Box.Bottom > float64(w.height)
				for _, o := range over {
					hidden = hidden || one.Box.Left < o.Right && o.Left < one.Box.Right && one.Box.Top < o.Bottom && o.Top < one.Box.Bottom
				}
				if key := fmt.Sprint(one.ID, box); !hidden && !seen[key] {
					seen[key] = true
					all = append(all, one)
				}
			}
		}
	}
	return all
}

// in returns the names in the picture of a tile. The column may lie in another copy of the world.
func (p *pictureNames) in(zoom, column, row int) []raster.Name {
	p.t.Helper()
	picture := raster.Tile{Zoom: zoom, Row: uint32(row), Scale: 1, Land: "country", FillSea: true}
	for i := range picture.Points {
		picture.Points[i] = p.points(zoom, column+i%3-1, row+i/3-1)
	}
	return must.Get(p.renderer.Names(&picture)).In(p.t)
}

func (p *pictureNames) points(zoom, column, row int) []byte {
	side := 1 << zoom
	if row < 0 || row >= side {
		return nil
	}
	at := quadkey.Tile{Z: uint8(zoom), X: uint32((column%side + side) % side), Y: uint32(row)}
	if b, ok := p.tiles[at]; ok {
		return b
	}
	status, body := fetch(p.t, p.site+"/tiles/"+p.layers+"/"+at.String()+".mvt")
	if !slices.Contains([]int{http.StatusOK, http.StatusNoContent}, status) {
		p.t.Fatalf("tile %s: %d", at, status)
	}
	p.tiles[at] = []byte(body)
	return p.tiles[at]
}

package ops

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/tileserver/internal/basemaps"
	"quadrille/cmd/tileserver/internal/theme"
	"quadrille/quadkey"
)

//go:embed statuspage.html
var statusText string

var statusTemplate = template.Must(template.New("status").Parse(statusText))

// statusPage returns the HTML page with the state of the server.
func statusPage(doc *Status, now time.Time) ([]byte, error) {
	page := struct {
		*Status
		Sets []setCard
		Maps []setCard
	}{Status: doc}
	layer := ""
	for _, m := range doc.BaseMaps {
		page.Maps = append(page.Maps, newMapCard(&m, now))
	}
	for _, d := range doc.Datasets {
		page.Sets = append(page.Sets, newSetCard(&d, now))
		if len(d.Types) > 0 {
			layer = d.Types[0].Name
		}
	}
	for _, cards := range [...][]setCard{page.Sets, page.Maps} {
		for i := range cards {
			cards[i].Layer = layer
		}
	}
	var out bytes.Buffer
	if err := statusTemplate.Execute(&out, page); err != nil {
		return nil, err
	}
	//nolint:gosec // the template has escaped it
	return (&theme.Document{Title: "Status", Here: "status", Body: template.HTML(out.String())}).HTML()
}

// setCard is the part of the page for one data set.
type setCard struct {
	Name, State string
	Fine        bool
	Facts       [][2]string
	Extents     []extent
	Sources     []string
	// Layer is the layer that the small map shows, or "" for none.
	Layer string
}

// newMapCard returns the card of a base map.
func newMapCard(m *basemaps.Map, now time.Time) setCard {
	card := setCard{Name: m.Name, State: m.State, Fine: m.State == catalogue.Serving, Extents: extentsOf(m.Bounds[:])}
	for _, fact := range [][2]string{
		{"Title", m.Title}, {"Tiles", m.Format}, {"Zooms", fmt.Sprintf("%d–%d", m.MinZoom, m.MaxZoom)}, {"Size", size(m.Bytes)},
		{"File of", m.Modified.Format("2 January 2006, 15:04 UTC") + age(now.Sub(m.Modified))},
	} {
		if fact[1] != "" {
			card.Facts = append(card.Facts, fact)
		}
	}
	if m.Attribution != "" {
		card.Sources = []string{m.Attribution}
	}
	return card
}

// extent is a box on the page's map. The map is the tile of zoom 0, with sides of 256 units.
type extent struct{ X, Y, Width, Height float64 }

const (
	side  = 256
	least = 2 // the smallest side of an extent that can be seen
)

func newSetCard(d *datasetStatus, now time.Time) setCard {
	card := setCard{Name: d.Name, State: d.State, Fine: d.State == "serving", Extents: extentsOf(d.Bounds)}
	fact := func(term, value string) {
		if value != "" {
			card.Facts = append(card.Facts, [2]string{term, value})
		}
	}
	if d.Generation > 0 {
		fact("Generation", strconv.FormatUint(d.Generation, 10))
		fact("Built", d.Built.UTC().Format("2 January 2006, 15:04 UTC")+age(now.Sub(d.Built)))
		fact("Size", size(d.Bytes))
	}
	fact("Outdated", d.Outdated)
	fact("Warning", strings.Join(d.Warnings, "; "))
	fact("Records", counts(d.Records))
	fact("Left out", counts(d.Bad))
	if worldwide(d.Bounds) {
		fact("Area", "the whole world")
	}
	for _, source := range d.Sources {
		line := source.Attribution
		if line == "" {
			line = source.Name
		}
		if line != "" && !slices.Contains(card.Sources, line) {
			card.Sources = append(card.Sources, line)
		}
	}
	return card
}

// counts writes how many records there are of each kind.
func counts(records map[string]int64) string {
	var kinds []string
	for _, name := range slices.Sorted(maps.Keys(records)) {
		kinds = append(kinds, grouped(records[name])+" "+strings.ReplaceAll(name, "_", " "))
	}
	return strings.Join(kinds, ", ")
}

// worldwide reports whether a box [west, south, east, north] in degrees holds nearly all land, so that
// there is nothing to see on a map of it.
func worldwide(bounds []float64) bool {
	return len(bounds) == 4 && bounds[2]-bounds[0] > 330 && bounds[3]-bounds[1] > 120
}

// extentsOf returns the box [west, south, east, north] in degrees as one extent, as two if it crosses
// ±180°, or as none if it is worldwide.
func extentsOf(bounds []float64) []extent {
	if len(bounds) != 4 || worldwide(bounds) {
		return nil
	}
	west, south, east, north := bounds[0], bounds[1], bounds[2], bounds[3]
	box := func(west, east float64) extent {
		x, y := quadkey.Project(west, north)
		right, bottom := quadkey.Project(east, south)
		e := extent{X: side * x, Y: side * y, Width: max(least, side*(right-x)), Height: max(least, side*(bottom-y))}
		e.X, e.Y = max(0, min(e.X, side-e.Width)), max(0, min(e.Y, side-e.Height))
		return e
	}
	if west > east {
		return []extent{box(west, 180), box(-180, east)}
	}
	return []extent{box(west, east)}
}

// age returns a duration in the past as text for people.
func age(d time.Duration) string {
	switch {
	case d < 0:
		return ""
	case d < 2*time.Minute:
		return " (just now)"
	case d < 2*time.Hour:
		return fmt.Sprintf(" (%d minutes ago)", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf(" (%d hours ago)", int(d.Hours()))
	default:
		return fmt.Sprintf(" (%d days ago)", int(d.Hours()/24))
	}
}

// size writes a number of bytes in powers of a thousand.
func size(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	exp := min(4, int(math.Log10(float64(n)))/3)
	return fmt.Sprintf("%.3g %cB", float64(n)/math.Pow(1000, float64(exp)), "kMGT"[exp-1])
}

// grouped writes a number with commas between thousands.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

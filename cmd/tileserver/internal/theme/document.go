package theme

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
	"sync"
)

//go:embed document.css
var documentCSS string

//go:embed document.html
var documentText string

// StylesheetPath is the path of the style sheet of documents, below the server's own address.
const StylesheetPath = "docs.css"

// CSS is the style sheet of documents. It defines the tokens that it uses as custom properties with
// the same names as on the map page.
var CSS = sync.OnceValue(func() []byte {
	t := GetTokens()
	var b strings.Builder
	b.WriteString(":root {\n  color-scheme: light dark;\n")
	for _, name := range slices.Sorted(maps.Keys(t.Typography.Fonts)) {
		property(&b, "font-"+name, `"`+strings.Join(t.Typography.Fonts[name], `", "`)+`"`)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Typography.Sizes)) {
		property(&b, "size-"+name, fmt.Sprintf("%gpx", t.Typography.Sizes[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Typography.Weights)) {
		property(&b, "weight-"+name, t.Typography.Weights[name])
	}
	t.Themes["light"].properties(&b)
	b.WriteString("}\n@media (prefers-color-scheme: dark) {\n  :root {\n")
	t.Themes["dark"].properties(&b)
	b.WriteString("  }\n}\n")
	// Generic font names must not be quoted.
	css := b.String()
	for _, generic := range []string{"system-ui", "-apple-system", "sans-serif", "ui-monospace", "monospace"} {
		css = strings.ReplaceAll(css, `"`+generic+`"`, generic)
	}
	return append([]byte(css), documentCSS...)
})

func (t *Theme) properties(b *strings.Builder) {
	for _, name := range slices.Sorted(maps.Keys(t.UI)) {
		switch v := t.UI[name].(type) {
		case string:
			property(b, name, v)
		case []any:
			for i, one := range v {
				property(b, fmt.Sprintf("%s-%d", name, i), one)
			}
		}
	}
	property(b, "map-water", t.Map.Water.CSS())
	property(b, "map-selection", t.Map.Selection.CSS())
}

// property writes a custom property of CSS.
func property(b *strings.Builder, name string, value any) {
	fmt.Fprintf(b, "  %s%s: %v;\n", "--", name, value)
}

var document = template.Must(template.New("document").Parse(documentText))

// Document is a page that the server writes itself, in the style of the map page.
type Document struct {
	Title string
	// Root is the relative path from the document's address to the server's root: "", "../", …
	// Links are relative, because a proxy may put the server below a path.
	Root string
	// Here is the path of the document. The bar at the top links to this path.
	Here string
	// Script is the path of a module below the server's address, or "".
	Script string
	Body   template.HTML
}

// HTML writes the document.
func (d *Document) HTML() ([]byte, error) {
	var out bytes.Buffer
	err := document.Execute(&out, d)
	return out.Bytes(), err
}

// RelativeRoot returns the relative path from a path of the server to its root.
func RelativeRoot(path string) string {
	return strings.Repeat("../", max(0, strings.Count(path, "/")-1))
}

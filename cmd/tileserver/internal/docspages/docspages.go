// Package docspages makes HTML pages of the project's documents, so that the server can show the
// documents of its own version.
package docspages

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"quadrille/cmd/tileserver/internal/theme"
)

//go:embed docspages.html
var pageText string

var page = template.Must(template.New("guide").Parse(pageText))

// Pages has the documents of a folder.
type Pages struct {
	// Documents are the documents. Those that Read was given as first come first, and the others in
	// the order of their names.
	Documents []*Document
	// Pictures has the pictures in documents by file name.
	Pictures map[string][]byte
}

// Document is a document and its page. The page has the file's name without the extension.
type Document struct {
	Name, Title string
	Sections    []Section
	body        template.HTML
}

// Section is a heading of the second level.
type Section struct{ ID, Title string }

// Read reads the Markdown files of a folder. The files named in first come before the others. A
// link to a document leads to its page. A link to a file that is not served, such as an example of
// a configuration, becomes plain text that says where the file is in the source. HTML in a document
// is removed.
func Read(folder fs.FS, first ...string) (*Pages, error) {
	names, err := fs.Glob(folder, "*.md")
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(place(first, a), place(first, b)) })
	g := &Pages{Pictures: map[string][]byte{}}
	for _, file := range names {
		source, err := fs.ReadFile(folder, file)
		if err != nil {
			return nil, err
		}
		d := &Document{Name: strings.TrimSuffix(file, ".md")}
		if err := d.read(source, func(name string) (string, bool) {
			document, is := strings.CutSuffix(name, ".md")
			if is {
				_, err := fs.Stat(folder, name)
				return document, err == nil
			}
			picture, err := fs.ReadFile(folder, name)
			if err == nil {
				g.Pictures[name] = picture
			}
			return name, err == nil && path.Ext(name) == ".png"
		}); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		g.Documents = append(g.Documents, d)
	}
	return g, nil
}

// HTML returns the page of a document. The page is in a folder below the server's own address.
func (g *Pages) HTML(of *Document) ([]byte, error) {
	var out bytes.Buffer
	err := page.Execute(&out, struct {
		*Pages
		*Document
		Text template.HTML
	}{g, of, of.body})
	if err != nil {
		return nil, err
	}
	//nolint:gosec // the template and the renderer have escaped it
	return (&theme.Document{Title: of.Title, Root: "../", Body: template.HTML(out.String())}).HTML()
}

// read renders a document. served returns the name under which a file of the folder is served, and
// whether it is served.
func (d *Document) read(source []byte, served func(name string) (string, bool)) error {
	// The Content-Security-Policy of the pages forbids inline styles.
	table := extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))
	markdown := goldmark.New(goldmark.WithExtensions(table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	tree := markdown.Parser().Parse(text.NewReader(source))
	var linked []ast.Node // nodes to change after the walk, which allows no changes
	err := ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			id, _ := n.AttributeString("id")
			bytes, _ := id.([]byte)
			switch title := plain(n, source); n.Level {
			case 1:
				d.Title = title
			case 2:
				d.Sections = append(d.Sections, Section{string(bytes), title})
			}
		case *ast.Link, *ast.Image:
			linked = append(linked, n)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return err
	}
	for _, n := range linked {
		switch n := n.(type) {
		case *ast.Link:
			to, ok := target(string(n.Destination), served)
			if n.Destination = []byte(to); !ok {
				unlink(n)
			}
		case *ast.Image:
			to, ok := target(string(n.Destination), served)
			if n.Destination = []byte(to); !ok {
				unlink(n)
			}
		}
	}
	var out bytes.Buffer
	if err := markdown.Renderer().Render(&out, source, tree); err != nil {
		return err
	}
	d.body = template.HTML(out.String()) //nolint:gosec // the renderer escapes, and leaves HTML and scripts out
	return nil
}

// target returns the address of a document's link on its page, and whether it leads anywhere.
func target(link string, served func(name string) (string, bool)) (string, bool) {
	u, err := url.Parse(link)
	switch {
	case err != nil:
		return "", false
	case u.Scheme != "" || u.Host != "":
		return link, u.Scheme == "https" || u.Scheme == "http" || u.Scheme == "mailto"
	case u.Path == "":
		return link, true // within the page
	}
	name := path.Clean(u.Path)
	if strings.Contains(name, "/") || name == "." || name == ".." {
		return "", false
	}
	to, ok := served(name)
	if u.Fragment != "" {
		to += "#" + u.EscapedFragment()
	}
	return to, ok
}

// unlink replaces a link by its text.
func unlink(n ast.Node) {
	parent := n.Parent()
	for child := n.FirstChild(); child != nil; child = n.FirstChild() {
		parent.InsertBefore(parent, n, child) // this removes it from n
	}
	parent.RemoveChild(parent, n)
}

// plain returns the text of a node without formatting.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if leaf, ok := child.(*ast.Text); ok {
			b.Write(util.UnescapePunctuations(leaf.Value(source)))
		} else {
			b.WriteString(plain(child, source))
		}
	}
	return b.String()
}

// place returns the index of a name in a list, or the list's length if it is not in it.
func place(list []string, name string) int {
	if i := slices.Index(list, name); i >= 0 {
		return i
	}
	return len(list)
}

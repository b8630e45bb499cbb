// Package credit prepares attributions of archives, sources and collections for display.
// Attributions are untrusted text that maps write into pages.
package credit

import (
	"errors"
	"html"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	xhtml "golang.org/x/net/html"
)

// maxText bounds an attribution, in bytes.
const maxText = 2000

// ErrMarkup is matched by the error of Check.
var ErrMarkup = errors.New(`markup other than links; write text, and links as <a href="https://example.org">text</a>`)

// HTMLAndText returns an attribution as HTML that has links but no other markup, and as text with the
// addresses of the links. The attribution itself is HTML if it has a link to http or https, and
// otherwise text.
func HTMLAndText(attribution string) (asHTML, asText string) {
	if r := parse(attribution); r.links > 0 {
		return r.html()
	}
	return html.EscapeString(attribution), attribution
}

// AsText returns the result of HTMLAndText as text.
func AsText(attribution string) string {
	_, text := HTMLAndText(attribution)
	return text
}

// Check returns an error that matches ErrMarkup if an attribution has markup that HTMLAndText would show as
// text or leave out.
func Check(attribution string) error {
	if r := parse(attribution); r.other || r.links == 0 && html.UnescapeString(attribution) != attribution {
		return ErrMarkup
	}
	return nil
}

// ParseHTML does the same as HTMLAndText for an attribution that is HTML, such as that of an archive of tiles.
func ParseHTML(attribution string) (asHTML, asText string) {
	r := parse(attribution)
	return r.html()
}

// DisplayLine makes foreign text fit for display: it returns one line without control characters.
// most bounds its bytes.
func DisplayLine(s string, most int) string {
	s = strings.TrimSpace(printable(s))
	if len(s) <= most {
		return s
	}
	for !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// printable leaves out invisible characters, and those that change the direction of the text around
// them.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// reading is the state of reading an attribution as HTML.
type reading struct {
	rich, plain strings.Builder
	link        string // the address of the link that is open
	links       int
	other       bool // whether it has other markup
}

func (r *reading) html() (asHTML, asText string) {
	return strings.TrimSpace(r.rich.String()), DisplayLine(r.plain.String(), 2*maxText)
}

func parse(s string) *reading {
	r := new(reading)
	depth := 0 // number of open invisible elements
	tokens := xhtml.NewTokenizer(strings.NewReader(DisplayLine(s, maxText)))
	for {
		kind := tokens.Next()
		if kind == xhtml.ErrorToken {
			break // the end: reading a text fails at no other place
		}
		token := tokens.Token()
		hidden := token.Data == "script" || token.Data == "style"
		switch {
		case kind == xhtml.TextToken && depth == 0:
			text := printable(token.Data) // a reference may stand for any character
			r.rich.WriteString(html.EscapeString(text))
			r.plain.WriteString(text)
			continue
		case kind == xhtml.StartTagToken && hidden:
			depth++
		case kind == xhtml.EndTagToken && hidden && depth > 0:
			depth--
		case kind == xhtml.StartTagToken && token.Data == "a" && r.open(token.Attr), kind == xhtml.EndTagToken && token.Data == "a" && r.close():
			continue
		}
		r.other = true
	}
	r.close()
	return r
}

// open begins a link, if the element is a link and no link is open.
func (r *reading) open(attributes []xhtml.Attribute) bool {
	if r.link != "" {
		return false
	}
	if r.link = address(attributes); r.link == "" {
		return false
	}
	r.links++
	r.rich.WriteString(`<a href="` + html.EscapeString(r.link) + `" target="_blank" rel="noopener">`)
	return true
}

// close ends the open link.
func (r *reading) close() bool {
	if r.link == "" {
		return false
	}
	r.rich.WriteString("</a>")
	r.plain.WriteString(", " + r.link)
	r.link = ""
	return true
}

// address returns the target of a link, or "" if that is not a web address.
func address(attributes []xhtml.Attribute) string {
	for _, a := range attributes {
		if a.Key != "href" {
			continue
		}
		u, err := url.Parse(a.Val)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
			return ""
		}
		return u.String()
	}
	return ""
}

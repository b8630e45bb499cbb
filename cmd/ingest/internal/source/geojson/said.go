package geojson

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/jsonscan"
)

// Said collects the members of files outside their features. The files of one layer share one Said:
// a single page of a service is incomplete, but all pages together are complete. Its zero value is
// ready. It belongs to one goroutine.
type Said struct {
	// Notes are sentences for the user: about a coordinate system that was used as WGS84, and
	// about a collection of geometries that is one feature.
	Notes []string

	parts map[int64]*part // pages of a whole, by its declared number of features
	cut   string          // the fault of a collection with fewer features than it declares
	more  string          // the first collection that announces further ones, and the member that announces them
	last  int64           // collections that announce none
	read  int64           // features of all collections
	told  bool            // whether a note says that a collection of geometries is one feature
}

// part counts the pages that have been read so far of a whole layer.
type part struct {
	features int64
	first    string // file
}

// maxWholes is the greatest number of layers whose pages may be mixed.
const maxWholes = 1000

// Collection holds the members of one list of features that are outside the features. Its zero value is ready.
type Collection struct {
	Features          int64 // that have been read
	matched, returned int64 // 0: it does not say
	more              string
}

// Add adds the declared and read counts of one list in a file.
func (s *Said) Add(name string, c *Collection) {
	s.read += c.Features
	switch {
	case c.more == "":
		s.last++
	case c.matched >= max(1, c.Features): // the number is more reliable: some servers link to an empty next page
	case s.more == "":
		s.more = fmt.Sprintf("%s: is one page of several, says its %s", name, c.more)
	}
	if c.returned > c.Features && s.cut == "" {
		s.cut = fmt.Sprintf("%s: has %d features, and says that it has %d: it was cut off or its features were filtered", name,
			c.Features, c.returned)
	}
	p := s.parts[c.matched]
	switch {
	case p != nil:
		p.features += c.Features
	case c.matched <= c.Features: // it is whole
	case len(s.parts) == maxWholes:
		s.cut = fmt.Sprintf("%s: has pages of more than %d layers; fetch each layer whole", name, maxWholes)
	default:
		if s.parts == nil {
			s.parts = map[int64]*part{}
		}
		s.parts[c.matched] = &part{c.Features, name}
	}
}

// Missing returns an error if the files declare features that were not read. pages is a command
// that names all pages at once.
func (s *Said) Missing(pages string) error {
	advice := "; fetch all pages and give them together: " + pages + "; if nothing is missing, remove what says so from the file"
	if s.cut != "" {
		return errors.New(s.cut + advice)
	}
	for matched, p := range s.parts {
		if p.features < matched {
			return fmt.Errorf("%s: is one page of several: it says that there are %d features, and %d were read%s", p.first, matched,
				p.features, advice)
		}
	}
	if s.more != "" && s.last == 0 {
		return errors.New(s.more + advice)
	}
	return nil
}

// Together returns a note that pages without a declared number of features were combined, or ""
// if there were none.
func (s *Said) Together() string {
	if s.more == "" {
		return ""
	}
	return fmt.Sprintf("%s; with the last page %d features were read; whether all pages between are there is not known", s.more, s.read)
}

// Member reads a member outside the features. ok is false for an unknown member, which is not read.
func (c *Collection) Member(s *jsonscan.Scanner, name []byte) (ok bool, err error) {
	switch string(name) {
	case "exceededTransferLimit":
		var value []byte
		if value, _, err = s.Raw(nil, len("true")); string(value) == "true" {
			c.more = string(name)
		}
	case "numberMatched", "totalFeatures":
		var n int64
		n, err = count(s)
		c.matched = max(c.matched, n)
	case "numberReturned":
		c.returned, err = count(s)
	case "next", "@odata.nextLink", "nextPageToken", "next_page_token", "next_page_url", "offset":
		err = c.next(s, string(name))
	case "links":
		err = c.links(s)
	default:
		return false, nil
	}
	return true, err
}

// Matched takes the number of features that match a question, of which the list may be a part.
func (c *Collection) Matched(s *jsonscan.Scanner) error {
	n, err := count(s)
	c.matched = max(c.matched, n)
	return err
}

// properties searches the collection's properties for ArcGIS's sign of further pages.
func (c *Collection) properties(members []source.Member) {
	for _, m := range members {
		if m.Name == "exceededTransferLimit" && bytes.Equal(m.Value, []byte("true")) {
			c.more = m.Name
		}
	}
}

// next reads a member that names the next page, if it is a text.
func (c *Collection) next(s *jsonscan.Scanner, name string) error {
	if k, err := s.Kind(); err != nil || k != jsonscan.String {
		return skip(s, err)
	}
	text, _, err := s.Text(1)
	if len(text) > 0 {
		c.more = name
	}
	return err
}

// links searches the links for one to the next page: an object with the rel next in a list, or a member next.
func (c *Collection) links(s *jsonscan.Scanner) error {
	k, err := s.Kind()
	if k == jsonscan.Object {
		return s.Object(func(name []byte) error {
			k, err := s.Kind()
			if k == jsonscan.String && string(name) == "next" {
				return c.next(s, `link "next"`)
			}
			if k == jsonscan.Object && string(name) == "next" {
				c.more = `link "next"`
			}
			return skip(s, err)
		})
	}
	if k != jsonscan.Array {
		return skip(s, err)
	}
	return s.Array(func(int) error {
		if k, err := s.Kind(); err != nil || k != jsonscan.Object {
			return skip(s, err)
		}
		return s.Object(func(name []byte) error {
			if k, err := s.Kind(); err != nil || k != jsonscan.String || string(name) != "rel" {
				return skip(s, err)
			}
			rel, _, err := s.Text(len("next") + 1)
			if string(rel) == "next" {
				c.more = `link "next"`
			}
			return err
		})
	})
}

// count reads a number of features. Any other value, such as "unknown", counts as 0.
func count(s *jsonscan.Scanner) (int64, error) {
	if k, err := s.Kind(); err != nil || k != jsonscan.Number {
		return 0, skip(s, err)
	}
	f, err := s.Float()
	if !(f > 0) {
		f = 0
	}
	return int64(math.Ceil(min(f, 1<<53))), err
}

// skip skips an unneeded value, unless reading has failed.
func skip(s *jsonscan.Scanner, err error) error {
	if err != nil {
		return err
	}
	return s.Skip()
}

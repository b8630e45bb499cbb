package geojson

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/jsonscan"
)

// Said is what files say of themselves besides their features. The files of one layer share one:
// a page of a service is not the whole, and all pages are. Its zero value is ready. One goroutine
// reads into it.
type Said struct {
	// Notes are sentences for the user: about a coordinate system that was taken as WGS84, and about
	// a collection of geometries that is one feature.
	Notes []string

	parts map[int64]*part // of a whole, by how many features they say it has
	cut   string          // what is wrong with a collection that has fewer features than it says
	more  string          // the first collection behind which others follow, and what says so
	last  int64           // collections that do not say so
	read  int64           // features of all
	told  bool            // that a collection of geometries is one feature
}

// part is what was read of a whole.
type part struct {
	features int64
	first    string // file
}

// maxWholes is the most layers whose pages may be mixed.
const maxWholes = 1000

// collection is what one FeatureCollection says of itself.
type collection struct {
	features          int64
	matched, returned int64 // 0: it does not say
	more              string
}

// add adds what a collection of a file says.
func (s *Said) add(name string, c *collection) {
	s.read += c.features
	switch {
	case c.more == "":
		s.last++
	case c.matched >= max(1, c.features): // the number says more: some servers link to a next page that is empty
	case s.more == "":
		s.more = fmt.Sprintf("%s: is one page of several, says its %s", name, c.more)
	}
	if c.returned > c.features && s.cut == "" {
		s.cut = fmt.Sprintf("%s: has %d features, and says that it has %d: it was cut off or its features were filtered", name, c.features, c.returned)
	}
	p := s.parts[c.matched]
	switch {
	case p != nil:
		p.features += c.features
	case c.matched <= c.features: // it is whole
	case len(s.parts) == maxWholes:
		s.cut = fmt.Sprintf("%s: has pages of more than %d layers; fetch each layer whole", name, maxWholes)
	default:
		if s.parts == nil {
			s.parts = map[int64]*part{}
		}
		s.parts[c.matched] = &part{c.features, name}
	}
}

// Missing returns an error if the files say that there are features which were not read. pages
// says how to name all pages in one command.
func (s *Said) Missing(pages string) error {
	advice := "; fetch all pages and give them together: " + pages + "; if nothing is missing, remove what says so from the file"
	if s.cut != "" {
		return errors.New(s.cut + advice)
	}
	for matched, p := range s.parts {
		if p.features < matched {
			return fmt.Errorf("%s: is one page of several: it says that there are %d features, and %d were read%s", p.first, matched, p.features, advice)
		}
	}
	if s.more != "" && s.last == 0 {
		return errors.New(s.more + advice)
	}
	return nil
}

// Together returns a note that pages which do not say how many features there are were taken
// together, or "" if there were none.
func (s *Said) Together() string {
	if s.more == "" {
		return ""
	}
	return fmt.Sprintf("%s; with the last page %d features were read; whether all pages between are there is not known", s.more, s.read)
}

// member reads a member of a FeatureCollection that is not of its features; ok says whether it
// is one that this knows.
func (c *collection) member(s *jsonscan.Scanner, name []byte) (ok bool, err error) {
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
	case "links":
		err = c.links(s)
	default:
		return false, nil
	}
	return true, err
}

// properties looks into those of the collection, where ArcGIS writes that there is more.
func (c *collection) properties(members []source.Member) {
	for _, m := range members {
		if m.Name == "exceededTransferLimit" && bytes.Equal(m.Value, []byte("true")) {
			c.more = m.Name
		}
	}
}

// links looks for one to the next page.
func (c *collection) links(s *jsonscan.Scanner) error {
	if k, err := s.Kind(); err != nil || k != jsonscan.Array {
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

// count reads a number of features; anything else, such as "unknown", is 0.
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

// skip reads past a value that is not needed, unless reading has failed.
func skip(s *jsonscan.Scanner, err error) error {
	if err != nil {
		return err
	}
	return s.Skip()
}

package enrich

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"quadrille/ask"
	"quadrille/ask/geocoder"
	"quadrille/places"
	"quadrille/quadkey"
)

// Reasons of rows whose text has no place.
const (
	ReasonNotFound = "nothing is found for the text"
	ReasonNoText   = "the text cannot be searched for"
	ReasonNothing  = "neither a position nor a text"
)

// maxKnown bounds the texts whose answer is kept for the rows that follow, because addresses repeat.
// Texts that have more than maxKnownBytes together with their answer are not kept.
const (
	maxKnown      = 1 << 14
	maxKnownBytes = 512
)

// These are the names of the columns with the position of a text.
const (
	GeocodeLat = "geocode_lat"
	GeocodeLon = "geocode_lon"
)

// geocodeSource makes columns of the best answer to a text.
type geocodeSource struct {
	session geocoder.Session
	columns []string
}

// Geocode returns a Source of the place, region or airport that a text means. The text is that of columns of
// the table, such as city and country, with commas between them. The columns are geocode_label, GeocodeLat and
// GeocodeLon, of the best answer of package geocoder. Rows of a chunk without a valid position take this one, for the Sources after it in the
// plan: Fill changes Chunk.Points.
func Geocode(v ask.View, columns ...string) (Source, error) {
	s := &geocodeSource{geocoder.Session{View: v, NoAddresses: true}, columns}
	return s, s.session.Ready(context.Background())
}

func (s *geocodeSource) Inputs() []string { return s.columns }

func (s *geocodeSource) Columns() []Column {
	return []Column{{Name: "geocode_label"}, {Name: GeocodeLat, Raw: true}, {Name: GeocodeLon, Raw: true}}
}

func (s *geocodeSource) slow() {}

// located is the answer to a text. Its reason is "" if there is one.
type located struct {
	quadkey.Position
	label, reason string
}

func (s *geocodeSource) filler() fill {
	known := map[string]located{}
	var text []byte
	return func(ctx context.Context, c *Chunk, out []Cells) error {
		for i := range c.Points {
			if c.isFull(out) {
				break
			}
			text = s.appendText(text[:0], c, i)
			if len(text) == 0 {
				if c.Bad != nil && !c.Points[i].Valid() {
					c.Bad(i, ReasonNothing, "")
				}
				addEmpty(out)
				continue
			}
			at, ok := known[string(text)]
			if !ok {
				var err error
				if at, err = s.locate(ctx, string(text)); err != nil {
					return err
				}
				if len(known) == maxKnown {
					clear(known)
				}
				if len(text)+len(at.label) <= maxKnownBytes {
					known[string(text)] = at
				}
			}
			if at.reason != "" {
				if c.Bad != nil {
					c.Bad(i, at.reason, string(text))
				}
				addEmpty(out)
				continue
			}
			if !c.Points[i].Valid() {
				c.Points[i] = at.Position
			}
			out[0].Add(at.label)
			out[1].text = strconv.AppendFloat(out[1].text, at.Lat, 'f', -1, 64)
			out[2].text = strconv.AppendFloat(out[2].text, at.Lon, 'f', -1, 64)
			out[1].end()
			out[2].end()
		}
		return nil
	}
}

// appendText appends the cells of a row that are not empty, with commas between them.
func (s *geocodeSource) appendText(text []byte, c *Chunk, row int) []byte {
	for k := range s.columns {
		cell := bytes.TrimSpace(c.Inputs[k].At(row))
		if len(cell) > 0 && len(text) > 0 {
			text = append(text, ", "...)
		}
		text = append(text, cell...)
	}
	return text
}

func (s *geocodeSource) locate(ctx context.Context, text string) (located, error) {
	found, err := s.session.Search(ctx, geocoder.Query{Text: text, Limit: 1})
	switch {
	case errors.Is(err, places.ErrQuery):
		return located{reason: ReasonNoText}, nil
	case err != nil:
		return located{}, err
	case len(found) == 0:
		return located{reason: ReasonNotFound}, nil
	}
	return located{Position: quadkey.Position{Lat: found[0].Lat, Lon: found[0].Lon}, label: found[0].Label}, nil
}

// reverseSource makes a column of what is at a point.
type reverseSource struct{ session geocoder.Session }

// Reverse returns a Source of the column address: the label of the nearest place that describes a point, such as
// "Zürich, Switzerland", or else that of the smallest region that holds it.
func Reverse(v ask.View) (Source, error) {
	s := &reverseSource{geocoder.Session{View: v}}
	return s, s.session.Ready(context.Background())
}

func (s *reverseSource) slow() {}

func (s *reverseSource) Inputs() []string { return nil }

func (s *reverseSource) Columns() []Column { return []Column{{Name: "address"}} }

func (s *reverseSource) filler() fill {
	return func(ctx context.Context, c *Chunk, out []Cells) error {
		for _, p := range c.Points {
			if c.isFull(out) {
				break
			}
			label := ""
			if p.Valid() {
				found, err := s.session.Reverse(ctx, geocoder.ReverseQuery{Lat: p.Lat, Lon: p.Lon})
				if err != nil {
					return err
				}
				for i := range found {
					if !found[i].AcrossBorder {
						label = found[i].Label
						break
					}
				}
			}
			out[0].Add(label)
		}
		return nil
	}
}

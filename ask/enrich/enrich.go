// Package enrich answers many questions of one kind after the other: it makes columns for a table of
// points, such as the country and the nearest airport of each. A Plan has the columns. It works on
// chunks of thousands of rows, which share what they read.
//
//	v := views.Take(time.Now()) // one moment for all rows
//	defer v.Release()
//	regions, err := enrich.Regions(v, "country", "state")
//	plan, err := enrich.New(regions, zone)
//	f := plan.Filler() // one for each goroutine
//	cells, err := f.Fill(ctx, &enrich.Chunk{Points: points})
//	fmt.Printf("%s %s", plan.Columns()[0].Name, cells[0].At(0))
//
// Positions are degrees, and distances metres. A data set that is needed and not published is an error,
// which matches ask.ErrMissing.
package enrich

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"quadrille/internal/jsontext"
	"quadrille/quadkey"
)

// Column is a column that a Plan makes.
type Column struct {
	Name string `json:"name"`
	// Raw is set if the cells that are not empty are numbers or booleans, in the spelling of JSON. Other
	// cells are texts.
	Raw bool `json:"raw"`
}

// AppendJSON appends a cell of the column as a JSON value. An empty cell is null.
func (c *Column) AppendJSON(dst, cell []byte) []byte {
	switch {
	case len(cell) == 0:
		return append(dst, "null"...)
	case c.Raw:
		return append(dst, cell...)
	}
	return jsontext.AppendString(dst, string(cell))
}

// ErrRequest is matched by the errors of columns that no data set can add, whatever is published. Their texts
// are for the user.
var ErrRequest = errors.New("the columns cannot be added")

type requestError struct{ text string }

func badRequest(format string, args ...any) error { return &requestError{fmt.Sprintf(format, args...)} }

func (e *requestError) Error() string { return e.text }

func (e *requestError) Is(target error) bool { return target == ErrRequest }

// ReasonNoPosition is the reason of a row without coordinates.
const ReasonNoPosition = "there is no latitude or longitude"

// NoPosition is the position of a row that has none.
var NoPosition = quadkey.Position{Lat: math.NaN(), Lon: math.NaN()}

// Chunk has rows of a table, column by column.
type Chunk struct {
	// Points are the positions of the rows. A row whose position is not valid, such as NoPosition,
	// gets empty cells.
	Points []quadkey.Position
	// Inputs are columns of the table, as many as Plan.Inputs names and in its order.
	Inputs []Cells
	// Bad, if set, is called for a cell of Inputs that is not what it should be. Its row gets empty cells.
	Bad func(row int, reason, detail string)
}

// Cells are the texts of a column. The zero value has no cells.
type Cells struct {
	text []byte
	ends []int
}

// Reset removes all cells and keeps their memory.
func (c *Cells) Reset() { c.text, c.ends = c.text[:0], c.ends[:0] }

// Add adds a cell.
func (c *Cells) Add(text string) { c.ends = append(c.ends, c.append(text)) }

// AddBytes adds a cell with a copy of text.
func (c *Cells) AddBytes(text []byte) {
	c.text = append(c.text, text...)
	c.ends = append(c.ends, len(c.text))
}

// append appends to the text of a cell that has not been added yet.
func (c *Cells) append(text string) int {
	c.text = append(c.text, text...)
	return len(c.text)
}

// end adds the cell whose text has been appended.
func (c *Cells) end() { c.ends = append(c.ends, len(c.text)) }

// Len returns the number of cells.
func (c *Cells) Len() int { return len(c.ends) }

// Size returns the memory of all cells in bytes. Empty ones take some too.
func (c *Cells) Size() int { return len(c.text) + 8*len(c.ends) }

// At returns the text of cell i, which is valid until Reset.
func (c *Cells) At(i int) []byte {
	from := 0
	if i > 0 {
		from = c.ends[i-1]
	}
	return c.text[from:c.ends[i]:c.ends[i]]
}

// Source makes columns. The functions of this package return Sources. Any number of goroutines may use
// the same Source, as long as the view that it was made with is held.
type Source interface {
	// Columns are the columns that it makes, and Inputs the names of those of the table that it needs.
	Columns() []Column
	Inputs() []string
	// filler returns a function for one goroutine.
	filler() fill
}

// fill adds to each column of out, which are empty, a cell for each row of c.
type fill func(ctx context.Context, c *Chunk, out []Cells) error

// Plan is a list of Sources. Any number of goroutines may use it.
type Plan struct {
	sources []Source
	columns []Column
	inputs  []string
}

// New returns the plan of sources. Their columns must have different names.
func New(sources ...Source) (*Plan, error) {
	p := &Plan{sources: sources}
	for _, s := range sources {
		for _, c := range s.Columns() {
			if slices.ContainsFunc(p.columns, func(o Column) bool { return o.Name == c.Name }) {
				return nil, badRequest("two added columns are called %s: ask for it once", c.Name)
			}
			p.columns = append(p.columns, c)
		}
		p.inputs = append(p.inputs, s.Inputs()...)
	}
	return p, nil
}

// Columns returns the columns in the order of the sources. The caller must not change them.
func (p *Plan) Columns() []Column { return p.columns }

// Inputs returns the names of the columns of the table that the plan needs beside positions.
func (p *Plan) Inputs() []string { return p.inputs }

// Filler makes the columns of a plan for one goroutine.
type Filler struct {
	plan  *Plan
	fills []fill
	cells []Cells
}

// Filler returns a Filler of the plan.
func (p *Plan) Filler() *Filler {
	f := &Filler{plan: p, cells: make([]Cells, len(p.columns))}
	for _, s := range p.sources {
		f.fills = append(f.fills, s.filler())
	}
	return f
}

// Fill returns the cells of all columns, one for each row. They are valid until the next call. Errors come
// from the data sets or the context.
func (f *Filler) Fill(ctx context.Context, c *Chunk) ([]Cells, error) {
	for i := range f.cells {
		f.cells[i].Reset()
	}
	own, column := *c, 0
	for i, s := range f.plan.sources {
		inputs, columns := len(s.Inputs()), len(s.Columns())
		one := own
		one.Inputs = own.Inputs[:inputs]
		if err := f.fills[i](ctx, &one, f.cells[column:column+columns]); err != nil {
			return nil, err
		}
		own.Inputs, column = own.Inputs[inputs:], column+columns
	}
	return f.cells, nil
}

// addEmpty adds an empty cell to each column.
func addEmpty(out []Cells) {
	for k := range out {
		out[k].end()
	}
}

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
	Name string
	// Raw is set if the cells that are not empty are numbers or booleans, in the spelling of JSON. Other
	// cells are texts.
	Raw bool
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
	// Bad, if set, is called for a cell of Inputs that is not what it should be, and for an answer that lacks something.
	// The row gets empty cells, of that Source or some of them.
	Bad func(row int, reason, detail string)

	most int // bytes of the cells of a Source, after which it stops; 0 bounds nothing
}

// isFull reports whether no row should be added any more to the columns of a Source.
func (c *Chunk) isFull(out []Cells) bool {
	n := 0
	for k := range out {
		n += len(out[k].text)
	}
	return c.most > 0 && n >= c.most
}

// Cells are the texts of a column. The zero value has no cells.
type Cells struct {
	text  []byte
	ends  []int
	start int // of the first cell
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
	from := c.startOf(i)
	return c.text[from:c.ends[i]:c.ends[i]]
}

func (c *Cells) startOf(i int) int {
	if i == 0 {
		return c.start
	}
	return c.ends[i-1]
}

// part returns some of the cells. They share the memory.
func (c *Cells) part(from, to int) Cells {
	return Cells{c.text, c.ends[from:to], c.startOf(from)}
}

// truncate removes all cells but the first n.
func (c *Cells) truncate(n int) { c.text, c.ends = c.text[:c.startOf(n)], c.ends[:n] }

// Source makes columns. The functions of this package return Sources. Any number of goroutines may use
// the same Source, as long as the view that it was made with is held.
type Source interface {
	// Columns are the columns that it makes, and Inputs the names of those of the table that it needs.
	Columns() []Column
	Inputs() []string
	// filler returns a function for one goroutine.
	filler() fill
}

// fill adds to each column of out, which are empty, a cell for each row of c. It stops after a row with which
// the chunk is full.
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

// Notes returns what users should know of the answers before the first row is filled, one sentence each,
// such as that all cells of a column will be empty.
func (p *Plan) Notes() (notes []string) {
	for _, s := range p.sources {
		if of, ok := s.(interface{ notes() []string }); ok {
			notes = append(notes, of.notes()...)
		}
	}
	return notes
}

// Filler makes the columns of a plan for one goroutine.
type Filler struct {
	plan   *Plan
	parts  []fillerPart
	cells  []Cells
	inputs []Cells // of the rows of a part
	rows   int     // that the next part should have, at most limit
	limit  int
	bad    []badCell
}

// fillerPart is a Source of a Filler with the numbers of its columns.
type fillerPart struct {
	fill            fill
	inputs, columns int
}

// badCell has the arguments of Chunk.Bad.
type badCell struct {
	row            int
	reason, detail string
}

// slowRows is the number of rows of a part if a Source takes a millisecond for each, and rows share nothing.
const slowRows = 256

// partBytes is about the size of the cells that FillParts makes at once.
const partBytes = 4 << 20

// Filler returns a Filler of the plan.
func (p *Plan) Filler() *Filler {
	f := &Filler{plan: p, cells: make([]Cells, len(p.columns)), inputs: make([]Cells, len(p.inputs)), limit: math.MaxInt}
	for _, s := range p.sources {
		if _, slow := s.(interface{ slow() }); slow {
			f.limit = slowRows
		}
		f.parts = append(f.parts, fillerPart{s.filler(), len(s.Inputs()), len(s.Columns())})
	}
	f.rows = f.limit
	return f
}

// Fill returns the cells of all columns, one for each row. They are valid until the next call. Errors come
// from the data sets or the context. Cells have no bound of their own: a property of a feature may have 64 KiB.
func (f *Filler) Fill(ctx context.Context, c *Chunk) ([]Cells, error) {
	_, err := f.fill(ctx, c, 0, len(c.Points), 0)
	return f.cells, err
}

// FillParts does the same as Fill in bounded memory. It calls take for one part of the rows after the other:
// cell i of a column is that of row from+i, and the next part begins with row to. The cells, about 4 MiB and
// one row at most, are valid until take returns. An error of take ends the filling.
func (f *Filler) FillParts(ctx context.Context, c *Chunk, take func(from, to int, cells []Cells) error) error {
	for from := 0; from < len(c.Points); {
		asked := min(f.rows, len(c.Points)-from)
		n, err := f.fill(ctx, c, from, asked, partBytes)
		if err != nil {
			return err
		}
		if err := take(from, from+n, f.cells); err != nil {
			return err
		}
		// What is made of rows beyond n is made again, so that is kept small. Sources share more the more rows there are.
		if from += n; n < asked {
			f.rows = max(1, n-n/8)
		} else if f.rows < math.MaxInt/2 {
			f.rows = min(f.rows+f.rows/4+1, f.limit)
		}
	}
	return nil
}

// fill makes the cells of a number of rows, or of the first ones of these that have about most bytes. It returns how
// many it has made.
func (f *Filler) fill(ctx context.Context, c *Chunk, from, rows, most int) (int, error) {
	for i := range f.cells {
		f.cells[i].Reset()
	}
	for i := range f.inputs {
		f.inputs[i] = c.Inputs[i].part(from, from+rows)
	}
	one := Chunk{most: most / max(1, len(f.parts))}
	if c.Bad != nil {
		one.Bad = func(row int, reason, detail string) { f.bad = append(f.bad, badCell{row, reason, detail}) }
	}
	input, column := 0, 0
	for i := range f.parts {
		p := &f.parts[i]
		one.Points, one.Inputs = c.Points[from:from+rows], f.inputs[input:input+p.inputs]
		out := f.cells[column : column+p.columns]
		if err := p.fill(ctx, &one, out); err != nil {
			f.bad = f.bad[:0]
			return 0, err
		}
		if p.columns > 0 {
			rows = out[0].Len()
		}
		input, column = input+p.inputs, column+p.columns
	}
	for i := range f.cells {
		f.cells[i].truncate(rows)
	}
	for _, b := range f.bad {
		if b.row < rows { // the others come again
			c.Bad(from+b.row, b.reason, b.detail)
		}
	}
	f.bad = f.bad[:0]
	return rows, nil
}

// addEmpty adds an empty cell to each column.
func addEmpty(out []Cells) {
	for k := range out {
		out[k].end()
	}
}

package ip

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/ipcsv"
	"quadrille/cmd/ingest/internal/source/jsonrecords"
	"quadrille/cmd/ingest/internal/source/jsonscan"
)

// document reads the records of a JSON document, such as {"data":[…]}, as a list of objects, one a line. It belongs to
// one goroutine. stop ends it.
type document struct {
	*jsonrecords.Reader
	jsonscan.LineNumbers
	next func() (jsonrecords.Object, error, bool)
	stop func()
	rest []byte // of the line
	line []byte
}

// openDocument returns nil if the text has no records with networks, or is the list of a provider. layer is the member
// that has the records; if it is empty, it is found.
func openDocument(text *bufio.Reader, name, layer string, said *geojson.Said) *document {
	head, _ := text.Peek(text.Size()) // reading returns the error
	of := jsonrecords.Options{List: layer, Said: &geojson.Said{}}
	is := false
	for o, err := range jsonrecords.New(bufio.NewReaderSize(bytes.NewReader(head), len(head)), name, of).Objects() {
		is = err == nil && !ipcsv.IsProviders(o.Text) && readObject(lineOf(nil, o)).first != ""
		break
	}
	if !is {
		return nil
	}
	of.Said = said
	d := &document{Reader: jsonrecords.New(text, name, of)}
	d.next, d.stop = iter.Pull2(d.Objects())
	return d
}

// noList is the error for a path that names a list which is not there.
func noList(path, layer string) error {
	return fmt.Errorf("%s: there is no list %s of objects with networks in it; name one behind #, or the file alone", path, layer)
}

// Read implements io.Reader.
func (d *document) Read(p []byte) (int, error) {
	if len(d.rest) == 0 {
		o, err, more := d.next()
		bad := (*source.BadRecord)(nil)
		switch {
		case !more:
			return 0, io.EOF
		case errors.As(err, &bad):
			d.line = append(d.line[:0], bad.Detail...) // a line that is no object
			d.Add(bad.Line)
		case err != nil:
			return 0, err
		default:
			d.line = lineOf(d.line[:0], o)
			d.Add(o.Line)
		}
		d.line = append(d.line, '\n')
		d.rest = d.line
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// lineOf appends an object as a line. If its name among its like is a network, and it has none itself, that is its
// network.
func lineOf(dst []byte, o jsonrecords.Object) []byte {
	from := len(dst)
	for _, c := range o.Text {
		if c == '\n' || c == '\r' {
			c = ' ' // not within texts, where they are escaped
		}
		dst = append(dst, c)
	}
	if _, _, reason := ipcsv.ParseRange(string(o.Name), "", ""); o.Name == nil || reason != "" || readObject(dst[from:]).first != "" {
		return dst
	}
	name, _ := json.Marshal(string(o.Name)) // a text
	member := append(append([]byte(`{"network":`), name...), ',')
	inner := bytes.Clone(bytes.TrimSpace(dst[from+1:]))
	if bytes.Equal(inner, []byte{'}'}) {
		member = member[:len(member)-1]
	}
	return append(append(dst[:from], member...), inner...)
}

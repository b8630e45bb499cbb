package workbook

import (
	"archive/zip"
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"quadrille/cmd/ingest/internal/source"
)

// find returns the member of an archive with a name, or nil.
func find(a *source.Archive, name string) *zip.File {
	i := slices.IndexFunc(a.Members, func(m *zip.File) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return a.Members[i]
}

// counted counts the bytes that are read of a sheet.
type counted struct {
	n    atomic.Int64
	size int64
}

// document reads the XML of a member as a sequence of tags and texts. Entities of its own are errors,
// so that none can grow, and no piece is longer than maxText.
type document struct {
	*xml.Decoder
	in    *bufio.Reader
	close io.Closer
	count *counted
	left  int // bytes of the piece
	pos   int64
	depth int // open elements
}

// openXML opens a member. count may be nil.
func openXML(a *source.Archive, m *zip.File, count *counted) (*document, error) {
	r, err := a.Open(m)
	if err != nil {
		return nil, err
	}
	d := &document{in: bufio.NewReaderSize(r, 64<<10), close: r, count: count}
	if count != nil {
		count.size = int64(m.UncompressedSize64) // bounded by Open
	}
	d.Decoder = xml.NewDecoder(d)
	return d, nil
}

var errLong = fmt.Errorf("a cell or a tag has more than %d bytes, which is too large; shorten it", maxText)

var errSheets = fmt.Errorf("has more than %d sheets, or one with a name of more than %d bytes; save the one you mean alone", maxSheets, maxName)

// ReadByte implements [io.ByteReader], by which the decoder reads.
func (d *document) ReadByte() (byte, error) {
	if d.left--; d.left < 0 {
		return 0, errLong
	}
	b, err := d.in.ReadByte()
	if err == nil {
		d.pos++
	}
	return b, err
}

// Read implements [io.Reader]. The decoder does not use it.
func (d *document) Read(p []byte) (int, error) { return d.in.Read(p) }

// token returns the next tag or text. The error is io.EOF at the end of a whole document.
func (d *document) token() (xml.Token, error) {
	d.left = maxText
	t, err := d.RawToken()
	if d.count != nil {
		d.count.n.Store(d.pos)
	}
	switch t.(type) {
	case xml.StartElement:
		d.depth++
	case xml.EndElement:
		d.depth--
	}
	var syntax *xml.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("%w; the file may be damaged: fetch it again, or save it anew", err)
	case errors.Is(err, io.EOF) && d.depth > 0:
		return nil, fmt.Errorf("%w; the file may be truncated: fetch it again", io.ErrUnexpectedEOF)
	case d.depth < 0:
		return nil, errors.New("an element ends that has not begun; the file is damaged: fetch it again")
	}
	return t, err
}

// skip reads to the end of the element that has just begun.
func (d *document) skip() error {
	for outer := d.depth - 1; d.depth > outer; {
		if _, err := d.token(); err != nil {
			return err
		}
	}
	return nil
}

// text appends the text in the elements of a name to dst, within the element that has just begun, and
// the text of that itself if name is empty. Elements for which inner returns false are left out.
func (d *document) text(dst []byte, name string, inner func(*xml.StartElement) bool) ([]byte, error) {
	at, from := "", len(dst)
	for outer := d.depth - 1; d.depth > outer; {
		t, err := d.token()
		if err != nil {
			return dst, err
		}
		switch t := t.(type) {
		case xml.CharData:
			if at == name {
				dst = append(dst, t...)
			}
		case xml.EndElement:
			at = ""
		case xml.StartElement:
			if at = t.Name.Local; !inner(&t) {
				if err := d.skip(); err != nil {
					return dst, err
				}
				at = ""
			}
		}
		if len(dst)-from > maxText {
			return dst, errLong
		}
	}
	return dst, nil
}

// attr returns the value of an attribute, or "".
func attr(e *xml.StartElement, local string) string {
	for i := range e.Attr {
		if e.Attr[i].Name.Local == local {
			return e.Attr[i].Value
		}
	}
	return ""
}

// elements calls each for all elements of a member, of whatever depth.
func elements(a *source.Archive, m *zip.File, each func(*document, *xml.StartElement) error) error {
	d, err := openXML(a, m, nil)
	if err != nil {
		return err
	}
	defer d.close.Close()
	for {
		t, err := d.token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if e, is := t.(xml.StartElement); is && err == nil {
			err = each(d, &e)
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", a.Path, m.Name, err)
		}
	}
}

package export

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"quadrille/cmd/ingest/internal/disk"
	"quadrille/cmd/ingest/internal/source/ipcsv"
	"quadrille/ipgeo"
)

// writeNDJSON writes one object a line: the network and its record, with the members of /ip's
// answers.
func (a *addresses) writeNDJSON(ctx context.Context, path string, o AddressOptions) (AddressStats, error) {
	fields, err := chosen(o.Fields)
	if err != nil {
		return AddressStats{}, err
	}
	out, err := disk.CreatePending(path)
	if err != nil {
		return AddressStats{}, err
	}
	err = a.each(ctx, func(dst []byte, res *ipgeo.Result) ([]byte, error) {
		return res.AppendRecord(dst, fields), nil
	}, func(span ipgeo.Span, record []byte) error {
		return a.lines(out, span, `{"network":"`, `",`, record, "}\n")
	})
	return a.stats, out.Finish(err)
}

// lines writes a line for each network of a range.
func (a *addresses) lines(out *disk.Pending, span ipgeo.Span, before, after string, record []byte, end string) error {
	for p := range ipgeo.Networks(span.First, span.Last) {
		b := append(out.AvailableBuffer(), before...)
		b = append(append(append(p.AppendTo(b), after...), record...), end...)
		if _, err := out.Write(b); err != nil {
			return err
		}
		a.stats.Networks++
	}
	return nil
}

// columns parses the fields of a CSV file. Each must be one plain value. If there are several
// subdivisions, the first is taken. paths are the paths of the fields in an answer. names are the
// column names that ingest ip reads: the same paths, except that a source's own field may have any
// free name.
func columns(list string) (paths, names []string, err error) {
	if list == "" {
		list = DefaultColumns
	}
	if _, err := chosen(list); err != nil {
		return nil, nil, err
	}
	for name := range strings.SplitSeq(list, ",") {
		path := name
		if rest, ok := strings.CutPrefix(path, "subdivisions."); ok {
			path = "subdivisions.0." + rest
		}
		last := name[strings.LastIndexByte(name, '.')+1:]
		switch {
		case name == "quadkey":
		case last == "names":
			return nil, nil, fmt.Errorf("--fields %s: a column of a CSV file holds one name; say its language, such as %s.en", name, name)
		case last == name, name == "derived":
			return nil, nil, fmt.Errorf("--fields %s: a column of a CSV file holds one value; name one, such as "+
				"country.iso_code or city.names.en, or write .ndjson", name)
		}
		paths = append(paths, path)
		if own, ok := strings.CutPrefix(path, ipcsv.ExtraPrefix); ok {
			if _, err := ipcsv.ParseColumns("network," + own); err != nil && ipcsv.ColumnNamed(own) == "" { // none of its own
				path = own
			}
		}
		names = append(names, path)
	}
	return paths, names, nil
}

// writeCSV writes a row for each network, under names that ingest ip reads.
func (a *addresses) writeCSV(ctx context.Context, path string, o AddressOptions) (AddressStats, error) {
	paths, names, err := columns(o.Fields)
	if err != nil {
		return AddressStats{}, err
	}
	out, err := disk.CreatePending(path)
	if err != nil {
		return AddressStats{}, err
	}
	var text bytes.Buffer
	row := csv.NewWriter(&text)
	cells := make([]string, len(paths))
	err = row.Write(append([]string{"network"}, names...))
	if row.Flush(); err != nil {
		return AddressStats{}, out.Finish(err)
	}
	if _, err := out.Write(text.Bytes()); err != nil {
		return AddressStats{}, out.Finish(err)
	}
	err = a.each(ctx, func(dst []byte, res *ipgeo.Result) ([]byte, error) {
		some := false
		for i, path := range paths {
			v := res.Field(path)
			some = some || v != nil
			if cells[i], err = cell(v); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		if !some {
			return dst, nil
		}
		text.Reset()
		err := row.Write(cells)
		row.Flush()
		return append(dst, text.Bytes()...), errors.Join(err, row.Error())
	}, func(span ipgeo.Span, record []byte) error {
		return a.lines(out, span, "", ",", record, "")
	})
	return a.stats, out.Finish(err)
}

// cell returns the text of a JSON value. Lists and objects stay JSON. Only a source's own fields
// can be lists or objects.
func cell(v []byte) (string, error) {
	if len(v) < 2 || v[0] != '"' {
		return string(v), nil
	}
	if s := v[1 : len(v)-1]; bytes.IndexByte(s, '\\') < 0 {
		return string(s), nil
	}
	var s string
	err := json.Unmarshal(v, &s)
	return s, err
}

package ip

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"

	"quadrille/cmd/ingest/internal/iprecord"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/delimited"
	"quadrille/cmd/ingest/internal/source/ipcsv"
)

// A list of objects has one of JSON in each line, with its network, or both ends of a range,
// beside the fields of a MaxMind DB: so export ip writes it, and so some publishers do.

// maxObject bounds a line of such a list.
const maxObject = 128 << 10

// The reasons of bad objects.
const (
	reasonObject  = "not an object of JSON"
	reasonNetwork = "an object without its network"
)

// objectSchema returns the schema of a list of objects, or nil for anything else: the first
// line is an object with a network.
func objectSchema(r *bufio.Reader) (*iprecord.Schema, error) {
	head, err := r.Peek(r.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil // reading tells the error
	}
	var sample []map[string]any
	var networks []string
	for line := range bytes.Lines(head) {
		o := readObject(line)
		switch {
		case len(bytes.TrimSpace(line)) == 0:
			continue
		case o.first == "" && sample == nil:
			return nil, nil
		case o.first != "":
			sample = append(sample, o.fields)
			networks = append(networks, o.first+o.last+o.length)
		}
		if len(sample) == schemaSample {
			break
		}
	}
	switch {
	case sample == nil:
		return nil, nil
	case ipcsv.BeginNetworks(networks):
		return nil, fmt.Errorf("every network in it is one address that begins a network, such as %q; write the length of the prefix behind it, /32 if these addresses alone are meant", networks[0])
	}
	return iprecord.Detect("", sample)
}

// object is a line: the network or the ends of a range, the length of a prefix, and what is
// known.
type object struct {
	first, last, length string
	fields              map[string]any // nil if it is no object
}

func readObject(line []byte) (o object) {
	if json.Unmarshal(line, &o.fields) != nil {
		return object{}
	}
	var of [4]string
	for name, v := range o.fields {
		i := slices.Index([]ipcsv.Column{ipcsv.Network, ipcsv.First, ipcsv.Last, ipcsv.PrefixLength}, cmp.Or(addressNames[name], ipcsv.ColumnNamed(name)))
		if i < 0 {
			continue
		}
		switch v := v.(type) {
		case string:
			of[i] = v
		case float64:
			of[i] = strconv.FormatFloat(v, 'f', -1, 64)
		default:
			continue
		}
		delete(o.fields, name)
	}
	if o.first, o.last, o.length = of[1], of[2], of[3]; of[0] != "" {
		o.first, o.last = of[0], ""
	}
	dropNull(o.fields)
	return o
}

// addressNames are names that only in a list of columns have a meaning of their own.
var addressNames = map[string]ipcsv.Column{string(ipcsv.Address): ipcsv.Network}

// dropNull removes members without a value.
func dropNull(fields map[string]any) {
	maps.DeleteFunc(fields, func(_ string, v any) bool {
		if inner, ok := v.(map[string]any); ok {
			dropNull(inner)
		}
		return v == nil
	})
}

// objectRanges yields the ranges of a list of objects.
func objectRanges(f io.Reader, schema *iprecord.Schema, label string, c *converter) iter.Seq2[ipRange, error] {
	rows := delimited.New(f, label, delimited.Format{Separator: '\t', MaxBytes: maxObject, Lax: true, UTF8: true})
	return delimited.Records(rows, func(rng *ipRange) error {
		o := readObject(rows.Text())
		fields := o.fields
		switch {
		case fields == nil:
			return rows.Bad(reasonObject, source.Excerpt(rows.Text()))
		case o.first == "":
			return rows.Bad(reasonNetwork, source.Excerpt(rows.Text()))
		}
		a, b, reason := ipcsv.ParseRange(o.first, o.last, o.length)
		if reason != "" {
			return rows.Bad(reason, source.Excerpt(rows.Text()))
		}
		extra, _ := fields["extra"].(map[string]any) // as export writes it; other lists have theirs beside the rest
		delete(fields, "extra")
		rec, err := schema.Record(fields)
		if len(extra) > 0 {
			rec.Extra = maps.Clone(rec.Extra)
			if rec.Extra == nil {
				rec.Extra = map[string]any{}
			}
			maps.Copy(rec.Extra, extra)
		}
		v, err := c.convert(&rec, err)
		if err != nil {
			return err
		}
		*rng, err = v.ipRange(a, b, label, rows.Line)
		return err
	})
}

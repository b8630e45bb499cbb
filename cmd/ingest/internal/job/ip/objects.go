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
	"strings"

	"quadrille/cmd/ingest/internal/iprecord"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/delimited"
	"quadrille/cmd/ingest/internal/source/ipcsv"
)

// A list of objects has one JSON object in each line. The object has a network, or both ends of a
// range, and the fields of a MaxMind DB. ingest export ip writes this form, and so do some
// publishers.

// maxObject bounds a line of such a list.
const maxObject = 128 << 10

// These are the reasons of bad objects.
const (
	reasonObject   = "not an object of JSON"
	reasonNetwork  = "an object without its network"
	reasonNetworks = "an object with several networks, and which of them counts is not known"
)

// objectSchema returns the schema of a list of objects, or nil for anything else: the first
// line is an object with a network.
func objectSchema(r *bufio.Reader) (*iprecord.Schema, error) {
	head, err := r.Peek(r.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil // reading returns the error
	}
	var sample []map[string]any
	var networks []string // those without a last address or length
	for line := range bytes.Lines(head) {
		o := readObject(line)
		switch {
		case len(bytes.TrimSpace(line)) == 0:
			continue
		case o.first == "" && sample == nil:
			return nil, nil
		case o.first != "":
			sample = append(sample, o.fields)
			if o.last+o.length == "" {
				networks = append(networks, o.first)
			}
		}
		if len(sample) == schemaSample {
			break
		}
	}
	switch {
	case sample == nil:
		return nil, nil
	case len(networks) == len(sample) && ipcsv.BeginNetworks(networks):
		return nil, fmt.Errorf("every network in it is one address that begins a network, such as %q; write the length of "+
			"the prefix behind it, /32 if these addresses alone are meant", networks[0])
	}
	return iprecord.Detect("", sample)
}

// object is a line: the network or the ends of a range, the length of a prefix, and the other
// fields.
type object struct {
	first, last, length string
	several             bool           // members contradict each other
	fields              map[string]any // nil if it is no object
}

// member is a member of an object named like a column of addresses.
type member struct {
	name, text string
	column     ipcsv.Column
	kind       ipcsv.Kind
}

func readObject(line []byte) (o object) {
	if json.Unmarshal(line, &o.fields) != nil {
		return object{}
	}
	lowerNames(o.fields)
	members := o.members(line)
	network, several := best(members, ipcsv.Network)
	first, severalFirst := best(members, ipcsv.First)
	last, severalLast := best(members, ipcsv.Last)
	length, _ := best(members, ipcsv.PrefixLength)
	for _, m := range []*member{first, last} { // a network makes its bounds redundant
		if m != nil {
			delete(o.fields, m.name)
		}
	}
	if network != nil && (first == nil || network.kind >= ipcsv.SingleAddress) {
		first, last = network, nil
	} else {
		several = severalFirst || severalLast
	}
	for i := range members {
		if m := &members[i]; m.column == ipcsv.Network && m != first && m.kind <= ipcsv.DottedMask && length == nil {
			length = m
		}
	}
	for _, m := range []*member{first, length} {
		if m != nil {
			delete(o.fields, m.name)
		}
	}
	o.first, o.last, o.length, o.several = first.value(), last.value(), length.value(), several
	dropNull(o.fields)
	return o
}

// lowerNames writes the names of columns in lower case that are written in capitals, such as ASN and CIDR.
func lowerNames(fields map[string]any) {
	for name, v := range fields {
		lower := strings.ToLower(name)
		if lower == name || strings.ToUpper(name) != name || ipcsv.ColumnNamed(lower) == "" {
			continue
		}
		if _, there := fields[lower]; !there {
			delete(fields, name)
			fields[lower] = v
		}
	}
}

// best returns a column's most precise member, the first among equals. several reports whether an
// equally precise member contradicts it.
func best(members []member, column ipcsv.Column) (m *member, several bool) {
	for i := range members {
		switch other := &members[i]; {
		case other.column != column:
		case m == nil || other.kind > m.kind:
			m, several = other, false
		case other.kind == m.kind && m.kind >= ipcsv.SingleAddress && !sameNetwork(other.text, m.text):
			several = true
		}
	}
	return m, several
}

// addressColumns lists the columns of members with addresses.
var addressColumns = [...]ipcsv.Column{ipcsv.Network, ipcsv.First, ipcsv.Last, ipcsv.PrefixLength}

// members returns the members that may have addresses, sorted by name, because maps have no
// order.
func (o *object) members(line []byte) []member {
	var all []member
	for name, v := range o.fields {
		m := member{name: name, column: cmp.Or(addressNames[name], ipcsv.ColumnNamed(name))}
		if !slices.Contains(addressColumns[:], m.column) {
			continue
		}
		switch v := v.(type) {
		case string:
			m.text = v
		case float64:
			m.text = digits(line, name, v)
		}
		if m.text == "" {
			continue
		}
		m.kind = ipcsv.KindOf(m.text, m.column)
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	return all
}

// digits returns the number of a member. One of an IPv6 address has more digits than a
// float64.
func digits(line []byte, name string, v float64) string {
	if v < 1<<53 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	var exact map[string]json.RawMessage
	_ = json.Unmarshal(line, &exact) // valid, because readObject has parsed it
	return cmp.Or(string(exact[name]), string(exact[strings.ToUpper(name)]))
}

func sameNetwork(a, b string) bool {
	first, last, _ := ipcsv.ParseRange(a, "", "")
	f, l, _ := ipcsv.ParseRange(b, "", "")
	return first == f && last == l
}

func (m *member) value() string {
	if m == nil {
		return ""
	}
	return m.text
}

// addressNames are names of columns that have no meaning as members of an object.
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

// objectRanges yields the ranges of a list of objects. lineOf returns the line of the file for one of f.
func objectRanges(f io.Reader, schema *iprecord.Schema, label string, c *converter, lineOf func(int) int) iter.Seq2[ipRange, error] {
	return func(yield func(ipRange, error) bool) {
		for rng, err := range objectRows(f, schema, label, c) {
			line := &rng.line
			if bad := (*source.BadRecord)(nil); errors.As(err, &bad) {
				line = &bad.Line
			}
			*line = lineOf(*line)
			for _, lost := range rng.lost {
				if bad := (*source.BadRecord)(nil); errors.As(lost, &bad) {
					bad.Line = *line
				}
			}
			if !yield(rng, err) {
				return
			}
		}
	}
}

func objectRows(f io.Reader, schema *iprecord.Schema, label string, c *converter) iter.Seq2[ipRange, error] {
	rows := delimited.New(f, label, delimited.Format{Separator: '\t', MaxBytes: maxObject, AllowBlanks: true, RequireUTF8: true})
	return delimited.Records(rows, func(rng *ipRange) error {
		o := readObject(rows.Text())
		fields := o.fields
		switch {
		case fields == nil:
			return rows.Bad(reasonObject, source.Excerpt(rows.Text()))
		case o.first == "":
			return rows.Bad(reasonNetwork, source.Excerpt(rows.Text()))
		case o.several:
			return rows.Bad(reasonNetworks, source.Excerpt(rows.Text()))
		}
		a, b, reason := ipcsv.ParseRange(o.first, o.last, o.length)
		if reason != "" {
			return rows.Bad(reason, source.Excerpt(rows.Text()))
		}
		extra, _ := fields["extra"].(map[string]any) // as export writes it; other lists have such fields beside the rest
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

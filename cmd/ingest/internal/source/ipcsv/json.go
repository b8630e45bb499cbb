package ipcsv

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/jsonscan"
)

// These bound a list in JSON: the bytes of an entry, which may have thousands of networks, the
// networks of all entries, and the number of entries without a network before the first entry with
// one.
const (
	maxEntry    = 4 << 20
	maxNetworks = 1 << 19
	maxUnknown  = 1 << 10
)

// entry has the members of entries of all providers.
type entry struct {
	Region, Service, Scope string

	Amazon4 string `json:"ip_prefix"`
	Amazon6 string `json:"ipv6_prefix"`
	Google4 string `json:"ipv4Prefix"`
	Google6 string `json:"ipv6Prefix"`
	Azure   struct {
		AddressPrefixes       []string
		Region, SystemService string
	} `json:"properties"`
}

// rows returns the rows of the entry, in the columns of OpenJSON. nameless is set for an entry in
// Google's form without a service, because other providers also write that form.
func (e *entry) rows(line int) (rows []Record, nameless bool) {
	owner, networks, region, service := "Microsoft", e.Azure.AddressPrefixes, e.Azure.Region, e.Azure.SystemService
	switch {
	case e.Amazon4+e.Amazon6 != "":
		owner, networks, region, service = "Amazon", []string{e.Amazon4 + e.Amazon6}, e.Region, e.Service
	case e.Google4+e.Google6 != "":
		owner, networks, region, service = "Google", []string{e.Google4 + e.Google6}, e.Scope, e.Service
		nameless = service == ""
	}
	for _, n := range networks {
		row := Record{Line: line}
		for _, v := range []string{n, owner, "true", region, service} {
			v = v[:min(len(v), maxName)]
			row.Fields = append(row.Fields, bytes.Join(bytes.Fields([]byte(v)), []byte(" "))) // no line breaks
		}
		rows = append(rows, row)
	}
	return rows, nameless
}

// IsProviders reports whether an object is an entry of the list of a provider's networks.
func IsProviders(text []byte) bool {
	var e entry
	if json.Unmarshal(text, &e) != nil {
		return false
	}
	rows, _ := e.rows(0)
	return rows != nil
}

// IsJSON reports whether a list is JSON. r must have any white space at the beginning in its
// buffer.
func IsJSON(r *bufio.Reader) bool { return bytes.HasPrefix(begin(r), []byte{'{'}) }

// begin returns the beginning of the text after white space. An error is returned by later reads.
func begin(r *bufio.Reader) []byte {
	head, _ := r.Peek(r.Size())
	return bytes.TrimSpace(head)
}

// OpenJSON reads the whole list of a provider's networks: AWS, Azure or Google. If a network has
// several entries, the most specific counts, in any order: the entry with the most fields, and in a
// tie the one whose service has the fewest entries. The error matches ErrColumns for other JSON.
func OpenJSON(r *bufio.Reader, name string) (*Table, error) {
	t := &Table{name: name, layout: "list of a provider's networks",
		columns: []Column{Network, "traits.organization", "traits.is_hosting_provider", ExtraPrefix + "region", ExtraPrefix + "service"}}
	const instead = "make it a list of lines, such as by jq -r '… | @csv', with a line of column names"
	head := begin(r)
	unknown := fmt.Errorf("%s: %w: it begins with %s, which is JSON and no list of networks of AWS, Azure or Google; "+instead,
		name, ErrColumns, source.Excerpt(head[:min(len(head), 40)]))
	t.locate()
	t.least = 1                                    // a bad entry has one field, and its reason is the address
	known, google, nameless := false, false, false // google: the list has its syncToken, before or after its networks
	s := jsonscan.New(r)
	element := func(int) error {
		_, _ = s.Kind() // moves to the line of the entry; Raw returns the error
		line := s.Line()
		text, whole, err := s.Raw(nil, maxEntry)
		if err == nil && !whole {
			err = fmt.Errorf("%s: line %d: an entry of more than %d MiB, in what should be a list of networks of AWS, Azure or Google; "+
				instead, name, line, maxEntry>>20)
		}
		var e entry
		rows := []Record{{Line: line, Fields: [][]byte{slices.Clone(text[:min(len(text), maxName)])}}} // bad: no address
		if err == nil && json.Unmarshal(text, &e) == nil {
			if all, none := e.rows(line); all != nil {
				rows, known, nameless = all, true, nameless || none
			}
		}
		switch t.listed = append(t.listed, rows...); {
		case !known && len(t.listed) > maxUnknown:
			err = cmp.Or(err, unknown)
		case len(t.listed) > maxNetworks:
			err = cmp.Or(err, fmt.Errorf("%s: more than %d networks in JSON; "+instead, name, maxNetworks))
		}
		return err
	}
	err := s.Object(func(member []byte) error {
		google = google || string(member) == "syncToken"
		if kind, err := s.Kind(); err != nil || kind != jsonscan.Array {
			return cmp.Or(err, s.Skip())
		}
		return s.Array(element)
	})
	if err == nil && (!known || nameless && !google) {
		err = unknown
	}
	if kind, _ := s.Kind(); err == nil && kind != jsonscan.End {
		err = fmt.Errorf("%s: line %d: JSON goes on behind the list; make it one list, or a list of lines", name, s.Line())
	}
	t.sortByWidth()
	return t, jsonscan.Explain(err, name, "JSON")
}

// These are the columns of a provider's list.
const (
	ownerField = 1 + iota
	flagField
	regionField
	serviceField
	listFields
)

// sortByWidth puts the most specific rows last, because rows are yielded from the end and the first
// row of a network counts.
func (t *Table) sortByWidth() {
	entries := map[string]int{} // by service
	for _, r := range t.listed {
		if len(r.Fields) == listFields {
			entries[string(r.Fields[serviceField])]++
		}
	}
	slices.SortStableFunc(t.listed, func(a, b Record) int {
		if len(a.Fields) != listFields || len(b.Fields) != listFields { // one is bad
			return cmp.Compare(len(a.Fields), len(b.Fields))
		}
		x, y := a.Fields[serviceField], b.Fields[serviceField]
		return cmp.Or(cmp.Compare(said(a), said(b)), cmp.Compare(entries[string(y)], entries[string(x)]), bytes.Compare(y, x),
			bytes.Compare(b.Fields[regionField], a.Fields[regionField]))
	})
}

// said counts the informative fields of a row. A region that all networks have does not count, and
// neither does the service with the owner's name, which has all networks.
func said(r Record) (n int) {
	if region := r.Fields[regionField]; len(region) > 0 && !bytes.EqualFold(region, []byte("global")) {
		n++
	}
	if service := r.Fields[serviceField]; len(service) > 0 && !bytes.EqualFold(service, r.Fields[ownerField]) {
		n++
	}
	return n
}

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

// Bounds of a list in JSON: bytes of an entry, which may have thousands of networks, and networks of all.
const (
	maxEntry    = 4 << 20
	maxNetworks = 1 << 19
)

// entry is what a provider says of networks, whoever it is.
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

// rows are the entry's, under the columns of OpenJSON. Others than Google write in its
// form too, but no service.
func (e *entry) rows(google bool, line int) (rows []Record) {
	owner, networks, region, service := "Microsoft", e.Azure.AddressPrefixes, e.Azure.Region, e.Azure.SystemService
	switch {
	case e.Amazon4+e.Amazon6 != "":
		owner, networks, region, service = "Amazon", []string{e.Amazon4 + e.Amazon6}, e.Region, e.Service
	case e.Google4+e.Google6 != "" && (google || e.Service != ""):
		owner, networks, region, service = "Google", []string{e.Google4 + e.Google6}, e.Scope, e.Service
	}
	for _, n := range networks {
		row := Record{Line: line}
		for _, v := range []string{n, owner, "true", region, service} {
			v = v[:min(len(v), maxName)]
			row.Fields = append(row.Fields, bytes.Join(bytes.Fields([]byte(v)), []byte(" "))) // no line breaks
		}
		rows = append(rows, row)
	}
	return rows
}

// OpenJSON reads the list of a provider's networks, whole: AWS, Azure or Google. Of the
// entries of one network the last counts, which says the most. The error matches
// ErrColumns for other JSON.
func OpenJSON(r *bufio.Reader, name string) (*Table, error) {
	t := &Table{name: name, layout: "list of a provider's networks", least: 1,
		columns: []Column{Network, "traits.organization", "traits.is_hosting_provider", Extra + "region", Extra + "service"}}
	begin, _ := r.Peek(40) // reading tells the error
	unknown := fmt.Errorf("%s: %w: it begins with %s, which is JSON and no list of networks of AWS, Azure or Google; "+
		"make it a list of lines, such as by jq -r '… | @csv', with a line of column names", name, ErrColumns, source.Excerpt(begin))
	google := false // the list has its syncToken
	s := jsonscan.New(r)
	element := func(int) error {
		_, _ = s.Kind() // goes to the line of the entry; Raw tells the error
		line := s.Line()
		text, whole, err := s.Raw(nil, maxEntry)
		var e entry
		rows := []Record{{Line: line, Fields: [][]byte{slices.Clone(text[:min(len(text), maxName)])}}} // bad: no address
		if err == nil && whole && json.Unmarshal(text, &e) == nil {
			if all := e.rows(google, line); all != nil {
				rows, unknown = all, nil
			}
		}
		if t.listed = append(t.listed, rows...); len(t.listed) > maxNetworks {
			err = cmp.Or(err, fmt.Errorf("%s: more than %d networks in JSON; make it a list of lines", name, maxNetworks))
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
	if kind, _ := s.Kind(); err == nil && unknown == nil && kind != jsonscan.End {
		err = fmt.Errorf("%s: line %d: JSON goes on behind the list; make it one list, or a list of lines", name, s.Line())
	}
	return t, cmp.Or(jsonscan.Explain(err, name, "JSON"), unknown)
}

package ipcsv

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"quadrille/cmd/ingest/internal/source"
)

// isWord reports whether a field may be the name of a column. An address is never a
// word, since IPv6 addresses have colons.
func isWord(f []byte) bool {
	return len(f) > 0 && !bytes.ContainsAny(f, ".:/") && ('a' <= f[0]|0x20 && f[0]|0x20 <= 'z' || f[0] == '_')
}

// isHeader reports whether the first of some rows names their columns: it has no address, and its
// first field is a word, or is empty if another field is a name for addresses. A row that is only a
// text, or a single field above rows of several columns, is a message. A row with a damaged address
// has values that other rows have too.
func isHeader(rows [][][]byte) bool {
	if len(rows) == 0 {
		return false
	}
	names, known := rows[0], false
	for _, f := range names {
		if isAddress(f) {
			return false
		}
		c := ColumnNamed(columnName(string(f)))
		known = known || c == Network || c == Address || c == First
	}
	switch {
	case known:
		return len(rows) > 1 || len(names) > 1
	case !isWord(names[0]), len(rows) == 1, len(names) == 1:
		return false
	}
	for _, f := range rows[1:] {
		for i, name := range names {
			if len(name) > 0 && bytes.Equal(name, field(f, i)) {
				return false
			}
		}
	}
	return true
}

// isAddress reports whether a field has an address, a network or a range, and not just a number.
func isAddress(f []byte) bool {
	if !bytes.ContainsAny(f, ".:") {
		return false
	}
	_, _, reason := parseNetwork(f)
	return reason == ""
}

// header is the content of a line with names of columns.
type header struct {
	names   [][]byte
	rows    [][][]byte // some of the following rows
	columns []Column
	guessed []string // conclusions from the rows, for people
}

// readHeader assigns columns to the given names. Only columns of addresses are also recognised by
// their content. Other columns with unknown names keep their names. If the line does not name both
// an address and some value about it, the error says why.
func readHeader(names [][]byte, rows [][][]byte) (*header, error) {
	h := &header{names: names, rows: rows, columns: make([]Column, len(names))}
	if len(names) > maxColumns {
		return h, fmt.Errorf("the first line has %d columns, and there may be %d", len(names), maxColumns)
	}
	for i, f := range names {
		if err := h.name(i, columnName(string(f))); err != nil {
			return h, err
		}
	}
	if err := h.addresses(); err != nil {
		return h, err
	}
	if err := h.lengths(); err != nil {
		return h, err
	}
	// A column name is then the name of the system, and the domain belongs to the system's owner.
	columns := h.columns
	if i := slices.Index(columns, ExtraPrefix+"name"); i >= 0 && slices.Contains(columns, ASN) &&
		!slices.Contains(columns, ASOrganization) {
		columns[i] = ASOrganization
		if i = slices.Index(columns, "traits.domain"); i >= 0 {
			columns[i] = ExtraPrefix + "domain"
		}
	}
	return h, check(columns)
}

// name sets the meaning of column i from its name. If several columns have the same meaning, all
// but the first are kept under their own names. Two columns with the same known name but different
// content are refused, because it is unclear which one counts. The second of two columns with the
// same unknown name is ignored.
func (h *header) name(i int, name string) error {
	c, before := ColumnNamed(name), h.columns[:i]
	if c == Address { // names in use do not distinguish networks from addresses
		c = Network
	}
	j := slices.IndexFunc(h.names[:i], func(f []byte) bool { return columnName(string(f)) == name })
	switch {
	case c != "" && c != Skip && j >= 0 && !h.equal(i, j):
		return fmt.Errorf("the first line has two columns called %s, and which of them counts is not known; rename one of them",
			source.Excerpt(h.names[i]))
	case c == Skip, c == Network, c == PrefixLength, c != "" && !slices.Contains(before, c): // among several networks the values decide
		h.columns[i] = c
	default:
		h.keep(i, name)
	}
	return nil
}

// keep keeps a column under its own name, if the name is free.
func (h *header) keep(i int, name string) {
	c := Column(name) // as export writes names that fields also have
	if !strings.HasPrefix(name, ExtraPrefix) || len(name) == len(ExtraPrefix) {
		c = ExtraPrefix + c
	}
	if name == "" || len(name) > maxName || slices.Contains(h.columns[:i], c) {
		c = Skip
	}
	h.columns[i] = c
}

// equal reports whether two columns have the same content.
func (h *header) equal(i, j int) bool {
	return !slices.ContainsFunc(h.rows, func(f [][]byte) bool { return !bytes.Equal(field(f, i), field(f, j)) })
}

func field(f [][]byte, i int) []byte {
	if i < len(f) {
		return f[i]
	}
	return nil
}

// holds reports whether a column has values and most of them are of a kind.
func (h *header) holds(i int, is func([]byte) bool) bool {
	are, of := 0, 0
	for _, f := range h.rows {
		if v := field(f, i); len(v) > 0 {
			of++
			if is(v) {
				are++
			}
		}
	}
	return are*2 > of
}

// addresses finds the columns of addresses by their names or, if there are none, by their
// content.
func (h *header) addresses() error {
	h.chooseNetwork()
	network, first, last := slices.Index(h.columns, Network), slices.Index(h.columns, First), slices.Index(h.columns, Last)
	if network >= 0 && first >= 0 && len(h.rows) > 0 && (!h.holds(network, isAddress) || maskLasts(h.rows, first, network)) {
		h.demote(network) // it is a network only by name
		network = -1
	}
	var unknown []int // columns of addresses with other names
	for i, c := range h.columns {
		if (c == Skip || strings.HasPrefix(string(c), ExtraPrefix)) && h.holds(i, isAddress) {
			unknown = append(unknown, i)
		}
	}
	switch {
	case network >= 0: // a network makes its bounds redundant
		for i, c := range h.columns {
			if c == First || c == Last {
				h.columns[i] = Skip
			}
		}
	case first >= 0 && last < 0:
		h.columns[first] = Network
		if i := slices.IndexFunc(unknown, func(i int) bool { return h.ascend(first, i) && !maskLasts(h.rows, first, i) }); i >= 0 {
			h.columns[first], h.columns[unknown[i]] = First, Last
			h.guess("last addresses from", unknown[i])
		}
	case first < 0 && last < 0:
		return h.guessAddresses(unknown)
	}
	if last = slices.Index(h.columns, Last); last >= 0 && first >= 0 && maskLasts(h.rows, first, last) {
		return fmt.Errorf("the column %s holds masks and no last addresses; call it netmask", source.Excerpt(h.names[last]))
	}
	return nil
}

// chooseNetwork keeps one column of networks: the first that has addresses. Others that have
// lengths become columns of lengths.
func (h *header) chooseNetwork() {
	choice := slices.Index(h.columns, Network)
	for i, c := range h.columns {
		if c == Network && h.holds(i, isAddress) {
			choice = i
			break
		}
	}
	for i, c := range h.columns {
		if c == Network && i != choice {
			h.demote(i)
		}
	}
}

// demote handles a further column with the name of a network. If it has lengths, it becomes a
// column of lengths. Otherwise it is kept under its own name.
func (h *header) demote(i int) {
	if h.keep(i, columnName(string(h.names[i]))); h.holds(i, isMask) {
		h.columns[i] = PrefixLength
	}
}

func isMask(s []byte) bool { return readMask(s).length >= 0 }

// guessAddresses uses the only column that has networks. If there is none, it uses the only two
// columns of addresses as the ends of ranges.
func (h *header) guessAddresses(holding []int) error {
	var whole []int
	for _, i := range holding {
		if h.holds(i, func(s []byte) bool { return isWhole(s) && isAddress(s) }) {
			whole = append(whole, i)
		}
	}
	switch {
	case len(whole) == 1:
		h.columns[whole[0]] = Network
		h.guess("networks from", whole[0])
	case len(holding) == 1:
		h.columns[holding[0]] = Network
		h.guess("addresses from", holding[0])
	case len(holding) == 2 && maskLasts(h.rows, holding[0], holding[1]): // lengths finds the masks
		h.columns[holding[0]] = Network
		h.guess("networks from", holding[0])
	case len(holding) == 2 && areFirsts(h.rows, holding[0]) && h.ascend(holding[0], holding[1]): // and not a host with its gateway
		h.columns[holding[0]], h.columns[holding[1]] = First, Last
		h.guess("ranges from", holding...)
	case len(holding) == 0:
		return fmt.Errorf("the first line names %s, and none of these holds addresses; call the columns of addresses "+
			"network, or first and last", h.list())
	default:
		return fmt.Errorf("the first line names %s, of which several hold addresses; call those that count network, or first and last", h.list())
	}
	return nil
}

// ascend reports whether in all rows the address in one column is not above that in another.
func (h *header) ascend(first, last int) bool {
	some := false
	for _, f := range h.rows {
		a, _, badA := parseAddr(field(f, first))
		b, _, badB := parseAddr(field(f, last))
		if badA != "" || badB != "" {
			continue
		}
		if b.Less(a) || a.Is4() != b.Is4() {
			return false
		}
		some = true
	}
	return some
}

// vague are names of lengths that columns of other content also have. They mean lengths only if
// networks in another column have no length.
var vague = []string{"length", "len", "bits", "slash", "size"}

// lengths finds the column of prefix lengths if the networks themselves have none. A column of
// dotted masks may have any name.
func (h *header) lengths() error {
	for i, c := range h.columns {
		if c == PrefixLength && (slices.Contains(h.columns[:i], c) || !h.holds(i, isMask)) {
			h.keep(i, columnName(string(h.names[i])))
		}
	}
	network := slices.Index(h.columns, Network)
	if network < 0 || slices.Contains(h.columns, PrefixLength) || h.holds(network, isWhole) {
		return nil
	}
	for i, c := range h.columns {
		if c != Skip && !strings.HasPrefix(string(c), ExtraPrefix) {
			continue
		}
		if slices.Contains(vague, columnName(string(h.names[i]))) && h.holds(i, isMask) || maskLasts(h.rows, network, i) {
			h.columns[i] = PrefixLength
			h.guess("the lengths of prefixes from", i)
			return nil
		}
	}
	if name := columnName(string(h.names[network])); ColumnNamed(name) == First && len(h.rows) > 0 {
		return fmt.Errorf("the first line names first addresses, %s, and no last ones; call these last, or call the others "+
			"network if they are single addresses", source.Excerpt(h.names[network]))
	}
	return nil
}

func (h *header) guess(what string, columns ...int) {
	for k, i := range columns {
		if k > 0 {
			what += " and"
		}
		what += " " + source.Excerpt(h.names[i])
	}
	h.guessed = append(h.guessed, what+", by what it holds")
}

// list returns the names, for people.
func (h *header) list() string {
	const most = 8
	var names []string
	for _, f := range h.names[:min(len(h.names), most)] {
		names = append(names, source.Excerpt(f))
	}
	if len(h.names) > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// leftOver returns a text with the guesses, and with the columns that are not known fields.
func (h *header) leftOver() string {
	var kept, left []string
	for i, c := range h.columns {
		if strings.HasPrefix(string(c), ExtraPrefix) {
			kept = append(kept, source.Excerpt(h.names[i]))
		} else if c == Skip && columnName(string(h.names[i])) != string(Skip) {
			left = append(left, source.Excerpt(h.names[i]))
		}
	}
	says := slices.Clone(h.guessed)
	if kept != nil {
		says = append(says, "kept as extra: "+strings.Join(kept, ", "))
	}
	if left != nil {
		says = append(says, "not read: "+strings.Join(left, ", "))
	}
	return strings.Join(says, "; ")
}

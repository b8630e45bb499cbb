package geoparquet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"quadrille/cmd/ingest/internal/source"
)

// maxColumns bounds the properties of a feature.
const maxColumns = 1000

// shape is what the footer of a file says about its rows.
type shape struct {
	rows    int64
	root    *node
	leaves  []*leaf
	geom    *geometry // nil: the rows have none
	columns []column  // the properties
}

// node is a column: a leaf with values, or a group of columns.
type node struct {
	name     string
	element  *format.SchemaElement
	children []*node
	first    int   // the number of its first leaf
	leaf     *leaf // nil for a group
	repeated bool
	rep, def int // the levels at which a value of the node exists
}

// leaves returns the number of leaves of the node.
func (n *node) leaves() int {
	if n.leaf != nil {
		return 1
	}
	total := 0
	for _, c := range n.children {
		total += c.leaves()
	}
	return total
}

// child returns the child with a name, or nil.
func (n *node) child(name string) *node {
	if n == nil {
		return nil
	}
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

func (n *node) isMap() bool {
	_, is := n.element.LogicalType.Value.(*format.MapType)
	old := n.element.ConvertedType
	is = is || old.Valid && (old.V == deprecated.Map || old.V == deprecated.MapKeyValue)
	return is && len(n.children) == 1 && n.children[0].repeated && len(n.children[0].children) == 2
}

func (n *node) isList() bool {
	_, is := n.element.LogicalType.Value.(*format.ListType)
	return (is || n.element.ConvertedType.Valid && n.element.ConvertedType.V == deprecated.List) &&
		len(n.children) == 1 && n.children[0].repeated
}

// item returns the node of the elements of a list whose repeated node is n. It follows the rules for
// older files in Parquet's LogicalTypes.md. list is the node of the list.
func (n *node) item(list *node) *node {
	if n.leaf == nil && len(n.children) == 1 && !n.children[0].repeated && n.name != "array" && n.name != list.name+"_tuple" {
		return n.children[0]
	}
	return n
}

// isFlat reports whether a row has at most one value of the node.
func (n *node) isFlat() bool { return n.leaf != nil && n.rep == 0 }

// leaf is a column with values.
type leaf struct {
	index    int
	path     string
	element  *format.SchemaElement
	rep, def int
	isText   bool
	append   func(dst []byte, v parquet.Value) ([]byte, string) // see appender

	cursor
}

// column is a property.
type column struct {
	name string
	node *node
	// spread is set for a map whose members are properties, with name before their keys.
	spread bool
	hidden string // its name in the file, if name is another
}

// isZoneless reports whether the values are times without a zone.
func (n *node) isZoneless() bool {
	t, is := n.element.LogicalType.Value.(*format.TimestampType)
	return is && !t.IsAdjustedToUTC && !n.repeated
}

// hoisted are the columns of the Overture schema that get the names that the jobs know. They keep
// their own where the file has a column with the other name.
var hoisted = []struct {
	column, name string
	spread       bool
}{
	{column: "names.primary", name: "name"},
	{column: "names.common", name: "name:", spread: true},
}

// idColumn is the column of a feature's own id. It is a property, too.
const idColumn = "id"

// readShape reads the columns.
func (p *part) readShape() error {
	elements := p.meta.Schema
	if len(elements) == 0 {
		return p.damaged("no columns")
	}
	at := 0
	var read func(path string, rep, def, depth int) (*node, error)
	read = func(path string, rep, def, depth int) (*node, error) {
		if at == len(elements) || depth > maxDepth {
			return nil, p.damaged("its columns are nested wrongly, or more than %d deep", maxDepth)
		}
		e := &elements[at]
		n := &node{name: e.Name, element: e, first: len(p.leaves)}
		if at++; depth > 0 && e.RepetitionType.Valid {
			switch e.RepetitionType.V {
			case format.Optional:
				def++
			case format.Repeated:
				n.repeated = true
				rep, def = rep+1, def+1
			}
		}
		if n.rep, n.def = rep, def; e.Type.Valid {
			if len(p.leaves) == maxLeaves {
				return nil, fmt.Errorf("%s: has more than %d columns; leave some out", p.name, maxLeaves)
			}
			n.leaf = &leaf{index: len(p.leaves), path: path, element: e, rep: rep, def: def}
			n.leaf.append, n.leaf.isText = appender(e)
			p.leaves = append(p.leaves, n.leaf)
			return n, nil
		}
		for range e.NumChildren.V {
			if at == len(elements) {
				return nil, p.damaged("columns are missing")
			}
			name := elements[at].Name
			if depth > 0 {
				name = path + "." + name
			}
			c, err := read(name, rep, def, depth+1)
			if err != nil {
				return nil, err
			}
			n.children = append(n.children, c)
		}
		return n, nil
	}
	var err error
	if p.root, err = read("", 0, 0, 0); err == nil && (at != len(elements) || p.root.leaf != nil) {
		err = p.damaged("its columns are nested wrongly")
	}
	return err
}

// readColumns finds the properties: the leaves of groups, with dots in their names, and whole lists
// and maps. Columns of geometries, and of their boxes, are none.
func (p *part) readColumns(not func(*node) bool) error {
	var add func(n *node, name string)
	add = func(n *node, name string) {
		if n.leaf == nil && !n.repeated && !n.isList() && !n.isMap() {
			for _, c := range n.children {
				add(c, name+"."+c.name)
			}
			return
		}
		p.columns = append(p.columns, column{name: name, node: n})
	}
	for _, n := range p.root.children {
		if !not(n) {
			add(n, n.name)
		}
	}
	if len(p.columns) > maxColumns {
		return fmt.Errorf("%s: has more than %d columns of properties; leave some out", p.name, maxColumns)
	}
	for _, h := range hoisted {
		if slices.ContainsFunc(p.columns, func(c column) bool { return c.name == h.name }) {
			continue
		}
		for i, c := range p.columns {
			if c.name == h.column && c.node.isMap() == h.spread {
				p.columns[i].name, p.columns[i].spread, p.columns[i].hidden = h.name, h.spread, h.column
			}
		}
	}
	for _, c := range p.columns {
		for _, l := range p.leaves[c.node.first : c.node.first+c.node.leaves()] {
			l.used = true
		}
	}
	return nil
}

// property returns the property of a column, or of a member of a map, that has the name in the file.
func property(columns []column, name string) string {
	for i := range columns {
		switch key, inner := strings.CutPrefix(name, columns[i].hidden+"."); {
		case columns[i].hidden == "":
		case inner && columns[i].spread:
			return columns[i].name + key
		case columns[i].hidden == name:
			return columns[i].name
		}
	}
	return name
}

// find returns the leaf with a path, if rows have at most one value of it.
func (p *part) find(path ...string) *leaf {
	n := p.root
	for _, name := range path {
		n = n.child(name)
	}
	if n == nil || !n.isFlat() {
		return nil
	}
	return n.leaf
}

// errUnequal is the error for lists whose columns have different numbers of values.
var errUnequal = fmt.Errorf("columns of one list have different lengths")

// appendJSON appends the value of a node as JSON, or nothing if it is null. values are those of its
// leaves, in order; each has at least one.
func (p *part) appendJSON(dst []byte, n *node, values [][]parquet.Value, lost *source.Lost) ([]byte, error) {
	first := values[0][0]
	switch {
	case n.repeated:
		return p.appendList(dst, n, n, values, lost)
	case first.DefinitionLevel() < n.def:
		return dst, nil
	case n.leaf != nil:
		out, why := n.leaf.append(dst, first)
		if why != "" {
			lost.Add(n.leaf.path, why)
		}
		return out, nil
	case n.isList():
		return p.appendList(dst, n.children[0], n.children[0].item(n), values, lost)
	case n.isMap():
		dst = append(dst, '{')
		err := p.eachPair(n, values, func(key []byte, value *node, values [][]parquet.Value) (err error) {
			from := len(dst)
			if from > 0 && dst[from-1] != '{' {
				dst = append(dst, ',')
			}
			dst = append(append(dst, key...), ':')
			begin := len(dst)
			if dst, err = p.appendJSON(dst, value, values, lost); len(dst) == begin {
				dst = dst[:from]
			}
			return err
		})
		return append(dst, '}'), err
	}
	return p.appendObject(dst, n, values, lost)
}

// appendObject appends the members of a group that are not null.
func (p *part) appendObject(dst []byte, n *node, values [][]parquet.Value, lost *source.Lost) (_ []byte, err error) {
	dst = append(dst, '{')
	for _, c := range n.children {
		from := len(dst)
		if dst[from-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(appendText(dst, c.name), ':')
		begin := len(dst)
		at := c.first - n.first
		if dst, err = p.appendJSON(dst, c, values[at:at+c.leaves()], lost); err != nil {
			return dst, err
		}
		if len(dst) == begin {
			dst = dst[:from]
		}
	}
	return append(dst, '}'), nil
}

// appendList appends the elements of a repeated node. item is the node of an element.
func (p *part) appendList(dst []byte, repeated, item *node, values [][]parquet.Value, lost *source.Lost) (_ []byte, err error) {
	dst = append(dst, '[')
	err = eachItem(repeated, values, func(values [][]parquet.Value) (err error) {
		if dst[len(dst)-1] != '[' {
			dst = append(dst, ',')
		}
		begin := len(dst)
		switch {
		case item != repeated:
			dst, err = p.appendJSON(dst, item, values, lost)
		case item.leaf != nil:
			var why string
			if dst, why = item.leaf.append(dst, values[0][0]); why != "" {
				lost.Add(item.leaf.path, why)
			}
		default:
			dst, err = p.appendObject(dst, item, values, lost)
		}
		if len(dst) == begin {
			dst = append(dst, "null"...)
		}
		return err
	})
	return append(dst, ']'), err
}

// eachPair calls f with the pairs of a map. The key is JSON text.
func (p *part) eachPair(n *node, values [][]parquet.Value, f func(key []byte, value *node, values [][]parquet.Value) error) error {
	pair := n.children[0]
	key, value := pair.children[0], pair.children[1]
	if key.leaf == nil {
		return nil
	}
	var text []byte
	return eachItem(pair, values, func(values [][]parquet.Value) error {
		if values[0][0].IsNull() {
			return nil
		}
		var why string
		if text, why = key.leaf.append(text[:0], values[0][0]); why != "" {
			return nil
		}
		if text[0] != '"' {
			text = appendText(nil, string(text))
		}
		return f(text, value, values[1:])
	})
}

// eachItem calls f with the values of each element of a repeated node.
func eachItem(n *node, values [][]parquet.Value, f func([][]parquet.Value) error) error {
	if values[0][0].DefinitionLevel() < n.def {
		return nil // empty
	}
	rest, item := slices.Clone(values), make([][]parquet.Value, len(values))
	for len(rest[0]) > 0 {
		for i, v := range rest {
			if len(v) == 0 {
				return errUnequal
			}
			end := 1
			for end < len(v) && v[end].RepetitionLevel() > n.rep {
				end++
			}
			item[i], rest[i] = v[:end], v[end:]
		}
		if err := f(item); err != nil {
			return err
		}
	}
	for _, v := range rest {
		if len(v) > 0 {
			return errUnequal
		}
	}
	return nil
}

// listed returns names for a message.
func listed(nodes []*node) string {
	var names []string
	for _, n := range nodes[:min(len(nodes), 5)] {
		names = append(names, source.Excerpt(n.name))
	}
	return strings.Join(names, ", ")
}

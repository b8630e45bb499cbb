package hbasestore

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
)

// newVersionBehavior makes HBase trim and delete in the order of commits, as
// the contract's P5, G4 and D4 want it.
const newVersionBehavior = "NEW_VERSION_BEHAVIOR"

// forever is how HBase writes that cells have no limit of age.
const forever = math.MaxInt32

// state is what all Tables of one name share.
type state struct {
	name, path string
	dropped    atomic.Bool
	view       atomic.Pointer[view]
}

// view is the declaration of a table as it was read.
type view struct {
	cellstore.Validator
	// families by name as bytes of an answer, so that cells share strings.
	families map[string]*family
}

type family struct {
	name string
	raw  []byte // the name, for calls
	// trims says that versions can be hidden by their number or age, so a
	// range of times must not be left to the server, which skips files that
	// hold the newer versions.
	trims bool
}

// describe writes a schema as HBase has it.
func (s *Store) describe(schema cellstore.Schema) (*thrift2.Table, error) {
	t := &thrift2.Table{Name: s.name(schema.Table)}
	for _, f := range schema.Families {
		if f.TTL%time.Second != 0 || f.TTL/time.Second >= forever {
			return nil, fmt.Errorf("%w: family %s: TTL %v must be a whole number of seconds below 2³¹ in HBase", cellstore.ErrBadSchema, f.Name, f.TTL)
		}
		if f.Name == "recovered.edits" {
			return nil, fmt.Errorf("%w: HBase keeps the name %s for itself", cellstore.ErrBadSchema, f.Name)
		}
		d := thrift2.Family{
			Name:        f.Name,
			Attributes:  map[string]string{newVersionBehavior: "true"},
			BlockSize:   int32(f.BlockSize),
			MaxVersions: int32(min(f.MaxVersions, math.MaxInt32)),
			MinVersions: int32(min(f.MinVersions, math.MaxInt32)),
			TTL:         forever,
			InMemory:    f.InMemory,
		}
		if f.MaxVersions == cellstore.Unlimited {
			d.MaxVersions = math.MaxInt32
		}
		if f.TTL > 0 {
			d.TTL = int32(f.TTL / time.Second)
		}
		switch f.Bloom {
		case cellstore.BloomNone:
			d.Bloom = thrift2.BloomNone
		case cellstore.BloomRowCol:
			d.Bloom = thrift2.BloomRowCol
		default:
			d.Bloom = thrift2.BloomRow
		}
		d.Compression = s.codec(f.Compression)
		t.Families = append(t.Families, d)
	}
	return t, nil
}

func (s *Store) codec(c cellstore.Compression) int32 {
	switch {
	case c == cellstore.CompressionNone || s.opts.NoCompression:
		return thrift2.CompressionNone
	case c == cellstore.CompressionZstd:
		return thrift2.CompressionZstd
	}
	return thrift2.CompressionSnappy
}

// read reads the declaration of a table.
func (s *Store) read(ctx context.Context, name string) (*view, error) {
	var d *thrift2.Table
	err := s.call(ctx, anyTimes, func(ctx context.Context, c *thrift2.Conn) (err error) {
		d, err = c.Describe(ctx, s.name(name))
		return err
	})
	if err = missing(err, s.path(name)); err != nil {
		return nil, err
	}
	v := &view{families: make(map[string]*family, len(d.Families))}
	v.Limits, v.Capabilities, v.Schema.Table = limits, Capabilities, name
	for i := range d.Families {
		f := &d.Families[i]
		if !strings.EqualFold(f.Attributes[newVersionBehavior], "true") {
			return nil, fmt.Errorf("family %s of table %s lacks %s, without which deletes hide later puts: alter it in the shell of HBase, or make the table with this program",
				f.Name, d.Name.Name, newVersionBehavior)
		}
		v.Schema.Families = append(v.Schema.Families, fromHBase(f))
		v.families[f.Name] = &family{name: f.Name, raw: []byte(f.Name), trims: f.MaxVersions != math.MaxInt32 || f.MinVersions > 0}
	}
	return v, nil
}

func fromHBase(f *thrift2.Family) cellstore.Family {
	c := cellstore.Family{
		Name:        f.Name,
		MaxVersions: int(f.MaxVersions),
		MinVersions: int(f.MinVersions),
		BlockSize:   int(f.BlockSize),
		InMemory:    f.InMemory,
		Bloom:       cellstore.BloomRow,
		Compression: cellstore.CompressionNone,
	}
	if f.MaxVersions == math.MaxInt32 {
		c.MaxVersions = cellstore.Unlimited
	}
	if f.TTL > 0 && f.TTL != forever {
		c.TTL = time.Duration(f.TTL) * time.Second
	}
	switch f.Bloom {
	case thrift2.BloomNone:
		c.Bloom = cellstore.BloomNone
	case thrift2.BloomRowCol:
		c.Bloom = cellstore.BloomRowCol
	}
	switch f.Compression {
	case thrift2.CompressionSnappy:
		c.Compression = cellstore.CompressionSnappy
	case thrift2.CompressionZstd:
		c.Compression = cellstore.CompressionZstd
	}
	return c
}

// raw returns the name of a family as bytes not to be changed.
func (v *view) raw(name string) []byte {
	if f := v.families[name]; f != nil {
		return f.raw
	}
	return []byte(name) // dropped since the mutation was checked
}

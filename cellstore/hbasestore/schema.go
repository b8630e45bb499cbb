package hbasestore

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
)

// newVersionBehavior makes HBase trim and delete in the order of commits, as P5, G4 and D4 of
// cellstore/CONTRACT.md require.
const newVersionBehavior = "NEW_VERSION_BEHAVIOR"

// forever is the TTL that means "no TTL" in HBase.
const forever = math.MaxInt32

// HBase 2.6 miscounts the versions of a column when one of them is put again
// and single versions are deleted: it hides visible versions and shows trimmed
// ones. With one version, and without a limit, it counts right. For any other limit, the family's
// limit in HBase is higher by spare. The limit itself is an attribute of the family, and the reads
// of this package stop at it. A miscount then matters only when one version of a column is put
// again that many times between two compactions. The price is the disk space of the spare versions.
const (
	maxVersions = "CELLSTORE_MAX_VERSIONS"
	spare       = 31
)

// ownAttributes are attributes with fields of their own in a description. They are not copied from
// the old description, because they would be set first and for a moment contradict the new value of
// a field.
var ownAttributes = []string{"VERSIONS", "MIN_VERSIONS", "TTL", "BLOCKSIZE", "BLOOMFILTER", "COMPRESSION", "IN_MEMORY", maxVersions}

// state is shared by all Tables of one name.
type state struct {
	name, path string
	dropped    atomic.Bool
	view       atomic.Pointer[view]
}

// view is the declaration of a table at the time of the last read.
type view struct {
	cellstore.Validator
	// families are the families by name. The name is looked up as bytes of an answer, so that cells
	// share strings.
	families map[string]*family
}

type family struct {
	name string
	raw  []byte // the name, for calls
	// trims is set if versions can be hidden by their number or age. A time range must then not be
	// left to the server, which skips the files of the newer versions.
	trims bool
	// most is the number of versions of a column that are read, or 0 for all. The cluster may store
	// more: spare versions, or versions that an earlier limit allowed.
	most int
	// spare is set if the limit of versions in HBase is higher than the declared one.
	spare bool
	// minVersionsTTL is the TTL in milliseconds of a family with MinVersions, else
	// 0. If a version that HBase keeps for MinVersions is deleted, an older version takes its place
	// unless a compaction has removed it.
	minVersionsTTL int64
	min            int
}

// revealsOlder reports whether the delete of one version of a column may make trimmed or expired
// versions visible.
func (f *family) revealsOlder() bool { return f != nil && (f.spare || f.minVersionsTTL > 0) }

// describe converts a schema for HBase. It keeps the other attributes of the present table now; now
// is nil for a new table.
func (s *Store) describe(schema cellstore.Schema, now *thrift2.Table) (*thrift2.Table, error) {
	t := &thrift2.Table{Name: s.name(schema.Table)}
	if now != nil {
		t.Attributes = now.Attributes
	}
	for _, f := range schema.Families {
		if f.TTL%time.Second != 0 || f.TTL/time.Second >= forever {
			return nil, fmt.Errorf("%w: family %s: TTL %v must be a whole number of seconds below 2³¹ in HBase", cellstore.ErrBadSchema,
				f.Name, f.TTL)
		}
		if f.Name == "recovered.edits" {
			return nil, fmt.Errorf("%w: HBase keeps the name %s for itself", cellstore.ErrBadSchema, f.Name)
		}
		d := thrift2.Family{
			Name:        f.Name,
			Attributes:  map[string]string{},
			BlockSize:   int32(f.BlockSize),
			MinVersions: int32(min(f.MinVersions, math.MaxInt32)),
			TTL:         forever,
			InMemory:    f.InMemory,
		}
		var was *thrift2.Family
		if now != nil {
			if i := slices.IndexFunc(now.Families, func(o thrift2.Family) bool { return o.Name == f.Name }); i >= 0 {
				was = &now.Families[i]
				d.Configuration = was.Configuration
				maps.Copy(d.Attributes, was.Attributes)
				for _, name := range ownAttributes {
					delete(d.Attributes, name)
				}
			}
		}
		d.Attributes[newVersionBehavior] = "true"
		switch {
		case f.MaxVersions == cellstore.Unlimited || f.MaxVersions > math.MaxInt32-spare:
			d.MaxVersions = math.MaxInt32
		case f.MaxVersions == 1 && (was == nil || was.MaxVersions == 1):
			d.MaxVersions = 1
		default:
			d.MaxVersions = int32(f.MaxVersions) + spare
			d.Attributes[maxVersions] = strconv.Itoa(f.MaxVersions)
		}
		if f.TTL > 0 {
			d.TTL = int32(f.TTL / time.Second)
		}
		d.Bloom = thrift2.BloomRow // for ROWCOL too, see read
		if f.Bloom == cellstore.BloomNone {
			d.Bloom = thrift2.BloomNone
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
	err := s.call(ctx, readCall, func(ctx context.Context, c *thrift2.Conn) (err error) {
		d, err = c.Describe(ctx, s.name(name))
		return err
	})
	if err = tableMissing(err, s.path(name)); err != nil {
		return nil, err
	}
	v := &view{families: make(map[string]*family, len(d.Families))}
	v.Limits, v.Capabilities, v.Schema.Table = limits, Capabilities, name
	for i := range d.Families {
		f := &d.Families[i]
		if !strings.EqualFold(f.Attributes[newVersionBehavior], "true") {
			return nil, fmt.Errorf("family %s of table %s lacks %s, without which deletes hide later puts: alter it in the "+
				"shell of HBase, or make the table with this program",
				f.Name, d.Name.Name, newVersionBehavior)
		}
		// A ROWCOL Bloom filter makes region servers of 2.6 loop for ever between two columns of a
		// read, once it reports that a file lacks a column.
		if f.Bloom == thrift2.BloomRowCol {
			return nil, fmt.Errorf("family %s of table %s has BLOOMFILTER ROWCOL, which with %s makes region servers hang: "+
				"alter it to ROW in the shell of HBase and run major_compact, as its files have the filter too, or make the table with this program",
				f.Name, d.Name.Name, newVersionBehavior)
		}
		c := fromHBase(f)
		v.Schema.Families = append(v.Schema.Families, c)
		own := &family{name: f.Name, raw: []byte(f.Name), trims: f.MaxVersions != math.MaxInt32 || f.MinVersions > 0, min: c.MinVersions}
		if c.MaxVersions != cellstore.Unlimited {
			own.most, own.spare = c.MaxVersions, c.MaxVersions < int(f.MaxVersions)
		}
		if c.MinVersions > 0 {
			own.minVersionsTTL = c.TTL.Milliseconds()
		}
		v.families[f.Name] = own
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
	} else if n, err := strconv.Atoi(f.Attributes[maxVersions]); err == nil && n >= 1 {
		c.MaxVersions = min(n, c.MaxVersions)
	}
	if f.TTL > 0 && f.TTL != forever {
		c.TTL = time.Duration(f.TTL) * time.Second
	}
	if f.Bloom == thrift2.BloomNone {
		c.Bloom = cellstore.BloomNone
	}
	switch f.Compression {
	case thrift2.CompressionSnappy:
		c.Compression = cellstore.CompressionSnappy
	case thrift2.CompressionZstd:
		c.Compression = cellstore.CompressionZstd
	}
	return c
}

// raw returns the name of a family as bytes that must not be changed.
func (v *view) raw(name string) []byte {
	if f := v.families[name]; f != nil {
		return f.raw
	}
	return []byte(name) // the family was dropped after the check of the mutation
}

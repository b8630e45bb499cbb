package cellstore

import (
	"fmt"
	"regexp"
	"time"
)

// Unlimited, as MaxVersions, keeps every version ever written.
const Unlimited = -1

// Bloom chooses the keys of a family's Bloom filter. It is a hint.
type Bloom uint8

const (
	BloomRow    Bloom = iota // row keys; the default
	BloomNone                // no filter
	BloomRowCol              // row keys with qualifiers, for Gets of single columns
)

// Compression of a family's blocks. It is a hint.
type Compression uint8

const (
	CompressionSnappy Compression = iota // the default
	CompressionNone                      // blocks are stored as they are
	CompressionZstd                      // smaller and slower than Snappy
)

// Family declares a column family. Only MaxVersions, MinVersions and TTL
// change results; the rest are hints, and [Table.Schema] reports the values
// in force.
type Family struct {
	Name        string
	MaxVersions int           // 0 means 1; or Unlimited
	MinVersions int           // newest versions that outlive TTL; ≤ MaxVersions
	TTL         time.Duration // whole milliseconds; 0 means none
	Bloom       Bloom
	Compression Compression
	BlockSize   int // bytes; 0 means 16 KiB
	InMemory    bool
}

// Schema declares a table.
type Schema struct {
	Table    string
	Families []Family
}

// MaxFamilies bounds the families of a table.
const MaxFamilies = 64

var nameRE = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// Normalize returns the schema with its defaults filled in, or an error that
// matches ErrBadSchema.
func (s Schema) Normalize() (Schema, error) {
	bad := func(format string, args ...any) (Schema, error) {
		return Schema{}, fmt.Errorf("%w: %s", ErrBadSchema, fmt.Sprintf(format, args...))
	}
	if !nameRE.MatchString(s.Table) {
		return bad("table name %q must match %s", s.Table, nameRE)
	}
	if len(s.Families) == 0 || len(s.Families) > MaxFamilies {
		return bad("table %s declares %d families, it needs 1 to %d", s.Table, len(s.Families), MaxFamilies)
	}
	fams := make([]Family, len(s.Families))
	seen := make(map[string]bool, len(fams))
	for i, f := range s.Families {
		if !nameRE.MatchString(f.Name) {
			return bad("family name %q must match %s", f.Name, nameRE)
		}
		if seen[f.Name] {
			return bad("family %s is declared twice", f.Name)
		}
		seen[f.Name] = true
		if f.MaxVersions == 0 {
			f.MaxVersions = 1
		}
		if f.MaxVersions < Unlimited {
			return bad("family %s: MaxVersions %d must be positive or Unlimited", f.Name, f.MaxVersions)
		}
		if f.MinVersions < 0 || (f.MaxVersions != Unlimited && f.MinVersions > f.MaxVersions) {
			return bad("family %s: MinVersions %d must be between 0 and MaxVersions", f.Name, f.MinVersions)
		}
		if f.TTL < 0 || f.TTL%time.Millisecond != 0 {
			return bad("family %s: TTL %v must be a positive whole number of milliseconds", f.Name, f.TTL)
		}
		if f.Bloom > BloomRowCol || f.Compression > CompressionZstd {
			return bad("family %s: unknown bloom or compression", f.Name)
		}
		if f.BlockSize == 0 {
			f.BlockSize = 16 << 10
		}
		if f.BlockSize < 1<<10 || f.BlockSize > 16<<20 {
			return bad("family %s: BlockSize %d must be between 1 KiB and 16 MiB", f.Name, f.BlockSize)
		}
		fams[i] = f
	}
	s.Families = fams
	return s, nil
}

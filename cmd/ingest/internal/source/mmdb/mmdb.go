// Package mmdb reads the networks and records of MaxMind DB files with any fields.
package mmdb

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/big"
	"net/netip"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oschwald/maxminddb-golang/v2"

	"quadrille/cmd/ingest/internal/source"
)

// File is an opened database.
type File struct {
	Path string
	Size int64 // bytes on disk, packed or not
	Type string
	// Built is the time when its publisher built it.
	Built time.Time
	// Languages are the languages of the names in the database.
	Languages []string

	db     *maxminddb.Reader
	temp   string
	leaves uint64 // of the search tree, visited by Networks
}

// ErrDamaged is matched by the errors for a file that breaks the rules of the format. No data of
// such a file can be trusted.
var ErrDamaged = errors.New("damaged MaxMind DB file")

func damaged(path string, err error) error {
	if text := err.Error(); len(text) > maxMessage { // it may quote a path a thousand levels deep
		err = errors.New(strings.ToValidUTF8(text[:maxMessage], "") + "…")
	}
	return fmt.Errorf("%s: %w: %w; fetch it again, or ask its publisher", path, ErrDamaged, err)
}

const maxMessage = 300

// ReasonRecord refuses a record that is not a map.
const ReasonRecord = "record is not a map"

// Open opens a database: a plain file, one compressed by gzip, or the only .mmdb member of a zip or
// tar.gz archive. A packed one is unpacked into the directory temp, within the bounds of
// source.File, and Close removes it. A plain file must not be rewritten in place before Close.
func Open(path, temp string) (_ *File, err error) {
	in, err := source.OpenMember(path, IsName)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	f := &File{Path: path, Size: in.Size}
	defer func() {
		if err != nil {
			_ = f.Close() // only read
		}
	}()
	file := path
	if tarred := in.IsTar(); tarred || !in.IsUnpacked() {
		var r io.Reader = in
		if tarred {
			if r, err = member(in); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		if f.temp, err = unpack(r, temp); errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("%s: %w; it is truncated: fetch it again", path, err)
		} else if err != nil {
			return nil, err
		}
		file = f.temp
	}
	var whole bool
	if f.db, whole, err = open(func() (*maxminddb.Reader, error) { return maxminddb.Open(file) }); err != nil {
		return nil, damaged(path, err)
	}
	if !whole {
		if err := f.readable(); err != nil {
			return nil, err
		}
	}
	m := f.db.Metadata
	// An impossible date is a sign of damage, and would become the age of the data.
	const latest = 1 << 33 // in the year 2242
	if uint64(m.BuildEpoch) > latest {
		return nil, damaged(path, fmt.Errorf("its build date, %d s after 1970, cannot be", m.BuildEpoch))
	}
	if m.BuildEpoch > 0 {
		f.Built = time.Unix(int64(m.BuildEpoch), 0).UTC()
	}
	f.Type, f.Languages = m.DatabaseType, m.Languages
	return f, nil
}

// open protects the program from panics of the library because of a damaged file. If whole is
// false, records have not been checked yet.
func open(from func() (*maxminddb.Reader, error)) (db *maxminddb.Reader, whole bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	if db, err = from(); err != nil {
		return nil, false, err
	}
	m := db.Metadata
	if m.BinaryFormatMajorVersion != 2 {
		err = fmt.Errorf("its format is version %d; version 2 is read", m.BinaryFormatMajorVersion)
	} else if m.IPVersion != 4 && m.IPVersion != 6 {
		err = fmt.Errorf("it is of IP version %d", m.IPVersion)
	} else if m.RecordSize != 24 && m.RecordSize != 28 && m.RecordSize != 32 {
		err = fmt.Errorf("its record size is %d bits", m.RecordSize)
	}
	if err == nil {
		// Only the check below requires a description.
		if len(m.Description) == 0 {
			db.Metadata.Description = map[string]string{"en": m.DatabaseType}
		}
		// Every node and record is checked now, so that a damaged file is recognised before
		// anything is built from it.
		err = db.Verify()
	}
	if err != nil && strings.HasSuffix(err.Error(), unused) {
		return db, false, nil
	}
	if err != nil {
		return nil, false, errors.Join(err, db.Close())
	}
	return db, true, nil
}

// unused is the end of the error with which the library's check reports data that no network has.
// Such data do not break the format: Python's mmdb_writer writes each value of a record separately,
// and the records point to these values. The check stops at this error, after it has checked
// metadata and tree.
const unused = "that the search tree does not point to"

// readable reads every record once. It marks the records that have been read with a bit for each
// byte of the data.
func (f *File) readable() error {
	var seen []uint64
	for r, err := range f.Networks() {
		if err != nil {
			return err
		}
		word, bit := int(r.Offset/64), uint64(1)<<(r.Offset%64)
		if word < len(seen) && seen[word]&bit != 0 {
			continue
		}
		if _, err := r.Fields(); errors.Is(err, ErrDamaged) { // for example an offset beyond the data
			return err
		}
		if word >= len(seen) {
			seen = append(seen, make([]uint64, word+1-len(seen))...)
		}
		seen[word] |= bit
	}
	return nil
}

// IsName reports whether a file or member has the name of a database.
func IsName(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".mmdb") }

// IsDatabase reports whether the unpacked bytes of a file look like a database, or
// at least unlike text in any character set. A database begins with a search tree,
// if it has one, and the numbers of the first nodes are small. Text may have a
// stray control character.
func IsDatabase(f *source.File) bool {
	head, _ := f.Reader().Peek(512)
	control := 0
	for _, c := range head {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			control++
		}
	}
	const oneIn = 16
	return control*oneIn > len(head) || bytes.Contains(head, []byte("\xab\xcd\xefMaxMind.com")) // the metadata of a database without a tree
}

// maxMembers bounds the members of a tar archive looked at.
const maxMembers = 1000

// member finds the only database of a tar archive.
func member(r io.Reader) (io.Reader, error) {
	t := tar.NewReader(r)
	for range maxMembers {
		h, err := t.Next()
		if err == io.EOF {
			return nil, errors.New("tar archive without a .mmdb file; name the database itself")
		}
		if err != nil {
			return nil, fmt.Errorf("tar archive: %w; it may be truncated: fetch it again", err)
		}
		if h.Typeflag == tar.TypeReg && IsName(h.Name) {
			return t, nil
		}
	}
	return nil, fmt.Errorf("tar archive of over %d members; unpack it and name the database", maxMembers)
}

func unpack(r io.Reader, dir string) (name string, err error) {
	out, err := os.CreateTemp(dir, "unpacked-*.mmdb")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, r)
	if err = errors.Join(err, out.Close()); err != nil {
		return "", errors.Join(err, os.Remove(out.Name()))
	}
	return out.Name(), nil
}

// Close closes the database and removes unpacked files.
func (f *File) Close() error {
	var err error
	if f.db != nil {
		err = f.db.Close()
	}
	if f.temp != "" {
		err = errors.Join(err, os.Remove(f.temp))
	}
	return err
}

// Record is one network.
type Record struct {
	First, Last netip.Addr
	Number      int // 1-based, among the networks with data
	// Offset identifies the data within the file: records with equal offsets
	// have equal data.
	Offset uint64

	result maxminddb.Result
	file   *File
}

// Networks yields the networks that have data, in the order of their addresses. Networks of IPv6
// that repeat those of IPv4 are skipped. An error matches ErrDamaged and ends the sequence.
//
// Equal parts of a search tree may be stored once, as ingest export ip does, so it may have more
// leaves than nodes. If nodes are shared at every level, there are more networks than any disk has
// room for. So a file with more than leavesPerNode leaves per node is refused.
func (f *File) Networks() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		stopped := false
		if err := f.networks(func(r Record) bool {
			stopped = !yield(r, nil)
			return !stopped
		}); err != nil && !stopped {
			yield(Record{}, err)
		}
	}
}

// leavesPerNode is far above 3, the value for databases of countries, which share the most nodes.
const leavesPerNode = 64

var all4 = netip.MustParsePrefix("0.0.0.0/0")

// Progress returns the approximate number of bytes of Size that Networks has processed.
func (f *File) Progress() int64 {
	return int64(float64(f.Size) * min(1, float64(f.leaves)/float64(f.db.Metadata.NodeCount+1)))
}

func (f *File) networks(yield func(Record) bool) error {
	most := leavesPerNode * (uint64(f.db.Metadata.NodeCount) + 1)
	f.leaves = 0
	n := 0
	for res := range f.db.Networks(maxminddb.IncludeNetworksWithoutData()) {
		if err := res.Err(); err != nil {
			return damaged(f.Path, err)
		}
		if f.leaves++; f.leaves > most {
			return damaged(f.Path, fmt.Errorf("its search tree of %d nodes has more than %d leaves for each: nodes are shared "+
				"at every level", f.db.Metadata.NodeCount, leavesPerNode))
		}
		if !res.Found() {
			continue
		}
		n++
		p := res.Prefix()
		r := Record{First: p.Addr(), Last: source.LastAddr(p), Number: n, Offset: uint64(res.Offset()), result: res, file: f}
		if !yield(r) {
			return nil
		}
		// A network that holds ::/96 is the answer for all IPv4 addresses.
		if p.Addr().Is6() && p.Bits() < 96 && p.Contains(netip.IPv6Unspecified()) {
			if r.First, r.Last = all4.Addr(), source.LastAddr(all4); !yield(r) {
				return nil
			}
		}
	}
	return nil
}

// Fields decodes the data: strings, bool, int64, uint64, float64, []any and map[string]any.
// Integers of 128 bits that do not fit into a uint64 are decimal strings, and bytes are hexadecimal
// strings. The error is a *source.BadRecord for data that is not a map, or matches ErrDamaged.
func (r *Record) Fields() (_ map[string]any, err error) {
	defer func() {
		if p := recover(); p != nil { // a mistake of the library
			err = damaged(r.file.Path, fmt.Errorf("record of %s: %v", r.First, p))
		}
	}()
	var v any
	if err := r.result.Decode(&v); err != nil {
		return nil, damaged(r.file.Path, fmt.Errorf("record of %s: %w", r.result.Prefix(), err))
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, &source.BadRecord{
			Source: r.file.Path,
			Line:   r.Number,
			Reason: ReasonRecord,
			Detail: fmt.Sprintf("%s: %s", r.result.Prefix(), source.Excerpt(fmt.Sprint(v))),
		}
	}
	if err := plain(m); err != nil {
		return nil, damaged(r.file.Path, fmt.Errorf("record of %s: %w", r.result.Prefix(), err))
	}
	return m, nil
}

// plain converts the values of a map to the types of Fields.
func plain(m map[string]any) error {
	for k, v := range m {
		if !utf8.ValidString(k) {
			return fmt.Errorf("the name of a field, %s, is not UTF-8", source.Excerpt(k))
		}
		w, err := plainValue(v)
		if err != nil {
			return err
		}
		m[k] = w
	}
	return nil
}

func plainValue(v any) (any, error) {
	switch v := v.(type) {
	case string:
		if !utf8.ValidString(v) {
			return nil, fmt.Errorf("a text, %s, is not UTF-8", source.Excerpt(v))
		}
		return v, nil
	case bool, int64, uint64, float64:
		return v, nil
	case float32:
		return float64(v), nil
	case int32:
		return int64(v), nil
	case *big.Int:
		if v.IsUint64() {
			return v.Uint64(), nil
		}
		return v.String(), nil
	case []byte:
		return fmt.Sprintf("%x", v), nil
	case map[string]any:
		return v, plain(v)
	case []any:
		for i := range v {
			w, err := plainValue(v[i])
			if err != nil {
				return nil, err
			}
			v[i] = w
		}
		return v, nil
	}
	return nil, fmt.Errorf("a value of type %T is not known", v)
}

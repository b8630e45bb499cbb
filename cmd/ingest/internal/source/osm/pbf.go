package osm

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"
)

// These are the bounds of the format.
const (
	maxHeader = 64 << 10
	maxBlob   = 32 << 20
)

var errDamaged = errors.New("a block is damaged")

// tags are the tags of an element. They are valid until the next element.
type tags struct {
	table      [][]byte
	keys, vals []uint32
}

// get returns the value of a tag.
func (t *tags) get(key string) (value []byte, has bool) {
	for i, k := range t.keys {
		if string(t.table[k]) == key {
			return t.table[t.vals[i]], true
		}
	}
	return nil, false
}

// member is a member of a relation. Only ways matter here.
type member struct {
	id    int64
	isWay bool
}

// handler gets the elements of a file. A kind without a function is not decoded. Positions are in units of 1e-9 degrees.
type handler struct {
	node     func(id, lat, lon int64, t *tags) error
	way      func(id int64, t *tags, refs []int64) error
	relation func(id int64, t *tags, members []member) error
}

// scan reads a file of format PBF. progress gets the bytes read so far.
func scan(in io.Reader, h *handler, progress func(int64)) error {
	r := bufio.NewReaderSize(in, 256<<10)
	d := decoder{h: h}
	var done int64
	for {
		var size [4]byte
		if _, err := io.ReadFull(r, size[:]); errors.Is(err, io.EOF) {
			if done == 0 {
				return errors.New("the file is empty")
			}
			return nil
		} else if err != nil {
			return cut(err)
		}
		n := binary.BigEndian.Uint32(size[:])
		if n > maxHeader {
			return fmt.Errorf("the header of a blob claims %d bytes, where the format allows %d", n, maxHeader)
		}
		header, err := d.read(r, &d.header, int(n))
		if err != nil {
			return err
		}
		var typ []byte
		var length uint64
		err = fields(header, func(num protowire.Number, b []byte, v uint64) error {
			switch num {
			case 1:
				typ = b
			case 3:
				length = v
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("the header of a blob tells no size: %w", err)
		}
		if length > maxBlob {
			return fmt.Errorf("a blob claims %d bytes, where the format allows %d", length, maxBlob)
		}
		blob, err := d.read(r, &d.blob, int(length))
		if err != nil {
			return err
		}
		if err := d.block(string(typ), blob); err != nil {
			return err
		}
		done += 4 + int64(n) + int64(length)
		progress(done)
	}
}

func cut(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the file is cut off within a blob: fetch it again")
	}
	return err
}

// decoder has the memory of a scan.
type decoder struct {
	h            *handler
	header, blob []byte
	raw          bytes.Buffer
	inflate      io.ReadCloser
	zstd         *zstd.Decoder

	tags       tags
	ids        []int64
	lats, lons []int64
	mixed      []uint32
	types      []uint32
	members    []member
}

// read reads n bytes. It believes in them as they come.
func (d *decoder) read(r io.Reader, into *[]byte, n int) ([]byte, error) {
	const step = 1 << 20
	buf := (*into)[:0]
	for len(buf) < n {
		from := len(buf)
		more := min(step, n-from)
		if cap(buf)-from < more {
			buf = append(buf, make([]byte, more)...)
		} else {
			buf = buf[:from+more]
		}
		if _, err := io.ReadFull(r, buf[from:]); err != nil {
			return nil, cut(err)
		}
	}
	*into = buf
	return buf, nil
}

// fields calls fn with the fields of a message: the bytes, or the number.
func fields(message []byte, fn func(num protowire.Number, b []byte, v uint64) error) error {
	for len(message) > 0 {
		num, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errDamaged
		}
		message = message[n:]
		var b []byte
		var v uint64
		switch typ {
		case protowire.BytesType:
			b, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(message)
		default:
			n = protowire.ConsumeFieldValue(num, typ, message)
		}
		if n < 0 {
			return errDamaged
		}
		message = message[n:]
		if err := fn(num, b, v); err != nil {
			return err
		}
	}
	return nil
}

// block decodes a blob.
func (d *decoder) block(typ string, blob []byte) error {
	if typ != "OSMHeader" && typ != "OSMData" {
		return nil // blobs of other types are to be ignored
	}
	var data, packed, zst []byte
	size := uint64(maxBlob)
	other := ""
	err := fields(blob, func(num protowire.Number, b []byte, v uint64) error {
		switch num {
		case 1:
			data = b
		case 2:
			size = v
		case 3:
			packed = b
		case 7:
			zst = b
		case 4:
			other = "lzma"
		case 5:
			other = "bzip2"
		case 6:
			other = "lz4"
		}
		return nil
	})
	if err != nil {
		return err
	}
	if size > maxBlob {
		return fmt.Errorf("a blob claims to unpack to %d bytes, where the format allows %d", size, maxBlob)
	}
	switch {
	case packed != nil:
		if data, err = d.unzip(packed); err != nil {
			return err
		}
	case zst != nil:
		if d.zstd == nil {
			if d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlob)); err != nil {
				return err
			}
		}
		d.raw.Reset()
		if data, err = d.zstd.DecodeAll(zst, d.raw.AvailableBuffer()); err != nil {
			return fmt.Errorf("a block is damaged: %w", err)
		}
	case data == nil && other != "":
		return fmt.Errorf("its blobs are compressed by %s, which is not read; write it anew by: osmium cat FILE -o out.osm.pbf", other)
	}
	if typ == "OSMHeader" {
		return d.checkHeader(data)
	}
	return d.primitives(data)
}

// unzip unpacks a blob.
func (d *decoder) unzip(packed []byte) (data []byte, err error) {
	in := bytes.NewReader(packed)
	if d.inflate == nil {
		d.inflate, err = zlib.NewReader(in)
	} else {
		err = d.inflate.(zlib.Resetter).Reset(in, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("a block is damaged: %w", err)
	}
	d.raw.Reset()
	if n, err := d.raw.ReadFrom(io.LimitReader(d.inflate, maxBlob+1)); err != nil {
		return nil, fmt.Errorf("a block is damaged: %w", err)
	} else if n > maxBlob {
		return nil, fmt.Errorf("a blob unpacks to more than %d bytes, which the format does not allow", maxBlob)
	}
	return d.raw.Bytes(), nil
}

// checkHeader refuses files with features that are not known.
func (d *decoder) checkHeader(data []byte) error {
	return fields(data, func(num protowire.Number, b []byte, _ uint64) error {
		if num != 4 {
			return nil
		}
		switch string(b) {
		case "OsmSchema-V0.6", "DenseNodes":
			return nil
		case "HistoricalInformation":
			return errors.New("it has the history of its elements; take one moment of it by: osmium time-filter FILE -o out.osm.pbf")
		}
		return fmt.Errorf("it needs the feature %.60q, which is not known", b)
	})
}

// primitives decodes a block of elements.
func (d *decoder) primitives(data []byte) error {
	d.tags.table = d.tags.table[:0]
	granularity, latOffset, lonOffset := int64(100), int64(0), int64(0)
	err := fields(data, func(num protowire.Number, b []byte, v uint64) error {
		switch num {
		case 1:
			return fields(b, func(num protowire.Number, b []byte, _ uint64) error {
				if num == 1 {
					d.tags.table = append(d.tags.table, b)
				}
				return nil
			})
		case 17:
			granularity = int64(v)
		case 19:
			latOffset = int64(v)
		case 20:
			lonOffset = int64(v)
		}
		return nil
	})
	if err != nil {
		return err
	}
	at := func(lat, lon int64) (int64, int64) { return latOffset + granularity*lat, lonOffset + granularity*lon }
	return fields(data, func(num protowire.Number, b []byte, _ uint64) error {
		if num != 2 {
			return nil
		}
		return fields(b, func(num protowire.Number, b []byte, _ uint64) error {
			switch {
			case num == 1 && d.h.node != nil:
				return d.node(b, at)
			case num == 2 && d.h.node != nil:
				return d.dense(b, at)
			case num == 3 && d.h.way != nil:
				return d.way(b)
			case num == 4 && d.h.relation != nil:
				return d.relation(b)
			}
			return nil
		})
	})
}

// uints decodes packed numbers.
func uints[T uint32 | int64](into []T, packed []byte, of func(uint64) T) ([]T, error) {
	into = into[:0]
	for len(packed) > 0 {
		v, n := protowire.ConsumeVarint(packed)
		if n < 0 {
			return into, errDamaged
		}
		packed = packed[n:]
		into = append(into, of(v))
	}
	return into, nil
}

func small(v uint64) uint32 { return uint32(min(v, 1<<32-1)) }

// deltas decodes packed differences.
func deltas(into []int64, packed []byte) ([]int64, error) {
	sum := int64(0)
	return uints(into, packed, func(v uint64) int64 {
		sum += protowire.DecodeZigZag(v)
		return sum
	})
}

// check checks that all tags are in the table.
func (t *tags) check() error {
	if len(t.keys) != len(t.vals) {
		return errDamaged
	}
	for i := range t.keys {
		if int(t.keys[i]) >= len(t.table) || int(t.vals[i]) >= len(t.table) {
			return errDamaged
		}
	}
	return nil
}

// common decodes a field that all elements but dense nodes have.
func (d *decoder) common(num protowire.Number, b []byte) (err error) {
	switch num {
	case 2:
		d.tags.keys, err = uints(d.tags.keys, b, small)
	case 3:
		d.tags.vals, err = uints(d.tags.vals, b, small)
	}
	return err
}

func (d *decoder) begin() {
	d.tags.keys, d.tags.vals, d.ids = d.tags.keys[:0], d.tags.vals[:0], d.ids[:0]
}

func (d *decoder) node(b []byte, at func(lat, lon int64) (int64, int64)) error {
	d.begin()
	var id, lat, lon int64
	err := fields(b, func(num protowire.Number, b []byte, v uint64) error {
		switch num {
		case 1:
			id = protowire.DecodeZigZag(v)
		case 8:
			lat = protowire.DecodeZigZag(v)
		case 9:
			lon = protowire.DecodeZigZag(v)
		}
		return d.common(num, b)
	})
	if err == nil {
		err = d.tags.check()
	}
	if err != nil {
		return err
	}
	lat, lon = at(lat, lon)
	return d.h.node(id, lat, lon, &d.tags)
}

func (d *decoder) dense(b []byte, at func(lat, lon int64) (int64, int64)) error {
	d.begin()
	d.lats, d.lons, d.mixed = d.lats[:0], d.lons[:0], d.mixed[:0]
	err := fields(b, func(num protowire.Number, b []byte, _ uint64) (err error) {
		switch num {
		case 1:
			d.ids, err = deltas(d.ids, b)
		case 8:
			d.lats, err = deltas(d.lats, b)
		case 9:
			d.lons, err = deltas(d.lons, b)
		case 10:
			d.mixed, err = uints(d.mixed, b, small)
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(d.lats) != len(d.ids) || len(d.lons) != len(d.ids) {
		return errDamaged
	}
	rest := d.mixed // keys and values of all nodes, 0 after each
	for i, id := range d.ids {
		d.tags.keys, d.tags.vals = d.tags.keys[:0], d.tags.vals[:0]
		for len(rest) > 0 {
			key := rest[0]
			rest = rest[1:]
			if key == 0 {
				break
			}
			if len(rest) == 0 {
				return errDamaged
			}
			d.tags.keys, d.tags.vals = append(d.tags.keys, key), append(d.tags.vals, rest[0])
			rest = rest[1:]
		}
		if err := d.tags.check(); err != nil {
			return err
		}
		lat, lon := at(d.lats[i], d.lons[i])
		if err := d.h.node(id, lat, lon, &d.tags); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) way(b []byte) error {
	d.begin()
	var id int64
	err := fields(b, func(num protowire.Number, b []byte, v uint64) (err error) {
		switch num {
		case 1:
			id = int64(v)
		case 8:
			d.ids, err = deltas(d.ids, b)
		default:
			err = d.common(num, b)
		}
		return err
	})
	if err == nil {
		err = d.tags.check()
	}
	if err != nil {
		return err
	}
	return d.h.way(id, &d.tags, d.ids)
}

func (d *decoder) relation(b []byte) error {
	d.begin()
	d.types = d.types[:0]
	var id int64
	err := fields(b, func(num protowire.Number, b []byte, v uint64) (err error) {
		switch num {
		case 1:
			id = int64(v)
		case 9:
			d.ids, err = deltas(d.ids, b)
		case 10:
			d.types, err = uints(d.types, b, small)
		default:
			err = d.common(num, b)
		}
		return err
	})
	if err == nil {
		err = d.tags.check()
	}
	if err != nil {
		return err
	}
	if len(d.types) != len(d.ids) {
		return errDamaged
	}
	d.members = d.members[:0]
	for i, id := range d.ids {
		d.members = append(d.members, member{id, d.types[i] == 1})
	}
	return d.h.relation(id, &d.tags, d.members)
}

package ip

import (
	"errors"
	"hash/maphash"
	"net/netip"
	"reflect"

	"quadrille/cmd/ingest/internal/iprecord"
	"quadrille/internal/repeats"
	"quadrille/ipgeo"
)

// conversion is the result of converting a raw record.
type conversion struct {
	record ipgeo.PreparedRecord
	err    error          // why it was refused, or errNothing
	lost   *iprecord.Loss // the lost fields of the record; may be nil
	blank  bool           // the record has nothing to say
}

// size returns the approximate number of bytes that v takes in addition to its slot.
func (v *conversion) size() int64 {
	size := int64(v.record.Size())
	for _, lost := range v.losses() {
		size += int64(refusalBytes + len(lost.Detail))
	}
	if v.err == nil {
		return size
	}
	var refused *iprecord.Refusal
	if errors.As(v.err, &refused) {
		size += int64(refusalBytes + len(refused.Detail))
	}
	return size
}

func (v *conversion) losses() iprecord.Loss {
	if v.lost == nil {
		return nil
	}
	return *v.lost
}

// errNothing marks a record without content, which is not a fault of the source.
var errNothing = errors.New("the record says nothing")

// ipRange makes a range of a source from its converted record.
func (v *conversion) ipRange(first, last netip.Addr, label string, line int) (ipRange, error) {
	r := ipRange{first: first, last: last, blank: v.blank, label: label, line: line}
	for _, lost := range v.losses() {
		r.lost = append(r.lost, badRecord(lost, label, line))
	}
	if v.err == nil {
		r.record = &v.record
	} else if !errors.Is(v.err, errNothing) {
		return r, badRecord(v.err, label, line)
	}
	return r, nil
}

// converter converts a source's raw records to records.
type converter struct {
	fill   func(*ipgeo.Record) error // completes each record, on any goroutine; may be nil
	memory int64                     // bytes for the conversions kept in case their raw records come again
	feed   bool                      // for a geofeed, where an empty row says that its addresses have no place
}

// convert completes a record, or stores the error with which it was refused.
func (c *converter) convert(r *ipgeo.Record, err error) (v conversion, _ error) {
	if err != nil {
		var refused *iprecord.Refusal
		var loss iprecord.Loss
		switch {
		case errors.As(err, &refused):
			return conversion{err: refused}, nil
		case !errors.As(err, &loss):
			return conversion{}, err
		}
		v.lost = &loss
	}
	if reflect.ValueOf(r).Elem().IsZero() {
		if c.feed {
			v.record, v.blank = ipgeo.PrepareNothing(), true
		} else {
			v.err = errNothing
		}
		return v, nil
	}
	if c.fill != nil {
		if err := c.fill(r); err != nil {
			return conversion{}, err
		}
	}
	if v.record, err = ipgeo.Prepare(r); err != nil {
		v.err = &iprecord.Refusal{Reason: ipgeo.ReasonRecord, Detail: err.Error()}
	}
	return v, nil
}

func (c *converter) keeper() *keeper {
	return &keeper{
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		slots: make([]kept, minKept),
		most:  max(minKept, int(c.memory/2/keptBytes)), room: c.memory / 2,
	}
}

// rawKey identifies a raw record by its position in a file, or by two hashes with separate seeds:
// 128 bits for which no one can construct a collision.
type rawKey [2]uint64

// keeper caches conversions in case their raw records occur again. It is a table of pairs of slots,
// in which a new conversion replaces the older one of its pair. While hardly any record occurs
// again, keeper looks up only a few of them. A lookup in so large a table costs a quarter of a
// conversion. Call keep after a find without a result.
type keeper struct {
	again   repeats.Watch
	looked  bool       // whether find looked up the current record
	passing conversion // the last conversion that was not kept

	seeds [2]maphash.Seed
	slots []kept // a power of two
	taken int    // since the table grew
	most  int    // slots
	room  int64  // bytes of records and refusals
	held  int64
}

type kept struct {
	key rawKey // not zero
	conversion
}

const (
	minKept   = 1 << 10
	keptBytes = 80 // size of a slot

	refusalBytes = 32 // size of a refusal without its detail; its reason is a constant
)

// key returns the key of a raw record's text.
func (k *keeper) key(text []byte) rawKey {
	return rawKey{maphash.Bytes(k.seeds[0], text), maphash.Bytes(k.seeds[1], text) | 1}
}

// pair returns the slots for a key, the newer one first.
func (k *keeper) pair(key rawKey) *[2]kept {
	const golden = 0x9E3779B97F4A7C15 // spreads offsets, which are near each other
	pairs := uint64(len(k.slots) / 2)
	i := key[0] * golden >> 32 & (pairs - 1)
	return (*[2]kept)(k.slots[2*i : 2*i+2])
}

// find returns the conversion for a key, or nil. It is valid until the next
// keep.
func (k *keeper) find(key rawKey) *conversion {
	if k.looked = k.again.ShouldLook(); !k.looked {
		return nil
	}
	p := k.pair(key)
	for i := range p {
		if p[i].key == key {
			k.again.Found()
			return &p[i].conversion
		}
	}
	return nil
}

// keep stores a conversion until another one takes its slot.
func (k *keeper) keep(key rawKey, v conversion) *conversion {
	if !k.looked {
		k.passing = v
		return &k.passing
	}
	if k.held > k.room {
		clear(k.slots)
		k.held = 0
	}
	if k.taken++; k.taken > len(k.slots)/2 && 2*len(k.slots) <= k.most {
		old := k.slots
		k.slots, k.taken = make([]kept, 2*len(old)), 0
		for i := range old {
			if old[i].key != (rawKey{}) {
				k.pair(old[i].key)[1] = k.pair(old[i].key)[0]
				k.pair(old[i].key)[0] = old[i]
			}
		}
	}
	p := k.pair(key)
	k.held += v.size() - p[1].size()
	p[1], p[0] = p[0], kept{key, v}
	return &p[0].conversion
}

// used corrects the count of bytes after the build has received a conversion. before is the earlier
// size of the record; the build may now own these bytes.
func (k *keeper) used(v *conversion, before int) {
	if v != &k.passing {
		k.held += int64(v.record.Size() - before)
	}
}

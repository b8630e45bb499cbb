package job

import (
	"errors"
	"hash/maphash"
	"reflect"

	"quadrille/cmd/ingest/internal/iprecord"
	"quadrille/ipgeo"
)

// conversion is what a raw record was turned into. It says nothing if both are
// nil.
type conversion struct {
	record *ipgeo.Prepared
	err    error // why it was refused
}

// converter makes records of what sources hold.
type converter struct {
	fill   func(*ipgeo.Record) error // completes each record
	memory int64                     // bytes for the conversions kept in case their raw records come again
}

// convert completes a record, or keeps the error that refused it.
func (c *converter) convert(r *ipgeo.Record, err error) (conversion, error) {
	var refused *iprecord.Refusal
	if errors.As(err, &refused) {
		return conversion{err: refused}, nil
	}
	if err != nil {
		return conversion{}, err
	}
	if reflect.ValueOf(r).Elem().IsZero() {
		return conversion{}, nil
	}
	if err := c.fill(r); err != nil {
		return conversion{}, err
	}
	p, err := ipgeo.Prepare(r)
	if err != nil {
		return conversion{err: &iprecord.Refusal{Reason: ipgeo.ReasonRecord, Detail: err.Error()}}, nil
	}
	return conversion{record: p}, nil
}

func (c *converter) keeper() *keeper {
	return &keeper{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, most: c.memory / 2}
}

// rawKey tells raw records apart: by their place in a file, or by two hashes
// with separate seeds, 128 bits that nobody can aim at.
type rawKey [2]uint64

// keeper keeps the conversions of the raw records that came last.
type keeper struct {
	seeds         [2]maphash.Seed
	recent, older map[rawKey]conversion
	size, most    int64 // bytes of recent
}

// key is that of a raw record with this text.
func (k *keeper) key(text []byte) rawKey {
	return rawKey{maphash.Bytes(k.seeds[0], text), maphash.Bytes(k.seeds[1], text)}
}

func (k *keeper) find(key rawKey) (v conversion, ok bool) {
	if v, ok = k.recent[key]; ok {
		return v, true
	}
	if v, ok = k.older[key]; ok {
		k.keep(key, v)
	}
	return v, ok
}

// keep is called once the record has been used: by then the build may have
// taken its bytes.
func (k *keeper) keep(key rawKey, v conversion) {
	const entry = 80 // of a map, spare room included
	size := int64(entry)
	if v.record != nil {
		size += int64(v.record.Size())
	}
	if k.recent == nil || k.size+size > k.most {
		k.older, k.recent, k.size = k.recent, map[rawKey]conversion{}, 0
	}
	k.recent[key] = v
	k.size += size
}

package ipgeo

import "sync"

// Prepared is a Record that was checked and encoded once, for any number of
// ranges. A build of many ranges with few records is several times as fast with
// it. One goroutine at a time uses a Prepared. It may be copied. Build refuses
// the zero value as an empty record.
type Prepared struct {
	encoded string // empty when of has the record
	of      *recordSet
	at      uint64
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// Prepare encodes a record. Its error says what is wrong with the record: Build
// would refuse a range with it.
func Prepare(r *Record) (Prepared, error) {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	b, err := e.encode(r)
	if err != nil {
		return Prepared{}, err
	}
	return Prepared{encoded: string(b)}, nil
}

// PrepareNothing returns the record of a range about which a source knows nothing.
// It keeps wider ranges of the same source from answering there; other sources
// still answer.
func PrepareNothing() Prepared { return Prepared{encoded: string([]byte{tagNothing, 0, 0, 0})} }

// Size returns the number of bytes that the record takes in p. It is 0 once
// Build keeps them itself.
func (p *Prepared) Size() int { return len(p.encoded) }

// empty reports whether p is the zero value, which holds no record.
func (p *Prepared) empty() bool { return p.of == nil && p.encoded == "" }

// ref refers to the record. It moves the record to the set if there is room.
func (p *Prepared) ref(set *recordSet) recordRef {
	if p.of == set {
		return recordRef{at: p.at}
	}
	if p.of != nil { // of another build
		p.encoded, p.of = string(p.of.record(p.at)), nil
	}
	at, ok := set.put([]byte(p.encoded))
	if !ok {
		return recordRef{inline: p.encoded}
	}
	p.encoded, p.of, p.at = "", set, at
	return recordRef{at: at}
}

// refOf refers to an encoded record, which is copied.
func refOf(set *recordSet, encoded []byte) recordRef {
	if at, ok := set.put(encoded); ok {
		return recordRef{at: at}
	}
	return recordRef{inline: string(encoded)}
}

package ipgeo

import "sync"

// PreparedRecord is a Record that is checked and encoded once, for any number of ranges. It makes a
// build of many ranges with few records several times as fast. One goroutine at a time may use a
// Prepared. It may be copied. Build refuses the zero value as an empty record.
type PreparedRecord struct {
	encoded string // empty when of has the record
	of      *recordSet
	at      uint64
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// Prepare encodes a record. It returns an error for a record with which Build would refuse a range.
func Prepare(r *Record) (PreparedRecord, error) {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	b, err := e.encode(r)
	if err != nil {
		return PreparedRecord{}, err
	}
	return PreparedRecord{encoded: string(b)}, nil
}

// PrepareNothing returns the record of a range for which a source has no answer. It keeps wider
// ranges of the same source from answering there; other sources still answer.
func PrepareNothing() PreparedRecord {
	return PreparedRecord{encoded: string([]byte{tagNothing, 0, 0, 0})}
}

// Size returns the number of bytes that the record takes in p. It is 0 once
// Build keeps them itself.
func (p *PreparedRecord) Size() int { return len(p.encoded) }

// empty reports whether p is the zero value, which holds no record.
func (p *PreparedRecord) empty() bool { return p.of == nil && p.encoded == "" }

// ref returns a reference to the record. If the set has room, it moves the record there.
func (p *PreparedRecord) ref(set *recordSet) recordRef {
	if p.of == set {
		return recordRef{at: p.at}
	}
	if p.of != nil { // it was used by another build
		p.encoded, p.of = string(p.of.record(p.at)), nil
	}
	at, ok := set.put([]byte(p.encoded))
	if !ok {
		return recordRef{inline: p.encoded}
	}
	p.encoded, p.of, p.at = "", set, at
	return recordRef{at: at}
}

// refOf returns a reference to a copy of an encoded record.
func refOf(set *recordSet, encoded []byte) recordRef {
	if at, ok := set.put(encoded); ok {
		return recordRef{at: at}
	}
	return recordRef{inline: string(encoded)}
}

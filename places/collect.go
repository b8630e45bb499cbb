package places

import (
	"encoding/binary"
	"errors"
	"iter"
)

// collect adds the entries of all sequences to the first sort.
func (b *builder) collect(src *Source) error {
	if src.Places == nil {
		return errors.New("no places are given: Source.Places is required")
	}
	err := gather(b, src.Places, recordPlace, func(dst []byte, p *Place) (uint32, []byte, error) {
		if err := p.Validate(); err != nil {
			return 0, nil, err
		}
		b.names.note(p)
		b.stats.Read++
		return p.ID, appendColumns(dst, p), nil
	})
	if err != nil {
		return err
	}
	err = gather(b, src.Admin5, recordAdmin5, func(dst []byte, a *Admin5) (uint32, []byte, error) {
		return a.PlaceID, append(dst, a.Code...), a.Validate()
	})
	if err != nil {
		return err
	}
	err = gather(b, src.Parents, recordParent, func(dst []byte, p *Parent) (uint32, []byte, error) {
		return p.Child, binary.LittleEndian.AppendUint32(dst, p.Parent), p.Validate()
	})
	if err != nil {
		return err
	}
	return gather(b, src.Names, recordName, func(dst []byte, a *AlternateName) (uint32, []byte, error) {
		if err := a.Validate(); err != nil {
			return 0, nil, err
		}
		return a.PlaceID, appendAlternate(dst, a), nil
	})
}

// gather takes one sequence, which may be nil. record appends the record of an
// entry and returns the id of its place.
func gather[T any](b *builder, seq iter.Seq2[T, error], kind uint64, record func(dst []byte, entry *T) (uint32, []byte, error)) error {
	if seq == nil {
		return nil
	}
	var memory []byte
	n := 0
	for entry, err := range seq {
		if err != nil {
			return err
		}
		var id uint32
		if id, memory, err = record(memory[:0], &entry); err != nil {
			return err
		}
		if err := b.byID.Add(sortKey(id, kind), memory); err != nil {
			return err
		}
		if n++; n%progressEvery == 0 {
			if err := b.ctx.Err(); err != nil {
				return err
			}
		}
	}
	return b.ctx.Err()
}

package places

import (
	"encoding/binary"
	"slices"

	"quadrille/cellstore"
	"quadrille/places/internal/bulkload"
	"quadrille/places/search"
	"quadrille/quadkey"
)

// joiner takes the records of the first sort, in which the records of one place
// follow each other, and writes each place when the next one begins.
type joiner struct {
	b    *builder
	info *bulkload.Load

	id    uint32 // of the current place; ids start at 1
	rows  int64
	found bool // a row of the place has come
	place columns
	other columns // a further row of the same place
	attrs attributes
	entry search.Entry

	key, record, more []byte
}

// writeInfo writes place_info, feeds the second sort and name search.
func (b *builder) writeInfo(store cellstore.Store) error {
	const stage = "writing places"
	info, err := b.newLoad(store, tableInfo)
	if err != nil {
		return err
	}
	defer info.Abort()
	j := &joiner{b: b, info: info}
	if err := b.byID.Each(j.take); err != nil {
		return err
	}
	if err := j.flush(); err != nil {
		return err
	}
	if err := info.Commit(); err != nil {
		return err
	}
	return b.end(stage, b.stats.Read)
}

func (j *joiner) take(key uint64, value []byte) error {
	id, kind := splitSortKey(key)
	if id != j.id {
		if err := j.flush(); err != nil {
			return err
		}
		j.id = id
	}
	s := &j.b.stats
	if kind == recordPlace {
		if err := j.row(string(value)); err != nil {
			return err
		}
		j.rows++
		return j.b.step("writing places", j.rows, s.Read)
	}
	switch kind {
	case recordAdmin5:
		if !j.found {
			s.Admin5Dropped++
			return nil
		}
		s.Admin5++
		j.attrs.admin5 = string(value)
	case recordParent:
		if !j.found || len(j.attrs.parents) == maxParentsOf {
			s.ParentsDropped++
			return nil
		}
		if len(value) != 4 {
			return errTempFile
		}
		s.Parents++
		if parent := binary.LittleEndian.Uint32(value); !slices.Contains(j.attrs.parents, parent) {
			j.attrs.parents = append(j.attrs.parents, parent)
		}
	case recordName:
		var n alternate
		if err := n.parse(string(value)); err != nil {
			return err
		}
		if !j.found && !j.b.names.hasCode(j.id) || !j.attrs.addName(n) {
			s.NamesDropped++
			return nil
		}
		s.Names++
	}
	return nil
}

// row adds a row of the place. It keeps the row with the latest date, and of equal dates the last
// one.
func (j *joiner) row(record string) error {
	if !j.found {
		j.found = true
		return j.place.parse(record)
	}
	j.b.stats.Duplicates++
	if err := j.other.parse(record); err != nil {
		return err
	}
	if j.other.date() >= j.place.date() {
		j.place = j.other
	}
	return nil
}

// flush writes the current place, if there is one. All records of that place have come by then.
func (j *joiner) flush() error {
	j.b.names.keepNames(j.id, &j.attrs)
	if !j.found {
		j.attrs.clear()
		return nil
	}
	b, c := j.b, &j.place
	c.id = j.id
	ts := c.timestamp()
	b.newest = max(b.newest, ts)
	b.stats.Stored++
	j.attrs.chooseNames(c.class)

	j.record = appendStoredHead(j.record[:0], ts, c.class, c.code+c.kind)
	at := len(j.record)
	j.record = appendValue(j.record, c, b.names.division(c.country, c.admin1, ""))
	s, err := parseStored(j.record)
	if err != nil {
		return err
	}
	var p place
	if !p.parse(s.qualifier, j.record[at:]) {
		return errTempFile
	}
	b.nearest.expect(&p)
	cell, err := quadkey.CellOf(toDegrees(c.lon), toDegrees(c.lat))
	if err != nil {
		return err
	}
	if err := b.byCell.Add(uint64(cell)<<32|uint64(j.id), j.record); err != nil {
		return err
	}
	if err := j.write(ts, p.members); err != nil {
		return err
	}
	if b.sink != nil {
		fillEntry(&j.entry, c, &j.attrs, p.importance())
		if err := b.sink.Add(&j.entry); err != nil {
			return err
		}
	}
	j.found = false
	j.attrs.clear()
	return nil
}

// write writes the place's row of place_info.
func (j *joiner) write(ts int64, members []byte) error {
	j.key = appendInfoKey(j.key[:0], j.id)
	if err := j.info.Add(j.key, cellstore.Cell{Family: famJSON, Timestamp: ts, Value: members}); err != nil {
		return err
	}
	j.more = appendDetails(j.more[:0], &j.place, j.b.names, &j.attrs)
	if len(j.more) > 0 {
		err := j.info.Add(j.key, cellstore.Cell{Family: famJSON, Qualifier: []byte(qualMore), Timestamp: ts, Value: j.more})
		if err != nil {
			return err
		}
	}
	for i := range j.attrs.shown {
		n := &j.attrs.shown[i]
		err := j.info.Add(j.key, cellstore.Cell{Family: famNames, Qualifier: []byte(n.lang), Timestamp: ts, Value: []byte(n.name)})
		if err != nil {
			return err
		}
	}
	return nil
}

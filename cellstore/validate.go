package cellstore

import "fmt"

// Validator checks the inputs of the calls on a table against the contract. Drivers share it, so
// that every backend refuses the same inputs with the same errors, before anything is read or
// written. Its methods may be called by any number of goroutines and allocate only their errors.
type Validator struct {
	Schema       Schema
	Limits       Limits
	Capabilities Capabilities
}

// cellKeyOverhead is the size of the key of a stored cell without row, family and
// qualifier: two lengths, timestamp and type.
const cellKeyOverhead = 12

// Row checks the key of an operation on one row. Errors match ErrEmptyRow or ErrTooLarge.
func (v *Validator) Row(key []byte) error {
	if len(key) == 0 {
		return ErrEmptyRow
	}
	return checkSize("row", len(key), v.Limits.RowKeyBytes)
}

// Family checks that the table has a family. The error matches ErrFamilyNotFound.
func (v *Validator) Family(name string) error {
	for i := range v.Schema.Families {
		if v.Schema.Families[i].Name == name {
			return nil
		}
	}
	return fmt.Errorf("%w: table %s has no %q: alter it, or name one it has", ErrFamilyNotFound, v.Schema.Table, name)
}

// Mutation checks all of a mutation.
func (v *Validator) Mutation(m *Mutation) error {
	if err := v.Row(m.Row); err != nil {
		return err
	}
	if err := checkDurability(m.Durability); err != nil {
		return err
	}
	if err := checkSize("operations", len(m.Ops), v.Limits.Operations); err != nil {
		return err
	}
	var puts, deletes bool
	for i := range m.Ops {
		op := &m.Ops[i]
		if err := v.op(m.Row, op); err != nil {
			return err
		}
		if op.Kind == OpPut {
			puts = true
		} else {
			deletes = true
		}
		if op.Timestamp != m.Ops[0].Timestamp && !v.Capabilities.CellTimestamps {
			return unsupported("several timestamps in one mutation")
		}
	}
	if puts && deletes && !v.Capabilities.MixedMutation {
		return unsupported("puts and deletes in one mutation")
	}
	return nil
}

func (v *Validator) op(row []byte, op *Op) error {
	ts := op.Timestamp
	valid := ts >= 0 && ts <= MaxTimestamp
	switch op.Kind {
	case OpPut, OpDeleteVersion:
		valid = valid || ts == Now
	case OpDeleteColumn, OpDeleteFamily, OpDeleteRow:
		valid = valid || ts == Now || ts == AllVersions
	case OpDeleteFamilyVersion:
	default:
		return fmt.Errorf("%w: unknown kind %d of operation", ErrBadCondition, op.Kind)
	}
	if !valid {
		return badTimestamp(ts)
	}
	if op.Kind == OpDeleteRow {
		return nil
	}
	if err := v.Family(op.Family); err != nil {
		return err
	}
	switch op.Kind {
	case OpPut:
		if err := v.column(row, op.Family, op.Qualifier); err != nil {
			return err
		}
		return checkSize("value", len(op.Value), v.Limits.ValueBytes)
	case OpDeleteVersion, OpDeleteColumn:
		return v.column(row, op.Family, op.Qualifier)
	}
	return nil
}

// column checks the sizes of a column's name.
func (v *Validator) column(row []byte, family string, qualifier []byte) error {
	if err := checkSize("qualifier", len(qualifier), v.Limits.QualifierBytes); err != nil {
		return err
	}
	return checkSize("cell key", len(row)+len(family)+len(qualifier)+cellKeyOverhead, v.Limits.CellKeyBytes)
}

// Check checks the condition of a CheckAndMutate on a row.
func (v *Validator) Check(row []byte, c *Check) error {
	if err := v.Family(c.Family); err != nil {
		return err
	}
	if err := v.column(row, c.Family, c.Qualifier); err != nil {
		return err
	}
	switch {
	case c.Op > GreaterOrEqual:
		return fmt.Errorf("%w: unknown operator %d", ErrBadCondition, c.Op)
	case c.Op <= Present && len(c.Value) != 0:
		return fmt.Errorf("%w: Absent and Present compare with nothing: leave Value empty", ErrBadCondition)
	case c.Op > Present && len(c.Value) == 0:
		return fmt.Errorf("%w: compare with a value that is not empty, or use Absent or Present", ErrBadCondition)
	}
	return checkSize("value", len(c.Value), v.Limits.ValueBytes)
}

// Increment checks an increment. Only the driver knows whether the columns have counters.
func (v *Validator) Increment(inc *Increment) error {
	if err := v.Row(inc.Row); err != nil {
		return err
	}
	if err := checkDurability(inc.Durability); err != nil {
		return err
	}
	if err := checkSize("operations", len(inc.Deltas), v.Limits.Operations); err != nil {
		return err
	}
	for i := range inc.Deltas {
		d := &inc.Deltas[i]
		if err := v.Family(d.Family); err != nil {
			return err
		}
		if err := v.column(inc.Row, d.Family, d.Qualifier); err != nil {
			return err
		}
	}
	return nil
}

// Append checks an append. The driver has to check with AppendResult that the result is within
// Limits.ValueBytes.
func (v *Validator) Append(row []byte, family string, qualifier, value []byte, d Durability) error {
	if err := v.Row(row); err != nil {
		return err
	}
	if err := checkDurability(d); err != nil {
		return err
	}
	if err := v.Family(family); err != nil {
		return err
	}
	if err := v.column(row, family, qualifier); err != nil {
		return err
	}
	return checkSize("value", len(value), v.Limits.ValueBytes)
}

// AppendResult checks the size in bytes of the value that an append makes.
func (v *Validator) AppendResult(size int) error {
	return checkSize("value", size, v.Limits.ValueBytes)
}

// Cell checks a cell of a bulk load, which must have a timestamp of its own.
func (v *Validator) Cell(row []byte, c *Cell) error {
	if err := v.Row(row); err != nil {
		return err
	}
	if c.Timestamp < 0 || c.Timestamp > MaxTimestamp {
		return badTimestamp(c.Timestamp)
	}
	if err := v.Family(c.Family); err != nil {
		return err
	}
	if err := v.column(row, c.Family, c.Qualifier); err != nil {
		return err
	}
	return checkSize("value", len(c.Value), v.Limits.ValueBytes)
}

// Selection checks the selection of a read. Nil selects everything.
func (v *Validator) Selection(sel *Selection) error {
	if sel == nil {
		return nil
	}
	if min, max, ok := sel.Time.Bounds(); ok && min > max {
		return fmt.Errorf("%w: time range from %d to %d", ErrBadRange, min, max)
	}
	if sel.Versions < Unlimited {
		return fmt.Errorf("%w: %d versions", ErrBadRange, sel.Versions)
	}
	if sel.Filter.Limit < 0 || sel.Filter.Offset < 0 {
		return fmt.Errorf("%w: column limit %d, offset %d", ErrBadRange, sel.Filter.Limit, sel.Filter.Offset)
	}
	for _, name := range sel.Families {
		if err := v.Family(name); err != nil {
			return err
		}
	}
	for i := range sel.Columns {
		if err := v.Family(sel.Columns[i].Family); err != nil {
			return err
		}
		if err := checkSize("qualifier", len(sel.Columns[i].Qualifier), v.Limits.QualifierBytes); err != nil {
			return err
		}
	}
	return nil
}

// Scan checks a scan. Ends of ranges may be of any length: a range beyond every key is empty, but
// not an error.
func (v *Validator) Scan(s *Scan) error {
	if s.Limit < 0 {
		return fmt.Errorf("%w: limit %d", ErrBadRange, s.Limit)
	}
	return v.Selection(&s.Selection)
}

func checkSize(what string, got, max int) error {
	if got > max {
		return &LimitError{What: what, Got: got, Max: max}
	}
	return nil
}

func checkDurability(d Durability) error {
	if d > Async {
		return fmt.Errorf("%w: unknown durability %d", ErrBadCondition, d)
	}
	return nil
}

func badTimestamp(ts int64) error {
	return fmt.Errorf("%w: %d is not in 0 to %d", ErrBadTimestamp, ts, int64(MaxTimestamp))
}

package cellstore

import (
	"errors"
	"math"
	"testing"
)

func testValidator() *Validator {
	return &Validator{
		Schema:       Schema{Table: "t", Families: []Family{{Name: "f"}, {Name: "g"}}},
		Limits:       Limits{RowKeyBytes: 10, QualifierBytes: 5, CellKeyBytes: 25, ValueBytes: 4, Operations: 3},
		Capabilities: Capabilities{MixedMutation: true, CellTimestamps: true},
	}
}

func TestValidateMutation(t *testing.T) {
	row, q := []byte("row"), []byte("q")
	big := make([]byte, 11)
	for _, test := range []struct {
		name string
		m    Mutation
		want error
	}{
		{"every kind", Mutation{Row: row, Ops: []Op{Put("f", q, nil), DeleteVersion("g", nil, Now), DeleteRow(AllVersions)}}, nil},
		{"nothing", Mutation{Row: row}, nil},
		{"bounds", Mutation{Row: row, Ops: []Op{DeleteColumn("f", q, AllVersions), DeleteFamily("g", Now), DeleteRow(0)}}, nil},
		{"versions", Mutation{Row: row, Ops: []Op{PutAt("f", q, MaxTimestamp, nil), PutAt("f", q, 0, nil), DeleteFamilyVersion("f", 0)}}, nil},
		{"the largest", Mutation{Row: big[:7], Ops: []Op{PutAt("f", big[:5], 1, big[:4])}}, nil},
		{"no row", Mutation{Ops: []Op{Put("f", q, nil)}}, ErrEmptyRow},
		{"long row", Mutation{Row: big}, ErrTooLarge},
		{"long qualifier", Mutation{Row: row, Ops: []Op{Put("f", big[:6], nil)}}, ErrTooLarge},
		{"long qualifier of a delete", Mutation{Row: row, Ops: []Op{DeleteColumn("f", big[:6], 1)}}, ErrTooLarge},
		{"long key", Mutation{Row: big[:8], Ops: []Op{Put("f", big[:5], nil)}}, ErrTooLarge},
		{"long value", Mutation{Row: row, Ops: []Op{Put("f", q, big[:5])}}, ErrTooLarge},
		{"many operations", Mutation{Row: row, Ops: make([]Op, 4)}, ErrTooLarge},
		{"unknown family", Mutation{Row: row, Ops: []Op{Put("f", q, nil), Put("h", q, nil)}}, ErrFamilyNotFound},
		{"unknown family of a delete", Mutation{Row: row, Ops: []Op{DeleteFamily("h", 1)}}, ErrFamilyNotFound},
		{"no family", Mutation{Row: row, Ops: []Op{{}}}, ErrFamilyNotFound},
		{"negative", Mutation{Row: row, Ops: []Op{PutAt("f", q, -2, nil)}}, ErrBadTimestamp},
		{"too late", Mutation{Row: row, Ops: []Op{PutAt("f", q, math.MaxInt64, nil)}}, ErrBadTimestamp},
		{"all of one version", Mutation{Row: row, Ops: []Op{DeleteVersion("f", q, AllVersions)}}, ErrBadTimestamp},
		{"family version now", Mutation{Row: row, Ops: []Op{DeleteFamilyVersion("f", Now)}}, ErrBadTimestamp},
		{"bound", Mutation{Row: row, Ops: []Op{DeleteRow(-9)}}, ErrBadTimestamp},
		{"unknown kind", Mutation{Row: row, Ops: []Op{{Kind: 99, Family: "f"}}}, ErrBadCondition},
		{"unknown durability", Mutation{Row: row, Durability: 9}, ErrBadCondition},
	} {
		if err := testValidator().Mutation(&test.m); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

func TestValidateCapabilities(t *testing.T) {
	row, q := []byte("row"), []byte("q")
	mixed := Mutation{Row: row, Ops: []Op{PutAt("f", q, 1, nil), DeleteColumn("f", q, 1)}}
	several := Mutation{Row: row, Ops: []Op{PutAt("f", q, 1, nil), PutAt("f", q, 2, nil)}}
	v := testValidator()
	v.Capabilities = Capabilities{CellTimestamps: true}
	if err := v.Mutation(&mixed); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("mixed: %v", err)
	}
	if err := v.Mutation(&several); err != nil {
		t.Errorf("several timestamps: %v", err)
	}
	v.Capabilities = Capabilities{MixedMutation: true}
	if err := v.Mutation(&several); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("several timestamps: %v", err)
	}
	if err := v.Mutation(&mixed); err != nil {
		t.Errorf("mixed: %v", err)
	}
}

func TestValidateOthers(t *testing.T) {
	v := testValidator()
	row, q, big := []byte("row"), []byte("q"), make([]byte, 11)
	for _, test := range []struct {
		name      string
		got, want error
	}{
		{"absent", v.Check(row, &Check{Family: "f"}), nil},
		{"equal", v.Check(row, &Check{Family: "f", Op: Equal, Value: q}), nil},
		{"absent with a value", v.Check(row, &Check{Family: "f", Value: q}), ErrBadCondition},
		{"present with a value", v.Check(row, &Check{Family: "f", Op: Present, Value: q}), ErrBadCondition},
		{"less than nothing", v.Check(row, &Check{Family: "f", Op: Less}), ErrBadCondition},
		{"unknown operator", v.Check(row, &Check{Family: "f", Op: 99, Value: q}), ErrBadCondition},
		{"check of an unknown family", v.Check(row, &Check{Family: "h"}), ErrFamilyNotFound},
		{"check of a long qualifier", v.Check(row, &Check{Family: "f", Qualifier: big}), ErrTooLarge},
		{"check against a long value", v.Check(row, &Check{Family: "f", Op: Equal, Value: big}), ErrTooLarge},

		{"increment", v.Increment(&Increment{Row: row, Deltas: []Delta{{Family: "f"}, {Family: "g"}}}), nil},
		{"increment without row", v.Increment(&Increment{}), ErrEmptyRow},
		{"increment of an unknown family", v.Increment(&Increment{Row: row, Deltas: []Delta{{Family: "h"}}}), ErrFamilyNotFound},
		{"many deltas", v.Increment(&Increment{Row: row, Deltas: make([]Delta, 4)}), ErrTooLarge},
		{"increment of a long qualifier", v.Increment(&Increment{Row: row, Deltas: []Delta{{Family: "f", Qualifier: big}}}), ErrTooLarge},
		{"increment without sense", v.Increment(&Increment{Row: row, Durability: 7}), ErrBadCondition},

		{"append", v.Append(row, "f", q, nil, Async), nil},
		{"append without row", v.Append(nil, "f", q, nil, Sync), ErrEmptyRow},
		{"append to an unknown family", v.Append(row, "", q, nil, Sync), ErrFamilyNotFound},
		{"append of much", v.Append(row, "f", q, big, Sync), ErrTooLarge},
		{"append without sense", v.Append(row, "f", q, nil, 3), ErrBadCondition},
		{"appended", v.AppendResult(4), nil},
		{"appended too much", v.AppendResult(5), ErrTooLarge},

		{"cell", v.Cell(row, &Cell{Family: "f"}), nil},
		{"cell without row", v.Cell(nil, &Cell{Family: "f"}), ErrEmptyRow},
		{"cell of an unknown family", v.Cell(row, &Cell{}), ErrFamilyNotFound},
		{"cell without timestamp", v.Cell(row, &Cell{Family: "f", Timestamp: Now}), ErrBadTimestamp},
		{"cell with a long value", v.Cell(row, &Cell{Family: "f", Value: big}), ErrTooLarge},

		{"everything", v.Selection(nil), nil},
		{
			"selection",
			v.Selection(&Selection{Families: []string{"g"}, Columns: []Column{{"f", q}}, Versions: Unlimited, Time: Between(3, 3)}),
			nil,
		},
		{"inverted time", v.Selection(&Selection{Time: Between(3, 2)}), ErrBadRange},
		{"negative versions", v.Selection(&Selection{Versions: -2}), ErrBadRange},
		{"negative offset", v.Selection(&Selection{Filter: ColumnFilter{Offset: -1}}), ErrBadRange},
		{"unknown family", v.Selection(&Selection{Families: []string{"x"}}), ErrFamilyNotFound},
		{"unknown family of a column", v.Selection(&Selection{Columns: []Column{{"x", q}}}), ErrFamilyNotFound},
		{"long column", v.Selection(&Selection{Columns: []Column{{"f", big}}}), ErrTooLarge},
		{"scan", v.Scan(&Scan{Limit: 3, Ranges: []Range{{From: big, To: big}}}), nil},
		{"negative limit", v.Scan(&Scan{Limit: -1}), ErrBadRange},
	} {
		if !errors.Is(test.got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, test.got, test.want)
		}
	}
}

func TestValidatorAllocatesNothing(t *testing.T) {
	v := testValidator()
	m := Mutation{Row: []byte("row"), Ops: []Op{Put("f", []byte("q"), []byte("v")), DeleteFamily("g", AllVersions)}}
	c := Check{Family: "f", Op: Equal, Value: []byte("v")}
	inc := Increment{Row: m.Row, Deltas: []Delta{{Family: "g", By: 1}}}
	sel := Selection{Families: []string{"f"}}
	if n := testing.AllocsPerRun(100, func() {
		if v.Mutation(&m) != nil || v.Check(m.Row, &c) != nil || v.Increment(&inc) != nil || v.Selection(&sel) != nil {
			t.Error("refused")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAsOf(t *testing.T) {
	for _, test := range []struct{ t, max int64 }{
		{math.MinInt64, 0}, {-1, 0}, {0, 1}, {5, 6}, {MaxTimestamp, math.MaxInt64}, {math.MaxInt64, math.MaxInt64},
	} {
		if min, max, ok := AsOf(test.t).Bounds(); min != 0 || max != test.max || !ok {
			t.Errorf("AsOf(%d) is [%d,%d), want [0,%d)", test.t, min, max, test.max)
		}
	}
}

func TestErrors(t *testing.T) {
	limit := &LimitError{What: "value", Got: 9, Max: 4}
	batch := &BatchError{Errs: map[int]error{
		3: &Error{Op: "Apply", Table: "t", Row: []byte("r"), Err: limit},
		7: &Error{Op: "Apply", Table: "t", Err: ErrEmptyRow},
	}}
	for _, want := range []error{ErrTooLarge, ErrEmptyRow} {
		if !errors.Is(batch, want) {
			t.Errorf("%v is not %v", batch, want)
		}
	}
	if errors.Is(batch, ErrBadRange) {
		t.Errorf("%v is ErrBadRange", batch)
	}
	var got *LimitError
	if !errors.As(batch, &got) || *got != *limit {
		t.Errorf("%v has %v", batch, got)
	}
	const text = `2 mutations failed, the first at index 3: cellstore Apply t row "r": value of 9 is over the limit of 4: write less at once or split it`
	if batch.Error() != text {
		t.Errorf("%s\nwant\n%s", batch, text)
	}
}

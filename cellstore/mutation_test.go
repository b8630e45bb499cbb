package cellstore

import "testing"

func TestHolds(t *testing.T) {
	// Each list says whether the comparison holds for a stored value that is less than, equal to
	// and greater than the operand, and for a missing column.
	for op, want := range map[CompareOp][4]bool{
		Absent:         {false, false, false, true},
		Present:        {true, true, true, false},
		Equal:          {false, true, false, false},
		NotEqual:       {true, false, true, false},
		Less:           {true, false, false, false},
		LessOrEqual:    {true, true, false, false},
		Greater:        {false, false, true, false},
		GreaterOrEqual: {false, true, true, false},
	} {
		c := Check{Op: op}
		if op > Present {
			c.Value = []byte("m\xff")
		}
		for i, stored := range []string{"m", "m\xff", "n", ""} {
			if got := c.Holds([]byte(stored), i < 3); got != want[i] {
				t.Errorf("operator %d of %q, present %t: %t", op, stored, i < 3, got)
			}
		}
	}
}

package feature

// MayPass reports whether a feature may pass of which only ranges of its properties are known, such as the
// statistics of a part of a file. within returns the range of a property: the least and the greatest compact JSON
// value that it may have where it is present, both texts, numbers or booleans. It returns null twice for a property
// that is never present, and nil if it does not know. No feature passes if the result is false.
func (t *Test) MayPass(within func(name string) (low, high []byte)) bool {
	switch t.op {
	case testCondition:
		low, high := within(t.condition.name)
		return low == nil || t.condition.mayHold(low, high)
	case testAnd:
		for i := range t.kids {
			if !t.kids[i].MayPass(within) {
				return false
			}
		}
	case testOr:
		for i := range t.kids {
			if t.kids[i].MayPass(within) {
				return true
			}
		}
		return false
	}
	return true
}

// mayHold reports whether the condition may be true for a value in a range.
func (c *condition) mayHold(low, high []byte) bool {
	equal := c.op == OpEquals
	if !equal && c.op != OpLess && c.op != OpLessOrEqual && c.op != OpGreater && c.op != OpGreaterOrEqual {
		return true
	}
	if string(low) == "null" {
		return false
	}
	for i := range c.values {
		o := &c.values[i]
		least, ok := o.order(low, false)
		most, known := o.order(high, false)
		switch {
		case !ok || !known || c.fold || c.region || o.is&kindTime != 0: // times and folds are in another order than texts
			return true
		case equal && least <= 0 && most >= 0, !equal && (c.ordered(low) == Yes || c.ordered(high) == Yes):
			return true
		}
	}
	return false
}

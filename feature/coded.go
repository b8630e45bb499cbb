package feature

// Coded is a property of many features, each distinct value once. Code 0 stands for a value that is
// absent or null.
type Coded interface {
	// Len is the number of codes, which are less than it.
	Len() int
	// Value returns the compact JSON of a code other than 0.
	Value(code uint32) []byte
	// Codes sets dst to the codes of the features from one number on.
	Codes(dst []uint32, from int)
}

// Path finds a property by its name, as a filter does: a name with dots may be that of a member of
// nested objects.
type Path struct{ c condition }

// PathTo returns the path to the property with a name.
func PathTo(name string) Path { return Path{conditionOf(name, OpEquals, Any)} }

// Find returns the value in a compact object, or nil if it is absent or null.
func (p *Path) Find(object []byte) []byte { return p.among(object[min(1, len(object)):]) }

func (p *Path) among(members []byte) []byte {
	if value, present := p.c.find(members); present {
		return value
	}
	return nil
}

// CodedFilter decides a filter for features whose properties are Coded. One goroutine uses it.
type CodedFilter struct {
	root codedTest
	free [][]Truth
	buf  []uint32
}

// codedTest is a Test whose conditions are decided for every code.
type codedTest struct {
	op    testOp
	kids  []codedTest
	of    Coded
	holds []Truth // by code
}

// Over makes the filter ready for properties by name, which property returns. The filter must not
// have boxes. Each condition is decided once for each distinct value. step is called after every few
// values; its error ends the work.
func (e *Expression) Over(property func(name string) Coded, step func() error) (*CodedFilter, error) {
	f := &CodedFilter{root: codedTest{op: testAnd}}
	var err error
	if e != nil {
		f.root, err = e.root.over(property, step)
	}
	return f, err
}

func (t *Test) over(property func(name string) Coded, step func() error) (c codedTest, err error) {
	c.op = t.op
	for i := range t.kids {
		kid, err := t.kids[i].over(property, step)
		if err != nil {
			return c, err
		}
		c.kids = append(c.kids, kid)
	}
	if t.op != testCondition {
		return c, nil
	}
	c.of = property(t.condition.name)
	c.holds = make([]Truth, c.of.Len())
	c.holds[0] = t.condition.holds(nil, false)
	for code := 1; code < len(c.holds); code++ {
		if code%codedStep == 0 {
			if err := step(); err != nil {
				return c, err
			}
		}
		c.holds[code] = t.condition.holds(c.of.Value(uint32(code)), true)
	}
	return c, nil
}

// codedStep is the number of values between steps.
const codedStep = 1024

// Truths sets dst to the results for the features from one number on.
func (f *CodedFilter) Truths(dst []Truth, from int) { f.eval(&f.root, dst, from) }

// eval follows Test.truth.
func (f *CodedFilter) eval(t *codedTest, dst []Truth, from int) {
	if t.op == testCondition {
		if cap(f.buf) < len(dst) {
			f.buf = make([]uint32, len(dst))
		}
		codes := f.buf[:len(dst)]
		t.of.Codes(codes, from)
		for i, code := range codes {
			dst[i] = t.holds[code]
		}
		return
	}
	start := Yes
	if t.op == testOr {
		start = No
	}
	for i := range dst {
		dst[i] = start
	}
	var kid []Truth
	if n := len(f.free); n > 0 && cap(f.free[n-1]) >= len(dst) {
		kid, f.free = f.free[n-1][:len(dst)], f.free[:n-1]
	} else {
		kid = make([]Truth, len(dst))
	}
	for i := range t.kids {
		f.eval(&t.kids[i], kid, from)
		for j, v := range kid {
			switch t.op {
			case testAnd:
				dst[j] = min(dst[j], v)
			case testOr:
				dst[j] = max(dst[j], v)
			default:
				dst[j] = Yes - v
			}
		}
	}
	f.free = append(f.free, kid)
}

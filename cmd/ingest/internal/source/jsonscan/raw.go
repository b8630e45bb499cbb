package jsonscan

// raw collects the bytes of one value.
type raw struct {
	bytes []byte
	from  int // start of the unsaved part in the scanner's buffer
	left  int // bytes that may still be kept; negative: there were more
}

func (r *raw) keep(b []byte) {
	if r.left -= len(b); r.left >= 0 {
		r.bytes = append(r.bytes, b...)
	}
}

// Raw reads a value of any kind and appends its bytes as they are. most bounds their number: if
// there are more, whole is false and dst is returned unchanged.
func (s *Scanner) Raw(dst []byte, most int) (out []byte, whole bool, err error) {
	if _, err := s.Kind(); err != nil {
		return dst, false, err
	}
	r := &s.kept
	*r = raw{bytes: dst, from: s.pos, left: most}
	s.raw = r
	err = s.Skip()
	s.raw = nil
	if err != nil {
		return dst, false, err
	}
	r.keep(s.buf[r.from:s.pos])
	if r.left < 0 {
		return dst, false, nil
	}
	return r.bytes, true, nil
}

package geonames

import "strconv"

// IDSet is a set of ids. The ids of GeoNames are dense, so the set has pages of bits. Hostile ids
// that waste pages take at most about 600 MB.
type IDSet struct {
	pages  map[uint32]*[pageBits / 64]uint64
	number uint32
	page   *[pageBits / 64]uint64 // pages[number], the last used
}

const pageBits = 4096

// Add adds an id and reports whether it was new.
func (s *IDSet) Add(id uint32) bool {
	if number := id / pageBits; s.page == nil || number != s.number {
		if s.pages == nil {
			s.pages = map[uint32]*[pageBits / 64]uint64{}
		}
		s.page, s.number = s.pages[number], number
		if s.page == nil {
			s.page = new([pageBits / 64]uint64)
			s.pages[number] = s.page
		}
	}
	word, bit := id%pageBits/64, uint64(1)<<(id%64)
	if s.page[word]&bit != 0 {
		return false
	}
	s.page[word] |= bit
	return true
}

// once adds an id, or returns a reason if the id has occurred before.
func (s *IDSet) once(id uint32) (reason, detail string) {
	if !s.Add(id) {
		return reasonDuplicate, strconv.FormatUint(uint64(id), 10)
	}
	return "", ""
}

package feature

// Ids of regions are in the spelling of their publishers: E06000001, KEN.1.1_1. Two regions
// never differ only in case or in the separators of parts. So they are found in every spelling,
// and by the slugs of older versions: ken-1-1-1. Rows are stored by the fold.

// text is the constraint of the types of ids.
type text interface{ ~string | ~[]byte }

// lower returns an ASCII letter in lower case, and any other byte unchanged.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// foldAt returns the byte of the fold that begins at i, and the index where the next one begins.
// The byte is 0 at the end.
func foldAt[T text](id T, i int) (c byte, next int) {
	mark := func() bool { return i < len(id) && (id[i] == '.' || id[i] == '_' || id[i] == '-') }
	if mark() {
		for mark() {
			i++
		}
		if i < len(id) {
			return '-', i
		}
	}
	if i >= len(id) {
		return 0, i
	}
	return lower(id[i]), i + 1
}

// AppendFoldedRegionID appends the fold of a region's id: ASCII letters in lower case, and one
// hyphen for any number of hyphens, full stops and underscores, none at the end.
func AppendFoldedRegionID[T text](dst []byte, id T) []byte {
	for c, i := foldAt(id, 0); c != 0; c, i = foldAt(id, i) {
		dst = append(dst, c)
	}
	return dst
}

// FoldedRegionID returns the result of AppendFoldedRegionID as a string.
func FoldedRegionID(id string) string {
	var room [64]byte
	if fold := AppendFoldedRegionID(room[:0], id); string(fold) != id {
		return string(fold)
	}
	return id
}

// CompareRegionIDs compares ids of regions by their folded forms, which is the order of their rows.
func CompareRegionIDs[T, U text](a T, b U) int {
	i, j := 0, 0
	for {
		var c, d byte
		c, i = foldAt(a, i)
		d, j = foldAt(b, j)
		if c != d || c == 0 {
			return int(c) - int(d)
		}
	}
}

// SameRegionID reports whether two ids are of one region.
func SameRegionID[T, U text](a T, b U) bool { return CompareRegionIDs(a, b) == 0 }

// hasIDPrefix reports whether an id begins with prefix. A separator at the end of prefix counts.
func hasIDPrefix[T, U text](id T, prefix U) bool {
	i, j := 0, 0
	for j < len(prefix) {
		var c, d byte
		if d, j = foldAt(prefix, j); d == 0 {
			d = '-'
		}
		if c, i = foldAt(id, i); c != d {
			return false
		}
	}
	return true
}

// foldedID returns the pattern for folds of ids. Wildcards stay. A separator at the end of the
// pattern means nothing, as at the end of an id.
func (p Pattern) foldedID() Pattern {
	folded := make(Pattern, 0, len(p))
	for _, r := range p {
		switch {
		case 'A' <= r && r <= 'Z':
			r += 'a' - 'A'
		case r == '.' || r == '_':
			r = '-'
		}
		if r != '-' || len(folded) == 0 || folded[len(folded)-1] != '-' {
			folded = append(folded, r)
		}
	}
	if end := len(folded) - 1; end >= 0 && folded[end] == '-' {
		folded = folded[:end]
	}
	return folded
}

// matchFoldedID reports whether the fold of an id matches a pattern for folds.
func (p Pattern) matchFoldedID(id []byte) bool {
	var room [64]byte
	return p.Match(AppendFoldedRegionID(room[:0], id), false)
}

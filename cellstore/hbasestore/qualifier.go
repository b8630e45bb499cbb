package hbasestore

// HBase 2.6 loses track of the column with the empty qualifier in families with
// NEW_VERSION_BEHAVIOR: at the beginning of a row it takes the empty name for
// no name yet, so versions are not trimmed, deletes do not reach the column, and
// compactions with a delete of it end in a NullPointerException. So no
// qualifier is stored empty: one that is, or that begins with a zero byte, gets
// a zero byte in front. That keeps their order, and leaves all others as they
// are.

// stored returns a qualifier as HBase has it.
func stored(q []byte) []byte {
	if len(q) > 0 && q[0] != 0 {
		return q
	}
	return append(make([]byte, 1, len(q)+1), q...)
}

// storedEnd is stored for the end of a range, where empty means that there is
// none.
func storedEnd(q []byte) []byte {
	if len(q) == 0 {
		return nil
	}
	return stored(q)
}

// named returns the qualifier that was stored as q.
func named(q []byte) []byte {
	if len(q) > 0 && q[0] == 0 {
		return q[1:]
	}
	return q
}

package hbasestore

// HBase 2.6 loses track of the column with the empty qualifier in families with
// NEW_VERSION_BEHAVIOR: at the beginning of a row it confuses the empty name with the lack of a
// name. Versions are then not trimmed, deletes do not reach the column, and compactions with a
// delete of the column end in a NullPointerException. So no qualifier is stored empty: an empty
// qualifier, and one that begins with a zero byte, gets a zero byte in front. That keeps the order
// of qualifiers, and does not change any other.

// escaped returns a qualifier as it is stored in HBase.
func escaped(q []byte) []byte {
	if len(q) > 0 && q[0] != 0 {
		return q
	}
	return append(make([]byte, 1, len(q)+1), q...)
}

// escapedEnd does the same as escaped for the end of a range. An empty end stays empty, and means
// that the range is open.
func escapedEnd(q []byte) []byte {
	if len(q) == 0 {
		return nil
	}
	return escaped(q)
}

// unescaped returns the qualifier that is stored as q.
func unescaped(q []byte) []byte {
	if len(q) > 0 && q[0] == 0 {
		return q[1:]
	}
	return q
}

package thrift2

// Filters choose columns on the server. They travel as the protocol buffers of
// HBase's Filter.proto and Comparator.proto, since the textual form cannot hold
// every byte.

const filterPackage = "org.apache.hadoop.hbase.filter."

// PrefixFilter passes the columns whose qualifiers begin with prefix.
func PrefixFilter(prefix []byte) []byte {
	return filter("ColumnPrefixFilter", field(nil, 1, prefix))
}

// RangeFilter passes the columns with qualifiers in [from, to). An empty end is open.
func RangeFilter(from, to []byte) []byte {
	var b []byte
	if len(from) > 0 {
		b = field(b, 1, from)
	}
	b = truth(b, 2, true)
	if len(to) > 0 {
		b = field(b, 3, to)
	}
	return filter("ColumnRangeFilter", truth(b, 4, false))
}

// AllFilters passes the columns that pass every filter.
func AllFilters(filters ...[]byte) []byte {
	const mustPassAll = 1
	b := []byte{1 << 3, mustPassAll}
	for _, f := range filters {
		b = field(b, 2, f)
	}
	return filter("FilterList", b)
}

func filter(name string, body []byte) []byte {
	return field(field(nil, 1, []byte(filterPackage+name)), 2, body)
}

// field appends field id of the wire type for bytes.
func field(b []byte, id byte, value []byte) []byte {
	b = append(b, id<<3|2)
	n := uint64(len(value))
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(append(b, byte(n)), value...)
}

func truth(b []byte, id byte, v bool) []byte {
	b = append(b, id<<3)
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

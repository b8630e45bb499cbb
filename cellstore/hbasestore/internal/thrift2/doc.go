// Package thrift2 speaks the Thrift2 protocol of an HBase gateway: only the calls and fields that
// the driver needs.
//
// The names of calls, the ids and types of fields and the values of enumerations come from the
// service's interface file, hbase.thrift of HBase 2.6. They are written out by hand because the
// driver uses a fifth of them, and because results are read straight into memory that is used
// again.
//
// A [Conn] is one connection with one call under way at a time. The caller adds
// pools, deadlines over several tries and the choice of a gateway.
package thrift2

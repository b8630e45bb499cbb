// Package hbasetest runs HBase for tests: ZooKeeper, a master, region servers
// and Thrift2 gateways, as processes of this machine that listen on loopback
// only and end with the process that started them.
//
// It needs a JDK of 17 or newer and Maven, which fetches HBase into its local repository the first
// time. [Start] returns [ErrMissing] if that fails, so that tests are skipped and say why.
//
// The settings suit tests only: data is written to the operating system but not to
// the disk, a dead server is noticed after seconds, and failing calls are given up
// soon.
//
// A [Cluster] may be used by several goroutines.
package hbasetest

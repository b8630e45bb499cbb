// Package hbasestore is a cellstore driver for Apache HBase, through its
// Thrift2 gateways.
//
//	store, err := hbasestore.Open(ctx, hbasestore.Options{
//		Gateways:  []string{"gateway-1:9090", "gateway-2:9090"},
//		Namespace: "quadrille",
//	})
//
// Tables, families, columns and versions are HBase's own, so other clients can
// read them, with two exceptions. A qualifier that is empty or begins with a zero
// byte is stored with a zero byte in front (qualifier.go says why), and a family
// that is limited to several versions stores more (see below). Families are
// created with NEW_VERSION_BEHAVIOR, without which deletes would mask later puts,
// and a table that lacks it is not opened.
//
// # Calls
//
// A Get, Next, Prev or write is one call. NextEach is a call per family, all at once. A scan is a
// call per batch, and keeps nothing open on a gateway between them: batches grow from 64 rows to
// ScanRows as long as rows are small. It ends at its limit, at its stop row or at an empty answer,
// since some gateways return fewer rows than requested. Some writes read the row first. Append does
// so to check the size limits of package cellstore. So do these deletes of a single version: one of
// a whole family, one of the newest version together with other deletes, and any after which an
// older version might become visible (see below).
//
// Connections to the gateways are pooled. A failed gateway is avoided for 100 ms, and for up to 5 s
// if it fails repeatedly, unless all gateways fail. A caller that gives up does not count as a
// failure of the gateway: a running dial continues for other callers, and only the connection of
// the call is closed.
//
// Reads, and writes that set all their timestamps, are sent again until their time is over: to
// another gateway if there is one, after random pauses of 20 to 500 ms. If no answer comes in time,
// the error is ErrUnavailable. For a sent write it is cellstore.ErrUnknownOutcome too.
//
// Other writes are sent again only if they cannot have arrived. If one may have arrived, its error
// is cellstore.ErrUnknownOutcome and not ErrUnavailable, unless the cluster refused it with an
// error that always comes before anything is applied (the variable answers in call.go lists these
// errors). A missing or invalid answer, INTERNAL_ERROR of the gateway and most exceptions of HBase
// prove nothing: a coprocessor, or one of the gateway's own tries, may fail after another try was
// applied. After a failed call of many puts, some of the puts may have been applied, unless the
// answer lists the failure of each put.
//
// # What it lacks
//
// Capabilities it does not have, and why:
//
//   - SnapshotScan, Snapshot, AtomicBatch: HBase is consistent within a row only.
//   - MixedMutation: the operations of one mutation have one place in HBase's
//     order of commits, so a put cannot follow a delete within it.
//   - CellTimestamps: for the same reason several versions of one column in one
//     mutation count as one when versions are trimmed.
//   - CounterTimestamps: HBase gives an increment or append of a cell dated in
//     the future a timestamp that is one higher. Do not increment a cell that
//     has the greatest timestamp.
//   - Bulk: files are loaded beside the gateway, not through it. Apply sends many
//     puts at once instead.
//   - Checkpoint: HBase's snapshots are taken by its shell.
//
// A TTL is a whole number of seconds. The largest value is that of package cellstore minus the size
// of the largest key, since HBase limits the two together. Keys have at most 32,000 bytes. A ROWCOL
// Bloom filter is created as ROW, because ROWCOL makes region servers of 2.6.1 hang. Compact needs
// Options.CompactTable, as gateways have no call for it.
//
// A family that is limited to several versions, or to one after it had another limit, is declared
// to HBase with 31 versions more. They stay on disk, and reads skip them. The reason is that HBase
// miscounts the versions of a column when one is put again while others are deleted. The limit
// itself is an attribute of the family, CELLSTORE_MAX_VERSIONS, which a Store reads when it opens
// the table; a change by another Store applies from the next opening on. In such a family, and in
// one with a TTL and MinVersions, a delete of one version reads the column first and deletes
// trimmed and expired versions with it. It is not sent twice. Between the read and the delete other
// clients may change the column: two that delete single versions of it at once may remove one more.
//
// Gateways that require SASL, which means Kerberos, are not supported.
//
// Puts and deletes without a timestamp carry the clock of the region server
// that has the row; the clocks of a cluster must be kept together.
package hbasestore

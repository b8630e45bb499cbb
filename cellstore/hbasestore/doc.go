// Package hbasestore is a cellstore driver for Apache HBase, through its
// Thrift2 gateways.
//
//	store, err := hbasestore.Open(ctx, hbasestore.Options{
//		Gateways:  []string{"gateway-1:9090", "gateway-2:9090"},
//		Namespace: "quadrille",
//	})
//
// Tables, families, columns and versions are HBase's own, so other clients can
// read them; only qualifiers that are empty or begin with a zero byte are
// stored with another in front (see qualifier.go for why), and families that
// are limited to several versions have more (see below). Families are
// made with NEW_VERSION_BEHAVIOR, without which deletes would mask later puts,
// and a table that lacks it is not opened.
//
// # Calls
//
// A Get, Next, Prev or write is one call. NextEach is a call per family, all at
// once. A scan is a call per batch, and keeps nothing open on a gateway between
// them: batches grow from 64 rows to ScanRows as long as rows are small. Append
// reads first, to keep the contract's limit of sizes, and so does a delete of a
// version of a whole family, of the newest version among other deletes, or of
// any version where an older one might come to sight (see below).
//
// Connections to the gateways are pooled. A gateway that fails is passed over
// for 100 ms and, failing on, for up to 5 s, unless all do. A caller who gives up
// says nothing about a gateway: a connection that is being made is made all the
// same, for others, and no connection is closed but that of the call.
//
// Calls that read, and writes whose timestamps are all their own, are sent again
// until their time is over: to another gateway if there is one, after pauses of
// 20 to 500 ms that vary by chance. When no answer comes in time the error is
// ErrUnavailable; that of such a write that has been sent is
// cellstore.ErrUnknownOutcome, too.
//
// Other writes are sent again only if they cannot have arrived. Once one may
// have, all errors but a refusal that is known to come before anything is done
// are cellstore.ErrUnknownOutcome and not ErrUnavailable: no answer, one that
// makes no sense, INTERNAL_ERROR of the gateway, and most exceptions of HBase,
// since a coprocessor, or a try of the gateway's own, may fail after another has
// done it (answers in call.go lists the exceptions that are certain). Of many
// puts in one call some may have been done whatever the answer, unless it says
// that each failed, and why.
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
//     the future a timestamp that is one higher. One at the greatest there is
//     must not be counted on.
//   - Bulk: files are loaded beside the gateway, not through it. Apply sends many
//     puts at once instead.
//   - Checkpoint: HBase's snapshots are taken by its shell.
//
// A TTL is a whole number of seconds. Values are smaller than the contract's
// limit by the size of the largest key, since HBase limits the two together, and
// keys end at 32,000 bytes. Bloom filters by row and column are made by row, as
// the others make region servers of 2.6.1 hang. Compact needs
// Options.CompactTable, as gateways have no call for it.
//
// A family limited to several versions, or to one after it was not, is told to
// HBase with 31 versions more, which stay on disk and are passed over when
// reading: HBase miscounts the versions of a column one of which is put again
// while others are deleted. The limit itself is an attribute of the family,
// CELLSTORE_MAX_VERSIONS, which a Store reads when it opens the table; one
// altered by another Store holds from then on. Deleting one version there, or
// where there are a TTL and MinVersions, takes a look at the column first, and
// deletes with it what has been trimmed or is too old. Such a delete is not sent
// twice. Between the look and the delete others may change the column: two
// clients that delete single versions of it at once may take one more.
//
// Gateways that want SASL, which is Kerberos there, are not spoken to.
//
// Puts and deletes without a timestamp carry the clock of the region server
// that has the row; the clocks of a cluster must be kept together.
package hbasestore

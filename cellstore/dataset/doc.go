// Package dataset keeps data sets as numbered, immutable generations and directs readers to one of
// them.
//
// A data set (boundaries, places, ip, …) is built from scratch into a fresh
// directory beside the one being served, and becomes visible by the atomic
// replacement of one small file:
//
//	DIR/places/
//	  CURRENT              which generation is published, and which others exist
//	  CURRENT.lock         held while CURRENT is rewritten
//	  BUILD.lock           held for as long as a build runs
//	  g0000000007/         a generation
//	    manifest.json      what is in it, from what sources: see Manifest
//	    store/             the cell store, opened by the Catalog's Opener
//	    …                  files of the domain package, from Build.Dir
//	  g0000000008.unfinished/   one that is being built or removed
//
// Only CURRENT decides which generation is published. It names that generation, and lists the
// others to which a rollback may go, with the SHA-256 of each manifest. It also has the highest
// number ever published, so that a number is never used again for other data. The manifest in turn
// lists every file with size and SHA-256. So after a crash at any step either the old or the new
// generation is published and complete. At worst there is some waste on the disk.
//
// A complete generation is not removed just because CURRENT does not list it, since CURRENT may
// have been lost, or restored from a backup. A build removes only directories whose name says that
// they are unfinished. Complete generations with numbers above the highest that CURRENT knows are
// listed again by the next publish or prune. Unlisted generations with lower numbers are left over
// from a killed prune, and stay until the next prune.
//
// Without CURRENT nothing is published. If there are generations nevertheless, that is an error and
// not an empty data set. Nothing is published after [Generations.Unpublish] either: CURRENT then
// names no generation and still lists them. CURRENT ends with a checksum of itself.
//
// # Places
//
// A [Catalog] keeps generations in such a directory, a [Depot] in tables of a
// remote store. [Generations] is the same state machine for both: it decides what
// is listed and published, and replaces the pointer by compare-and-set.
//
// # Writers
//
// [Catalog.Begin] takes the build lock of a data set and opens an empty store;
// [Build.Publish] closes it, checks that it opens again, makes every file
// durable, writes the manifest and replaces CURRENT. Rolling back
// ([Generations.Rollback], [Generations.Activate]) publishes an earlier number and
// does not wait for a running build. [Generations.Prune] deletes old generations,
// never the published one and never one that may still be read. [Depot.Push]
// copies a generation of a Catalog into a Depot and publishes it there.
//
// # Readers
//
// [Live] serves the published generation to any number of goroutines and
// follows the pointer: it opens and checks the new generation, swaps it in, and
// closes the old one after its last reader is done. A generation that does not
// open leaves the old one serving and is reported.
//
// # Timestamps
//
// The same sources must give the same bytes, whenever and wherever they are built. Cells of a
// generation therefore carry the time of their source ([Source.Modified], or a date inside the data
// such as the release of the file), never the time of the clock; [Timestamp] returns the timestamp
// for a list of sources.
package dataset

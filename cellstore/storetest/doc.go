// Package storetest is the conformance suite of cellstore, with which a driver shows that it is
// correct.
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, openMine, mystore.Capabilities)
//	}
//
// [Run] has a subtest for every rule of the contract, cellstore/CONTRACT.md, by its number. Rules
// for which a backend has no capability or hook are skipped and listed at the end. [Backend] has
// the hooks; only Open is required.
//
// # How rules are tested
//
// Most tests are scripts (testdata/README.md describes the language), which have commands and their
// expected output. A script runs several times, each time on a new store: plainly, with a
// compaction before every read, with a compaction before every line, with a reopening of the store
// before every read that follows a write, and with a crash at these places. None of this may change
// an answer. Tests that a script cannot express are in Go: concurrency, ownership of bytes, limits
// and errors.
//
// # The model
//
// [Model] is a whole store, slow and obvious: sorted maps that follow the contract to the letter.
// Random operations are compared with it, and it passes the suite itself. [RunRandom] runs random
// scripts, derived from a seed, on a backend and on a Model. It shortens a failing script before it
// prints the script. With [Fuzz] the fuzzer chooses the scripts.
//
// # Rules without a test
//
// N2 and T4 are advice to callers, and so is the part of A8 about empty values in columns that are
// checked. The worked examples follow them. Only a remote driver can show that NextEach is one
// round of requests (N12) and that an outcome lost in transit is ErrUnknownOutcome (A11): its own
// tests do.
package storetest

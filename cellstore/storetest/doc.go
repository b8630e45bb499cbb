// Package storetest is the conformance suite of cellstore: what a driver does
// to prove itself.
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, openMine, mystore.Capabilities)
//	}
//
// [Run] has a subtest for every rule of the contract, cellstore/CONTRACT.md, by
// its number. What a backend has no capability or hook for is skipped and
// listed at the end. [Backend] says what hooks there are; only Open is a must.
//
// # How rules are tested
//
// Most tests are scripts (testdata/README.md describes the language): commands
// and what they print. A script runs several times, each on a store of its
// own: plainly, with a compaction before every read, with one before every
// line, with the store reopened before every read that follows a write, and
// with a crash there. None of this may change an answer. What a script cannot
// say is in Go: concurrency, ownership of bytes, limits, errors.
//
// # The model
//
// [Model] is a whole store, slow and obvious: sorted maps that follow the
// contract to the letter. Random operations are judged by it, and it passes
// the suite itself. [RunRandom] plays scripts made up from a seed on a backend
// and on a Model, and makes a script that fails short before it prints it;
// [Fuzz] gives the choice to the fuzzer.
//
// # Rules without a test
//
// N2 and T4 advise callers, as does the half of A8 about empty values in
// columns that are checked; the worked examples follow them. Only a remote
// driver can show that NextEach is one round of requests (N12) and that an
// outcome lost in transit is ErrUnknownOutcome (A11): its own tests do.
package storetest

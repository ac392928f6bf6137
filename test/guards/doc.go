// Command guards proves that the guards of the promises have tests. For each guard of guards.yaml it builds the package
// of its tests with the guard removed, by an overlay that leaves the working tree alone, and demands that one of them
// fails:
//
//	make guards                # all of the list
//	make guards GUARDS=lease   # those whose name contains the text
//
// It is slow, because each guard is a build, and so no part of `make test`. There, a test checks that each guard of the
// list still stands in its file, once, and that its tests exist.
//
// A guard is a condition, a lock or a fence without which a promise of the design fails: a change that adds one adds it
// to the list, with the test that notices when it is gone. SQL is removed from the Go code that is generated from
// queries/.
package main

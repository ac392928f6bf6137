// Package matchtest holds the shared tests of pool membership, which Go and SQL decide separately: Cases, a table of
// edge cases, and generators of random fields and pools for property tests.
package matchtest

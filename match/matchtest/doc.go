// Package matchtest holds what every implementation of a pool's decision is tested with, the one in Go and the one in
// SQL: Cases, a table of what is most easily got wrong, and generators of random fields and pools for properties.
package matchtest

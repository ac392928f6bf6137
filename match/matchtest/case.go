package matchtest

import "github.com/lattice-director/director/match"

// Case is a pool, the fields of a ticket or a backfill, and whether the pool holds them.
type Case struct {
	Name   string
	Pool   match.Pool
	Fields match.Fields
	IsHeld bool
}

// Package match holds the pure decisions of matchmaking: whether a pool holds a ticket, which proposals become matches,
// and whether an assignment request is valid. The rules are exactly those of Open Match, so that programs written for
// it get the same results.
//
// Each decision has a file: pool.go (filters), evaluate.go (the default evaluator), accept.go (which accepted proposals
// become final), assign.go (assignments). index.go translates pools and tickets for a store with an index, and
// moment.go holds the wire's timestamps. ticket.go, value.go, number.go, source.go and latency.go are tickets as
// profiles see them, and ended.go says why one left. The package knows no database, network, protocol or clock.
// Functions retain none of their arguments and are safe for concurrent use.
//
// SQL decides pool membership too, where the tickets are stored. The cases and generators of matchtest test both, so
// that they agree.
package match

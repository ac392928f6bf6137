// Package db holds the state. Each decision that two replicas could make differently is made here, in one SQL statement or
// in one transaction over the statements of queries/.
//
// Each capability has files named alike in queries/ and here: instance, placement, session, seat, ticket, assignment,
// backfill, cycle, key, idempotency, history, clock, maintenance, schema. sqlc generates x.sql.go from queries/x.sql; it
// lies beside the x.go that uses it.
//
// Placement is a transaction in steps. placement.go fills open sessions and placement_open.go opens new ones;
// placement_lock.go locks the players, placement_resume.go (pure) judges the seats that they hold already, and
// placement_pack.go (pure) chooses a session for each party.
//
// Frequent calls go through a group: the calls that are waiting at one time share one transaction. Protocols live in
// server/, loops in worker/, tokens in token/; this package knows none of them.
package db

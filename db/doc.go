// Package db holds the state. Each decision that two replicas could make differently is made here, in one SQL statement or
// in one transaction over the statements of queries/.
//
// Each capability has files named alike in queries/ and here: instance, placement, session, seat, ticket, assignment,
// backfill, cycle, key, idempotency, history, clock, maintenance, schema. schema.sql is the schema after all migrations. sqlc generates
// query/x.sql.go from queries/x.sql.
//
// A placement begins in placement.go; placement_open.go decides the requests that must wait for locks. Both run the steps of
// placement_transaction.go, top to bottom: lock players and read (placement_lock.go), find seats that the players have already
// (placement_resume.go, pure), choose a session for each party (placement_candidates.go, internal/pack, pure), write.
//
// Frequent calls go through a group: the calls that are waiting at one time share one transaction. Protocols live in
// server/, loops in worker/, tokens in token/, what runs game servers in provider/; this package knows none of them.
package db

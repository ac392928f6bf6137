// Package doctor checks an installation: the database, the schema, replicas, workers, keys, the fleet and common causes
// of a slow Postgres. `director doctor` prints what it finds, the console shows it, and workers export it for alerts:
// there is one judge.
//
//	examine.go    the order of the checks, and what they found together
//	database.go   whether the database answers and takes writes
//	postgres.go   what makes Postgres slow
//	processes.go  replicas and workers
//	keysets.go    key sets of logins that replicas cannot use
//	fleet.go      game servers and their seats
//	agents.go     the connections of Rivalis game servers, lobby.go those of the realtime lobby
//	drains.go     drains that operators keep
//	enrolments.go the credentials of game servers that register themselves
//	refusals.go   players who are refused
//	tickets.go    tickets that wait
//	pools.go      pools of servers, limits.go the limits over all of them
//	valves.go     who limits how fast players enter
//	webhooks.go   subscriptions to the event log
//	cells.go      regions that other cells serve
//	moves.go      regions that move to another cell
//	erasures.go   players that are being erased
//	kek.go        key-encryption keys
//	keys.go       signing keys
//	invariants.go invariants of the data
//	partitions.go partitions of the history
//	finding.go    what a check found, in words
package doctor

import (
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/query"
)

// Doctor examines an installation. Safe for concurrent use.
type Doctor struct {
	Store  *db.Store
	Pooler string // the setting: pgbouncer, or none
	Direct bool   // whether there is a connection that bypasses a pooler
	// PlayerArg is the string_arg that names the player of a ticket of Open Match; "": none.
	PlayerArg string
}

// newQueries returns the statements of queries/doctor.sql.
func (d Doctor) newQueries() *query.Queries { return query.New(d.Store.Pool()) }

// convertRows converts rows of a query to the type whose methods judge them.
func convertRows[To, From any](rows []From, one func(From) To) []To {
	all := make([]To, len(rows))
	for i, r := range rows {
		all[i] = one(r)
	}
	return all
}

// checkTimeout bounds a check. The queries are small: a database that needs longer than 5 s has a problem.
const checkTimeout = 5 * time.Second

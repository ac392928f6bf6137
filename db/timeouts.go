package db

import (
	"time"

	"github.com/lattice-director/director/db/internal/tx"
)

// The timeouts of each kind of work, "hold" being Config.HoldTimeout (2 s by default):
//
//	work                                   idle       statement  transaction  unacknowledged
//	hot transactions (inTx)                3/8 hold   1/2 hold   1 hold       1 hold
//	bulk transactions (inBulkTx)           3/8 hold   30 s       1 min        1 hold
//	acceptance of a cycle's matches        1 hold     30 s       1 min        1 hold
//	statements outside transactions        -          5 min      -            1 hold
//	large reads (the readers' pool)        3/8 hold   1 min      -            1 min
//	listener                               -          10 s       -            10 s
//	migrations (migrations/provider.go)    2 s        -          -            10 s
//
// A frozen process may have several transactions that wait for each other. Each of their statements ends after 1/2 hold at
// the latest, and its transaction 3/8 hold later, which together is less than hold. A transaction that waits in several
// statements of one pipeline takes longer. Since Postgres 17, transaction_timeout bounds the whole transaction; it also ends
// one whose client stopped in the middle of sending a pipeline, which the idle timeout does not detect.
const (
	longestStatement  = 5 * time.Minute // the longest run of a worker's loop
	bulkStatement     = 30 * time.Second
	bulkTransaction   = time.Minute
	readerStatement   = time.Minute
	listenerStatement = 10 * time.Second
)

func (c Config) idleTimeout() time.Duration { return c.HoldTimeout * 3 / 8 }

// sessionTimeouts are those of a connection of the pool; each transaction sets shorter ones.
func (c Config) sessionTimeouts() tx.Timeouts {
	return tx.Timeouts{Idle: c.idleTimeout(), Statement: longestStatement, Unacked: c.HoldTimeout}
}

// readerTimeouts allow a client that takes its rows slowly: the server sees its closed window as unacknowledged data.
func (c Config) readerTimeouts() tx.Timeouts {
	return tx.Timeouts{Idle: c.idleTimeout(), Statement: readerStatement, Unacked: readerStatement}
}

func (c Config) hotTimeouts() tx.Timeouts {
	return tx.Timeouts{Idle: c.idleTimeout(), Statement: c.HoldTimeout / 2, Transaction: c.HoldTimeout}
}

func (c Config) bulkTimeouts() tx.Timeouts {
	return tx.Timeouts{Idle: c.idleTimeout(), Statement: bulkStatement, Transaction: bulkTransaction}
}

// acceptanceTimeouts allow for a transaction that is idle while Go decides about 100,000 proposals.
func (c Config) acceptanceTimeouts() tx.Timeouts {
	return tx.Timeouts{Idle: c.HoldTimeout, Statement: bulkStatement, Transaction: bulkTransaction}
}

func listenerTimeouts() tx.Timeouts {
	return tx.Timeouts{Statement: listenerStatement, Unacked: listenerStatement}
}

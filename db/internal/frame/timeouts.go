package frame

import (
	"time"

	"github.com/lattice-director/director/db/internal/tx"
)

// The timeouts of each kind of work, "hold" being db.Config.HoldTimeout (2 s by default):
//
//	work                                   idle       statement  transaction  unacknowledged
//	hot transactions (InTx)                3/8 hold   1/2 hold   1 hold       1 hold
//	bulk transactions (InBulkTx)           3/8 hold   30 s       1 min        1 hold
//	acceptance of a cycle's matches        1 hold     30 s       1 min        1 hold
//	statements outside transactions        -          5 min      -            1 hold
//	large reads (the readers' pool)        3/8 hold   1 min      -            1 min
//	listener                               -          10 s       -            10 s
//	migrations (migrations/provider.go)    2 s        -          -            10 s
//
// A frozen process may have several transactions that wait for each other. Each of their statements ends after 1/2 hold
// at the latest, and its transaction 3/8 hold later, which together is less than hold. A transaction that waits in
// several statements of one pipeline takes longer. Since Postgres 17, transaction_timeout bounds the whole transaction;
// it also ends one whose client stopped in the middle of sending a pipeline, which the idle timeout does not detect.
const (
	longestStatement  = 5 * time.Minute // the longest run of a worker's loop
	bulkStatement     = 30 * time.Second
	bulkTransaction   = time.Minute
	readerStatement   = time.Minute
	listenerStatement = 10 * time.Second
)

// Hold is how long a process that stops in the middle of a transaction can block others.
type Hold time.Duration

func (h Hold) duration() time.Duration { return time.Duration(h) }

// IdleTimeout bounds how long a transaction waits for its client.
func (h Hold) IdleTimeout() time.Duration { return h.duration() * 3 / 8 }

// SessionTimeouts returns the timeouts of a connection of the pool; each transaction sets shorter ones.
func (h Hold) SessionTimeouts() tx.Timeouts {
	return tx.Timeouts{Idle: h.IdleTimeout(), Statement: longestStatement, Unacked: h.duration()}
}

// ReaderTimeouts returns timeouts for a client that takes its rows slowly: the server sees its closed window as
// unacknowledged data.
func (h Hold) ReaderTimeouts() tx.Timeouts {
	return tx.Timeouts{Idle: h.IdleTimeout(), Statement: readerStatement, Unacked: readerStatement}
}

// HotTimeouts returns the timeouts of [Frame.InTx].
func (h Hold) HotTimeouts() tx.Timeouts {
	return tx.Timeouts{Idle: h.IdleTimeout(), Statement: h.duration() / 2, Transaction: h.duration()}
}

// BulkTimeouts returns the timeouts of [Frame.InBulkTx].
func (h Hold) BulkTimeouts() tx.Timeouts {
	return tx.Timeouts{Idle: h.IdleTimeout(), Statement: bulkStatement, Transaction: bulkTransaction}
}

// AcceptanceTimeouts returns timeouts for a transaction that is idle while Go decides about 100,000 proposals.
func (h Hold) AcceptanceTimeouts() tx.Timeouts {
	return tx.Timeouts{Idle: h.duration(), Statement: bulkStatement, Transaction: bulkTransaction}
}

// ListenerTimeouts are those of the connection that listens for notifications.
func ListenerTimeouts() tx.Timeouts {
	return tx.Timeouts{Statement: listenerStatement, Unacked: listenerStatement}
}

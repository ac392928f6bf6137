package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/db/query"
)

const (
	// maxConsoleReads bounds how many reads of the console run at a time on a replica. It is less than the connections
	// of the readers' pool with the default Config.MaxConns, so that people who look at pages do not block queries of
	// directors.
	maxConsoleReads = 2
	// consoleStatementTimeout bounds one statement of the console. A longer one keeps vacuum from cleaning, and nobody
	// waits for it.
	consoleStatementTimeout = 5 * time.Second
	// consoleReadTimeout bounds the transaction of one call of ReadOps.
	consoleReadTimeout = 10 * time.Second
)

// ReadOps calls read, which must read views of schema ops only, in a read-only transaction on a connection of the
// readers' pool; db/opsview has the views. Errors: TooMany when maxConsoleReads other calls run; context.Canceled, when
// the caller leaves while it waits; Unavailable, also for a statement that takes too long; those of read.
func (s *Store) ReadOps(ctx context.Context, read func(context.Context, opsview.Querier) error) error {
	return s.readOps(ctx, func(ctx context.Context, t *tx.Tx) error { return read(ctx, t) })
}

func (s *Store) readOps(ctx context.Context, read func(context.Context, *tx.Tx) error) error {
	waiting, cancel := context.WithTimeout(ctx, readerWait)
	defer cancel()
	select {
	case s.consoleReads <- struct{}{}:
		defer func() { <-s.consoleReads }()
	case <-waiting.Done():
		return busyReaders(ctx, waiting.Err(), "too many pages are being read by this replica: try again")
	}
	// pgx closes the connection of a statement that is cancelled, and people leave pages early: the statement ends by
	// itself.
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), consoleReadTimeout)
	defer done()
	limits := tx.Timeouts{Idle: s.cfg.transactionHold().IdleTimeout(), Statement: consoleStatementTimeout,
		Transaction: consoleReadTimeout}
	return frame.Classify(tx.Run(ctx, s.readerPool, limits, func(t *tx.Tx) error {
		if err := query.New(t).ReadOnly(ctx); err != nil {
			return err
		}
		return read(ctx, t)
	}))
}

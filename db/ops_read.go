package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

const (
	// consoleReads bounds how many reads of the console run at a time on a replica. It is less than the connections of
	// the readers' pool with the default Config.MaxConns, so that people who look at pages do not block queries of
	// directors.
	consoleReads = 2
	// consoleStatement bounds one statement of the console. A longer one keeps vacuum from cleaning, and nobody waits
	// for it.
	consoleStatement = 5 * time.Second
	// consoleRead bounds one reading.
	consoleRead = 10 * time.Second
)

// ReadOps runs what reads views of schema ops, and nothing else, in a read-only transaction on a connection of the
// readers; db/opsview has the views. Errors: TooMany when as many readings run as may; context.Canceled, when the
// caller leaves while it waits; Unavailable, also for a statement that takes too long; read's.
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
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), consoleRead)
	defer done()
	limits := tx.Timeouts{Idle: s.cfg.transactionHold().IdleTimeout(), Statement: consoleStatement,
		Transaction: consoleRead}
	return frame.Classify(tx.Run(ctx, s.readerPool, limits, func(t *tx.Tx) error {
		if err := query.New(t).ReadOnly(ctx); err != nil {
			return err
		}
		return read(ctx, t)
	}))
}

// ParseSessionID returns the two parts of a session's public id. Errors: Invalid.
func ParseSessionID(id string) (region string, room uuid.UUID, err error) {
	region, room, ok := parseSessionID(id)
	if !ok {
		return "", uuid.Nil, &fault.Error{Kind: fault.Invalid, Code: "invalid", Field: "session",
			Detail: "must be the id of a session, region.uuid"}
	}
	return region, room, nil
}

package db

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

const (
	// readerWait is how long a query waits for a connection. Readings are short: within this time many take their turn.
	readerWait = 5 * time.Second
	// readTimeout bounds one reading, whose caller may be gone: pgx closes the connection of a statement that is
	// cancelled, and callers that give up early would cost a new connection each.
	readTimeout = 15 * time.Second
)

// read runs one short reading of a large table on a connection of the readers. Errors: TooMany when they are all taken,
// Unavailable, do's.
func (s *Store) read(ctx context.Context, do func(context.Context, *query.Queries) error) error {
	conn, err := s.acquireReader(ctx)
	if err != nil {
		return frame.Classify(err)
	}
	defer conn.Release()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	return frame.Classify(do(ctx, query.New(conn)))
}

// acquireReader takes a connection for a large read, and refuses it while all of them are in use for long.
func (s *Store) acquireReader(ctx context.Context) (*pgxpool.Conn, error) {
	waiting, cancel := context.WithTimeout(ctx, readerWait)
	defer cancel()
	conn, err := s.readerPool.Acquire(waiting)
	// Asked behind the wait: only if all readers are in use is it their number, and not the database, that keeps the
	// caller waiting.
	taken := s.readerPool.Stat().AcquiredConns() == s.readerPool.Config().MaxConns
	if err != nil && taken && waiting.Err() != nil {
		return nil, busyReaders(ctx, err,
			"too many queries are being read by this replica: call again, another one may have room")
	}
	return conn, err
}

// busyReaders returns the error of a read that waited for its turn and did not get it, which err ended: that of ctx for
// a caller that left, else TooMany, also where the deadline of the caller was earlier than that of the wait.
func busyReaders(ctx context.Context, err error, detail string) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return &fault.Error{Kind: fault.TooMany, Code: "too_many_queries", Detail: detail, RetryAfter: fault.RetryAfter,
		Err: err}
}

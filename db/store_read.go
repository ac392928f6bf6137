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
	// readerWait is how long a read waits for a connection. Most reads take a fraction of it.
	readerWait = 5 * time.Second
	// readTimeout bounds a read instead of the context of its caller: pgx closes the connection of a statement that is
	// cancelled, so that each caller that gives up early would cost a new connection.
	readTimeout = 15 * time.Second
)

// read runs a read of a large table on a connection of the pool for large reads. Errors: TooMany when all of these are
// in use, Unavailable, those of do.
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

// acquireReader takes a connection for a large read. Errors: TooMany when all have been in use for readerWait.
func (s *Store) acquireReader(ctx context.Context) (*pgxpool.Conn, error) {
	waiting, cancel := context.WithTimeout(ctx, readerWait)
	defer cancel()
	conn, err := s.readerPool.Acquire(waiting)
	if err == nil {
		return conn, nil
	}
	// If some are not in use, the database keeps the caller waiting, which does not connect.
	allInUse := s.readerPool.Stat().AcquiredConns() == s.readerPool.Config().MaxConns
	if allInUse && waiting.Err() != nil {
		return nil, busyReaders(ctx, err,
			"too many queries are being read by this replica: call again, another one may have room")
	}
	return nil, err
}

// busyReaders returns the error of a read that waited in vain for its turn, until the wait ended with err: the error of
// ctx for a caller that left, else TooMany, also where the deadline of the caller came before the end of the wait.
func busyReaders(ctx context.Context, err error, detail string) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return &fault.Error{Kind: fault.TooMany, Code: "too_many_queries", Detail: detail, RetryAfter: fault.RetryAfter,
		Err: err}
}

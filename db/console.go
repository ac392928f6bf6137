package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

const (
	// consoleReads bounds how many reads of the console run at a time on a replica. It is less than the connections of the readers' pool
	// with the default Config.MaxConns, so that people who look at pages do not block queries of directors.
	consoleReads = 2
	// consoleStatement bounds one statement of the console. A longer one keeps vacuum from cleaning, and nobody waits for it.
	consoleStatement = 5 * time.Second
	// consoleRead bounds one page.
	consoleRead = 10 * time.Second
	// MaxConsolePage is the most rows of a page.
	MaxConsolePage = 500
	// consolePage is the number of rows of a page that names none.
	consolePage = 50
)

// ConsolePage says how many rows a page has, from 1 to MaxConsolePage; 0 means 50.
type ConsolePage int

func (p ConsolePage) rows() int32 {
	if p <= 0 {
		return consolePage
	}
	return int32(min(p, MaxConsolePage))
}

// page returns at most n rows, and whether more follow. A statement that reads a page asks for n+1 rows.
func page[R any](rows []R, n int32) ([]R, bool) {
	if len(rows) > int(n) {
		return rows[:n], true
	}
	return rows, false
}

// readConsole runs the statements of one page in a read-only transaction on a connection of the readers. They read views of schema ops
// and nothing else. Errors: TooMany when as many pages are being read as may; context.Canceled, when the caller leaves while it waits; Unavailable,
// also for a statement that takes too long; do's.
func (s *Store) readConsole(ctx context.Context, do func(context.Context, *query.Queries) error) error {
	waiting, cancel := context.WithTimeout(ctx, readerWait)
	defer cancel()
	select {
	case s.console <- struct{}{}:
		defer func() { <-s.console }()
	case <-waiting.Done():
		return busyReaders(ctx, waiting.Err(), "too many pages are being read by this replica: try again")
	}
	// pgx closes the connection of a statement that is cancelled, and people leave pages early: the statement ends by itself.
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), consoleRead)
	defer done()
	limits := tx.Timeouts{Idle: s.cfg.hold().Idle(), Statement: consoleStatement, Transaction: consoleRead}
	return classify(tx.Run(ctx, s.readers, limits, func(t *tx.Tx) error {
		q := query.New(t)
		if err := q.ReadOnly(ctx); err != nil {
			return err
		}
		return do(ctx, q)
	}))
}

// instant returns nil for the epoch, with which statements replace NULL and infinity.
func instant(t time.Time) *time.Time {
	if t.Unix() == 0 {
		return nil
	}
	return &t
}

// ParseSessionID returns the two parts of a session's public id. Errors: Invalid.
func ParseSessionID(id string) (region string, room uuid.UUID, err error) {
	region, room, ok := parseSessionID(id)
	if !ok {
		return "", uuid.Nil, &fault.Error{Kind: fault.Invalid, Code: "invalid", Field: "session", Detail: "must be the id of a session, region.uuid"}
	}
	return region, room, nil
}

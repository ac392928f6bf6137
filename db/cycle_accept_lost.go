package db

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/db/query"
)

// outcomeUnknown reports whether a transaction that failed at COMMIT may have been committed. It was not committed when
// COMMIT reported a rollback, nor when Postgres ended the transaction because it was idle: COMMIT had not arrived by
// then.
func outcomeUnknown(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return !errors.Is(err, pgx.ErrTxCommitRollback)
	}
	return pg.Code == "25P04" || strings.HasPrefix(pg.Code, "57") || strings.HasPrefix(pg.Code, "08")
}

// wasCommitted finds out whether the decision was committed. It waits for the lost transaction, which holds its lock on
// the cycle until it ends.
func (a *acceptance) wasCommitted(ctx context.Context) (committed bool, err error) {
	// Postgres ends the lost transaction within the hold timeout.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.store.cfg.HoldTimeout+time.Second)
	defer cancel()
	for {
		committed, err = a.findCommit(ctx)
		if err == nil || ctx.Err() != nil {
			return committed, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// findCommit looks for rows that only the lost transaction can have written.
func (a *acceptance) findCommit(ctx context.Context) (found bool, err error) {
	// AwaitAcceptance waits until the lost transaction has ended: its rows are there then, or never will be.
	if err := a.store.q.AwaitAcceptance(ctx,
		query.AwaitAcceptanceParams{Region: a.cycleRef.Region, ID: a.cycleRef.ID}); err != nil {
		return false, err
	}
	if len(a.pendingMarks.Ids) > 0 {
		rows, err := a.store.q.MatchesOfTickets(ctx,
			query.MatchesOfTicketsParams{Region: a.cycleRef.Region, Ids: a.pendingMarks.Ids})
		if err != nil {
			return false, err
		}
		marked := make(map[string]string, len(rows))
		for _, r := range rows {
			marked[r.ID] = string(r.MatchedIn)
		}
		for i, id := range a.pendingMarks.Ids {
			// A mark has the cycle and the match: nobody else writes the same one.
			if marked[id] == string(a.pendingMarks.MatchedIn[i]) {
				return true, nil
			}
		}
	}
	// A transaction that marked no ticket is recognized by a backfill that it has created or changed.
	ids := make([]string, 0, len(a.changedBackfills))
	for id := range a.changedBackfills {
		ids = append(ids, id)
	}
	rows, err := a.store.q.LockBackfills(ctx, query.LockBackfillsParams{Region: a.cycleRef.Region, Ids: ids,
		AckedFor: a.store.cfg.Timing.backfillTTL()})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(rows, a.provesCommit), nil
}

// provesCommit reports whether a backfill proves that this decision was committed. A backfill that the decision created
// does: it has generation 1. One that existed may have reached the same generation by another change, so it counts only
// if the decision has no tickets, whose marks are proof enough.
func (a *acceptance) provesCommit(r query.LockBackfillsRow) bool {
	b := a.changedBackfills[r.ID]
	return b.Generation == 1 || len(a.pendingMarks.Ids) == 0 && r.Generation == b.Generation &&
		bytes.Equal(r.Body, b.Body)
}

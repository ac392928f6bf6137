package db

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/act"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// An erasure goes as follows. ops.erase_player stores the request, with a random key that will stand for the player in
// history. Then a process makes a pass over all tables (erase_pass.go): the process of the operator that asked for the
// erasure, or a worker. Any number of processes may do so at a time, since each statement leaves nothing for a second
// one to do. A second pass begins five seconds later, for what other processes had in memory: refusals that a replica
// records, tickets whose history a worker keeps. The second pass also deletes the player's name and the key's secret,
// and writes the event.

// Erasure is a player that was erased, or is being erased. It does not name the player.
type Erasure struct {
	ID          uuid.UUID
	ChangedRows int64      // rows that this pass has changed or deleted
	ErasedAt    time.Time  // when the first pass was over
	FinishedAt  *time.Time // when the last pass was over; nil: a worker makes it, five seconds after the request
}

// ErasePlayer removes a player from live tables, history and events: what backends have stored goes, with refusals,
// latencies, messages and invitations; seats are freed, tickets leave the queue, sessions of the realtime lobby end; in
// history the same random key replaces the player in all rows, whose attributes go. ErasePlayer returns after the first
// pass, which takes a fraction of a second unless the player has very many rows of history. A player that nobody knows,
// such as one that was erased before, has 0 ChangedRows. Errors: Invalid, for a player that has not 1 to 255 bytes, and
// for a reason that has not 1 to 500 characters; Unavailable, after which a worker continues.
func (a Act) ErasePlayer(ctx context.Context, player, reason string) (Erasure, error) {
	var id uuid.UUID
	err := a.store.frame.InTxWithRetries(ctx, func(q *query.Queries) error {
		// Without a reason, since RequestErasure takes it as an argument.
		_, err := act.CallAs(ctx, q, a.actor, "", func(q *query.Queries) (bool, error) {
			var err error
			id, err = q.RequestErasure(ctx, query.RequestErasureParams{Player: player, Reason: reason})
			return true, err
		})
		return err
	})
	if err != nil {
		return Erasure{}, act.Refusal(err)
	}
	return a.store.ContinueErasure(ctx, id)
}

// OpenErasures returns erasures whose next pass is due, at most batch, the oldest first. Errors: Unavailable.
func (s *Store) OpenErasures(ctx context.Context, batch int) ([]uuid.UUID, error) {
	ids, err := s.q.OpenErasures(ctx, int32(batch))
	return ids, frame.Classify(err)
}

// ContinueErasure makes a pass of an erasure over all tables. An erasure that is finished stays as it is. Errors:
// NotFound, Unavailable.
func (s *Store) ContinueErasure(ctx context.Context, id uuid.UUID) (Erasure, error) {
	e, err := s.q.GetErasure(ctx, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return Erasure{}, fault.New(fault.NotFound, "erasure_unknown", "there is no erasure %s", id)
	}
	if err != nil {
		return Erasure{}, frame.Classify(err)
	}
	if e.FinishedAt != nil {
		return erasureOf(e), nil
	}
	pass := erasurePass{store: s, row: e}
	if err := pass.run(ctx); err != nil {
		return Erasure{}, frame.Classify(err)
	}
	settled, err := s.q.SettleErasure(ctx, query.SettleErasureParams{ID: id, Changed: pass.changedRows, Final: e.Final})
	// Another process has finished the erasure meanwhile.
	if errors.Is(err, pgx.ErrNoRows) {
		e, err = s.q.GetErasure(ctx, id)
		return erasureOf(e), frame.Classify(err)
	}
	if err != nil {
		return Erasure{}, frame.Classify(err)
	}
	done := Erasure{ID: id, ChangedRows: pass.changedRows, FinishedAt: settled.FinishedAt}
	if settled.ErasedAt != nil {
		done.ErasedAt = *settled.ErasedAt
	}
	return done, nil
}

func erasureOf(row query.GetErasureRow) Erasure {
	e := Erasure{ID: row.ID, FinishedAt: row.FinishedAt}
	if row.ErasedAt != nil {
		e.ErasedAt = *row.ErasedAt
	}
	return e
}

// PruneErasures deletes the erasures that were finished longer than keep ago, and returns how many. Errors:
// Unavailable.
func (s *Store) PruneErasures(ctx context.Context, keep time.Duration) (int, error) {
	n, err := s.q.PruneErasures(ctx, keep)
	return int(n), frame.Classify(err)
}

package db

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/act"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/wait"
)

const (
	// After the flip, processes here write what they have in memory, such as the history of tickets, which still moves.
	lateWrites = 3 * time.Second
	moveBatch  = 2000 // rows that are deleted in one transaction
)

// finish ends the move after the flip: what copies, and the rows here.
func (m *RegionMove) finish(ctx context.Context) error {
	if err := m.eraseThere(ctx); err != nil {
		return err
	}
	if !wait.For(ctx, lateWrites) {
		return ctx.Err()
	}
	// The subscription goes first: it would delete there what is deleted here.
	if err := m.unsubscribe(ctx); err != nil {
		return err
	}
	if err := m.deleteRows(ctx, m.source); err != nil {
		return err
	}
	return m.close(ctx, stepDone, stepFlipped)
}

// eraseThere erases in the other cell whom somebody erased here since the move began, since history is copied and not
// followed.
func (m *RegionMove) eraseThere(ctx context.Context) error {
	row, err := m.source.q.LastMove(ctx, m.id)
	if err != nil {
		return err
	}
	erasures, err := m.source.q.OpenErasuresSince(ctx, row.BegunAt)
	for _, e := range erasures {
		if err == nil {
			_, err = m.target.As(m.actor).ErasePlayer(ctx, e.Player, e.Reason)
		}
	}
	return err
}

// unsubscribe ends the copy on both sides. A slot that is left would keep the log until the disk is full.
func (m *RegionMove) unsubscribe(ctx context.Context) error {
	err := m.target.moveTx(ctx, m.actor, func(q *query.Queries) error { return q.UnsubscribeRegion(ctx, m.id) })
	if err != nil {
		return err
	}
	// The slot is in use until the Postgres of this cell has noticed that the subscription is gone.
	for {
		dropped, err := m.source.q.DropMoveSlot(ctx, m.id)
		if err != nil {
			return err
		}
		if dropped {
			break
		}
		if !wait.For(ctx, moveEvery/4) {
			return ctx.Err()
		}
	}
	return m.source.moveTx(ctx, m.actor, func(q *query.Queries) error { return q.UnpublishRegion(ctx, m.id) })
}

// deleteRows deletes the rows of the region in the cell that does not serve it.
func (m *RegionMove) deleteRows(ctx context.Context, cell *Store) error {
	// In the order of region_tables, so that no row refers to one that is gone; in batches, whose locks are short.
	for _, table := range m.tables {
		for {
			var deleted int32
			err := cell.moveTx(ctx, m.actor, func(q *query.Queries) (err error) {
				deleted, err = q.DeleteRegionRows(ctx, query.DeleteRegionRowsParams{TableName: table.Name,
					Region: m.terms.Region, Batch: moveBatch})
				return err
			})
			if err != nil {
				return err
			}
			if deleted == 0 {
				break
			}
			m.deleted = addRows(m.deleted, table.Name, int64(deleted))
			// Many rows take minutes, in which doctor would take the command for dead.
			if err := m.source.q.DriveMove(ctx, m.id); err != nil {
				return err
			}
		}
	}
	return cell.q.DeleteRestOfRegion(ctx, m.terms.Region)
}

func addRows(counts []RowsOfTable, table string, rows int64) []RowsOfTable {
	if n := len(counts); n > 0 && counts[n-1].Table == table {
		counts[n-1].Rows += rows
		return counts
	}
	return append(counts, RowsOfTable{Table: table, Rows: rows})
}

// close removes the triggers and the marks, and ends the move in both cells. The source is last: a command that is
// started again finds the move there.
func (m *RegionMove) close(ctx context.Context, step, was string) error {
	for _, cell := range []*Store{m.target, m.source} {
		err := m.eachFencedTable(ctx, cell, func(q *query.Queries, ctx context.Context, p query.AddMoveFenceParams) error {
			return q.DropMoveFence(ctx, query.DropMoveFenceParams(p))
		})
		if err != nil {
			return err
		}
		if err := cell.q.DropMarks(ctx, m.id); err != nil {
			return err
		}
		if err := m.endIn(ctx, cell, step, was); err != nil {
			return err
		}
	}
	return nil
}

// endIn ends the move in one cell. The transaction that ends an undone move in the cell that keeps the region logs it:
// other commands, and one that is started again, find it ended, and log nothing.
func (m *RegionMove) endIn(ctx context.Context, cell *Store, step, was string) error {
	return cell.moveTx(ctx, m.actor, func(q *query.Queries) error {
		ended, err := q.SetMoveStep(ctx, query.SetMoveStepParams{ID: m.id, Step: step, Was: []string{was}, Ends: true})
		if err != nil || ended == 0 || step != stepUndone || cell != m.source {
			return err
		}
		return q.LogMove(ctx, query.LogMoveParams{ID: m.id, Kind: "region.move_undone"})
	})
}

// Undo ends a move whose region was not flipped: this cell serves it as before, and what was copied is deleted. It can
// be repeated. Errors: NotFound, where no move of the region runs; Conflict, where the other cell serves it;
// Unavailable.
func (m *RegionMove) Undo(ctx context.Context) (MoveReport, error) {
	// An undo that was killed has not ended the move: it is found, and its steps are repeated.
	running, err := m.adoptRunning(ctx)
	if errors.Is(err, pgx.ErrNoRows) {
		return MoveReport{}, fault.New(fault.NotFound, "not_found", "no move of region %q runs", m.terms.Region)
	}
	if err == nil {
		err = m.undo(ctx)
	}
	if err == nil {
		running, err = m.source.q.LastMove(ctx, m.id)
	}
	if err != nil {
		return MoveReport{}, act.Refusal(err)
	}
	return m.reportOf(running), nil
}

func (m *RegionMove) undo(ctx context.Context) error {
	// The other cell first, which then cannot flip: whichever commits first there decides.
	if err := m.setStep(ctx, m.target, stepUndone, stepPreparing, stepCopying); err != nil {
		return err
	}
	there, err := m.target.q.LastMove(ctx, m.id)
	switch {
	case errors.Is(err, pgx.ErrNoRows): // the move was not announced there
	case err != nil:
		return err
	// It was flipped before the step could be set: the flip has won.
	case there.Step != stepUndone:
		return fault.New(fault.Conflict, "conflict",
			"the other cell serves the region since %s: finish the move, and move it back", there.FlippedAt)
	}
	// From here on the other cell cannot serve the region, so this one may take writes again.
	if err := m.setStep(ctx, m.source, stepUndone, stepPreparing, stepCopying, stepFenced); err != nil {
		return err
	}
	m.report(MoveProgress{Step: stepUndone})
	if err := m.unsubscribe(ctx); err != nil {
		return err
	}
	if err := m.deleteRows(ctx, m.target); err != nil {
		return err
	}
	return m.close(ctx, stepUndone, stepUndone)
}

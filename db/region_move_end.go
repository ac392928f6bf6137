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
	// lateWrites is how long processes here still write rows of history that they have in memory when the region is
	// flipped, such as those of tickets. The subscription copies these rows, too.
	lateWrites = 3 * time.Second
	moveBatch  = 2000 // rows that are deleted in one transaction
)

// finish completes the move after the flip: it ends the copy, and deletes the rows here.
func (m *RegionMove) finish(ctx context.Context) error {
	if err := m.eraseThere(ctx); err != nil {
		return err
	}
	if !wait.For(ctx, lateWrites) {
		return ctx.Err()
	}
	// The subscription ends first: it would delete there what is deleted here.
	if err := m.unsubscribe(ctx); err != nil {
		return err
	}
	if err := m.deleteRows(ctx, m.source); err != nil {
		return err
	}
	return m.close(ctx, stepDone, stepFlipped)
}

// eraseThere erases in the other cell the players who were erased here since the move began: of history, only inserted
// rows are replicated, and no deletions.
func (m *RegionMove) eraseThere(ctx context.Context) error {
	row, err := m.source.q.LastMove(ctx, m.id)
	if err != nil {
		return err
	}
	erasures, err := m.source.q.OpenErasuresSince(ctx, row.BegunAt)
	if err != nil {
		return err
	}
	for _, e := range erasures {
		if _, err := m.target.As(m.actor).ErasePlayer(ctx, e.Player, e.Reason); err != nil {
			return err
		}
	}
	return nil
}

// unsubscribe ends the copy on both sides. The slot must be dropped: Postgres would keep the log for it until the disk
// is full.
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
	// The order of region_tables, in which no row refers to one that is gone. Small batches hold their locks briefly.
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
			m.deletedRows = addRows(m.deletedRows, table.Name, int64(deleted))
			// Recorded for each batch: many rows take minutes, after which doctor would take the command for dead.
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

// close removes the triggers and the marks, and ends the move in both cells, from the step from with the step last. The
// source is closed second: a command that is started again finds the move there.
func (m *RegionMove) close(ctx context.Context, last, from string) error {
	dropFence := func(q *query.Queries, ctx context.Context, p query.AddMoveFenceParams) error {
		return q.DropMoveFence(ctx, query.DropMoveFenceParams(p))
	}
	for _, cell := range []*Store{m.target, m.source} {
		err := m.eachFencedTable(ctx, cell, dropFence)
		if err != nil {
			return err
		}
		if err := cell.q.DropMarks(ctx, m.id); err != nil {
			return err
		}
		if err := m.endIn(ctx, cell, last, from); err != nil {
			return err
		}
	}
	return nil
}

// endIn ends the move in one cell. An undone move is logged where the region stays, by the command that ends it there:
// other commands find it ended.
func (m *RegionMove) endIn(ctx context.Context, cell *Store, last, from string) error {
	return cell.moveTx(ctx, m.actor, func(q *query.Queries) error {
		ended, err := q.SetMoveStep(ctx, query.SetMoveStepParams{ID: m.id, Step: last, Was: []string{from}, Ends: true})
		if err != nil || ended == 0 {
			return err
		}
		if last == stepUndone && cell == m.source {
			return q.LogMove(ctx, query.LogMoveParams{ID: m.id, Kind: "region.move_undone"})
		}
		return nil
	})
}

// Undo ends a move whose region was not flipped: this cell serves it as before, and what was copied is deleted. It can
// be repeated. Errors: NotFound, where no move of the region runs; Conflict, where the other cell serves it;
// Unavailable.
func (m *RegionMove) Undo(ctx context.Context) (MoveReport, error) {
	// A move whose undo was killed has not ended: it is found here, and its steps are repeated.
	_, err := m.adoptRunning(ctx)
	if errors.Is(err, pgx.ErrNoRows) {
		return MoveReport{}, fault.New(fault.NotFound, "not_found", "no move of region %q runs", m.terms.Region)
	}
	if err != nil {
		return MoveReport{}, act.Refusal(err)
	}
	if err := m.runUndo(ctx); err != nil {
		return MoveReport{}, act.Refusal(err)
	}
	undone, err := m.source.q.LastMove(ctx, m.id)
	if err != nil {
		return MoveReport{}, act.Refusal(err)
	}
	return m.reportOf(undone), nil
}

func (m *RegionMove) runUndo(ctx context.Context) error {
	if err := m.preventFlip(ctx); err != nil {
		return err
	}
	// From here on the other cell cannot serve the region, so this one may take writes again.
	if err := m.setStep(ctx, m.source, stepUndone, stepPreparing, stepCopying, stepFenced); err != nil {
		return err
	}
	m.onProgress(MoveProgress{Step: stepUndone})
	if err := m.unsubscribe(ctx); err != nil {
		return err
	}
	if err := m.deleteRows(ctx, m.target); err != nil {
		return err
	}
	return m.close(ctx, stepUndone, stepUndone)
}

// preventFlip undoes the move in the other cell. Errors: Conflict, where the region was flipped there before.
func (m *RegionMove) preventFlip(ctx context.Context) error {
	// A flip is a commit in the same cell, so that the earlier one of the two decides.
	if err := m.setStep(ctx, m.target, stepUndone, stepPreparing, stepCopying); err != nil {
		return err
	}
	there, err := m.target.q.LastMove(ctx, m.id)
	switch {
	// The move was not announced there.
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return err
	case there.Step != stepUndone:
		return fault.New(fault.Conflict, "conflict",
			"the other cell serves the region since %s: finish the move, and move it back", there.FlippedAt)
	}
	return nil
}

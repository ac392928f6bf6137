package db

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/wait"
)

const (
	moveEvery = time.Second // between two reports of the progress, and two tries to lock a table

	// Callers wait while the rest of the log is applied behind the fence: for this much, a fraction of a second.
	caughtUpBytes = 256 << 10
)

// prepare sets up the copy: what must refuse rows first, then what sends and receives them.
func (m *RegionMove) prepare(ctx context.Context) error {
	// The row of a move that runs does not say how the other cell is to list this one: completeTerms asks that cell.
	if err := m.completeTerms(ctx); err != nil {
		return err
	}
	if err := m.announce(ctx); err != nil {
		return err
	}
	// The other cell comes first, since it must refuse writes of the region from the start. Its triggers do not fire
	// for rows that Postgres replicates.
	for _, cell := range []*Store{m.target, m.source} {
		if err := m.eachFencedTable(ctx, cell, (*query.Queries).AddMoveFence); err != nil {
			return err
		}
	}
	if err := m.publish(ctx); err != nil {
		return err
	}
	err := m.target.moveTx(ctx, m.actor, func(q *query.Queries) error {
		// Where Postgres logs all statements, its log would have the password of the connection string.
		if err := q.HideStatements(ctx); err != nil {
			return err
		}
		return q.SubscribeRegion(ctx, query.SubscribeRegionParams{ID: m.id, Connection: m.terms.Connection})
	})
	if err != nil {
		return err
	}
	// The source comes last: a command that is started again continues from the step there.
	for _, cell := range []*Store{m.target, m.source} {
		if err := m.setStep(ctx, cell, stepCopying, stepPreparing); err != nil {
			return err
		}
	}
	return nil
}

// announce begins the move in the other cell, which from then on refuses the region, and sends its callers here. It
// does nothing where a command that was killed has announced the move.
func (m *RegionMove) announce(ctx context.Context) error {
	running, err := m.target.q.RunningMove(ctx, m.terms.Region)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return m.beginThere(ctx)
	case err != nil:
		return err
	case running.ID != m.id:
		return fault.New(fault.Conflict, "conflict", "another move of region %q runs in the other cell", m.terms.Region)
	}
	return nil
}

func (m *RegionMove) beginThere(ctx context.Context) error {
	return m.target.moveTx(ctx, m.actor, func(q *query.Queries) error {
		if err := q.BeginMove(ctx, query.BeginMoveParams{ID: m.id, Region: m.terms.Region, Direction: directionArrives,
			Cell: m.terms.Here, Address: m.terms.HereAddress, Reason: m.terms.Reason}); err != nil {
			return err
		}
		return q.NameCellOf(ctx, query.NameCellOfParams{Region: m.terms.Region, Cell: m.terms.Here,
			Address: m.terms.HereAddress})
	})
}

// publish publishes the tables, and then keeps the log: a slot that is older than a publication cannot decode for it.
func (m *RegionMove) publish(ctx context.Context) error {
	if err := m.source.moveTx(ctx, m.actor, func(q *query.Queries) error {
		return q.PublishRegion(ctx, query.PublishRegionParams{ID: m.id, Region: m.terms.Region})
	}); err != nil {
		return err
	}
	return m.source.q.CreateMoveSlot(ctx, m.id)
}

// eachFencedTable changes the triggers of one table after the other. Writers queue behind such a change while it waits
// for its lock, so that each try waits only for the lock timeout.
func (m *RegionMove) eachFencedTable(ctx context.Context, cell *Store,
	change func(*query.Queries, context.Context, query.AddMoveFenceParams) error) error {
	for _, table := range m.tables {
		// History is not fenced, since processes write it with a delay: see lateWrites.
		if !table.Fenced {
			continue
		}
		for {
			err := cell.moveTx(ctx, m.actor, func(q *query.Queries) error {
				return change(q, ctx, query.AddMoveFenceParams{TableName: table.Name, Region: m.terms.Region})
			})
			if err == nil {
				break
			}
			// A writer held the table, or a deadlock ended the transaction: the next try may succeed.
			if !frame.IsLockTimeout(err) && !frame.IsConflict(err) {
				return err
			}
			if !wait.For(ctx, moveEvery) {
				return err
			}
		}
	}
	return nil
}

// setStep advances the move in a cell from one of the steps in from. It is no error where the move was advanced before.
func (m *RegionMove) setStep(ctx context.Context, cell *Store, step string, from ...string) error {
	_, err := cell.q.SetMoveStep(ctx, query.SetMoveStepParams{ID: m.id, Step: step, Was: from})
	return err
}

// catchUp waits until all tables are copied and little of the log is left, and fences the region.
func (m *RegionMove) catchUp(ctx context.Context) error {
	for {
		p, err := m.readProgress(ctx)
		if err != nil {
			return err
		}
		if err := m.reportProgress(ctx, p); err != nil {
			return err
		}
		// No tables are listed until the subscription has begun.
		if p.Copied == p.Tables && p.Tables > 0 && p.Behind <= caughtUpBytes {
			break
		}
		if !wait.For(ctx, moveEvery) {
			return ctx.Err()
		}
	}
	// Most answers are copied before the fence, behind which callers have to wait for the others.
	if err := m.copyAnswers(ctx); err != nil {
		return err
	}
	return m.fence(ctx)
}

func (m *RegionMove) readProgress(ctx context.Context) (MoveProgress, error) {
	copied, err := m.target.q.CopiedTables(ctx, m.id)
	if err != nil {
		return MoveProgress{}, err
	}
	behind, err := m.source.q.MoveLag(ctx, m.id)
	return MoveProgress{Step: stepCopying, Tables: int(copied.Tables), Copied: int(copied.Copied), Behind: behind,
		Failures: copied.Failures}, err
}

// reportProgress shows the progress, and writes it into both cells for their operators.
func (m *RegionMove) reportProgress(ctx context.Context, p MoveProgress) error {
	m.onProgress(p)
	row := query.ReportMoveParams{ID: m.id, Tables: int32(p.Tables), CopiedTables: int32(p.Copied),
		BehindBytes: p.Behind, Failures: p.Failures}
	for _, cell := range []*Store{m.target, m.source} {
		if err := cell.q.ReportMove(ctx, row); err != nil {
			return err
		}
	}
	return nil
}

package db

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/act"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// How does a region move? Each cell has a row of region_moves, whose step says what has been done; each step can be
// repeated. Steps are in region_move_copy.go, region_move_flip.go and region_move_end.go:
//
//	preparing  Triggers are added that will refuse the region's rows, in the other cell from the start. The region's
//	           tables are published, a slot keeps the log, the other cell subscribes.
//	copying    Postgres copies the rows and follows the log. What is left of it becomes small.
//	fenced     This cell refuses writes of the region; region_hold.go holds their calls for a moment. The mark that the
//	           fence left in the log arrives in the other cell, and with it all that was before it.
//	flipped    The other cell serves the region, and a moment later this one sends callers there. The first of the two
//	           commits decides: a move whose region was not flipped there can be undone.
//	done       The subscription, the slot and the rows here are gone.
//
// No clock and no connection decides who may flip or lift a fence: a fence has a number, the flip needs its mark, and
// lifting it first makes the other cell refuse that number.

// MoveTerms say which region moves, and how the two cells know each other.
type MoveTerms struct {
	Region string
	// Cell is the name of the cell to which it moves, and Address the base URL of its API; "": as this cell lists it.
	Cell, Address string
	// Here is the name of this cell in the other one, and HereAddress the base URL of its API; "": as that one lists
	// the cell of the region.
	Here, HereAddress string
	// Connection is a connection string of libpq, with which the Postgres of the other cell reaches that of this one.
	// It may have a password: it is in no log and no table of ours, and Postgres shows it to superusers alone.
	Connection string
	Reason     string // for the events, 1 to 500 characters
	// OtherCells send callers of the region to its cell.
	OtherCells []*Store
}

// MoveProgress is how far a move is.
type MoveProgress struct {
	Step     string
	Tables   int   // to be copied
	Copied   int   // of Tables, those whose copy is complete and follows the log
	Behind   int64 // bytes of the log that the other cell has not confirmed
	Failures int64 // of the other cell's Postgres to apply a change; its log says why
}

// RegionMove moves a region between two cells. Make one with [NewRegionMove]. One goroutine uses it; any number of
// processes may work on one move.
type RegionMove struct {
	source, target *Store
	terms          MoveTerms
	actor          string
	onProgress     func(MoveProgress)

	id             uuid.UUID // of the move that runs
	tables         []query.MovingTablesRow
	lastCopied     query.IdempotencyKey // the last stored answer that was copied
	liftedFences   int                  // by this run of the command
	deletedRows    []RowsOfTable        // by this run of the command
	unreachedCells int                  // further cells that did not answer
}

// NewRegionMove returns a move from the cell of a store to that of another one, in the name of a person as in
// [Store.As]. onProgress is called with the progress, about once a second.
func NewRegionMove(source, target *Store, actor string, terms MoveTerms, onProgress func(MoveProgress)) *RegionMove {
	return &RegionMove{source: source, target: target, terms: terms, actor: actor, onProgress: onProgress}
}

// RowsOfTable is how many rows of a region a table has.
type RowsOfTable struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

// MoveReport is what became of a move.
type MoveReport struct {
	Move      uuid.UUID     `json:"move"`
	Region    string        `json:"region"`
	Cell      string        `json:"cell"`
	Address   string        `json:"address"`
	Step      string        `json:"step"` // done, or undone
	Begun     time.Time     `json:"begun"`
	RefusedMS int64         `json:"refused_ms"` // for how long neither cell took writes of the region
	Deleted   []RowsOfTable `json:"deleted"`    // in the cell that does not serve it, by this run of the command
	// UnreachedCells is how many of the further cells did not answer: an operator has to set the cell of the region
	// there.
	UnreachedCells int `json:"untold"`
}

// Run moves the region, or continues the move of it that runs. If ctx ends or a cell is unreachable for long, it
// stops where it is: run it again, or [RegionMove.Undo]. Errors: Conflict, for obstacles; Invalid; Unavailable.
func (m *RegionMove) Run(ctx context.Context) (MoveReport, error) {
	done, err := m.runSteps(ctx)
	if err != nil {
		return MoveReport{}, act.Refusal(err)
	}
	return m.reportOf(done), nil
}

// runSteps runs the steps from that of the move on, and returns the move that is done.
func (m *RegionMove) runSteps(ctx context.Context) (query.LastMoveRow, error) {
	steps := map[string]func(context.Context) error{
		stepPreparing: m.prepare, stepCopying: m.catchUp, stepFenced: m.flip, stepFlipped: m.finish,
	}
	running, err := m.begin(ctx)
	if err != nil {
		return running, err
	}
	for steps[running.Step] != nil {
		if err := m.beginStep(ctx, running.Step); err != nil {
			return running, err
		}
		if err := steps[running.Step](ctx); err != nil {
			return running, err
		}
		// Read again after each step, since another process may work on the same move.
		if running, err = m.source.q.LastMove(ctx, m.id); err != nil {
			return running, err
		}
	}
	if running.Step == stepUndone {
		return running, m.undoneError()
	}
	return running, nil
}

// undoneError is the error of a command that finds its move undone by another one.
func (m *RegionMove) undoneError() error {
	return fault.New(fault.Conflict, "conflict", "the move of region %q is being undone: finish that first",
		m.terms.Region)
}

const (
	stepPreparing = "preparing"
	stepCopying   = "copying"
	stepFenced    = "fenced"
	stepFlipped   = "flipped"
	stepDone      = "done"
	stepUndone    = "undone"
)

// The directions of a move, as the row of each of the two cells has it.
const (
	directionLeaves  = "leaves"
	directionArrives = "arrives"
)

// begin returns the move that runs, and begins one if none does.
func (m *RegionMove) begin(ctx context.Context) (query.LastMoveRow, error) {
	running, err := m.adoptRunning(ctx)
	if !errors.Is(err, pgx.ErrNoRows) {
		return running, err
	}
	// Not asked of a running move, whose copied rows would be obstacles.
	plan, err := m.Plan(ctx)
	if err != nil {
		return query.LastMoveRow{}, err
	}
	if len(plan.Obstacles) > 0 {
		return query.LastMoveRow{}, fault.New(fault.Conflict, "conflict", "%s", plan.Obstacles[0])
	}
	m.id = uuid.New()
	err = m.source.moveTx(ctx, m.actor, func(q *query.Queries) error {
		if err := q.BeginMove(ctx, query.BeginMoveParams{ID: m.id, Region: m.terms.Region, Direction: directionLeaves,
			Cell: m.terms.Cell, Address: m.terms.Address, Reason: m.terms.Reason}); err != nil {
			return err
		}
		return q.LogMove(ctx, query.LogMoveParams{ID: m.id, Kind: "region.moving"})
	})
	if err != nil {
		return query.LastMoveRow{}, err
	}
	// Reads the row of the new move, and the tables that move.
	return m.adoptRunning(ctx)
}

// adoptRunning finds the move of the region that has begun and not ended, and takes over its id and the cell to which
// it moves, whatever this command was given. It reads the tables that move. Errors: pgx.ErrNoRows; Conflict, where the
// region is about to arrive here, or moves to another cell than the terms name.
func (m *RegionMove) adoptRunning(ctx context.Context) (query.LastMoveRow, error) {
	found, err := m.source.q.RunningMove(ctx, m.terms.Region)
	if err != nil {
		return query.LastMoveRow{}, err
	}
	if found.Direction != directionLeaves {
		return query.LastMoveRow{}, fault.New(fault.Conflict, "conflict",
			"region %q arrives here from cell %q: continue that move there", found.Region, found.Cell)
	}
	if m.terms.Cell != "" && m.terms.Cell != found.Cell {
		return query.LastMoveRow{}, fault.New(fault.Conflict, "conflict",
			"region %q moves to cell %q: finish or undo that first", found.Region, found.Cell)
	}
	m.id, m.terms.Cell, m.terms.Address = found.ID, found.Cell, found.Address
	m.tables, err = m.source.q.MovingTables(ctx)
	return query.LastMoveRow(found), err
}

// beginStep shows the step, and records for doctor that a command works on the move.
func (m *RegionMove) beginStep(ctx context.Context, step string) error {
	m.onProgress(MoveProgress{Step: step})
	return m.source.q.DriveMove(ctx, m.id)
}

func (m *RegionMove) reportOf(row query.LastMoveRow) MoveReport {
	r := MoveReport{Move: row.ID, Region: row.Region, Cell: row.Cell, Address: row.Address, Step: row.Step,
		Begun: row.BegunAt, Deleted: append([]RowsOfTable{}, m.deletedRows...),
		UnreachedCells: m.unreachedCells}
	if row.FencedAt != nil && row.FlippedAt != nil {
		r.RefusedMS = row.FlippedAt.Sub(*row.FencedAt).Milliseconds()
	}
	return r
}

// moveTx runs a transaction of a move in the name of a person.
func (s *Store) moveTx(ctx context.Context, actor string, fn func(q *query.Queries) error) error {
	return s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		if err := q.SetActor(ctx, actor); err != nil {
			return err
		}
		return fn(q)
	})
}

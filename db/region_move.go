package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/act"
	"github.com/lattice-director/director/db/internal/frame"
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
	Tables   int   // that are copied
	Copied   int   // those that are copied and followed
	Behind   int64 // bytes of the log that the other cell has not confirmed
	Failures int64 // of the other cell's Postgres to apply a change; its log says why
}

// RegionMove moves a region between two cells. Make one with [NewRegionMove]. One goroutine uses it; any number of
// processes may work on one move.
type RegionMove struct {
	source, target *Store
	terms          MoveTerms
	actor          string
	report         func(MoveProgress)

	id        uuid.UUID // of the move that runs
	tables    []query.MovingTablesRow
	copied    query.IdempotencyKey // the last stored answer that was copied
	lifted    int                  // fences that were lifted
	deleted   []RowsOfTable
	unreached int // further cells that did not answer
}

// NewRegionMove returns a move from the cell of a store to that of another one, in the name of a person as in
// [Store.As]. report gets the progress, about once a second.
func NewRegionMove(source, target *Store, actor string, terms MoveTerms, report func(MoveProgress)) *RegionMove {
	return &RegionMove{source: source, target: target, terms: terms, actor: actor, report: report}
}

// RowsOfTable is how many rows of a region a table has.
type RowsOfTable struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

// MovePlan is what a move would do.
type MovePlan struct {
	Region    string        `json:"region"`
	Cell      string        `json:"cell"`
	Address   string        `json:"address"`
	Rows      []RowsOfTable `json:"rows"`      // of tables that have some
	Obstacles []string      `json:"obstacles"` // sentences; none: it can begin
}

// Plan returns what would move, and what stands in the way. It changes nothing. Errors: Invalid, for terms that name a
// cell which nobody knows; Conflict, where the two stores are of one database; Unavailable.
func (m *RegionMove) Plan(ctx context.Context) (MovePlan, error) {
	if err := m.completeTerms(ctx); err != nil {
		return MovePlan{}, err
	}
	plan := MovePlan{Region: m.terms.Region, Cell: m.terms.Cell, Address: m.terms.Address, Rows: []RowsOfTable{},
		Obstacles: []string{}}
	const enoughForPlan = 1 << 40 // no limit: people want to know all rows
	counts, err := m.source.q.CountRegionRows(ctx,
		query.CountRegionRowsParams{Region: m.terms.Region, Most: enoughForPlan})
	if err != nil {
		return MovePlan{}, frame.Classify(err)
	}
	for _, c := range counts {
		if c.Rows > 0 {
			plan.Rows = append(plan.Rows, RowsOfTable{Table: c.Name, Rows: c.Rows})
		}
	}
	obstacles, err := m.obstacles(ctx)
	plan.Obstacles = append(plan.Obstacles, obstacles...)
	return plan, err
}

// obstacles returns what stands in the way of a move that has not begun.
func (m *RegionMove) obstacles(ctx context.Context) (all []string, err error) {
	here, err := m.source.SchemaVersion(ctx)
	if err != nil {
		return nil, err
	}
	there, err := m.target.SchemaVersion(ctx)
	if err != nil {
		return nil, err
	}
	if here != there {
		// Without the same tables, nothing else can be compared.
		return []string{fmt.Sprintf("the schema of this cell has version %d, that of the other one %d: upgrade both",
			here, there)}, nil
	}
	all, err = m.source.q.MoveObstacles(ctx, m.terms.Region)
	if err != nil {
		return nil, frame.Classify(err)
	}
	unprepared, err := m.source.q.SourceObstacles(ctx)
	if err != nil {
		return nil, frame.Classify(err)
	}
	inTarget, err := m.targetObstacles(ctx)
	return slices.Concat(all, unprepared, inTarget), frame.Classify(err)
}

func (m *RegionMove) targetObstacles(ctx context.Context) ([]string, error) {
	instances, err := m.source.q.InstancesOfRegion(ctx, m.terms.Region)
	if err != nil {
		return nil, err
	}
	keys, err := m.source.q.CredentialKeysOfRegion(ctx, m.terms.Region)
	if err != nil {
		return nil, err
	}
	return m.target.q.TargetObstacles(ctx,
		query.TargetObstaclesParams{Region: m.terms.Region, Instances: instances, SealedBy: keys})
}

// completeTerms fills in the names and addresses that the cells know, and refuses terms that are not complete.
func (m *RegionMove) completeTerms(ctx context.Context) error {
	t := &m.terms
	if err := completeCell(ctx, m.source, "", &t.Cell, &t.Address); err != nil {
		return err
	}
	if err := completeCell(ctx, m.target, t.Region, &t.Here, &t.HereAddress); err != nil {
		return err
	}
	switch {
	case t.Cell == "" || t.Address == "":
		return invalidMove("cell", "name the cell to which the region moves, and its address: this cell lists none of that name")
	case t.Here == "" || t.HereAddress == "":
		return invalidMove("here", "name this cell and its address, as the other one is to list it: that one lists no cell for the region")
	}
	return nil
}

func completeCell(ctx context.Context, s *Store, region string, name, address *string) error {
	known, err := s.q.KnownCell(ctx, query.KnownCellParams{Cell: *name, Region: region})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return frame.Classify(err)
	}
	if *name == "" {
		*name = known.Cell
	}
	if *address == "" && *name == known.Cell {
		*address = known.Address
	}
	return nil
}

func invalidMove(field, format string, args ...any) error {
	e := fault.New(fault.Invalid, "invalid", format, args...)
	e.Field = field
	return e
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
	// UnreachedCells is how many of the further cells did not answer: set the cell of the region there.
	UnreachedCells int `json:"untold"`
}

// Run moves the region, or continues the move of it that runs. If ctx ends or a cell is unreachable for long, it
// stops where it is: run it again, or [RegionMove.Undo]. Errors: Conflict, for obstacles; Invalid; Unavailable.
func (m *RegionMove) Run(ctx context.Context) (MoveReport, error) {
	steps := map[string]func(context.Context) error{
		stepPreparing: m.prepare, stepCopying: m.catchUp, stepFenced: m.flip, stepFlipped: m.finish,
	}
	running, err := m.begin(ctx)
	// Read again after each step: another process may work on the same move.
	for err == nil && steps[running.Step] != nil {
		if err = m.drive(ctx, running); err == nil {
			err = steps[running.Step](ctx)
		}
		if err == nil {
			running, err = m.source.q.LastMove(ctx, m.id)
		}
	}
	if err == nil && running.Step == stepUndone {
		err = fault.New(fault.Conflict, "conflict", "the move of region %q is being undone: finish that first",
			m.terms.Region)
	}
	if err != nil {
		return MoveReport{}, act.Refusal(err)
	}
	return m.reportOf(running), nil
}

const (
	stepPreparing = "preparing"
	stepCopying   = "copying"
	stepFenced    = "fenced"
	stepFlipped   = "flipped"
	stepDone      = "done"
	stepUndone    = "undone"
)

// begin returns the move that runs, and begins one if none does.
func (m *RegionMove) begin(ctx context.Context) (query.LastMoveRow, error) {
	running, err := m.adoptRunning(ctx)
	if !errors.Is(err, pgx.ErrNoRows) {
		return running, err
	}
	// Only of a move that has not begun: the rows that a running one has copied would be obstacles.
	plan, err := m.Plan(ctx)
	if err != nil {
		return query.LastMoveRow{}, err
	}
	if len(plan.Obstacles) > 0 {
		return query.LastMoveRow{}, fault.New(fault.Conflict, "conflict", "%s", plan.Obstacles[0])
	}
	m.id = uuid.New()
	err = m.source.moveTx(ctx, m.actor, func(q *query.Queries) error {
		if err := q.BeginMove(ctx, query.BeginMoveParams{ID: m.id, Region: m.terms.Region, Direction: "leaves",
			Cell: m.terms.Cell, Address: m.terms.Address, Reason: m.terms.Reason}); err != nil {
			return err
		}
		return q.LogMove(ctx, query.LogMoveParams{ID: m.id, Kind: "region.moving"})
	})
	if err != nil {
		return query.LastMoveRow{}, err
	}
	// Which also reads the tables that move.
	return m.adoptRunning(ctx)
}

// adoptRunning finds the move of the region that has begun and not ended, and continues it by the terms with which it
// began. Errors: pgx.ErrNoRows; Conflict, where the
// region is about to arrive here.
func (m *RegionMove) adoptRunning(ctx context.Context) (query.LastMoveRow, error) {
	found, err := m.source.q.RunningMove(ctx, m.terms.Region)
	if err != nil {
		return query.LastMoveRow{}, err
	}
	if found.Direction != "leaves" {
		return query.LastMoveRow{}, fault.New(fault.Conflict, "conflict",
			"region %q arrives here from cell %q: continue that move there", found.Region, found.Cell)
	}
	if m.terms.Cell != "" && m.terms.Cell != found.Cell {
		return query.LastMoveRow{}, fault.New(fault.Conflict, "conflict",
			"region %q moves to cell %q: finish or undo that first", found.Region, found.Cell)
	}
	// The terms with which the move began, whatever this command was given.
	m.id, m.terms.Cell, m.terms.Address = found.ID, found.Cell, found.Address
	m.tables, err = m.source.q.MovingTables(ctx)
	return query.LastMoveRow(found), err
}

// drive records that a command works on the move, for doctor.
func (m *RegionMove) drive(ctx context.Context, running query.LastMoveRow) error {
	m.report(MoveProgress{Step: running.Step})
	return m.source.q.DriveMove(ctx, m.id)
}

func (m *RegionMove) reportOf(row query.LastMoveRow) MoveReport {
	r := MoveReport{Move: row.ID, Region: row.Region, Cell: row.Cell, Address: row.Address, Step: row.Step,
		Begun: row.BegunAt, Deleted: append([]RowsOfTable{}, m.deleted...),
		UnreachedCells: m.unreached}
	if row.FencedAt != nil && row.FlippedAt != nil {
		r.RefusedMS = row.FlippedAt.Sub(*row.FencedAt).Milliseconds()
	}
	return r
}

// moveTx runs fn in the name of a person.
func (s *Store) moveTx(ctx context.Context, actor string, fn func(q *query.Queries) error) error {
	return s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		if err := q.SetActor(ctx, actor); err != nil {
			return err
		}
		return fn(q)
	})
}

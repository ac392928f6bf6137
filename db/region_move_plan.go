package db

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// MovePlan is what a move would do.
type MovePlan struct {
	Region    string        `json:"region"`
	Cell      string        `json:"cell"`
	Address   string        `json:"address"`
	Rows      []RowsOfTable `json:"rows"`      // of tables that have some
	Obstacles []string      `json:"obstacles"` // sentences; none: it can begin
}

// Plan returns what would move, and what stands in the way. It changes neither cell; it fills in the terms. Errors:
// Invalid, for terms that name a cell which nobody knows; Unavailable.
func (m *RegionMove) Plan(ctx context.Context) (MovePlan, error) {
	if err := m.completeTerms(ctx); err != nil {
		return MovePlan{}, err
	}
	plan := MovePlan{Region: m.terms.Region, Cell: m.terms.Cell, Address: m.terms.Address, Rows: []RowsOfTable{},
		Obstacles: []string{}}
	const noLimit = 1 << 40 // rows of a table: people want to know all
	counts, err := m.source.q.CountRegionRows(ctx,
		query.CountRegionRowsParams{Region: m.terms.Region, Most: noLimit})
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
func (m *RegionMove) obstacles(ctx context.Context) ([]string, error) {
	here, err := m.source.SchemaVersion(ctx)
	if err != nil {
		return nil, err
	}
	there, err := m.target.SchemaVersion(ctx)
	if err != nil {
		return nil, err
	}
	// Cells with different tables cannot be compared any further.
	if here != there {
		return []string{fmt.Sprintf("the schema of this cell has version %d, that of the other one %d: upgrade both",
			here, there)}, nil
	}
	inRegion, err := m.source.q.MoveObstacles(ctx, m.terms.Region)
	if err != nil {
		return nil, frame.Classify(err)
	}
	inSource, err := m.source.q.SourceObstacles(ctx)
	if err != nil {
		return nil, frame.Classify(err)
	}
	inTarget, err := m.targetObstacles(ctx)
	return slices.Concat(inRegion, inSource, inTarget), frame.Classify(err)
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
		return invalidMove("cell", "name the cell to which the region moves, and its address: "+
			"this cell lists none of that name")
	case t.Here == "" || t.HereAddress == "":
		return invalidMove("here", "name this cell and its address, as the other one is to list it: "+
			"that one lists no cell for the region")
	}
	return nil
}

// completeCell fills in the name and the address of a cell by the list of the store's cell: of the cell with that name,
// else of the one to which the region belongs there. What the list does not know stays as it is.
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

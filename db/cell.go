package db

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// cellsByRegion has the cells that serve regions, without this cell, by region. It is never changed after it was read.
type cellsByRegion map[string]*fault.Cell

// ReadCells renews what CheckHere knows: which regions other cells serve. A replica calls it before it is ready, and
// then every two seconds. Errors: Unavailable; CheckHere then knows what it knew before.
func (s *Store) ReadCells(ctx context.Context) error {
	cells, err := s.readOtherCells(ctx)
	if err != nil {
		return err
	}
	// Usually there is one cell, and each CheckHere pays only for reading a nil pointer.
	if len(cells) == 0 {
		s.otherCells.Store(nil)
		return nil
	}
	// Replaced as a whole: readers hold no lock, and what they have read stays as it was.
	s.otherCells.Store(&cells)
	return nil
}

// readOtherCells reads which regions other cells serve. Errors: Unavailable.
func (s *Store) readOtherCells(ctx context.Context) (cellsByRegion, error) {
	rows, err := s.q.RegionsElsewhere(ctx)
	if err != nil {
		return nil, frame.Classify(err)
	}
	cells := make(cellsByRegion, len(rows))
	for _, r := range rows {
		cell := &fault.Cell{Name: r.Cell, Region: r.Region, Addresses: map[string]string{}}
		if err := json.Unmarshal(r.Listeners, &cell.Addresses); err != nil {
			return nil, fmt.Errorf("listeners of cell %s: %w", r.Cell, err)
		}
		cell.Addresses[fault.ListenerAPI] = r.Address
		cells[r.Region] = cell
	}
	return cells, nil
}

// CheckHere refuses a region that another cell serves, as of the last [Store.ReadCells]. It sends no query. Where no
// cells are set, and in processes that never read them, every region is here. Errors: Elsewhere.
func (s *Store) CheckHere(region string) error {
	cells := s.otherCells.Load()
	if cells == nil {
		return nil
	}
	if cell := (*cells)[region]; cell != nil {
		return fault.NewElsewhere(cell)
	}
	return nil
}

// GameRegion is a region that clients may measure, or that another cell serves.
type GameRegion struct {
	Region  string
	Address string // of the API of its cell; "": this cell serves the region
	Beacon  string // the URL at which clients measure their latency; "": none
}

// GameRegions returns the regions that clients may measure or that other cells serve, sorted; there are at most 512.
// Errors: Unavailable.
func (s *Store) GameRegions(ctx context.Context) ([]GameRegion, error) {
	rows, err := s.q.GameRegions(ctx)
	if err != nil {
		return nil, frame.Classify(err)
	}
	regions := make([]GameRegion, len(rows))
	for i, r := range rows {
		regions[i] = GameRegion(r)
	}
	return regions, nil
}

// OtherCell is another cell, to be set by [Act.SetCell].
type OtherCell struct {
	Name          string
	APIAddress    string // a base URL of http or https
	ServedRegions []string
	Listeners     map[string]string // addresses of its other listeners, by name
	// EvenIfUsed also gives away a region that has game servers, tickets or sessions of the lobby here, which are lost.
	EvenIfUsed bool
}

// SetCell says which regions another cell serves. Errors: Invalid; Conflict, for a region that is used here;
// Unavailable.
func (a Act) SetCell(ctx context.Context, c OtherCell) (changed bool, err error) {
	// JSON's null is no object of listeners.
	if c.Listeners == nil {
		c.Listeners = map[string]string{}
	}
	listeners, err := json.Marshal(c.Listeners)
	if err != nil {
		return false, err
	}
	return callAct(ctx, a, (*query.Queries).OpsSetCell, query.OpsSetCellParams{Cell: c.Name, Address: c.APIAddress,
		Regions: c.ServedRegions, Reason: a.reason, Listeners: listeners, EvenIfUsed: c.EvenIfUsed})
}

// RemoveCell deletes another cell: its regions are served here from then on. changed is false if there is no such cell.
// Errors: Invalid, Unavailable.
func (a Act) RemoveCell(ctx context.Context, name string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsRemoveCell, query.OpsRemoveCellParams{Cell: name, Reason: a.reason})
}

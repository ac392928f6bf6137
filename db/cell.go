package db

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// elsewhere has the cells that serve other regions, by region. It is never changed; nil: this cell serves every region.
type elsewhere map[string]*fault.Cell

// ReadCells reads which regions other cells serve. A replica calls it before it is ready, and then every two seconds.
// Errors: Unavailable; the last reading stays.
func (s *Store) ReadCells(ctx context.Context) error {
	read, err := s.readElsewhere(ctx)
	if err != nil {
		return err
	}
	// Usually there is one cell, and each call pays only for reading a nil pointer.
	if len(read) == 0 {
		s.otherCells.Store(nil)
		return nil
	}
	// Replaced as a whole: readers hold no lock, and what they have read stays as it was.
	s.otherCells.Store(&read)
	return nil
}

// readElsewhere reads which regions other cells serve. Errors: Unavailable.
func (s *Store) readElsewhere(ctx context.Context) (elsewhere, error) {
	rows, err := s.q.RegionsElsewhere(ctx)
	if err != nil {
		return nil, frame.Classify(err)
	}
	read := make(elsewhere, len(rows))
	for _, r := range rows {
		cell := &fault.Cell{Name: r.Cell, Region: r.Region, Addresses: map[string]string{}}
		if err := json.Unmarshal(r.Listeners, &cell.Addresses); err != nil {
			return nil, fmt.Errorf("listeners of cell %s: %w", r.Cell, err)
		}
		cell.Addresses[fault.ListenerAPI] = r.Address
		read[r.Region] = cell
	}
	return read, nil
}

// CheckHere refuses a region that another cell serves, as of the last [Store.ReadCells]. It sends no query. Where no
// cells are set, and in processes that never read them, every region is here. Errors: Elsewhere.
func (s *Store) CheckHere(region string) error {
	read := s.otherCells.Load()
	if read == nil {
		return nil
	}
	if cell := (*read)[region]; cell != nil {
		return fault.NewElsewhere(cell)
	}
	return nil
}

// GameRegion is a region that clients may measure, or that another cell serves.
type GameRegion struct {
	Region  string
	Address string // of the API of its cell; "": this one
	Beacon  string // the URL at which clients measure their latency; "": none
}

// GameRegions returns those regions, sorted; there are at most 512. Errors: Unavailable.
func (s *Store) GameRegions(ctx context.Context) ([]GameRegion, error) {
	rows, err := s.q.GameRegions(ctx)
	regions := make([]GameRegion, len(rows))
	for i, r := range rows {
		regions[i] = GameRegion(r)
	}
	return regions, frame.Classify(err)
}

// OtherCell is another cell, to be set by [Act.SetCell].
type OtherCell struct {
	Name          string
	APIAddress    string            // of its API, a base URL of http or https
	ServedRegions []string          // that it serves
	Listeners     map[string]string // addresses of its other listeners, by name
}

// SetCell says which regions another cell serves. evenIfUsed also gives away a region that has game servers, tickets
// or sessions of the lobby here, which are lost. Errors: Invalid; Conflict, for such a region; Unavailable.
func (a Act) SetCell(ctx context.Context, c OtherCell, evenIfUsed bool) (changed bool, err error) {
	listeners, err := json.Marshal(c.Listeners)
	if err != nil {
		return false, err
	}
	if c.Listeners == nil {
		listeners = []byte("{}")
	}
	return callAct(ctx, a, (*query.Queries).OpsSetCell, query.OpsSetCellParams{Cell: c.Name, Address: c.APIAddress,
		Regions: c.ServedRegions, Reason: a.reason, Listeners: listeners, EvenIfUsed: evenIfUsed})
}

// RemoveCell forgets another cell: its regions are served here from then on. changed is false where there was none.
// Errors: Invalid, Unavailable.
func (a Act) RemoveCell(ctx context.Context, name string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsRemoveCell, query.OpsRemoveCellParams{Cell: name, Reason: a.reason})
}

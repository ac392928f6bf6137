package console

import (
	"context"

	"github.com/lattice-director/director/db"
)

// Store is the part of db.Store that the console calls.
type Store interface {
	ConsoleHealth(ctx context.Context) (db.HealthView, error)
	ConsoleKeys(ctx context.Context, size db.ConsolePage) (db.KeysView, error)
	ConsoleFleet(ctx context.Context, f db.FleetFilter) (fleet []db.ConsoleInstance, more bool, err error)
	ConsoleFleetCounts(ctx context.Context) ([]db.FleetCount, error)
	ConsoleNames(ctx context.Context) (regions, modes []string, err error)
	ConsoleInstance(ctx context.Context, id string) (db.ConsoleInstance, error)

	// As returns what a person may change, whom events name.
	As(actor string) db.Act
}

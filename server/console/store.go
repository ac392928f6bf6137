package console

import (
	"context"

	"github.com/google/uuid"

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
	ConsoleSessionsOfInstance(ctx context.Context, region, instance string, after uuid.UUID, size db.ConsolePage) (sessions []db.ConsoleSession, more bool, err error)
	ConsoleSession(ctx context.Context, id string) (db.SessionView, error)
	ConsoleEvents(ctx context.Context, before db.EventCursor, f db.EventFilter) (db.EventPage, error)
	ConsolePlayer(ctx context.Context, f db.PlayerFilter) (db.PlayerView, error)
	ConsoleTicketSteps(ctx context.Context, universe, ticket string) ([]db.TicketStep, error)
	ConsoleCapacity(ctx context.Context, f db.CapacityFilter) (capacity []db.ConsoleCapacity, more bool, err error)
	ConsoleDemand(ctx context.Context) ([]db.ConsoleDemand, error)

	// As returns what a person may change, whom events name.
	As(actor string) db.Act
}

package console

import (
	"context"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
)

// Store is the part of db.Store that the console calls.
type Store interface {
	// ReadOps runs a function that reads views of schema ops, in a read-only transaction of bounded length.
	ReadOps(ctx context.Context, read func(context.Context, opsview.Querier) error) error

	Sums
	PastReads

	EventsUntil(ctx context.Context, until time.Time) (opsview.EventCursor, error)
	PreviewEvacuation(ctx context.Context, t db.EvacuationTarget) (db.EvacuationPreview, error)
	ReadLobby(ctx context.Context, project, room string) (db.LobbyDetails, error)

	ExportPlayer(ctx context.Context, player string) (db.PlayerExport, error)

	// As returns the functions that change something in the name of a person, whom events name.
	As(actor string) db.Act

	EndLogin(ctx context.Context, login []byte, until time.Time) error
	LoginHasEnded(ctx context.Context, login []byte) (bool, error)
}

// Sums are what pages show of many rows together.
type Sums interface {
	FleetCounts(ctx context.Context) ([]db.FleetCount, error)
	FleetModes(ctx context.Context) ([]string, error)
	DeploymentOutcomes(ctx context.Context) ([]db.DeploymentOutcome, error)
	MinuteSamples(ctx context.Context, region string, minutes int, measures ...string) ([]db.MinuteSample, error)
	RequestsByMinute(ctx context.Context, minutes int) ([]db.RequestMinute, error)
	RequestsByRoute(ctx context.Context, minutes int) ([]db.RouteCount, error)
}

// PastReads read what was true at a time.
type PastReads interface {
	FleetAt(ctx context.Context, a db.AsOf) ([]db.InstanceAt, error)
	SessionsAt(ctx context.Context, a db.AsOf) ([]db.SessionAt, error)
	SeatsAt(ctx context.Context, a db.AsOf) ([]db.SeatAt, error)
	KeysAt(ctx context.Context, a db.AsOf) ([]db.KeyAt, error)
	HistoryStarts(ctx context.Context) (map[string]time.Time, error)
}

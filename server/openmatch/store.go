package openmatch

import (
	"context"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/watch"
	"github.com/lattice-director/director/internal/openmatch/cycle"
	"github.com/lattice-director/director/match"
)

// Store is what the server and its engines need of the database; [db.Store] implements it.
type Store interface {
	ticketStore
	severalTicketsStore
	assignmentStore
	backfillStore
	cycle.Store
	watch.Store
}

type ticketStore interface {
	CreateTicket(ctx context.Context, region string, t db.NewTicket) (db.Ticket, error)
	GetTicket(ctx context.Context, region, id string) (db.Ticket, error)
	UpdateTicket(ctx context.Context, region, id string, t db.NewTicket) (db.Ticket, error)
	CancelTicket(ctx context.Context, region, id string) (db.Cancelled, error)
	DeleteTicket(ctx context.Context, region, id string) error
	QueryTickets(region string, p match.Pool, bodies bool) *db.PoolQuery[db.QueriedTicket]
	QuerySomeTickets(region string, p match.Pool, bodies bool, limit int64) *db.PoolQuery[db.QueriedTicket]
	CountTickets(ctx context.Context, region string, p match.Pool) (n int64, err error)
}

// severalTicketsStore serves the calls of Embark's fork on several tickets: see several.go.
type severalTicketsStore interface {
	GetTickets(ctx context.Context, region string, ids []string) ([]db.Ticket, error)
	DeleteTickets(ctx context.Context, region string, ids []string) error
	CountQueuedTickets(ctx context.Context, region string) (n int64, err error)
}

type assignmentStore interface {
	AssignTickets(ctx context.Context, region string, a db.Assignments) (missing []string, err error)
	ReleaseTickets(ctx context.Context, region string, ids []string) error
	ReleaseAllTickets(ctx context.Context, region string) error
}

type backfillStore interface {
	CreateBackfill(ctx context.Context, region string, b db.NewBackfill) (db.Backfill, error)
	GetBackfill(ctx context.Context, region, id string) (db.Backfill, error)
	TicketsOfBackfill(ctx context.Context, region, id string) ([]db.Ticket, error)
	UpdateBackfill(ctx context.Context, region, id string,
		change func(old db.Backfill) (db.NewBackfill, error)) (db.Backfill, error)
	AcknowledgeBackfill(ctx context.Context, region, id string,
		assignment []byte) (b db.Backfill, assigned []db.Ticket, err error)
	DeleteBackfill(ctx context.Context, region, id string) error
	QueryBackfills(region string, p match.Pool) *db.PoolQuery[db.Backfill]
}

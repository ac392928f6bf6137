// Package fleet is the face that game servers call: register, heartbeat, seat reports, lists of clients, sessions,
// drain and deregister, as specified in api/openapi.yaml. It translates JSON into calls of the store and decides
// nothing: db decides about leases, incarnations and seats. Authentication, limits and deadlines are set where server
// mounts the routes.
package fleet

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/token"
)

// Store is the part of db.Store that this face calls.
type Store interface {
	Register(ctx context.Context, r db.Registration) (db.Registered, error)
	NoteRefusedRegistration(ctx context.Context, of provision.Joining, why string) error
	Heartbeat(ctx context.Context, ref db.InstanceRef, load *float64) (db.Alive, error)
	Deregister(ctx context.Context, ref db.InstanceRef) error
	SetDrain(ctx context.Context, ref db.InstanceRef, drain bool) (db.DrainStatus, error)
	ReportSeats(ctx context.Context, r db.SeatReport) (db.SeatReportResult, error)
	ReportClients(ctx context.Context, l db.ClientList) (db.ClientListResult, error)
	Now() time.Time
	RenewCredential(ctx context.Context, region, instance string, credential uuid.UUID,
		tokensBy string) (expiresAt time.Time, ok bool, err error)
}

type face struct {
	store        Store
	serverTokens *token.ServerTokens // nil: no game server registers by an enrolment
}

package db

import (
	"context"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/db/query"
)

// DeployedServer is what the director knows of the server of a deployment, for one that registers by its credential
// alone.
type DeployedServer struct {
	Modes      []string // all that its app version has
	Capacity   int
	BootID     string // of the process that has registered last; "": none has
	CertDigest string // that it has reported; "": none
	ReadAt     int64  // when this was read, by the database's clock, in microseconds since 1970
}

// FindDeployedServer returns what is known of the server of a deployment. Errors: Gone if the deployment is over,
// Elsewhere, Unavailable.
func (s *Store) FindDeployedServer(ctx context.Context, of provision.Joining) (DeployedServer, error) {
	if err := s.CheckHere(of.Region); err != nil {
		return DeployedServer{}, err
	}
	r, err := s.q.DeployedServer(ctx, query.DeployedServerParams{Region: of.Region, ID: of.ID})
	if errors.Is(err, pgx.ErrNoRows) {
		return DeployedServer{}, provision.DeploymentOver(of.ID)
	}
	if err != nil {
		return DeployedServer{}, frame.Classify(err)
	}
	return DeployedServer{Modes: r.Modes, Capacity: int(r.Capacity), BootID: r.BootID, CertDigest: r.CertDigest,
		ReadAt: r.ReadAt}, nil
}

// ConnectedClients returns the clients that hold seats of the current incarnation of an instance. Errors: Unavailable.
func (s *Store) ConnectedClients(ctx context.Context, instanceID string) ([]uint64, error) {
	rows, err := s.q.ConnectedClients(ctx, []string{instanceID})
	if err != nil {
		return nil, frame.Classify(err)
	}
	clients := make([]uint64, 0, len(rows))
	for _, r := range rows {
		// A name that is no number is the jti of a session token, and not the id of a client.
		if id, err := strconv.ParseUint(r.ClientID, 10, 64); err == nil {
			clients = append(clients, id)
		}
	}
	return clients, nil
}

// ClientSession returns the public id of the session for which a client has a connect token of the server of a
// deployment; "": it has none. Errors: Unavailable.
func (s *Store) ClientSession(ctx context.Context, of provision.Joining, client uint64) (string, error) {
	rows, err := s.q.ListedClients(ctx, query.ListedClientsParams{InstanceIds: []string{of.ID.String()},
		ClientIds: []int64{int64(client)}})
	if err != nil || len(rows) == 0 {
		return "", frame.Classify(err)
	}
	return sessionID(of.Region, rows[0].SessionID), nil
}

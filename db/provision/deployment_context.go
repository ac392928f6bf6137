package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/notify"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/provider"
)

// DeploymentPlace is where the server of a deployment runs.
type DeploymentPlace struct {
	App, Version string
	Tag          provider.Tag
	PublicIP     string                   // that players dial; empty until the provider has reported it
	Ports        map[string]provider.Port // by name
	Location     string                   // in the provider's words
	IsReady      bool                     // the provider reports the server as ready
}

// FindDeploymentPlace returns where a server runs, as far as its provider has reported it. Errors: Gone for a
// deployment that is over, Unavailable.
func (s *Store) FindDeploymentPlace(ctx context.Context, region string, id uuid.UUID) (DeploymentPlace, error) {
	if err := s.checkHere(region); err != nil {
		return DeploymentPlace{}, err
	}
	r, err := s.frame.Queries.DeploymentPlace(ctx, query.DeploymentPlaceParams{Region: region, ID: id})
	if errors.Is(err, pgx.ErrNoRows) {
		return DeploymentPlace{}, DeploymentOver(id)
	}
	if err != nil {
		return DeploymentPlace{}, frame.Classify(err)
	}
	p := DeploymentPlace{App: r.App, Version: r.Version, Tag: provider.Tag(r.Tag), PublicIP: r.Ip, Location: r.Location,
		IsReady: r.Ready}
	// The column is empty until the provider has reported ports.
	if len(r.Ports) > 0 {
		if err := json.Unmarshal(r.Ports, &p.Ports); err != nil {
			return DeploymentPlace{}, fmt.Errorf("ports of deployment %s: %w", id, err)
		}
	}
	return p, nil
}

// WakeDeployment makes a deployment due, at most once a second, because its provider says that something has changed.
// For a deployment that is over it does nothing. Errors: Unavailable.
func (s *Store) WakeDeployment(ctx context.Context, region string, id uuid.UUID) error {
	if err := s.checkHere(region); err != nil {
		return err
	}
	woken, err := s.frame.Queries.WakeDeployment(ctx, query.WakeDeploymentParams{Region: region, ID: id})
	// woken is false for a second change within a second: providers may report many.
	if err == nil && woken {
		s.sendNotice(notify.TopicDeployments, region)
	}
	return frame.Classify(err)
}

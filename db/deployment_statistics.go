package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/query"
)

// DeploymentCount is how many deployments of a provider are in a phase.
type DeploymentCount struct {
	Provider    string
	Phase       DeploymentPhase
	Deployments int
}

// ReadyServer is how long a server took from the decision to start it until players could join.
type ReadyServer struct {
	Provider string
	Seconds  float64
}

// DeploymentStatistics counts the deployments of all regions, and returns the servers that became ready after the times in since, by region. It
// advances these times. For a region without a time it returns none, and sets the time. Errors: Unavailable.
func (s *Store) DeploymentStatistics(ctx context.Context, since map[string]time.Time) (counts []DeploymentCount, ready []ReadyServer, err error) {
	regions, err := s.q.ProvisionRegions(ctx)
	if err != nil {
		return nil, nil, classify(err)
	}
	rows, err := s.q.CountDeployments(ctx, regions)
	if err != nil {
		return nil, nil, classify(err)
	}
	for _, r := range rows {
		counts = append(counts, DeploymentCount{r.Provider, DeploymentPhase(r.Phase), int(r.N)})
	}
	for _, region := range regions {
		from, ok := since[region]
		if !ok {
			since[region] = s.Now()
			continue
		}
		rows, err := s.q.ReadySince(ctx, query.ReadySinceParams{Region: region, Since: from})
		if err != nil {
			return nil, nil, classify(err)
		}
		for _, r := range rows {
			ready, since[region] = append(ready, ReadyServer{r.Provider, r.Seconds}), r.ReadyAt
		}
	}
	return counts, ready, nil
}

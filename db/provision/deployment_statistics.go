package provision

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
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
	Provider          string
	SecondsUntilReady float64
}

// DeploymentStatistics counts the deployments of all regions, and returns the servers that became ready after the times
// in since, by region. It advances these times. For a region without a time it returns none, and sets the time. Errors:
// Unavailable.
func (s *Store) DeploymentStatistics(ctx context.Context,
	since map[string]time.Time) (counts []DeploymentCount, ready []ReadyServer, err error) {
	regions, err := s.frame.Queries.ProvisionRegions(ctx)
	if err != nil {
		return nil, nil, frame.Classify(err)
	}
	rows, err := s.frame.Queries.CountDeployments(ctx, regions)
	if err != nil {
		return nil, nil, frame.Classify(err)
	}
	for _, r := range rows {
		counts = append(counts, DeploymentCount{r.Provider, DeploymentPhase(r.Phase), int(r.N)})
	}
	for _, region := range regions {
		from, isKnown := since[region]
		// Servers that were ready before are not returned, since this process or another one may have counted them.
		if !isKnown {
			since[region] = s.dbNow()
			continue
		}
		rows, err := s.frame.Queries.ReadySince(ctx, query.ReadySinceParams{Region: region, Since: from})
		if err != nil {
			return nil, nil, frame.Classify(err)
		}
		for _, r := range rows {
			ready = append(ready, ReadyServer{r.Provider, r.Seconds})
			since[region] = r.ReadyAt
		}
	}
	return counts, ready, nil
}

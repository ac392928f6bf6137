package db

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// DeploymentKey is the sealed netcode key of a deployment.
type DeploymentKey struct {
	ID       uuid.UUID
	Sealed   []byte
	SealedBy string // fingerprint of the key-encryption key
	CanDrain bool   // its server takes players, or will: it can be drained
	IsNeeded bool   // a published signing key is sealed by the same key-encryption key
}

// DeploymentKeys returns up to batch keys of a region after an id, in the order of the ids, without those that the
// key-encryption key with the fingerprint except seals already; "" excludes none. Errors: Unavailable.
func (s *Store) DeploymentKeys(ctx context.Context, region, except string, after uuid.UUID,
	batch int) ([]DeploymentKey, error) {
	rows, err := s.q.DeploymentKeys(ctx,
		query.DeploymentKeysParams{Region: region, SealedBy: except, After: after, Batch: int32(batch)})
	keys := make([]DeploymentKey, len(rows))
	for i, r := range rows {
		keys[i] = DeploymentKey{r.ID, r.NetcodeKey, r.SealedBy, r.Drains, r.Needed}
	}
	return keys, frame.Classify(err)
}

// ResealDeployments replaces keys by others, which the key-encryption key with that fingerprint seals, unless they
// changed since they were read. It returns how many. Errors: Unavailable.
func (s *Store) ResealDeployments(ctx context.Context, region string, old []DeploymentKey, sealed [][]byte,
	by string) (n int, err error) {
	p := query.ResealDeploymentsParams{Region: region, SealedBy: by, Sealed: sealed}
	for _, k := range old {
		p.Ids = append(p.Ids, k.ID)
		p.Old = append(p.Old, k.Sealed)
	}
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		resealed, err := q.ResealDeployments(ctx, p)
		n = int(resealed)
		return err
	})
	return n, frame.Classify(err)
}

// DrainDeployments drains deployments, such as those whose key no longer opens: those with players end when they are
// empty, the others now, and their pools replace them. It returns how many it drains. Errors: Unavailable.
func (s *Store) DrainDeployments(ctx context.Context, region, reason string, ids []uuid.UUID) (n int, err error) {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = id.String()
	}
	slices.Sort(names)
	// Instances before deployments, in the order of all locks.
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		if err := q.LockInstances(ctx, query.LockInstancesParams{Region: region, Ids: names}); err != nil {
			return err
		}
		for _, id := range names {
			if err := q.DrainInstance(ctx, query.DrainInstanceParams{Region: region, ID: id}); err != nil {
				return err
			}
		}
		if err := q.RefreshShares(ctx, query.RefreshSharesParams{Region: region, InstanceIds: names}); err != nil {
			return err
		}
		drained, err := q.DrainDeployments(ctx, query.DrainDeploymentsParams{Region: region, Reason: reason, Ids: ids})
		n = int(drained)
		return err
	})
	if n > 0 && err == nil {
		s.Notify(TopicDeployments, region)
		s.Notify(TopicDemand, "")
	}
	return n, frame.Classify(err)
}

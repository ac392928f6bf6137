package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// SealedProjectKey is the sealed secret of a project's key.
type SealedProjectKey = query.SealedProjectKeysRow

// SealedProjectKeys returns up to batch keys after the key after, in the order of projects and ids, without those that
// the key-encryption key with the fingerprint except seals already; "" excludes none. Errors: Unavailable.
func (s *Store) SealedProjectKeys(ctx context.Context, except string, after SealedProjectKey,
	batch int) ([]SealedProjectKey, error) {
	rows, err := s.q.SealedProjectKeys(ctx,
		query.SealedProjectKeysParams{SealedBy: except, AfterProject: after.Project, AfterID: after.ID,
			Batch: int32(batch)})
	return rows, frame.Classify(err)
}

// ResealProjectKeys replaces sealed secrets by others, which the key-encryption key with that fingerprint seals, unless
// they changed since they were read. It returns how many. Errors: Unavailable.
func (s *Store) ResealProjectKeys(ctx context.Context, old []SealedProjectKey, sealed [][]byte,
	by string) (n int, err error) {
	p := query.ResealProjectKeysParams{SealedBy: by, Sealed: sealed}
	for _, k := range old {
		p.Projects = append(p.Projects, k.Project)
		p.Ids = append(p.Ids, k.ID)
		p.Old = append(p.Old, k.SealedSecret)
	}
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		resealed, err := q.ResealProjectKeys(ctx, p)
		n = int(resealed)
		return err
	})
	return n, frame.Classify(err)
}

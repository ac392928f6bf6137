package db

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// RevokeProjectKey revokes a key: it mints no tokens from now on, its tokens are refused, and replicas close the
// connections that were made with them within a second. If the key was revoked already, its grace ends, and it keeps
// the time of the first revocation. Errors: NotFound (key_unknown), Unavailable.
func (s *Store) RevokeProjectKey(ctx context.Context, project, id, actor string) (query.ProjectKey, error) {
	region, err := s.regionOfKey(ctx, project, id)
	if err != nil {
		return query.ProjectKey{}, err
	}
	var r query.RevokeProjectKeyRow
	err = s.frame.InTx(ctx, func(q *query.Queries) (err error) {
		r, err = q.RevokeProjectKey(ctx, query.RevokeProjectKeyParams{Project: project, ID: id})
		if errors.Is(err, pgx.ErrNoRows) {
			return projectKeyUnknown()
		}
		// A key that was revoked already gets no second event.
		if err != nil || !r.Changed {
			return err
		}
		return logProject(ctx, q, region, "project_key.revoked", actor,
			map[string]string{"project": project, "key": id})
	})
	if err != nil {
		return query.ProjectKey{}, frame.Classify(err)
	}
	// Wakes the replicas, which close the connections of the key.
	if r.Changed {
		s.Notify(TopicRealtime, region)
	}
	return r.ProjectKey, nil
}

// KeyRotation says which key of a project is replaced, and how.
type KeyRotation struct {
	ProjectID, ID string
	GraceTime     time.Duration // for which tokens of the old key are still accepted; 0 to MaxProjectGrace
	Actor         string
	Seal          SealProjectKey
}

// RotateProjectKey revokes a key and makes another with its scopes, in one transaction, and returns the new one's
// secret. Of several rotations of a key at the same time one succeeds. Errors: NotFound (key_unknown), Conflict
// (key_revoked), Invalid (grace_seconds), Unavailable.
func (s *Store) RotateProjectKey(ctx context.Context, k KeyRotation) (secret string, made query.ProjectKey, err error) {
	if k.GraceTime < 0 || k.GraceTime > MaxProjectGrace {
		return "", query.ProjectKey{}, &fault.Error{Kind: fault.Invalid, Code: "invalid", Field: "grace_seconds",
			Detail: "grace_seconds must be 0 to 2592000"}
	}
	region, err := s.regionOfKey(ctx, k.ProjectID, k.ID)
	if err != nil {
		return "", query.ProjectKey{}, err
	}
	id := uuid.NewString()
	secret, sealed, by := k.Seal(k.ProjectID, id)
	err = s.frame.InTx(ctx, func(q *query.Queries) error {
		r, err := q.RotateProjectKey(ctx, query.RotateProjectKeyParams{
			Project: k.ProjectID, Old: &k.ID, ID: id, SealedSecret: sealed, SealedBy: by,
			GraceSeconds: k.GraceTime.Seconds(),
		})
		// Another rotation, or a revocation, came first.
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.New(fault.Conflict, "key_revoked", "key already revoked")
		}
		if err != nil {
			return err
		}
		made = r
		return logProject(ctx, q, region, "project_key.rotated", k.Actor,
			map[string]string{"project": k.ProjectID, "key": k.ID, "new_key": id, "name": made.Name})
	})
	if err != nil {
		return "", query.ProjectKey{}, frame.Classify(err)
	}
	// With a grace time, the connections of the old key stay until that is over.
	if k.GraceTime == 0 {
		s.Notify(TopicRealtime, region)
	}
	return secret, made, nil
}

// regionOfKey returns the region of a key's project. It reads the key from the cache, since keys are never deleted.
// Errors: NotFound (key_unknown), Elsewhere, Unavailable.
func (s *Store) regionOfKey(ctx context.Context, project, id string) (string, error) {
	if _, err := s.ProjectKeySecret(ctx, project, id); err != nil {
		return "", err
	}
	return s.ProjectRegion(ctx, project)
}

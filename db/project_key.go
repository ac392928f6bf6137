package db

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
)

const (
	// ScopeMint is the scope that a key needs to mint tokens.
	ScopeMint = "token:mint"
	// maxProjectKeys bounds the keys of a project that are not revoked.
	maxProjectKeys = 1000
	// maxScopes bounds the scopes of a key, and maxScopeBytes each of them.
	maxScopes     = 16
	maxScopeBytes = 64
	// MaxProjectGrace bounds for how long the tokens of a rotated key are accepted.
	MaxProjectGrace = 30 * 24 * time.Hour
)

// NewProjectKey describes a key to create.
type NewProjectKey struct {
	ProjectID string
	ID        string   // see lobby.ValidID; "": a new one
	Name      string   // 1 to 200 characters
	Scopes    []string // at most 16 of up to 64 bytes; a key without ScopeMint mints no tokens
	Actor     string
	Seal      SealProjectKey
}

// SealProjectKey makes the secret of a key; [token.Sealer.NewProjectSecret] is one. sealedBy is the fingerprint of the
// key-encryption key.
type SealProjectKey func(project, key string) (secret string, sealed []byte, sealedBy string)

// CreateProjectKey creates a key and returns its secret, which the caller shows once. Errors: Invalid (name, scopes,
// id), NotFound (project_unknown), Conflict (key_exists), TooMany, Unavailable.
func (s *Store) CreateProjectKey(ctx context.Context,
	n NewProjectKey) (secret string, made query.ProjectKey, err error) {
	if n.ID == "" {
		n.ID = uuid.NewString()
	}
	if err := n.check(); err != nil {
		return "", query.ProjectKey{}, err
	}
	region, err := s.ProjectRegion(ctx, n.ProjectID)
	if err != nil {
		return "", query.ProjectKey{}, err
	}
	// The scopes are never nil: the column takes no null, and the answer has a list.
	made = query.ProjectKey{Project: n.ProjectID, ID: n.ID, Name: n.Name, Scopes: append([]string{}, n.Scopes...)}
	// Sealed before the transaction, which should be short.
	secret, made.SealedSecret, made.SealedBy = n.Seal(n.ProjectID, n.ID)
	err = s.frame.InTx(ctx, func(q *query.Queries) (err error) {
		made.CreatedAt, err = q.CreateProjectKey(ctx, query.CreateProjectKeyParams{
			Project: n.ProjectID, ID: n.ID, Name: n.Name, Scopes: made.Scopes, SealedSecret: made.SealedSecret,
			SealedBy: made.SealedBy, Most: maxProjectKeys,
		})
		// The statement inserts nothing where the project has maxProjectKeys.
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.New(fault.TooMany, "too_many_keys", "the project has %d keys: revoke some", maxProjectKeys)
		}
		if err != nil {
			return projectKeyConflict(err, n.ID)
		}
		return logProject(ctx, q, region, "project_key.created", n.Actor,
			map[string]string{"project": n.ProjectID, "key": n.ID, "name": n.Name})
	})
	if err != nil {
		return "", query.ProjectKey{}, frame.Classify(err)
	}
	return secret, made, nil
}

func projectKeyConflict(err error, id string) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.ConstraintName == "project_keys_pkey" {
		return fault.New(fault.Conflict, "key_exists", "the project has a key with the id %q", id)
	}
	return err
}

func (n NewProjectKey) check() error {
	if !lobby.ValidID(n.ID) {
		return &fault.Error{Kind: fault.Invalid, Code: "invalid", Field: "id",
			Detail: "id must have 1 to 128 bytes without spaces and control characters"}
	}
	if len(n.Scopes) > maxScopes || slices.ContainsFunc(n.Scopes,
		func(s string) bool { return s == "" || len(s) > maxScopeBytes || !isStorable(s) }) {
		return &fault.Error{Kind: fault.Invalid, Code: "invalid", Field: "scopes",
			Detail: "scopes must be at most 16, of 1 to 64 bytes each"}
	}
	return checkProjectName(n.Name)
}

// projectKeyName is the primary key of a project's key.
type projectKeyName struct{ projectID, id string }

func (k projectKeyName) isValid() bool {
	return lobby.ValidID(k.projectID) && lobby.ValidID(k.id)
}

func (k projectKeyName) bytes() int { return textBytes(k.projectID, k.id) }

func projectKeyUnknown() error { return fault.New(fault.NotFound, "key_unknown", "key not found") }

// ProjectKeys returns up to limit keys of a project, at most MaxProjectPage, the newest first, with the revoked ones.
// after is the id of the last key of the previous page; "" begins. A project that does not exist has none. Errors:
// Unavailable.
func (s *Store) ProjectKeys(ctx context.Context, project, after string, limit int) ([]query.ProjectKey, error) {
	if !isStorable(project) || !isStorable(after) {
		return nil, nil
	}
	list, err := s.q.ProjectKeys(ctx, query.ProjectKeysParams{Project: project, After: after,
		Batch: int32(min(limit, MaxProjectPage))})
	return list, frame.Classify(err)
}

// ProjectKey returns a key; with retired, its tokens are refused now. Errors: NotFound (key_unknown), Unavailable.
func (s *Store) ProjectKey(ctx context.Context, project, id string) (key query.ProjectKey, retired bool, err error) {
	if !(projectKeyName{project, id}).isValid() {
		return query.ProjectKey{}, false, projectKeyUnknown()
	}
	r, err := s.q.ProjectKey(ctx, query.ProjectKeyParams{Project: project, ID: id})
	if errors.Is(err, pgx.ErrNoRows) {
		return query.ProjectKey{}, false, projectKeyUnknown()
	}
	return r.ProjectKey, r.Retired, frame.Classify(err)
}

// ProjectKeySecret returns the sealed secret of a key, revoked or not, for [token.ProjectSecrets]. It is cached, since
// the secret never changes. Errors: NotFound (key_unknown), Unavailable.
func (s *Store) ProjectKeySecret(ctx context.Context, project, id string) ([]byte, error) {
	name := projectKeyName{project, id}
	if !name.isValid() {
		return nil, projectKeyUnknown() // not cached, since it may be long
	}
	return s.projectCaches.secretsByKey.get(name, func() ([]byte, error) {
		key, _, err := s.ProjectKey(ctx, project, id)
		return key.SealedSecret, err
	})
}

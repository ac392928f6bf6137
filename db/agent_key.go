package db

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// maxAgentKeys limits the number of unrevoked keys of a region, because each handshake compares with all of them.
const maxAgentKeys = 1000

// AgentKey is a key with which agents connect, in addition to the configured keys. The secret itself is not stored.
type AgentKey struct {
	ID          uuid.UUID
	Name        string            // 1 to 64 letters, digits and . _ -; unique among the unrevoked keys of a region
	Digest      [sha256.Size]byte // SHA-256 of the key
	BoundName   *string           // each snapshot must have this name; nil: any
	BoundLabels map[string]string // each snapshot must have these labels
	CreatedAt   time.Time
}

// NewAgentKey describes a key to create.
type NewAgentKey struct {
	Region      string
	Name        string
	BoundName   *string
	BoundLabels map[string]string
	Actor       string
}

// CreateAgentKey creates a key and returns its secret, which cannot be read again later. The secret has only characters
// that a WebSocket subprotocol may have. Errors: Invalid (the name), Conflict (agent_key_exists), TooMany, Unavailable.
func (s *Store) CreateAgentKey(ctx context.Context, n NewAgentKey) (string, AgentKey, error) {
	if !validKeyName(n.Name) {
		return "", AgentKey{}, &fault.Error{Kind: fault.Invalid, Code: "invalid_name", Field: "name",
			Detail: "a name has 1 to 64 letters, digits and . _ -"}
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails, by its contract
	key := base64.RawURLEncoding.EncodeToString(secret)
	made := AgentKey{ID: uuid.New(), Name: n.Name, Digest: sha256.Sum256([]byte(key)), BoundName: n.BoundName,
		BoundLabels: n.BoundLabels, CreatedAt: s.Now()}
	if made.BoundLabels == nil {
		made.BoundLabels = map[string]string{}
	}
	err := s.frame.InTx(ctx, func(q *query.Queries) error {
		rows, err := q.CreateAgentKey(ctx, query.CreateAgentKeyParams{
			Region: n.Region, ID: made.ID, Name: n.Name, Digest: made.Digest[:], BoundName: n.BoundName,
			BoundLabels: made.BoundLabels, Most: maxAgentKeys,
		})
		if err == nil && rows == 0 {
			err = fault.New(fault.TooMany, "too_many_agent_keys", "the fleet has %d keys of agents: revoke some",
				maxAgentKeys)
		}
		if err != nil {
			return keyConflict(err, n.Name)
		}
		return logAgentKey(ctx, q, n.Region, "agent_key.created", n.Actor, n.Name)
	})
	if err != nil {
		return "", AgentKey{}, frame.Classify(err)
	}
	return key, made, nil
}

func keyConflict(err error, name string) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.ConstraintName == "a_name_is_of_one_agent_key" {
		return fault.New(fault.Conflict, "agent_key_exists",
			"there is a key of agents with the name %q: revoke it first, or choose another name", name)
	}
	return err
}

func validKeyName(name string) bool {
	for _, c := range name {
		if outsideRoomIDs(c) && c != '.' {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

// RevokeAgentKey revokes a key. Within seconds, replicas refuse it and close the connections that use it. Errors:
// NotFound, Unavailable.
func (s *Store) RevokeAgentKey(ctx context.Context, region, name, actor string) error {
	return frame.Classify(s.frame.InTx(ctx, func(q *query.Queries) error {
		rows, err := q.RevokeAgentKey(ctx, query.RevokeAgentKeyParams{Region: region, Name: name})
		if err != nil {
			return err
		}
		if rows == 0 {
			return fault.New(fault.NotFound, "agent_key_unknown",
				"there is no key of agents with the name %q, or it is revoked", name)
		}
		return logAgentKey(ctx, q, region, "agent_key.revoked", actor, name)
	}))
}

func logAgentKey(ctx context.Context, q *query.Queries, region, kind, actor, name string) error {
	detail, err := json.Marshal(map[string]string{"name": name})
	if err != nil {
		return err
	}
	return q.LogAgentKey(ctx, query.LogAgentKeyParams{Region: region, Kind: kind, Actor: actor, Detail: detail})
}

// AgentKeys returns the keys of a region that are not revoked, by name. Errors: Unavailable.
func (s *Store) AgentKeys(ctx context.Context, region string) ([]AgentKey, error) {
	rows, err := s.q.AgentKeys(ctx, region)
	if err != nil {
		return nil, frame.Classify(err)
	}
	keys := make([]AgentKey, 0, len(rows))
	for _, r := range rows {
		keys = append(keys, AgentKey{ID: r.ID, Name: r.Name, Digest: [sha256.Size]byte(r.Digest),
			BoundName: r.BoundName, BoundLabels: r.BoundLabels, CreatedAt: r.CreatedAt})
	}
	return keys, nil
}

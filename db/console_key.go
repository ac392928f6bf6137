package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/query"
)

// ConsoleKey is a signing key as ops.keys shows it, without its private part.
type ConsoleKey struct {
	KID         string
	Alg         string
	State       string // next, signing, retiring, expired or tainted
	PublishAt   time.Time
	SignFrom    time.Time
	SignUntil   time.Time
	VerifyUntil time.Time
	TaintedAt   *time.Time // nil: it is not tainted
	SealedBy    string
	CreatedAt   time.Time
}

// KEKView is a key-encryption key, and what it still seals. One that seals nothing can be retired.
type KEKView struct {
	Fingerprint string
	SigningKeys int64
	NetcodeKeys int64
	Credentials int64 // of deployments
	ProjectKeys int64
}

// KeysView are the latest signing keys, latest turn first, and the key-encryption keys.
type KeysView struct {
	Keys []ConsoleKey
	More bool // older ones exist
	KEKs []KEKView
}

// ConsoleKeys returns the latest signing keys. Errors: TooMany, Unavailable.
func (s *Store) ConsoleKeys(ctx context.Context, size ConsolePage) (v KeysView, err error) {
	most := size.rows()
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		keys, err := q.ConsoleKeys(ctx, most+1)
		if err != nil {
			return err
		}
		for _, r := range keys {
			v.Keys = append(v.Keys, ConsoleKey{
				r.Kid, r.Alg, r.State, r.PublishAt, r.SignFrom, r.SignUntil, r.VerifyUntil, r.TaintedAt, r.SealedBy, r.CreatedAt,
			})
		}
		keks, err := q.ConsoleKeyEncryptionKeys(ctx)
		for _, r := range keks {
			v.KEKs = append(v.KEKs, KEKView(r))
		}
		return err
	})
	v.Keys, v.More = page(v.Keys, most)
	return v, err
}

// ProjectKeyView is a key of a project of the realtime lobby as ops.project_keys shows it, without its secret.
type ProjectKeyView struct {
	Region       string
	Project      string
	ProjectName  string
	Key          string
	Name         string
	Scopes       []string
	State        string // active, retiring or revoked
	TokensMinted int64
	RotatedFrom  string // "": none
	CreatedAt    time.Time
	RevokedAt    *time.Time // nil: it is active
	RetiresAt    *time.Time
	SealedBy     string
}

// ConsoleProjectKeys returns a page of keys of projects, after the region, project and id of a key, and whether more follow. Errors:
// TooMany, Unavailable.
func (s *Store) ConsoleProjectKeys(ctx context.Context, after [3]string, size ConsolePage) (keys []ProjectKeyView, more bool, err error) {
	most := size.rows()
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsoleProjectKeys(ctx, query.ConsoleProjectKeysParams{AfterRegion: after[0], AfterProject: after[1], After: after[2], Most: most + 1})
		for _, r := range rows {
			keys = append(keys, ProjectKeyView(r))
		}
		return err
	})
	keys, more = page(keys, most)
	return keys, more, err
}

// Package keymint makes signing keys for package db with package token, neither of which imports the other. Replicas,
// workers and the command line all make keys in this one way.
package keymint

import (
	"fmt"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/token"
)

// With returns the function with which db.Store.RotateKeys makes keys for alg (token.AlgEdDSA or token.AlgEd25519),
// sealed with sealer's first key-encryption key. The function fails for another alg. It also fails with token.ErrSealed
// if sealer cannot open a published key: then sealer has other key-encryption keys than the fleet, and replicas that
// cannot open the new key would refuse to load any key. Safe for concurrent use.
func With(sealer *token.Sealer, alg string) db.MintFunc {
	return func(published []db.SigningKey) (db.KeyMaterial, error) {
		for _, key := range published {
			if _, err := sealer.Open(token.Material(key.Material)); err != nil {
				return db.KeyMaterial{}, fmt.Errorf("a published key cannot be opened: %w: also configure the "+
					"key-encryption key that sealed it, or taint it if that is lost", err)
			}
		}
		m, err := sealer.Mint(alg)
		return db.KeyMaterial(m), err
	}
}

// Reseal seals a stored key with sealer's first key-encryption key. changed is false if that key sealed it already.
// Errors: token.ErrSealed.
func Reseal(sealer *token.Sealer, stored db.KeyMaterial) (resealed db.KeyMaterial, changed bool, err error) {
	m, changed, err := sealer.Reseal(token.Material(stored))
	return db.KeyMaterial(m), changed, err
}

// Open unseals published keys, which were read at readAt, as a ring that signs and verifies. maxStale is the age from
// which the ring refuses to sign. Errors: token.ErrSealed.
func Open(published []db.SigningKey, sealer *token.Sealer, readAt time.Time,
	maxStale time.Duration) (*token.Ring, error) {
	keys := make([]token.Key, len(published))
	for i, k := range published {
		keys[i] = token.Key{
			Material: token.Material(k.Material), PublishAt: k.PublishAt, SignFrom: k.SignFrom, SignUntil: k.SignUntil,
			VerifyUntil: k.VerifyUntil,
		}
	}
	return token.NewRing(keys, sealer, readAt, maxStale)
}

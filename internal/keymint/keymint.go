// Package keymint makes signing keys for db out of token's: the one place where the two meet, because neither knows the
// other. Replicas, workers and the command line all make keys, and must make them alike.
package keymint

import (
	"fmt"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/token"
)

// With gives the function that db.Store.RotateKeys makes keys with: new ones for alg (token.AlgEdDSA or
// token.AlgEd25519), sealed by sealer's first key-encryption key. It fails for another alg; and beside a published key that
// sealer does not open (token.ErrSealed): then it is not this fleet's, whose replicas would refuse what it makes, and with it
// all keys. Safe for concurrent use.
func With(sealer *token.Sealer, alg string) db.MintFunc {
	return func(published []db.SigningKey) (db.KeyMaterial, error) {
		for _, key := range published {
			if _, err := sealer.Open(token.Material(key.KeyMaterial)); err != nil {
				return db.KeyMaterial{}, fmt.Errorf("no key is made beside one of somebody else: %w: configure what sealed it as well, or taint it if that is lost", err)
			}
		}
		m, err := sealer.Mint(alg)
		return db.KeyMaterial(m), err
	}
}

// Reseal puts a stored key under sealer's first key-encryption key; false means that it was already. Errors:
// token.ErrSealed.
func Reseal(sealer *token.Sealer, stored db.KeyMaterial) (db.KeyMaterial, bool, error) {
	m, changed, err := sealer.Reseal(token.Material(stored))
	return db.KeyMaterial(m), changed, err
}

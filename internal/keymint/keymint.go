// Package keymint makes signing keys for db out of token's: the one place where the two meet, because neither knows the
// other. Replicas, workers and the command line all make keys, and must make them alike.
package keymint

import (
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/token"
)

// With gives the function that db.Store.RotateKeys makes keys with: new ones for alg (token.AlgEdDSA or
// token.AlgEd25519), sealed by sealer's first key-encryption key. It fails for another alg. Safe for concurrent use.
func With(sealer *token.Sealer, alg string) func() (db.KeyMaterial, error) {
	return func() (db.KeyMaterial, error) {
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

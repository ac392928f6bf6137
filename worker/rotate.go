package worker

import (
	"context"
	"errors"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/keymint"
	"github.com/lattice-director/director/token"
)

// rotator makes the signing keys that are due, and moves stored ones under the newest key-encryption key.
type rotator struct {
	store  *db.Store
	sealer *token.Sealer
	policy db.KeyPolicy
	mint   db.MintFunc
}

func (r rotator) runOnce(ctx context.Context) (Done, error) {
	done := Done{}
	made, err := r.store.RotateKeys(ctx, r.policy, false, r.mint)
	done.add("keys", len(made))
	if err != nil {
		return done, err
	}
	return done, r.reseal(ctx, done)
}

// reseal goes on past a key it cannot open, which is an alarm but no reason to leave the others under the old key.
func (r rotator) reseal(ctx context.Context, done Done) error {
	keys, _, err := r.store.Keys(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, key := range keys {
		anew, changed, err := keymint.Reseal(r.sealer, key.KeyMaterial)
		if err == nil && changed {
			changed, err = r.store.ResealKey(ctx, key.KID, key.Sealed, anew.Sealed, anew.SealedBy)
		}
		if err != nil {
			failed = append(failed, err)
		} else if changed {
			done.add("resealed", 1)
		}
	}
	return errors.Join(failed...)
}

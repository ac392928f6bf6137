package worker

import (
	"context"
	"errors"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/keymint"
	"github.com/lattice-director/director/token"
)

// rotator creates the signing keys that are due, and seals stored ones, and the keys of deployments and of projects,
// with the first key-encryption key.
type rotator struct {
	store     *db.Store
	sealer    *token.Sealer
	keyPolicy db.KeyPolicy
	mintKey   db.MintFunc

	deploymentKeys *deploymentResealer
	projectKeys    *projectResealer
}

func (r rotator) runOnce(ctx context.Context) (Done, error) {
	done := Done{}
	made, err := r.store.RotateKeys(ctx, db.SigningKeyRotation{Policy: r.keyPolicy, Mint: r.mintKey})
	done.add("keys", len(made))
	if err != nil {
		return done, err
	}
	return done, errors.Join(r.resealKeys(ctx, done), r.deploymentKeys.runOnce(ctx, done),
		r.projectKeys.runOnce(ctx, done))
}

// resealKeys continues after a key that it cannot open: the error is reported, and the other keys are still resealed.
func (r rotator) resealKeys(ctx context.Context, done Done) error {
	keys, _, err := r.store.Keys(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, key := range keys {
		resealed, changed, err := keymint.Reseal(r.sealer, key.Material)
		if err == nil && changed {
			// False: another worker has resealed it since it was read.
			changed, err = r.store.ResealKey(ctx, key.Material.KID, key.Material.Sealed, resealed.Sealed,
				resealed.SealedBy)
		}
		if err != nil {
			failed = append(failed, err)
		} else if changed {
			done.add("resealed", 1)
		}
	}
	return errors.Join(failed...)
}

package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/token"
)

// projectResealer seals the secrets of projects' keys with the first key-encryption key. One that does not open stays
// as it is: tokens of the key are then refused, unless its project's secret signed them.
type projectResealer struct {
	store     *db.Store
	sealer    *token.Sealer
	checkedAt time.Time // when all keys were opened
}

func (r *projectResealer) runOnce(ctx context.Context, done Done) error {
	own := r.sealer.First()
	except, began := own, time.Now() // keys that except seals are not read; "": all are
	// Also those that need no new seal: see checkEvery.
	if began.Sub(r.checkedAt) >= checkEvery {
		except = ""
	}
	var after db.SealedProjectKey
	var failed []error
	err := drainBacklog(resealBatch, func() (int, error) {
		keys, err := r.store.SealedProjectKeys(ctx, except, after, resealBatch)
		if err != nil || len(keys) == 0 {
			return 0, err
		}
		after = keys[len(keys)-1]
		wrong, err := r.resealKeys(ctx, own, keys, done)
		failed = append(failed, wrong)
		return len(keys), err
	})
	err = errors.Join(append(failed, err)...)
	// Only if all opened, as in deploymentResealer.runOnce: a key that does not open is reported until somebody revokes
	// it.
	if err == nil && except == "" {
		r.checkedAt = began
	}
	return err
}

// resealKeys returns as wrong why the last of the keys that do not open does not; the other keys are sealed all the
// same.
func (r *projectResealer) resealKeys(ctx context.Context, own string, keys []db.SealedProjectKey,
	done Done) (wrong, err error) {
	var old []db.SealedProjectKey
	var sealed [][]byte
	for _, k := range keys {
		again, _, changed, failed := r.sealer.ResealSecret(token.PurposeProject, k.Project, k.ID, k.SealedSecret)
		switch {
		case failed != nil:
			wrong = fmt.Errorf("key %s of project %s: %w", k.ID, k.Project, failed)
		case changed:
			old = append(old, k)
			sealed = append(sealed, again)
		}
	}
	if len(old) == 0 {
		return wrong, nil
	}
	n, err := r.store.ResealProjectKeys(ctx, old, sealed, own)
	done.add("project_keys_resealed", n)
	return wrong, err
}

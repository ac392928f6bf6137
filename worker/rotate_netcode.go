package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/token"
)

const (
	resealBatch = 1000
	// checkEvery is how often all keys are opened, also those that the first key-encryption key seals: a corrupt one
	// would otherwise be noticed only by its players.
	checkEvery = 10 * time.Minute
)

// deploymentResealer seals the netcode keys of deployments with the first key-encryption key, and drains the
// deployments whose keys do not open: no player can connect to them.
type deploymentResealer struct {
	store     *db.Store
	sealer    *token.Sealer
	checkedAt time.Time // when all keys were opened
}

func (r *deploymentResealer) runOnce(ctx context.Context, done Done) error {
	own := r.sealer.First()
	except, began := own, time.Now() // keys that except seals are not read; "": all are
	// Now and then without an exception, to open also those that need no new seal.
	if began.Sub(r.checkedAt) >= checkEvery {
		except = ""
	}
	err := eachRegion(ctx, r.store.ProvisionRegions,
		func(region string) error { return r.resealRegion(ctx, region, except, own, done) })
	// Only if all opened. Otherwise the next run opens them again, and reports again those that do not.
	if err == nil && except == "" {
		r.checkedAt = began
	}
	return err
}

func (r *deploymentResealer) resealRegion(ctx context.Context, region, except, own string, done Done) error {
	var after uuid.UUID
	var failed []error
	err := drainBacklog(resealBatch, func() (int, error) {
		keys, err := r.store.DeploymentKeys(ctx, region, except, after, resealBatch)
		if err != nil || len(keys) == 0 {
			return 0, err
		}
		// In the order of ids, so that a key that cannot be resealed is passed over, and not read for ever.
		after = keys[len(keys)-1].ID
		wrong, err := r.resealKeys(ctx, region, own, keys, done)
		failed = append(failed, wrong)
		return len(keys), err
	})
	return errors.Join(append(failed, err)...)
}

// resealKeys returns as wrong why the last of the keys that do not open does not; the other keys are sealed all the
// same.
func (r *deploymentResealer) resealKeys(ctx context.Context, region, own string, keys []db.DeploymentKey,
	done Done) (wrong, err error) {
	var old []db.DeploymentKey
	var sealed [][]byte
	var lost []uuid.UUID
	for _, k := range keys {
		again, _, changed, failed := r.sealer.ResealSecret(token.PurposeNetcode, region, k.ID.String(), k.Sealed)
		switch {
		case failed != nil:
			wrong = fmt.Errorf("netcode key of deployment %s: %w", k.ID, failed)
			// Draining a deployment replaces its server by one with a new key.
			if k.CanDrain && r.isLost(k) {
				lost = append(lost, k.ID)
			}
		// A key that the first key-encryption key seals already is unchanged.
		case changed:
			old = append(old, k)
			sealed = append(sealed, again)
		}
	}
	if len(old) > 0 {
		// Compared with the old seal in the statement: a key that another worker has resealed stays.
		n, err := r.store.ResealDeployments(ctx, region, old, sealed, own)
		done.add("netcode_resealed", n)
		if err != nil {
			return wrong, err
		}
	}
	if len(lost) > 0 {
		n, err := r.store.DrainDeployments(ctx, region, "netcode_key_lost", lost)
		done.add("netcode_drained", n)
		return wrong, err
	}
	return wrong, nil
}

// isLost reports whether a key that does not open is lost. It is not while its key-encryption key seals a published
// signing key, too: then this worker has other settings than the replicas, and must not replace all servers.
func (r *deploymentResealer) isLost(k db.DeploymentKey) bool {
	return r.sealer.Has(k.SealedBy) || !k.IsNeeded
}

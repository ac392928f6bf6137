package worker

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/wait"
	"github.com/lattice-director/director/token"
	"github.com/lattice-director/director/token/netcode"
)

const (
	scaleEvery = time.Second
	// scaleGather is how long a wake-up waits, so that players who come together are planned together.
	scaleGather = 100 * time.Millisecond
)

// scaler plans the pools: it decides how many servers there should be, which the provisioning loop starts and stops. It
// runs each second, and when players wait for a server.
type scaler struct {
	store         *db.Store
	sealer        *token.Sealer
	claimDatabase func(context.Context) error // its error: this worker must not provision

	wake    <-chan struct{}
	isWoken bool // the next run is for players who wait
}

func (s *scaler) runOnce(ctx context.Context) (Done, error) {
	// Whichever worker comes first plans a pool; the others then leave it alone for that long.
	every := scaleEvery * 9 / 10 // the loop's jitter must not skip a pool
	if s.isWoken {
		// Shorter, since pools were planned a moment ago, and players have come since.
		every, s.isWoken = scaleGather, false
	}
	done := Done{}
	// In the database of another installation nobody would start what is planned here.
	if err := s.claimDatabase(ctx); err != nil {
		return done, err
	}
	return done, eachRegion(ctx, s.store.ProvisionRegions, func(region string) error {
		scaled, err := s.store.PlanPools(ctx, region, every, s.sealKey)
		done.add("servers_wanted", scaled.StartedServers)
		done.add("servers_ended", scaled.EndedServers)
		return err
	})
}

// sealKey makes the netcode key of a deployment.
func (s *scaler) sealKey(region string, id uuid.UUID) (sealed []byte, by string, err error) {
	key := netcode.NewKey()
	sealed, by = s.sealer.SealSecret(token.PurposeNetcode, region, id.String(), key.Secret())
	return sealed, by, nil
}

// waitForDemand waits until the next run is due, or players wait for a server.
func (s *scaler) waitForDemand(ctx context.Context, d time.Duration) bool {
	if s.wake == nil {
		// Here, not in the constructor: this context ends with the loop, and the subscription with it.
		wake, stop := s.store.Subscribe(db.TopicDemand, "")
		s.wake = wake
		context.AfterFunc(ctx, stop)
	}
	woken, alive := wait.ForWake(ctx, d, s.wake)
	if !woken {
		return alive
	}
	s.isWoken = true
	// Wake-ups within this time lead to one run.
	return wait.For(ctx, scaleGather)
}

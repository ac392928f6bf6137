package worker

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

func TestMain(m *testing.M) { dbtest.VerifyNoLeaks(m) }

// bundle is a test's own database, and a store on it.
type bundle struct {
	*storetest.DB

	t *testing.T
}

func setup(t *testing.T) *bundle {
	t.Helper()
	return &bundle{storetest.New(t), t}
}

var testPolicy = db.KeyPolicy{Period: 24 * time.Hour, Lead: 6 * time.Minute, Overlap: 9 * time.Minute}

func (b *bundle) options(keks ...byte) Options {
	return Options{Store: b.Store, Sealer: keytest.Sealer(b.t, append(keks, 1)...), Policy: testPolicy}
}

// loopOf returns one loop of a worker with the options.
func loopOf(t *testing.T, o Options, name string) *loop {
	t.Helper()
	w := must.Get(New(o))(t)
	for _, l := range w.loops {
		if l.name == name {
			return l
		}
	}
	require.FailNow(t, "no such loop", name)
	return nil
}

// once runs a loop once and requires that it succeeds.
func once(t *testing.T, l *loop) Done {
	t.Helper()
	return must.Get(l.runOnce(t.Context()))(t)
}

func (b *bundle) place(region string, players ...string) db.Placement {
	b.t.Helper()
	return must.Get(b.Place(b.t.Context(), db.PlaceRequest{
		Caller: players[0], Region: region, Mode: "duel", Party: players, MaxPlayers: len(players),
	}))(b.t)
}

// expireLeases makes the last heartbeats of all instances of a region older than any lease.
func (b *bundle) expireLeases(region string) {
	b.t.Helper()
	b.Exec("UPDATE instance_leases SET heartbeat_at = heartbeat_at - interval '1 hour' WHERE region = $1", region)
}

// race runs a loop once on n workers at the same time, each with connections of its own, and returns the sum of what
// they did.
func (b *bundle) race(n int, loop string, o Options) Done {
	b.t.Helper()
	type outcome struct {
		done Done
		err  error
	}
	outcomes, start := make(chan outcome, n), make(chan struct{})
	for range n {
		o.Store = b.Replica()
		l := loopOf(b.t, o, loop)
		require.NoError(b.t, o.Store.Ping(b.t.Context()))
		go func() {
			<-start
			done, err := l.runOnce(context.WithoutCancel(b.t.Context()))
			outcomes <- outcome{done, err}
		}()
	}
	close(start)
	total := Done{}
	for range n {
		o := <-outcomes
		require.NoError(b.t, o.err)
		for what, k := range o.done {
			total.add(what, k)
		}
	}
	return total
}

package worker

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/provider"
)

// hour is an hour of a fleet whose provider loses answers and whose workers are killed.
type hour struct {
	*works
	rand        *rand.Rand
	workers     []*provisioner
	deployments int // that it starts
	wanted      int
	ids         map[provider.Tag]uuid.UUID
	silent      map[provider.Tag]bool
	joined      map[provider.Ref]bool
	crashed     map[uuid.UUID]time.Time // until their lease is over
	crashes     map[provider.Tag]int
}

const tick = 2 * time.Second

// What runs at the provider is what the rows say, and nothing was ever started twice for one demand, although 30 % of
// all calls time out, half of them after they were executed, and workers are killed between the provider's answer and
// their commit. An hour of virtual time; in a long run with 1,000 deployments, otherwise with 100.
func TestAnHourOfLostAnswersAndKilledWorkers(t *testing.T) {
	t.Parallel()
	h := &hour{
		works: setupWorks(t), deployments: longtest.Pick(100, 1000), rand: rand.New(rand.NewPCG(7, 11)), ids: map[provider.Tag]uuid.UUID{},
		silent: map[provider.Tag]bool{}, joined: map[provider.Ref]bool{}, crashed: map[uuid.UUID]time.Time{}, crashes: map[provider.Tag]int{},
	}
	h.Exec("UPDATE app_versions SET max_lifetime = '25 minutes', drain_ahead = '5 minutes'")
	// the sweep would wait for a budget of lists in real time
	h.can.Rates = provider.Rates{Deploy: 40, Get: 20, Stop: 10}
	h.lists, h.lose, h.kill = 20*time.Second, 0.3, 0.03
	h.workers = []*provisioner{h.worker(), h.worker()}
	for at := time.Duration(0); at < time.Hour; at += tick {
		h.more(at)
		h.turn(at)
	}
	require.Equal(t, h.wanted, h.deployments)
	h.lose, h.kill = 0, 0
	for at := time.Duration(0); at < 16*time.Minute; at += tick {
		h.turn(at)
	}
	for tag, n := range h.executed {
		require.Equal(t, 1, h.most[tag], "servers that lived at the same time for tag %s", tag)
		// one that crashed before it was adopted is replaced
		require.LessOrEqual(t, n, 1+h.crashes[tag], "servers started for tag %s", tag)
	}
	phases := storetest.Values[string](h.bundle.DB, "SELECT phase FROM deployments WHERE phase NOT IN ('ready', 'draining')")
	require.Empty(t, phases, "deployments that are neither ready nor over")
	require.Equal(t, h.deployments, storetest.One[int](h.bundle.DB, "SELECT (SELECT count(*) FROM deployments) + (SELECT count(*) FROM deployment_history)"))
	h.requireSame()
	h.RequireInvariants()
	t.Logf("calls: %v; ended: %s", h.calls, storetest.One[string](h.bundle.DB, "SELECT string_agg(n || ' ' || reason, ', ') FROM (SELECT count(*) AS n, reason FROM deployment_history GROUP BY 2 ORDER BY 1 DESC) h"))
}

// more starts three tenths of the deployments at once, and the others in the next 45 minutes.
func (h *hour) more(at time.Duration) {
	n := 0
	switch {
	case at == 0:
		n = 3 * h.deployments / 10
	case at < 45*time.Minute && at%(2000*time.Second/time.Duration(h.deployments)) < tick:
		n = min(1+h.rand.IntN(2), h.deployments-h.wanted)
	}
	for range n {
		id := h.want()
		tag := provider.Tag(storetest.One[string](h.bundle.DB, "SELECT tag FROM deployments WHERE id = $1", id))
		h.ids[tag], h.silent[tag] = id, h.rand.IntN(20) == 0
		h.wanted++
	}
}

// turn lets a tick pass: the workers run, servers register, crash, and are stopped by operators.
func (h *hour) turn(at time.Duration) {
	for _, w := range h.workers {
		h.step(w)
	}
	if at%(30*time.Second) == 0 {
		h.sweep()
	}
	if at%(4*time.Minute) == 0 {
		h.workers[h.rand.IntN(2)] = h.worker() // another one; those that were killed are not missed
	}
	h.serve()
	h.loseLeases()
	h.elapse(tick)
}

// sweep runs the loop orphans in a goroutine of its own, which a call may end.
func (h *hour) sweep() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = (&orphanSweeper{provisioner: h.workers[0]}).runOnce(h.bundle.t.Context()) // a lost answer is an error
	}()
	<-done
}

// serve is what the servers do.
func (h *hour) serve() {
	h.mu.Lock()
	var up []provider.Observation
	for _, v := range h.servers {
		if v.stopped.IsZero() && !h.shop.now.Before(v.Started.Add(15*time.Second)) {
			up = append(up, v.Observation)
		}
	}
	h.mu.Unlock()
	for _, o := range up {
		switch {
		case !h.joined[o.Ref] && !h.silent[o.Tag]:
			h.joinOrEnd(o)
		case h.joined[o.Ref] && h.rand.IntN(1500) == 0:
			h.shop.end(o.Ref)
			h.crashes[o.Tag]++
			h.crashed[h.ids[o.Tag]] = h.Now().Add(16 * time.Second)
		case h.joined[o.Ref] && h.rand.IntN(800) == 0:
			err := h.StopDeployment(h.bundle.t.Context(), "eu", h.ids[o.Tag], "an operator")
			require.True(h.bundle.t, err == nil || fault.Is(err, fault.NotFound), err)
		}
	}
}

func (h *hour) joinOrEnd(o provider.Observation) {
	id := h.ids[o.Tag]
	_, err := h.Register(h.bundle.t.Context(), db.Registration{
		InstanceID: id.String(), Region: "eu", Modes: []string{"duel"}, Capacity: 8, BootID: string(o.Ref), Joining: &provision.Joining{Region: "eu", ID: id, TokenBy: "aa"},
	})
	switch {
	case err == nil:
		h.joined[o.Ref] = true
	case fault.Is(err, fault.Gone):
		h.shop.end(o.Ref) // it is told not to register again
	default:
		require.NoError(h.bundle.t, err)
	}
}

// loseLeases ends the instances of servers that crashed, as the reaper does.
func (h *hour) loseLeases() {
	for id, at := range h.crashed {
		if h.Now().After(at) {
			h.Exec("SELECT end_instance(region, id, 'lease expired') FROM instances WHERE id = $1 AND status <> 'gone'", id.String())
			h.Exec("UPDATE deployments SET next_at = $2 WHERE id = $1 AND lost_at IS NOT NULL AND leased_until IS NULL", id, h.Now())
			delete(h.crashed, id)
		}
	}
}

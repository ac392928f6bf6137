package loop_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/testkit/logtest"
	"github.com/lattice-director/director/internal/testkit/metrictest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// strangers copies n tickets of players into the queue who suit nobody else, so that they wait.
func (b *bundle) strangers(n int, profile func(i int) string) {
	b.t.Helper()
	b.CopyPlayers(n, b.Now().Add(-time.Hour), func(i int) ticketbody.Draft {
		return storetest.SkilledDraft(float64(20_000+1000*i), profile(i))
	})
}

// manyProfiles applies n profiles of duels.
func (b *bundle) manyProfiles(n int) {
	b.t.Helper()
	for i := range n { // one at a time: they would wait for each other
		b.AddProfile(fmt.Sprint("duel-", i), duel)
	}
}

// Pins a loop that decided for nobody after a restart: adopting 100 profiles, of which each read the 20,000 tickets
// that wait in one of them, took longer than the time that one reading has, and then it forgot what it had adopted.
func TestATakeoverDecidesForEveryProfile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 1000, "arena")
	const profiles = 100
	b.manyProfiles(profiles)
	b.strangers(20_000, func(int) string { return "duel-0" })
	metrics := prometheus.NewRegistry()
	b.worker(func(o *loop.Options) { o.Metrics = metrics })
	for i := range 2 * profiles {
		b.ticket(1000, party(fmt.Sprint("player-", i)), fmt.Sprint("duel-", i%profiles))
	}
	b.Eventually(profiles, "SELECT count(DISTINCT profile) FROM match_history")
	require.Zero(t, metrictest.Sum(t, metrics, "director_loop_restarts_total"))
	require.InDelta(t, profiles, metrictest.Sum(t, metrics, "director_loop_takeovers_total"), 0)
	b.RequireInvariants()
}

// A second worker takes over what the first had, and of what nobody owns each takes a share at once.
func TestWorkersTakeTheirSharesAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 1000, "arena")
	b.manyProfiles(40)
	b.strangers(4000, func(i int) string { return fmt.Sprint("duel-", i%40) })
	slow := func(o *loop.Options) { o.Lease = 5 * time.Second }
	first := b.worker(slow)
	b.Eventually(40, "SELECT count(*) FROM profile_owners o JOIN loop_workers w ON w.id = o.worker")
	b.worker(slow)
	b.worker(slow)
	b.Eventually(3, "SELECT count(*) FROM loop_workers")
	first()
	const least = `SELECT coalesce(min(n), 0)::int FROM (SELECT count(o.profile) AS n FROM loop_workers w
		LEFT JOIN profile_owners o ON o.worker = w.id WHERE w.lease_until > now() GROUP BY w.id HAVING (SELECT count(*) FROM profile_owners p JOIN loop_workers v ON v.id = p.worker) = 40) x`
	var got int
	require.Eventually(t, func() bool {
		return b.Pool().QueryRow(t.Context(), least).Scan(&got) == nil && got >= 15
	}, 20*time.Second, 20*time.Millisecond, "the smaller share")
	b.ticket(1000, party("ada"), "duel-7")
	b.ticket(1000, party("bo"), "duel-7")
	b.Eventually(2, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
}

// flaky is a store of which the next reading of the owners fails when it is armed, and the renewal of the lease after
// it.
type flaky struct {
	*db.Store

	armed, refusesRenewal atomic.Bool

	loads atomic.Int64 // pages of the whole queue
}

var errFlaky = errors.New("no answer")

func (s *flaky) ProfileOwners(ctx context.Context, universe string) ([]db.ProfileOwner, error) {
	if s.armed.CompareAndSwap(true, false) {
		s.refusesRenewal.Store(true)
		return nil, errFlaky
	}
	return s.Store.ProfileOwners(ctx, universe)
}

func (s *flaky) RenewLoopWorker(ctx context.Context, w db.LoopWorker, lasts time.Duration) error {
	if s.refusesRenewal.CompareAndSwap(true, false) {
		return errFlaky
	}
	return s.Store.RenewLoopWorker(ctx, w, lasts)
}

func (s *flaky) CandidatesAfter(ctx context.Context, universe, after string) ([]db.Candidate, bool, error) {
	s.loads.Add(1)
	return s.Store.CandidatesAfter(ctx, universe, after)
}

// A reading that fails costs a pause: the queue and the profiles stay known, and the log and a counter say what failed.
func TestAFailedReadingForgetsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 100, "arena")
	b.AddProfile("duel", duel)
	s, metrics, log := &flaky{Store: b.store()}, prometheus.NewRegistry(), new(logtest.Buffer)
	b.worker(func(o *loop.Options) { o.Store, o.Metrics, o.Log = s, metrics, slog.New(slog.NewTextHandler(log, nil)) })
	b.ticket(1000, party("ada"), "duel")
	b.Eventually(1, "SELECT count(*) FROM profile_owners")
	require.Eventually(t, func() bool { return s.loads.Load() == 1 }, 20*time.Second, 10*time.Millisecond)
	s.armed.Store(true)
	require.Eventually(t, func() bool { return metrictest.Sum(t, metrics, "director_loop_restarts_total") == 2 },
		20*time.Second, 10*time.Millisecond)
	b.ticket(1000, party("bo"), "duel")
	b.Eventually(2, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	require.Contains(t, log.String(), "reading the owners of profiles failed after")
	require.Contains(t, log.String(), "renewing the lease of this worker failed after")
	require.Contains(t, log.String(), "why=database")
	require.NotContains(t, log.String(), "why=panic")
	require.Equal(t, int64(1), s.loads.Load(), "the queue is not read again")
	require.InDelta(t, 1, metrictest.Sum(t, metrics, "director_loop_takeovers_total"), 0)
}

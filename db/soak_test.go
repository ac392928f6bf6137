package db_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// Random placements, resolves, reports, heartbeats, registrations, drains and reaping, all at once on three replicas:
// nothing deadlocks, and the invariants hold at the end. DIRECTOR_SOAK=10m makes it long.
func TestSoak(t *testing.T) {
	t.Parallel()
	length := 5 * time.Second
	if v := os.Getenv("DIRECTOR_SOAK"); v != "" {
		d, err := time.ParseDuration(v)
		require.NoError(t, err)
		length = d
	}
	b := setup(t, func(c *db.Config) { c.Timing.SeatTTL = 300 * time.Millisecond })
	s := &soak{bundle: b, stores: []*db.Store{b.Store, b.Replica(), b.Replica()}}
	for i := range soakInstances {
		b.AddServer(soakInstance(i), 24, func(r *db.Registration) { r.Modes = []string{"duel", "race"} })
	}
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var wg sync.WaitGroup
	for range 24 {
		wg.Go(func() { s.until(ctx, s.play) })
	}
	beat := func(ctx context.Context, st *db.Store) {
		load := rand.Float64()
		_, err := st.Heartbeat(ctx, ref(soakInstance(rand.IntN(soakInstances))), &load)
		s.check(ctx, err)
	}
	for _, step := range []func(context.Context, *db.Store){s.play, beat, s.operate, s.reap} {
		wg.Go(func() { s.until(ctx, step) })
	}
	wg.Wait()

	require.Zero(t, one[int64](b, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"))
	for range 3 { // rows that the reaper skipped because they were locked
		s.reap(t.Context(), b.Store)
	}
	b.RequireInvariants()
	t.Logf("%d placements, %d refused, %d reports", s.placed.Load(), s.refused.Load(), s.reported.Load())
	require.Positive(t, s.placed.Load())
	require.Positive(t, s.reported.Load())
}

const soakInstances = 6

func soakInstance(i int) string { return fmt.Sprintf("soak-%d", i) }

type soak struct {
	*bundle
	stores                    []*db.Store
	placed, refused, reported atomic.Int64
}

func (s *soak) until(ctx context.Context, step func(context.Context, *db.Store)) {
	for ctx.Err() == nil {
		step(ctx, s.stores[rand.IntN(len(s.stores))])
	}
}

// check accepts the errors that callers get, such as refusals. An internal error is a bug.
func (s *soak) check(ctx context.Context, err error) {
	var e *fault.Error
	var pg *pgconn.PgError
	if err == nil || ctx.Err() != nil || errors.As(err, &e) && !errors.As(err, &pg) {
		return
	}
	s.t.Errorf("internal error: %v", err)
}

func (s *soak) play(ctx context.Context, st *db.Store) {
	party := map[string]bool{}
	for range 1 + rand.IntN(3) {
		party[fmt.Sprintf("p%d", rand.IntN(60))] = true
	}
	r := db.PlaceRequest{Region: "eu", Mode: []string{"duel", "race"}[rand.IntN(2)],
		MaxPlayers: []int{4, 8}[rand.IntN(2)]}
	for sub := range party {
		r.Caller, r.Party = sub, append(r.Party, sub)
	}
	p, err := st.Place(ctx, r)
	s.check(ctx, err)
	if err != nil {
		s.refused.Add(1)
		return
	}
	s.placed.Add(1)
	if rand.IntN(4) == 0 {
		return // never resolved: the reaper frees it
	}
	_, err = st.Resolve(ctx, p.SessionHandle, r.Caller)
	s.check(ctx, err)
	instance := p.Endpoint[:len(p.Endpoint)-len(":7777")]
	report := db.SeatReport{InstanceRef: ref(instance), SessionID: p.SessionID,
		JoinedPlayers: []db.Joined{{PlayerSub: r.Caller, JTI: fmt.Sprint(rand.Int64())}}}
	_, err = st.ReportSeats(ctx, report)
	s.check(ctx, err)
	_, err = st.ReportSeats(ctx, db.SeatReport{InstanceRef: ref(instance), SessionID: p.SessionID,
		LeftPlayers: gone(r.Party...), HasEnded: rand.IntN(20) == 0})
	s.check(ctx, err)
	s.reported.Add(2)
}

func (s *soak) operate(ctx context.Context, st *db.Store) {
	id := soakInstance(rand.IntN(soakInstances))
	switch rand.IntN(4) {
	case 0:
		_, err := st.SetDrain(ctx, ref(id), rand.IntN(2) == 0)
		s.check(ctx, err)
	case 1:
		s.check(ctx, st.Deregister(ctx, ref(id)))
	default:
		_, err := st.Register(ctx, db.Registration{
			InstanceID: id, Endpoint: id + ":7777", Region: "eu", Modes: []string{"duel", "race"},
			Capacity: 16 + rand.IntN(16),
			BootID:   fmt.Sprint(rand.IntN(2)),
		})
		s.check(ctx, err)
	}
}

func (s *soak) reap(ctx context.Context, st *db.Store) {
	_, _, err := st.ReapInstances(ctx, "eu", 100)
	s.check(ctx, err)
	_, err = st.ReapSeats(ctx, "eu", 100)
	s.check(ctx, err)
}

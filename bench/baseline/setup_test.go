package baseline_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench/baseline"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

func TestMain(m *testing.M) { dbtest.VerifyNoLeaks(m) }

// bundle is a test's own database, with the naive placement and the product's on it.
type bundle struct {
	baseline.Naive
	db *storetest.DB
	t  *testing.T
}

func setup(t *testing.T) *bundle {
	t.Helper()
	d := storetest.New(t)
	return &bundle{baseline.Naive{Store: d.Store}, d, t}
}

func (b *bundle) register(id string, capacity int, load float64) {
	b.t.Helper()
	b.db.AddServer(id, capacity, func(r *db.Registration) { r.Modes, r.Load = []string{"duel", "race"}, &load })
}

func request(caller string, friends ...string) db.PlaceRequest {
	return db.PlaceRequest{Caller: caller, Region: "eu", Mode: "duel", Party: append([]string{caller}, friends...),
		MaxPlayers: 8}
}

func (b *bundle) place(r db.PlaceRequest) db.Placement {
	b.t.Helper()
	return must.Get(b.Place(b.t.Context(), r))(b.t)
}

// placeAll makes all requests at the same time.
func (b *bundle) placeAll(requests []db.PlaceRequest) ([]db.Placement, []error) {
	got, errs := make([]db.Placement, len(requests)), make([]error, len(requests))
	var wg sync.WaitGroup
	for i, w := range requests {
		wg.Go(func() { got[i], errs[i] = b.Place(b.t.Context(), w) })
	}
	wg.Wait()
	return got, errs
}

func strangers(n int) []db.PlaceRequest {
	requests := make([]db.PlaceRequest, n)
	for i := range requests {
		requests[i] = request(fmt.Sprintf("player-%d", i))
	}
	return requests
}

// requireInvariants asserts all invariants of placement.
func (b *bundle) requireInvariants() {
	b.t.Helper()
	b.db.RequireInvariants()
	require.Zero(b.t, b.db.Count(`SELECT count(*) FROM instance_modes m JOIN instances i ON i.region = m.region AND i.id = m.instance_id
		WHERE m.share_bucket <> share_bucket(i)`), "instances in the wrong bucket")
	require.Zero(b.t, b.db.Count(`SELECT count(*) FROM sessions s FULL JOIN events e ON e.session_id = s.id AND e.kind = 'session.opened'
		WHERE e.kind IS NULL OR s.id IS NULL AND e.kind = 'session.opened'`), "sessions without their event")
}

func requireKind(t *testing.T, want fault.Kind, err error) {
	t.Helper()
	require.True(t, fault.Is(err, want), "%v", err)
}

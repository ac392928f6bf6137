package baseline_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench/baseline"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

func TestMain(m *testing.M) { dbtest.VerifyNoLeaks(m) }

// bundle is a test's own database, with the naive placement and the product's on it.
type bundle struct {
	naive baseline.Naive
	db    *storetest.DB
	t     *testing.T
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
	return must.Get(b.naive.Place(b.t.Context(), r))(b.t)
}

// placeStrangers lets players ask for seats at the same time, each alone.
func (b *bundle) placeStrangers(crowd, players int) []error {
	errs := make([]error, players)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = b.naive.Place(b.t.Context(), request(fmt.Sprintf("player-%d-%d", crowd, i))) })
	}
	wg.Wait()
	return errs
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

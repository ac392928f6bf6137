package db_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Players who got their seats by POST /matchmake get others by its rules.
func TestEvacuatedPlayersWithoutATicketAreSeatedElsewhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16)
	trio := request("ann", 8)
	trio.Party = []string{"ann", "bob", "cay"}
	was := b.place(trio)
	b.place(request("dan", 8))
	b.AddServer("b", 16)
	id := b.evacuate("'A', requeue => true, dead => true")
	require.Equal(t, db.EvacuationStep{ClosedSessions: 1, ReleasedPlayers: 4, EmptiedServers: 1, EndedServers: 1,
		SeatedPlayers: 4}, b.finish(id))
	require.Equal(t, []string{"b|4"}, storetest.Values[string](b.DB,
		"SELECT instance || '|' || players FROM ops.fleet WHERE status <> 'gone'"))
	require.Equal(t, []string{"1"}, storetest.Values[string](b.DB,
		"SELECT count(DISTINCT party)::text FROM seats WHERE sub IN ('ann', 'bob', 'cay')"))
	require.Equal(t, []string{"ann seated", "bob seated", "cay seated", "dan seated"}, b.outcomes(id))

	_, err := b.Resolve(t.Context(), was.SessionHandle, "bob")
	requireKind(t, fault.Gone, "session_closed", err)
	moved, _ := errors.AsType[*fault.Error](err)
	got, err := b.Resolve(t.Context(), moved.SessionHandle, "bob")
	require.NoError(t, err)
	require.Equal(t, "b:7777", got.Endpoint)
	require.Equal(t, got.SessionHandle, b.place(trio).SessionHandle, "POST /matchmake once more")
}

func TestWhatPlayersWithoutATicketGetWhenTheirRegionGoes(t *testing.T) {
	t.Parallel()
	inUS := func(r *db.Registration) { r.Region = "us" }
	for name, c := range map[string]struct {
		args string
		want string
	}{
		"no region is named":          {"requeue => true", "ann nothing no_region"},
		"a region is named":           {"requeue => true, seats_in => 'us'", "ann seated"},
		"only the seats are released": {"requeue => false", "ann nothing not_asked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.AddServer("a", 16)
			b.AddServer("u", 16, inUS)
			b.place(request("ann", 8))
			id := b.evacuate("'eu', " + c.args)
			b.finish(id)
			require.Equal(t, []string{c.want}, b.outcomes(id))
			b.requireStatus("a", "draining")
			b.requireStatus("u", "ready")
		})
	}
}

// Pins players who were in and get nothing for good, since the region to which they are moved admits nobody at that moment.
func TestNoValveStopsEvacuatedPlayers(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	m.played(time.Minute, []string{"ann"}, []string{"bob"})
	m.place(request("cay", 8))
	m.AddServer("u", 16, storetest.InRegion("us"))
	m.valve("launch", 1, func(s *db.ValveSettings) { region := "us"; s.Region = &region })
	must.Get(m.As("").CloseValve(t.Context(), "launch"))(t)
	m.heedValves()
	newcomer := request("dan", 8)
	newcomer.Region = "us"
	_, err := m.Place(t.Context(), newcomer)
	requireKind(t, fault.TooMany, db.CodeNotAdmitted, err)
	id := m.evacuate("'eu', requeue => true, seats_in => 'us'")
	m.finish(id)
	require.Equal(t, []string{"ann queued", "bob queued", "cay seated"}, m.outcomes(id))
}

// Pins "no_capacity" of players whose region has moved to another cell.
func TestEvacuatedPlayersOfARegionThatHasMoved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16)
	b.place(request("ann", 8))
	b.AddServer("b", 16)
	id := b.evacuate("'a', requeue => true")
	step := must.Get(b.StepEvacuation(t.Context(), id, restoreNothing))(t)
	require.Equal(t, db.EvacuationStep{ClosedSessions: 1, ReleasedPlayers: 1}, step)
	b.fence("eu")
	b.Exec("SELECT give_region_away(id) FROM region_moves")
	b.finish(id)
	require.Equal(t, []string{"ann nothing no_region"}, b.outcomes(id))
}

// Pins a seat in one region that counted as the player's next seat in another, and was recorded there.
func TestAnEvacuatedPlayerOfTwoRegionsIsSeatedInBoth(t *testing.T) {
	t.Parallel()
	b := setup(t)
	onRack := func(r *db.Registration) { r.Labels = map[string]string{"rack": "7"} }
	b.AddServer("a", 16, onRack)
	b.AddServer("u", 16, onRack, storetest.InRegion("us"))
	inUS := request("ann", 8)
	inUS.Region = "us"
	b.place(request("ann", 8))
	b.place(inUS)
	b.AddServer("b", 16)
	b.AddServer("v", 16, storetest.InRegion("us"))
	id := b.evacuate("'rack=7', requeue => true")
	for range 2 { // a step for each region
		step := must.Get(b.StepEvacuation(t.Context(), id, restoreNothing))(t)
		require.Equal(t, db.EvacuationStep{ClosedSessions: 1, ReleasedPlayers: 1}, step)
	}
	b.place(request("ann", 8))
	b.finish(id)
	require.Equal(t, []string{"eu seated eu seated_already", "us seated us"}, storetest.Values[string](b.DB,
		`SELECT concat_ws(' ', region, state, next_region, nullif(why, '')) FROM evacuated_players WHERE evacuation = $1
		ORDER BY region`, id))
	require.Equal(t, []string{"eu b", "us v"}, storetest.Values[string](b.DB,
		"SELECT region || ' ' || instance_id FROM sessions ORDER BY region"))
}

func TestEvacuatedPlayersFindNoCapacity(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16)
	b.place(request("ann", 8))
	id := b.evacuate("'a', requeue => true")
	b.finish(id)
	require.Equal(t, []string{"ann nothing no_capacity"}, b.outcomes(id))
}

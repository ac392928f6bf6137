package db_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
)

// avoids stores whom players avoid.
func (b *bundle) avoids(lists map[string][]string) {
	b.t.Helper()
	var all []db.StoredPlayer
	for sub, avoid := range lists {
		all = append(all, db.StoredPlayer{Sub: sub, AvoidedPlayers: avoid})
	}
	must.Get(b.StorePlayers(b.t.Context(), "global", "backend:test", all))(b.t)
}

// A newcomer joins no session with somebody whom it avoids, or who avoids it, while others fill it; a party that names
// both is together by its own will.
func TestPlacementKeepsApartWhoAvoid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 64)
	b.avoids(map[string][]string{"bob": {"ann"}, "ann": {"eve"}})
	first := b.place(request("ann", 8))
	for _, other := range []string{"bob", "eve"} {
		require.NotEqual(t, first.SessionID, b.place(request(other, 8)).SessionID, other)
	}
	require.Equal(t, first.SessionID, b.place(request("ann", 8)).SessionID, "ann has her seat already")
	_, err := b.ForgetPlayer(t.Context(), "global", "backend:test", "bob")
	require.NoError(t, err)
	b.Exec("DELETE FROM seats WHERE sub = 'bob'")
	b.place(request("gus", 8, "hal"))
	together := b.place(request("ida", 8, "ivy"))
	b.avoids(map[string][]string{"kim": {"lou"}})
	require.Equal(t, b.place(request("kim", 8, "lou")).SessionID, b.place(request("lou", 8, "kim")).SessionID)
	require.NotEmpty(t, together.SessionID)
}

// Pins two who avoid one another in one session, seated by one batch, by two replicas at a time, or in a session that is
// being filled; and a batch that keeps calls for ever because of them.
func TestReplicasKeepApartWhoAvoid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []string{"a", "b", "c", "d"} {
		b.AddServer(id, 64)
	}
	const pairs = 24
	lists, requests := map[string][]string{}, []db.PlaceRequest{}
	for i := range pairs {
		left, right := fmt.Sprint("left-", i), fmt.Sprint("right-", i)
		lists[left] = []string{right}
		requests = append(requests, request(left, 8), request(right, 8), request(fmt.Sprint("free-", i), 8))
	}
	b.avoids(lists)
	_, errs := placeAll(t, []*db.Store{b.Store, b.Replica(), b.Replica()}, requests)
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Zero(t, one[int](b, `SELECT count(*)::int FROM seats x JOIN player_avoids l ON l.sub = x.sub
		JOIN seats y ON y.sub = l.avoided AND y.session_id = x.session_id`))
	require.Equal(t, 3*pairs, one[int](b, "SELECT count(*)::int FROM seats"))
	b.RequireInvariants()
}

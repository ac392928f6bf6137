package worker

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/lobby"
)

// Pins rooms that wait for ever: the transaction that decides about a ticket does not lock the room, so a worker has
// to.
func TestRoomsLearnWhatBecameOfTheirTickets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	types, err := lobby.NewTypes(false, nil)
	require.NoError(t, err)
	b.Store = storetest.Open(t, b.URL, func(c *db.Config) { c.RoomTypes = types })
	l := loopOf(t, b.options(), "waiting")
	require.Empty(t, once(t, l))
	// A party whose room waits for a match, without a ticket.
	party := must.Get(b.ActInLobby(t.Context(), db.LobbyAction{
		Region: "eu", ProjectID: "p1", RoomID: "party:1", MakesRoom: true,
		Act: types.JoinRoom(lobby.Join{RoomType: "party", Session: "s-1", Player: "ada"}),
	}))(t)
	b.Exec(`UPDATE lobbies SET state = (state::jsonb || '{"phase": "queued", "queue": {"room_type": "duel", "size": 2}}')::json`)
	b.Exec("INSERT INTO lobby_outcomes (region, lobby, ticket, reason) VALUES ('eu', $1, 't-1', 'declined')", party.LobbyUID)
	require.Equal(t, Done{"outcomes_delivered": 1}, once(t, l))
	require.Equal(t, "open", storetest.One[string](b.DB, "SELECT state->>'phase' FROM lobbies"))
	require.Empty(t, once(t, l))

	b.Exec("INSERT INTO lobby_outcomes (region, lobby, ticket, match_id, room) VALUES ('eu', $1, 't-2', $2, 'duel:match:1')", party.LobbyUID, uuid.New())
	require.Equal(t, Done{"outcomes_delivered": 1}, once(t, l))
	require.Equal(t, "matched", storetest.One[string](b.DB, "SELECT state->>'phase' FROM lobbies"))
	require.Zero(t, storetest.One[int](b.DB, "SELECT count(*) FROM lobby_outcomes"))
}

func TestRoomsOfMatchesEndWithTheirSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("host-1", 10)
	b.place("eu", "ada", "bo")
	b.Exec(`INSERT INTO lobbies (region, uid, project, id, type, state, max_members, grace, match_id, participants, size, game_region, session_id)
		SELECT 'eu', gen_random_uuid(), 'p1', 'duel:match:1', 'duel', '{"phase":"ready"}', 2, '1 minute', gen_random_uuid(), '{s-1,s-2}', 2, s.region, s.id FROM sessions s`)
	l := loopOf(t, b.options(), "waiting")
	require.Empty(t, once(t, l))
	b.EndAmnesty()
	b.expireLeases("eu")
	once(t, loopOf(t, b.options(), "reap"))
	require.Equal(t, Done{"match_rooms_ended": 1}, once(t, l))
	require.Equal(t, "ended", storetest.One[string](b.DB, "SELECT state->>'phase' FROM lobbies"))
	require.Empty(t, once(t, l))
}

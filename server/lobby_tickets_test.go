package server_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/lobby"
)

// The owner of a party of the realtime lobby queues its members over HTTP; the party and its ticket change together.
func TestTheMembersOfALobbyQueueTogether(t *testing.T) {
	t.Parallel()
	types, err := lobby.NewTypes(false, nil)
	require.NoError(t, err)
	b := setup(t, func(c *config) { c.db.RoomTypes = types })
	b.profile("ranked", ranked)
	_, err = b.store.CreateProject(t.Context(), db.NewProject{ID: "game", Name: "game", Region: "eu", Actor: "test"})
	require.NoError(t, err)
	for _, sub := range []string{"alice", "bob"} {
		b.store.Exec(`INSERT INTO realtime_sessions (region, id, project, player, authenticated, ttl, owner) VALUES ('eu', 's-' || $1, 'game', $1, true, '30 s', gen_random_uuid())`, sub)
		options := lobby.Options{"private": []byte("false")}
		b.inParty(sub, types.JoinRoom(lobby.Join{RoomType: "party", Session: "s-" + sub, Player: sub,
			Options: options}))
	}
	body := fields{"profiles": []string{"ranked"}, "lobby": fields{"project": "game", "room": "party:1"},
		"players": fields{"bob": fields{"attributes": fields{"role": "tank"}}}}
	b.ticketCall("bob", http.MethodPost, "", body).problem(http.StatusForbidden, "not_owner")
	b.ticketCall("eve", http.MethodPost, "", body).problem(http.StatusNotFound, "lobby_unknown")
	b.ticketCall("alice", http.MethodPost, "", body.with("party", []string{"alice"})).problem(http.StatusBadRequest,
		"invalid_request")
	b.ticketCall("alice", http.MethodPost, "",
		body.with("lobby", fields{"project": "game", "room": "a b"})).problem(http.StatusBadRequest, "invalid_request")
	b.ticketCall("alice", http.MethodPost, "",
		body.with("players", fields{"eve": fields{}})).problem(http.StatusBadRequest, "invalid_request")
	created := b.ticketCall("alice", http.MethodPost, "", body).ok(http.StatusCreated)
	require.Equal(t, []any{"alice", "bob"}, created["party"])
	id := created["ticket_id"].(string)
	require.Equal(t, map[string]any{"room_type": "match", "size": 4.0}, b.roomState(t)["queue"],
		"the players of a match of the profile, not of the party")
	require.Equal(t, id, b.ticketCall("alice", http.MethodPost, "", body).ok(http.StatusOK)["ticket_id"])
	require.Equal(t, id, b.ticketCall("alice", http.MethodPost, "",
		body.with("latencies", fields{"eu": 1})).problem(http.StatusConflict, "ticket_exists")["ticket_id"])

	require.Equal(t, "cancelled", b.ticketCall("bob", http.MethodDelete, "/"+id, nil).ok(http.StatusOK)["state"])
	again := b.queue("alice", body)
	require.NotEqual(t, id, again, "the party is open again")
	b.inParty("bob", types.LeaveRoom("s-bob", "bob"))
	require.Equal(t, "cancelled", b.ticketCall("alice", http.MethodGet, "/"+again, nil).ok(http.StatusOK)["state"])
	require.Equal(t, []any{"alice"}, b.ticketCall("alice", http.MethodPost, "",
		body.with("players", nil)).ok(http.StatusCreated)["party"])
	b.inParty("alice", types.MarkAway("s-alice"))
	b.ticketCall("alice", http.MethodPost, "", body.with("players", nil)).problem(http.StatusConflict,
		"lobby_not_ready")
}

// roomState returns the state that the members of the party see.
func (b *bundle) roomState(t *testing.T) (state fields) {
	t.Helper()
	var text []byte
	require.NoError(t, b.store.Pool().QueryRow(t.Context(),
		"SELECT state FROM lobbies WHERE id = 'party:1'").Scan(&text))
	require.NoError(t, json.Unmarshal(text, &state))
	return state
}

// inParty runs an action of a player in the party.
func (b *bundle) inParty(sub string, act lobby.Action) {
	b.t.Helper()
	must.Get(b.store.ActInLobby(b.t.Context(), db.LobbyAction{
		Region: "eu", ProjectID: "game", Session: db.SessionEpoch{ID: "s-" + sub, Epoch: 1}, RoomID: "party:1",
		MakesRoom: true, Act: act,
	}))(b.t)
}

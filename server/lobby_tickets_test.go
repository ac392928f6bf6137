package server_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/storetest"
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
	act := func(session string, act lobby.Action) { b.store.ActInRoom("game", "party:1", session, act) }
	for _, sub := range []string{"alice", "bob"} {
		b.store.AddClient("game", "s-"+sub, sub)
		act("s-"+sub, types.JoinRoom(lobby.Join{RoomType: "party", Session: "s-" + sub, Player: sub,
			Options: lobby.Options{"private": []byte("false")}}))
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
	var state fields
	require.NoError(t, json.Unmarshal(storetest.One[[]byte](b.store, "SELECT state FROM lobbies WHERE id = 'party:1'"), &state))
	require.Equal(t, map[string]any{"room_type": "match", "size": 4.0}, state["queue"],
		"the players of a match of the profile, not of the party")
	require.Equal(t, id, b.ticketCall("alice", http.MethodPost, "", body).ok(http.StatusOK)["ticket_id"])
	require.Equal(t, id, b.ticketCall("alice", http.MethodPost, "",
		body.with("latencies", fields{"eu": 1})).problem(http.StatusConflict, "ticket_exists")["ticket_id"])

	require.Equal(t, "cancelled", b.ticketCall("bob", http.MethodDelete, "/"+id, nil).ok(http.StatusOK)["state"])
	again := b.queue("alice", body)
	require.NotEqual(t, id, again, "the party is open again")
	act("s-bob", types.LeaveRoom("s-bob", "bob"))
	require.Equal(t, "cancelled", b.ticketCall("alice", http.MethodGet, "/"+again, nil).ok(http.StatusOK)["state"])
	require.Equal(t, []any{"alice"}, b.ticketCall("alice", http.MethodPost, "",
		body.with("players", nil)).ok(http.StatusCreated)["party"])
	act("s-alice", types.MarkAway("s-alice"))
	b.ticketCall("alice", http.MethodPost, "", body.with("players", nil)).problem(http.StatusConflict,
		"lobby_not_ready")
}

package realtime

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/keyring"
	"github.com/lattice-director/director/server/realtime/realtimetest"
	"github.com/lattice-director/director/token"
)

// A party with an absent member is in no match, keeps its place, and is matched once the member is back on another
// replica.
func TestAPartyWaitsForItsMember(t *testing.T) {
	t.Parallel()
	a, b := matchmaking(t)
	ada, bo, cy := a.client(), b.client(), b.client()
	party := friends{room: "party:1", kind: "crowd", size: 3, members: []*realtimetest.Client{ada, bo}}
	party.gather(t)
	party.queue(t)
	bo.Wait(t, "the queue", func(v *realtimetest.View) bool { return v.Room("party:1").State["phase"] == "queued" })
	require.Equal(t, map[string]any{"room_type": "crowd", "size": float64(3)}, bo.Room("party:1").State["queue"],
		"what was asked for")
	bo.Drop()
	ada.Wait(t, "the drop", func(v *realtimetest.View) bool { return v.Count("room.dropped", "party:1") == 1 })
	require.Equal(t, 1, a.database.Count("SELECT count(*) FROM tickets WHERE paused_at IS NOT NULL"))
	cy.Must(t, "matchmaking.enqueue", "", map[string]any{"roomType": "crowd", "size": float64(3)})
	other := a.client()
	other.Must(t, "matchmaking.enqueue", "", map[string]any{"roomType": "other"})
	b.client().Must(t, "matchmaking.enqueue", "", map[string]any{"roomType": "other"})
	found(t, other) // the loop has decided since
	require.Equal(t, 2, a.database.Count("SELECT count(*) FROM tickets"))
	require.NoError(t, bo.Reconnect(t.Context(), a.address()))
	room, p := found(t, bo)
	require.Equal(t, []any{ada.SessionID(), bo.SessionID(), cy.SessionID()}, p["participants"],
		"the party has kept its place")
	for _, c := range []*realtimetest.Client{ada, cy} {
		other, _ := found(t, c)
		require.Equal(t, room, other)
	}
}

// The session token that match.resolve returns verifies with the key set that the director publishes, and is for the
// seat.
func TestTheTokenOfAMatchVerifies(t *testing.T) {
	t.Parallel()
	a, b := matchmaking(t)
	sealer, err := token.NewSealer(bytes.Repeat([]byte{1}, token.KEKBytes))
	require.NoError(t, err)
	keys := keyring.New(a.store, sealer, token.AlgEdDSA, keyring.Schedule{})
	require.NoError(t, a.store.ReadClock(t.Context()))
	require.NoError(t, keys.Refresh(t.Context()))
	a.options.Signer = keys
	_, err = a.store.ApplyProfile(t.Context(), db.ProfileEdit{Universe: "global", Author: "test"},
		[]byte("name: duel\nmode: arena\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\n"))
	require.NoError(t, err)
	_, err = a.store.Register(t.Context(),
		db.Registration{InstanceID: "host-1", Region: "eu", Endpoint: "host-1:7000", Modes: []string{"arena"},
			Capacity: 10})
	require.NoError(t, err)
	ada, bo := a.client(), b.client()
	enqueue(t, "duel", ada, bo)
	room, _ := found(t, ada)
	ada.Join(t, "duel", room, nil)
	server, _ := ada.Room(room).State["server"].(map[string]any)
	require.Equal(t, "host-1:7000", server["endpoint"])
	require.NotEmpty(t, server["session_handle"])
	way := ada.Must(t, "match.resolve", room, nil)
	document, _, err := keys.JWKS()
	require.NoError(t, err)
	published := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		_, _ = w.Write(document)
	}))
	t.Cleanup(published.Close)
	source, err := token.NewKeySource(published.URL, token.SourceOptions{Client: published.Client()})
	require.NoError(t, err)
	claims, err := token.NewSessionVerifier(source, 0).Verify(t.Context(), way["session_token"].(string), time.Now())
	require.NoError(t, err)
	require.Equal(t, ada.SessionID(), claims.Subject, "a player without a name is its session")
	require.Equal(t, way["session_id"], claims.SessionID)
	require.Equal(t, "host-1:7000", claims.Endpoint)
	require.Equal(t, server["session_handle"], claims.Handle)
}

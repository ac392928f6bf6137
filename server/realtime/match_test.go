package realtime

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/realtimetest"
	"github.com/lattice-director/director/token"
)

// signed is a signer whose tokens are the player and the session.
type signed struct{}

func (signed) Sign(c token.SessionClaims) (string, error) { return c.Subject + "@" + c.SessionID, nil }

// matchmaking starts two replicas and a loop that makes matches, on one database.
func matchmaking(t *testing.T) (a, b *served) {
	t.Helper()
	url := dbtest.New(t)
	types := must.Get(lobby.NewTypes(true, []byte(`{"duel": {"logic": "match", "profile": "duel"}}`)))(t)
	open := func() *db.Store {
		return storetest.Open(t, url, func(c *db.Config) { c.RoomTypes, c.Queueing = types, Queueing("global", 0) })
	}
	with := func(o *Options) { o.RoomTypes, o.Signer = types, signed{} }
	a, b = serveStore(t, url, open(), with), serveStore(t, url, open(), with)
	background.Loop(t, must.Get(loop.New(loop.Options{Store: open(), Universe: "global"}))(t).Run)
	return a, b
}

func found(t *testing.T, c *realtimetest.Client) (room string, p map[string]any) {
	t.Helper()
	e := c.Hear(t, "match.found")
	return e.Room, e.P
}

func TestSessionsOnTwoReplicasAreMatched(t *testing.T) {
	t.Parallel()
	a, b := matchmaking(t)
	first, second := a.client(withCodec("msgpack")), b.client(withCodec("json"))
	ask := map[string]any{"roomType": "counter_room", "size": float64(2)}
	queued := first.Must(t, "matchmaking.enqueue", "", ask)
	require.Equal(t, realtimetest.Response{"ok": true, "queued": true, "room_type": "counter_room", "size": float64(2),
		"position": float64(1)}, queued)
	require.Equal(t, float64(1), first.Must(t, "matchmaking.enqueue", "", ask)["position"],
		"the same queue keeps its place")
	second.Must(t, "matchmaking.enqueue", "", ask)

	room, p := found(t, first)
	other, _ := found(t, second)
	require.Equal(t, room, other)
	require.Regexp(t, `^counter_room:match:[0-9a-f]{32}$`, room)
	require.Equal(t, []any{first.SessionID(), second.SessionID()}, p["participants"], "in the order of the queue")
	require.Equal(t, float64(2), p["size"])
	for _, c := range []*realtimetest.Client{first, second} {
		c.Join(t, "counter_room", room, nil)
	}
	stranger := a.client()
	require.Equal(t, "not_invited", stranger.Ask(t, "room.join_or_create", room,
		map[string]any{"roomType": "counter_room"}).Code())
	require.Equal(t, "refused", first.Ask(t, "match.resolve", room, nil).Code(), "it has no server")
	require.Equal(t, false, first.Must(t, "matchmaking.dequeue", "", nil)["removed"])
}

func TestASessionLeavesTheQueue(t *testing.T) {
	t.Parallel()
	a, _ := matchmaking(t)
	c := a.client()
	require.Equal(t, false, c.Must(t, "matchmaking.dequeue", "", nil)["removed"])
	c.Must(t, "matchmaking.enqueue", "", map[string]any{"roomType": "x", "size": float64(3)})
	require.Equal(t, true, c.Must(t, "matchmaking.dequeue", "", map[string]any{})["removed"])
	require.Equal(t, float64(16), c.Must(t, "matchmaking.enqueue", "", map[string]any{"size": 1e300})["size"])
	require.Equal(t, float64(2), c.Must(t, "matchmaking.enqueue", "", map[string]any{"size": "3"})["size"])
	tooLong := slices.Repeat([]any{strings.Repeat("x", 200)}, 64)
	for _, bad := range []map[string]any{{"roomType": "a b"}, {"attributes": []any{}},
		{"attributes": map[string]any{"a": true}}, {"attributes": map[string]any{"a": tooLong}}, {"latencies": map[string]any{"eu": -1.0}}, {"latencies": "x"},
		{"latencies": map[string]any{"eu": 20.5}}} {
		require.Equal(t, "invalid", c.Ask(t, "matchmaking.enqueue", "", bad).Code(), fmt.Sprint(bad))
	}
	require.False(t, c.Ask(t, "match.accept", "", nil).OK())
}

// A match of a profile has a server, and each player a seat: from the queue to the game without HTTP.
func TestAPlayerFindsTheServerOfItsMatch(t *testing.T) {
	t.Parallel()
	a, b := matchmaking(t)
	_, err := a.store.ApplyProfile(t.Context(), db.ProfileEdit{Universe: "global", Author: "test"},
		[]byte("name: duel\nmode: arena\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\n"))
	require.NoError(t, err)
	_, err = a.store.Register(t.Context(),
		db.Registration{InstanceID: "host-1", Region: "eu", Endpoint: "host-1:7000", Modes: []string{"arena"},
			Capacity: 10})
	require.NoError(t, err)
	tokens := map[string]string{"ada": a.key("p1", "k1", func(c *token.ProjectClaims) { c.Subject = "ada" })}
	tokens["bo"] = mint("p1", "k1", func(c *token.ProjectClaims) { c.Subject = "bo" })
	as := func(player string) func(*realtimetest.Options) {
		return func(o *realtimetest.Options) { o.Token = tokens[player] }
	}
	ada, bo := a.client(as("ada")), b.client(as("bo"))
	enqueue(t, "duel", ada, bo)
	room, _ := found(t, ada)
	require.Equal(t, "not_a_member", ada.Ask(t, "match.resolve", room, nil).Code())
	ada.Join(t, "duel", room, nil)
	server, _ := ada.Room(room).State["server"].(map[string]any)
	require.Equal(t, "host-1:7000", server["endpoint"])
	way := ada.Must(t, "match.resolve", room, nil)
	require.Equal(t, "host-1:7000", way["endpoint"])
	require.Equal(t, "ada@"+way["session_id"].(string), way["session_token"])
}

// Pins a named player of whom nobody can tell why a message had no effect; others are sessions, which nobody looks for.
// Types that are not known are not told: a client could make up as many as it likes.
func TestRefusalsOfNamedPlayersAreTold(t *testing.T) {
	t.Parallel()
	told := make(chan fault.Refusal, 10)
	v := serve(t, func(o *Options) { o.OnRefusal = func(r fault.Refusal) { told <- r } })
	named := v.key("p1", "k1", func(c *token.ProjectClaims) { c.Subject = "ada" })
	for _, o := range []func(*realtimetest.Options){func(*realtimetest.Options) {},
		func(o *realtimetest.Options) { o.Token = named }} {
		c := v.client(o)
		require.False(t, c.Ask(t, "matchmaking.enqueue", "", map[string]any{"latencies": "none"}).OK())
		require.False(t, c.Ask(t, "made.up", "", nil).OK())
	}
	require.Equal(t, fault.Refusal{
		Player: "ada", Call: "lobby matchmaking.enqueue", Code: "invalid", Region: "global",
		Detail: "latencies has to be an object of regions and milliseconds",
	}, <-told)
	require.Equal(t, fault.Refusal{Player: "ada", Call: "lobby", Code: "unknown_type", Region: "global",
		Detail: "unknown message type"}, <-told)
	require.Empty(t, told)
}

func FuzzTicketAttributes(f *testing.F) {
	f.Add([]byte(`{"skill":1000,"maps":["dust"],"name":"x","none":null}`))
	f.Add([]byte(`{"profile":["x"],"a b":1,"n":1e999}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		body, err := encodeTicket(db.QueueDraft{ProfileName: "duel", Bucket: "b", Players: []string{"ada"},
			LobbyQueue: lobby.Queue{Attributes: raw}})
		if err != nil {
			var invalid *fault.Error
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, fault.Invalid, invalid.Kind)
			return
		}
		require.Equal(t, "b", body.SearchFields.Strings[db.QueueAttribute])
		require.Contains(t, body.SearchFields.Tags, "profile:duel")
	})
}

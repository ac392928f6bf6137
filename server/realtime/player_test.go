package realtime

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/server/realtime/realtimetest"
	"github.com/lattice-director/director/token"
)

// as connects as a player, with a token that names it, of a key that the replica must have.
func as(player string) func(*realtimetest.Options) {
	named := mint("p1", "k1", func(c *token.ProjectClaims) { c.Subject = player })
	return func(o *realtimetest.Options) { o.Token = named }
}

// arena starts two replicas with a key for tokens of players, and a profile of duels on a game server.
func arena(t *testing.T) (a, b *served) {
	t.Helper()
	a, b = matchmaking(t)
	a.key("p1", "k1")
	a.database.AddProfile("duel", "mode: arena\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\n")
	must.Get(a.store.Register(t.Context(),
		db.Registration{InstanceID: "host-1", Region: "eu", Endpoint: "host-1:7000", Modes: []string{"arena"},
			Capacity: 10}))(t)
	return a, b
}

// enqueue queues sessions that are 20 ms from region eu for a room type.
func enqueue(t *testing.T, roomType string, clients ...*realtimetest.Client) {
	t.Helper()
	for _, c := range clients {
		c.Must(t, "matchmaking.enqueue", "", map[string]any{"roomType": roomType,
			"latencies": map[string]any{"eu": float64(20)}})
	}
}

// sees waits until a client sees a member in the state of a room, and not another one.
func sees(t *testing.T, c *realtimetest.Client, room, session, notSession string) {
	t.Helper()
	c.Wait(t, "the member "+session, func(v *realtimetest.View) bool {
		r := v.Room(room)
		_, old := r.State["m:"+notSession]
		_, card := r.State["m:"+session]
		return card && !old && slices.Contains(r.Members, session) && !slices.Contains(r.Members, notSession)
	})
}

// Pins a client that crashed in a match: its new session got no match.found, and heard not_invited and not_a_member,
// while its seat on the game server waited.
func TestARestartedGameIsInItsMatchAgain(t *testing.T) {
	t.Parallel()
	for name, crash := range map[string]func(t *testing.T, ada *realtimetest.Client, room string){
		"before it joined": func(_ *testing.T, ada *realtimetest.Client, _ string) { ada.Drop() },
		"as a member": func(t *testing.T, ada *realtimetest.Client, room string) {
			t.Helper()
			ada.Join(t, "duel", room, nil)
			ada.Drop()
		},
		"and nobody knows": func(t *testing.T, ada *realtimetest.Client, room string) {
			t.Helper()
			ada.Join(t, "duel", room, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := arena(t)
			ada, bo := a.client(as("ada")), b.client(as("bo"))
			enqueue(t, "duel", ada, bo)
			room, _ := found(t, ada)
			bo.Join(t, "duel", room, nil)
			crash(t, ada, room)

			restarted := b.client(as("ada"))
			same, p := found(t, restarted)
			require.Equal(t, room, same)
			require.Equal(t, "duel", p["room_type"])
			restarted.Join(t, "duel", room, nil)
			sees(t, bo, room, restarted.SessionID(), ada.SessionID())
			way := restarted.Must(t, "match.resolve", room, nil)
			require.Equal(t, "ada@"+way["session_id"].(string), way["session_token"])

			third := a.client(as("ada"))
			same, p = found(t, third)
			require.Equal(t, room, same, "until the match has ended")
			require.Contains(t, p["participants"], restarted.SessionID())
			cy := b.client(as("cy"))
			require.Equal(t, "not_invited",
				cy.Ask(t, "room.join_or_create", room, map[string]any{"roomType": "duel"}).Code())
		})
	}
}

// Whoever left the match on purpose is not called back.
func TestAPlayerWhoLeftItsMatchIsNotCalledBack(t *testing.T) {
	t.Parallel()
	a, b := arena(t)
	ada, bo := a.client(as("ada")), b.client(as("bo"))
	enqueue(t, "duel", ada, bo)
	room, _ := found(t, ada)
	ada.Join(t, "duel", room, nil)
	ada.Leave(t, room)
	bo.Join(t, "duel", room, nil)
	opened, err := a.store.OpenRealtime(t.Context(),
		db.RealtimeRequest{Region: "global", ProjectID: "p1", PlayerSub: "ada",
			ReplicaID: a.ensureRegion("global").replicaID(), ResumeTTL: 30e9})
	require.NoError(t, err)
	require.Empty(t, opened.Invitations)
	opened, err = a.store.OpenRealtime(t.Context(),
		db.RealtimeRequest{Region: "global", ProjectID: "p1", PlayerSub: "bo", ReplicaID: a.ensureRegion("global").replicaID(),
			ResumeTTL: 30e9})
	require.NoError(t, err)
	require.Len(t, opened.Invitations, 1)
}

// In a match of a bucket the seat is for the session that queued; a new session of its player gets it.
func TestARestartedGameHasTheSeatOfItsSession(t *testing.T) {
	t.Parallel()
	a, b := arena(t)
	a.database.AddProfile("realtime-2",
		"mode: arena\nattributes: {queue: {type: string}}\nteams: [{name: players, players: 2}]\nrules: [{same: queue}]\n")
	ada, bo := a.client(as("ada")), b.client(as("bo"))
	enqueue(t, "sparring", ada, bo)
	room, _ := found(t, bo)
	ada.Drop()
	restarted := b.client(as("ada"))
	found(t, restarted)
	restarted.Join(t, "sparring", room, nil)
	way := restarted.Must(t, "match.resolve", room, nil)
	require.Equal(t, ada.SessionID()+"@"+way["session_id"].(string), way["session_token"])
}

// Pins an owner who reloads the page: the party lost its place in the queue, and had another owner.
func TestAPartyKeepsItsPlaceWhenItsOwnerReloads(t *testing.T) {
	t.Parallel()
	for name, drop := range map[string]bool{"closed": true, "still open": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := arena(t)
			ada, bo := a.client(as("ada")), b.client(as("bo"))
			party := friends{room: "party:1", kind: "crowd", size: 3, members: []*realtimetest.Client{ada, bo}}
			party.gather(t)
			party.queue(t)
			if drop {
				ada.Drop()
				bo.Wait(t, "the drop", func(v *realtimetest.View) bool {
					return v.Count("room.dropped",
						"party:1") == 1
				})
			}
			reloaded := b.client(as("ada"))
			reloaded.Must(t, "matchmaking.enqueue", "", map[string]any{"roomType": "crowd", "size": float64(16)})
			reloaded.Join(t, "party", "party:1", nil)
			sees(t, bo, "party:1", reloaded.SessionID(), ada.SessionID())
			state := bo.Room("party:1").State
			require.Equal(t, reloaded.SessionID(), state["owner"])
			require.Equal(t, "queued", state["phase"])
			require.Equal(t, 1, a.database.Count("SELECT count(*) FROM tickets WHERE paused_at IS NULL"))
			require.Equal(t, 1, a.database.Count("SELECT count(*) FROM tickets"), "what it waited for alone is over")
			cy := a.client(as("cy"))
			cy.Must(t, "matchmaking.enqueue", "", map[string]any{"roomType": "crowd", "size": float64(3)})
			room, p := found(t, reloaded)
			require.ElementsMatch(t, []any{reloaded.SessionID(), bo.SessionID(), cy.SessionID()}, p["participants"])
			reloaded.Join(t, "crowd", room, nil)
		})
	}
}

// Pins a player who queued alone and whose game was restarted: it got a new place behind all others.
func TestARestartedGameKeepsItsPlaceInTheQueue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		roomType string
		drop     bool
	}{
		"of a profile": {"duel", true}, "of a profile, and nobody knows": {"duel", false},
		"without a profile": {"sparring", true}, "without a profile, and nobody knows": {"sparring", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := arena(t)
			a.database.AddProfile("duel",
				"mode: arena\nteams: [{name: red, players: 1}, {name: blue, players: 1}, {name: green, players: 1}]\n")
			ask := map[string]any{"roomType": c.roomType, "size": float64(3),
				"latencies": map[string]any{"eu": float64(20)}}
			ada, bo := a.client(as("ada")), b.client(as("bo"))
			ada.Must(t, "matchmaking.enqueue", "", ask)
			ticket := a.ticketOf(t, ada)
			bo.Must(t, "matchmaking.enqueue", "", ask)
			if c.drop {
				ada.Drop()
				require.Eventually(t, func() bool { return a.database.Count("SELECT count(*) FROM tickets WHERE paused_at IS NOT NULL") == 1 }, 30*time.Second, time.Millisecond)
			}
			restarted := b.client(as("ada"))
			require.Equal(t, float64(1), restarted.Must(t, "matchmaking.enqueue", "", ask)["position"])
			require.Equal(t, ticket, a.ticketOf(t, restarted))
			require.Equal(t, 2, a.database.Count("SELECT count(*) FROM tickets WHERE paused_at IS NULL"))
			require.Equal(t, float64(1), restarted.Must(t, "matchmaking.enqueue", "", ask)["position"])
			if !c.drop {
				ada.Wait(t, "the end of its waiting",
					func(v *realtimetest.View) bool { return v.Count("matchmaking.expired", "") == 1 })
				ada.Must(t, "matchmaking.enqueue", "", ask)
				restarted.Wait(t, "the end of its waiting",
					func(v *realtimetest.View) bool { return v.Count("matchmaking.expired", "") == 1 })
				restarted.Must(t, "matchmaking.enqueue", "", ask)
				ada.Wait(t, "the second end of its waiting",
					func(v *realtimetest.View) bool { return v.Count("matchmaking.expired", "") == 2 })
			}
			cy := a.client(as("cy"))
			cy.Must(t, "matchmaking.enqueue", "", ask)
			room, p := found(t, restarted)
			require.ElementsMatch(t, []any{restarted.SessionID(), bo.SessionID(), cy.SessionID()}, p["participants"])
			restarted.Join(t, c.roomType, room, nil)
		})
	}
}

// A restarted game cancels what the earlier session of its player waits for. The tickets of another player, and of a
// session without a name, stay.
func TestARestartedGameCancelsForItsPlayer(t *testing.T) {
	t.Parallel()
	a, b := arena(t)
	for _, waits := range []func(*realtimetest.Options){as("ada"), as("bo"), func(*realtimetest.Options) {}} {
		c := a.client(waits)
		c.Must(t, "matchmaking.enqueue", "", map[string]any{"roomType": "sparring", "size": float64(16)})
		c.Drop()
	}
	require.Eventually(t, func() bool { return a.database.Count("SELECT count(*) FROM tickets WHERE paused_at IS NOT NULL") == 3 }, 30*time.Second, time.Millisecond)
	require.Equal(t, false, b.client().Must(t, "matchmaking.dequeue", "", nil)["removed"])
	restarted := b.client(as("ada"))
	require.Equal(t, true, restarted.Must(t, "matchmaking.dequeue", "", nil)["removed"])
	require.Equal(t, false, restarted.Must(t, "matchmaking.dequeue", "", nil)["removed"])
	require.Equal(t, 2, a.database.Count("SELECT count(*) FROM tickets"))
}

// Pins a restarted game that took a lobby out of the queue, since it also joined a party again that did not know yet
// that it has a match.
func TestARestartedGameKeepsThePlaceOfItsOtherRoom(t *testing.T) {
	t.Parallel()
	a, b := arena(t)
	ada, bo := a.client(as("ada")), b.client(as("bo"))
	matched := friends{room: "party:1", kind: "crowd", size: 3, members: []*realtimetest.Client{ada, bo}}
	matched.gather(t)
	matched.queue(t)
	a.client(as("cy")).Must(t, "matchmaking.enqueue", "", map[string]any{"roomType": "crowd", "size": float64(3)})
	found(t, ada)
	require.Equal(t, "queued", ada.Room("party:1").State["phase"], "no worker has told it of the match")
	waiting := friends{room: "party:2", kind: "other", size: 3, members: []*realtimetest.Client{ada, bo}}
	waiting.gather(t)
	waiting.queue(t)
	ticket := a.ticketOf(t, bo)
	ada.Drop()
	restarted := b.client(as("ada"))
	restarted.Join(t, "party", "party:2", nil)
	restarted.Join(t, "party", "party:1", nil)
	require.Equal(t, [2]string{ticket, ticket}, [2]string{a.ticketOf(t, restarted), a.ticketOf(t, bo)})
	require.Equal(t, 1, a.database.Count("SELECT count(*) FROM tickets WHERE paused_at IS NULL"))
}

func (v *served) ticketOf(t *testing.T, c *realtimetest.Client) string {
	t.Helper()
	waiting := must.Get(v.store.RealtimeTicket(t.Context(), "global", c.SessionID()))(t)
	return waiting.TicketID
}

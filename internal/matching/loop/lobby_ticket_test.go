package loop_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/match"
)

const trio = `
attributes: {skill: {type: number}}
teams: [{name: players, players: 3}]
`

// setupParties is a database with a project, whose parties queue with tickets that were made outside of them.
func setupParties(t *testing.T) *lobbies {
	t.Helper()
	l := setupLobbies(t)
	must.Get(l.CreateProject(t.Context(), db.NewProject{ID: "p1", Name: "p1", Region: region, Actor: "test"}))(t)
	l.AddProfile("trio", trio)
	return l
}

// ask makes a ticket for the members of a room, as POST /tickets does.
func (l *lobbies) ask(s *db.Store, owner, room, profile string, skill float64, key string,
	players ...string) (db.PlayerTicketAnswer, error) {
	l.t.Helper()
	draft := storetest.SkilledDraft(skill, profile)
	players = slices.Sorted(slices.Values(players))
	for _, p := range players {
		draft.Players = append(draft.Players, match.Player{Sub: p})
	}
	body := must.Get(ticketbody.Prepare(draft))(l.t)
	hash := sha256.Sum256(fmt.Appendf(nil, "%s %s %g %q", room, profile, skill, players))
	return s.CreateLobbyTicket(l.t.Context(), universe,
		db.LobbyTicketRequest{ProjectID: "p1", RoomID: room, Ticket: db.PlayerTicketRequest{
			Caller: owner, Party: players, ProfileNames: draft.Profiles, SearchFields: ticketbody.Fields(draft),
			EncodeBody: body.Body, BodyBytes: len(body),
			TTL: time.Hour, LeaseTTL: time.Second, IdempotencyKey: key, RequestHash: hash[:],
		}})
}

func (l *lobbies) asked(owner, room string, players ...string) string {
	l.t.Helper()
	a := must.Get(l.ask(l.Store, owner, room, "trio", 1, "", players...))(l.t)
	require.True(l.t, a.IsNew)
	return a.ID
}

func (l *lobbies) state(ticket string) string {
	l.t.Helper()
	k := must.Get(l.AnyTicket(l.t.Context(), universe, ticket))(l.t)
	return string(k.State)
}

// A party queues with a ticket of the API, meets a player who came without a lobby, and is invited into the room of the
// match.
func TestAPartyQueuesWithATicketOfTheAPI(t *testing.T) {
	t.Parallel()
	l := setupParties(t)
	l.party("party:1", "ada", "bo")
	players, err := l.LobbyPlayers(t.Context(), "p1", "party:1", "bo")
	require.NoError(t, err)
	require.Equal(t, party("ada", "bo"), players)
	id := l.asked("ada", "party:1", players...)
	require.Equal(t, "queued", l.phase("party:1"))
	require.Equal(t, 1, l.Count("SELECT count(*) FROM tickets WHERE id = $1 AND kept_alive IS NULL", id),
		"it stays while the members are connected")
	require.Equal(t, 2, l.Count("SELECT count(*) FROM realtime_tickets WHERE ticket = $1 AND lobby IS NOT NULL", id))
	l.QueuePlayer("cy", 1, "trio")
	l.worker()
	l.Eventually(1, matchRooms+" AND type = 'match' AND cardinality(participants) = 2")
	l.tell()
	require.Equal(t, "matched", l.phase("party:1"))
	require.Equal(t, "assigned", l.state(id))
	require.Equal(t, 2, l.Count("SELECT count(*) FROM ticket_events WHERE state = 'assigned'"))
	l.RequireInvariants()
}

// The same request again is the same ticket, also with the key of the first one after it has left; another one is a
// conflict.
func TestARequestForAPartyIsRepeatable(t *testing.T) {
	t.Parallel()
	l := setupParties(t)
	l.party("party:1", "ada", "bo")
	first, err := l.ask(l.Store, "ada", "party:1", "trio", 1, "key", "ada", "bo")
	require.NoError(t, err)
	for _, key := range []string{"key", ""} {
		again, err := l.ask(l.store(), "ada", "party:1", "trio", 1, key, "ada", "bo")
		require.NoError(t, err)
		require.Equal(t, db.PlayerTicketAnswer{ID: first.ID}, again)
	}
	_, err = l.ask(l.Store, "ada", "party:1", "trio", 2, "", "ada", "bo")
	require.Equal(t, "ticket_exists", codeOf(err))
	_, err = l.ask(l.Store, "ada", "party:1", "trio", 2, "key", "ada", "bo")
	require.Equal(t, "idempotency_mismatch", codeOf(err))
	l.send("bo", "party:1", "cancel", `{}`)
	again, err := l.ask(l.Store, "ada", "party:1", "trio", 1, "key", "ada", "bo")
	require.NoError(t, err)
	require.Equal(t, db.PlayerTicketAnswer{ID: first.ID}, again)
	require.Equal(t, "open", l.phase("party:1"))
	require.Equal(t, 1, l.Count("SELECT count(*) FROM ticket_events WHERE state = 'queued'"))
	l.RequireInvariants()
}

func TestWhoMayQueueAParty(t *testing.T) {
	t.Parallel()
	l := setupParties(t)
	l.party("party:1", "ada", "bo")
	l.lobby("lobby:1", "cy", "di")
	l.send("di", "lobby:1", "ready", `{"ready":false}`)
	l.open("eve")
	l.join("chat", "chat:1", "eve")
	for _, c := range []struct {
		owner, room, code string
		players           []string
	}{
		{"bo", "party:1", "not_owner", party("ada", "bo")},
		{"eve", "party:1", "lobby_unknown", party("ada", "bo", "eve")},
		{"ada", "party:2", "lobby_unknown", party("ada", "bo")},
		{"ada", "party:1", "party_changed", party("ada")},
		{"ada", "party:1", "party_changed", party("ada", "bo", "cy")},
		{"cy", "lobby:1", "lobby_not_ready", party("cy", "di")},
		{"eve", "chat:1", "lobby_unknown", party("eve")},
	} {
		_, err := l.ask(l.Store, c.owner, c.room, "trio", 1, "", c.players...)
		require.Equal(t, c.code, codeOf(err), "%s %s", c.owner, c.room)
	}
	for _, room := range []string{"party:2", "party:1", "a b"} {
		_, err := l.LobbyPlayers(t.Context(), "p1", room, "eve")
		require.Equal(t, "lobby_unknown", codeOf(err))
	}
	_, err := l.LobbyPlayers(t.Context(), "p9", "party:1", "ada")
	require.Equal(t, "lobby_unknown", codeOf(err))
	require.Zero(t, l.Count("SELECT count(*) FROM tickets"))
	require.Equal(t, "open", l.phase("party:1"))
	l.ticket(1, party("bo"), "trio")
	_, err = l.ask(l.Store, "ada", "party:1", "trio", 1, "", "ada", "bo")
	require.Equal(t, "party_conflict", codeOf(err), "bo waits elsewhere")
	require.Equal(t, "open", l.phase("party:1"), "the room has not changed")
	l.RequireInvariants()
}

// Each change by which the party leaves the queue takes its ticket along, and the ticket takes the party: in one
// transaction, so that no moment shows one without the other.
func TestAPartyAndItsTicketChangeTogether(t *testing.T) {
	t.Parallel()
	l := setupParties(t)
	l.party("party:1", "ada", "bo")
	torn := `SELECT count(*) FROM lobbies l WHERE l.id = 'party:1'
		AND (l.state->>'phase' = 'queued') IS DISTINCT FROM EXISTS (SELECT FROM realtime_tickets r JOIN tickets t ON t.id = r.ticket WHERE r.lobby = l.uid)`
	watching := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for {
			select {
			case <-watching:
				return
			default:
				if n := l.Count(torn); n != 0 {
					t.Error("the room and its ticket disagree")
				}
			}
		}
	})
	for name, change := range map[string]func(id string){
		"a member cancels the ticket": func(id string) {
			declines, err := l.CancelPlayerTicket(t.Context(), universe, id, "bo")
			require.NoError(t, err)
			require.Empty(t, declines)
		},
		"a member cancels in the room": func(string) { l.send("bo", "party:1", "cancel", `{}`) },
		"a member leaves": func(string) {
			_, err := l.act("bo", "party:1", l.types.LeaveRoom(l.opened["bo"].SessionID, "bo"))
			require.NoError(t, err)
			l.join("party", "party:1", "bo")
		},
		"a member is kicked": func(string) {
			l.send("ada", "party:1", "kick", fmt.Sprintf(`{"session":%q}`, l.opened["bo"].SessionID))
			l.join("party", "party:1", "bo")
		},
		"a player joins": func(string) {
			l.open("cy")
			l.join("party", "party:1", "cy")
			_, err := l.act("cy", "party:1", l.types.LeaveRoom(l.opened["cy"].SessionID, "cy"))
			require.NoError(t, err)
		},
	} {
		id := l.asked("ada", "party:1", "ada", "bo")
		change(id)
		require.Equal(t, "cancelled", l.state(id), name)
		require.Equal(t, "open", l.phase("party:1"), name)
		require.Zero(t, l.Count("SELECT count(*) FROM realtime_tickets"), name)
	}
	close(watching)
	watcher.Wait()
	l.RequireInvariants()
}

// A ticket that is cancelled over HTTP takes the place of the session that queued alone along.
func TestASessionLosesThePlaceThatItsPlayerCancels(t *testing.T) {
	t.Parallel()
	l := setupParties(t)
	l.AddProfile("duel", duel)
	l.open("ada")
	o := l.opened["ada"]
	q, err := l.EnqueueRealtime(t.Context(), db.RealtimeEnqueueRequest{
		Region: region, ProjectID: "p1", Session: db.SessionEpoch{ID: o.SessionID, Epoch: o.OwnerEpoch}, Player: "ada",
		Queue: lobby.Queue{RoomType: "ranked", MatchSize: 2},
	})
	require.NoError(t, err)
	_, err = l.CancelPlayerTicket(t.Context(), universe, q.TicketID, "ada")
	require.NoError(t, err)
	require.Zero(t, l.Count("SELECT count(*) FROM realtime_tickets"))
	require.Equal(t, 1, l.Count("SELECT count(*) FROM realtime_expired WHERE reason = 'cancelled_by_member' AND session = $1", o.SessionID))
	l.RequireInvariants()
}

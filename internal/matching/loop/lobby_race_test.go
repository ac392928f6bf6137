package loop_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/lobby"
)

func codeOf(err error) string {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e.Code
	}
	return ""
}

// partyRace is a party that changes while the loop commits a match with it.
type partyRace struct {
	*lobbies

	other  *db.Store // another replica
	ticket string    // of the party
	room   string
}

// changes are what may happen to a party in the queue. Each returns whether it has taken the party out of the queue.
var changes = map[string]func(*partyRace) error{
	"leave": func(r *partyRace) error {
		_, err := r.on(r.other, "bo", r.types.LeaveRoom(r.opened["bo"].SessionID, "bo"))
		return err
	},
	"cancel": func(r *partyRace) error {
		_, err := r.on(r.other, "bo", r.types.HandleMessage(lobby.Message{Session: r.opened["bo"].SessionID,
			Player: "bo", Type: "cancel"}))
		if errors.Is(err, lobby.ErrMatched) {
			return nil // the match was faster, and says so
		}
		return err
	},
	"cancel the ticket": func(r *partyRace) error {
		_, err := r.other.CancelPlayerTicket(r.t.Context(), universe, r.ticket, "ada")
		return err
	},
	"queue alone": func(r *partyRace) error {
		_, err := r.other.EnqueueRealtime(r.t.Context(), r.alone("bo", "elsewhere", 16))
		return err
	},
	"dequeue": func(r *partyRace) error {
		o := r.opened["bo"]
		_, err := r.other.DequeueRealtime(r.t.Context(),
			db.RealtimeDequeueRequest{Region: region, Session: db.SessionEpoch{ID: o.SessionID, Epoch: o.OwnerEpoch}})
		return err
	},
	"end": func(r *partyRace) error {
		o := r.opened["bo"]
		ended := []db.SessionEpoch{{ID: o.SessionID, Epoch: o.OwnerEpoch}}
		suspended := db.Suspension{AwayAction: r.types.MarkAway, IsAnnounced: true}
		if err := r.other.SuspendRealtime(r.t.Context(), region, ended, suspended); err != nil {
			return err
		}
		_, err := r.Pool().Exec(r.t.Context(), `WITH live AS (UPDATE replicas SET steady_since = clock_timestamp() - interval '1 hour', seen_at = clock_timestamp())
			UPDATE realtime_sessions SET expires_at = clock_timestamp() - interval '1 hour', ttl = '0 s' WHERE id = $1`, o.SessionID)
		if err != nil {
			return err
		}
		_, err = r.other.EndExpiredRealtime(r.t.Context(), region)
		return err
	},
}

func (r *partyRace) on(s *db.Store, player string, act lobby.Action) (db.LobbyAnswer, error) {
	o := r.opened[player]
	return s.ActInLobby(r.t.Context(), db.LobbyAction{Region: region, ProjectID: "p1",
		Session: db.SessionEpoch{ID: o.SessionID, Epoch: o.OwnerEpoch}, RoomID: r.room, Act: act})
}

func (r *partyRace) alone(player, roomType string, size int) db.RealtimeEnqueueRequest {
	o := r.opened[player]
	return db.RealtimeEnqueueRequest{
		Region: region, ProjectID: "p1", Session: db.SessionEpoch{ID: o.SessionID, Epoch: o.OwnerEpoch}, Player: player,
		Queue: lobby.Queue{RoomType: roomType, MatchSize: size},
	}
}

// A party changes while the loop commits a match with it: the ticket is in the match, or it has left the queue, and
// never both. Both ways into the queue, any order.
func TestAPartyThatChangesBesideItsMatch(t *testing.T) {
	t.Parallel()
	l := setupParties(t)
	other := l.store()
	l.worker()
	seen := map[string]int{}
	for round := range 10 {
		for name, change := range changes {
			r := &partyRace{lobbies: l, other: other, room: "party:1"}
			overHTTP := round%2 == 0
			r.party(r.room, "ada", "bo")
			r.open("cy")
			if overHTTP {
				r.ticket = r.asked("ada", r.room, "ada", "bo")
			} else {
				r.send("ada", r.room, "queue", `{"room_type":"three","size":3}`)
				require.NoError(t, r.Pool().QueryRow(t.Context(),
					"SELECT min(ticket) FROM realtime_tickets WHERE lobby IS NOT NULL").Scan(&r.ticket))
			}
			var race errgroup.Group
			race.Go(func() error {
				r.pause(t, rand.IntN(40))
				if overHTTP {
					r.QueuePlayer("cy", 1, "trio")
					return nil
				}
				_, err := r.EnqueueRealtime(t.Context(), r.alone("cy", "three", 3))
				return err
			})
			race.Go(func() error {
				r.pause(t, rand.IntN(60))
				return change(r)
			})
			require.NoError(t, race.Wait(), name)
			r.Eventually(1, "SELECT count(*) FROM ticket_events WHERE ticket_id = $1 AND state IN ('assigned', 'cancelled')",
				r.ticket)
			state := r.state(r.ticket)
			matches := 0
			if state == "assigned" {
				matches = 1
			}
			require.Equal(t, matches, r.Count(matchRooms+" AND $1 = ANY (participants)", r.opened["ada"].SessionID), name)
			require.Equal(t, matches, r.Count(matchRooms+" AND $1 = ANY (participants)", r.opened["bo"].SessionID), name)
			require.Zero(t, r.Count("SELECT count(*) FROM realtime_tickets WHERE session = $1", r.opened["ada"].SessionID),
				name)
			must.Get(r.SettleLostTickets(t.Context(), region, 100, func([]byte) (string, error) { return "", nil }))(t)
			r.tell() // as workers do
			phase := map[string]string{"assigned": "matched", "cancelled": "open"}[state]
			if r.Count("SELECT count(*) FROM lobbies WHERE id = $1", r.room) > 0 && name != "leave" && name != "end" {
				require.Equal(t, phase, r.phase(r.room), name)
			}

			// The queue and the rooms are empty for the next race.
			r.Eventually(0, "SELECT count(*) FROM realtime_tickets r WHERE NOT EXISTS (SELECT FROM tickets t WHERE t.id = r.ticket)")
			for _, row := range r.Rows("SELECT ticket_id, min(sub) FROM ticket_players GROUP BY 1") {
				id, sub, _ := strings.Cut(row, "|")
				must.Get(r.CancelPlayerTicket(t.Context(), universe, id, sub))(t)
			}
			for _, statement := range []string{"DELETE FROM lobby_members", "DELETE FROM lobbies",
				"DELETE FROM realtime_sessions", "DELETE FROM realtime_expired", "DELETE FROM lobby_outcomes"} {
				r.Exec(statement)
			}
			seen[state]++
		}
	}
	t.Log(seen)
	l.RequireInvariants()
}

// pause lets some time pass: that of so many questions to the database.
func (r *partyRace) pause(t *testing.T, questions int) {
	t.Helper()
	for range questions {
		_, _ = r.Pool().Exec(t.Context(), "SELECT 1")
	}
}

package faults

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/test/rigtest"
)

// lostRegion is an installation of two regions, of which one dies while everybody plays there.
type lostRegion struct {
	*rig

	queued, seated int // players by way of tickets, and by POST /matchmake
	worker         *process
	replicas       []*process
}

// All game servers of a region are killed, then, in the middle of the evacuation, the only worker and a replica. Within
// five seconds each player has one place in the queue or one seat, parties are whole, and all keep their old order.
// Those who come back find where they are. In a long run it is 10,000 players.
//
//nolint:paralleltest // it promises seconds
func TestAKilledRegionIsEvacuated(t *testing.T) {
	players := longtest.Pick(600, 10_000)
	l := &lostRegion{rig: newRig(t), queued: players * 9 / 10, seated: players / 10}
	killServers := l.fill()
	l.KeepAliveIn("us", time.Second, "us-1", "us-2")

	killServers()
	began := time.Now()
	l.RunCommand("evacuate", "eu", "--requeue", "--dead", "--seats-in", "us", "--reason", "power")
	l.AwaitTrue("SELECT count(*) > 0 FROM evacuated_players")
	l.worker.Process.Kill()
	l.replicas[0].Process.Kill()
	l.SetURLs(l.replicas[1].URL, l.replicas[2].URL)
	notEnded := one[int](l.rig, "SELECT count(*) FROM evacuations WHERE ended_at IS NULL")
	l.StartProcess("work")
	l.AwaitTrue("SELECT bool_and(ended_at IS NOT NULL) FROM evacuations")
	took := one[float64](l.rig, "SELECT extract(epoch FROM ended_at - begun_at)::float8 FROM evacuations")
	t.Logf("%d players in %.2f s, %.2f s with the command; killed in the middle: %v", players, took,
		time.Since(began).Seconds(), notEnded == 1)
	// One place for each player, whole parties and the old order.
	require.Equal(t, players, one[int](l.rig,
		"SELECT count(DISTINCT sub) FROM evacuated_players WHERE state IN ('queued', 'seated')"))
	l.requireNone("players without a place, or with two", `SELECT p.sub FROM evacuated_players p
		WHERE (SELECT count(*) FROM ticket_players k WHERE k.sub = p.sub) + (SELECT count(*) FROM seats s WHERE s.sub = p.sub) <> 1`)
	l.requireNone("torn parties",
		"SELECT ticket FROM evacuated_players WHERE ticket <> '' GROUP BY ticket HAVING count(DISTINCT next_ticket) <> 1")
	require.Zero(t, one[int](l.rig, `
		WITH tickets_then AS (SELECT DISTINCT next_ticket, waited FROM evacuated_players WHERE next_ticket <> ''),
		     tickets_now AS (SELECT p.next_ticket, p.waited, coalesce(k.created, (SELECT (extract(epoch FROM h.created) * 1e9)::bigint FROM ticket_history h WHERE h.id = p.next_ticket)) AS created
		                     FROM tickets_then p LEFT JOIN tickets k ON k.id = p.next_ticket)
		SELECT count(*) FROM (SELECT waited, lag(waited) OVER (ORDER BY created, waited DESC) AS before FROM tickets_now WHERE created IS NOT NULL) x
		WHERE x.waited > x.before + interval '2 microseconds'`), "tickets before those that had waited longer")
	require.Less(t, took, 5.0)
	l.AwaitTrue("SELECT count(*) = $1 FROM seats WHERE region = 'us'", players)
	formerHandles := one[map[string]string](l.rig, `SELECT json_object_agg(x.sub, x.handle) FROM (SELECT p.sub, h.handle FROM evacuated_players p
		JOIN session_history h ON h.region = p.region AND h.id = p.session_id
		WHERE EXISTS (SELECT FROM seats s WHERE s.sub = p.sub AND s.region = 'us') ORDER BY md5(p.sub) LIMIT 20) x`)
	require.NotEmpty(t, formerHandles)
	for sub, handle := range formerHandles {
		l.follow(sub, handle)
	}
	l.RequireInvariants()
}

// fill starts the processes, and seats everybody in region eu. It returns a function that kills the game servers of eu.
func (l *lostRegion) fill() (killServers func()) {
	l.T.Helper()
	for range 3 {
		l.replicas = append(l.replicas, l.ServeReplica())
	}
	l.worker = l.StartProcess("work")
	l.ApplyProfile("name: duel\nmode: duel\nregions: [eu, us]\nteams: [{name: all, players: 4}]\n")
	killServers = l.KeepAlive(time.Second, "eu-1", "eu-2", "eu-3")
	rigtest.Each(l.queued*2/3, 64, func(turn int) {
		party := []string{fmt.Sprintf("q-%d-a", turn), fmt.Sprintf("q-%d-b", turn)}[:2-turn%2] // two players, or one alone
		l.PlayUntilDone(l.T.Context(), party[0], "/tickets",
			fields{"profiles": []string{"duel"}, "party": party, "latencies": fields{"eu": 20, "us": 90}})
	})
	rigtest.Each(l.seated, 64, func(turn int) {
		l.PlayUntilDone(l.T.Context(), fmt.Sprintf("m-%d", turn), "/matchmake", fields{"region": "eu", "mode": "duel"})
	})
	l.AwaitTrue("SELECT count(*) = $1 FROM seats WHERE region = 'eu'", l.queued+l.seated)
	l.AwaitTrue("SELECT sum(cardinality(party)) = $1 FROM ticket_history", l.queued)
	return killServers
}

// follow requires that a player finds a seat in region us by the handle of the session in eu that has ended.
func (l *lostRegion) follow(sub, handle string) {
	l.T.Helper()
	answer := l.RequireStatus(http.StatusGone)(l.PostPlay(sub, "/resolve", fields{"session_handle": handle}))
	next, isSeated := answer["session_handle"].(string)
	if !isSeated {
		require.Contains(l.T, answer, "ticket_id")
		var ticket fields
		require.Eventually(l.T, func() bool {
			var err error
			_, ticket, err = l.CallJSON(l.T.Context(), http.MethodGet,
				fmt.Sprintf("%s/tickets/%v", l.NextReplica(), answer["ticket_id"]), l.HeaderOf(sub), nil)
			return err == nil && ticket["state"] == "assigned"
		}, 30*time.Second, 20*time.Millisecond, "%v", &ticket)
		next, _ = ticket["session_handle"].(string)
	}
	answer = l.RequireOK(l.PostPlay(sub, "/resolve", fields{"session_handle": next}))
	require.Contains(l.T, answer["session_id"], "us.")
}

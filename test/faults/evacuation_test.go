package faults

import (
	"context"
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
	die := l.fill()
	l.KeepAliveIn("us", time.Second, "us-1", "us-2")

	die()
	began := time.Now()
	l.RunCommand("evacuate", "eu", "--requeue", "--dead", "--seats-in", "us", "--reason", "power")
	l.AwaitTrue("SELECT count(*) > 0 FROM evacuated_players")
	l.worker.Process.Kill()
	l.replicas[0].Process.Kill()
	l.SetURLs(l.replicas[1].URL, l.replicas[2].URL)
	undone := one[int](l.rig, "SELECT count(*) FROM evacuations WHERE ended_at IS NULL")
	l.StartProcess("work")
	l.AwaitTrue("SELECT bool_and(ended_at IS NOT NULL) FROM evacuations")
	took := one[float64](l.rig, "SELECT extract(epoch FROM ended_at - begun_at)::float8 FROM evacuations")
	t.Logf("%d players in %.2f s, %.2f s with the command; killed in the middle: %v", players, took,
		time.Since(began).Seconds(), undone == 1)
	l.requireEverybodyOnce(players)
	require.Less(t, took, 5.0)
	l.AwaitTrue("SELECT count(*) = $1 FROM seats WHERE region = 'us'", players)
	l.comeBack(20)
	l.RequireInvariants()
}

// fill starts the processes, and seats everybody in region eu. It returns what kills its game servers.
func (l *lostRegion) fill() (die func()) {
	l.T.Helper()
	for range 3 {
		l.replicas = append(l.replicas, l.ServeReplica())
	}
	l.worker = l.StartProcess("work")
	l.ApplyProfile("name: duel\nmode: duel\nregions: [eu, us]\nteams: [{name: all, players: 4}]\n")
	ctx, die := context.WithCancel(l.T.Context())
	l.dyingServers(ctx, "eu-1", "eu-2", "eu-3")
	rigtest.Each(l.queued*2/3, 64, func(turn int) {
		party := partyOf(turn)
		l.call(party[0], "/tickets", http.StatusCreated,
			fields{"profiles": []string{"duel"}, "party": party, "latencies": fields{"eu": 20, "us": 90}})
	})
	rigtest.Each(l.seated, 64, func(turn int) {
		l.call(fmt.Sprintf("m-%d", turn), "/matchmake", http.StatusOK, fields{"region": "eu", "mode": "duel"})
	})
	l.AwaitTrue("SELECT count(*) = $1 FROM seats WHERE region = 'eu'", l.queued+l.seated)
	l.AwaitTrue("SELECT sum(cardinality(party)) = $1 FROM ticket_history", l.queued)
	return die
}

// partyOf returns who queues in a turn: two players, then one alone.
func partyOf(turn int) []string {
	if turn%2 == 0 {
		return []string{fmt.Sprintf("q-%d-a", turn), fmt.Sprintf("q-%d-b", turn)}
	}
	return []string{fmt.Sprintf("q-%d-a", turn)}
}

// call repeats a call of a player until it answers as it should.
func (l *lostRegion) call(sub, path string, want int, body fields) {
	for l.T.Context().Err() == nil {
		status, answer, err := l.PostPlay(sub, path, body)
		switch {
		case err == nil && (status == want || status == http.StatusOK):
			return
		case err == nil && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests:
			l.T.Errorf("%s answered %d: %v", path, status, answer)
			return
		}
		pause(l.T.Context(), 20*time.Millisecond)
	}
}

// dyingServers registers game servers that send heartbeats until ctx ends.
func (l *lostRegion) dyingServers(ctx context.Context, ids ...string) {
	for _, id := range ids {
		status, answer, err := l.PostFleet("/fleet/register",
			fields{"instance_id": id, "endpoint": id + ":7777", "region": "eu",
				"modes": []string{"duel"}, "capacity": 50000, "boot_id": id})
		require.NoError(l.T, err)
		require.Equal(l.T, http.StatusOK, status, "%v", answer)
		go func() {
			for ctx.Err() == nil {
				pause(ctx, time.Second)
				_, _, _ = l.PostFleet("/fleet/heartbeat", fields{"instance_id": id})
			}
		}()
	}
}

// requireEverybodyOnce requires one place for each player, whole parties and the old order.
func (l *lostRegion) requireEverybodyOnce(players int) {
	l.T.Helper()
	require.Equal(l.T, players, one[int](l.rig,
		"SELECT count(DISTINCT sub) FROM evacuated_players WHERE state IN ('queued', 'seated')"))
	require.Empty(l.T, one[[]string](l.rig, `
		SELECT coalesce(array_agg(p.sub), '{}') FROM evacuated_players p
		WHERE (SELECT count(*) FROM ticket_players k WHERE k.sub = p.sub) + (SELECT count(*) FROM seats s WHERE s.sub = p.sub) <> 1`),
		"players without a place, or with two")
	require.Empty(l.T, one[[]string](l.rig, `
		SELECT coalesce(array_agg(x.ticket), '{}') FROM (
			SELECT ticket FROM evacuated_players WHERE ticket <> '' GROUP BY ticket HAVING count(DISTINCT next_ticket) <> 1) x`), "torn parties")
	require.Zero(l.T, one[int](l.rig, `
		WITH tickets_then AS (SELECT DISTINCT next_ticket, waited FROM evacuated_players WHERE next_ticket <> ''),
		     tickets_now AS (SELECT p.next_ticket, p.waited, coalesce(k.created, (SELECT (extract(epoch FROM h.created) * 1e9)::bigint FROM ticket_history h WHERE h.id = p.next_ticket)) AS created
		                     FROM tickets_then p LEFT JOIN tickets k ON k.id = p.next_ticket)
		SELECT count(*) FROM (SELECT waited, lag(waited) OVER (ORDER BY created, waited DESC) AS before FROM tickets_now WHERE created IS NOT NULL) x
		WHERE x.waited > x.before + interval '2 microseconds'`), "tickets before those that had waited longer")
}

// comeBack lets players whose connection broke find where they play now.
func (l *lostRegion) comeBack(players int) {
	l.T.Helper()
	was := one[map[string]string](l.rig, `SELECT json_object_agg(x.sub, x.handle) FROM (SELECT p.sub, h.handle FROM evacuated_players p
		JOIN session_history h ON h.region = p.region AND h.id = p.session_id
		WHERE EXISTS (SELECT FROM seats s WHERE s.sub = p.sub AND s.region = 'us') ORDER BY md5(p.sub) LIMIT $1) x`, players)
	require.NotEmpty(l.T, was)
	for sub, handle := range was {
		l.follow(sub, handle)
	}
}

// follow asks with the handle of a session that has ended.
func (l *lostRegion) follow(sub, handle string) {
	l.T.Helper()
	status, answer, err := l.PostPlay(sub, "/resolve", fields{"session_handle": handle})
	require.NoError(l.T, err)
	require.Equal(l.T, http.StatusGone, status, "%v", answer)
	next, isSeated := answer["session_handle"].(string)
	if !isSeated {
		require.Contains(l.T, answer, "ticket_id")
		var ticket fields
		require.Eventually(l.T, func() bool {
			status, ticket, err = l.CallJSON(l.T.Context(), http.MethodGet,
				fmt.Sprintf("%s/tickets/%v", l.NextReplica(), answer["ticket_id"]), l.HeaderOf(sub), nil)
			return err == nil && status == http.StatusOK && ticket["state"] == "assigned"
		}, 30*time.Second, 20*time.Millisecond, "%v", ticket)
		next, _ = ticket["session_handle"].(string)
	}
	status, answer, err = l.PostPlay(sub, "/resolve", fields{"session_handle": next})
	require.NoError(l.T, err)
	require.Equal(l.T, http.StatusOK, status, "%v", answer)
	require.Contains(l.T, answer["session_id"], "us.")
}

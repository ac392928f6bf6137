package faults

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/agents"
	"github.com/lattice-director/director/internal/testkit/longtest"
)

// A player gets a seat in the process of a Rivalis agent. The replica that holds the agent's connection is killed after
// the commit, when the game server has created the room but its ack has not arrived. The player still gets the room.
func TestASeatInARivalisRoomSurvivesTheReplica(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestAgentsSurviveTheirReplicas")
	r := newAgentRig(t, "DIRECTOR_ORCHESTRATOR_REGION=eu", "DIRECTOR_LEASE_TTL=5s")
	first := r.addReplica()
	silent := newSilentServer()
	game, _ := r.attach("eu1", func(c *agents.Config) {
		c.Labels = map[string]string{"matchmaking": "true"}
		c.Send = silent.send
	})
	r.awaitListed(1)
	second := r.addReplica("--work")

	var answer fields
	awaitStatus := func(want int, sub, path string, body fields) fields {
		t.Helper()
		require.Eventually(t, func() bool {
			var status int
			status, answer, _ = r.PostJSON(second.URL, path, r.HeaderOf(sub), body)
			return status == want
		}, 20*time.Second, 50*time.Millisecond)
		return answer
	}
	request := fields{"region": "eu", "mode": "duel", "max_players": 2}
	seat := awaitStatus(http.StatusOK, "ann", "/matchmake", request)
	resolved := fields{"session_handle": seat["session_handle"]}
	<-silent.begun
	require.Eventually(t, func() bool { // a slow machine answers unavailable first
		return r.RequireStatus(http.StatusServiceUnavailable)(r.PostJSON(second.URL, "/resolve", r.HeaderOf("ann"),
			resolved))["code"] == "room_pending"
	}, 20*time.Second, 50*time.Millisecond)
	first.Process.Kill()
	r.address.RemoveAddr(first.orchestrator)
	silent.isOver.Store(true)
	began := time.Now()
	awaitStatus(http.StatusOK, "ann", "/resolve", resolved)
	t.Logf("resolved %s after the replica was killed", time.Since(began))
	require.Equal(t, "wss://eu1.example.com", answer["endpoint"])
	require.Equal(t, seat["session_id"], "eu."+strings.Join(roomsOf(game), " "))

	awaitStatus(http.StatusOK, "bob", "/matchmake", request)
	require.Equal(t, seat["session_id"], answer["session_id"], "a second player joins the room")
	require.Equal(t, 1, one[int](r.rig, "SELECT count(*) FROM sessions"))
	r.RequireInvariants()
}

// The director loop places a match on the process of an agent. The match, its seats and the command that creates the
// room are one commit.
func TestAMatchInARivalisRoom(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestAgentsSurviveTheirReplicas")
	r := newAgentRig(t, "DIRECTOR_ORCHESTRATOR_REGION=eu")
	r.addReplica("--work")
	r.ApplyProfile("name: duel\nmode: duel\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\n")
	game, _ := r.attach("eu1", func(c *agents.Config) { c.Labels = map[string]string{"matchmaking": "true"} })
	for _, sub := range []string{"ann", "bob"} {
		r.QueueFor(sub, "duel")
	}
	require.Eventually(t, func() bool { return len(roomsOf(game)) == 1 }, 20*time.Second, 50*time.Millisecond)
	require.Equal(t, roomsOf(game)[0], one[string](r.rig,
		"SELECT id::text FROM sessions WHERE match_id IS NOT NULL AND player_count = 2"))
	require.Equal(t, 1, one[int](r.rig, "SELECT count(*) FROM commands"))
	handle := one[string](r.rig, "SELECT handle FROM sessions")
	for _, sub := range []string{"ann", "bob"} {
		answer := r.PlayUntilDone(t.Context(), sub, "/resolve", fields{"session_handle": handle})
		require.Equal(t, "wss://eu1.example.com", answer["endpoint"])
	}

	game.CloseRoom(roomsOf(game)[0])
	r.AwaitTrue("SELECT count(*) = 1 FROM session_history WHERE reason = 'room_gone'")
	r.RequireInvariants()
}

func roomsOf(a *agents.Agent) (ids []string) {
	for _, room := range a.Snapshot().Rooms {
		ids = append(ids, room.ID)
	}
	return ids
}

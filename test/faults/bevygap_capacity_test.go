package faults

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/provider/edgegap/edgegaptest"
)

// Pins a provider whose first three answers are that it has no room, while 78 clients wait for up to a minute: 25 of
// them got a terminal 503, and their client never asks again. Everybody waits for the next try, and gets a server.
func TestAProviderWithoutRoomEndsNoRequest(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestKilledWorkersStartEachServerOnce")
	const clients = 78
	e := newEdgegapRig(t, "DIRECTOR_BEVYGAP=guests", "DIRECTOR_BEVYGAP_PER_ADDRESS=1000")
	e.ExecSQL(`INSERT INTO app_versions (app, version, provider, launch, launch_version, ports, game_port, modes, capacity, max_players, register_within, dialect, protocol_id)
		VALUES ('my game', '1', 'edgegap', 'arena', '1.0', '[{"name": "game", "internal": 5000, "protocol": "udp"}]', 'game', '{duel}', 8, 8, '1 hour', 'lightyear-le', '7')`)
	e.ExecSQL("INSERT INTO pools (region, app, version, max_servers, max_starting, latitude, longitude) VALUES ('eu', 'my game', '1', 12, 3, 50, 8)")
	e.ExecSQL("INSERT INTO pool_modes (region, mode, app, version) VALUES ('eu', 'duel', 'my game', '1')")
	e.fake.QueueFaults("deploy", edgegaptest.InError, edgegaptest.InError, edgegaptest.InError)

	replica := e.ServeReplica("--work")
	b := &bevygapRig{rig: e.rig}
	all := b.askAll(replica.URL, clients)
	require.Eventually(t, func() bool {
		e.joinAll()
		return !slices.ContainsFunc(all, func(c *bevygapClient) bool { return !c.hasEnded() })
	}, 90*time.Second, 100*time.Millisecond)

	for _, c := range all {
		require.NotEmpty(t, c.frames, "%v", c.err)
		require.Contains(t, c.frames[len(c.frames)-1], "SessionReady", strings.Join(c.frames, "\n"))
	}
	require.Equal(t, 1, one[int](e.rig, "SELECT count(*)::int FROM start_pauses WHERE app = 'my game' AND cause = 'capacity'"), "the pool paused")
	require.Equal(t, 3, one[int](e.rig, "SELECT count(*)::int FROM deployment_history WHERE reason = 'the provider has no capacity'"))
	require.Equal(t, clients, one[int](e.rig, "SELECT count(DISTINCT sub)::int FROM seats"))
	e.RequireInvariants()
}

package faults

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/test/rigtest"
)

// newLobbyRig makes an installation whose leases last three seconds and whose suspended sessions five.
func newLobbyRig(t *testing.T, settings ...string) *rig {
	t.Helper()
	return newRig(t, slices.Concat(rigtest.LobbySettings(),
		[]string{"DIRECTOR_REALTIME_SESSION_TTL=5s", "DIRECTOR_LEASE_TTL=3s"}, settings)...)
}

// counterValues returns the values of the counter that a client has received, in order, without those that were
// repeated although the client had them.
func counterValues(c rigtest.Member, room string) (values []int) {
	known := map[string]bool{}
	for _, e := range c.HeardEvents() {
		if e.Type != "room.message" || e.Room != room {
			continue
		}
		isAgain := e.P["repeated"] == true && known[e.Text("id")]
		if isAgain {
			continue
		}
		known[e.Text("id")] = true
		data, _ := e.P["data"].(map[string]any)
		n, _ := data["counter"].(float64)
		values = append(values, int(n))
	}
	return values
}

// requireOnce asserts that values rise by one at each step, and by more at no more than so many steps (gaps).
func requireOnce(t *testing.T, values []int, gaps int, who string) {
	t.Helper()
	for i, n := range values {
		if i == 0 || n == values[i-1]+1 {
			continue
		}
		require.Greater(t, n, values[i-1], "%s was told twice: %v", who, values)
		gaps--
	}
	require.GreaterOrEqual(t, gaps, 0, "%s missed values while it was connected: %v", who, values)
}

// countPresence counts the events of a kind about a session that a client has received in a room.
func countPresence(c rigtest.Member, kind, room, session string) (n int) {
	for _, e := range c.HeardEvents() {
		if e.Type == kind && e.Room == room && e.Text("client_id") == session {
			n++
		}
	}
	return n
}

package proof

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
)

func lobbyRound(patches, matches, oneRoom, row, few, many bench.Result, full int64) round {
	return round{
		lobbyQuiet: lobbyRun(10, 1, 1, 50<<20), lobbyFull: lobbyRun(10, 1, 1, full), echoQuiet: lobbyRun(10, 1, 1, 1), echoFull: lobbyRun(10, 1, 1, 1),
		lobbyPatches: patches, lobbyMatches: matches, lobbyOneRoom: oneRoom, oneRow: row, lobbyFewJoin: few, lobbyJoin: many,
		notices: lobbyRun(200, 1, 1, 0), commit: lobbyRun(9000, 1, 1, 0),
	}
}

func lobbyRun(perSecond, p50, p99 float64, rss int64) bench.Result {
	return bench.Result{
		Seconds: 10, Figures: bench.Figures{Calls: 100, PerSecond: perSecond, Latency: bench.Latency{P50: p50, P99: p99}},
		Costs: &bench.Costs{ServerMicros: 1000, ServerRSS: rss},
	}
}

func joined(clients int, frames, took float64) bench.Result {
	r := lobbyRun(1, took, took, 0)
	r.Sessions, r.Frames = clients, frames
	return r
}

// Pins targets that are reported as met although they are missed, memory that is not divided by the sessions of one
// replica, and frames that count as linear although they grow with the square of the clients.
func TestRoomsFindings(t *testing.T) {
	t.Parallel()
	sizes := lobbySizes{idle: 100, join: 80}
	good := lobbyRound(lobbyRun(500, 15, 60, 0), lobbyRun(50, 30, 90, 0), lobbyRun(2000, 1, 1, 0), lobbyRun(2000, 1, 1, 0),
		joined(20, 400, 40), joined(80, 1.1*6400, 1.25*1.1*640), 50<<20+50*40<<10)
	got, missed := values(rounds{good}.inLobby(sizes))
	require.Equal(t, []string{"40 KiB", "15.00 ms", "60.00 ms", "30.00 ms", "2,000/s", "1.00 ×", "1.10 ×", "1.25 ×", "0"}, got)
	require.Empty(t, missed)
	bad := lobbyRound(lobbyRun(500, 15.1, 60.1, 0), lobbyRun(50, 30.1, 1, 0), lobbyRun(1999, 1, 1, 0), lobbyRun(2000, 1, 1, 0),
		joined(20, 400, 1), joined(80, 4*6400, 100), 50<<20+50*41<<10)
	_, missed = values(rounds{bad}.inLobby(sizes))
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7}, missed)
}

// Pins a storm that is judged by its first client.
func TestStormFindings(t *testing.T) {
	t.Parallel()
	s := storm{clients: 2, joined: 10 * time.Second, back: []time.Duration{time.Second, 10 * time.Second}}
	_, missed := values(s.findings())
	require.Empty(t, missed)
	s.back[1] += 100 * time.Millisecond
	_, missed = values(s.findings())
	require.Equal(t, []int{0, 1}, missed)
}

package main

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/logtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/server/openmatch"
)

func TestMain(m *testing.M) { dbtest.VerifyNoLeaks(m) }

// startReplica starts a replica that serves the Open Match API on a database, which replicas can share, and returns its
// address.
func startReplica(t *testing.T, url string) string {
	store := storetest.Open(t, url)
	require.NoError(t, store.ReadClock(t.Context()))
	server := must.Get(openmatch.New(openmatch.Options{
		Store: store, Registration: 50 * time.Millisecond, Addrs: []string{"127.0.0.1:0"}, CallTimeout: time.Minute,
	}))(t)
	require.NoError(t, server.Listen(t.Context()))
	background.Serve(t, server)
	return server.Addrs()[0].String()
}

// Pins Open Match programs that do not work with several replicas, players who are assigned twice or play alone, and a
// director that does not end.
func TestAgainstTwoReplicas(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	one, other := startReplica(t, url), startReplica(t, url)
	var logged logtest.Buffer
	log := slog.New(slog.NewJSONHandler(&logged, nil))
	err := runParts(t.Context(), log, []string{
		"-frontend", one, "-backend", other, "-query", one, "-listen", "127.0.0.1:0", "-players", "61", "-timeout",
		"5s",
	})
	require.NoError(t, err)
	rooms := map[string][]string{} // players by the address that they were assigned to
	for line := range strings.Lines(logged.String()) {
		var entry struct{ Msg, Player, To, Level string }
		require.NoError(t, json.Unmarshal([]byte(line), &entry))
		require.Equal(t, "INFO", entry.Level, line)
		if entry.Msg == "connects" {
			rooms[entry.To] = append(rooms[entry.To], entry.Player)
		}
	}
	seen := map[string]bool{}
	for room, players := range rooms {
		require.Len(t, players, 2, room)
		for _, p := range players {
			require.False(t, seen[p], p)
			seen[p] = true
		}
	}
	require.GreaterOrEqual(t, len(seen), 50, "one is left over, or a few on a machine that is too busy")
}

func TestWrongUse(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	require.ErrorContains(t, runParts(t.Context(), log, []string{"dance"}), `there is no part "dance"`)
	require.ErrorContains(t, runParts(t.Context(), log,
		[]string{"-director", "127.0.0.1:1", "-players", "1", "-listen", "127.0.0.1:0"}), "player-0")
	require.ErrorContains(t, runParts(t.Context(), log, []string{"-listen", "nowhere", "matchfunction"}), "nowhere")
}

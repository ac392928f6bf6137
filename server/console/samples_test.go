package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/opsview"
)

// Pins plots without the last minutes of the fleet and of health, of the wrong region, or that hide the minutes in which
// no worker ran.
func TestPlotsOfTheLastHour(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.as(adaToken)
	require.NotContains(t, w.get("/fleet").Body, "Over time")
	require.NotContains(t, w.get("/health").Body, "Over time")
	b.samples()
	w.contains("/fleet", "Game servers by state", "Seats of ready game servers", "capacity now")
	require.NotContains(t, w.get("/fleet?region=us").Body, "Seats of ready game servers")
	w.contains("/fleet?region=eu", "Over time in eu")
	w.contains("/health", "Waiting tickets and players", "Age of the oldest snapshot", "late loops now 0", "director")

	past, err := readSamples(t.Context(), b.Store, "", hour, "instances", "matches")
	require.NoError(t, err)
	require.NotContains(t, past.instancesLine("ready")[:35], 0.0)
	require.Contains(t, past.instancesLine("ready"), -1.0, "minutes in which no worker ran")
	require.Contains(t, past.instancesLine("silent"), 0.0, "minutes in which others have a value")
	require.Contains(t, past.instancesLine("silent"), -1.0)
	require.WithinDuration(t, time.Now(), past.now, time.Minute)
}

// Pins a page of health that lists only replicas which hold connections of players.
func TestHealthListsConnectedProcesses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v, err := readViews(t.Context(), b.Store, opsview.ReadHealth)
	require.NoError(t, err)
	require.NotEmpty(t, v.Processes)
	require.Equal(t, "director", v.Processes[0].Process)
	require.Positive(t, v.Processes[0].Connections)
	b.as(adaToken).contains("/health", "Replicas and workers", `<th scope="row">director</th>`)
}

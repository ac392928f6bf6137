package roomhost_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// A process reconnects to the replica that has not noticed the end of its earlier connection. Its rooms are then shown
// twice, and those of the second connection have other public ids, which they keep when the first one is evicted.
func TestASecondConnectionToTheSameReplicaClosesNoSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stop := b.run(b.replica)
	first := b.join(b.agent(b.replica, 1))
	ann := b.place("ann", "duel")
	id := sessionOf(ann)
	b.created(id)
	b.Eventually(1, "SELECT count(*) FROM sessions WHERE room_at IS NOT NULL")
	again := b.agent(b.replica, 1)
	again.ReportedRooms = []db.ReportedRoom{{RawID: id, Type: "duel", ConnectionCount: 1}}
	b.join(again)
	require.Equal(t, 2, b.Count("SELECT count(*) FROM rooms WHERE base = $1", id))
	stop()
	require.NoError(t, b.LeaveAgent(t.Context(), first.Ref))
	done, err := b.SettleRooms(t.Context(), region, b.replica, []string{again.Content.ProcessUID})
	require.NoError(t, err)
	require.Equal(t, db.SettledRooms{}, done)
	_, err = b.resolve(ann, "ann")
	require.NoError(t, err)
	hosts, err := b.HostProcesses(t.Context(), region, b.replica)
	require.NoError(t, err)
	require.Len(t, hosts, 1)
	require.Zero(t, hosts[0].OtherRooms, "the room is the session's")

	b.Exec("SELECT close_sessions($1, ARRAY[$2]::uuid[], 'closed by an operator')", region, id)
	orphans, err := b.OrphanedRooms(t.Context(), region, b.replica, []string{again.Content.ProcessUID})
	require.NoError(t, err)
	require.Equal(t, []string{again.Content.ProcessUID + "~" + id}, orphans)
}

// Pins leases that are shorter than three heartbeats of the default: they are renewed as often as those of replicas.
func TestProcessesStayAliveByShortLeases(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *db.Config) { c.Timing = db.DefaultTiming(); c.Timing.LeaseTTL = time.Second })
	b.run(b.replica)
	b.join(b.agent(b.replica, 1))
	b.Eventually(1, "SELECT count(*) FROM instances")
	for begun := time.Now(); time.Since(begun) < 2500*time.Millisecond; {
		require.Equal(t, 1, b.Count("SELECT count(*) FROM instance_leases WHERE heartbeat_at > clock_timestamp() - interval '800 ms'"))
	}
}

// Pins placements that wait for the lock of an agent: one that a frozen replica holds, or a transaction that applies
// 50,000 rooms. They hold locks of instances meanwhile, so the whole region waits.
func TestPlacementDoesNotWaitForTheAgent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.replica)
	j := b.join(b.agent(b.replica, 1))
	b.Eventually(1, "SELECT count(*) FROM instances WHERE status = 'ready'")
	tx, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context()) //nolint:errcheck // it is rolled back below
	_, err = tx.Exec(t.Context(), "SELECT FROM agent_states WHERE agent_id = $1 FOR NO KEY UPDATE", j.Ref.ID)
	require.NoError(t, err)
	placed, err := b.Place(t.Context(), db.PlaceRequest{Caller: "ann", Region: region, Mode: "duel", MaxPlayers: 2,
		Party: []string{"ann"}})
	require.NoError(t, err)
	require.Zero(t, b.Count("SELECT count(*) FROM rooms"))
	require.NoError(t, tx.Rollback(t.Context()))
	b.Eventually(1, "SELECT count(*) FROM rooms r JOIN commands c ON c.room = r.id WHERE r.id = $1 AND c.state = 'pending'", sessionOf(placed))
}

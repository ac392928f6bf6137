package roomhost_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// created changes the rows as a successful ack of a create command does.
func (b *bundle) created(session string) {
	b.t.Helper()
	b.Exec(`WITH c AS (UPDATE commands SET state = 'done', settled_at = clock_timestamp() WHERE room = $1 AND state = 'pending' RETURNING agent_id, id),
		r AS (UPDATE rooms r SET state = 'created' FROM c WHERE r.command = c.id)
		UPDATE agent_states s SET reserved = reserved - 1, rooms = rooms + 1, in_flight = in_flight - 1 FROM c WHERE s.agent_id = c.agent_id`, session)
	b.Notify(db.TopicFleet, region)
}

func (b *bundle) resolve(p db.Placement, player string) (db.Resolved, error) {
	return b.Resolve(b.t.Context(), p.SessionHandle, player)
}

func TestASessionIsARoomOfItsID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.replica)
	j := b.join(b.agent(b.replica, 1))
	ann := b.place("ann", "duel")
	id := sessionOf(ann)
	require.Equal(t, j.Content.EndpointURL, ann.Endpoint)
	require.Equal(t, 1, b.Count("SELECT count(*) FROM rooms WHERE id = $1 AND agent_id = $2 AND state = 'reserved' AND type = 'duel'", id, j.Ref.ID))
	require.Equal(t, 1, b.Count("SELECT count(*) FROM commands WHERE room = $1 AND op = 'create' AND state = 'pending' AND replica = $2", id, b.replica))
	require.Equal(t, 1, b.Count("SELECT count(*) FROM commands c JOIN sessions s ON s.id::text = c.room AND s.xmin = c.xmin WHERE c.room = $1", id), "in one transaction")
	require.Equal(t, 1, b.Count("SELECT reserved * in_flight FROM agent_states WHERE agent_id = $1", j.Ref.ID))

	_, err := b.resolve(ann, "ann")
	var pending *fault.Error
	require.ErrorAs(t, err, &pending)
	require.Equal(t, "room_pending", pending.Code)
	require.Equal(t, fault.Unavailable, pending.Kind)
	_, err = b.resolve(ann, "bob")
	require.True(t, fault.Is(err, fault.Forbidden), "a stranger: %v", err)

	b.created(id)
	found, err := b.resolve(ann, "ann")
	require.NoError(t, err)
	require.Equal(t, j.Content.EndpointURL, found.Endpoint)
	b.Eventually(1, "SELECT count(*) FROM sessions WHERE id::text = $1 AND room_at IS NOT NULL", id)
	require.Equal(t, id, sessionOf(b.place("bob", "duel")), "a second player joins the room")
}

// refusing refuses to register a process.
type refusing struct {
	*db.Store

	processUID string
}

func (s refusing) Register(ctx context.Context, r db.Registration) (db.Registered, error) {
	if r.InstanceID == s.processUID {
		return db.Registered{}, fault.New(fault.Conflict, "refused", "it may not register")
	}
	return s.Store.Register(ctx, r)
}

// Pins a process whose registration is refused, and for which no other process of the replica was renewed or had its
// rooms settled.
func TestAProcessThatIsRefusedConcernsNoOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.runOn(refusing{b.Store, b.join(b.agent(b.replica, 1)).Content.ProcessUID}, b.replica)
	j := b.join(b.agent(b.replica, 2))
	ann := b.place("ann", "duel")
	require.Equal(t, j.Content.EndpointURL, ann.Endpoint)
	b.created(sessionOf(ann))
	b.Eventually(1, "SELECT count(*) FROM sessions WHERE id::text = $1 AND room_at IS NOT NULL", sessionOf(ann))
	at := storetest.Values[time.Time](b.DB, "SELECT heartbeat_at FROM instance_leases WHERE instance_id = $1", j.Content.ProcessUID)[0]
	b.Eventually(1, "SELECT count(*) FROM instance_leases WHERE instance_id = $1 AND heartbeat_at > $2", j.Content.ProcessUID, at)
}

func TestResolveWaitsForTheRoom(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.replica)
	b.join(b.agent(b.replica, 1))
	ann := b.place("ann", "duel")
	resolved := make(chan error, 1)
	go func() {
		_, err := b.resolve(ann, "ann")
		resolved <- err
	}()
	b.created(sessionOf(ann))
	require.NoError(t, <-resolved)
}

func TestTheGameClosesTheRoomOfASession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.replica)
	j := b.join(b.agent(b.replica, 1))
	ann := b.place("ann", "duel")
	b.created(sessionOf(ann))
	b.Eventually(1, "SELECT count(*) FROM sessions WHERE room_at IS NOT NULL")
	b.Exec("WITH gone AS (DELETE FROM rooms RETURNING agent_id) UPDATE agent_states s SET rooms = 0 FROM gone g WHERE s.agent_id = g.agent_id")
	b.Notify(db.TopicFleet, region)
	b.Eventually(1, "SELECT count(*) FROM session_history WHERE reason = 'room_gone'")
	_, err := b.resolve(ann, "ann")
	require.True(t, fault.Is(err, fault.Gone), "%v", err)
	require.NotEqual(t, sessionOf(ann), sessionOf(b.place("ann", "duel")))
	require.Equal(t, 1, b.Count("SELECT count(*) FROM agent_states WHERE agent_id = $1 AND in_flight = 1", j.Ref.ID))
}

// Pins a room that a game closed before anybody had looked at its session, and that was made anew.
func TestTheGameClosesARoomAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stop := b.run(b.replica)
	j := b.join(b.agent(b.replica, 1))
	id := sessionOf(b.place("ann", "duel"))
	b.Eventually(1, "SELECT count(*) FROM commands WHERE room = $1", id)
	stop()
	_, err := b.AcknowledgeCommand(t.Context(),
		db.CommandAck{AgentRef: j.Ref, CommandID: storetest.One[uuid.UUID](b.DB, "SELECT id FROM commands"), IsOK: true,
			RoomType: "duel", RawID: id})
	require.NoError(t, err)
	b.Exec("WITH gone AS (DELETE FROM rooms RETURNING agent_id) UPDATE agent_states s SET rooms = 0 FROM gone g WHERE s.agent_id = g.agent_id")
	b.run(b.replica)
	b.Eventually(1, "SELECT count(*) FROM session_history WHERE reason = 'room_gone'")
	require.Equal(t, 1, b.Count("SELECT count(*) FROM commands"))
}

// When an agent's connection ends, its rooms are unknown. Its sessions stay until the agent reconnects or the lease of
// the process expires.
func TestALostConnectionClosesNoSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.replica)
	first := b.join(b.agent(b.replica, 1))
	ann := b.place("ann", "duel")
	b.created(sessionOf(ann))
	b.Eventually(1, "SELECT count(*) FROM sessions WHERE room_at IS NOT NULL")
	incarnation := b.Count("SELECT hashtext(incarnation::text) FROM instances")
	require.NoError(t, b.LeaveAgent(t.Context(), first.Ref))
	b.Notify(db.TopicFleet, region)

	other := b.begin()
	b.run(other)
	again := b.agent(other, 1)
	again.ReportedRooms = []db.ReportedRoom{{RawID: sessionOf(ann), Type: "duel", ConnectionCount: 1}}
	b.join(again)
	b.Eventually(1, "SELECT count(*) FROM instance_leases WHERE heartbeat_at > now() - interval '500 ms'")
	_, err := b.resolve(ann, "ann")
	require.NoError(t, err)
	require.Equal(t, incarnation, b.Count("SELECT hashtext(incarnation::text) FROM instances"),
		"it is the same process")
	require.Equal(t, 1, b.Count("SELECT count(*) FROM sessions"))
}

// A session can be opened without a request for its room: by a replica of an older release, or while the agent is busy.
func TestAMissingRoomIsRequestedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stop := b.run(b.replica)
	j := b.join(b.agent(b.replica, 1))
	id := sessionOf(b.place("ann", "duel"))
	stop()
	b.Exec("DELETE FROM commands")
	b.Exec("DELETE FROM rooms")
	b.Exec("UPDATE agent_states SET reserved = 0, in_flight = 0")
	b.Exec("UPDATE sessions SET opened_at = now() - interval '1 second'")
	b.run(b.replica)
	b.Eventually(1, "SELECT count(*) FROM commands WHERE room = $1 AND state = 'pending' AND agent_id = $2", id,
		j.Ref.ID)
	require.Equal(t, 1, b.Count("SELECT reserved * in_flight FROM agent_states"))
}

func TestASessionWithoutARoomIsClosed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stop := b.run(b.replica)
	b.join(b.agent(b.replica, 1))
	ann := b.place("ann", "duel")
	stop()
	b.Exec("UPDATE commands SET state = 'failed', settled_at = now()")
	b.Exec("DELETE FROM rooms")
	b.Exec("UPDATE agent_states SET reserved = 0, in_flight = 0")
	b.Exec("UPDATE sessions SET opened_at = now() - interval '12 seconds'")
	b.run(b.replica)
	b.Eventually(1, "SELECT count(*) FROM session_history WHERE reason = 'room_failed'")
	_, err := b.resolve(ann, "ann")
	require.True(t, fault.Is(err, fault.Gone), "%v", err)
}

func TestRoomsOfEndedSessionsAreDestroyed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.replica)
	own := b.agent(b.replica, 1)
	// an id like a session's
	own.ReportedRooms = []db.ReportedRoom{{RawID: "00000000-0000-4000-8000-000000000000", Type: "duel"}}
	b.join(own)
	id := sessionOf(b.place("ann", "duel"))
	b.created(id)
	b.Eventually(1, "SELECT count(*) FROM sessions WHERE room_at IS NOT NULL")
	b.Exec("SELECT close_sessions($1, ARRAY[$2]::uuid[], 'closed by an operator')", region, id)
	require.Eventually(t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.destroyed) > 0
	}, 10*time.Second, 20*time.Millisecond)
	b.mu.Lock()
	defer b.mu.Unlock()
	require.NotContains(t, b.destroyed, "00000000-0000-4000-8000-000000000000",
		"a room that never belonged to a session")
	require.Contains(t, b.destroyed, id)
}

func TestLimitsOfTheAgentHold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.replica)
	j := b.agent(b.replica, 1, func(c *db.AgentContent) { c.MaxRooms = new(int32(3)) })
	j.ReportedRooms = []db.ReportedRoom{{RawID: "lobby", Type: "duel", IsLocal: true}}
	b.join(j)
	b.Eventually(1, "SELECT count(*) FROM instances WHERE max_sessions = 2")
	for n := range 4 {
		b.place(fmt.Sprint("player", n), "duel") // two players per session
	}
	_, err := b.Place(t.Context(), db.PlaceRequest{Caller: "eve", Region: region, Mode: "duel", MaxPlayers: 2,
		Party: []string{"eve"}})
	require.True(t, fault.Is(err, fault.NoCapacity), "the third room is the game's own: %v", err)
	require.Equal(t, 2, b.Count("SELECT reserved FROM agent_states"))
}

// Pins a host that stopped at a changed number of sessions: then no session whose room was gone was closed, and no room
// destroyed.
func TestAChangedLimitHoldsNothingUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.replica)
	j := b.join(b.agent(b.replica, 1, func(c *db.AgentContent) { c.MaxRooms = new(int32(3)) }))
	ended := sessionOf(b.place("ann", "duel"))
	b.created(ended)
	b.Eventually(1, "SELECT count(*) FROM sessions WHERE room_at IS NOT NULL")
	b.Exec("SELECT close_sessions($1, ARRAY[$2]::uuid[], 'closed by an operator')", region, ended)
	// the room is none of a session until it is destroyed
	b.Eventually(1, "SELECT count(*) FROM instances WHERE max_sessions = 2")
	require.Eventually(t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return slices.Contains(b.destroyed, ended)
	}, 10*time.Second, 20*time.Millisecond)

	gone := sessionOf(b.place("bob", "duel"))
	b.created(gone)
	b.Eventually(1, "SELECT count(*) FROM sessions WHERE room_at IS NOT NULL")
	b.Exec("DELETE FROM rooms")
	b.Exec("UPDATE agent_states SET rooms = 0 WHERE agent_id = $1", j.Ref.ID)
	b.Notify(db.TopicFleet, region)
	b.Eventually(1, "SELECT count(*) FROM session_history WHERE id::text = $1 AND reason = 'room_gone'", gone)
}

func TestAnAgentHasAtMost32CommandsInFlight(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stop := b.run(b.replica)
	b.join(b.agent(b.replica, 1))
	for n := range 80 {
		b.place(fmt.Sprint("player", n), "duel")
	}
	require.Equal(t, 40, b.Count("SELECT count(*) FROM sessions"))
	require.Equal(t, 32, b.Count("SELECT in_flight FROM agent_states"))
	require.Equal(t, 32, b.Count("SELECT count(*) FROM rooms"))
	stop()
	b.Exec("UPDATE sessions SET opened_at = now() - interval '1 second'")
	b.Exec("UPDATE commands SET state = 'done', settled_at = clock_timestamp()")
	b.Exec("UPDATE rooms SET state = 'created'")
	b.Exec("UPDATE agent_states SET reserved = 0, rooms = 32, in_flight = 0")
	b.run(b.replica)
	b.Eventually(40, "SELECT count(*) FROM rooms")
	require.Equal(t, 8, b.Count("SELECT in_flight FROM agent_states"))
}

func TestADrainFollowsTheAgent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.replica)
	j := b.join(b.agent(b.replica, 1))
	b.Eventually(1, "SELECT count(*) FROM instances WHERE status = 'ready'")
	status := func(status string) {
		content := j.Content
		content.Status = status
		_, err := b.ApplySnapshot(t.Context(),
			db.AgentSnapshot{Ref: j.Ref, Content: &content, StateHash: status, ReplySeq: 2})
		require.NoError(t, err)
		b.Notify(db.TopicFleet, region)
	}
	status(db.AgentDraining)
	b.Eventually(1, "SELECT count(*) FROM instances WHERE status = 'draining'")
	status(db.AgentActive)
	b.Eventually(1, "SELECT count(*) FROM instances WHERE status = 'ready'")
}

// Pins an instance that stays drained for ever: its agent drained on a connection to one replica, and ended that on one
// to another. An operator's drain is not the agent's to end, and costs no write at each heartbeat.
func TestAnAgentUndrainsAtAnotherReplica(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stop := b.run(b.replica)
	draining := b.agent(b.replica, 1)
	draining.Content.Status = db.AgentDraining
	b.join(draining)
	b.Eventually(1, "SELECT count(*) FROM instances WHERE status = 'draining'")
	stop()
	require.NoError(t, b.LeaveAgent(t.Context(), draining.Ref))

	other := b.begin()
	b.run(other)
	b.join(b.agent(other, 1))
	b.Eventually(1, "SELECT count(*) FROM instances WHERE status = 'ready'")

	b.Exec("SELECT ops.drain(id) FROM instances")
	b.Eventually(1, "SELECT count(*) FROM instances WHERE status = 'draining' AND drain_kept")
	drained := b.Count("SELECT xmin::text::int FROM instances")
	b.Exec("UPDATE instance_leases SET heartbeat_at = heartbeat_at - interval '1 second'")
	b.Eventually(1, "SELECT count(*) FROM instance_leases WHERE heartbeat_at > now() - interval '500 milliseconds'")
	require.Equal(t, drained, b.Count("SELECT xmin::text::int FROM instances"),
		"heartbeats write nothing but the lease")
	require.Equal(t, 1, b.Count("SELECT count(*) FROM instances WHERE status = 'draining'"))
}

// An agent key does not authorize game servers, so an agent cannot take over the instance of another game server.
func TestAnAgentTakesNoOtherInstance(t *testing.T) {
	t.Parallel()
	b := setup(t)
	victim := b.agent(b.replica, 1)
	_, err := b.Register(t.Context(), db.Registration{
		InstanceID: victim.Content.ProcessUID, Region: region, Endpoint: "victim:7000", Modes: []string{"duel"},
		Capacity: 10, BootID: "boot",
	})
	require.NoError(t, err)
	b.run(b.replica)
	b.join(victim)
	b.join(b.agent(b.replica, 2, func(c *db.AgentContent) { c.Labels = nil }))
	b.join(b.agent(b.replica, 3))
	b.Eventually(1, "SELECT count(*) FROM instances WHERE id = $1", fmt.Sprintf("p_%024x", 3))
	require.Equal(t, 1, b.Count("SELECT count(*) FROM instances WHERE endpoint = 'victim:7000' AND NOT creates_rooms AND status = 'ready'"))
	require.Equal(t, 2, b.Count("SELECT count(*) FROM instances"), "an agent without the label is not an instance")
}

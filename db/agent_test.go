package db_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/await"
)

// Pins a bug: a join stored or logged values that differed from the agent's report.
func TestAnAgentJoins(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	j := r.process(r.beginReplica(), "eu0", made("match-1", 3), local("lobby #1/ü"), local(""))
	j.Content.MaxRooms, j.ReplyAge = new(int32), time.Minute
	require.Equal(t, db.AgentState{RecordedStatus: db.AgentActive}, r.join(j))
	require.Equal(t, []string{"", "lobby%20%231%2F%C3%BC", "match-1"}, r.rooms(j.Ref))
	r.requireCounted()
	e := r.events()
	require.Len(t, e, 1)
	require.Equal(t, [3]string{db.EventAgentJoined, "key#01234567", j.Ref.ID},
		[3]string{e[0].kind, e[0].actor, e[0].agent})
	info := e[0].instance
	require.InDelta(t, time.Now().Add(-time.Minute).UnixMilli(), info.LastSyncAt, 30_000)
	info.LastSyncAt = 0
	require.Equal(t, db.InstanceInfo{
		ID: j.Ref.ID, Name: "eu0", ProcessUID: "p_eu0", EndpointURL: "wss://eu0", Labels: map[string]string{"region": "eu"}, RoomTypes: []string{"duel", `a "b"`},
		Rooms: []db.RoomInfo{
			{ID: "", Type: "duel", InstanceID: j.Ref.ID, EndpointURL: "wss://eu0", Local: true},
			{ID: "lobby%20%231%2F%C3%BC", Type: "duel", InstanceID: j.Ref.ID, EndpointURL: "wss://eu0", Local: true},
			{ID: "match-1", Type: "duel", Connections: 3, InstanceID: j.Ref.ID, EndpointURL: "wss://eu0"},
		},
		Connections: 3, Capacity: db.AgentCapacity{MaxRooms: new(int32)}, AutoCreate: true, Status: "active",
		AgentVersion: "8.0.0", ProtocolVersion: 3,
	}, info)
	require.InDelta(t, 60, one[float64](r.bundle,
		"SELECT extract(epoch FROM clock_timestamp() - synced_at)::float8 FROM agent_states"), 30)

	tx := one[int64](r.bundle, "SELECT tx::text::bigint FROM agent_states")
	r.join(j)
	require.Empty(t, r.events(), "a repeated join has no events")
	require.Equal(t, tx, one[int64](r.bundle, "SELECT tx::text::bigint FROM agent_states"))
}

// Pins a bug: a replica wrote for an agent whose connection it no longer held.
func TestAReplicaWritesOnlyForItsOwnAgents(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	first, other := r.beginReplica(), r.beginReplica()
	ref := r.joined(first, "eu0")
	stolen := ref
	stolen.ReplicaID = other
	for _, ref := range []db.AgentRef{stolen, {Region: fleetRegion, ID: "00000000000000aa", ReplicaID: first}} {
		_, err := r.ApplySnapshot(t.Context(), db.AgentSnapshot{Ref: ref, ChangedRooms: []db.ReportedRoom{local("x")}})
		requireSuperseded(t, err)
		requireSuperseded(t, r.MarkMissed(t.Context(), db.AgentMiss{Ref: ref, MissedPolls: 2}))
		require.NoError(t, r.LeaveAgent(t.Context(), ref))
	}
	require.Equal(t, 1, one[int](r.bundle, "SELECT count(*) FROM agent_states WHERE left_at IS NULL AND misses = 0"))
	require.NoError(t, r.LeaveAgent(t.Context(), ref))
	_, err := r.ApplySnapshot(t.Context(), db.AgentSnapshot{Ref: ref})
	requireSuperseded(t, err)
	_, err = r.JoinAgent(t.Context(), db.AgentJoin{Ref: ref})
	requireSuperseded(t, err)
	r.Exec("UPDATE replicas SET ended_at = now(), rows_until = now()")
	_, err = r.JoinAgent(t.Context(), r.process(first, "eu1"))
	requireSuperseded(t, err)
}

// Pins two bugs: snapshots wrote unchanged rows, and counters and events did not match the rooms.
func TestSnapshotsChangeRooms(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	ref := r.joined(r.beginReplica(), "eu0", made("a", 1), made("b", 2))
	r.events()
	r.apply(db.AgentSnapshot{Ref: ref, ChangedRooms: []db.ReportedRoom{made("b", 5), local("c")},
		RemovedRawIDs: []string{"a", "unknown"}, StateHash: "h2", ReplySeq: 2})
	require.Equal(t, []string{"b", "c"}, r.rooms(ref))
	require.Equal(t, []string{"room.destroyed a", "room.created c"}, r.told())
	r.requireCounted()
	require.Equal(t, "h2", one[string](r.bundle, "SELECT hash FROM agent_states"))

	before := one[string](r.bundle, "SELECT pg_current_xact_id()::text")
	r.apply(db.AgentSnapshot{Ref: ref, ChangedRooms: []db.ReportedRoom{made("b", 5)}, StateHash: "h3", ReplySeq: 3})
	require.Zero(t, one[int](r.bundle, "SELECT count(*) FROM agent_states WHERE tx >= $1::text::xid8", before),
		"equal content writes nothing")

	content := r.process(ref.ReplicaID, "eu0").Content
	content.Labels, content.Status, content.MaxConnections = nil, db.AgentDraining, new(int32)
	require.Equal(t, db.AgentDraining, r.apply(db.AgentSnapshot{Ref: ref, Content: &content}).RecordedStatus)
	require.Equal(t, "{}", one[string](r.bundle, "SELECT labels::text FROM agents"))
	require.Zero(t, one[int](r.bundle, "SELECT max_connections FROM agents"))
	require.Empty(t, r.told(), "the changed fields are not part of events")
	content.Status = "rebooting"
	require.Equal(t, db.AgentActive, r.apply(db.AgentSnapshot{Ref: ref, Content: &content}).RecordedStatus,
		"polls carry only active or draining")
}

// Pins two bugs: an agent stayed stale after it had answered, and events about it were missing or repeated.
func TestAgentsBecomeStaleAndRecover(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	ref := r.joined(r.beginReplica(), "eu0", made("a", 1))
	r.events()
	r.miss(ref, 1)
	require.Empty(t, r.told())
	r.miss(ref, 2)
	r.miss(ref, 2)
	r.miss(ref, 3)
	stale := r.events()
	require.Len(t, stale, 1)
	require.Equal(t, [2]string{db.EventAgentStale, "director"}, [2]string{stale[0].kind, stale[0].actor})
	require.Len(t, stale[0].instance.Rooms, 1)
	r.miss(ref, 0)
	require.Equal(t, []string{"agent.recovered eu0"}, r.told())
	r.miss(ref, 2)
	r.apply(db.AgentSnapshot{Ref: ref, ChangedRooms: []db.ReportedRoom{made("b", 1)}})
	require.Equal(t, []string{"agent.stale eu0"}, r.told()[:1])
	require.Zero(t, one[int](r.bundle, "SELECT misses FROM agent_states"))
	require.NoError(t, r.LeaveAgent(t.Context(), ref))
	left := r.events()
	require.Equal(t, db.EventAgentLeft, left[0].kind)
	require.Len(t, left[0].instance.Rooms, 2)
	require.NoError(t, r.LeaveAgent(t.Context(), ref))
	require.Empty(t, r.told())
	r.requireCounted()
}

// Pins a bug: callers of commands to an agent that had left waited until the timeout.
func TestCommandsOfALeavingAgentAreDisconnected(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	caller := uuid.New()
	wake, stop := r.Subscribe(db.TopicReplica(caller), fleetRegion)
	defer stop()
	await.Value(t, wake, "a notification") // connected
	ref := r.joined(r.beginReplica(), "eu0")
	command := r.reserve(ref, "m", caller)
	require.NoError(t, r.LeaveAgent(t.Context(), ref))
	require.Equal(t, "disconnected", r.commandState(command))
	require.Empty(t, r.rooms(ref))
	r.requireCounted()
	await.Value(t, wake, "a notification")
}

// Pins two bugs: rooms stayed although the game server did not have them, and rooms were deleted although it could
// still create them.
func TestTheNextReplyDecidesAboutRoomsOfCommands(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	ref := r.joined(r.beginReplica(), "eu0")
	r.events()
	kept, gone, late, pending := r.reserve(ref, "kept", uuid.New()), r.reserve(ref, "gone", uuid.New()), r.reserve(ref,
		"late", uuid.New()), r.reserve(ref, "pending", uuid.New())
	r.acknowledge(ref, kept)
	r.acknowledge(ref, gone)
	r.Exec("UPDATE commands SET state = 'timed_out', settled_at = clock_timestamp() - interval '1 second' WHERE id = $1", late)
	r.Exec("UPDATE agent_states SET in_flight = in_flight - 1, owes_reply = true WHERE agent_id = $1", ref.ID)
	state := r.apply(db.AgentSnapshot{Ref: ref, ChangedRooms: []db.ReportedRoom{made("kept", 1)},
		ReplyAge: time.Minute})
	require.True(t, state.OwesSnapshot, "the reply is older than the timeout")
	require.Equal(t, []string{"kept", "late reserved", "pending reserved"}, r.rooms(ref))
	require.Equal(t, []string{"room.destroyed gone"}, r.told())
	r.requireCounted()
	state = r.apply(db.AgentSnapshot{Ref: ref}) // hash only
	require.False(t, state.OwesSnapshot)
	require.Equal(t, []string{"kept", "pending reserved"}, r.rooms(ref))
	require.Empty(t, r.told(), "the room was never listed")
	r.apply(db.AgentSnapshot{Ref: ref, ChangedRooms: []db.ReportedRoom{made("pending", 0)}})
	require.Equal(t, []string{"kept", "pending"}, r.rooms(ref), "the ack follows the reply")
	require.Equal(t, []string{"room.created pending"}, r.told())
	require.Equal(t, "pending", r.commandState(pending))
	r.requireCounted()
}

// Pins two bugs: lists dropped a drain before the game server reported it, or kept it after the game server no longer
// reported it.
func TestAnOverrideLastsUntilAReply(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	ref := r.joined(r.beginReplica(), "eu0")
	r.Exec("UPDATE agent_states SET override = 'draining'")
	own, err := r.OwnAgents(t.Context(), fleetRegion, ref.ReplicaID, 0)
	require.NoError(t, err)
	require.Equal(t, []db.OwnAgent{{ID: ref.ID, State: db.AgentState{RecordedStatus: db.AgentDraining}}}, own.Changed)
	require.Equal(t, db.AgentActive, r.apply(db.AgentSnapshot{Ref: ref,
		ChangedRooms: []db.ReportedRoom{local("a")}}).RecordedStatus)
}

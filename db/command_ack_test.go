package db_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

func TestAnAcknowledgedRoomIsThere(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	a := f.agent(1)
	c := f.create("r")
	f.requireNoRoom("r")
	require.Equal(t, db.CommandPending, f.answer(c).FinalState)
	answered, stop := f.Subscribe(db.TopicReplica(f.caller), "eu")
	defer stop()
	changed, stop := f.Subscribe(db.TopicFleet, "eu")
	defer stop()
	require.Equal(t, db.AgentState{RecordedStatus: db.AgentActive, OwesSnapshot: true}, f.ack(c))
	<-answered
	<-changed
	room := db.RoomInfo{ID: "r", Type: "duel", InstanceID: a, EndpointURL: "wss://eu0"}
	found, err := f.FindRoom(t.Context(), "eu", "r")
	require.NoError(t, err)
	require.Equal(t, room, found)
	answer := f.answer(c)
	require.Equal(t, db.CommandAnswer{ID: c.ID, FinalState: db.CommandDone, SettledTx: answer.SettledTx, RoomID: "r",
		AgentID: a, CreatedRoom: room}, answer)
	require.Equal(t, answer.SettledTx, one[uint64](f.bundle, "SELECT tx FROM agent_states"))
	require.Equal(t, []string{"room.created|key#11111111|" + a + "|r"}, f.events())
	require.JSONEq(t, `{"id": "r", "type": "duel", "connections": 0, "instanceId": "`+a+`", "endpointUrl": "wss://eu0", "local": false}`,
		one[string](f.bundle, "SELECT detail::text FROM events WHERE kind = 'room.created'"))
	require.Equal(t, []string{"1|0|0"}, f.Rows("SELECT rooms, reserved, in_flight FROM agent_states"))

	f.ack(c) // a repeated ack
	require.Len(t, f.events(), 1)
	f.requireCounted()
}

// The id of a room that the agent refuses is free at once.
func TestARefusedRoomIsFree(t *testing.T) {
	t.Parallel()
	for name, change := range map[db.CommandState]func(*db.CommandAck){db.CommandFailed: refusing,
		db.CommandExists: existing} {
		f := setupFleet(t)
		f.agent(1, withMaxRooms(1))
		c := f.create("r")
		require.Equal(t, db.AgentState{RecordedStatus: db.AgentActive}, f.ack(c, change))
		require.Equal(t, name, f.answer(c).FinalState)
		require.Empty(t, f.events())
		require.Equal(t, []string{"0|0|0"}, f.Rows("SELECT rooms, reserved, in_flight FROM agent_states"))
		f.ack(f.create("r"))
		f.requireCounted()
	}
}

func TestDestroyedRoomsAreGone(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	a := f.agent(1)
	f.ack(f.create("r"))
	f.ack(f.create("s"))
	f.Exec("UPDATE rooms SET state = 'reported', connections = 7 WHERE id = 's'")
	f.Exec("UPDATE agent_states SET connections = 7")
	reserved := f.create("reserved")

	c := f.destroy("r")
	require.Equal(t, db.Command{
		ID: c.ID, Region: "eu", AgentID: a, ReplicaID: f.holder, Op: db.CommandDestroy, RoomID: "r", RawID: "r",
		Deadline: c.Deadline,
	}, c)
	require.WithinDuration(t, time.Now().Add(time.Minute), c.Deadline, 30*time.Second)
	f.ack(c, refusing)
	require.Equal(t, db.CommandFailed, f.answer(c).FinalState)
	first, second := f.destroy("r"), f.destroy("r")
	f.ack(first)
	f.requireNoRoom("r")
	again := f.create("r")
	f.ack(second, goneAlready)
	require.Equal(t, db.CommandDone, f.answer(second).FinalState)
	f.ack(again) // the second destroy does not concern the new room
	f.ack(f.destroy("s"))
	require.Equal(t, []string{"0"}, f.Rows("SELECT connections FROM agent_states"))
	require.Equal(t, []string{"r", "s", "r", "r", "s"}, f.Rows("SELECT detail->>'id' FROM events ORDER BY tx, id"))

	for _, id := range []string{"s", "reserved", "%00", "r\x00", "\xff"} {
		_, err := f.DestroyRoom(t.Context(), "eu", id, f.caller, "x", time.Minute)
		requireKind(t, fault.NotFound, db.CodeRoomNotFound, err)
	}
	f.ack(reserved)
	f.requireCounted()
}

// Commands to an agent name a room by its raw id.
func TestTheRawIDOfARoom(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	a := f.agent(1)
	f.Exec("INSERT INTO rooms (region, id, agent_id, base, type, state) VALUES ('eu', 'p_1~lobby%20%231%2F%C3%BC', $1, 'lobby%20%231%2F%C3%BC', 'duel', 'reported')", a)
	f.Exec("UPDATE agent_states SET rooms = 1")
	c := f.destroy("p_1~lobby%20%231%2F%C3%BC")
	require.Equal(t, "lobby #1/ü", c.RawID)
	pending, err := f.PendingCommands(t.Context(), "eu", f.holder, uuid.Nil)
	require.NoError(t, err)
	require.Len(t, pending, 1)
	require.True(t, c.Deadline.Equal(pending[0].Deadline))
	pending[0].Deadline = c.Deadline
	require.Equal(t, c, pending[0])
	f.ack(c)
	f.requireCounted()
}

// A drain takes effect with its ack.
func TestDrains(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	a := f.agent(1)
	c := f.command(a, db.CommandDrain)
	f.create("r")
	require.Equal(t, db.AgentState{RecordedStatus: db.AgentDraining}, f.ack(c))
	f.requireRefused(db.CodeInstanceDraining, f.newRoom("x", pinnedTo(a)))
	f.requireRefused(db.CodeNoCandidate, f.newRoom("x"))
	c = f.command(a, db.CommandUndrain)
	f.ack(c, refusing)
	require.Equal(t, db.CommandFailed, f.answer(c).FinalState)
	f.requireRefused(db.CodeNoCandidate, f.newRoom("x"))
	require.Equal(t, db.AgentState{RecordedStatus: db.AgentActive}, f.ack(f.command(a, db.CommandUndrain)))
	f.create("x")
	require.Equal(t, []string{"agent.drained", "agent.undrained"}, f.Rows("SELECT kind FROM events ORDER BY tx"))
	for _, id := range []string{"nobody", "", "\x00"} {
		_, err := f.CommandAgent(t.Context(), db.AgentCommand{Region: "eu", AgentID: id, Op: db.CommandDrain, CallerReplica: f.caller, Actor: "x", Timeout: time.Minute})
		requireKind(t, fault.NotFound, db.CodeInstanceNotFound, err)
	}
	f.requireCounted()
}

// A kept drain applies to agents with that name and endpoint until an undrain, even if they refuse the command.
func TestKeptDrains(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	a := f.agent(1)
	c, err := f.CommandAgent(t.Context(), db.AgentCommand{Region: "eu", AgentID: a, Op: db.CommandDrain, Keep: true, CallerReplica: f.caller, Actor: "key#11111111", Timeout: time.Minute})
	require.NoError(t, err)
	f.requireRefused(db.CodeInstanceDraining, f.newRoom("x", pinnedTo(a)))
	f.ack(c, refusing)
	f.requireRefused(db.CodeNoCandidate, f.newRoom("x"))
	require.Equal(t, []string{"eu0|wss://eu0|key#11111111"}, f.Rows("SELECT name, endpoint, actor FROM kept_drains"))
	f.ack(f.command(a, db.CommandUndrain))
	require.Empty(t, f.Rows("SELECT name FROM kept_drains"))
	f.create("x")
	_, err = f.CommandAgent(t.Context(), db.AgentCommand{Region: "eu", AgentID: "nobody", Op: db.CommandDrain, Keep: true, CallerReplica: f.caller, Actor: "x", Timeout: time.Minute})
	requireKind(t, fault.NotFound, db.CodeInstanceNotFound, err)
	f.requireCounted()
}

func TestCommandsOfABusyAgent(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	a := f.agent(1)
	f.ack(f.create("r"))
	for range 32 {
		f.command(a, db.CommandDrain)
	}
	_, err := f.CommandAgent(t.Context(), db.AgentCommand{Region: "eu", AgentID: a, Op: db.CommandUndrain, CallerReplica: f.caller, Actor: "x", Timeout: time.Minute})
	requireKind(t, fault.TooMany, db.CodeInstanceBusy, err)
	_, err = f.DestroyRoom(t.Context(), "eu", "r", f.caller, "x", time.Minute)
	requireKind(t, fault.TooMany, db.CodeInstanceBusy, err)
	f.requireCounted()
}

// Only the replica that holds the connection writes for an agent, and only while the agent has not left.
func TestAcknowledgementsAreFenced(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	a, b := f.agent(1), f.agent(2)
	c := f.create("r", pinnedTo(a))
	wrong := func(change func(*db.CommandAck)) {
		t.Helper()
		_, err := f.AcknowledgeCommand(t.Context(), f.ackOf(c, change))
		requireKind(t, fault.Superseded, "agent_left", err)
	}
	wrong(func(a *db.CommandAck) { a.AgentRef.ReplicaID = uuid.New() })
	wrong(func(a *db.CommandAck) { a.AgentRef.ID = agentID(9) })
	f.ack(c, func(a *db.CommandAck) { a.AgentRef.ID = b })        // of another agent
	f.ack(c, func(a *db.CommandAck) { a.CommandID = uuid.New() }) // never sent, or already deleted
	require.Equal(t, db.CommandPending, f.answer(c).FinalState)
	f.Exec("UPDATE agent_states SET left_at = now(), reserved = 0, in_flight = 0 WHERE agent_id = $1", a)
	wrong(func(*db.CommandAck) {})
	f.requireNoRoom("r")
}

func TestCommandsTimeOut(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	a := f.agent(1)
	c := f.create("r")
	require.Equal(t, db.CommandPending, f.expire(c).FinalState, "its deadline has not passed")
	f.overdue(c)
	wake, stop := f.Subscribe(db.TopicReplica(f.holder), "eu")
	defer stop()
	answer := f.expire(c)
	require.Equal(t, db.CommandTimedOut, answer.FinalState)
	<-wake
	require.Equal(t, []string{"0|1|0|t"}, f.Rows("SELECT rooms, reserved, in_flight, owes_reply FROM agent_states"))
	f.requireRefused(db.CodeRoomExists, f.newRoom("r"))
	require.Equal(t, []string{"command.timed_out|key#11111111|" + a + "|r"}, f.events())
	require.Equal(t, db.CommandTimedOut, f.expire(c).FinalState)
	_, err := f.ExpireCommand(t.Context(), "eu", uuid.New())
	requireKind(t, fault.NotFound, "command_unknown", err)
	f.requireCounted()
}

// Workers settle commands whose caller's replica has ended, and delete them later.
func TestWorkersSweepCommands(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	f.agent(1)
	c, fresh := f.create("r"), f.create("s")
	f.overdue(c)
	n, err := f.ExpireCommands(t.Context(), "eu")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, db.CommandTimedOut, f.answer(c).FinalState)
	f.ack(fresh)
	forget := func(want int) {
		t.Helper()
		n, err := f.ForgetCommands(t.Context(), "eu")
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	forget(0)
	f.Exec("UPDATE commands SET settled_at = settled_at - interval '61 seconds'")
	forget(1)
	f.Exec("UPDATE commands SET settled_at = settled_at - interval '10 minutes'")
	forget(1)
	f.ack(c) // the command is deleted: the next reply decides
	f.requireCounted()
}

func TestPendingCommandsComeInPages(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	f.agent(1)
	f.Exec(`INSERT INTO commands (region, id, agent_id, replica, op, deadline)
		SELECT 'eu', gen_random_uuid(), $1, $2, 'drain', now() + interval '1 minute' FROM generate_series(1, 5000)`, agentID(1), f.holder)
	c, late := f.create("r"), f.create("late")
	f.overdue(late)
	seen, after := map[uuid.UUID]bool{}, uuid.Nil
	for page := 4096; page == 4096; {
		got, err := f.PendingCommands(t.Context(), "eu", f.holder, after)
		require.NoError(t, err)
		for _, c := range got {
			seen[c.ID] = true
		}
		page, after = len(got), got[len(got)-1].ID
	}
	require.Len(t, seen, 5001)
	require.True(t, seen[c.ID])
	none, err := f.PendingCommands(t.Context(), "eu", f.caller, uuid.Nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestFindAgent(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	a := f.agent(1, withLabel("zone", "b"), withMaxRooms(5))
	f.ack(f.create("b"))
	f.ack(f.create("a"))
	f.create("reserved")
	f.Exec("UPDATE rooms SET connections = 3, state = 'reported', local = true WHERE id = 'a'")
	f.Exec("UPDATE agent_states SET connections = 3, synced_at = '2030-01-01Z', misses = 1")
	f.Exec("UPDATE replicas SET heard_since = '2030-01-02Z'")
	got, err := f.FindAgent(t.Context(), "eu", a)
	require.NoError(t, err)
	want := db.InstanceInfo{
		ID: a, Name: "eu0", ProcessUID: "p_1", EndpointURL: "wss://eu0", Labels: map[string]string{"zone": "b"},
		RoomTypes: []string{"duel"},
		Rooms: []db.RoomInfo{
			{ID: "a", Type: "duel", Connections: 3, InstanceID: a, EndpointURL: "wss://eu0", Local: true},
			{ID: "b", Type: "duel", InstanceID: a, EndpointURL: "wss://eu0"},
		},
		Connections: 3, Capacity: db.AgentCapacity{MaxRooms: new(int32(5))}, AutoCreate: true, Status: "active",
		LastSyncAt: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), AgentVersion: "8.0.0", ProtocolVersion: 3,
	}
	require.Equal(t, want, got)
	f.Exec("UPDATE agent_states SET misses = 0, override = 'draining'")
	got, err = f.FindAgent(t.Context(), "eu", a)
	require.NoError(t, err)
	want.Status, want.LastSyncAt = "draining", time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC).UnixMilli()
	require.Equal(t, want, got)
	empty, err := f.FindAgent(t.Context(), "eu", f.agent(2))
	require.NoError(t, err)
	require.NotNil(t, empty.Rooms)
	f.Exec("UPDATE agent_states SET left_at = now(), rooms = 0, reserved = 0, in_flight = 0, connections = 0")
	for _, id := range []string{a, "x", "", "\x00", "\xff"} {
		_, err = f.FindAgent(t.Context(), "eu", id)
		requireKind(t, fault.NotFound, db.CodeInstanceNotFound, err)
		_, err = f.FindRoom(t.Context(), "eu", id)
		requireKind(t, fault.NotFound, db.CodeRoomNotFound, err)
	}
	f.requireNoRoom("a")
}

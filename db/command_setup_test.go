package db_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/variant"
)

// fleet is a region with a replica to which agents are connected.
type fleet struct {
	*bundle
	holder uuid.UUID // the replica
	caller uuid.UUID // another replica, with the waiting callers
}

func setupFleet(t *testing.T, change ...func(*db.Config)) *fleet {
	t.Helper()
	f := &fleet{bundle: setup(t, change...), holder: uuid.New(), caller: uuid.New()}
	f.Exec("INSERT INTO replicas (region, id) VALUES ('eu', $1), ('eu', $2)", f.holder, f.caller)
	return f
}

// agentRow is an agent as a test inserts it.
type agentRow struct {
	process, status             string
	labels                      map[string]string
	types                       []string
	maxConnections, maxRooms    *int32
	manual                      bool // creates no rooms on request
	connections, misses, flying int
	replica                     uuid.UUID
}

func agentID(n int) string { return fmt.Sprintf("%016x", n) }

// agent inserts an agent that offers rooms of type duel.
func (f *fleet) agent(n int, change ...func(*agentRow)) string {
	f.t.Helper()
	id := agentID(n)
	a := variant.Apply(agentRow{process: fmt.Sprint("p_", n), status: db.AgentActive, labels: map[string]string{},
		types: []string{"duel"}, replica: f.holder}, change...)
	labels := must.Get(json.Marshal(a.labels))(f.t)
	f.Exec(`INSERT INTO agents (region, id, replica, process_uid, name, endpoint, labels, room_types, max_connections, max_rooms, auto_create, agent_version, protocol_version, key)
		VALUES ('eu', $1, $2, $3, 'eu0', 'wss://eu0', $4::text::jsonb, $5, $6, $7, $8, '8.0.0', 3, 'key#00000000')`,
		id, a.replica, a.process, string(labels), a.types, a.maxConnections, a.maxRooms, !a.manual)
	f.Exec("INSERT INTO agent_states (region, agent_id, replica, status, connections, misses, in_flight) VALUES ('eu', $1, $2, $3, $4, $5, 0)",
		id, a.replica, a.status, a.connections, a.misses)
	for range a.flying {
		f.Exec(`INSERT INTO commands (region, id, agent_id, replica, op, deadline) VALUES ('eu', gen_random_uuid(), $1, $2, 'drain', now() + interval '1 minute')`, id, a.replica)
	}
	f.Exec("UPDATE agent_states SET in_flight = $2 WHERE agent_id = $1", id, a.flying)
	return id
}

func withMaxRooms(n int32) func(*agentRow)          { return func(a *agentRow) { a.maxRooms = &n } }
func withConnections(n int) func(*agentRow)         { return func(a *agentRow) { a.connections = n } }
func withStatus(s string) func(*agentRow)           { return func(a *agentRow) { a.status = s } }
func withLabel(k, v string) func(*agentRow)         { return func(a *agentRow) { a.labels[k] = v } }
func withCommandsInFlight(n int) func(*agentRow)    { return func(a *agentRow) { a.flying = n } }
func withReplica(replica uuid.UUID) func(*agentRow) { return func(a *agentRow) { a.replica = replica } }
func stale(a *agentRow)                             { a.misses = 2 }
func manual(a *agentRow)                            { a.manual = true }

func withConnectionsOf(n int, most int32) func(*agentRow) {
	return func(a *agentRow) { a.connections, a.maxConnections = n, &most }
}

func (f *fleet) newRoom(id string, change ...func(*db.NewRoom)) db.NewRoom {
	return variant.Apply(db.NewRoom{Region: "eu", CallerReplica: f.caller, Actor: "key#11111111", Type: "duel",
		RoomID:  id,
		Timeout: time.Minute}, change...)
}

func pinnedTo(agent string) func(*db.NewRoom) { return func(r *db.NewRoom) { r.InstanceID = &agent } }
func forced(r *db.NewRoom)                    { r.IsForced = true }

func (f *fleet) create(id string, change ...func(*db.NewRoom)) db.Command {
	f.t.Helper()
	return must.Get(f.CreateRoom(f.t.Context(), f.newRoom(id, change...)))(f.t)
}

// requireRefused requires that a request for a room is refused without any write.
func (f *fleet) requireRefused(code string, r db.NewRoom) {
	f.t.Helper()
	const state = "SELECT jsonb_agg(to_jsonb(x))::text FROM (SELECT s.*, (SELECT count(*) FROM rooms) AS r, (SELECT count(*) FROM commands) AS c FROM agent_states s) x"
	before := one[string](f.bundle, state)
	_, err := f.CreateRoom(f.t.Context(), r)
	require.Equal(f.t, code, codeOf(err), "%v", err)
	require.Equal(f.t, before, one[string](f.bundle, state))
}

// requireCounted requires that the counters of agents equal their rows and are within their limits.
func (f *fleet) requireCounted() {
	f.t.Helper()
	require.Empty(f.t, f.Rows(`SELECT s.agent_id, s.rooms, s.reserved, s.connections, s.in_flight, n.*
		FROM agent_states s JOIN agents a ON a.id = s.agent_id CROSS JOIN LATERAL (
			SELECT count(*) FILTER (WHERE r.state <> 'reserved') AS has_rooms, count(*) FILTER (WHERE r.state = 'reserved') AS has_reserved,
				(SELECT count(*) FROM commands c WHERE c.agent_id = s.agent_id AND c.state = 'pending') AS has_in_flight
			FROM rooms r WHERE r.agent_id = s.agent_id) n
		WHERE (s.rooms, s.reserved, s.in_flight) <> (n.has_rooms, n.has_reserved, n.has_in_flight) OR s.rooms + s.reserved > a.max_rooms`))
	require.Empty(f.t, f.Rows("SELECT r.id FROM rooms r LEFT JOIN agent_states s ON s.agent_id = r.agent_id AND s.left_at IS NULL WHERE s.agent_id IS NULL"))
}

// ack acks a command as its agent would: successfully, unless the test changes the ack.
func (f *fleet) ack(c db.Command, change ...func(*db.CommandAck)) db.AgentState {
	f.t.Helper()
	return must.Get(f.AcknowledgeCommand(f.t.Context(), f.ackOf(c, change...)))(f.t)
}

func (f *fleet) ackOf(c db.Command, change ...func(*db.CommandAck)) db.CommandAck {
	return variant.Apply(db.CommandAck{AgentRef: db.AgentRef{Region: "eu", ID: c.AgentID, ReplicaID: c.ReplicaID},
		CommandID: c.ID,
		IsOK:      true, RawID: c.RawID, RoomType: c.RoomType}, change...)
}

func refusing(a *db.CommandAck)    { a.IsOK, a.FailureText = false, "no \x00" }
func existing(a *db.CommandAck)    { a.IsOK, a.RoomExists = false, true }
func goneAlready(a *db.CommandAck) { a.AlreadyGone = true }

func (f *fleet) destroy(id string) db.Command {
	f.t.Helper()
	return must.Get(f.DestroyRoom(f.t.Context(), "eu", id, f.caller, "key#11111111", time.Minute))(f.t)
}

func (f *fleet) command(agent string, op db.CommandOp) db.Command {
	f.t.Helper()
	return must.Get(f.CommandAgent(f.t.Context(), db.AgentCommand{Region: "eu", AgentID: agent, Op: op, CallerReplica: f.caller, Actor: "key#11111111", Timeout: time.Minute}))(f.t)
}

func (f *fleet) answer(c db.Command) db.CommandAnswer {
	f.t.Helper()
	answers := must.Get(f.CommandAnswers(f.t.Context(), "eu", []uuid.UUID{c.ID}))(f.t)
	require.Len(f.t, answers, 1)
	return answers[0]
}

// overdue moves the deadline of a command into the past.
func (f *fleet) overdue(c db.Command) {
	f.t.Helper()
	f.Exec("UPDATE commands SET deadline = clock_timestamp() - interval '5 seconds' WHERE id = $1", c.ID)
}

func (f *fleet) expire(c db.Command) db.CommandAnswer {
	f.t.Helper()
	return must.Get(f.ExpireCommand(f.t.Context(), "eu", c.ID))(f.t)
}

func (f *fleet) requireNoRoom(id string) {
	f.t.Helper()
	_, err := f.FindRoom(f.t.Context(), "eu", id)
	requireKind(f.t, fault.NotFound, db.CodeRoomNotFound, err)
}

func (f *fleet) events() []string {
	f.t.Helper()
	return f.Rows("SELECT kind, actor, instance_id, coalesce(detail->>'id', detail->>'room') FROM events WHERE region = 'eu' ORDER BY tx, id")
}

// dropsReservations changes the rows as a state reply does that does not contain the rooms of timed-out commands.
func (f *fleet) dropsReservations(agent string) {
	f.t.Helper()
	f.Exec("DELETE FROM rooms WHERE agent_id = $1 AND state = 'reserved' AND command IN (SELECT id FROM commands WHERE state = 'timed_out')", agent)
	f.Exec("UPDATE agent_states s SET reserved = (SELECT count(*) FROM rooms r WHERE r.agent_id = s.agent_id AND r.state = 'reserved'), owes_reply = false WHERE agent_id = $1", agent)
}

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
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// rivalis is a database with replicas that hold connections of agents.
type rivalis struct {
	*bundle

	agents int
}

const fleetRegion = "global"

func setupAgents(t *testing.T) *rivalis {
	t.Helper()
	return &rivalis{bundle: setup(t)}
}

func (r *rivalis) beginReplica() uuid.UUID {
	r.t.Helper()
	return must.Get(r.BeginReplica(r.t.Context(), fleetRegion))(r.t)
}

// steady changes a replica's row as if it had renewed its lease for an hour.
func (b *bundle) steady(replica uuid.UUID) {
	b.t.Helper()
	b.Exec("UPDATE replicas SET steady_since = clock_timestamp() - interval '1 hour', seen_at = clock_timestamp() WHERE id = $1", replica)
}

// silent changes a replica's row as if it had stopped renewing its lease an hour ago.
func (b *bundle) silent(replica uuid.UUID) {
	b.t.Helper()
	b.Exec("UPDATE replicas SET seen_at = clock_timestamp() - interval '1 hour' WHERE id = $1", replica)
}

func (r *rivalis) ref(replica uuid.UUID) db.AgentRef {
	r.agents++
	return db.AgentRef{Region: fleetRegion, ID: fmt.Sprintf("%016x", r.agents), ReplicaID: replica}
}

// process returns the join of an agent of a game server with that name.
func (r *rivalis) process(replica uuid.UUID, name string, rooms ...db.ReportedRoom) db.AgentJoin {
	return storetest.AgentJoin(r.ref(replica), name, func(j *db.AgentJoin) {
		j.StateHash, j.ReportedRooms = "h1", rooms
		j.Content.Labels, j.Content.RoomTypes = map[string]string{"region": "eu"}, []string{"duel", `a "b"`}
	})
}

func (r *rivalis) join(j db.AgentJoin) db.AgentState {
	r.t.Helper()
	return must.Get(r.JoinAgent(r.t.Context(), j))(r.t)
}

// joined calls process and joins the agent.
func (r *rivalis) joined(replica uuid.UUID, name string, rooms ...db.ReportedRoom) db.AgentRef {
	r.t.Helper()
	j := r.process(replica, name, rooms...)
	r.join(j)
	return j.Ref
}

func (r *rivalis) apply(s db.AgentSnapshot) db.AgentState {
	r.t.Helper()
	return must.Get(r.ApplySnapshot(r.t.Context(), s))(r.t)
}

func (r *rivalis) miss(ref db.AgentRef, misses int) {
	r.t.Helper()
	require.NoError(r.t, r.MarkMissed(r.t.Context(),
		db.AgentMiss{Ref: ref, MissedPolls: misses, ReplyAge: time.Second}))
}

func local(raw string) db.ReportedRoom {
	return db.ReportedRoom{RawID: raw, Type: "duel", IsLocal: true}
}

func made(raw string, connections int32) db.ReportedRoom {
	return db.ReportedRoom{RawID: raw, Type: "duel", ConnectionCount: connections}
}

// rooms returns the public ids of an agent's rooms. The state follows the id unless it is reported.
func (r *rivalis) rooms(ref db.AgentRef) []string {
	r.t.Helper()
	return one[[]string](r.bundle, `SELECT coalesce(array_agg(CASE state WHEN 'reported' THEN id ELSE id || ' ' || state END ORDER BY id), '{}')
		FROM rooms WHERE agent_id = $1`, ref.ID)
}

// reserve reserves a room on an agent and inserts the create command, as CreateRoom does.
func (r *rivalis) reserve(ref db.AgentRef, room string, caller uuid.UUID) uuid.UUID {
	r.t.Helper()
	id := uuid.New()
	r.Exec(`INSERT INTO commands (region, id, agent_id, replica, caller, op, room, base, type, deadline)
		VALUES ($1, $2, $3, $4, $5, 'create', $6, $6, 'duel', now() + interval '10 seconds')`, ref.Region, id, ref.ID, ref.ReplicaID, caller, room)
	r.Exec("INSERT INTO rooms (region, id, agent_id, base, type, state, command) VALUES ($1, $2, $3, $2, 'duel', 'reserved', $4)", ref.Region, room, ref.ID, id)
	r.Exec("UPDATE agent_states SET reserved = reserved + 1, in_flight = in_flight + 1 WHERE agent_id = $1", ref.ID)
	return id
}

// acknowledge changes the rows as a successful ack of a create command does.
func (r *rivalis) acknowledge(ref db.AgentRef, command uuid.UUID) {
	r.t.Helper()
	r.Exec("UPDATE commands SET state = 'done', settled_at = clock_timestamp() WHERE id = $1", command)
	r.Exec("UPDATE rooms SET state = 'created' WHERE command = $1", command)
	r.Exec("UPDATE agent_states SET reserved = reserved - 1, rooms = rooms + 1, in_flight = in_flight - 1, owes_reply = true WHERE agent_id = $1", ref.ID)
}

func (r *rivalis) commandState(id uuid.UUID) string {
	r.t.Helper()
	return one[string](r.bundle, "SELECT state FROM commands WHERE id = $1", id)
}

// loggedEvent is an event about an agent or its rooms.
type loggedEvent struct {
	kind, actor, agent string
	instance           db.InstanceInfo
	room               db.RoomInfo
}

// events returns the events in order, and deletes them.
func (r *rivalis) events() (out []loggedEvent) {
	r.t.Helper()
	const sql = "SELECT kind, actor, instance_id, detail::text FROM events ORDER BY tx, id"
	for _, row := range storetest.Records[struct{ Kind, Actor, Agent, Detail string }](r.DB, sql) {
		e := loggedEvent{kind: row.Kind, actor: row.Actor, agent: row.Agent}
		into := any(&e.instance)
		if e.kind == db.EventRoomCreated || e.kind == db.EventRoomDestroyed {
			into = &e.room
		}
		require.NoError(r.t, json.Unmarshal([]byte(row.Detail), into))
		out = append(out, e)
	}
	r.Exec("DELETE FROM events")
	return out
}

// told returns and deletes the events in short form: the kind, and the name of the agent or the id of the room.
func (r *rivalis) told() (out []string) {
	r.t.Helper()
	for _, e := range r.events() {
		about := e.instance.Name
		if about == "" {
			about = e.room.ID
		}
		out = append(out, e.kind+" "+about)
	}
	return out
}

// requireCounted requires that the counters of agents equal their rooms, connections and commands.
func (r *rivalis) requireCounted() {
	r.t.Helper()
	require.Zero(r.t, one[int](r.bundle, `SELECT count(*) FROM agent_states s
		WHERE (s.rooms, s.reserved, s.connections, s.in_flight) <> (
			(SELECT count(*) FROM rooms r WHERE r.region = s.region AND r.agent_id = s.agent_id AND r.state <> 'reserved'),
			(SELECT count(*) FROM rooms r WHERE r.region = s.region AND r.agent_id = s.agent_id AND r.state = 'reserved'),
			(SELECT coalesce(sum(r.connections), 0) FROM rooms r WHERE r.region = s.region AND r.agent_id = s.agent_id),
			(SELECT count(*) FROM commands c WHERE c.region = s.region AND c.agent_id = s.agent_id AND c.state = 'pending'))`))
	require.Zero(r.t, one[int](r.bundle,
		"SELECT count(*) FROM rooms r WHERE NOT EXISTS (SELECT FROM agent_states s WHERE s.agent_id = r.agent_id AND s.left_at IS NULL)"))
}

func requireSuperseded(t *testing.T, err error) {
	t.Helper()
	require.True(t, fault.Is(err, fault.Superseded), "%v", err)
}

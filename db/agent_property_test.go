package db_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// fleetModel is a fleet of game servers that connect to three replicas, with the rooms that they report, and a client
// that follows the events.
type fleetModel struct {
	*rivalis

	t        *rapid.T
	region   string
	replicas []uuid.UUID
	agents   map[string]*modelAgent // connections that have not ended
	seen     map[string]string      // the client's copy: agents by public room id
	listed   map[string]bool        // the client's copy: agents
	names    map[string]string      // the last public ids, by agent and raw id
}

type modelAgent struct {
	join    db.AgentJoin
	rooms   map[string]db.ReportedRoom
	doubted bool
}

// Pins four kinds of bugs: tables that differ from the game servers' reports, public ids that change without a reason,
// counters that drift, and events from which a client computes a fleet other than that of the tables.
func TestAFleetIsWhatItsGameServersShow(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		m := &fleetModel{
			rivalis: r, t: rt, region: fmt.Sprintf("r%d", runs), agents: map[string]*modelAgent{},
			seen: map[string]string{}, listed: map[string]bool{},
			names: map[string]string{},
		}
		for range 3 {
			id, err := r.BeginReplica(t.Context(), m.region)
			require.NoError(rt, err)
			m.replicas = append(m.replicas, id)
		}
		rt.Repeat(map[string]func(*rapid.T){"join": m.joins, "snapshot": m.snapshot, "leave": m.leaves,
			"miss": m.misses, "comeback": m.comeback, "": m.check})
	})
}

func (m *fleetModel) drawRooms(t *rapid.T) map[string]db.ReportedRoom {
	rooms := map[string]db.ReportedRoom{}
	for _, raw := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b ", "", "c"}), 0, 4,
		rapid.ID[string]).Draw(t, "rooms") {
		rooms[raw] = db.ReportedRoom{RawID: raw, Type: "duel",
			ConnectionCount: rapid.Int32Range(0, 2).Draw(t, "connections"), IsLocal: rapid.Bool().Draw(t, "local")}
	}
	return rooms
}

func (m *fleetModel) joins(t *rapid.T) {
	process := rapid.SampledFrom([]string{"", "p1", "p2"}).Draw(t, "process")
	a := &modelAgent{rooms: m.drawRooms(t), join: db.AgentJoin{
		Ref: db.AgentRef{Region: m.region, ID: fmt.Sprintf("%016x", len(m.listed)+1),
			ReplicaID: rapid.SampledFrom(m.replicas).Draw(t, "replica")}, KeyFingerprint: "key",
		Content: db.AgentContent{ProcessUID: process, Status: db.AgentActive},
	}}
	for _, other := range m.agents {
		if process != "" && other.join.Content.ProcessUID == process &&
			other.join.Ref.ReplicaID != a.join.Ref.ReplicaID {
			other.doubted = true
		}
	}
	m.agents[a.join.Ref.ID] = a
	m.send(t, a)
}

func (m *fleetModel) send(t *rapid.T, a *modelAgent) {
	a.join.ReportedRooms = slices.Collect(maps.Values(a.rooms))
	must.Get(m.JoinAgent(m.rivalis.t.Context(), a.join))(t)
	a.doubted = false
}

// agent draws a connection, or skips.
func (m *fleetModel) agent(t *rapid.T, doubted bool) *modelAgent {
	var ids []string
	for id, a := range m.agents {
		if a.doubted == doubted {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		t.Skip("no such agent")
	}
	slices.Sort(ids)
	return m.agents[rapid.SampledFrom(ids).Draw(t, "agent")]
}

func (m *fleetModel) comeback(t *rapid.T) { m.send(t, m.agent(t, true)) }

func (m *fleetModel) snapshot(t *rapid.T) {
	a := m.agent(t, false)
	s := db.AgentSnapshot{Ref: a.join.Ref}
	rooms := m.drawRooms(t)
	for raw, r := range rooms {
		if a.rooms[raw] != r {
			s.ChangedRooms = append(s.ChangedRooms, r)
		}
	}
	for raw := range a.rooms {
		if _, shown := rooms[raw]; !shown {
			s.RemovedRawIDs = append(s.RemovedRawIDs, raw)
		}
	}
	a.rooms = rooms
	must.Get(m.ApplySnapshot(m.rivalis.t.Context(), s))(t)
}

func (m *fleetModel) leaves(t *rapid.T) {
	a := m.agent(t, rapid.Bool().Draw(t, "doubted"))
	require.NoError(t, m.LeaveAgent(m.rivalis.t.Context(), a.join.Ref))
	delete(m.agents, a.join.Ref.ID)
}

func (m *fleetModel) misses(t *rapid.T) {
	a := m.agent(t, rapid.Bool().Draw(t, "doubted"))
	require.NoError(t, m.MarkMissed(m.rivalis.t.Context(),
		db.AgentMiss{Ref: a.join.Ref, MissedPolls: rapid.IntRange(0, 3).Draw(t, "misses")}))
}

type modelRoom struct{ ID, Agent, Base string }

// check compares the tables with the game servers' reports, and with the client's copy.
func (m *fleetModel) check(t *rapid.T) {
	m.follow(t)
	rooms := storetest.Records[modelRoom](m.DB, "SELECT id, agent_id, base FROM rooms WHERE region = $1", m.region)
	seen, shown := map[string]string{}, map[string]bool{}
	for _, r := range rooms {
		seen[r.ID], shown[r.Agent+"/"+r.Base] = r.Agent, true
		// A room keeps its public id, unless the id was its base and another room has taken it.
		before, known := m.names[r.Agent+"/"+r.Base]
		require.True(t, !known || before == r.ID || before == r.Base, "%s became %s", before, r.ID)
	}
	require.Equal(t, seen, m.seen, "events and tables")
	want, agents := map[string]bool{}, map[string]bool{}
	for id, a := range m.agents {
		if a.doubted {
			continue
		}
		agents[id] = true
		for raw := range a.rooms {
			want[id+"/"+map[string]string{"b ": "b%20"}[raw]+map[string]string{"a": "a", "c": "c"}[raw]] = true
		}
	}
	require.Equal(t, want, shown, "tables and game servers")
	require.Equal(t, agents, maps.Collect(maps.All(m.live())))
	m.names = map[string]string{}
	for _, r := range rooms {
		m.names[r.Agent+"/"+r.Base] = r.ID
	}
	require.Zero(t, m.Count("SELECT count(*) FROM ops.invariant_agent_count_drift WHERE region = $1", m.region))
}

func (m *fleetModel) live() map[string]bool {
	live := map[string]bool{}
	for id, listed := range m.listed {
		if listed {
			live[id] = true
		}
	}
	return live
}

// follow applies the new events to the client's copy.
func (m *fleetModel) follow(t *rapid.T) {
	const sql = "SELECT kind, detail::text FROM events WHERE region = $1 ORDER BY tx, id"
	for _, e := range storetest.Records[struct{ Kind, Detail string }](m.DB, sql, m.region) {
		switch e.Kind {
		case db.EventAgentJoined, db.EventAgentLeft:
			var instance db.InstanceInfo
			require.NoError(t, json.Unmarshal([]byte(e.Detail), &instance))
			require.Equal(t, e.Kind == db.EventAgentLeft, m.listed[instance.ID], "%s twice", e.Kind)
			m.listed[instance.ID] = e.Kind == db.EventAgentJoined
			for _, r := range instance.Rooms {
				m.hearRoom(t, e.Kind == db.EventAgentJoined, r)
			}
		case db.EventRoomCreated, db.EventRoomDestroyed:
			var room db.RoomInfo
			require.NoError(t, json.Unmarshal([]byte(e.Detail), &room))
			m.hearRoom(t, e.Kind == db.EventRoomCreated, room)
		}
	}
	m.Exec("DELETE FROM events WHERE region = $1", m.region)
}

func (m *fleetModel) hearRoom(t *rapid.T, created bool, r db.RoomInfo) {
	owner, known := m.seen[r.ID]
	if !created {
		require.Equal(t, r.InstanceID, owner, "room %q is destroyed", r.ID)
		delete(m.seen, r.ID)
		return
	}
	require.False(t, known, "room %q is created twice", r.ID)
	m.seen[r.ID] = r.InstanceID
}

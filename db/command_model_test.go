package db_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// commandModel is a fleet of three agents on one replica, with the expected states of its commands.
type commandModel struct {
	*fleet

	agents map[string]db.AgentRef // connected agents, by id
	joined int
	sent   []db.Command
	states map[uuid.UUID]db.CommandState
	taken  map[string]string // room ids to agents: reserved or existing
	exists map[string]bool   // room ids that callers see
}

// Checks rooms, counters and answers after any sequence of creates, acks, timeouts, destroys, replies and leaves.
func TestCommandsKeepToTheirModel(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	rapid.Check(t, func(rt *rapid.T) {
		f.Exec("TRUNCATE agents, agent_states, rooms, commands")
		m := &commandModel{
			fleet: f, agents: map[string]db.AgentRef{}, states: map[uuid.UUID]db.CommandState{},
			taken: map[string]string{}, exists: map[string]bool{},
		}
		for range 3 {
			m.join()
		}
		rt.Repeat(map[string]func(*rapid.T){
			"create":      m.create,
			"destroy":     m.destroy,
			"acknowledge": m.acknowledge,
			"expire":      m.expire,
			"reply":       m.reply,
			"leave":       m.leave,
			"":            m.check,
		})
	})
}

var modelRooms = []string{"a", "b", "c", "d", "e", "f"}

func (m *commandModel) join() {
	m.joined++
	ref := db.AgentRef{Region: "eu", ID: agentID(m.joined), ReplicaID: m.holder}
	must.Get(m.JoinAgent(m.t.Context(), storetest.AgentJoin(ref, "eu0", func(j *db.AgentJoin) {
		j.Content.ProcessUID, j.Content.MaxRooms = fmt.Sprint("p_", m.joined), new(int32(4))
	})))(m.t)
	m.agents[ref.ID] = ref
}

func (m *commandModel) create(rt *rapid.T) {
	id := rapid.SampledFrom(modelRooms).Draw(rt, "room")
	change := func(*db.NewRoom) {}
	if rapid.Bool().Draw(rt, "pinned") {
		change = pinnedTo(rapid.SampledFrom(m.connected()).Draw(rt, "agent"))
	}
	c, err := m.CreateRoom(m.t.Context(), m.newRoom(id, change))
	_, taken := m.taken[id]
	require.Equal(rt, taken, codeOf(err) == db.CodeRoomExists, "%v", err)
	if err == nil {
		m.record(c)
		m.taken[id] = c.AgentID
	}
}

func (m *commandModel) destroy(rt *rapid.T) {
	id := rapid.SampledFrom(modelRooms).Draw(rt, "room")
	c, err := m.DestroyRoom(m.t.Context(), "eu", id, m.caller, "x", 0)
	require.Equal(rt, m.exists[id], codeOf(err) != db.CodeRoomNotFound, "%v", err)
	if err == nil {
		m.record(c)
	}
}

func (m *commandModel) record(c db.Command) {
	m.sent = append(m.sent, c)
	m.states[c.ID] = db.CommandPending
}

func (m *commandModel) connected() []string { return slices.Sorted(maps.Keys(m.agents)) }

// draw returns a random command that is pending or has timed out.
func (m *commandModel) draw(rt *rapid.T) db.Command {
	open := slices.DeleteFunc(slices.Clone(m.sent), func(c db.Command) bool {
		return m.states[c.ID] != db.CommandPending && m.states[c.ID] != db.CommandTimedOut
	})
	if len(open) == 0 {
		rt.Skip("no command")
	}
	return rapid.SampledFrom(open).Draw(rt, "command")
}

func (m *commandModel) acknowledge(rt *rapid.T) {
	c := m.draw(rt)
	if _, connected := m.agents[c.AgentID]; !connected {
		_, err := m.AcknowledgeCommand(m.t.Context(), m.ackOf(c))
		require.True(rt, fault.Is(err, fault.Superseded), "%v", err)
		return
	}
	ok := rapid.Bool().Draw(rt, "ok")
	if c.Op == db.CommandCreate && m.taken[c.RoomID] != c.AgentID {
		ok = false // a late ack whose id is free or belongs to another room is tested by TestLateAcknowledgements
	}
	was := m.states[c.ID]
	change := func(*db.CommandAck) {}
	m.states[c.ID] = map[db.CommandState]db.CommandState{db.CommandPending: db.CommandDone,
		db.CommandTimedOut: db.CommandDoneLate}[was]
	if !ok {
		change, m.states[c.ID] = refusing, db.CommandFailed
	}
	reservedByIt := one[bool](m.bundle, "SELECT EXISTS (SELECT FROM rooms WHERE command = $1 AND state = 'reserved')",
		c.ID)
	m.ack(c, change)
	switch {
	case c.Op == db.CommandCreate && ok:
		m.exists[c.RoomID] = true
	case c.Op == db.CommandCreate && reservedByIt:
		delete(m.taken, c.RoomID)
	case c.Op == db.CommandDestroy && ok && m.exists[c.RoomID] && m.taken[c.RoomID] == c.AgentID:
		delete(m.taken, c.RoomID)
		delete(m.exists, c.RoomID)
	}
}

func (m *commandModel) expire(rt *rapid.T) {
	c := m.draw(rt)
	m.overdue(c)
	m.states[c.ID] = db.CommandTimedOut
	require.Equal(rt, db.CommandTimedOut, m.fleet.expire(c).FinalState)
}

// reply is a state reply without rooms: existing rooms and the rooms of timed-out commands are gone.
func (m *commandModel) reply(rt *rapid.T) {
	ref := m.agents[rapid.SampledFrom(m.connected()).Draw(rt, "agent")]
	m.Exec("UPDATE commands SET settled_at = settled_at - interval '1 minute' WHERE settled_at IS NOT NULL")
	must.Get(m.ApplySnapshot(m.t.Context(), db.AgentSnapshot{Ref: ref, StateHash: "h", ReplySeq: 2}))(rt)
	for id, agent := range m.taken {
		if agent != ref.ID {
			continue
		}
		pending := slices.ContainsFunc(m.sent, func(c db.Command) bool {
			return c.Op == db.CommandCreate && c.RoomID == id && c.AgentID == agent &&
				m.states[c.ID] == db.CommandPending
		})
		if !pending || m.exists[id] {
			delete(m.taken, id)
			delete(m.exists, id)
		}
	}
}

func (m *commandModel) leave(rt *rapid.T) {
	id := rapid.SampledFrom(m.connected()).Draw(rt, "agent")
	require.NoError(rt, m.LeaveAgent(m.t.Context(), m.agents[id]))
	delete(m.agents, id)
	for _, c := range m.sent {
		if c.AgentID == id && m.states[c.ID] == db.CommandPending {
			m.states[c.ID] = db.CommandDisconnected
		}
	}
	for room, agent := range m.taken {
		if agent == id {
			delete(m.taken, room)
			delete(m.exists, room)
		}
	}
	m.join()
}

func (m *commandModel) check(rt *rapid.T) {
	var ids []uuid.UUID
	for _, c := range m.sent {
		ids = append(ids, c.ID)
	}
	answers := must.Get(m.CommandAnswers(m.t.Context(), "eu", ids))(rt)
	require.Len(rt, answers, len(ids))
	for _, a := range answers {
		require.Equal(rt, m.states[a.ID], a.FinalState, "%s", a.RoomID)
	}
	for _, id := range modelRooms {
		room, err := m.FindRoom(m.t.Context(), "eu", id)
		require.Equal(rt, m.exists[id], err == nil, "%s: %v", id, err)
		if err == nil {
			require.Equal(rt, m.taken[id], room.InstanceID)
		}
	}
	m.requireCounted()
}

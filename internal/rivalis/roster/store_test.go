package roster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/wait"
	"github.com/lattice-director/director/internal/testkit/must"
)

// processes are game servers with connections to two replicas. The test writes their rows through the store, as the
// replicas would.
type processes struct {
	*db.Store

	t        *testing.T
	replicas []uuid.UUID
	agents   []db.AgentJoin // with their last reported state; some have been superseded
	n        int
}

// joins connects a process with rooms.
func (p *processes) joins(replica uuid.UUID, uid string, rooms ...db.ReportedRoom) error {
	p.n++
	j := db.AgentJoin{
		Ref: db.AgentRef{Region: region, ID: agentID(p.n), ReplicaID: replica}, KeyFingerprint: "key#01234567",
		StateHash: "h", ReplySeq: 1, ReportedRooms: rooms,
		Content: db.AgentContent{
			Name: uid, ProcessUID: uid, AgentVersion: "8.0.0", ProtocolVersion: 3, EndpointURL: "wss://" + uid,
			Labels:    map[string]string{"a": "<b>"},
			RoomTypes: []string{"match"}, AutoCreate: true, Status: db.AgentActive,
		},
	}
	p.agents = append(p.agents, j)
	return second(p.JoinAgent(p.t.Context(), j))
}

func second[T any](_ T, err error) error { return err }

// reports sends a snapshot with other rooms.
func (p *processes) reports(j *db.AgentJoin, rooms []db.ReportedRoom) error {
	s := db.AgentSnapshot{Ref: j.Ref, ChangedRooms: rooms, StateHash: "h", ReplySeq: j.ReplySeq + 1}
	for _, r := range j.ReportedRooms {
		if !slices.ContainsFunc(rooms, func(o db.ReportedRoom) bool { return o.RawID == r.RawID }) {
			s.RemovedRawIDs = append(s.RemovedRawIDs, r.RawID)
		}
	}
	j.ReportedRooms, j.ReplySeq = rooms, j.ReplySeq+1
	return second(p.ApplySnapshot(p.t.Context(), s))
}

// acts performs a random action of one of the processes.
func (p *processes) acts(rt *rapid.T) error {
	var rooms []db.ReportedRoom
	for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"lobby", "a b", "c", "d"}), 0, 3,
		rapid.ID).Draw(rt, "rooms") {
		rooms = append(rooms, db.ReportedRoom{RawID: id, Type: "match",
			ConnectionCount: rapid.Int32Range(0, 3).Draw(rt, "connections"), IsLocal: rapid.Bool().Draw(rt, "local")})
	}
	what := rapid.IntRange(0, 6).Draw(rt, "what")
	if what < 2 || len(p.agents) == 0 {
		// joins again elsewhere, so that the other row is doubted
		uid := rapid.SampledFrom([]string{"p1", "p2", "p3"}).Draw(rt, "process")
		return p.joins(rapid.SampledFrom(p.replicas).Draw(rt, "replica"), uid, rooms...)
	}
	j := &p.agents[rapid.IntRange(0, len(p.agents)-1).Draw(rt, "agent")]
	switch what {
	case 2:
		return p.LeaveAgent(p.t.Context(), j.Ref)
	case 3:
		return p.MarkMissed(p.t.Context(),
			db.AgentMiss{Ref: j.Ref, MissedPolls: rapid.IntRange(0, 2).Draw(rt, "misses"), ReplyAge: time.Second})
	case 4: // the whole content again, as after a doubt
		return second(p.JoinAgent(p.t.Context(), *j))
	default:
		return p.reports(j, rooms)
	}
}

// mirror is a fleet as reconstructed from events.
type mirror struct {
	instances map[string]bool
	rooms     map[string]string // instance by room
}

// sees applies an event, and checks that it fits the events before it.
func (m *mirror) sees(t require.TestingT, e Event) {
	var data struct{ ID, InstanceID string }
	require.NoError(t, json.Unmarshal(e.Data, &data))
	instance, present := m.instances[data.ID]
	_, room := m.rooms[data.ID]
	switch e.Type {
	case InstanceJoined:
		require.False(t, present, "%s joins again", data.ID)
		m.instances[data.ID] = true
	case InstanceLeft:
		require.True(t, instance)
		delete(m.instances, data.ID)
	case InstanceStale, InstanceRecovered:
		require.True(t, instance)
	case RoomCreated:
		require.False(t, room, "%s is created again", data.ID)
		require.True(t, m.instances[data.InstanceID])
		m.rooms[data.ID] = data.InstanceID
	case RoomDestroyed:
		require.Equal(t, data.InstanceID, m.rooms[data.ID])
		delete(m.rooms, data.ID)
	}
}

// After any actions of agents, the lists equal the database's answers by id, and replaying the events gives the same
// lists.
func TestListsEventsAndLookupsAgree(t *testing.T) {
	t.Parallel()
	b, f := started(t)
	b.exec("DELETE FROM replicas") // its lease would outlast those of the others by a day
	p := &processes{Store: b.store, t: t}
	for range 2 {
		id, err := p.BeginReplica(t.Context(), region)
		require.NoError(t, err)
		p.replicas = append(p.replicas, id)
	}
	m := &mirror{instances: map[string]bool{}, rooms: map[string]string{}}
	s := f.stream("")
	rapid.Check(t, func(rt *rapid.T) {
		s.t = rt
		for range rapid.IntRange(1, 8).Draw(rt, "acts") {
			if err := p.acts(rt); err != nil {
				require.True(rt, fault.Is(err, fault.Superseded), "%v", err)
			}
		}
		last := fmt.Sprintf("end%d", p.n)
		require.NoError(rt, p.joins(p.replicas[0], "", db.ReportedRoom{RawID: last}))
		require.NoError(rt, p.LeaveAgent(t.Context(), p.agents[len(p.agents)-1].Ref))
		for _, e := range s.until(func(e Event) bool { return describe(rt, e) == RoomDestroyed+" "+last }) {
			m.sees(rt, e)
		}
		// The log is read up to here, so a reading that begins now has everything.
		before := f.latestReading.Load()
		wait.Wake(f.readNow)
		<-before.replaced
		before = f.latestReading.Load()
		wait.Wake(f.readNow)
		<-before.replaced
		p.agrees(rt, f, m)
	})
}

// agrees compares the lists of a replica with the database and with the fleet reconstructed from its events.
func (p *processes) agrees(t require.TestingT, f *follower, m *mirror) {
	text, _ := f.View().AppendInstances(nil, Page{})
	var listed []db.InstanceInfo
	require.NoError(t, json.Unmarshal(text, &listed))
	rooms := map[string]string{}
	for _, i := range listed {
		require.True(t, m.instances[i.ID])
		found := must.Get(p.FindAgent(p.t.Context(), region, i.ID))(t)
		i.LastSyncAt, found.LastSyncAt = 0, 0
		require.Equal(t, found, i)
		for _, r := range i.Rooms {
			rooms[r.ID] = i.ID
		}
	}
	require.Len(t, listed, len(m.instances))
	require.Equal(t, m.rooms, rooms)
}

// Pins an event that was neither read nor reported as held, because the older transaction ended between these two
// statements. Nothing notifies of that end, so streams were silent until the next poll.
func TestAnEventIsReadOrHeld(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at, err := b.store.AgentEventsEnd(t.Context())
	require.NoError(t, err)
	reader := b.follow(t).store
	for i := range 300 {
		older := b.begin()
		_ = older.tx()
		id := agentID(i)
		c := b.begin()
		c.logs(db.EventAgentLeft, id, db.InstanceInfo{ID: id})
		require.NoError(t, c.Commit(t.Context()))
		ended := make(chan error, 1)
		go func() { ended <- older.Commit(context.Background()) }()
		page, err := reader.AgentEventsAfter(t.Context(), region, at.NextPoint)
		require.NoError(t, err)
		require.True(t, len(page.Events) == 1 || page.IsHeldBack, "round %d: the reader would wait for a notification",
			i)
		require.NoError(t, <-ended)
		for len(page.Events) == 0 { // another test's transaction may hold it
			page, err = reader.AgentEventsAfter(t.Context(), region, at.NextPoint)
			require.NoError(t, err)
		}
		at = page
	}
}

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
	"github.com/lattice-director/director/internal/testkit/storetest"
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

func second[T any](_ T, err error) error { return err }

// joins connects a process with rooms.
func (p *processes) joins(replica uuid.UUID, uid string, rooms ...db.ReportedRoom) error {
	p.n++
	j := storetest.AgentJoin(db.AgentRef{Region: region, ID: agentID(p.n), ReplicaID: replica}, uid)
	j.Content.ProcessUID, j.Content.Labels, j.Content.RoomTypes = uid, map[string]string{"a": "<b>"}, []string{"match"}
	j.ReportedRooms = rooms
	p.agents = append(p.agents, j)
	return second(p.JoinAgent(p.t.Context(), j))
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
		s := db.AgentSnapshot{Ref: j.Ref, ChangedRooms: rooms, StateHash: "h", ReplySeq: j.ReplySeq + 1}
		for _, r := range j.ReportedRooms {
			if !slices.ContainsFunc(rooms, func(o db.ReportedRoom) bool { return o.RawID == r.RawID }) {
				s.RemovedRawIDs = append(s.RemovedRawIDs, r.RawID)
			}
		}
		j.ReportedRooms, j.ReplySeq = rooms, j.ReplySeq+1
		return second(p.ApplySnapshot(p.t.Context(), s))
	}
}

// mirror is a fleet as reconstructed from events.
type mirror struct {
	instances map[string]bool
	rooms     map[string]string // instance by room
}

// After any actions of agents, the lists equal the database's answers by id, and replaying the events gives the same
// lists.
func TestListsEventsAndLookupsAgree(t *testing.T) {
	t.Parallel()
	b, f := started(t)
	b.Exec("DELETE FROM replicas") // its lease would outlast those of the others by a day
	p := &processes{Store: b.Store, t: t}
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
			var data struct{ ID, InstanceID string }
			require.NoError(rt, json.Unmarshal(e.Data, &data))
			instance, present := m.instances[data.ID]
			_, room := m.rooms[data.ID]
			switch e.Type {
			case InstanceJoined:
				require.False(rt, present, "%s joins again", data.ID)
				m.instances[data.ID] = true
			case InstanceLeft:
				require.True(rt, instance)
				delete(m.instances, data.ID)
			case InstanceStale, InstanceRecovered:
				require.True(rt, instance)
			case RoomCreated:
				require.False(rt, room, "%s is created again", data.ID)
				require.True(rt, m.instances[data.InstanceID])
				m.rooms[data.ID] = data.InstanceID
			case RoomDestroyed:
				require.Equal(rt, data.InstanceID, m.rooms[data.ID])
				delete(m.rooms, data.ID)
			}
		}
		// The log is read up to here, so a reading that begins now has everything.
		before := f.latestReading.Load()
		wait.Wake(f.readNow)
		<-before.replaced
		before = f.latestReading.Load()
		wait.Wake(f.readNow)
		<-before.replaced

		// The lists of a replica agree with the database, and with the fleet reconstructed from its events.
		text, _ := f.View().AppendInstances(nil, Page{})
		var listed []db.InstanceInfo
		require.NoError(rt, json.Unmarshal(text, &listed))
		rooms := map[string]string{}
		for _, i := range listed {
			require.True(rt, m.instances[i.ID])
			found := must.Get(p.FindAgent(p.t.Context(), region, i.ID))(rt)
			i.LastSyncAt, found.LastSyncAt = 0, 0
			require.Equal(rt, found, i)
			for _, r := range i.Rooms {
				rooms[r.ID] = i.ID
			}
		}
		require.Len(rt, listed, len(m.instances))
		require.Equal(rt, m.rooms, rooms)
	})
}

// Pins an event that was neither read nor reported as held, because the older transaction ended between these two
// statements. Nothing notifies of that end, so streams were silent until the next poll.
func TestAnEventIsReadOrHeld(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at, err := b.Store.AgentEventsEnd(t.Context())
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

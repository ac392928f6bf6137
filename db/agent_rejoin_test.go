package db_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/await"
)

// Pins a bug: rooms changed their ids when the connection of their process moved to another replica.
func TestAProcessOfAnEndedReplicaKeepsItsRooms(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	first, second := r.beginReplica(), r.beginReplica()
	r.joined(first, "eu1", made("lobby", 1))
	old := r.joined(first, "eu0", made("lobby", 1), made("m1", 2), local("gone"))
	require.Equal(t, []string{"gone", "m1", "p_eu0~lobby"}, r.rooms(old))
	r.events()
	r.steady(second)
	r.silent(first)
	again := r.joined(second, "eu0", made("lobby", 3), made("m1", 2), local("new"))
	require.Equal(t, []string{"m1", "new", "p_eu0~lobby"}, r.rooms(again))
	require.Empty(t, r.rooms(old))
	r.requireCounted()
	told := r.events()
	require.Len(t, told, 2)
	require.Equal(t, []string{db.EventAgentLeft, db.EventAgentJoined}, []string{told[0].kind, told[1].kind})
	require.Equal(t, []string{"gone", "m1", "p_eu0~lobby"}, publicIDs(told[0].instance))
	require.Equal(t, []string{"m1", "new", "p_eu0~lobby"}, publicIDs(told[1].instance))
	require.EqualValues(t, 5, told[1].instance.Connections)
	_, err := r.ApplySnapshot(t.Context(), db.AgentSnapshot{Ref: old})
	requireSuperseded(t, err)
}

func publicIDs(i db.InstanceInfo) (ids []string) {
	for _, r := range i.Rooms {
		ids = append(ids, r.ID)
	}
	return ids
}

// Pins two bugs: a connection stayed listed after its process had connected elsewhere, and a connection was dropped
// although it still answered.
func TestAnAgentIsDoubtedUntilItAnswers(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	first, second := r.beginReplica(), r.beginReplica()
	wake, stop := r.Subscribe(db.TopicReplica(first), fleetRegion)
	defer stop()
	await.Value(t, wake, "a notification") // connected
	j := r.process(first, "eu0", local("lobby"))
	r.join(j)
	own, err := r.OwnAgents(t.Context(), fleetRegion, first, 0)
	require.NoError(t, err)
	require.True(t, own.IsComplete)
	other := r.joined(second, "eu0", local("lobby"))
	await.Value(t, wake, "a notification")
	own, err = r.OwnAgents(t.Context(), fleetRegion, first, own.NextTx)
	require.NoError(t, err)
	require.Equal(t, []db.OwnAgent{{ID: j.Ref.ID,
		State: db.AgentState{RecordedStatus: db.AgentActive, IsDoubted: true}}}, own.Changed)
	require.Equal(t, []string{"lobby"}, r.rooms(other))
	require.Equal(t, []string{"agent.joined eu0", "agent.left eu0", "agent.joined eu0"}, r.told())
	require.True(t, r.apply(db.AgentSnapshot{Ref: j.Ref, ChangedRooms: []db.ReportedRoom{local("x")}}).IsDoubted,
		"a partial content does not list the agent again")
	require.Empty(t, r.rooms(j.Ref))
	r.miss(j.Ref, 2)
	require.Empty(t, r.told(), "a doubted agent has no events")

	require.Equal(t, db.AgentState{RecordedStatus: db.AgentActive}, r.join(j), "it answers")
	require.Equal(t, []string{"p_eu0~lobby"}, r.rooms(j.Ref))
	require.Equal(t, []string{"lobby"}, r.rooms(other), "the other agent is not doubted in return")
	require.Equal(t, []string{"agent.joined eu0"}, r.told())
	r.requireCounted()
}

// Pins a bug: an agent left twice, when it was doubted and when its connection ended.
func TestADoubtedAgentLeavesSilently(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	first, second := r.beginReplica(), r.beginReplica()
	ref := r.joined(first, "eu0")
	r.joined(second, "eu0")
	r.events()
	require.NoError(t, r.LeaveAgent(t.Context(), ref))
	require.Empty(t, r.told())
	own, err := r.OwnAgents(t.Context(), fleetRegion, first, 1)
	require.NoError(t, err)
	require.True(t, own.Changed[0].HasLeft)
}

// Pins a bug: game servers without a process id, with different names, or with two connections to one replica counted
// as one process.
func TestOtherProcessesAreNotDoubted(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	first, second := r.beginReplica(), r.beginReplica()
	r.joined(first, "eu0")
	r.joined(first, "eu0")
	renamed := r.process(second, "eu0")
	renamed.Content.Name = "eu1"
	r.join(renamed)
	for _, replica := range []uuid.UUID{first, second} {
		nameless := r.process(replica, "eu2")
		nameless.Content.ProcessUID = ""
		r.join(nameless)
	}
	require.Equal(t, 5, one[int](r.bundle, "SELECT count(*) FROM agent_states WHERE NOT doubted AND left_at IS NULL"))
}

// Pins a bug: callers got no answer, or a wrong one, for commands whose ack was lost with a replica.
func TestCommandsAreSettledByEvidence(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	first, second, caller := r.beginReplica(), r.beginReplica(), uuid.New()
	wake, stop := r.Subscribe(db.TopicReplica(caller), fleetRegion)
	defer stop()
	await.Value(t, wake, "a notification") // connected
	old := r.joined(first, "eu0", made("kept", 0), made("destroyed", 0))
	shown, missing := r.reserve(old, "shown", caller), r.reserve(old, "missing", caller)
	command := func(op string, room *string) uuid.UUID {
		id := uuid.New()
		r.Exec(`INSERT INTO commands (region, id, agent_id, replica, caller, op, room, base, deadline) VALUES ($1, $2, $3, $4, $5, $6, $7, $7, now())`,
			fleetRegion, id, old.ID, first, caller, op, room)
		r.Exec("UPDATE agent_states SET in_flight = in_flight + 1 WHERE agent_id = $1", old.ID)
		return id
	}
	keep, gone := "kept", "destroyed"
	undone, destroyed, drain, undrain := command("destroy", &keep), command("destroy", &gone), command("drain",
		nil), command("undrain", nil)
	j := r.process(second, "eu0", made("kept", 0), made("shown", 0))
	j.Content.Status = db.AgentDraining
	require.Equal(t, db.AgentDraining, r.join(j).RecordedStatus)
	await.Value(t, wake, "a notification")
	states := map[uuid.UUID]string{shown: "done", missing: "disconnected", undone: "disconnected", destroyed: "done",
		drain: "done", undrain: "disconnected"}
	for id, state := range states {
		require.Equal(t, state, r.commandState(id))
	}
	require.Equal(t, j.Ref.ID, one[string](r.bundle, "SELECT agent_id FROM commands WHERE id = $1", shown))
	require.Equal(t, []string{"kept", "shown"}, r.rooms(j.Ref))
	r.requireCounted()
}

// Pins two bugs: public ids depended on the order of messages, and replicas that renamed rooms of each other's agents
// deadlocked.
func TestReplicasNameRoomsAtOnce(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	stores := []*db.Store{r.Store, r.Replica(), r.Replica()}
	var wait sync.WaitGroup
	for _, s := range stores {
		replica := r.beginReplica()
		for i := range 20 {
			j := r.process(replica, "eu"+uuid.NewString())
			for k := range 5 {
				j.ReportedRooms = append(j.ReportedRooms,
					db.ReportedRoom{RawID: string(rune('a' + (i+k)%10)), Type: "duel", IsLocal: k%2 == 0})
			}
			wait.Go(func() {
				if _, err := s.JoinAgent(t.Context(), j); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wait.Wait()
	r.requireCounted()
	require.Equal(t, 300, one[int](r.bundle, "SELECT count(*) FROM rooms"))
	require.Equal(t, 10, one[int](r.bundle, "SELECT count(*) FROM rooms WHERE id = base AND NOT local"),
		"each base is the public id of one room of the fleet")
	require.Equal(t, 290, one[int](r.bundle, "SELECT count(*) FROM rooms WHERE id <> base"))
}

// Pins a bug: a room of the fleet could not be found by its id, because a local room elsewhere had the same raw id.
func TestARoomOfTheFleetTakesItsIDFromALocalOne(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	replica := r.beginReplica()
	holder := r.joined(replica, "eu0", local("lobby"))
	r.events()
	taker := r.joined(replica, "eu1", made("lobby", 1))
	require.Equal(t, []string{"p_eu0~lobby"}, r.rooms(holder))
	require.Equal(t, []string{"lobby"}, r.rooms(taker))
	told := r.events()
	var kinds, ids []string
	for _, e := range told {
		kinds, ids = append(kinds, e.kind), append(ids, e.room.ID)
	}
	require.Equal(t, []string{db.EventRoomDestroyed, db.EventRoomCreated, db.EventAgentJoined}, kinds)
	require.Equal(t, []string{"lobby", "p_eu0~lobby", ""}, ids)
	r.apply(db.AgentSnapshot{Ref: taker, RemovedRawIDs: []string{"lobby"}})
	require.Equal(t, []string{"p_eu0~lobby"}, r.rooms(holder), "no other room takes the freed base")
	r.apply(db.AgentSnapshot{Ref: holder,
		ChangedRooms: []db.ReportedRoom{{RawID: "lobby", Type: "duel", ConnectionCount: 1, IsLocal: true}}})
	require.Equal(t, []string{"p_eu0~lobby"}, r.rooms(holder))
	third := r.joined(replica, "eu0", local("lobby"))
	fourth := r.joined(replica, "eu0", local("lobby"))
	require.Equal(t, []string{"lobby"}, r.rooms(third))
	require.Equal(t, []string{"p_eu0~" + fourth.ID + "~lobby"}, r.rooms(fourth))
	r.requireCounted()
}

// Pins a bug: a room took its id back in the transaction that freed it.
func TestIDsChangeHandsInOneBatch(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	replica := r.beginReplica()
	a, b := r.joined(replica, "eu0", made("x", 0)), r.joined(replica, "eu1")
	for range 20 {
		var wait sync.WaitGroup
		for _, s := range []db.AgentSnapshot{{Ref: a, RemovedRawIDs: []string{"x"}},
			{Ref: b, ChangedRooms: []db.ReportedRoom{made("x", 0)}}} {
			wait.Go(func() {
				if _, err := r.ApplySnapshot(t.Context(), s); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		require.Empty(t, r.rooms(a))
		require.True(t, slices.Contains([]string{"x", "p_eu1~x"}, r.rooms(b)[0]), "%v", r.rooms(b))
		r.apply(db.AgentSnapshot{Ref: b, RemovedRawIDs: []string{"x"}})
		r.apply(db.AgentSnapshot{Ref: a, ChangedRooms: []db.ReportedRoom{made("x", 0)}})
		require.Equal(t, []string{"x"}, r.rooms(a))
	}
	r.requireCounted()
}

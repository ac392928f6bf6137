package db_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

func TestCreateRoomReservesIt(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	a := f.agent(1)
	wake, stop := f.Subscribe(db.TopicReplica(f.holder), "eu")
	defer stop()
	c := f.create("arena-1")
	<-wake
	require.Equal(t, db.Command{
		ID: c.ID, Region: "eu", AgentID: a, ReplicaID: f.holder, Op: db.CommandCreate, RoomID: "arena-1",
		RawID: "arena-1", RoomType: "duel", Deadline: c.Deadline,
	}, c)
	require.WithinDuration(t, time.Now().Add(time.Minute), c.Deadline, 30*time.Second)
	require.Equal(t, []string{fmt.Sprintf("arena-1|%s|arena-1|duel|reserved|%s", a, c.ID)},
		f.Rows("SELECT id, agent_id, base, type, state, command FROM rooms"))
	require.Equal(t, []string{fmt.Sprintf("%s|%s|%s|create|arena-1|key#11111111|pending", a, f.holder, f.caller)},
		f.Rows("SELECT agent_id, replica, caller, op, room, actor, state FROM commands"))
	require.Equal(t, []string{"0|1|1"}, f.Rows("SELECT rooms, reserved, in_flight FROM agent_states"))
	require.Regexp(t, `^r_[A-Za-z0-9_-]{21}$`, f.create("").RoomID)
	f.requireRefused(db.CodeRoomExists, f.newRoom("arena-1"))
	f.requireCounted()
}

// The first applicable reason, in the order of the protocol, is the answer.
func TestTheOrderOfRefusals(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	free := f.agent(1)
	draining := f.agent(2, withStatus(db.AgentDraining), stale, manual)
	silent := f.agent(3, stale, manual)
	passive := f.agent(4, manual, withCommandsInFlight(32))
	busy := f.agent(5, withCommandsInFlight(32))
	gone := f.agent(6)
	f.Exec("UPDATE agent_states SET left_at = now() WHERE agent_id = $1", gone)
	doubted := f.agent(7)
	f.Exec("UPDATE agent_states SET doubted = true WHERE agent_id = $1", doubted)
	kept := f.agent(8)
	f.Exec("UPDATE agent_states SET kept = true WHERE agent_id = $1", kept)
	drained := f.agent(9)
	f.Exec("UPDATE agent_states SET override = 'draining' WHERE agent_id = $1", drained)
	undrained := f.agent(10, withStatus(db.AgentDraining))
	f.Exec("UPDATE agent_states SET override = 'active' WHERE agent_id = $1", undrained)
	odd := f.agent(11, withStatus("lunch"))
	stopping := uuid.New()
	f.Exec("INSERT INTO replicas (region, id, ended_at, rows_until) VALUES ('eu', $1, now(), now() + interval '1 minute')", stopping)
	handedOver := f.agent(12, withReplica(stopping))
	f.create("taken", pinnedTo(free))

	bothPins := func(r *db.NewRoom) { r.InstanceID, r.ProcessUID = new("x"), new("y") }
	for name, c := range map[string]struct {
		code string
		room db.NewRoom
	}{
		"an id that is none":     {db.CodeValidation, f.newRoom("no id")},
		"taken, before all else": {db.CodeRoomExists, f.newRoom("taken", bothPins)},
		"two pins":               {db.CodeValidation, f.newRoom("r", bothPins)},
		"an unknown instance":    {db.CodeInstanceNotFound, f.newRoom("r", pinnedTo("nobody"), forced)},
		"an impossible instance": {db.CodeInstanceNotFound, f.newRoom("r", pinnedTo("no\x00body\xff"))},
		"an unknown process": {db.CodeInstanceNotFound,
			f.newRoom("r", func(r *db.NewRoom) { r.ProcessUID = new("") })},
		"one that left":           {db.CodeInstanceNotFound, f.newRoom("r", pinnedTo(gone))},
		"one that is doubted":     {db.CodeInstanceNotFound, f.newRoom("r", pinnedTo(doubted))},
		"draining, before stale":  {db.CodeInstanceDraining, f.newRoom("r", pinnedTo(draining))},
		"a kept drain":            {db.CodeInstanceDraining, f.newRoom("r", pinnedTo(kept))},
		"an acknowledged drain":   {db.CodeInstanceDraining, f.newRoom("r", pinnedTo(drained))},
		"stale, before manual":    {db.CodeInstanceDisconnected, f.newRoom("r", pinnedTo(silent))},
		"of a replica that stops": {db.CodeInstanceDisconnected, f.newRoom("r", pinnedTo(handedOver))},
		"manual, before busy":     {db.CodeNoCandidate, f.newRoom("r", pinnedTo(passive))},
		"manual, though forced":   {db.CodeNoCandidate, f.newRoom("r", pinnedTo(silent), forced)},
		"busy":                    {db.CodeInstanceBusy, f.newRoom("r", pinnedTo(busy))},
		"no such type":            {db.CodeNoCandidate, f.newRoom("r", func(r *db.NewRoom) { r.Type = "race" })},
		"an impossible type":      {db.CodeNoCandidate, f.newRoom("r", func(r *db.NewRoom) { r.Type = "\x00" })},
		"no such label": {db.CodeNoCandidate,
			f.newRoom("r", func(r *db.NewRoom) { r.RequiredLabels = map[string]string{"zone": "b"} })},
		"a label that none can have": {db.CodeNoCandidate,
			f.newRoom("r", func(r *db.NewRoom) { r.NoMatch = true })},
		"taken, before no such label": {db.CodeRoomExists,
			f.newRoom("taken", func(r *db.NewRoom) { r.NoMatch = true })},
		"an impossible label is no text": {db.CodeNoCandidate,
			f.newRoom("r", func(r *db.NewRoom) { r.RequiredLabels = map[string]string{"zone": "\x00"} })},
	} {
		t.Log(name)
		f.requireRefused(c.code, c.room)
	}
	require.Equal(t, undrained, f.create("r1", pinnedTo(undrained)).AgentID)
	require.Equal(t, odd, f.create("r2", pinnedTo(odd)).AgentID, "neither active nor draining")
	f.Exec("UPDATE agents SET auto_create = true")
	require.Equal(t, draining, f.create("r3", pinnedTo(draining), forced).AgentID)
	require.Equal(t, silent, f.create("r4", pinnedTo(silent), forced).AgentID)
	require.Equal(t, free, f.create("r5", pinnedTo(free),
		func(r *db.NewRoom) { r.Type, r.RequiredLabels = "race", map[string]string{"zone": "b"} }).AgentID)
	f.Exec("UPDATE agents SET max_rooms = 0")
	require.Equal(t, free, f.create("r6", pinnedTo(free)).AgentID, "a pin ignores the capacity")
	f.requireRefused(db.CodeNoCandidate, f.newRoom("r"))
}

// A pin to a process means its most recently joined connection.
func TestAPinToAProcess(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	same := func(a *agentRow) { a.process = "p_same" }
	f.agent(3, same)
	last := f.agent(2, same)
	f.Exec("UPDATE agents SET joined_at = joined_at + interval '1 minute' WHERE id = $1", last)
	gone := f.agent(1, same)
	f.Exec("UPDATE agents SET joined_at = joined_at + interval '2 minutes' WHERE id = $1", gone)
	f.Exec("UPDATE agent_states SET left_at = now() WHERE agent_id = $1", gone)
	require.Equal(t, last, f.create("r", func(r *db.NewRoom) { r.ProcessUID = new("p_same") }).AgentID)
}

func TestPlacementOfRooms(t *testing.T) {
	t.Parallel()
	strategy := func(s string) func(*db.NewRoom) { return func(r *db.NewRoom) { r.SpreadStrategy = s } }
	labelled := func(r *db.NewRoom) { r.RequiredLabels = map[string]string{"zone": "b"} }
	for name, c := range map[string]struct {
		agents map[int][]func(*agentRow)
		room   func(*db.NewRoom)
		want   int
	}{
		"the least connections": {map[int][]func(*agentRow){1: {withConnections(5)},
			2: {withConnections(4)}, 3: {withConnections(6)}}, strategy(""), 2},
		"the least share": {map[int][]func(*agentRow){1: {withConnectionsOf(5, 100)},
			2: {withConnectionsOf(4, 10)}}, strategy("least-loaded"), 1},
		"the most connections": {map[int][]func(*agentRow){1: {withConnections(5)},
			2: {withConnections(4)}}, strategy("most-loaded"), 1},
		"the most share": {map[int][]func(*agentRow){1: {withConnectionsOf(5, 100)},
			2: {withConnectionsOf(4, 10)}}, strategy("most-loaded"), 2},
		"connections, where one has no limit": {map[int][]func(*agentRow){1: {withConnectionsOf(5, 100)},
			2: {withConnectionsOf(4, 10)}, 3: {withConnections(9)}}, strategy("x"), 2},
		"a busy one without a limit counts": {
			map[int][]func(*agentRow){1: {withConnectionsOf(5, 100)}, 2: {withConnectionsOf(4, 10)},
				3: {withCommandsInFlight(32)}}, strategy(""), 2,
		},
		"a full one without a limit does not": {
			map[int][]func(*agentRow){1: {withConnectionsOf(5, 100)}, 2: {withConnectionsOf(4, 10)},
				3: {withMaxRooms(0)}}, strategy(""), 1,
		},
		"busy ones last": {map[int][]func(*agentRow){1: {withCommandsInFlight(32)},
			2: {withConnections(1000), withCommandsInFlight(31)}}, strategy(""), 2},
		"labels": {map[int][]func(*agentRow){1: {}, 2: {withLabel("zone", "b"), withConnections(9)},
			3: {withLabel("zone", "a")}}, labelled, 2},
		"full of players": {map[int][]func(*agentRow){1: {withConnectionsOf(1, 1)},
			2: {withConnectionsOf(99, 100)}}, strategy("random"), 2},
		"not draining ones": {map[int][]func(*agentRow){1: {withStatus("draining")}, 2: {withConnections(5)},
			3: {withStatus("odd")}}, strategy(""), 2},
		"not stale ones":       {map[int][]func(*agentRow){1: {stale}, 2: {withConnections(5)}}, strategy(""), 2},
		"not those without it": {map[int][]func(*agentRow){1: {manual}, 2: {withConnections(5)}}, strategy(""), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setupFleet(t)
			for n, change := range c.agents {
				f.agent(n, change...)
			}
			require.Equal(t, agentID(c.want), f.create("", c.room).AgentID)
		})
	}
}

// An agent gets no room if its replica has ended or the replica's lease has expired.
func TestRoomsGoToLiveReplicasOnly(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	f.Exec("UPDATE replicas SET steady_since = now() - interval '1 hour', seen_at = now()")
	dead := uuid.New()
	f.Exec("INSERT INTO replicas (region, id, steady_since, seen_at) VALUES ('eu', $1, now() - interval '1 hour', now() - interval '1 minute')", dead)
	of := f.agent(1, withReplica(dead))
	f.requireRefused(db.CodeNoCandidate, f.newRoom("r"))
	f.requireRefused(db.CodeInstanceDisconnected, f.newRoom("r", pinnedTo(of)))
	f.Exec("UPDATE replicas SET steady_since = now()")
	f.create("r") // after an outage no replica counts as expired
}

func TestBusyAgents(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	f.agent(1)
	for range 32 {
		f.create("")
	}
	f.requireRefused(db.CodeInstanceBusy, f.newRoom("r"))
	f.requireCounted()
}

package roster

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

func TestMain(m *testing.M) {
	longtest.LimitRapid(25)
	dbtest.VerifyNoLeaks(m)
}

const (
	region      = "eu"
	testTimeout = 2 * time.Minute // a transaction of any test on the server delays events
)

// bundle is a fleet whose rows are written by the test.
type bundle struct {
	*storetest.DB // of the writer, which sends notifications

	t       require.TestingT
	replica uuid.UUID
	agents  map[string]*db.InstanceInfo // as written
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{DB: storetest.New(t), t: t, agents: map[string]*db.InstanceInfo{}}
	b.replica = uuid.New() // renews its lease for the whole test
	b.Exec("INSERT INTO replicas (region, id, seen_at, heard_since) VALUES ($1, $2, now() + interval '1 day', 'epoch')",
		region, b.replica)
	return b
}

// change is a transaction that changes the fleet. The ids of its events are ascending.
type change struct {
	*bundle
	pgx.Tx

	events uint32
}

// writes runs a transaction and sends the notification that a replica would send.
func (b *bundle) writes(do func(c *change)) {
	c := b.begin()
	do(c)
	c.commit()
}

func (b *bundle) begin() *change {
	tx := must.Get(b.Pool().Begin(context.Background()))(b.t)
	if t, ok := b.t.(interface{ Cleanup(f func()) }); ok {
		t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	}
	return &change{bundle: b, Tx: tx}
}

func (c *change) commit() {
	require.NoError(c.t, c.Commit(context.Background()))
	c.Store.Notify(db.TopicFleet, region)
}

func (c *change) do(sql string, args ...any) {
	must.Get(c.Exec(context.Background(), sql, args...))(c.t)
}

func (c *change) tx() (tx uint64) {
	require.NoError(c.t, c.QueryRow(context.Background(), "SELECT pg_current_xact_id()").Scan(&tx))
	return tx
}

// logs inserts an event.
func (c *change) logs(kind, agent string, detail any) {
	var id uuid.UUID
	binary.BigEndian.PutUint32(id[:], c.events)
	random := uuid.New()
	copy(id[4:], random[4:])
	c.events++
	text := must.Get(json.Marshal(detail))(c.t)
	c.do("INSERT INTO events (region, id, kind, instance_id, detail) VALUES ($1, $2, $3, $4, $5)", region, id, kind,
		agent, string(text))
}

// joins inserts an agent with rooms.
func (c *change) joins(id string, rooms ...string) {
	info := &db.InstanceInfo{
		ID: id, Name: "n" + id, ProcessUID: "p_" + id, EndpointURL: "wss://" + id,
		Labels: map[string]string{"region": "eu"}, RoomTypes: []string{"match"},
		Rooms: []db.RoomInfo{}, AutoCreate: true, Status: db.AgentActive, AgentVersion: "8.0.0", ProtocolVersion: 3,
	}
	c.agents[id] = info
	c.do(`INSERT INTO agents (region, id, replica, process_uid, name, endpoint, labels, room_types, auto_create, agent_version, protocol_version, key)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, true, '8.0.0', 3, 'key')`, region, id, c.replica, info.ProcessUID, info.Name, info.EndpointURL, info.Labels, info.RoomTypes)
	c.do("INSERT INTO agent_states (region, agent_id, replica, status, synced_at) VALUES ($1, $2, $3, 'active', 'epoch')", region, id, c.replica)
	for _, r := range rooms {
		c.puts(id, r)
	}
	c.touches(id)
	c.logs(db.EventAgentJoined, id, info)
}

// puts inserts a room, without its event.
func (c *change) puts(id, room string) {
	c.do("INSERT INTO rooms (region, id, agent_id, base, type, state) VALUES ($1, $2, $3, $2, 'match', 'reported')",
		region, room, id)
	info := c.agents[id]
	info.Rooms = append(info.Rooms, db.RoomInfo{ID: room, Type: "match", InstanceID: id, EndpointURL: info.EndpointURL})
	slices.SortFunc(info.Rooms, func(x, y db.RoomInfo) int { return strings.Compare(x.ID, y.ID) })
}

func (c *change) creates(id, room string) {
	c.puts(id, room)
	c.touches(id)
	c.logs(db.EventRoomCreated, id, c.room(id, room))
}

func (c *change) destroys(id, room string) {
	c.do("DELETE FROM rooms WHERE region = $1 AND id = $2", region, room)
	c.logs(db.EventRoomDestroyed, id, c.room(id, room))
	info := c.agents[id]
	info.Rooms = slices.DeleteFunc(info.Rooms, func(r db.RoomInfo) bool { return r.ID == room })
	c.touches(id)
}

func (c *change) room(id, room string) db.RoomInfo {
	all := c.agents[id].Rooms
	return all[slices.IndexFunc(all, func(r db.RoomInfo) bool { return r.ID == room })]
}

// plays sets the connections of a room.
func (c *change) plays(id, room string, connections int32) {
	c.do("UPDATE rooms SET connections = $3 WHERE region = $1 AND id = $2", region, room, connections)
	for i := range c.agents[id].Rooms {
		if r := &c.agents[id].Rooms[i]; r.ID == room {
			r.Connections = connections
		}
	}
	c.touches(id)
}

// touches sets the agent's counters from its rooms.
func (c *change) touches(id string) {
	info := c.agents[id]
	info.Connections = 0
	for _, r := range info.Rooms {
		info.Connections += int64(r.Connections)
	}
	c.do("UPDATE agent_states SET rooms = $3, connections = $4, tx = pg_current_xact_id() WHERE region = $1 AND agent_id = $2", region, id, len(info.Rooms), info.Connections)
}

func (c *change) leaves(id string) {
	c.empties(id, "left_at = clock_timestamp()")
	c.logs(db.EventAgentLeft, id, c.agents[id])
	delete(c.agents, id)
}

// doubts marks an agent as doubted, so that lists no longer show it.
func (c *change) doubts(id string) {
	c.empties(id, "doubted = true")
	c.logs(db.EventAgentLeft, id, c.agents[id])
	c.agents[id].Rooms, c.agents[id].Connections = []db.RoomInfo{}, 0
}

func (c *change) returns(id string) {
	c.do("UPDATE agent_states SET doubted = false, tx = pg_current_xact_id() WHERE region = $1 AND agent_id = $2",
		region, id)
	c.logs(db.EventAgentJoined, id, c.agents[id])
}

func (c *change) empties(id, set string) {
	c.do("DELETE FROM rooms WHERE region = $1 AND agent_id = $2", region, id)
	c.do("UPDATE agent_states SET rooms = 0, connections = 0, tx = pg_current_xact_id(), "+set+
		" WHERE region = $1 AND agent_id = $2", region, id)
}

func agentID(n int) string { return fmt.Sprintf("%016x", n) }

// follower is a replica's roster with its dependencies.
type follower struct {
	*Roster

	t      *testing.T
	store  *db.Store
	events *Events
}

// follow makes the roster of another replica. It reads only when the test calls reads.
func (b *bundle) follow(t *testing.T) *follower {
	t.Helper()
	store := b.Replica()
	r := must.Get(New(store, region, Config{}))(t)
	e := must.Get(NewEvents(store, r, 100, Config{}))(t)
	return &follower{Roster: r, t: t, store: store, events: e}
}

// forgets replaces the roster by a new one.
func (f *follower) forgets() { f.latestReading.Store(&reading{replaced: make(chan struct{})}) }

// run runs the roster and its events until the test ends or stop is called. change may modify both before they start.
func (f *follower) run(change ...func(*follower)) (stop func()) {
	f.t.Helper()
	for _, c := range change {
		c(f)
	}
	stopRoster, stopEvents := background.Run(f.t, f.Run), background.Run(f.t, f.events.Run)
	f.wait(0)
	return func() { stopEvents(); stopRoster() }
}

// wait waits until the copy includes a transaction.
func (f *follower) wait(tx uint64) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), testTimeout)
	defer cancel()
	require.NoError(f.t, f.WaitFor(ctx, tx))
}

// reads updates the copy of a roster that is not running.
func (f *follower) reads() *View {
	f.t.Helper()
	require.NoError(f.t, f.readChanges(f.t.Context()))
	return f.View()
}

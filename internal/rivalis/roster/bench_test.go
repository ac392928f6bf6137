package roster

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// aFleet makes the rows of n agents with four rooms each.
func aFleet(n int) *db.RosterPage {
	page := &db.RosterPage{Replicas: []db.RosterReplica{{ID: someReplicas[0], IsLive: true, HeardSince: time.Now()}}}
	for i := range n {
		page.Agents = append(page.Agents, anAgent(i, 3))
	}
	return page
}

func anAgent(i int, connections int32) db.RosterAgent {
	id := fmt.Sprintf("%016x", uint64(i)*0x9E3779B97F4A7C15)
	a := db.RosterAgent{ReplicaID: someReplicas[0], JoinedAt: time.Unix(int64(i/50), 0), InstanceInfo: db.InstanceInfo{
		ID: id, Name: "eu" + id[:4], ProcessUID: "p_" + id + id[:8], EndpointURL: "wss://eu0.game.example.com/" + id,
		Labels:    map[string]string{"region": "eu"},
		RoomTypes: []string{"lobby", "match"}, AutoCreate: true, Status: "active", LastSyncAt: time.Now().UnixMilli(),
		AgentVersion: "8.0.0", ProtocolVersion: 3,
	}}
	for r := range 4 {
		a.InstanceInfo.Rooms = append(a.InstanceInfo.Rooms, db.RoomInfo{
			ID: fmt.Sprintf("match-%d-%d", i, r), Type: "match", Connections: connections, InstanceID: id,
			EndpointURL: a.InstanceInfo.EndpointURL,
		})
		a.InstanceInfo.Connections += int64(connections)
	}
	return a
}

// The list of 1,000 instances with four rooms each, as GET /v1/instances returns it.
func BenchmarkList1000(b *testing.B) {
	f := newFleet()
	f.applyPage(aFleet(1000))
	v := f.currentView()
	var list []byte
	for b.Loop() {
		list, _ = v.AppendInstances(list[:0], Page{})
	}
	b.SetBytes(int64(len(list)))
}

// One changed instance, in fleets of two sizes. Apart from the copy of the list of pointers, both must cost the same.
func BenchmarkOneChange(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := newFleet()
			page := aFleet(n)
			f.applyPage(page)
			i := 0
			for b.Loop() {
				i++
				f.applyPage(&db.RosterPage{Replicas: page.Replicas, Agents: []db.RosterAgent{anAgent(n/2, int32(i))}})
				f.currentView()
			}
		})
	}
}

// Reads one changed instance of 10,000 from the database, with its four rooms. The measured time includes the write.
func BenchmarkReadOneChange(b *testing.B) {
	store := storetest.Open(b, dbtest.New(b))
	exec := func(sql string) {
		_, err := store.Pool().Exec(b.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		require.NoError(b, err)
	}
	exec(`INSERT INTO replicas (region, id) SELECT 'eu', gen_random_uuid();
		INSERT INTO agents (region, id, replica, process_uid, name, endpoint, auto_create, agent_version, protocol_version, key)
			SELECT 'eu', lpad(to_hex(n), 16, '0'), r.id, 'p_' || n, 'eu', 'wss://h', true, '8', 3, 'key' FROM replicas r, generate_series(1, 10000) n;
		INSERT INTO agent_states (region, agent_id, replica, status, rooms) SELECT region, id, replica, 'active', 4 FROM agents;
		INSERT INTO rooms (region, id, agent_id, base, type, state) SELECT region, 'r' || n || id AS room, id, 'r' || n, 'duel', 'reported' FROM agents, generate_series(1, 4) n;
		ANALYZE`)
	r, err := New(store, region, Config{})
	require.NoError(b, err)
	require.NoError(b, r.readChanges(b.Context()))
	require.Len(b, r.View().Instances(), 10_000)
	for b.Loop() {
		exec("UPDATE agent_states SET tx = pg_current_xact_id() WHERE region = 'eu' AND agent_id = '0000000000000100'")
		require.NoError(b, r.readChanges(b.Context()))
	}
}

// The first read of 10,000 instances, without the database.
func BenchmarkWholeFleet(b *testing.B) {
	page := aFleet(10_000)
	for b.Loop() {
		f := newFleet()
		f.applyPage(page)
		f.currentView()
	}
}

package db

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/query"
)

// largeFleet inserts 10,000 agents of two replicas, each with 4 rooms and every hundredth with a pending command;
// 10,000 agents that have left; and settled commands.
const largeFleet = `
INSERT INTO replicas (region, id) SELECT 'eu', md5('r' || n)::uuid FROM generate_series(0, 1) n;
INSERT INTO agents (region, id, replica, process_uid, name, endpoint, labels, room_types, auto_create, agent_version, protocol_version, key)
	SELECT 'eu', lpad(to_hex(n), 16, '0'), md5('r' || n % 2)::uuid, 'p' || n, 'name', 'wss://' || n, '{"region": "eu"}', '{duel}', true, '8.0.0', 3, 'key'
	FROM generate_series(1, 20000) n;
INSERT INTO agent_states (region, agent_id, replica, status, rooms, in_flight, left_at, tx)
	SELECT 'eu', lpad(to_hex(n), 16, '0'), md5('r' || n % 2)::uuid, 'active', CASE WHEN n <= 10000 THEN 4 ELSE 0 END, (n <= 10000 AND n % 100 = 0)::int,
	       CASE WHEN n > 10000 THEN now() - n * interval '1 ms' END, (n::text)::xid8 FROM generate_series(1, 20000) n;
INSERT INTO rooms (region, id, agent_id, base, type, state)
	SELECT 'eu', 'room' || n, lpad(to_hex(1 + n / 4), 16, '0'), 'room' || n, 'duel', 'reported' FROM generate_series(0, 39999) n;
INSERT INTO commands (region, id, agent_id, replica, op, deadline, state, settled_at)
	SELECT 'eu', md5('c' || n)::uuid, lpad(to_hex(n), 16, '0'), md5('r' || n % 2)::uuid, 'drain', now() + interval '10 seconds',
	       CASE WHEN n % 100 = 0 THEN 'pending' ELSE 'done' END, CASE WHEN n % 100 <> 0 THEN now() - n * interval '1 ms' END FROM generate_series(1, 10000) n;
INSERT INTO kept_drains (region, name, endpoint, actor) SELECT 'eu', 'kept' || n, 'wss://' || n, 'ann' FROM generate_series(1, 2000) n;
ANALYZE;`

func TestAgentPlansReadWhatTheyTake(t *testing.T) {
	t.Parallel()
	store := storeWith(t, largeFleet)
	ids, replica, none := []string{"0000000000000001"}, uuid.New(), []uuid.UUID{{}}
	readWhatTheyTake(t, store.pool, map[string]func(context.Context, *query.Queries) error{
		"FindPredecessors": func(ctx context.Context, q *query.Queries) error {
			return second(q.FindPredecessors(ctx, query.FindPredecessorsParams{Region: "eu"}))
		},
		"LockAgentStates": func(ctx context.Context, q *query.Queries) error {
			return second(q.LockAgentStates(ctx, query.LockAgentStatesParams{Region: "eu", Ids: ids}))
		},
		"ReadAgents": func(ctx context.Context, q *query.Queries) error {
			return second(q.ReadAgents(ctx, query.ReadAgentsParams{Region: "eu", Ids: ids}))
		},
		"ReadKeptDrains": func(ctx context.Context, q *query.Queries) error {
			return second(q.ReadKeptDrains(ctx, query.ReadKeptDrainsParams{Region: "eu"}))
		},
		"PutAgents": func(ctx context.Context, q *query.Queries) error {
			return q.PutAgents(ctx, query.PutAgentsParams{Region: "eu"})
		},
		"PutAgentStates": func(ctx context.Context, q *query.Queries) error {
			return q.PutAgentStates(ctx, query.PutAgentStatesParams{Region: "eu"})
		},
		"PendingOfAgents": func(ctx context.Context, q *query.Queries) error {
			return second(q.PendingOfAgents(ctx, query.PendingOfAgentsParams{Region: "eu", Ids: ids}))
		},
		"SettleCommandsOfAgents": func(ctx context.Context, q *query.Queries) error {
			return q.SettleCommandsOfAgents(ctx, query.SettleCommandsOfAgentsParams{Region: "eu", Ids: none})
		},
		"ReadRooms": func(ctx context.Context, q *query.Queries) error {
			return second(q.ReadRooms(ctx, query.ReadRoomsParams{Region: "eu", Agents: ids, Bases: ids}))
		},
		"RoomsOfAgents": func(ctx context.Context, q *query.Queries) error {
			return second(q.RoomsOfAgents(ctx, query.RoomsOfAgentsParams{Region: "eu", Agents: ids, Judged: ids}))
		},
		"RoomHolders": func(ctx context.Context, q *query.Queries) error {
			return second(q.RoomHolders(ctx, query.RoomHoldersParams{Region: "eu", Ids: ids}))
		},
		"DeleteRooms": func(ctx context.Context, q *query.Queries) error {
			return q.DeleteRooms(ctx, query.DeleteRoomsParams{Region: "eu", Ids: ids})
		},
		"PutRooms": func(ctx context.Context, q *query.Queries) error {
			return q.PutRooms(ctx, query.PutRoomsParams{Region: "eu", Ids: ids})
		},
		"OwnAgents": func(ctx context.Context, q *query.Queries) error {
			return second(q.OwnAgents(ctx, query.OwnAgentsParams{Region: "eu", Since: 19_990, Replica: replica}))
		},
		"AllOwnAgents": func(ctx context.Context, q *query.Queries) error {
			return second(q.AllOwnAgents(ctx, query.AllOwnAgentsParams{Region: "eu", Replica: replica}))
		},
		"AgentsToEnd": func(ctx context.Context, q *query.Queries) error {
			return second(q.AgentsToEnd(ctx, query.AgentsToEndParams{Region: "eu", Most: maxEndedAgents}))
		},
		"ForgetAgents": func(ctx context.Context, q *query.Queries) error {
			return second(q.ForgetAgents(ctx, query.ForgetAgentsParams{Region: "eu", Most: 1000}))
		},
		"PendingCommands": func(ctx context.Context, q *query.Queries) error {
			return second(q.PendingCommands(ctx,
				query.PendingCommandsParams{Region: "eu", Replica: replica, Page: 4096}))
		},
		"ForgottenCommands": func(ctx context.Context, q *query.Queries) error {
			return second(q.ForgottenCommands(ctx, query.ForgottenCommandsParams{Region: "eu", Batch: 512}))
		},
		"DeleteSettledCommands": func(ctx context.Context, q *query.Queries) error {
			return second(q.DeleteSettledCommands(ctx, query.DeleteSettledCommandsParams{Region: "eu", Batch: 512}))
		},
		"ExpireCommands": func(ctx context.Context, q *query.Queries) error {
			return second(q.ExpireCommands(ctx, query.ExpireCommandsParams{Region: "eu", Ids: none, Agents: ids}))
		},
		"CommandAnswers": func(ctx context.Context, q *query.Queries) error {
			return second(q.CommandAnswers(ctx, query.CommandAnswersParams{Region: "eu", Ids: none}))
		},
		"RosterSince": func(ctx context.Context, q *query.Queries) error {
			return second(q.RosterSince(ctx, query.RosterSinceParams{Region: "eu", Page: 1000}))
		},
		"RosterAfter": func(ctx context.Context, q *query.Queries) error {
			return second(q.RosterAfter(ctx, query.RosterAfterParams{Region: "eu", Page: 1000}))
		},
	})
}

// Pins a bug: a snapshot wrote all rooms of an agent when one had changed.
func TestOneChangedRoomIsOneRowWritten(t *testing.T) {
	t.Parallel()
	s := storeWith(t, "SELECT 1")
	replica, err := s.BeginReplica(t.Context(), "eu")
	require.NoError(t, err)
	j := AgentJoin{Ref: AgentRef{"eu", "0000000000000001", replica},
		Content: AgentContent{Name: "eu0", Status: AgentActive}}
	for n := range 10_000 {
		j.ReportedRooms = append(j.ReportedRooms, ReportedRoom{RawID: fmt.Sprintf("room %d", n), Type: "duel"})
	}
	_, err = s.JoinAgent(t.Context(), j)
	require.NoError(t, err)
	changed := []ReportedRoom{{RawID: "room 77", Type: "duel", ConnectionCount: 1}}
	_, err = s.ApplySnapshot(t.Context(), AgentSnapshot{Ref: j.Ref, ChangedRooms: changed, ReplyAge: time.Second})
	require.NoError(t, err)
	var rooms, agents int
	require.NoError(t, s.pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM rooms r WHERE r.xmin::text = s.tx::text),
		(SELECT count(*) FROM agents a WHERE a.xmin::text = s.tx::text) FROM agent_states s`).Scan(&rooms, &agents))
	require.Equal(t, [2]int{1, 0}, [2]int{rooms, agents})
}

package db

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/query"
)

// commandedFleet is a fleet of 10,000 agents with 40,000 rooms and a command in flight for each agent. All agents offer
// one type, and one of a thousand also offers another one.
const commandedFleet = `
INSERT INTO replicas (region, id, steady_since)
	SELECT 'eu', ('00000000-0000-0000-0000-00000000000' || n)::uuid, now() - interval '1 hour' FROM generate_series(1, 3) n;
INSERT INTO agents (region, id, replica, process_uid, name, endpoint, labels, room_types, max_connections, max_rooms, auto_create, agent_version,
		protocol_version, key)
	SELECT 'eu', to_char(n, 'FM0000000000000000'), ('00000000-0000-0000-0000-00000000000' || 1 + n % 3)::uuid, 'p_' || n, 'eu' || n, 'wss://eu' || n || '.game.example.com',
		jsonb_build_object('region', 'eu', 'zone', (n % 4)::text),
		CASE WHEN n % 1000 = 0 THEN '{duel,race,rare}' ELSE '{duel,race}' END::text[], 2000, 100, true, '8.0.0', 3, 'key#00000000'
	FROM generate_series(1, 10000) n;
INSERT INTO agent_states (region, agent_id, replica, status, connections, rooms, in_flight)
	SELECT a.region, a.id, a.replica, 'active', 10 + n % 1000, 4, 1 FROM (SELECT *, id::int AS n FROM agents) a;
INSERT INTO rooms (region, id, agent_id, base, type, connections, state)
	SELECT a.region, x.id, a.id, x.id, 'duel', 5, 'reported' FROM agents a, generate_series(1, 4) n, LATERAL (SELECT 'r' || n || '-' || a.id AS id) x;
INSERT INTO commands (region, id, agent_id, replica, op, deadline) SELECT region, gen_random_uuid(), agent_id, replica, 'drain', now() + interval '1 hour'
	FROM agent_states;
INSERT INTO commands (region, id, agent_id, replica, op, state, settled_at, deadline)
	SELECT s.region, gen_random_uuid(), s.agent_id, s.replica, 'drain', 'done', now(), now() FROM agent_states s, generate_series(1, 3);
ANALYZE;`

func TestPlansOfRoomsAndCommands(t *testing.T) {
	t.Parallel()
	pool := storeWith(t, commandedFleet).Pool()
	some, ids := []string{"x"}, []uuid.UUID{uuid.New()}
	readWhatTheyTake(t, pool, map[string]func(context.Context, *query.Queries) error{
		"TakenRooms": func(ctx context.Context, q *query.Queries) error {
			return second(q.TakenRooms(ctx, query.TakenRoomsParams{Region: "eu", Ids: some}))
		},
		"RoomHosts": func(ctx context.Context, q *query.Queries) error {
			return second(q.RoomHosts(ctx, query.RoomHostsParams{Region: "eu", Ids: some, Processes: some}))
		},
		"RoomHosts, named": func(ctx context.Context, q *query.Queries) error {
			return second(q.RoomHosts(ctx, query.RoomHostsParams{Region: "eu", Ids: make([]string, 2*spareNear)}))
		},
		"ReserveRooms": func(ctx context.Context, q *query.Queries) error {
			return second(q.ReserveRooms(ctx, query.ReserveRoomsParams{Region: "eu"}))
		},
		"RoomsToDestroy": func(ctx context.Context, q *query.Queries) error {
			return second(q.RoomsToDestroy(ctx, query.RoomsToDestroyParams{Region: "eu", Ids: some}))
		},
		"SendCommands": func(ctx context.Context, q *query.Queries) error {
			return second(q.SendCommands(ctx, query.SendCommandsParams{Region: "eu"}))
		},
		"PendingCommands": func(ctx context.Context, q *query.Queries) error {
			return second(q.PendingCommands(ctx, query.PendingCommandsParams{Region: "eu", Replica: ids[0], Page: CommandPage}))
		},
		"AcknowledgedCommands": func(ctx context.Context, q *query.Queries) error {
			return second(q.AcknowledgedCommands(ctx, query.AcknowledgedCommandsParams{Region: "eu", Ids: ids}))
		},
		"SettleAcknowledged": func(ctx context.Context, q *query.Queries) error {
			return q.SettleAcknowledged(ctx, query.SettleAcknowledgedParams{Region: "eu"})
		},
		"ConfirmRooms": func(ctx context.Context, q *query.Queries) error {
			return q.ConfirmRooms(ctx, query.ConfirmRoomsParams{Region: "eu", Ids: some})
		},
		"AgentsOfCommands": func(ctx context.Context, q *query.Queries) error {
			return second(q.AgentsOfCommands(ctx, query.AgentsOfCommandsParams{Region: "eu", Ids: ids}))
		},
		"ExpireCommands": func(ctx context.Context, q *query.Queries) error {
			return second(q.ExpireCommands(ctx, query.ExpireCommandsParams{Region: "eu", Ids: ids, Agents: some}))
		},
		"ForgottenCommands": func(ctx context.Context, q *query.Queries) error {
			return second(q.ForgottenCommands(ctx, query.ForgottenCommandsParams{Region: "eu", Batch: 100}))
		},
		"DeleteSettledCommands": func(ctx context.Context, q *query.Queries) error {
			return second(q.DeleteSettledCommands(ctx, query.DeleteSettledCommandsParams{Region: "eu", Batch: 100}))
		},
		"CommandAnswers": func(ctx context.Context, q *query.Queries) error {
			return second(q.CommandAnswers(ctx, query.CommandAnswersParams{Region: "eu", Ids: ids}))
		},
		"FindRooms": func(ctx context.Context, q *query.Queries) error {
			return second(q.FindRooms(ctx, query.FindRoomsParams{Region: "eu", Ids: some}))
		},
		"FindAgents": func(ctx context.Context, q *query.Queries) error {
			return second(q.FindAgents(ctx, query.FindAgentsParams{Region: "eu", Ids: some}))
		},
		"RoomsOfFoundAgents": func(ctx context.Context, q *query.Queries) error {
			return second(q.RoomsOfFoundAgents(ctx, query.RoomsOfFoundAgentsParams{Region: "eu", Agents: some}))
		},
	})
}

// The statement reads each agent of the fleet that offers the type once for each kind of room. It must not cost more.
func TestThePlanOfCandidates(t *testing.T) {
	t.Parallel()
	e := &explainer{pool: storeWith(t, commandedFleet).Pool()}
	_, err := query.New(e).RoomCandidates(t.Context(), query.RoomCandidatesParams{})
	require.ErrorIs(t, err, errExplained)
	require.NoError(t, e.err)
	for _, scan := range wholeScans(t, e.plan) {
		require.Contains(t, []string{"agents", "agents_pkey", "agent_states", "agent_states_pkey", "replicas", "replicas_pkey", "fleet_clock"}, scan, "%s", e.plan)
	}
}

package db

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// hostState is a fleet of 10,000 agents that host 40,000 sessions.
const hostState = `
UPDATE fleet_clock SET pulse_at = now(), steady_since = now() - interval '1 hour';
INSERT INTO agents (region, id, replica, process_uid, name, endpoint, labels, room_types, auto_create, agent_version, protocol_version, key)
	SELECT 'eu', lpad(to_hex(n), 16, '0'), ('00000000-0000-0000-0000-00000000000' || n % 3)::uuid, 'p_' || lpad(to_hex(n), 24, '0'), 'eu' || n, 'wss://h', '{"matchmaking": "true"}',
		'{duel}', true, '8', 3, 'key' FROM generate_series(1, 10000) n;
INSERT INTO agent_states (region, agent_id, replica, status, rooms) SELECT region, id, replica, 'active', 4 FROM agents;
INSERT INTO instances (region, id, incarnation, endpoint, modes, capacity, seat_ceiling, reserved_seats, open_sessions, creates_rooms)
	SELECT region, process_uid, '00000000-0000-0000-0000-000000000001', 'wss://h', '{duel}', 200, 200, 32, 4, true FROM agents;
INSERT INTO instance_directory SELECT id, region, incarnation FROM instances;
INSERT INTO instance_leases SELECT region, id, incarnation, now(), 0.5 FROM instances;
INSERT INTO sessions (region, id, handle, mode, instance_id, incarnation, player_count, max_players, room_at)
	SELECT a.region, gen_random_uuid(), a.id || n, 'duel', a.process_uid, '00000000-0000-0000-0000-000000000001', 3, 8, now() FROM agents a, generate_series(1, 4) n;
INSERT INTO rooms (region, id, agent_id, base, type, state)
	SELECT s.region, s.id::text, a.id, s.id::text, 'duel', 'reported' FROM sessions s JOIN agents a ON a.process_uid = s.instance_id;
ANALYZE;`

func TestPlansOfRoomsOfSessions(t *testing.T) {
	t.Parallel()
	process, session := []string{"p_000000000000000000000001"}, []uuid.UUID{uuid.New()}
	readWhatTheyTake(t, storeWith(t, hostState).Pool(), map[string]func(context.Context, *query.Queries) error{
		"RequestRooms": func(ctx context.Context, q *query.Queries) error {
			return second(q.RequestRooms(ctx, query.RequestRoomsParams{Region: "eu", Sessions: session, Instances: process, Modes: []string{"duel"}}))
		},
		"HostProcesses": func(ctx context.Context, q *query.Queries) error {
			return second(q.HostProcesses(ctx, query.HostProcessesParams{Region: "eu", Replica: uuid.New(), Most: 1000}))
		},
		"LimitSessions": func(ctx context.Context, q *query.Queries) error {
			return q.LimitSessions(ctx, query.LimitSessionsParams{Region: "eu", Ids: process, Most: []int32{3}})
		},
		"UnsettledRooms": func(ctx context.Context, q *query.Queries) error {
			return second(q.UnsettledRooms(ctx, query.UnsettledRoomsParams{Region: "eu", Processes: process, Most: 1000}))
		},
		"MarkRooms": func(ctx context.Context, q *query.Queries) error {
			return q.MarkRooms(ctx, query.MarkRoomsParams{Region: "eu", Ids: session})
		},
		"OrphanedRooms": func(ctx context.Context, q *query.Queries) error {
			return second(q.OrphanedRooms(ctx, query.OrphanedRoomsParams{Region: "eu", Processes: process, Most: 1000}))
		},
	})
}

package db

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/query"
)

// rosterState is a fleet of 10,000 agents with 40,000 rooms, in a database with a long event log.
const rosterState = `
INSERT INTO replicas (region, id) SELECT 'eu', ('00000000-0000-0000-0000-00000000000' || n)::uuid FROM generate_series(0, 2) n;
INSERT INTO agents (region, id, replica, process_uid, name, endpoint, labels, room_types, auto_create, agent_version, protocol_version, key)
	SELECT 'eu', lpad(to_hex(n), 16, '0'), ('00000000-0000-0000-0000-00000000000' || n % 3)::uuid, 'p_' || n, 'eu' || n, 'wss://h', '{}', '{duel}', true, '8', 3, 'key'
	FROM generate_series(1, 10000) n;
INSERT INTO agent_states (region, agent_id, replica, status, rooms) SELECT region, id, replica, 'active', 4 FROM agents;
INSERT INTO rooms (region, id, agent_id, base, type, state) SELECT region, 'r' || n || id AS room, id, 'r' || n, 'duel', 'reported' FROM agents, generate_series(1, 4) n;
INSERT INTO events (region, kind, at) SELECT 'eu', CASE n % 10 WHEN 0 THEN 'room.created' ELSE 'session.closed' END, now() - n % 48 * interval '1 hour'
	FROM generate_series(1, 20000) n;
ANALYZE;`

func TestRosterPlansReadWhatTheyTake(t *testing.T) {
	t.Parallel()
	pool := storeWith(t, rosterState).Pool()
	readWhatTheyTake(t, pool, map[string]func(context.Context, *query.Queries) error{
		"RosterSince": func(ctx context.Context, q *query.Queries) error {
			return second(q.RosterSince(ctx, query.RosterSinceParams{Region: "eu", Before: "10:20:10", Page: rosterPage}))
		},
		"RosterAfter": func(ctx context.Context, q *query.Queries) error {
			return second(q.RosterAfter(ctx, query.RosterAfterParams{Region: "eu", Page: rosterPage}))
		},
	})
}

func TestAgentEventPlansReadTheLogInOrder(t *testing.T) {
	t.Parallel()
	for name, beside := range map[string]string{"alone": "", "beside a forgotten writer": "SELECT pg_current_xact_id()"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := storeWith(t, "")
			writer, err := pgx.Connect(t.Context(), store.Pool().Config().ConnString()) // without the pool's time-outs
			require.NoError(t, err)
			defer func() { require.NoError(t, writer.Close(context.Background())) }()
			_, err = writer.Exec(t.Context(), "BEGIN; "+beside, pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err)
			_, err = store.Pool().Exec(t.Context(), rosterState, pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err)
			const kinds = "'{agent.joined,room.created}'"
			for values, run := range map[string]func(context.Context, *query.Queries) error{
				"'10', '00000000-0000-0000-0000-000000000000', 'eu', " + kinds + ", '25 hours', 500, 1000000": func(ctx context.Context, q *query.Queries) error {
					return second(q.AgentEventsAfter(ctx, query.AgentEventsAfterParams{}))
				},
				"'eu', " + kinds + ", '25 hours'": func(ctx context.Context, q *query.Queries) error {
					return second(q.AgentEventsHeld(ctx, query.AgentEventsHeldParams{}))
				},
				"'10', '00000000-0000-0000-0000-000000000000', 'eu', " + kinds + ", '24 hours'": func(ctx context.Context, q *query.Queries) error {
					return second(q.AgentEvent(ctx, query.AgentEventParams{}))
				},
			} {
				e := &explainer{pool: store.Pool(), values: values}
				require.ErrorIs(t, run(t.Context(), query.New(e)), errExplained)
				require.NoError(t, e.err)
				require.Contains(t, string(e.plan), "_tx_id_idx", values)
				require.NotContains(t, string(e.plan), "_pkey", values)
				require.NotContains(t, string(e.plan), "Seq Scan", values)
				require.Contains(t, string(e.plan), "Subplans Removed", values) // partitions that the bounds of "at" exclude
			}
		})
	}
}

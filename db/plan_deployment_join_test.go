package db

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// deployedState is a fleet of 10,000 deployments whose servers have registered, and 1,000 game servers that somebody
// else started.
const deployedState = `
UPDATE fleet_clock SET pulse_at = now(), steady_since = now() - interval '1 hour';
INSERT INTO app_versions (app, version, provider, launch, ports, game_port, modes, capacity, max_players)
	SELECT 'app' || n, '1', 'process', 'x', '[]', 'game', '{duel}', 16, 8 FROM generate_series(1, 20) n;
INSERT INTO deployments (region, id, app, version, provider, tag, phase, intent_at, ref, next_at, incarnation, endpoint)
	SELECT 'eu', gen_random_uuid(), 'app1', '1', 'process', n::text, 'ready', now(), n::text, now() + interval '1 day', '00000000-0000-0000-0000-000000000001', 'h:1'
	FROM generate_series(1, 10000) n;
UPDATE deployments SET id = '00000000-0000-0000-0000-000000000007' WHERE tag = '7';
INSERT INTO instances (region, id, incarnation, endpoint, modes, capacity, seat_ceiling, deployment_id, status)
	SELECT region, id::text, incarnation, 'h:1', '{duel}', 16, 16, id, CASE tag WHEN '7' THEN 'starting' ELSE 'ready' END FROM deployments;
INSERT INTO instances (region, id, incarnation, endpoint, modes, capacity, seat_ceiling)
	SELECT 'eu', 'i' || n, '00000000-0000-0000-0000-000000000001', 'h:1', '{duel}', 16, 16 FROM generate_series(1, 1000) n;
INSERT INTO instance_directory SELECT id, region, incarnation FROM instances;
INSERT INTO instance_leases SELECT region, id, incarnation, now(), 0.5 FROM instances;
INSERT INTO instance_modes (region, instance_id, mode, share_bucket) SELECT i.region, i.id, m, share_bucket(i) FROM instances i, unnest(i.modes) m;
ANALYZE;`

func TestPlansOfJoiningReadWhatTheyTake(t *testing.T) {
	t.Parallel()
	pool := storeWith(t, deployedState).Pool()
	id := uuid.MustParse("00000000-0000-0000-0000-000000000007")
	incarnation := uuid.MustParse("00000000-0000-0000-0000-000000000001")
	words, endpoint := "x", "h:1"

	readWhatTheyTake(t, pool, map[string]func(context.Context, *query.Queries) error{
		"Heartbeats": func(ctx context.Context, q *query.Queries) error {
			_, err := q.Heartbeats(ctx, query.HeartbeatsParams{InstanceIds: []string{id.String(), "i7"}, Loads: []float64{1, 1}, Incarnations: []uuid.UUID{incarnation, incarnation}})
			return err
		},
		"DeploymentOf": func(ctx context.Context, q *query.Queries) error {
			return second(q.DeploymentOf(ctx, query.DeploymentOfParams{Region: "eu", ID: id}))
		},
		"JoinDeployment": func(ctx context.Context, q *query.Queries) error {
			return second(q.JoinDeployment(ctx, query.JoinDeploymentParams{Region: "eu", ID: id, Incarnation: &incarnation, TokensBy: &words, MaxBoots: 5}))
		},
		"LockStarting": func(ctx context.Context, q *query.Queries) error {
			return second(q.LockStarting(ctx, query.LockStartingParams{Region: "eu", ID: id}))
		},
		"ReadyDeployment": func(ctx context.Context, q *query.Queries) error {
			return q.ReadyDeployment(ctx, query.ReadyDeploymentParams{Region: "eu", ID: id, Endpoint: &endpoint})
		},
		"DeployedInstance": func(ctx context.Context, q *query.Queries) error {
			return second(q.DeployedInstance(ctx, query.DeployedInstanceParams{Region: "eu", ID: id}))
		},
	})
}

package db

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// largePool is a region whose pool has 10,000 servers, half of all there are, and in which 10,000 players wait in each
// of two modes.
const largePool = `
UPDATE fleet_clock SET pulse_at = now(), steady_since = now() - interval '1 hour';
INSERT INTO app_versions (app, version, provider, launch, ports, game_port, modes, capacity, max_players)
	SELECT 'arena', v, 'process', 'arena', '[]', 'game', '{duel}', 8, 8 FROM generate_series(1, 200) v;
INSERT INTO pools (region, app, version, max_servers, planned_at) SELECT 'r' || n % 20, app, version, 20000, now() FROM app_versions, generate_series(0, 19) n;
INSERT INTO pool_modes SELECT region, 'm' || version, app, version FROM pools;
INSERT INTO deployments (region, id, app, version, provider, tag, phase, intent_at, ref, endpoint, incarnation, ready_at, next_at)
	SELECT 'r1', gen_random_uuid(), 'arena', (1 + n % 2)::text, 'process', n, 'ready', now(), n, 'e', gen_random_uuid(), now(), NULL FROM generate_series(1, 20000) n;
INSERT INTO instances (region, id, incarnation, endpoint, modes, capacity, seat_ceiling, deployment_id)
	SELECT region, id::text, incarnation, 'e', '{m1}', 8, 8, id FROM deployments;
INSERT INTO instance_leases SELECT region, id, incarnation, now(), 0.5 FROM instances;
INSERT INTO instance_modes (region, instance_id, mode, share_bucket) SELECT i.region, i.id, m, share_bucket(i) FROM instances i, unnest(i.modes) m;
INSERT INTO demand (region, mode, key, source, party, max_players, party_key, matches, players, expires_at)
	SELECT 'r1', 'm' || 1 + n % 2, 'k' || n, 'matchmake', 1, 8, gen_random_uuid(), 1, 1, now() + n * interval '1 second' FROM generate_series(1, 20000) n;
ANALYZE;`

func TestPlansOfDemandReadWhatTheyTake(t *testing.T) {
	t.Parallel()
	pool := storeWith(t, largePool).Pool()
	modes, keys, ints := []string{"m1"}, []string{"k1"}, []int32{1}
	readWhatTheyTake(t, pool, map[string]func(context.Context, *query.Queries) error{
		"PutWaiting": func(ctx context.Context, q *query.Queries) error {
			_, err := q.PutWaiting(ctx, query.PutWaitingParams{Region: "r1", Modes: modes, Keys: keys, PartyKeys: []uuid.UUID{{}}, Sizes: ints, MaxPlayers: ints, Addresses: keys})
			return err
		},
		"EndWaiting": func(ctx context.Context, q *query.Queries) error {
			return q.EndWaiting(ctx, query.EndWaitingParams{Region: "r1", Modes: modes, Keys: keys})
		},
		"SweepDemand": func(ctx context.Context, q *query.Queries) error {
			_, err := q.SweepDemand(ctx, query.SweepDemandParams{Region: "r1", Batch: 10})
			return err
		},
		"DemandOfPool": func(ctx context.Context, q *query.Queries) error {
			_, err := q.DemandOfPool(ctx, query.DemandOfPoolParams{Region: "r1", App: "arena", Version: "1", AtMost: 10})
			return err
		},
		"RoomForDemand": func(ctx context.Context, q *query.Queries) error {
			_, err := q.RoomForDemand(ctx, query.RoomForDemandParams{Region: "r1", Modes: modes, MaxPlayers: ints, Sizes: ints, Parties: ints})
			return err
		},
		"HostsForDemand": func(ctx context.Context, q *query.Queries) error {
			_, err := q.HostsForDemand(ctx, query.HostsForDemandParams{Region: "r1", Modes: modes, MaxPlayers: ints, Sessions: ints})
			return err
		},
		"RecordPlan": func(ctx context.Context, q *query.Queries) error {
			_, err := q.RecordPlan(ctx, query.RecordPlanParams{Region: "r1", App: "arena", Version: "1", Plan: []byte("{}")})
			return err
		},
		"StopDeployments": func(ctx context.Context, q *query.Queries) error {
			_, err := q.StopDeployments(ctx, query.StopDeploymentsParams{Region: "r1", Ids: []uuid.UUID{{}}})
			return err
		},
	})
}

package db

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// largeState is a fleet of 10,000 instances with 100,000 sessions, in which a plan that scans or sorts whole tables is
// visible.
const largeState = `
UPDATE fleet_clock SET pulse_at = now(), steady_since = now() - interval '1 hour';
INSERT INTO instances (region, id, incarnation, endpoint, modes, capacity, seat_ceiling, reserved_seats, open_sessions)
	SELECT 'eu', 'i' || n, '00000000-0000-0000-0000-000000000001', 'h:1', '{duel,race}', 200, 200, 80, 10 FROM generate_series(1, 10000) n;
INSERT INTO instance_directory SELECT id, region, incarnation FROM instances;
INSERT INTO instance_leases SELECT region, id, incarnation, now(), 0.5 FROM instances;
INSERT INTO instance_modes (region, instance_id, mode, share_bucket) SELECT i.region, i.id, m, share_bucket(i) FROM instances i, unnest(i.modes) m;
INSERT INTO sessions (region, id, handle, mode, instance_id, incarnation, player_count, max_players)
	SELECT 'eu', gen_random_uuid(), 'eu.' || n, 'duel', 'i' || 1 + n % 10000, '00000000-0000-0000-0000-000000000001', 3 + n % 6, 8
	FROM generate_series(1, 100000) n;
INSERT INTO seats (region, session_id, sub, mode, party, reserved_by, expires_at, state)
	SELECT s.region, s.id, s.handle || 'p' || n, s.mode, s.id, s.handle || 'p' || n, now() + interval '1 minute',
		'connected' -- all of them: the empty index of reserved seats attracts unrelated lookups then
	FROM sessions s, generate_series(1, 2) n;
INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, reason)
	SELECT region, session_id, sub || 'x', mode, party, reserved_by, reserved_at, 'left' FROM seats;
INSERT INTO rooms (region, id, agent_id, base, type, state) SELECT s.region, s.id::text, s.instance_id, s.id::text, 'duel', 'reported' FROM sessions s LIMIT 10000;
INSERT INTO app_versions (app, version, provider, launch, ports, game_port, modes, capacity, max_players, dialect, protocol_id)
	VALUES ('arena', '1', 'process', 'arena', '[]', 'game', '{duel}', 16, 8, 'netcode102', '1');
INSERT INTO deployments (region, id, app, version, provider, tag) SELECT 'eu', gen_random_uuid(), 'arena', '1', 'process', n FROM generate_series(1, 10000) n;
INSERT INTO netcode_tokens (region, client_id, session_id, sub, deployment_id, expires_at)
	SELECT d.region, row_number() OVER (), s.id, s.handle || 'p1', d.id, now() + interval '1 minute' FROM (
		SELECT id, region, row_number() OVER () AS n FROM deployments) d JOIN (SELECT id, handle, row_number() OVER () AS n FROM sessions) s ON s.n % 10000 + 1 = d.n;
INSERT INTO idempotency_keys SELECT 'c' || n, 'k', '', '{}', now() + interval '1 day' FROM generate_series(1, 20000) n;
INSERT INTO player_avoids SELECT 'global', 'a' || n, 'b' || n FROM generate_series(1, 100000) n;
ANALYZE;`

func TestHotPlansReadWhatTheyTake(t *testing.T) {
	t.Parallel()
	pool := storeWith(t, largeState).Pool()
	duel, eight, one := []string{"duel"}, []int32{8}, []int32{1}
	ann, handle, ids := []string{"ann"}, []string{"eu.77"}, []uuid.UUID{uuid.New()}

	readWhatTheyTake(t, pool, map[string]func(context.Context, *query.Queries) error{
		"SeatsAround": func(ctx context.Context, q *query.Queries) error {
			_, err := q.SeatsAround(ctx, query.SeatsAroundParams{Region: "eu", Subs: ann, Callers: ann})
			return err
		},
		"FillOpenSessions": func(ctx context.Context, q *query.Queries) error {
			_, err := q.FillOpenSessions(ctx, query.FillOpenSessionsParams{Region: "eu", Modes: duel, MaxPlayers: eight, Sizes: one, Parties: one})
			return err
		},
		"AvoidedAround": func(ctx context.Context, q *query.Queries) error {
			_, err := q.AvoidedAround(ctx, query.AvoidedAroundParams{Region: "eu", Universe: "global", Subs: ann})
			return err
		},
		"FillForOne": func(ctx context.Context, q *query.Queries) error {
			_, err := q.FillForOne(ctx, query.FillForOneParams{Region: "eu", Subs: ann})
			return err
		},
		"WaitForOpenSessions": func(ctx context.Context, q *query.Queries) error {
			_, err := q.WaitForOpenSessions(ctx, query.WaitForOpenSessionsParams{Region: "eu", Modes: duel, MaxPlayers: eight, Sizes: one, Parties: one, Also: ids})
			return err
		},
		"LockHosts": func(ctx context.Context, q *query.Queries) error {
			_, err := q.LockHosts(ctx, query.LockHostsParams{Region: "eu", Modes: duel, MaxPlayers: eight, Sessions: one, Also: ann})
			return err
		},
		"StillPlaceable": func(ctx context.Context, q *query.Queries) error {
			_, err := q.StillPlaceable(ctx, query.StillPlaceableParams{Region: "eu", Requests: one, Modes: duel, MaxPlayers: eight, Sizes: one, Players: one, PlayedIn: ids})
			return err
		},
		"OpenSessions": func(ctx context.Context, q *query.Queries) error {
			return q.OpenSessions(ctx, query.OpenSessionsParams{Region: "eu"})
		},
		"FillSessions": func(ctx context.Context, q *query.Queries) error {
			return q.FillSessions(ctx, query.FillSessionsParams{Region: "eu", Ids: ids, Players: one})
		},
		"TakeSeats": func(ctx context.Context, q *query.Queries) error {
			return q.TakeSeats(ctx, query.TakeSeatsParams{Region: "eu"})
		},
		"RefreshShares": func(ctx context.Context, q *query.Queries) error {
			return q.RefreshShares(ctx, query.RefreshSharesParams{Region: "eu", InstanceIds: ann})
		},
		"Heartbeats": func(ctx context.Context, q *query.Queries) error {
			_, err := q.Heartbeats(ctx, query.HeartbeatsParams{InstanceIds: ann, Loads: []float64{1}, Incarnations: ids})
			return err
		},
		"FindInstances": func(ctx context.Context, q *query.Queries) error {
			return second(q.FindInstances(ctx, ann))
		},
		"ResolveSeats": func(ctx context.Context, q *query.Queries) error {
			_, err := q.ResolveSeats(ctx, query.ResolveSeatsParams{Region: "eu", Handles: handle, Subs: ann})
			return err
		},
		"ClientServers": func(ctx context.Context, q *query.Queries) error {
			return second(q.ClientServers(ctx, ann))
		},
		"ListedClients": func(ctx context.Context, q *query.Queries) error {
			return second(q.ListedClients(ctx, query.ListedClientsParams{InstanceIds: ann, ClientIds: []int64{7}}))
		},
		"ConnectedClients": func(ctx context.Context, q *query.Queries) error {
			return second(q.ConnectedClients(ctx, ann))
		},
		"AdvanceClients": func(ctx context.Context, q *query.Queries) error {
			return second(q.AdvanceClients(ctx, query.AdvanceClientsParams{Region: "eu", Ids: ids, Incarnations: ids, Before: []int64{1}, Seqs: []int64{2}}))
		},
		"PruneNetcodeTokens": func(ctx context.Context, q *query.Queries) error {
			return second(q.PruneNetcodeTokens(ctx, query.PruneNetcodeTokensParams{Region: "eu", Batch: 1000}))
		},
		"Unresolved": func(ctx context.Context, q *query.Queries) error {
			_, err := q.Unresolved(ctx, query.UnresolvedParams{Region: "eu", Handles: handle, Subs: ann})
			return err
		},
		"GetSession": func(ctx context.Context, q *query.Queries) error {
			_, err := q.GetSession(ctx, query.GetSessionParams{Region: "eu", ID: ids[0]})
			return err
		},
		"RosterStates": func(ctx context.Context, q *query.Queries) error {
			return second(q.RosterStates(ctx, ann))
		},
		"SessionRosters": func(ctx context.Context, q *query.Queries) error {
			return second(q.SessionRosters(ctx, query.SessionRostersParams{Region: "eu", InstanceID: "i7", Most: 256, MostBytes: 1 << 18}))
		},
		"LockReportedSessions": func(ctx context.Context, q *query.Queries) error {
			_, err := q.LockReportedSessions(ctx, query.LockReportedSessionsParams{Region: "eu", Ids: ids})
			return err
		},
		"ReportedSeats": func(ctx context.Context, q *query.Queries) error {
			_, err := q.ReportedSeats(ctx, query.ReportedSeatsParams{Region: "eu", SessionIds: ids, Subs: ann})
			return err
		},
		"ReleaseSeats": func(ctx context.Context, q *query.Queries) error {
			_, err := q.ReleaseSeats(ctx, query.ReleaseSeatsParams{Region: "eu", SessionIds: ids, Subs: ann})
			return err
		},
		"ConnectSeats": func(ctx context.Context, q *query.Queries) error {
			return q.ConnectSeats(ctx, query.ConnectSeatsParams{Region: "eu", SessionIds: ids, Subs: ann, Jtis: ann, Modes: duel, Parties: ids})
		},
		"StoredAnswers": func(ctx context.Context, q *query.Queries) error {
			_, err := q.StoredAnswers(ctx, query.StoredAnswersParams{Callers: ann, Keys: ann})
			return err
		},
		"LockSessionsToLookAt": func(ctx context.Context, q *query.Queries) error {
			_, err := q.LockSessionsToLookAt(ctx, query.LockSessionsToLookAtParams{Region: "eu", Batch: 100})
			return err
		},
		"ExpiredSeats": func(ctx context.Context, q *query.Queries) error {
			_, err := q.ExpiredSeats(ctx, query.ExpiredSeatsParams{Region: "eu", SessionIds: ids})
			return err
		},
		"ExpireSeatsWithTokens": func(ctx context.Context, q *query.Queries) error {
			return q.ExpireSeatsWithTokens(ctx, query.ExpireSeatsWithTokensParams{Region: "eu", InstanceIds: ann})
		},
		"PostponeLookAt": func(ctx context.Context, q *query.Queries) error {
			_, err := q.PostponeLookAt(ctx, query.PostponeLookAtParams{Region: "eu", SessionIds: ids})
			return err
		},
	})
}

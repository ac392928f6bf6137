package db

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/dbtest"
)

// largeState is a fleet and its sessions, large enough that a planner that may scan them whole would be seen doing it.
const largeState = `
UPDATE fleet_clock SET pulse_at = now(), steady_since = now() - interval '1 hour';
INSERT INTO instances (region, id, incarnation, endpoint, modes, capacity, seat_ceiling, reserved_seats, open_sessions)
	SELECT 'eu', 'i' || n, '00000000-0000-0000-0000-000000000001', 'h:1', '{duel,race}', 200, 200, 80, 10 FROM generate_series(1, 2000) n;
INSERT INTO instance_directory SELECT id, region, incarnation FROM instances;
INSERT INTO instance_leases SELECT region, id, incarnation, now(), 0.5 FROM instances;
INSERT INTO instance_modes (region, instance_id, mode, share_bucket) SELECT i.region, i.id, m, share_bucket(i) FROM instances i, unnest(i.modes) m;
INSERT INTO sessions (region, id, handle, mode, instance_id, incarnation, player_count, max_players)
	SELECT 'eu', gen_random_uuid(), 'eu.' || n, 'duel', 'i' || 1 + n % 2000, '00000000-0000-0000-0000-000000000001', 3 + n % 6, 8
	FROM generate_series(1, 20000) n;
INSERT INTO seats (region, session_id, sub, mode, party, reserved_by, expires_at, state)
	SELECT s.region, s.id, s.handle || 'p' || n, s.mode, s.id, s.handle || 'p' || n, now() + interval '1 minute',
		CASE WHEN n = 1 THEN 'reserved' ELSE 'connected' END
	FROM sessions s, generate_series(1, s.player_count) n;
INSERT INTO idempotency_keys SELECT 'c' || n, 'k', '', '{}', now() + interval '1 day' FROM generate_series(1, 20000) n;
ANALYZE;`

// explainer is a database that only says how it would run a statement.
type explainer struct {
	pool *pgxpool.Pool
	plan json.RawMessage
	err  error
}

var errExplained = errors.New("explained, not run")

func (e *explainer) explain(ctx context.Context, sql string, args []any) {
	e.err = e.pool.QueryRow(ctx, "EXPLAIN (FORMAT JSON) "+sql, args...).Scan(&e.plan)
}

func (e *explainer) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	e.explain(ctx, sql, args)
	return pgconn.CommandTag{}, errExplained
}

func (e *explainer) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	e.explain(ctx, sql, args)
	return nil, errExplained
}

func (e *explainer) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	e.explain(ctx, sql, args)
	return e
}

// Scan implements pgx.Row.
func (e *explainer) Scan(...any) error { return errExplained }

// Hot statements read what they take, never a whole table, whatever the sizes.
func TestHotPlansScanNoTable(t *testing.T) {
	t.Parallel()
	pool := dbtest.Connect(t)
	_, err := pool.Exec(t.Context(), largeState, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	duel, eight, one := []string{"duel"}, []int32{8}, []int32{1}
	ann, handle, ids := []string{"ann"}, []string{"eu.77"}, []uuid.UUID{uuid.New()}

	for name, run := range map[string]func(context.Context, *Queries) error{
		"SeatsAround": func(ctx context.Context, q *Queries) error {
			_, err := q.SeatsAround(ctx, SeatsAroundParams{Region: "eu", Subs: ann, Callers: ann})
			return err
		},
		"FillOpenSessions": func(ctx context.Context, q *Queries) error {
			_, err := q.FillOpenSessions(ctx, FillOpenSessionsParams{Region: "eu", Modes: duel, MaxPlayers: eight, Sizes: one, Parties: one})
			return err
		},
		"WaitForOpenSessions": func(ctx context.Context, q *Queries) error {
			_, err := q.WaitForOpenSessions(ctx, WaitForOpenSessionsParams{Region: "eu", Modes: duel, MaxPlayers: eight, Sizes: one, Parties: one, Also: ids})
			return err
		},
		"LockHosts": func(ctx context.Context, q *Queries) error {
			_, err := q.LockHosts(ctx, LockHostsParams{Region: "eu", Modes: duel, MaxPlayers: eight, Parties: one, Also: ann})
			return err
		},
		"StillPlaceable": func(ctx context.Context, q *Queries) error {
			_, err := q.StillPlaceable(ctx, StillPlaceableParams{Region: "eu", Requests: one, Modes: duel, MaxPlayers: eight, Sizes: one, PlayedIn: ids})
			return err
		},
		"WritePlacements": func(ctx context.Context, q *Queries) error {
			return q.WritePlacements(ctx, WritePlacementsParams{Region: "eu", FilledIds: ids, FilledPlayers: one})
		},
		"RefreshShares": func(ctx context.Context, q *Queries) error {
			return q.RefreshShares(ctx, RefreshSharesParams{Region: "eu", InstanceIds: ann})
		},
		"Heartbeats": func(ctx context.Context, q *Queries) error {
			_, err := q.Heartbeats(ctx, HeartbeatsParams{InstanceIds: ann, Loads: []float64{1}, Incarnations: ids})
			return err
		},
		"ResolveSeats": func(ctx context.Context, q *Queries) error {
			_, err := q.ResolveSeats(ctx, ResolveSeatsParams{Region: "eu", Handles: handle, Subs: ann})
			return err
		},
		"Unresolved": func(ctx context.Context, q *Queries) error {
			_, err := q.Unresolved(ctx, UnresolvedParams{Region: "eu", Handles: handle, Subs: ann})
			return err
		},
		"GetSession": func(ctx context.Context, q *Queries) error {
			_, err := q.GetSession(ctx, GetSessionParams{Region: "eu", ID: ids[0]})
			return err
		},
		"LockReportedSessions": func(ctx context.Context, q *Queries) error {
			_, err := q.LockReportedSessions(ctx, LockReportedSessionsParams{Region: "eu", Ids: ids})
			return err
		},
		"ReportedSeats": func(ctx context.Context, q *Queries) error {
			_, err := q.ReportedSeats(ctx, ReportedSeatsParams{Region: "eu", SessionIds: ids, Subs: ann})
			return err
		},
		"ReleaseSeats": func(ctx context.Context, q *Queries) error {
			_, err := q.ReleaseSeats(ctx, ReleaseSeatsParams{Region: "eu", SessionIds: ids, Subs: ann})
			return err
		},
		"ConnectSeats": func(ctx context.Context, q *Queries) error {
			return q.ConnectSeats(ctx, ConnectSeatsParams{Region: "eu", SessionIds: ids, Subs: ann, Jtis: ann, Modes: duel, Parties: ids})
		},
		"StoredAnswers": func(ctx context.Context, q *Queries) error {
			_, err := q.StoredAnswers(ctx, StoredAnswersParams{Callers: ann, Keys: ann})
			return err
		},
		"LockSessionsOfExpiredSeats": func(ctx context.Context, q *Queries) error {
			_, err := q.LockSessionsOfExpiredSeats(ctx, LockSessionsOfExpiredSeatsParams{Region: "eu", Batch: 100})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &explainer{pool: pool}
			require.ErrorIs(t, run(t.Context(), New(e)), errExplained)
			require.NoError(t, e.err)
			require.NotEmpty(t, e.plan)
			for _, table := range wholeScans(e.plan) {
				require.Equal(t, "fleet_clock", table, "%s", e.plan)
			}
		})
	}
}

// wholeScans are the tables a plan reads from end to end. Empty history partitions are no table to speak of.
func wholeScans(plan json.RawMessage) (tables []string) {
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			if name, _ := v["Relation Name"].(string); v["Node Type"] == "Seq Scan" && !strings.Contains(name, "_history_") {
				tables = append(tables, name)
			}
			for _, x := range v {
				walk(x)
			}
		}
	}
	var v any
	_ = json.Unmarshal(plan, &v)
	walk(v)
	return tables
}

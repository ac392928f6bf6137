package db

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/dbtest"
)

// largeState is a fleet of 10,000 instances with 100,000 sessions: a planner that may scan them whole, or sort them, would
// be seen doing it.
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
		'connected' -- all of them: an index of waiting ones looks empty then, and good for anything
	FROM sessions s, generate_series(1, 2) n;
INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, reason)
	SELECT region, session_id, sub || 'x', mode, party, reserved_by, reserved_at, 'left' FROM seats;
INSERT INTO idempotency_keys SELECT 'c' || n, 'k', '', '{}', now() + interval '1 day' FROM generate_series(1, 20000) n;
ANALYZE;`

// explainer is a database that only says how it would run a statement: by the plan that is kept for any arguments.
type explainer struct {
	pool *pgxpool.Pool
	plan json.RawMessage
	err  error
}

var errExplained = errors.New("explained, not run")

func (e *explainer) explain(ctx context.Context, sql string, args []any) {
	e.err = e.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		if _, err := conn.Exec(ctx, "PREPARE hot AS "+sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		execute := "EXECUTE hot (" + strings.TrimSuffix(strings.Repeat("NULL,", len(args)), ",") + ")"
		if err := conn.QueryRow(ctx, "EXPLAIN (FORMAT JSON) "+execute, pgx.QueryExecModeSimpleProtocol).Scan(&e.plan); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, "DEALLOCATE hot", pgx.QueryExecModeSimpleProtocol)
		return err
	})
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

// Hot statements read what they take, never a whole table or region, whatever the sizes.
// storeWith opens a store on a database of its own, in a state.
func storeWith(t *testing.T, state string) *Store {
	t.Helper()
	store, err := Open(t.Context(), Config{URL: dbtest.New(t)})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	_, err = store.pool.Exec(t.Context(), state, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	return store
}

func TestHotPlansReadWhatTheyTake(t *testing.T) {
	t.Parallel()
	pool := storeWith(t, largeState).Pool()
	duel, eight, one := []string{"duel"}, []int32{8}, []int32{1}
	ann, handle, ids := []string{"ann"}, []string{"eu.77"}, []uuid.UUID{uuid.New()}

	readWhatTheyTake(t, pool, map[string]func(context.Context, *Queries) error{
		"SeatsAround": func(ctx context.Context, q *Queries) error {
			_, err := q.SeatsAround(ctx, SeatsAroundParams{Region: "eu", Subs: ann, Callers: ann})
			return err
		},
		"FillOpenSessions": func(ctx context.Context, q *Queries) error {
			_, err := q.FillOpenSessions(ctx, FillOpenSessionsParams{Region: "eu", Modes: duel, MaxPlayers: eight, Sizes: one, Parties: one})
			return err
		},
		"FillForOne": func(ctx context.Context, q *Queries) error {
			_, err := q.FillForOne(ctx, FillForOneParams{Region: "eu", Subs: ann})
			return err
		},
		"WaitForOpenSessions": func(ctx context.Context, q *Queries) error {
			_, err := q.WaitForOpenSessions(ctx, WaitForOpenSessionsParams{Region: "eu", Modes: duel, MaxPlayers: eight, Sizes: one, Parties: one, Also: ids})
			return err
		},
		"LockHosts": func(ctx context.Context, q *Queries) error {
			_, err := q.LockHosts(ctx, LockHostsParams{Region: "eu", Modes: duel, MaxPlayers: eight, Sessions: one, Also: ann})
			return err
		},
		"StillPlaceable": func(ctx context.Context, q *Queries) error {
			_, err := q.StillPlaceable(ctx, StillPlaceableParams{Region: "eu", Requests: one, Modes: duel, MaxPlayers: eight, Sizes: one, Players: one, PlayedIn: ids})
			return err
		},
		"OpenSessions": func(ctx context.Context, q *Queries) error {
			return q.OpenSessions(ctx, OpenSessionsParams{Region: "eu"})
		},
		"FillSessions": func(ctx context.Context, q *Queries) error {
			return q.FillSessions(ctx, FillSessionsParams{Region: "eu", Ids: ids, Players: one})
		},
		"TakeSeats": func(ctx context.Context, q *Queries) error {
			return q.TakeSeats(ctx, TakeSeatsParams{Region: "eu"})
		},
		"RefreshShares": func(ctx context.Context, q *Queries) error {
			return q.RefreshShares(ctx, RefreshSharesParams{Region: "eu", InstanceIds: ann})
		},
		"Heartbeats": func(ctx context.Context, q *Queries) error {
			_, err := q.Heartbeats(ctx, HeartbeatsParams{InstanceIds: ann, Loads: []float64{1}, Incarnations: ids})
			return err
		},
		"FindInstances": func(ctx context.Context, q *Queries) error {
			return second(q.FindInstances(ctx, ann))
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
		"LockSessionsToLookAt": func(ctx context.Context, q *Queries) error {
			_, err := q.LockSessionsToLookAt(ctx, LockSessionsToLookAtParams{Region: "eu", Batch: 100})
			return err
		},
		"ExpiredSeats": func(ctx context.Context, q *Queries) error {
			_, err := q.ExpiredSeats(ctx, ExpiredSeatsParams{Region: "eu", SessionIds: ids})
			return err
		},
		"HoldByToken": func(ctx context.Context, q *Queries) error {
			return q.HoldByToken(ctx, HoldByTokenParams{Region: "eu", InstanceIds: ann})
		},
		"LookLater": func(ctx context.Context, q *Queries) error {
			_, err := q.LookLater(ctx, LookLaterParams{Region: "eu", SessionIds: ids})
			return err
		},
	})
}

// largeQueue is 50,000 tickets that wait, as many that were assigned, and few of a tag.
const largeQueue = `
INSERT INTO tickets (region, id, created, terms, double_keys, doubles, body)
	SELECT 'eu', 't' || n, 1000 + n, ARRAY[md5('mode' || n % 500)::uuid, md5('map' || n % 7)::uuid], '{}', '{}', 'b' FROM generate_series(1, 50000) n;
INSERT INTO settled_tickets (region, id, body, assignment) SELECT 'eu', 's' || n, 'b', 'a' FROM generate_series(1, 50000) n;
INSERT INTO backfills (region, id, created, generation, terms, double_keys, doubles, body) SELECT 'eu', 'b' || n, 1000 + n, 1, '{}', '{}', '{}', 'b' FROM generate_series(1, 10000) n;
INSERT INTO backfill_tickets SELECT 'eu', 't' || n, 'b' || n % 1000 FROM generate_series(1, 20000) n;
ANALYZE;`

func TestTicketPlansReadWhatTheyTake(t *testing.T) {
	t.Parallel()
	store := storeWith(t, largeQueue)
	ids, bytes := []string{"t1"}, [][]byte{{1}}
	readWhatTheyTake(t, store.pool, map[string]func(context.Context, *Queries) error{
		"GetTickets": func(ctx context.Context, q *Queries) error {
			_, err := q.GetTickets(ctx, GetTicketsParams{Region: "eu", Ids: ids})
			return err
		},
		"DeleteQueued": func(ctx context.Context, q *Queries) error {
			_, err := q.DeleteQueued(ctx, DeleteQueuedParams{Region: "eu", Ids: ids})
			return err
		},
		"DeleteAssigned": func(ctx context.Context, q *Queries) error {
			return q.DeleteAssigned(ctx, DeleteAssignedParams{Region: "eu", Ids: ids})
		},
		"SettleTickets": func(ctx context.Context, q *Queries) error {
			_, err := q.SettleTickets(ctx, SettleTicketsParams{Region: "eu", Ids: ids, Assignments: bytes})
			return err
		},
		"Reassign": func(ctx context.Context, q *Queries) error {
			_, err := q.Reassign(ctx, ReassignParams{Region: "eu", Ids: ids, Assignments: bytes})
			return err
		},
		"ExpiredTickets": func(ctx context.Context, q *Queries) error {
			return second(q.ExpiredTickets(ctx, ExpiredTicketsParams{Region: "eu", Batch: 1000}))
		},
		"ForgetSettled": func(ctx context.Context, q *Queries) error {
			return second(q.ForgetSettled(ctx, ForgetSettledParams{Region: "eu", Batch: 1000}))
		},
		"HoldMatched": func(ctx context.Context, q *Queries) error {
			return q.HoldMatched(ctx, HoldMatchedParams{Region: "eu", Ids: ids})
		},
		"ReleaseTickets": func(ctx context.Context, q *Queries) error {
			return q.ReleaseTickets(ctx, ReleaseTicketsParams{Region: "eu", Ids: ids})
		},
		"MarkedIn": func(ctx context.Context, q *Queries) error {
			return second(q.MarkedIn(ctx, MarkedInParams{Region: "eu", Ids: ids}))
		},
		"MatchedTickets": func(ctx context.Context, q *Queries) error {
			return second(q.MatchedTickets(ctx, MatchedTicketsParams{Region: "eu", After: "t1", Page: releasePage}))
		},
		"MarkPending": func(ctx context.Context, q *Queries) error {
			return q.MarkPending(ctx, MarkPendingParams{Region: "eu", Ids: ids})
		},
		"FreeTickets": func(ctx context.Context, q *Queries) error {
			_, err := q.FreeTickets(ctx, FreeTicketsParams{Region: "eu", Ids: ids})
			return err
		},
		"CancelTicket": func(ctx context.Context, q *Queries) error {
			_, err := q.CancelTicket(ctx, CancelTicketParams{Region: "eu", ID: "t1"})
			return err
		},
		"KeepAlive": func(ctx context.Context, q *Queries) error {
			return q.KeepAlive(ctx, KeepAliveParams{Region: "eu", Ids: ids})
		},
		"SettledLate": func(ctx context.Context, q *Queries) error {
			_, err := q.SettledLate(ctx, SettledLateParams{Region: "eu"})
			return err
		},
		"SettledSince": func(ctx context.Context, q *Queries) error {
			_, err := q.SettledSince(ctx, SettledSinceParams{Region: "eu"})
			return err
		},
		"LockBackfills": func(ctx context.Context, q *Queries) error {
			_, err := q.LockBackfills(ctx, LockBackfillsParams{Region: "eu", Ids: ids})
			return err
		},
		"TicketsOfBackfill": func(ctx context.Context, q *Queries) error {
			_, err := q.TicketsOfBackfill(ctx, TicketsOfBackfillParams{Region: "eu", BackfillIds: ids})
			return err
		},
		"LockTicketsOfBackfill": func(ctx context.Context, q *Queries) error {
			return q.LockTicketsOfBackfill(ctx, LockTicketsOfBackfillParams{Region: "eu", BackfillIds: ids})
		},
	})
	readWhatTheyTake(t, store.readers, map[string]func(context.Context, *Queries) error{
		"QueryByTerms": func(ctx context.Context, q *Queries) error {
			_, err := q.QueryByTerms(ctx, QueryByTermsParams{Region: "eu", Terms: []uuid.UUID{{}}, Rows: 1000, Most: 1000})
			return err
		},
		"QueryInOrder": func(ctx context.Context, q *Queries) error {
			return second(q.QueryInOrder(ctx, QueryInOrderParams{Region: "eu", Terms: []uuid.UUID{{}}, After: "t1", Rows: 1000, Most: 1000}))
		},
		"QueryBackfills": func(ctx context.Context, q *Queries) error {
			return second(q.QueryBackfills(ctx, QueryBackfillsParams{Region: "eu", Terms: []uuid.UUID{{}}, After: "b1", Rows: 1000, Most: 1000}))
		},
	})
}

// manyCycles is half a minute of cycles that have ended, in each of 50 regions, and a large one that runs.
const manyCycles = `
INSERT INTO match_cycles (region, id, owner, lease_until, state, registers_until, collects_until, ended_at)
	SELECT 'r' || r, md5(r || ' ' || n)::uuid, md5('owner')::uuid, now() + interval '1 minute', CASE n WHEN 1 THEN 'collecting' ELSE 'ended' END, now(), now() + interval '20 seconds',
	       CASE WHEN n > 1 THEN now() END
	FROM generate_series(1, 50) r, generate_series(1, 120) n;
INSERT INTO match_callers (region, cycle, id, replica)
	SELECT c.region, c.id, md5(c.id || ' ' || n)::uuid, md5('replica' || n % 3)::uuid FROM match_cycles c, generate_series(1, 5) n;
INSERT INTO match_proposals (region, cycle, caller, seq, match_id, tickets)
	SELECT k.region, k.cycle, k.id, n, 'm', 't' FROM match_callers k, generate_series(1, 5) n;
ANALYZE;`

// Plans that are kept since there were no cycles have to do when there are many.
func TestCyclePlansReadWhatTheyTake(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]string{"none": "ANALYZE", "many": manyCycles} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			readWhatTheyTake(t, storeWith(t, state).pool, cycleStatements)
		})
	}
}

var cycleStatements = map[string]func(context.Context, *Queries) error{
	"EndDesertedCycle": func(ctx context.Context, q *Queries) error { return q.EndDesertedCycle(ctx, EndDesertedCycleParams{}) },
	"JoinCycle":        func(ctx context.Context, q *Queries) error { return second(q.JoinCycle(ctx, JoinCycleParams{})) },
	"OpenCycle":        func(ctx context.Context, q *Queries) error { return second(q.OpenCycle(ctx, OpenCycleParams{})) },
	"RenewCycle":       func(ctx context.Context, q *Queries) error { return second(q.RenewCycle(ctx, RenewCycleParams{})) },
	"TakeOverCycle": func(ctx context.Context, q *Queries) error {
		return second(q.TakeOverCycle(ctx, TakeOverCycleParams{}))
	},
	"ResignCycle":  func(ctx context.Context, q *Queries) error { return q.ResignCycle(ctx, ResignCycleParams{}) },
	"AdvanceCycle": func(ctx context.Context, q *Queries) error { return second(q.AdvanceCycle(ctx, AdvanceCycleParams{})) },
	"EndCycle":     func(ctx context.Context, q *Queries) error { return second(q.EndCycle(ctx, EndCycleParams{})) },
	"CallersOf":    func(ctx context.Context, q *Queries) error { return second(q.CallersOf(ctx, CallersOfParams{})) },
	"SeeCallers":   func(ctx context.Context, q *Queries) error { return q.SeeCallers(ctx, SeeCallersParams{}) },
	"LeaveCycle":   func(ctx context.Context, q *Queries) error { return q.LeaveCycle(ctx, LeaveCycleParams{}) },
	"Propose":      func(ctx context.Context, q *Queries) error { return second(q.Propose(ctx, ProposeParams{})) },
	"ProposalsSince": func(ctx context.Context, q *Queries) error {
		return second(q.ProposalsSince(ctx, ProposalsSinceParams{}))
	},
	"JudgedProposals": func(ctx context.Context, q *Queries) error {
		return second(q.JudgedProposals(ctx, JudgedProposalsParams{}))
	},
	"HoldCycle": func(ctx context.Context, q *Queries) error { return second(q.HoldCycle(ctx, HoldCycleParams{})) },
	"AwaitAcceptance": func(ctx context.Context, q *Queries) error {
		return q.AwaitAcceptance(ctx, AwaitAcceptanceParams{})
	},
	"Judge":    func(ctx context.Context, q *Queries) error { return q.Judge(ctx, JudgeParams{}) },
	"Verdicts": func(ctx context.Context, q *Queries) error { return second(q.Verdicts(ctx, VerdictsParams{})) },
	"CycleNow": func(ctx context.Context, q *Queries) error { return second(q.CycleNow(ctx, CycleNowParams{})) },
}

func second[T any](_ T, err error) error { return err }

// readWhatTheyTake explains statements, as they are planned on connections of the pool.
func readWhatTheyTake(t *testing.T, pool *pgxpool.Pool, statements map[string]func(context.Context, *Queries) error) {
	t.Helper()
	for name, run := range statements {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &explainer{pool: pool}
			require.ErrorIs(t, run(t.Context(), New(e)), errExplained)
			require.NoError(t, e.err)
			require.NotEmpty(t, e.plan)
			for _, scan := range wholeScans(e.plan) {
				if name == "ForgetSettled" && scan == "settled_tickets_in_commit_order" {
					continue // a page of it
				}
				require.Contains(t, []string{"fleet_clock", "one_cycle_runs_at_a_time"}, scan, "%s", e.plan) // a row in all, a row a region
			}
		})
	}
}

// wholeScans are the tables a plan reads from end to end, and the indexes it reads a whole region of. Empty history
// partitions are no table to speak of.
func wholeScans(plan json.RawMessage) (scans []string) {
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			table, _ := v["Relation Name"].(string)
			index, _ := v["Index Name"].(string)
			cond, _ := v["Index Cond"].(string)
			if v["Node Type"] == "Seq Scan" && !strings.Contains(table, "_history_") {
				scans = append(scans, table)
			}
			if index != "" && (cond == "" || regionOnly.MatchString(cond)) {
				scans = append(scans, index)
			}
			for _, x := range v {
				walk(x)
			}
		}
	}
	var v any
	_ = json.Unmarshal(plan, &v)
	walk(v)
	return scans
}

var regionOnly = regexp.MustCompile(`^\(region = [^)]+\)$`)

package db

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/query"
)

// largePlayerQueue is 50,000 tickets of two players each, with their events and matches. Sessions of the realtime lobby
// wait with some.
const largePlayerQueue = `
INSERT INTO tickets (region, id, created, terms, double_keys, doubles, body, ends_at)
	SELECT 'eu', 't' || n, 1000 + n, ARRAY[md5('mode' || n % 500)::uuid], '{}', '{}', 'b', now() FROM generate_series(1, 50000) n;
INSERT INTO ticket_players (region, sub, profile, ticket_id, request_hash)
	SELECT 'eu', 'p' || n || p, 'duel', 't' || n, 'h' FROM generate_series(1, 50000) n, (VALUES ('a'), ('b')) v(p);
INSERT INTO ticket_events (region, ticket_id, n, state) SELECT 'eu', 't' || n, 1, 'queued' FROM generate_series(1, 50000) n;
INSERT INTO backfill_tickets SELECT 'eu', 't' || n, 'b' || n % 1000 FROM generate_series(1, 20000) n;
INSERT INTO settled_tickets (region, id, body, assignment) SELECT 'eu', 's' || n, 'b', 'a' FROM generate_series(1, 50000) n;
INSERT INTO realtime_tickets (region, session, ticket_region, ticket, place, project, player, sub, room_type, size)
	SELECT 'eu', 's-' || n, 'eu', 't' || n, 1, 'p', 'p' || n || 'a', 'p' || n || 'a', 'duel', 2 FROM generate_series(1, 20000) n;
INSERT INTO matches (region, id, universe, profile, version, state, deadline, roster, tickets, decision)
	SELECT 'eu', md5(n::text)::uuid, 'eu', 'duel', 1, 'proposed', now(), '[]', '{}', '{}' FROM generate_series(1, 5000) n;
ANALYZE;`

// Pins a statement of players' calls that reads the whole queue.
func TestPlayerTicketPlansReadWhatTheyTake(t *testing.T) {
	t.Parallel()
	store := storeWith(t, largePlayerQueue)
	ids, subs, one := []string{"t1"}, []string{"p1a"}, []string{"duel"}
	now := []time.Time{time.Now()}
	readWhatTheyTake(t, store.pool, map[string]func(context.Context, *query.Queries) error{
		"PlayersQueued": func(ctx context.Context, q *query.Queries) error {
			return second(q.PlayersQueued(ctx, query.PlayersQueuedParams{Region: "eu", Subs: subs}))
		},
		"ForgetPlayers": func(ctx context.Context, q *query.Queries) error {
			return q.ForgetPlayers(ctx, query.ForgetPlayersParams{Region: "eu", Subs: subs, Profiles: one, Tickets: ids})
		},
		"LockPlayerTicket": func(ctx context.Context, q *query.Queries) error {
			return second(q.LockPlayerTicket(ctx, query.LockPlayerTicketParams{Region: "eu", ID: "t1", Sub: "p1a"}))
		},
		"LeaveQueue": func(ctx context.Context, q *query.Queries) error {
			return second(q.LeaveQueue(ctx, query.LeaveQueueParams{Region: "eu", Ids: ids, States: one, Reasons: one, Forced: []bool{true}}))
		},
		"PauseTickets": func(ctx context.Context, q *query.Queries) error {
			return second(q.PauseTickets(ctx, query.PauseTicketsParams{Region: "eu", Ids: ids}))
		},
		"SeeTickets": func(ctx context.Context, q *query.Queries) error {
			return q.SeeTickets(ctx, query.SeeTicketsParams{Region: "eu", Tickets: ids, Subs: subs})
		},
		"PlayerTickets": func(ctx context.Context, q *query.Queries) error {
			return second(q.PlayerTickets(ctx, query.PlayerTicketsParams{Region: "eu", Ids: ids, Subs: subs, Since: now}))
		},
		"TicketEvents": func(ctx context.Context, q *query.Queries) error {
			return second(q.TicketEvents(ctx, query.TicketEventsParams{Region: "eu", ID: "t1", Since: now[0]}))
		},
		"EventsLate": func(ctx context.Context, q *query.Queries) error {
			return second(q.EventsLate(ctx, query.EventsLateParams{Region: "eu"}))
		},
		"WithPlayers": func(ctx context.Context, q *query.Queries) error {
			return second(q.WithPlayers(ctx, query.WithPlayersParams{Region: "eu", Ids: ids}))
		},
		"RecordLost": func(ctx context.Context, q *query.Queries) error {
			return second(q.RecordLost(ctx, query.RecordLostParams{Region: "eu", Ids: ids}))
		},
	})
}

// Pins the feed of ticket events, which read all events of the day at each wake-up while the day's partition had no
// statistics.
func TestTheFeedOfEventsReadsByTransaction(t *testing.T) {
	t.Parallel()
	store := storeWith(t, `INSERT INTO ticket_events (region, ticket_id, n, state) SELECT 'eu', 't' || n, 1, 'queued' FROM generate_series(1, 10000) n`)
	for name, run := range map[string]func(context.Context, *query.Queries) error{
		"EventsLate": func(ctx context.Context, q *query.Queries) error {
			return second(q.EventsLate(ctx, query.EventsLateParams{Region: "eu", Before: "10:20:10", Page: 100}))
		},
		"EventsSince": func(ctx context.Context, q *query.Queries) error {
			return second(q.EventsSince(ctx, query.EventsSinceParams{Region: "eu", Since: 10, Page: 100}))
		},
	} {
		e := &explainer{pool: store.pool}
		require.ErrorIs(t, run(t.Context(), query.New(e)), errExplained)
		require.NoError(t, e.err)
		require.Contains(t, string(e.plan), "_tx_idx", name)
		require.NotContains(t, string(e.plan), "_pkey", name)
	}
}

// Pins a worker that read all playing matches each second, where the queue and a game region have one name.
func TestReadyChecksAreFoundBesidePlayingMatches(t *testing.T) {
	t.Parallel()
	store := storeWith(t, `INSERT INTO matches (region, id, universe, profile, version, state, session_id, roster, tickets)
		SELECT 'eu', md5(n::text)::uuid, 'eu', 'duel', 1, 'playing', md5(n::text)::uuid, '[]', '{}' FROM generate_series(1, 20000) n`)
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			_, err := store.pool.Exec(t.Context(), "ANALYZE matches")
			require.NoError(t, err)
		}
		for name, run := range map[string]func(context.Context, *query.Queries) error{
			"OpenProposals": func(ctx context.Context, q *query.Queries) error {
				return second(q.OpenProposals(ctx, query.OpenProposalsParams{Universe: "eu", Profile: "duel", Page: 100}))
			},
			"DueMatches": func(ctx context.Context, q *query.Queries) error {
				return second(q.DueMatches(ctx, query.DueMatchesParams{Universe: "eu", Profiles: []string{"duel"}, Batch: 100}))
			},
		} {
			e := &explainer{pool: store.pool}
			require.ErrorIs(t, run(t.Context(), query.New(e)), errExplained)
			require.NoError(t, e.err)
			require.Contains(t, string(e.plan), "matches_to_accept", "%s, analyzed: %v", name, analyzed)
		}
	}
}

package db

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// largeQueue is 50,000 queued tickets, as many assigned ones, and few tickets for each term.
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
	readWhatTheyTake(t, store.pool, map[string]func(context.Context, *query.Queries) error{
		"GetTickets": func(ctx context.Context, q *query.Queries) error {
			_, err := q.GetTickets(ctx, query.GetTicketsParams{Region: "eu", Ids: ids})
			return err
		},
		"DeleteQueued": func(ctx context.Context, q *query.Queries) error {
			_, err := q.DeleteQueued(ctx, query.DeleteQueuedParams{Region: "eu", Ids: ids})
			return err
		},
		"DeleteAssigned": func(ctx context.Context, q *query.Queries) error {
			return q.DeleteAssigned(ctx, query.DeleteAssignedParams{Region: "eu", Ids: ids})
		},
		"SettleTickets": func(ctx context.Context, q *query.Queries) error {
			_, err := q.SettleTickets(ctx, query.SettleTicketsParams{Region: "eu", Ids: ids, Assignments: bytes})
			return err
		},
		"ReassignTickets": func(ctx context.Context, q *query.Queries) error {
			_, err := q.ReassignTickets(ctx, query.ReassignTicketsParams{Region: "eu", Ids: ids, Assignments: bytes})
			return err
		},
		"ExpiredTickets": func(ctx context.Context, q *query.Queries) error {
			return second(q.ExpiredTickets(ctx, query.ExpiredTicketsParams{Region: "eu", Batch: 1000}))
		},
		"ForgetSettled": func(ctx context.Context, q *query.Queries) error {
			return second(q.ForgetSettled(ctx, query.ForgetSettledParams{Region: "eu", Batch: 1000}))
		},
		"LockMatchedTickets": func(ctx context.Context, q *query.Queries) error {
			return q.LockMatchedTickets(ctx, query.LockMatchedTicketsParams{Region: "eu", Ids: ids})
		},
		"ReleaseTickets": func(ctx context.Context, q *query.Queries) error {
			return q.ReleaseTickets(ctx, query.ReleaseTicketsParams{Region: "eu", Ids: ids})
		},
		"MatchesOfTickets": func(ctx context.Context, q *query.Queries) error {
			return second(q.MatchesOfTickets(ctx, query.MatchesOfTicketsParams{Region: "eu", Ids: ids}))
		},
		"MatchedTickets": func(ctx context.Context, q *query.Queries) error {
			return second(q.MatchedTickets(ctx,
				query.MatchedTicketsParams{Region: "eu", After: "t1", Page: releasePage}))
		},
		"MarkPending": func(ctx context.Context, q *query.Queries) error {
			return q.MarkPending(ctx, query.MarkPendingParams{Region: "eu", Ids: ids})
		},
		"LockFreeTickets": func(ctx context.Context, q *query.Queries) error {
			_, err := q.LockFreeTickets(ctx, query.LockFreeTicketsParams{Region: "eu", Ids: ids})
			return err
		},
		"TakeMatchTickets": func(ctx context.Context, q *query.Queries) error {
			_, err := q.TakeMatchTickets(ctx, query.TakeMatchTicketsParams{Universe: "eu", Ids: ids, Marks: bytes})
			return err
		},
		"DeleteLockedTickets": func(ctx context.Context, q *query.Queries) error {
			return q.DeleteLockedTickets(ctx, query.DeleteLockedTicketsParams{Universe: "eu", Ids: ids})
		},
		"RecordSeen": func(ctx context.Context, q *query.Queries) error {
			return q.RecordSeen(ctx, query.RecordSeenParams{Universe: "eu", Ids: ids, SeenAt: []time.Time{time.Now()}})
		},
		"CancelTicket": func(ctx context.Context, q *query.Queries) error {
			_, err := q.CancelTicket(ctx, query.CancelTicketParams{Region: "eu", ID: "t1"})
			return err
		},
		"KeepAlive": func(ctx context.Context, q *query.Queries) error {
			return q.KeepAlive(ctx, query.KeepAliveParams{Region: "eu", Ids: ids})
		},
		"SettledLate": func(ctx context.Context, q *query.Queries) error {
			_, err := q.SettledLate(ctx, query.SettledLateParams{Region: "eu"})
			return err
		},
		"SettledSince": func(ctx context.Context, q *query.Queries) error {
			_, err := q.SettledSince(ctx, query.SettledSinceParams{Region: "eu"})
			return err
		},
		"LockBackfills": func(ctx context.Context, q *query.Queries) error {
			_, err := q.LockBackfills(ctx, query.LockBackfillsParams{Region: "eu", Ids: ids})
			return err
		},
		"TicketsOfBackfill": func(ctx context.Context, q *query.Queries) error {
			_, err := q.TicketsOfBackfill(ctx, query.TicketsOfBackfillParams{Region: "eu", BackfillIds: ids})
			return err
		},
		"LockTicketsOfBackfill": func(ctx context.Context, q *query.Queries) error {
			return q.LockTicketsOfBackfill(ctx, query.LockTicketsOfBackfillParams{Region: "eu", BackfillIds: ids})
		},
	})
	readWhatTheyTake(t, store.readerPool, map[string]func(context.Context, *query.Queries) error{
		"QueryByTerms": func(ctx context.Context, q *query.Queries) error {
			_, err := q.QueryByTerms(ctx,
				query.QueryByTermsParams{Region: "eu", Terms: []uuid.UUID{{}}, Rows: 1000, Most: 1000})
			return err
		},
		"QueryInOrder": func(ctx context.Context, q *query.Queries) error {
			return second(q.QueryInOrder(ctx,
				query.QueryInOrderParams{Region: "eu", Terms: []uuid.UUID{{}}, After: "t1", Rows: 1000, Most: 1000}))
		},
		"QueryBackfills": func(ctx context.Context, q *query.Queries) error {
			return second(q.QueryBackfills(ctx,
				query.QueryBackfillsParams{Region: "eu", Terms: []uuid.UUID{{}}, After: "b1", Rows: 1000, Most: 1000}))
		},
	})
}

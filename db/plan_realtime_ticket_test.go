package db

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// largeRealtimeQueue is 20,000 sessions that wait, a quarter of them in rooms of four, among 50,000 tickets; and as
// many rooms of matches.
const largeRealtimeQueue = `
INSERT INTO realtime_sessions (region, id, project, player, authenticated, ttl, owner)
	SELECT 'eu', 's-' || n, 'p', 'p' || n, true, '30 s', md5((n % 10)::text)::uuid FROM generate_series(1, 20000) n;
INSERT INTO tickets (region, id, created, terms, double_keys, doubles, body, ends_at)
	SELECT 'global', 't' || n, 1000 + n, ARRAY[md5('mode' || n % 500)::uuid], '{}', '{}', 'b', now() FROM generate_series(1, 50000) n;
INSERT INTO ticket_players (region, sub, profile, ticket_id, request_hash) SELECT 'global', 'p' || n, 'duel', 't' || n, 'h' FROM generate_series(1, 50000) n;
INSERT INTO ticket_events (region, ticket_id, n, state) SELECT 'global', 't' || n, 1, 'queued' FROM generate_series(1, 50000) n;
INSERT INTO settled_tickets (region, id, body, assignment) SELECT 'global', 's' || n, 'b', 'a' FROM generate_series(1, 50000) n;
INSERT INTO realtime_tickets (region, session, ticket_region, ticket, place, project, player, sub, room_type, size, lobby)
	SELECT 'eu', 's-' || n, 'global', 't' || n, 1, 'p', 'p' || n, 'p' || n, 'type' || n % 100, 2, CASE WHEN n % 4 = 0 THEN md5((n / 16)::text)::uuid END
	FROM generate_series(1, 20000) n;
INSERT INTO realtime_expired (region, session, ticket, room_type, size, reason) SELECT 'eu', 's-' || n, 't', 'duel', 2, 'ttl' FROM generate_series(1, 20000) n;
INSERT INTO lobby_outcomes (region, lobby, ticket, reason) SELECT 'eu', md5(n::text)::uuid, 't', 'ttl' FROM generate_series(1, 20000) n;
INSERT INTO lobbies (region, uid, project, id, type, state, max_members, grace, match_id, participants, size, game_region, session_id)
	SELECT 'eu', md5(n::text)::uuid, 'p', 'r' || n, 'duel', '{}', 2, '1 min', md5('m' || n)::uuid, '{}', 2, 'eu', md5(n::text)::uuid FROM generate_series(1, 20000) n;
INSERT INTO lobby_members (region, lobby, session, player, state, join_order)
	SELECT 'eu', md5((n / 2)::text)::uuid, 's-' || n, 'p' || n, 'joined', n FROM generate_series(1, 20000) n;
INSERT INTO matches (region, id, universe, profile, version, state, deadline, roster, tickets, decision)
	SELECT 'global', md5(n::text)::uuid, 'global', 'duel', 1, 'proposed', now(), '[]', '{}', '{}' FROM generate_series(1, 5000) n;
INSERT INTO match_accepts (region, match_id, sub, accepted) SELECT 'global', md5(n::text)::uuid, 'p' || n, true FROM generate_series(1, 5000) n;
ANALYZE;`

// Pins statements of the realtime queue that read all that wait: each match, each change of a session and each news
// would do so.
func TestRealtimeTicketPlansReadWhatTheyTake(t *testing.T) {
	t.Parallel()
	store := storeWith(t, largeRealtimeQueue)
	ids, sessions, lobbies := []string{"t1"}, []string{"s-1"}, []uuid.UUID{{1}}
	readWhatTheyTake(t, store.pool, map[string]func(context.Context, *query.Queries) error{
		"HoldSessionEpochs": func(ctx context.Context, q *query.Queries) error {
			return second(q.HoldSessionEpochs(ctx, query.HoldSessionEpochsParams{Region: "eu", Ids: sessions, Epochs: []int64{1}}))
		},
		"WaitingSessions": func(ctx context.Context, q *query.Queries) error {
			return second(q.WaitingSessions(ctx, query.WaitingSessionsParams{Region: "eu", Universe: "global", Sessions: sessions, Lobbies: lobbies, Subs: sessions, Heirs: sessions}))
		},
		"ForgetWaiting": func(ctx context.Context, q *query.Queries) error {
			return q.ForgetWaiting(ctx, query.ForgetWaitingParams{TicketRegion: "global", Tickets: ids, Reasons: ids, Aware: lobbies, Silent: sessions})
		},
		"AddWaiting": func(ctx context.Context, q *query.Queries) error {
			return q.AddWaiting(ctx, query.AddWaitingParams{Region: "eu", TicketRegion: "global", Sessions: sessions, Tickets: ids})
		},
		"WaitingPositions": func(ctx context.Context, q *query.Queries) error {
			return second(q.WaitingPositions(ctx, query.WaitingPositionsParams{Region: "eu", Most: 1000, Sessions: sessions}))
		},
		"RefuseLobby": func(ctx context.Context, q *query.Queries) error {
			return q.RefuseLobby(ctx, query.RefuseLobbyParams{Region: "eu", Lobbies: lobbies, Reasons: ids})
		},
		"HoldTicketsOfSessions": func(ctx context.Context, q *query.Queries) error {
			return q.HoldTicketsOfSessions(ctx, query.HoldTicketsOfSessionsParams{Region: "eu", Sessions: sessions})
		},
		"SucceedWaiting": func(ctx context.Context, q *query.Queries) error {
			return q.SucceedWaiting(ctx, query.SucceedWaitingParams{Region: "eu", Lobbies: lobbies, Predecessors: sessions, Sessions: sessions})
		},
		"InheritWaiting": func(ctx context.Context, q *query.Queries) error {
			return second(q.InheritWaiting(ctx, query.InheritWaitingParams{Region: "eu", Predecessors: sessions, Sessions: []string{"s-new"}, Tickets: ids, Reason: "x"}))
		},
		"PauseTicketsOfSessions": func(ctx context.Context, q *query.Queries) error {
			return q.PauseTicketsOfSessions(ctx, query.PauseTicketsOfSessionsParams{Region: "eu", Sessions: sessions})
		},
		"WaitingOfTickets": func(ctx context.Context, q *query.Queries) error {
			return second(q.WaitingOfTickets(ctx, query.WaitingOfTicketsParams{Universe: "global", Tickets: ids}))
		},
		"InsertMatchLobbies": func(ctx context.Context, q *query.Queries) error {
			return q.InsertMatchLobbies(ctx, query.InsertMatchLobbiesParams{Region: "eu"})
		},
		"InviteParticipants": func(ctx context.Context, q *query.Queries) error {
			return q.InviteParticipants(ctx, query.InviteParticipantsParams{Region: "eu"})
		},
		"EndSessionsWaiting": func(ctx context.Context, q *query.Queries) error {
			return q.EndSessionsWaiting(ctx, query.EndSessionsWaitingParams{TicketRegion: "global", Tickets: ids, Matches: lobbies, Rooms: ids})
		},
		"RealtimeWaits": func(ctx context.Context, q *query.Queries) error {
			return second(q.RealtimeWaits(ctx, query.RealtimeWaitsParams{Region: "eu", Sessions: sessions}))
		},
		"ExpiredWaits": func(ctx context.Context, q *query.Queries) error {
			return second(q.ExpiredWaits(ctx, query.ExpiredWaitsParams{Region: "eu", Sessions: sessions}))
		},
		"ForgetExpiredWaits": func(ctx context.Context, q *query.Queries) error {
			return second(q.ForgetExpiredWaits(ctx, query.ForgetExpiredWaitsParams{Region: "eu", Batch: 100}))
		},
		"TicketsOfSessions": func(ctx context.Context, q *query.Queries) error {
			return second(q.TicketsOfSessions(ctx, query.TicketsOfSessionsParams{Region: "eu", Sessions: sessions}))
		},
		"WaitingOfSession": func(ctx context.Context, q *query.Queries) error {
			return second(q.WaitingOfSession(ctx, query.WaitingOfSessionParams{Region: "eu", Session: "s-1"}))
		},
		"LockPlayerTicket": func(ctx context.Context, q *query.Queries) error {
			return second(q.LockPlayerTicket(ctx, query.LockPlayerTicketParams{Region: "global", ID: "t1", Sub: "p1"}))
		},
		"PlayersOfLobby": func(ctx context.Context, q *query.Queries) error {
			return second(q.PlayersOfLobby(ctx, query.PlayersOfLobbyParams{Region: "eu", Project: "p", ID: "r1"}))
		},
		"RoomsThatQueue": func(ctx context.Context, q *query.Queries) error {
			return second(q.RoomsThatQueue(ctx, query.RoomsThatQueueParams{Region: "eu", Lobbies: lobbies}))
		},
		"ForgetOutcomes": func(ctx context.Context, q *query.Queries) error {
			return q.ForgetOutcomes(ctx, query.ForgetOutcomesParams{Region: "eu", Lobbies: lobbies, Tickets: ids})
		},
		"ForgetSessionOfRooms": func(ctx context.Context, q *query.Queries) error {
			return q.ForgetSessionOfRooms(ctx, query.ForgetSessionOfRoomsParams{Region: "eu", Uids: lobbies})
		},
	})
}

package db

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/db/query"
)

// consoleState is an installation with long histories, spread over two days and two regions.
const consoleState = `
INSERT INTO instances (region, id, incarnation, endpoint, modes, capacity, seat_ceiling)
	SELECT 'r' || n % 2, 'i' || n, gen_random_uuid(), 'x:1', '{duel}', 64, 64 FROM generate_series(1, 1000) n;
INSERT INTO instance_directory (instance_id, region, incarnation) SELECT id, region, incarnation FROM instances;
INSERT INTO sessions (region, id, handle, mode, instance_id, incarnation, player_count, max_players)
	SELECT region, gen_random_uuid(), id || n, 'duel', id, incarnation, 2, 4 FROM instances, generate_series(1, 4) n;
INSERT INTO seats (region, session_id, sub, mode, party, reserved_by, expires_at)
	SELECT region, id, 'p' || handle || n, 'duel', gen_random_uuid(), 'p', now() FROM sessions, generate_series(1, 2) n;
INSERT INTO session_history (region, id, handle, mode, instance_id, incarnation, player_count, max_players, opened_at, reason)
	SELECT 'r' || n % 2, gen_random_uuid(), 'h' || n, 'duel', 'i' || n % 1000, gen_random_uuid(), 0, 4, now(), 'empty' FROM generate_series(1, 20000) n;
INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, reason, left_at)
	SELECT 'r' || n % 2, gen_random_uuid(), 'p' || n % 5000, 'duel', gen_random_uuid(), 'p', now() - interval '2 days', 'left', now() + n % 2 * interval '1 day' FROM generate_series(1, 20000) n;
INSERT INTO events (region, kind, instance_id, at)
	SELECT 'r' || n % 2, 'session.closed', 'i' || n % 1000, now() + n % 2 * interval '1 day' FROM generate_series(1, 20000) n;
INSERT INTO ticket_players (region, sub, profile, ticket_id, request_hash) SELECT 'global', 'p' || n, 'duel', 't' || n, '' FROM generate_series(1, 20000) n;
INSERT INTO ticket_events (region, ticket_id, n, state) SELECT 'global', 't' || n, 1, 'queued' FROM generate_series(1, 20000) n;
INSERT INTO player_refusals (sub, hour, call, code, region, mode, detail, request_id, times, first_at, last_at)
	SELECT 'p' || n, date_trunc('hour', now()) + d * interval '1 day', 'POST /matchmake', 'no_capacity', 'r1', 'duel', '', '', 1, now(), now() FROM generate_series(1, 10000) n, generate_series(0, 1) d;
INSERT INTO profiles (region, name, live) VALUES ('global', 'duel', 1), ('global', 'raid', 1);
INSERT INTO profile_versions (region, name, version, document, canonical, author) SELECT region, name, 1, '', '{}', 'test' FROM profiles;
INSERT INTO match_history (region, id, profile, version, epoch, seed, tickets, players, why, decided_at, committed_at)
	SELECT 'global', gen_random_uuid(), 'duel', 1, 1, 1, '{}', 2, '{}', now(), now() - n * interval '100 ms' FROM generate_series(1, 20000) n;
INSERT INTO minute_samples (minute, region, measure, subject, value)
	SELECT date_trunc('minute', now()) - m * interval '1 minute', '', 'matches', 'p' || s, 1 FROM generate_series(0, 359) m, generate_series(1, 100) s;
ANALYZE;`

// planned reads a page of a view with an explainer.
func planned[T any, F opsview.Filter](v opsview.View[T, F], f F,
	p opsview.Page) func(context.Context, *explainer) error {
	return func(ctx context.Context, e *explainer) error { return second(v.Read(ctx, e, f, p)) }
}

// Pins a page that reads the whole history of an installation to show one player, one session or fifty events. The
// plans are those of the readers' connections.
func TestConsolePlansReadAPage(t *testing.T) {
	t.Parallel()
	pool := storeWith(t, consoleState).readerPool
	const nobody = "'00000000-0000-0000-0000-000000000000'"
	page, nobodysID := opsview.Page{Limit: 51}, uuid.Max
	after := func(key ...any) opsview.Page { return opsview.Page{Limit: 51, After: key} }
	for name, c := range map[string]struct {
		values, index string
		run           func(context.Context, *explainer) error
	}{
		"region of an instance": {"'i7'", "instance_directory_pkey",
			planned(opsview.InstanceRegions, opsview.InstanceRegionFilter{Instance: "i7"}, page)},
		"instance": {"'r1', 'i7'", "instances_pkey",
			planned(opsview.Fleet, opsview.FleetFilter{Region: "r1", Instance: "i7"}, page)},
		"sessions of an instance": {
			"'r1', " + nobody + ", 'r1', 'i7'", "sessions_",
			planned(opsview.Sessions, opsview.SessionFilter{Region: "r1", Instance: "i7"}, after("r1", uuid.Nil)),
		},
		"session": {"'r1', " + nobody, "sessions_pkey",
			planned(opsview.Sessions, opsview.SessionFilter{Region: "r1", ID: &nobodysID}, page)},
		"past session": {"'r1', " + nobody, "session_history_",
			planned(opsview.PastSessions, opsview.PastSessionFilter{Region: "r1", ID: nobodysID}, page)},
		"seats": {"'r1', " + nobody, "seats_",
			planned(opsview.Seats, opsview.SeatFilter{Region: "r1", SessionID: &nobodysID}, page)},
		"past seats": {
			"'r1', " + nobody, "_region_session_id",
			planned(opsview.PastSeats, opsview.PastSeatFilter{Region: "r1", SessionID: &nobodysID},
				opsview.Page{Order: opsview.ByPlayer, Limit: 501}),
		},
		"seats of a player": {"'p7'", "seats_",
			planned(opsview.SeatsOfPlayer, opsview.SeatFilter{Player: "p7"}, page)},
		"past seats of a player": {"'p7'", "seat_history_of_player",
			planned(opsview.PastSeats, opsview.PastSeatFilter{Player: "p7"}, page)},
		"past seats of a player, next page": {
			"now(), 'p7'", "seat_history_of_player",
			planned(opsview.PastSeats, opsview.PastSeatFilter{Player: "p7"}, after(time.Now())),
		},
		"refusals of a player": {"'p7'", "player_refusals_",
			planned(opsview.Refusals, opsview.RefusalFilter{Player: "p7"}, page)},
		"tickets of a player": {"'global', 'p7'", "ticket_players_pkey",
			planned(opsview.PlayerTickets, opsview.PlayerTicketFilter{Universe: "global", Player: "p7"}, page)},
		"states of a ticket": {"'global', 't7'", "ticket_events_",
			planned(opsview.TicketStates, opsview.TicketFilter{Universe: "global", Ticket: "t7"}, page)},
		"events": {
			"'7', " + nobody + ", 'session.'", "_tx_id_idx",
			planned(opsview.Events, opsview.EventFilter{Kinds: "session."},
				opsview.Page{After: opsview.LatestEvent().Key(), Limit: 51, Scan: 5000}),
		},
		"events of an instance": {
			"'7', " + nobody + ", 'i7'", "events_of_instance",
			planned(opsview.Events, opsview.EventFilter{Instance: "i7"},
				opsview.Page{After: opsview.LatestEvent().Key(), Limit: 51, Scan: 5000}),
		},
		"end of a page of events": {
			"'7', " + nobody, "_tx_id_idx",
			planned(opsview.Events, opsview.EventFilter{},
				opsview.Page{After: opsview.LatestEvent().Key(), Skip: 4999, Limit: 1}),
		},
		"time of an event": {"now()", "_tx_id_idx", func(ctx context.Context, e *explainer) error {
			return second(query.New(e).EventsUntil(ctx, time.Time{}))
		}},
		"tail": {"'7', " + nobody, "_tx_id_idx",
			planned(opsview.EventFeed, opsview.FeedFilter{}, after(uint64(7), uuid.Nil))},
		"end of the feed": {"", "_tx_id_idx",
			planned(opsview.Events, opsview.EventFilter{Settled: true}, opsview.Page{Limit: 1})},
		"past matches": {"'global'", "_region_profile_committed_at",
			planned(opsview.PastMatches, opsview.PastMatchFilter{Universe: "global"}, page)},
		"past matches, next page": {
			"now(), " + nobody + ", 'global', now()", "_region_profile_committed_at",
			planned(opsview.PastMatches, opsview.PastMatchFilter{Universe: "global", Until: time.Now()},
				after(time.Now(), uuid.Nil)),
		},
		"measures of matches": {"'global'", "_region_profile_committed_at",
			planned(opsview.MatchMinutes, opsview.MinuteFilter{Universe: "global"}, page)},
		"measures of minutes": {"'1 hour', '{matches}', ''", "minute_samples_pkey",
			func(ctx context.Context, e *explainer) error {
				return second(query.New(e).MinuteSamples(ctx, query.MinuteSamplesParams{}))
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &explainer{pool: pool, values: c.values}
			require.ErrorIs(t, c.run(t.Context(), e), errExplained)
			require.NoError(t, e.err)
			// It reads no table of history, or with a row for each player, as a whole: of such it expects more than a few pages.
			for _, n := range nodesOf(t, e.plan) {
				require.False(t, n.Type == "Seq Scan" && n.Rows > 100, "%s: %s", n.Table, e.plan)
			}
			require.Contains(t, string(e.plan), c.index, "%s", strings.ReplaceAll(string(e.plan), "\n", ""))
		})
	}
}

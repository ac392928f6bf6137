package db_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// kindsOfLog returns the kinds of all events of some nouns, in the order of the log.
func kindsOfLog(d *storetest.DB, nouns ...string) []string {
	d.T.Helper()
	return storetest.Values[string](d, "SELECT kind FROM events WHERE split_part(kind, '.', 1) = ANY ($1) ORDER BY tx, id", nouns)
}

// Pins a log in the order of transactions' numbers: a transaction that began earlier, waited for a later one at a
// session, and committed after it, would come first, and a seat would be left before it is taken.
func TestTheLogHasTheOrderOfCommitsOfASession(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.Exec("CREATE TABLE held (only_row int PRIMARY KEY)")
	d.Exec("INSERT INTO held VALUES (1)")
	ctx := context.Background()
	begin := func() pgx.Tx {
		tx, err := d.Pool().Begin(ctx)
		require.NoError(t, err)
		t.Cleanup(func() { _ = tx.Rollback(ctx) })
		return tx
	}
	exec := func(tx pgx.Tx, sql string) {
		_, err := tx.Exec(ctx, sql)
		require.NoError(t, err)
	}
	earlier, later := begin(), begin()
	exec(earlier, "INSERT INTO events (kind) VALUES ('of something else')") // it has its number
	exec(later, "SELECT FROM held FOR UPDATE")
	exec(later, "INSERT INTO events (kind) VALUES ('seat taken')")
	exec(later, "INSERT INTO events (kind) VALUES ('seat connected')")
	waiting := make(chan error, 1)
	go func() {
		_, err := earlier.Exec(ctx, "WITH mine AS (UPDATE held SET only_row = 1 RETURNING 1) INSERT INTO events (kind) SELECT 'seat left' FROM mine")
		waiting <- err
	}()
	require.Eventually(t, func() bool {
		return d.Rows("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pg_blocking_pids(pid) <> '{}'")[0] == "1"
	}, time.Minute, 5*time.Millisecond)
	require.NoError(t, later.Commit(ctx))
	require.NoError(t, <-waiting)
	require.NoError(t, earlier.Commit(ctx))
	f := d.follow()
	f.until(4)
	require.Equal(t, []string{"of something else", "seat taken", "seat connected", "seat left"}, f.seen)
}

// Seats and tickets are recorded while a webhook or an operator asks for them, by all ways in which they change.
func TestSeatsAndTicketsAreRecordedOnDemand(t *testing.T) {
	t.Parallel()
	d := storetest.New(t)
	d.AddServer("eu-1", 8)
	play := func(sub string) {
		t.Helper()
		p, err := d.Place(t.Context(), db.PlaceRequest{Caller: sub, Region: "eu", Mode: "duel", Party: []string{sub}, MaxPlayers: 2})
		require.NoError(t, err)
		require.NoError(t, d.As("").CloseSession(t.Context(), p.SessionID, "a test"))
	}
	enabled := func() int {
		return d.Count("SELECT count(*) FROM pg_trigger WHERE tgname LIKE '%recorded' AND NOT tgisinternal AND tgenabled <> 'D'")
	}
	d.AddProfile("duel", storetest.Duel)
	play("ada")
	d.QueuePlayer("ada", 1, "duel")
	require.Empty(t, kindsOfLog(d, "seat", "ticket"))
	require.Zero(t, enabled())

	_, err := d.As("").CreateWebhook(t.Context(), "studio", "https://studio.example/hook", []string{"seat.left", "session.*"})
	require.NoError(t, err)
	require.Equal(t, 3, enabled())
	changed, err := d.As("console:ada").RecordEvents(t.Context(), "ticket", true)
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, 4, enabled())
	play("bob")
	ticket := d.QueuePlayer("bob", 1, "duel")
	_, err = d.CancelPlayerTicket(t.Context(), storetest.Universe, ticket, "bob")
	require.NoError(t, err)
	require.Equal(t, []string{"seat.reserved", "seat.left", "ticket.queued", "ticket.cancelled"}, kindsOfLog(d, "seat", "ticket"))
	require.JSONEq(t, `{"ticket": "`+ticket+`", "n": 1, "players": ["bob"], "profiles": ["duel"]}`,
		storetest.One[string](d, "SELECT detail::text FROM events WHERE kind = 'ticket.queued'"))
	require.Equal(t, "bob|session a test|false", storetest.One[string](d,
		"SELECT concat_ws('|', detail ->> 'player', detail ->> 'reason', detail ->> 'had_connected') FROM events WHERE kind = 'seat.left'"))

	_, err = d.As("").DeleteWebhook(t.Context(), "studio")
	require.NoError(t, err)
	_, err = d.As("").RecordEvents(t.Context(), "ticket", false)
	require.NoError(t, err)
	require.Zero(t, enabled())
	play("cyd")
	require.Len(t, kindsOfLog(d, "seat", "ticket"), 4)
}

func TestWebhooksOfOperators(t *testing.T) {
	t.Parallel()
	d := storetest.New(t)
	act := d.As("console:ada")
	for name, c := range map[string]struct {
		name  string
		kinds []string
	}{
		"no name":           {"", []string{"*"}},
		"a long name":       {strings.Repeat("a", 64), []string{"*"}},
		"capitals":          {"Studio", []string{"*"}},
		"no kinds":          {"studio", nil},
		"too many kinds":    {"studio", slices.Repeat([]string{"a.b"}, 65)},
		"an odd kind":       {"studio", []string{"seat"}},
		"a pattern, inside": {"studio", []string{"se*.left"}},
	} {
		_, err := act.CreateWebhook(t.Context(), c.name, "https://studio.example", c.kinds)
		require.True(t, fault.Is(err, fault.Invalid), "%s: %v", name, err)
	}
	_, err := act.CreateWebhook(t.Context(), "studio", "https://studio.example", []string{"*"})
	require.NoError(t, err)
	_, err = act.CreateWebhook(t.Context(), "studio", "https://studio.example", []string{"*"})
	require.True(t, fault.Is(err, fault.Conflict), err)
	for _, want := range []bool{true, false} {
		changed, err := act.Because("an audit").PauseWebhook(t.Context(), "studio")
		require.NoError(t, err)
		require.Equal(t, want, changed)
	}
	for _, want := range []bool{true, false} {
		changed, err := act.ResumeWebhook(t.Context(), "studio")
		require.NoError(t, err)
		require.Equal(t, want, changed)
	}
	_, err = act.PauseWebhook(t.Context(), "nobody")
	require.True(t, fault.Is(err, fault.NotFound), err)
	_, err = act.RecordEvents(t.Context(), "session", true)
	require.True(t, fault.Is(err, fault.Invalid), err)
	require.Equal(t, []string{"webhook.created", "webhook.paused", "webhook.resumed"},
		storetest.Values[string](d, "SELECT kind FROM events WHERE actor = 'console:ada' AND kind LIKE 'webhook.%' ORDER BY tx, id"))
	require.Equal(t, "an audit", storetest.One[string](d, "SELECT detail ->> 'reason' FROM events WHERE kind = 'webhook.paused'"))
	for n := range db.MaxWebhooks - 1 {
		_, err = act.CreateWebhook(t.Context(), "more-"+string(rune('a'+n%26))+string(rune('a'+n/26)), "https://studio.example", []string{"key.*"})
		require.NoError(t, err)
	}
	_, err = act.CreateWebhook(t.Context(), "one-more", "https://studio.example", []string{"*"})
	require.True(t, fault.Is(err, fault.Conflict), err)
}

// The log says when a cursor is no place in it.
func TestACursorThatWasDropped(t *testing.T) {
	t.Parallel()
	d := storetest.New(t)
	d.Exec("INSERT INTO events (kind) VALUES ('a'), ('b')")
	var page opsview.FeedPage
	require.Eventually(t, func() (read bool) { // transactions of other tests may keep the events out of the feed for now
		var err error
		page, err = opsview.ReadFeed(t.Context(), d.Pool(), opsview.EventCursor{}, nil, opsview.Selection{}, 10)
		return err == nil && len(page.Events) == 2
	}, time.Minute, 5*time.Millisecond)
	require.NoError(t, opsview.CheckCursor(t.Context(), d.Pool(), page.Next))
	require.NoError(t, opsview.CheckCursor(t.Context(), d.Pool(), opsview.EventCursor{}))
	d.Exec("DELETE FROM events")
	require.ErrorIs(t, opsview.CheckCursor(t.Context(), d.Pool(), page.Next), opsview.ErrCursorGone)
}

package db_test

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
)

// console is a Store over the database of an opsDB, as the console uses it.
type console struct{ *opsDB }

func newConsole(t *testing.T) console {
	t.Helper()
	return console{newOpsDB(t)}
}

// list reads a page of a view as the console does.
func list[T any, F opsview.Filter](c console, v opsview.View[T, F], f F, p opsview.Page) (rows []T, more bool, err error) {
	p.Limit = cmp.Or(p.Limit, 50)
	err = c.ReadOps(c.t.Context(), func(ctx context.Context, q opsview.Querier) error {
		rows, more, err = v.List(ctx, q, f, p)
		return err
	})
	return rows, more, err
}

// read reads of several views as the console does.
func read[T any](c console, what func(context.Context, opsview.Querier) (T, error)) (found T, err error) {
	err = c.ReadOps(c.t.Context(), func(ctx context.Context, q opsview.Querier) error {
		found, err = what(ctx, q)
		return err
	})
	return found, err
}

// events reads a page of events.
func (c console) events(before opsview.EventCursor, f opsview.EventFilter, limit int) (opsview.EventPage, error) {
	return read(c, func(ctx context.Context, q opsview.Querier) (opsview.EventPage, error) {
		return opsview.ReadEvents(ctx, q, before, f, limit)
	})
}

// sessionOf reads what is known of a session.
func (c console) sessionOf(id string) (opsview.SessionHistory, error) {
	return read(c, func(ctx context.Context, q opsview.Querier) (opsview.SessionHistory, error) {
		region, room, err := db.ParseSessionID(id)
		if err != nil {
			return opsview.SessionHistory{}, err
		}
		return opsview.ReadSession(ctx, q, region, room)
	})
}

// playerOf reads what is known of a player.
func (c console) playerOf(player string, p opsview.Page) (opsview.Player, error) {
	return read(c, func(ctx context.Context, q opsview.Querier) (opsview.Player, error) {
		return opsview.ReadPlayer(ctx, q, player, "global", p)
	})
}

func TestConsoleFleetPagesAndFilters(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	c.instance("eu", "a1", "1 minute", "duel")
	c.instance("eu", "a2", "2 hours", "duel", "raid")
	c.instance("us", "b1", "1 minute", "raid")
	c.instance("us", "b2", "1 minute", "raid")
	c.Exec(`SELECT end_instance('us', 'b2', 'deregistered')`)
	c.session("eu", "a1", "duel", "ann")

	names := func(f opsview.FleetFilter, p opsview.Page) (ids []string, more bool) {
		fleet, more, err := list(c, opsview.Fleet, f, p)
		require.NoError(t, err)
		for _, i := range fleet {
			ids = append(ids, i.Instance+" "+i.State())
		}
		return ids, more
	}
	first, more := names(opsview.FleetFilter{}, opsview.Page{Limit: 3})
	require.Equal(t, []string{"a1 ready", "a2 silent", "b1 ready"}, first)
	require.True(t, more)
	second, more := names(opsview.FleetFilter{}, opsview.Page{Limit: 3, After: []any{"us", "b1"}})
	require.Equal(t, []string{"b2 gone"}, second)
	require.False(t, more)
	for want, f := range map[string]opsview.FleetFilter{
		"a2 silent": {State: "silent"}, "b2 gone": {State: "gone"}, "a1 ready": {Region: "eu", State: "ready"}, "b1 ready": {Mode: "raid", State: "ready"},
	} {
		got, _ := names(f, opsview.Page{})
		require.Equal(t, []string{want}, got)
	}
	got, _ := names(opsview.FleetFilter{Prefix: "a"}, opsview.Page{})
	require.Len(t, got, 2)
	got, _ = names(opsview.FleetFilter{Prefix: "%"}, opsview.Page{})
	require.Empty(t, got, "a pattern is no prefix")

	instance := func(id string) (opsview.Instance, error) {
		return read(c, func(ctx context.Context, q opsview.Querier) (opsview.Instance, error) {
			return opsview.ReadInstance(ctx, q, id)
		})
	}
	in, err := instance("a1")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"rack": "7"}, in.Labels)
	require.EqualValues(t, 1, in.Players)
	_, err = instance("zz")
	require.ErrorIs(t, err, pgx.ErrNoRows)

	counts, err := c.FleetCounts(t.Context())
	require.NoError(t, err)
	require.Equal(t, []db.FleetCount{
		{"eu", "ready", 1, 16, 4, 1, 1}, {"eu", "silent", 1, 16, 0, 0, 0}, {"us", "gone", 1, 16, 0, 0, 0}, {"us", "ready", 1, 16, 0, 0, 0},
	}, counts)
	regions, _, err := list(c, opsview.Regions, opsview.Any{}, opsview.Page{})
	require.NoError(t, err)
	require.Equal(t, []opsview.Region{{Region: "eu"}, {Region: "us"}}, regions)
	modes, err := c.FleetModes(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"duel", "raid"}, modes)
}

func TestConsoleSessionIsKnownAfterItCloses(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	c.instance("eu", "a1", "1 minute", "duel")
	played, other := c.session("eu", "a1", "duel", "ann", "bob"), c.session("eu", "a1", "duel", "cid")
	v, err := c.sessionOf(played)
	require.NoError(t, err)
	require.Equal(t, played, v.OpenSession.Session)
	require.Equal(t, []string{"ann", "bob"}, []string{v.Seats[0].Player, v.Seats[1].Player})
	require.Empty(t, v.LeftSeats)

	region, first, err := db.ParseSessionID(min(played, other))
	require.NoError(t, err)
	page, more, err := list(c, opsview.Sessions, opsview.SessionFilter{Region: region, Instance: "a1"}, opsview.Page{Limit: 1})
	require.NoError(t, err)
	require.True(t, more)
	require.Equal(t, first, page[0].ID)
	page, more, err = list(c, opsview.Sessions, opsview.SessionFilter{Mode: "duel"}, opsview.Page{After: []any{region, first}})
	require.NoError(t, err)
	require.False(t, more)
	require.Equal(t, max(played, other), page[0].Session)

	require.NoError(t, c.As("console:ada").CloseSession(t.Context(), played, "cheating"))
	v, err = c.sessionOf(played)
	require.NoError(t, err)
	require.Nil(t, v.OpenSession)
	require.Equal(t, "cheating", v.PastSession.Reason)
	require.Equal(t, "session cheating", v.LeftSeats[0].Reason)
	require.Len(t, v.LeftSeats, 2)
	_, err = c.sessionOf("eu." + uuid.NewString())
	require.ErrorIs(t, err, pgx.ErrNoRows)
	_, err = c.sessionOf("nonsense")
	requireKind(t, fault.Invalid, "invalid", err)
}

func TestConsolePlayerHasTheirHistory(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	c.instance("eu", "a1", "1 minute", "duel")
	c.instance("us", "b1", "1 minute", "raid")
	c.session("eu", "a1", "duel", "ann", "bob")
	c.session("us", "b1", "raid", "ann")
	now := time.Now()
	for i := range 3 {
		c.leave("ann", now.Add(-time.Hour), now.Add(-time.Duration(i)*time.Minute))
	}
	c.leave("bob", now.Add(-time.Hour), now)
	c.Exec(`INSERT INTO ticket_players (region, sub, profile, ticket_id, request_hash) VALUES ('global', 'ann', 'duel', 't1', ''), ('global', 'bob', 'duel', 't2', '')`)
	c.Exec(`INSERT INTO ticket_events (region, ticket_id, n, state, reason, party) VALUES ('global', 't1', 1, 'queued', NULL, NULL), ('global', 't1', 2, 'expired', 'no match', '{ann}')`)

	v, err := c.playerOf("ann", opsview.Page{Limit: 2})
	require.NoError(t, err)
	require.Len(t, v.Seats, 2)
	require.Len(t, v.Tickets, 1)
	require.Equal(t, "t1 expired no match", v.Tickets[0].Ticket+" "+v.Tickets[0].State+" "+v.Tickets[0].Reason)
	require.Len(t, v.PastSeats, 2)
	require.True(t, v.HasMorePast)
	v, err = c.playerOf("ann", opsview.Page{Limit: 2, After: []any{v.PastSeats[1].LeftAt}})
	require.NoError(t, err)
	require.Len(t, v.PastSeats, 1)
	require.False(t, v.HasMorePast)
	steps, _, err := list(c, opsview.TicketStates, opsview.TicketFilter{Universe: "global", Ticket: "t1"}, opsview.Page{})
	require.NoError(t, err)
	require.Equal(t, []string{"queued", "expired"}, []string{steps[0].State, steps[1].State})

	v, err = c.playerOf("'; DROP TABLE seats", opsview.Page{Limit: 50})
	require.NoError(t, err)
	require.Equal(t, opsview.Player{Seats: []opsview.Seat{}, Refusals: []opsview.Refusal{}, Tickets: []opsview.PlayerTicket{}, Lobby: []opsview.LobbySession{}, PastSeats: []opsview.PastSeat{}}, v)
}

// Pins a page that says "full" whatever the reason is for which requests are refused.
func TestConsoleCapacitySaysWhyRequestsAreRefused(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	for _, mode := range []string{"places", "full", "slots", "draining", "silent", "starting", "ended", "joins"} {
		c.instance("eu", mode, map[bool]string{true: "2 hours", false: "1 minute"}[mode == "silent"], mode)
	}
	c.Exec(`UPDATE instances SET reserved_seats = 16 WHERE id IN ('full', 'joins')`)
	c.Exec(`UPDATE instances SET max_sessions = 0 WHERE id = 'slots'`)
	c.Exec(`UPDATE instances SET status = id WHERE id IN ('draining', 'starting')`)
	c.Exec(`SELECT end_instance('eu', 'ended', 'deregistered')`)
	c.Exec(`UPDATE instances SET seat_ceiling = 99 WHERE id = 'joins'`)
	c.session("eu", "joins", "joins", "ann", "bob")
	c.provisioned()

	var more bool
	all, err := read(c, func(ctx context.Context, q opsview.Querier) (all []opsview.ModeCapacity, err error) {
		all, more, err = opsview.ListCapacity(ctx, q, "", opsview.Page{Limit: 50})
		return all, err
	})
	require.NoError(t, err)
	require.False(t, more)
	why := map[string]string{}
	var joins opsview.Outlook
	for _, k := range all {
		why[k.Outlook.Mode] = k.Outlook.Refusal
		if k.Outlook.Mode == "joins" {
			joins = k.Outlook
		}
	}
	require.Equal(t, map[string]string{
		"places": "", "joins": "", "duet": "", "full": "full", "slots": "session limit", "draining": "draining", "silent": "silent", "starting": "starting", "ended": "ended",
		"solo": "none yet",
	}, why)
	require.Empty(t, joins.RefusalText(2, 4))
	require.NotEmpty(t, joins.RefusalText(3, 4), "a party needs its seats in one session")
	demand, _, err := list(c, opsview.Demands, opsview.Any{}, opsview.Page{})
	require.NoError(t, err)
	require.Len(t, demand, 2)
}

func TestConsoleHealthAndKeys(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	c.agentsAtWork()
	c.key("old", "-3 days", "-2 days")
	c.key("signing", "-1 minute", "1 day")
	c.Exec(`INSERT INTO worker_loops (loop, succeeded_at, every) VALUES ('reap', now() - interval '1 hour', '1 second')`)
	v, err := read(c, opsview.ReadHealth)
	require.NoError(t, err)
	require.Len(t, v.Replicas, 2)
	require.False(t, v.Amnesty.Amnesty)
	require.NotNil(t, v.Amnesty.LastPulse)
	require.True(t, v.Loops[0].Late)
	require.Len(t, v.Snapshots, 3)
	require.GreaterOrEqual(t, v.Partitions[0].DaysAhead, int32(6))
	counts, err := read(c, opsview.ReadInvariants)
	require.NoError(t, err)
	require.Greater(t, len(counts), 20)
	keys, more, err := list(c, opsview.Keys, opsview.KeyFilter{}, opsview.Page{Limit: 1})
	require.NoError(t, err)
	require.True(t, more)
	require.Equal(t, "signing", keys[0].KID)
	_, more, err = list(c, opsview.ProjectKeys, opsview.Any{}, opsview.Page{Limit: 1})
	require.NoError(t, err)
	require.False(t, more)
}

// Pins an action of the console in whose event the director's login stands for the person.
func TestConsoleActsInTheNameOfAPerson(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	c.instance("eu", "arena", "1 minute", "duel")
	c.key("a", "-1 day", "1 day")
	s := c.session("eu", "arena", "duel", "ann")
	busy := uuid.MustParse(c.provisioned())
	c.agentsAtWork()
	ada, ctx := c.As("console:ada"), t.Context()
	require.True(t, must.Get(ada.Drain(ctx, "arena"))(t))
	require.False(t, must.Get(ada.Drain(ctx, "arena"))(t))
	require.True(t, must.Get(ada.Undrain(ctx, "arena"))(t))
	require.NoError(t, ada.CloseSession(ctx, s, "cheating"))
	require.True(t, must.Get(ada.TaintKey(ctx, "a"))(t))
	require.True(t, must.Get(ada.DrainAgent(ctx, "0000000000000001"))(t))
	require.True(t, must.Get(ada.UndrainAgent(ctx, "0000000000000001"))(t))
	require.True(t, must.Get(ada.StopDeployment(ctx, busy, "cheaters"))(t))
	require.True(t, must.Get(ada.ScalePool(ctx, "eu", "arena", "v1", new(int32(1)), new(int32(7))))(t))
	policy := db.KeyPolicy{Period: 24 * time.Hour, Lead: time.Minute, Overlap: time.Minute}
	made, err := ada.RotateKeys(ctx, db.SigningKeyRotation{Policy: policy, Force: true, Mint: func([]db.SigningKey) (db.KeyMaterial, error) {
		return db.KeyMaterial{KID: uuid.NewString(), Alg: "EdDSA", PublicJWK: []byte(`{}`), Sealed: []byte{1}, SealedBy: "kek-1"}, nil
	}})
	require.NoError(t, err)
	require.NotEmpty(t, made)
	require.Equal(t, []string{
		"deployment.stopped", "drain.ended", "drain.kept", "instance.drained", "instance.undrained", "key.made", "key.tainted", "pool.scaled", "session.closed",
	}, c.Rows(`SELECT DISTINCT kind FROM ops.events WHERE actor = 'console:ada' ORDER BY 1`))
	require.Empty(t, c.Rows(`SELECT kind FROM ops.events WHERE actor LIKE 'sql:%'`))

	_, err = ada.Drain(ctx, "zz")
	requireKind(t, fault.NotFound, "not_found", err)
	requireKind(t, fault.Conflict, "conflict", ada.CloseSession(ctx, s, "again"))
	requireKind(t, fault.Invalid, "invalid", ada.CloseSession(ctx, s, " "))

	c.Exec(`SELECT ops.drain('arena')`)
	require.Equal(t, []string{"t"}, c.Rows(`SELECT actor = 'sql:' || session_user FROM ops.events WHERE kind = 'instance.drained' AND actor <> 'console:ada'`),
		"the name lasts for one transaction")
}

// Pins an operator who acts under the name of somebody else.
func TestOperatorsCannotActAsSomebodyElse(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.instance("eu", "arena", "1 minute", "duel")
	operator := d.roles().operator
	_, err := operator.Exec(context.Background(), `SET director.actor = 'console:ada'`)
	require.NoError(t, err)
	_, err = operator.Exec(context.Background(), `SELECT ops.drain('arena')`)
	require.NoError(t, err)
	require.Equal(t, []string{"sql:" + operator.Config().User}, d.Rows(`SELECT actor FROM ops.events`))
}

// Pins a page that can write, and one that reads on while nobody may have a snapshot for so long.
func TestConsoleReadsAreBounded(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	c.Hold(`LOCK TABLE instances`)
	began := time.Now()
	_, _, err := list(c, opsview.Fleet, opsview.FleetFilter{}, opsview.Page{})
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	require.Less(t, time.Since(began), 30*time.Second)
}

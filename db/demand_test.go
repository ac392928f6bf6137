package db_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
)

// withPool makes a pool that serves mode duel in region eu.
func (b *bundle) withPool() *bundle {
	b.t.Helper()
	b.AddPool(nil)
	return b
}

func waits(r db.PlaceRequest) db.PlaceRequest {
	r.WaitFor = time.Minute
	return r
}

func (b *bundle) refusal(r db.PlaceRequest) *fault.Error {
	b.t.Helper()
	_, err := b.Place(b.t.Context(), r)
	return requireFault(b.t, fault.NoCapacity, err)
}

func (b *bundle) demand() int { return one[int](b, "SELECT count(*) FROM demand") }

func TestARefusedPartyIsDemand(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.Exec(`UPDATE pools SET last_plan = '{"live": 2, "coming": 3}'`)
	r := waits(request("ann", 4, "bob"))
	r.Address = netip.MustParseAddr("::ffff:192.0.2.7")
	refused := b.refusal(r)
	require.Equal(t, "no_capacity", refused.Code, "no instance was ever there, but a pool serves the mode")
	require.Equal(t, &fault.Outlook{Region: "eu", Mode: "duel", Starting: 3}, refused.Outlook)
	require.Equal(t, 2*time.Second, refused.RetryAfter)
	require.Equal(t, "matchmake 2 4 1 2 192.0.2.7 00:01:00", one[string](b, `SELECT concat_ws(' ', source, party, max_players, matches, players, host(address),
		expires_at - updated_at) FROM demand WHERE region = 'eu' AND mode = 'duel'`))
	require.Equal(t, "matchmake 4 2", one[string](b, "SELECT concat_ws(' ', source, seats, party) FROM ops.demand"))
}

// Pins a server that would be started for players who play already.
func TestSeatingRemovesDemand(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	_ = b.refusal(waits(request("ann", 4, "bob")))
	_ = b.refusal(waits(request("bob", 4)))
	_ = b.refusal(waits(request("eve", 4)))
	require.Equal(t, 3, b.demand())
	b.AddServer("i1", 4)
	b.place(request("ann", 4, "bob"))
	require.Equal(t, 1, b.demand(), "bob has a seat, too")
	b.place(request("eve", 4))
	require.Zero(t, b.demand())
}

func TestModesWithoutAPoolHaveNoDemand(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	r := waits(request("ann", 4))
	r.Mode = "race"
	require.Nil(t, b.refusal(r).Outlook)
	require.Nil(t, b.refusal(request("ann", 4)).Outlook, "the request does not wait for a server")
	require.Zero(t, b.demand())
	require.Equal(t, "no_capacity", b.refusal(request("ann", 4)).Code)
}

func TestOutlooksOfPoolsThatStartNothing(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	for _, c := range []struct {
		change string
		want   fault.Outlook
		retry  time.Duration
	}{
		{`UPDATE pools SET last_plan = '{"live": 9, "coming": 1}'`, fault.Outlook{Starting: 1, IsFull: true}, 2 * time.Second},
		{`UPDATE pools SET last_plan = '{"live": 10, "coming": 0}'`, fault.Outlook{IsFull: true}, 10 * time.Second},
		{`UPDATE pools SET last_plan = '{"live": 8, "coming": 0, "draining": 1, "ending": 1}'`, fault.Outlook{IsFull: true}, 10 * time.Second},
		{"UPDATE pools SET last_plan = NULL, paused_until = '9999-01-01'", fault.Outlook{PausedUntil: provision.Forever(), PausedByOperator: true}, 10 * time.Second},
		{"UPDATE pools SET paused_until = NULL, max_servers = 0", fault.Outlook{IsFull: true}, 10 * time.Second},
		{"UPDATE pools SET max_servers = 10", fault.Outlook{}, 2 * time.Second},
		{"INSERT INTO start_pauses SELECT 'us', app, version, 'failures', 3, now() + interval '1 hour', 'x' FROM pools", fault.Outlook{}, 2 * time.Second},
		{"INSERT INTO start_pauses SELECT 'eu', app, version, 'failures', 3, now() + interval '1 hour', 'x' FROM pools", fault.Outlook{PausedUntil: time.Now().Add(time.Hour)}, 10 * time.Second},
		{"UPDATE start_pauses SET cause = 'capacity', until = now() + interval '5 seconds'", fault.Outlook{PausedUntil: time.Now().Add(5 * time.Second)}, 5 * time.Second},
		{"UPDATE start_pauses SET until = now() - interval '1 second'", fault.Outlook{}, 2 * time.Second},
	} {
		b.Exec(c.change)
		c.want.Region, c.want.Mode = "eu", "duel"
		refused := b.refusal(waits(request("ann", 4)))
		require.WithinDuration(t, c.want.PausedUntil, refused.Outlook.PausedUntil, time.Minute, c.change)
		c.want.PausedUntil = refused.Outlook.PausedUntil
		require.Equal(t, &c.want, refused.Outlook, c.change)
		require.InDelta(t, c.retry, refused.RetryAfter, float64(2*time.Second), c.change)
	}
}

func bevygap(player string, size int) db.Waiting {
	return db.Waiting{Region: "eu", Mode: "duel", Player: player, MaxPlayers: size}
}

func TestDemandIsRenewedWhenHalfItsTimeIsOver(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	put := func(w ...db.Waiting) {
		outlooks, err := b.PutWaiting(t.Context(), db.DemandBevygap, 15*time.Second, w)
		require.NoError(t, err)
		require.Len(t, outlooks, 1)
	}
	version := func() string { return one[string](b, "SELECT string_agg(xmin::text, ' ' ORDER BY key) FROM demand") }
	put(bevygap("ann", 4), bevygap("bob", 4), bevygap("ann", 4))
	require.Equal(t, 2, b.demand())
	first := version()
	put(bevygap("ann", 4), bevygap("bob", 4))
	require.Equal(t, first, version(), "nothing is written while most of the time is left")
	b.Exec("UPDATE demand SET since = since - interval '1 minute', expires_at = now() + interval '7 seconds'")
	put(bevygap("ann", 4), bevygap("bob", 4))
	require.Equal(t, 2, one[int](b, "SELECT count(*) FROM demand WHERE expires_at > now() + interval '14 seconds' AND since < now() - interval '59 seconds'"))
	put(bevygap("ann", 2))
	require.Equal(t, 1, one[int](b, "SELECT count(*) FROM demand WHERE max_players = 2"), "another size is written at once")
	b.Exec("UPDATE demand SET expires_at = now() - interval '1 second'")
	put(bevygap("ann", 2))
	require.Equal(t, 1, one[int](b, "SELECT count(*) FROM demand WHERE since > now() - interval '10 seconds'"), "a lapsed row begins anew")

	regions, err := b.DemandRegions(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"eu"}, regions)
	n, err := b.SweepDemand(t.Context(), "eu", 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, b.EndWaiting(t.Context(), []db.Waiting{bevygap("ann", 4), bevygap("nobody", 4)}))
	require.Zero(t, b.demand())
}

func TestDemandOfAModeIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	_ = b.refusal(waits(request("ann", 4)))
	b.Exec("INSERT INTO demand (region, mode, key, matches, players, expires_at) SELECT 'eu', 'duel', 'k' || n, 1, 1, now() + interval '1 minute' FROM generate_series(1, 9999) n")
	b.Exec("UPDATE demand SET expires_at = now() + interval '1 second'")
	require.NotNil(t, b.refusal(waits(request("bob", 4))).Outlook)
	require.NotNil(t, b.refusal(waits(request("ann", 4))).Outlook)
	require.Equal(t, 10_000, b.demand())
	require.Equal(t, 1, one[int](b, "SELECT count(*) FROM demand WHERE expires_at > now() + interval '10 seconds'"), "those inside are renewed")
}

// Pins a loop of the release before, whose workers delete demand of profiles that they do not know.
func TestLoopsLeaveOtherDemandAlone(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	_ = b.refusal(waits(request("ann", 4)))
	require.NoError(t, b.PutDemand(t.Context(), "eu", []string{"duel", ""}, nil))
	require.Equal(t, 1, b.demand())
	b.Exec(`DELETE FROM demand o WHERE NOT EXISTS (SELECT FROM profiles p WHERE p.name = split_part(o.key, '/', 1)) AND split_part(o.key, '/', 3) IN ('', 'eu')`)
	require.Equal(t, 1, b.demand())
}

func TestManyRefusalsAtOnceAreDemand(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	refused := make(chan error)
	for i := range 50 {
		go func() {
			_, err := b.Place(t.Context(), waits(request(fmt.Sprint("p", i), 4)))
			refused <- err
		}()
	}
	for range 50 {
		var e *fault.Error
		require.ErrorAs(t, <-refused, &e)
		require.NotNil(t, e.Outlook)
	}
	require.Equal(t, 50, b.demand())
}

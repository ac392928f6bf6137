package db_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/longtest"
)

// The form in which what is true now and what was true then are compared.
const pastForms = `
CREATE TABLE moments (n int PRIMARY KEY, at timestamptz NOT NULL);
CREATE TABLE seen (n int NOT NULL, what text NOT NULL, id text NOT NULL, detail jsonb NOT NULL);
CREATE INDEX ON seen (n);
CREATE FUNCTION true_now(at timestamptz) RETURNS TABLE (what text, id text, detail jsonb) LANGUAGE sql AS $$
	SELECT 'fleet', i.id, jsonb_build_array(i.incarnation, i.status, i.endpoint, i.modes, i.labels, i.version, i.capacity, i.max_sessions, i.open_sessions, i.reserved_seats, i.registered_at,
		(SELECT coalesce(sum(s.player_count), 0) FROM sessions s WHERE s.region = i.region AND s.instance_id = i.id)) FROM instances i WHERE i.status <> 'gone'
	UNION ALL SELECT 'sessions', s.id::text, jsonb_build_array(s.mode, s.instance_id, s.max_players, s.player_count, s.opened_at, s.match_id,
		(SELECT count(*) FROM seats t WHERE t.region = s.region AND t.session_id = s.id AND t.state = 'connected')) FROM sessions s
	UNION ALL SELECT 'seats', t.session_id || t.sub, jsonb_build_array(t.mode, t.state, t.party, t.reserved_by, t.reserved_at, t.connected_at, t.match_id, t.team,
		(SELECT s.instance_id FROM sessions s WHERE s.region = t.region AND s.id = t.session_id)) FROM seats t
	UNION ALL SELECT 'keys', k.kid, jsonb_build_array(k.alg, k.publish_at, k.sign_from, k.sign_until, k.verify_until, k.tainted_at,
		CASE WHEN k.tainted_at IS NOT NULL THEN 'tainted' WHEN at < k.sign_from THEN 'next' WHEN at < k.sign_until THEN 'signing' WHEN at < k.verify_until THEN 'retiring' ELSE 'expired' END) FROM signing_keys k
$$;
CREATE FUNCTION true_then(at timestamptz) RETURNS TABLE (what text, id text, detail jsonb) LANGUAGE sql AS $$
	SELECT 'fleet', i.instance, jsonb_build_array(i.incarnation, i.status, i.endpoint, i.modes, i.labels, i.version, i.capacity, i.max_sessions, i.sessions, i.reserved_seats, i.registered_at, i.players) FROM ops.fleet_at(at) i
	UNION ALL SELECT 'sessions', s.id::text, jsonb_build_array(s.mode, s.instance, s.max_players, s.players, s.opened_at, s.match, s.connected) FROM ops.sessions_at(at) s
	UNION ALL SELECT 'seats', t.session_id || t.player, jsonb_build_array(t.mode, t.state, t.party, t.reserved_by, t.reserved_at, t.connected_at, t.match, t.team, t.instance) FROM ops.seats_at(at) t
	UNION ALL SELECT 'keys', k.kid, jsonb_build_array(k.alg, k.publish_at, k.sign_from, k.sign_until, k.verify_until, k.tainted_at, k.state) FROM ops.keys_at(at) k
$$`

// What was true at a time is what a snapshot of that time has seen, for random times between random changes by several
// replicas. Snapshots are taken while no change is in progress: a change takes some milliseconds from its time to its
// commit, and a snapshot within these would not have it yet.
func TestThePastIsAsItWasSeen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.EndAmnesty()
	b.Exec(pastForms)
	var changes sync.RWMutex // a snapshot excludes changes
	ctx, stop := context.WithCancel(t.Context())
	var replicas sync.WaitGroup
	for i, s := range []*db.Store{b.Store, b.Replica(), b.Replica()} {
		c := changer{store: s, random: rand.New(rand.NewPCG(uint64(i), 7)), mint: minter()}
		replicas.Go(func() {
			for ctx.Err() == nil && !t.Failed() {
				changes.RLock()
				c.change(t)
				changes.RUnlock()
			}
		})
	}
	snapshots := longtest.Pick(300, 1_500)
	if n, err := strconv.Atoi(os.Getenv("DIRECTOR_TEST_MOMENTS")); err == nil {
		snapshots = n
	}
	for n := range snapshots {
		changes.Lock()
		b.Exec(`WITH m AS (INSERT INTO moments VALUES ($1, clock_timestamp()) RETURNING at)
			INSERT INTO seen SELECT $1, x.what, x.id, x.detail FROM m CROSS JOIN LATERAL true_now(m.at) x`, n)
		changes.Unlock()
	}
	stop()
	replicas.Wait()
	for _, what := range []string{"fleet", "sessions", "seats", "keys"} {
		require.Greater(t, one[int](b, `SELECT count(DISTINCT detail) FROM seen WHERE what = $1`, what), 8, what)
	}
	require.Greater(t, one[int](b, `SELECT count(*) FROM instance_history`), snapshots/20)
	for _, n := range rand.Perm(snapshots) {
		different := one[[]string](b, `SELECT coalesce(array_agg(concat_ws(' ', d.side, d.what, d.id, d.detail)), '{}') FROM moments m CROSS JOIN LATERAL (
			(SELECT 'then', x.* FROM (SELECT * FROM true_then(m.at) EXCEPT ALL SELECT s.what, s.id, s.detail FROM seen s WHERE s.n = m.n) x)
			UNION ALL
			(SELECT 'seen', x.* FROM (SELECT s.what, s.id, s.detail FROM seen s WHERE s.n = m.n EXCEPT ALL SELECT * FROM true_then(m.at)) x)
		) d(side, what, id, detail) WHERE m.n = $1`, n)
		require.Empty(t, different, "snapshot %d", n)
	}
	b.RequireInvariants()
}

// changer makes random changes on a replica.
type changer struct {
	store  *db.Store
	random *rand.Rand
	mint   db.MintFunc
}

// change makes one random change. That the store refuses it is no error: another replica was faster.
func (c *changer) change(t *testing.T) {
	ctx, act := t.Context(), c.store.As("test")
	server, player := fmt.Sprintf("s%d", c.random.IntN(4)), fmt.Sprintf("p%d", c.random.IntN(12))
	var err error
	switch session, sub, host := c.anySeat(ctx); c.random.IntN(16) {
	case 0, 1:
		_, err = c.store.Register(ctx, db.Registration{InstanceID: server, Endpoint: server + ":1", Region: "eu",
			Modes:    []string{"duel", "race"}[:1+c.random.IntN(2)],
			Capacity: 8 + 8*c.random.IntN(3), BootID: fmt.Sprint(c.random.IntN(3)),
			Labels: map[string]string{"rack": fmt.Sprint(c.random.IntN(2))}})
	case 2:
		err = c.store.Deregister(ctx, ref(server))
	case 3:
		_, err = act.Drain(ctx, server)
	case 4:
		_, err = act.Undrain(ctx, server)
	case 5:
		_, err = act.DrainLabel(ctx, "rack=0", "")
	case 6:
		_, err = act.UndrainLabel(ctx, "rack=0", "")
	case 7, 8, 9:
		_, err = c.store.Place(ctx, db.PlaceRequest{Caller: player, Region: "eu", Mode: "duel",
			Party: []string{player, player + "friend"}[:1+c.random.IntN(2)], MaxPlayers: 4})
	case 10, 11:
		_, err = c.store.ReportSeats(ctx,
			db.SeatReport{InstanceRef: ref(host), SessionID: session,
				JoinedPlayers: []db.Joined{{PlayerSub: sub, JTI: fmt.Sprint(c.random.Uint64())}}})
	case 12:
		_, err = c.store.ReportSeats(ctx,
			db.SeatReport{InstanceRef: ref(host), SessionID: session, LeftPlayers: []db.Left{{PlayerSub: sub}}})
	case 13:
		err = act.CloseSession(ctx, session, "over")
	case 14:
		_, err = act.FreeSeat(ctx, session, sub, "stuck")
	case 15:
		err = c.changeKeys(ctx)
	}
	for _, kind := range []fault.Kind{fault.NotFound, fault.Conflict, fault.Invalid, fault.NoCapacity, fault.Gone,
		fault.Superseded, fault.Unavailable} {
		if fault.Is(err, kind) {
			return
		}
	}
	if err != nil {
		t.Error(err) // not require, which would end a goroutine that holds the lock
	}
}

func (c *changer) changeKeys(ctx context.Context) error {
	if c.random.IntN(4) == 0 {
		signing, _, err := c.store.Keys(ctx)
		if err != nil || len(signing) == 0 {
			return err
		}
		_, err = c.store.As("test").TaintKey(ctx, signing[c.random.IntN(len(signing))].Material.KID)
		return err
	}
	_, err := c.store.RotateKeys(ctx, db.SigningKeyRotation{Policy: policy, Mint: c.mint, Force: c.random.IntN(2) == 0})
	return err
}

// anySeat returns a seat that is taken; empty texts if none is.
func (c *changer) anySeat(ctx context.Context) (session, sub, host string) {
	_ = c.store.Pool().QueryRow(ctx, `SELECT t.region || '.' || t.session_id, t.sub, s.instance_id FROM seats t JOIN sessions s ON s.region = t.region AND s.id = t.session_id
		ORDER BY random() LIMIT 1`).Scan(&session, &sub, &host)
	return session, sub, host
}

// Pins an answer about a time of which nothing is known any more, or yet, and an error that does not say since when
// something is.
func TestThePastBeginsSomewhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	registered := b.AddServer("a", 8)
	p := b.place(request("ann", 4))
	b.connect("a", p, "ann")
	b.rotate(false)
	at := one[time.Time](b, "SELECT clock_timestamp()")
	all := db.AsOf{Moment: at, Limit: 10}
	require.NoError(t, b.As("").CloseSession(t.Context(), p.SessionID, "over"))
	require.NoError(t, b.Deregister(t.Context(), refOf(registered)))

	fleet, err := b.FleetAt(t.Context(), all)
	require.NoError(t, err)
	require.Equal(t, []any{"a", "ready", int32(1), int32(1), int32(4), int32(8)},
		[]any{fleet[0].Instance, fleet[0].Status, fleet[0].Sessions, fleet[0].Players, fleet[0].ReservedSeats,
			fleet[0].Capacity})
	sessions, err := b.SessionsAt(t.Context(), all)
	require.NoError(t, err)
	require.Equal(t, []any{p.SessionID, int32(1)}, []any{sessions[0].Session, sessions[0].Connected})
	require.NotNil(t, sessions[0].ClosedAt)
	seats, err := b.SeatsAt(t.Context(), all)
	require.NoError(t, err)
	require.Equal(t, []any{"ann", "connected", "a"}, []any{seats[0].Player, seats[0].State, seats[0].Instance})
	require.NotNil(t, seats[0].LeftAt)
	keys, err := b.KeysAt(t.Context(), all)
	require.NoError(t, err)
	require.Equal(t, []string{"signing", "next"}, []string{keys[0].State, keys[1].State})
	elsewhere, err := b.FleetAt(t.Context(), db.AsOf{Moment: at, Region: "us", Limit: 10})
	require.NoError(t, err)
	require.Empty(t, elsewhere)
	now, err := b.FleetAt(t.Context(), db.AsOf{Moment: one[time.Time](b, "SELECT clock_timestamp()"), Limit: 10})
	require.NoError(t, err)
	require.Empty(t, now, "it has ended")

	starts, err := b.HistoryStarts(t.Context())
	require.NoError(t, err)
	require.Len(t, starts, 4)
	for what, since := range starts {
		ask := map[string]func(db.AsOf) error{
			"fleet":    func(a db.AsOf) error { _, err := b.FleetAt(t.Context(), a); return err },
			"sessions": func(a db.AsOf) error { _, err := b.SessionsAt(t.Context(), a); return err },
			"seats":    func(a db.AsOf) error { _, err := b.SeatsAt(t.Context(), a); return err },
			"keys":     func(a db.AsOf) error { _, err := b.KeysAt(t.Context(), a); return err },
		}[what]
		require.NoError(t, ask(db.AsOf{Moment: since, Limit: 1}), what)
		early := ask(db.AsOf{Moment: since.Add(-time.Microsecond), Limit: 1})
		require.True(t, fault.Is(early, fault.Invalid), "%s: %v", what, early)
		require.ErrorContains(t, early, "the oldest time that is, is "+since.Format("2006-01-02T15:04:05.000000Z"),
			what)
		late := ask(db.AsOf{Moment: time.Now().Add(time.Hour), Limit: 1})
		require.ErrorContains(t, late, "must not be in the future", what)
	}

	pruned, err := b.PrunePast(t.Context(), 0, 100)
	require.NoError(t, err)
	require.Positive(t, pruned)
	_, err = b.FleetAt(t.Context(), all)
	require.True(t, fault.Is(err, fault.Invalid), "what was deleted is not known any more: %v", err)
}

package db_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

func TestSameBootKeepsItsSessions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.register("a", 16)
	p := b.place(wish("ann", 8))
	again := b.register("a", 32, func(r *db.Registration) { r.Modes = []string{"race"}; r.Labels = map[string]string{"zone": "b"} })
	require.Equal(t, first.Incarnation, again.Incarnation)
	require.Equal(t, 24, again.Available)
	_, err := b.Session(t.Context(), p.SessionID)
	require.NoError(t, err)
	_, err = b.Place(t.Context(), wish("bob", 4))
	requireKind(t, db.NoCapacity, "mode_unknown", err)
	b.requireSound()
}

// What starts a new incarnation closes the old one's sessions, and the old one may say nothing any more.
func TestNewIncarnations(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*bundle, *db.Registration){
		"another boot":     func(_ *bundle, r *db.Registration) { r.BootID = "boot-2" },
		"another endpoint": func(_ *bundle, r *db.Registration) { r.Endpoint = "elsewhere:1" },
		"another region":   func(_ *bundle, r *db.Registration) { r.Region = "us" },
		"lease past":       func(b *bundle, _ *db.Registration) { b.steady(); b.silence("a", 16*time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			old := b.register("a", 16)
			p := b.place(wish("ann", 8))
			fresh := b.register("a", 16, func(r *db.Registration) { change(b, r) })
			require.NotEqual(t, old.Incarnation, fresh.Incarnation)
			require.Equal(t, 16, fresh.Available)
			_, err := b.Session(t.Context(), p.SessionID)
			requireKind(t, db.Gone, "session_closed", err)
			_, err = b.Resolve(t.Context(), p.SessionHandle, "ann")
			requireKind(t, db.Gone, "session_closed", err)

			_, err = b.Heartbeat(t.Context(), refOf(old), nil)
			requireKind(t, db.Superseded, "superseded", err)
			requireKind(t, db.Superseded, "superseded", b.Deregister(t.Context(), refOf(old)))
			_, err = b.SetDrain(t.Context(), refOf(old), true)
			requireKind(t, db.Superseded, "superseded", err)
			_, err = b.ReportSeats(t.Context(), db.SeatReport{Ref: refOf(old), SessionID: p.SessionID, Left: gone("ann")})
			requireKind(t, db.Superseded, "superseded", err)
			_, err = b.Heartbeat(t.Context(), refOf(fresh), nil)
			require.NoError(t, err)
			_, err = b.Heartbeat(t.Context(), ref("a"), nil)
			require.NoError(t, err, "a legacy server is judged by its id alone")
			b.requireSound()
		})
	}
}

// A legacy server sends no boot id: its restart on the same endpoint is no new incarnation.
func TestLegacyServerKeepsItsIncarnation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	legacy := func(r *db.Registration) { r.BootID = "" }
	first := b.register("a", 16, legacy)
	require.Equal(t, first.Incarnation, b.register("a", 16, legacy).Incarnation)
}

// late is a registration that names the incarnation whose place it takes; uuid.Nil for none.
func (b *bundle) late(boot string, replaces uuid.UUID) (db.Registered, error) {
	b.t.Helper()
	return b.Register(b.t.Context(), db.Registration{
		InstanceID: "a", Endpoint: "a:7777", Region: "eu", Modes: []string{"duel"}, Capacity: 16, BootID: boot, Replaces: &replaces,
	})
}

// A registration that arrives after another process has registered supersedes nobody, whatever it was sent for.
func TestLateRegistrations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	never := uuid.Nil
	first, err := b.late("boot-1", never)
	require.NoError(t, err, "nobody has that id")
	again, err := b.late("boot-1", never)
	require.NoError(t, err, "the retry of a registration whose answer was lost")
	require.Equal(t, first.Incarnation, again.Incarnation)

	_, err = b.late("boot-2", never)
	requireKind(t, db.Conflict, "instance_taken", err)
	var taken *db.Error
	require.ErrorAs(t, err, &taken)
	require.Equal(t, first.Incarnation.String(), taken.Incarnation, "what it has to name")
	second, err := b.late("boot-2", first.Incarnation)
	require.NoError(t, err)

	_, err = b.late("boot-3", never)
	requireKind(t, db.Conflict, "instance_taken", err)
	_, err = b.late("boot-1", first.Incarnation)
	requireKind(t, db.Superseded, "superseded", err)
	_, err = b.late("boot-3", first.Incarnation)
	requireKind(t, db.Superseded, "superseded", err)
	_, err = b.late("", first.Incarnation)
	requireKind(t, db.Superseded, "superseded", err)
	_, err = b.Heartbeat(t.Context(), refOf(second), nil)
	require.NoError(t, err, "none of them was anybody's successor")

	again, err = b.late("boot-2", first.Incarnation)
	require.NoError(t, err, "the retry of a registration whose answer was lost")
	require.Equal(t, second.Incarnation, again.Incarnation)
	b.steady()
	b.silence("a", time.Minute)
	_, err = b.late("boot-2", first.Incarnation)
	requireKind(t, db.Conflict, "instance_taken", err)
	third, err := b.late("boot-2", second.Incarnation)
	require.NoError(t, err, "a lease is past: the same process, another incarnation")
	require.NoError(t, b.Deregister(t.Context(), refOf(third)))
	_, err = b.late("boot-3", never)
	requireKind(t, db.Conflict, "instance_taken", err)
	_, err = b.late("boot-2", second.Incarnation)
	requireKind(t, db.Conflict, "instance_taken", err)
	_, err = b.late("boot-3", third.Incarnation)
	require.NoError(t, err)
	b.requireSound()
}

// Of two registrations in the place of one incarnation, whichever order the database takes them in, one is refused.
func TestTwoRegistrationsForOnePlace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, err := b.late("boot-1", uuid.Nil)
	require.NoError(t, err)
	tx, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT 1 FROM instance_directory FOR UPDATE")
	require.NoError(t, err)
	errs := make(chan error, 2)
	for i, boot := range []string{"boot-2", "boot-3"} {
		go func() {
			_, err := b.late(boot, first.Incarnation)
			errs <- err
		}()
		b.eventuallyBlocked(i + 1)
	}
	require.NoError(t, tx.Rollback(t.Context()))
	one, other := <-errs, <-errs
	if one == nil {
		one, other = other, one
	}
	require.NoError(t, other)
	requireKind(t, db.Superseded, "superseded", one)
	b.requireSound()
}

func TestHeartbeatsOfTheUnknown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Heartbeat(t.Context(), ref("nobody"), nil)
	requireKind(t, db.NotFound, "instance_unknown", err)
	stranger := uuid.New()
	b.register("a", 16)
	_, err = b.Heartbeat(t.Context(), db.InstanceRef{InstanceID: "a", Incarnation: &stranger}, nil)
	requireKind(t, db.Superseded, "superseded", err)
	_, err = b.Heartbeat(t.Context(), db.InstanceRef{InstanceID: "a", Incarnation: &uuid.Nil}, nil)
	requireKind(t, db.Superseded, "superseded", err)
	require.NoError(t, b.Deregister(t.Context(), ref("a")))
	_, err = b.Heartbeat(t.Context(), ref("a"), nil)
	requireKind(t, db.NotFound, "instance_unknown", err)
}

// Past its lease an instance is out at once, before any reaper came by; and then the reaper closes what it had.
func TestExpiredLeaseCountsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := b.register("a", 16)
	p := b.place(wish("ann", 8))
	b.steady()
	b.silence("a", 16*time.Second)

	_, err := b.Place(t.Context(), wish("bob", 8))
	requireKind(t, db.NoCapacity, "no_capacity", err)
	_, err = b.Resolve(t.Context(), p.SessionHandle, "ann")
	requireKind(t, db.Gone, "session_closed", err)
	_, err = b.Session(t.Context(), p.SessionID)
	requireKind(t, db.Gone, "session_closed", err)
	_, err = b.Heartbeat(t.Context(), refOf(in), nil)
	requireKind(t, db.NotFound, "instance_unknown", err)
	_, err = b.ReportSeats(t.Context(), db.SeatReport{Ref: refOf(in), SessionID: p.SessionID, Left: gone("ann")})
	requireKind(t, db.NotFound, "instance_unknown", err)

	ended, sessions, err := b.ReapInstances(t.Context(), "eu", 100)
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{ended, sessions})
	require.Zero(t, one[int64](b, "SELECT count(*) FROM sessions"))
	require.Equal(t, "session lease expired", one[string](b, "SELECT reason FROM seat_history WHERE sub = 'ann'"))
	_, err = b.Resolve(t.Context(), p.SessionHandle, "ann")
	requireKind(t, db.Gone, "session_closed", err)
	b.requireSound()
}

// A session is remembered as closed for a day, then unknown.
func TestClosedSessionsAreForgotten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", 16)
	p := b.place(wish("ann", 8))
	require.NoError(t, b.Deregister(t.Context(), ref("a")))
	b.exec("UPDATE session_history SET closed_at = closed_at - interval '25 hours'")
	_, err := b.Resolve(t.Context(), p.SessionHandle, "ann")
	requireKind(t, db.NotFound, "session_unknown", err)
	_, err = b.Session(t.Context(), p.SessionID)
	requireKind(t, db.NotFound, "session_unknown", err)
}

// An outage of ours must not kill the fleet: while nobody could hear heartbeats, and for a lease after, nothing expires.
func TestAmnesty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", 16)
	p := b.place(wish("ann", 8))
	lives := func() bool {
		_, err := b.Session(t.Context(), p.SessionID)
		_, _, reapErr := b.ReapInstances(t.Context(), "eu", 100)
		require.NoError(t, reapErr)
		return err == nil
	}
	b.silence("a", time.Minute)
	require.True(t, lives(), "a database that just began has heard nobody for a lease yet")

	b.exec("UPDATE fleet_clock SET pulse_at = now() - interval '60 seconds', steady_since = now() - interval '1 hour'")
	require.True(t, lives(), "nobody could hear: the last pulse is a minute old")

	require.NoError(t, b.Pulse(t.Context()))
	require.True(t, lives(), "the outage has just ended: the fleet has a lease's time to be heard")

	b.exec("UPDATE fleet_clock SET steady_since = steady_since - interval '16 seconds'")
	require.False(t, lives(), "it could be heard for a whole lease, and was not")
}

// Pins a fleet that was cut off from us being killed just before its silence was noticed: through two leases of silence,
// with pulses as replicas send them, nobody may expire.
func TestASilentFleetSurvives(t *testing.T) {
	t.Parallel()
	const lease = time.Second
	b := setup(t, func(c *db.Config) { c.Timing.LeaseTTL = lease })
	require.NoError(t, b.Pulse(t.Context())) // says how long a lease is
	for i, id := range []string{"a", "b", "c"} {
		b.register(id, 16)
		b.silence(id, time.Duration(i)*lease/10)
	}
	b.steady()
	require.True(t, one[bool](b, "SELECT lease_horizon() > '-infinity'"), "leases are judged at first")
	tick := time.NewTicker(lease / 20)
	defer tick.Stop()
	for start := time.Now(); time.Since(start) < 2*lease; <-tick.C {
		require.NoError(t, b.Pulse(t.Context()))
		ended, _, err := b.ReapInstances(t.Context(), "eu", 100)
		require.NoError(t, err)
		require.Zero(t, ended)
	}
	_, err := b.Heartbeat(t.Context(), ref("c"), nil)
	require.NoError(t, err, "the first that gets through is welcome")
	require.NoError(t, b.Pulse(t.Context()))
	_, err = b.Heartbeat(t.Context(), ref("a"), nil)
	require.NoError(t, err, "and so are the others, for a lease")
}

// A fleet of three that is silent altogether is cut off, not dead; one server alone that is silent is dead.
func TestASilentFleetIsNoPulse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []string{"a", "b", "c"} {
		b.register(id, 16)
		b.silence(id, 12*time.Second)
	}
	b.exec("UPDATE fleet_clock SET pulse_at = now() - interval '5 seconds', steady_since = now() - interval '1 hour'")
	before := one[time.Time](b, "SELECT pulse_at FROM fleet_clock")
	require.NoError(t, b.Pulse(t.Context()))
	require.Equal(t, before, one[time.Time](b, "SELECT pulse_at FROM fleet_clock"))
	_, err := b.Heartbeat(t.Context(), ref("a"), nil)
	require.NoError(t, err)
	require.NoError(t, b.Pulse(t.Context()))
	require.True(t, before.Before(one[time.Time](b, "SELECT pulse_at FROM fleet_clock")), "one that is heard is enough")
}

// Leases are judged by the database's clock: a pod that is five minutes off changes nothing, and knows it.
func TestPodClockFiveMinutesOff(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *db.Config) { c.PodClock = func() time.Time { return time.Now().Add(5 * time.Minute) } })
	b.register("a", 16)
	b.steady()
	p := b.place(wish("ann", 8))
	r := b.resolve(p, "ann")
	require.WithinDuration(t, time.Now(), r.IssuedAt, 5*time.Second)
	require.NoError(t, b.ReadClock(t.Context()))
	require.WithinDuration(t, time.Now(), b.Now(), 5*time.Second)
	ended, _, err := b.ReapInstances(t.Context(), "eu", 100)
	require.NoError(t, err)
	require.Zero(t, ended)
}

// A session that somebody holds while its instance ends is closed by the reaper a moment later, and counts for nothing
// until then.
func TestStrandedSessionsAreClosed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", 16)
	p := b.place(wish("ann", 8))
	tx, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT 1 FROM sessions FOR UPDATE")
	require.NoError(t, err)
	require.NoError(t, b.Deregister(t.Context(), ref("a")), "it does not wait for the session")
	_, err = b.Session(t.Context(), p.SessionID)
	requireKind(t, db.Gone, "session_closed", err)
	again := b.register("a", 16)
	require.Equal(t, 8, again.Available, "the old session's room is not free yet")
	require.NoError(t, tx.Rollback(t.Context()))
	_, closed, err := b.ReapInstances(t.Context(), "eu", 100)
	require.NoError(t, err)
	require.Equal(t, 1, closed)
	b.requireSound()
	require.NotEmpty(t, b.place(wish("ann", 16)).SessionID)
}

package db_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

func TestSameBootKeepsItsSessions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.AddServer("a", 16)
	p := b.place(request("ann", 8))
	again := b.AddServer("a", 32, func(r *db.Registration) { r.Modes = []string{"race"}; r.Labels = map[string]string{"zone": "b"} })
	require.Equal(t, first.Incarnation, again.Incarnation)
	require.Equal(t, 24, again.Available)
	_, err := b.Session(t.Context(), p.SessionID)
	require.NoError(t, err)
	_, err = b.Place(t.Context(), request("bob", 4))
	requireKind(t, fault.NoCapacity, "mode_unknown", err)
	b.RequireInvariants()
}

// Pins an event for each repetition of a registration, where the reference says that only a new incarnation writes one;
// and labels with which a repetition begins a drain that an operator keeps.
func TestARepeatedRegistrationWritesNoEvent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	events := func() []string {
		return storetest.Values[string](b.DB, "SELECT kind FROM events WHERE instance_id = 'a' ORDER BY tx, id")
	}
	rack := func(r *db.Registration) { r.Labels = map[string]string{"rack": "7"} }
	b.AddServer("a", 16)
	b.AddServer("a", 32)
	require.Equal(t, []string{"instance.registered"}, events())
	b.Exec("SELECT ops.drain_label('rack=7')")
	b.AddServer("a", 32, rack)
	b.AddServer("a", 32, rack)
	require.Equal(t, []string{"instance.registered", "instance.drained"}, events())
	b.AddServer("a", 32, rack, func(r *db.Registration) { r.BootID = "boot-2" })
	require.Equal(t, []string{"instance.registered", "instance.drained", "instance.ended", "instance.registered",
		"instance.drained"}, events())
}

// A new incarnation closes the sessions of the old one, and calls of the old one are refused.
func TestNewIncarnations(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*bundle, *db.Registration){
		"another boot":     func(_ *bundle, r *db.Registration) { r.BootID = "boot-2" },
		"another endpoint": func(_ *bundle, r *db.Registration) { r.Endpoint = "elsewhere:1" },
		"another region":   func(_ *bundle, r *db.Registration) { r.Region = "us" },
		"lease expired":    func(b *bundle, _ *db.Registration) { b.EndAmnesty(); b.ageHeartbeat("a", 16*time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			old := b.AddServer("a", 16)
			p := b.place(request("ann", 8))
			fresh := b.AddServer("a", 16, func(r *db.Registration) { change(b, r) })
			require.NotEqual(t, old.Incarnation, fresh.Incarnation)
			require.Equal(t, 16, fresh.Available)
			_, err := b.Session(t.Context(), p.SessionID)
			requireKind(t, fault.Gone, "session_closed", err)
			_, err = b.Resolve(t.Context(), p.SessionHandle, "ann")
			requireKind(t, fault.Gone, "session_closed", err)

			_, err = b.Heartbeat(t.Context(), refOf(old), nil)
			requireKind(t, fault.Superseded, "superseded", err)
			requireKind(t, fault.Superseded, "superseded", b.Deregister(t.Context(), refOf(old)))
			_, err = b.SetDrain(t.Context(), refOf(old), true)
			requireKind(t, fault.Superseded, "superseded", err)
			_, err = b.ReportSeats(t.Context(),
				db.SeatReport{InstanceRef: refOf(old), SessionID: p.SessionID, LeftPlayers: gone("ann")})
			requireKind(t, fault.Superseded, "superseded", err)
			_, err = b.Heartbeat(t.Context(), refOf(fresh), nil)
			require.NoError(t, err)
			_, err = b.Heartbeat(t.Context(), ref("a"), nil)
			require.NoError(t, err, "a legacy server is identified by its id alone")
			b.RequireInvariants()
		})
	}
}

// A legacy server sends no boot id: when it restarts on the same endpoint, it keeps its incarnation.
func TestLegacyServerKeepsItsIncarnation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	legacy := func(r *db.Registration) { r.BootID = "" }
	first := b.AddServer("a", 16, legacy)
	require.Equal(t, first.Incarnation, b.AddServer("a", 16, legacy).Incarnation)
}

// registerReplacing registers a process that wants to replace an incarnation; uuid.Nil: none.
func (b *bundle) registerReplacing(boot string, replaces uuid.UUID) (db.Registered, error) {
	b.t.Helper()
	return b.Register(b.t.Context(), db.Registration{
		InstanceID: "a", Endpoint: "a:7777", Region: "eu", Modes: []string{"duel"}, Capacity: 16, BootID: boot,
		Replaces: &replaces,
	})
}

// A delayed registration must not supersede a process that has registered meanwhile.
func TestLateRegistrations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	never := uuid.Nil
	first, err := b.registerReplacing("boot-1", never)
	require.NoError(t, err, "the id is new")
	again, err := b.registerReplacing("boot-1", never)
	require.NoError(t, err, "the retry of a registration whose answer was lost")
	require.Equal(t, first.Incarnation, again.Incarnation)

	_, err = b.registerReplacing("boot-2", never)
	requireKind(t, fault.Conflict, "instance_taken", err)
	var taken *fault.Error
	require.ErrorAs(t, err, &taken)
	require.Equal(t, first.Incarnation.String(), taken.Incarnation, "the incarnation that it has to name")
	second, err := b.registerReplacing("boot-2", first.Incarnation)
	require.NoError(t, err)

	_, err = b.registerReplacing("boot-3", never)
	requireKind(t, fault.Conflict, "instance_taken", err)
	_, err = b.registerReplacing("boot-1", first.Incarnation)
	requireKind(t, fault.Superseded, "superseded", err)
	_, err = b.registerReplacing("boot-3", first.Incarnation)
	requireKind(t, fault.Superseded, "superseded", err)
	_, err = b.registerReplacing("", first.Incarnation)
	requireKind(t, fault.Superseded, "superseded", err)
	_, err = b.Heartbeat(t.Context(), refOf(second), nil)
	require.NoError(t, err, "no refused registration has superseded it")

	again, err = b.registerReplacing("boot-2", first.Incarnation)
	require.NoError(t, err, "the retry of a registration whose answer was lost")
	require.Equal(t, second.Incarnation, again.Incarnation)
	b.EndAmnesty()
	b.ageHeartbeat("a", time.Minute)
	_, err = b.registerReplacing("boot-2", first.Incarnation)
	requireKind(t, fault.Conflict, "instance_taken", err)
	third, err := b.registerReplacing("boot-2", second.Incarnation)
	require.NoError(t, err, "after its lease has expired, the same process gets another incarnation")
	require.NoError(t, b.Deregister(t.Context(), refOf(third)))
	_, err = b.registerReplacing("boot-3", never)
	requireKind(t, fault.Conflict, "instance_taken", err)
	_, err = b.registerReplacing("boot-2", second.Incarnation)
	requireKind(t, fault.Conflict, "instance_taken", err)
	_, err = b.registerReplacing("boot-3", third.Incarnation)
	require.NoError(t, err)
	b.RequireInvariants()
}

// Of two registrations that replace one incarnation, the second is refused, in whichever order they get the lock.
func TestTwoRegistrationsReplaceOneIncarnation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, err := b.registerReplacing("boot-1", uuid.Nil)
	require.NoError(t, err)
	tx, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT 1 FROM instance_directory FOR UPDATE")
	require.NoError(t, err)
	errs := make(chan error, 2)
	for i, boot := range []string{"boot-2", "boot-3"} {
		go func() {
			_, err := b.registerReplacing(boot, first.Incarnation)
			errs <- err
		}()
		b.AwaitBlocked(i + 1)
	}
	require.NoError(t, tx.Rollback(t.Context()))
	one, other := <-errs, <-errs
	if one == nil {
		one, other = other, one
	}
	require.NoError(t, other)
	requireKind(t, fault.Superseded, "superseded", one)
	b.RequireInvariants()
}

func TestRefusedHeartbeats(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Heartbeat(t.Context(), ref("unknown"), nil)
	requireKind(t, fault.NotFound, "instance_unknown", err)
	stranger := uuid.New()
	b.AddServer("a", 16)
	_, err = b.Heartbeat(t.Context(), db.InstanceRef{InstanceID: "a", Incarnation: &stranger}, nil)
	requireKind(t, fault.Superseded, "superseded", err)
	_, err = b.Heartbeat(t.Context(), db.InstanceRef{InstanceID: "a", Incarnation: &uuid.Nil}, nil)
	requireKind(t, fault.Superseded, "superseded", err)
	require.NoError(t, b.Deregister(t.Context(), ref("a")))
	_, err = b.Heartbeat(t.Context(), ref("a"), nil)
	requireKind(t, fault.NotFound, "instance_unknown", err)
}

// An instance whose lease has expired gets no players at once, before a reaper has run. The reaper closes its sessions
// later.
func TestAnExpiredLeaseCountsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := b.AddServer("a", 16)
	p := b.place(request("ann", 8))
	b.EndAmnesty()
	b.ageHeartbeat("a", 16*time.Second)

	_, err := b.Place(t.Context(), request("bob", 8))
	requireKind(t, fault.NoCapacity, "no_capacity", err)
	_, err = b.Resolve(t.Context(), p.SessionHandle, "ann")
	requireKind(t, fault.Gone, "session_closed", err)
	_, err = b.Session(t.Context(), p.SessionID)
	requireKind(t, fault.Gone, "session_closed", err)
	_, err = b.Heartbeat(t.Context(), refOf(in), nil)
	requireKind(t, fault.NotFound, "instance_unknown", err)
	_, err = b.ReportSeats(t.Context(), db.SeatReport{InstanceRef: refOf(in), SessionID: p.SessionID,
		LeftPlayers: gone("ann")})
	requireKind(t, fault.NotFound, "instance_unknown", err)

	ended, sessions, err := b.ReapInstances(t.Context(), "eu", 100)
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{ended, sessions})
	require.Zero(t, one[int64](b, "SELECT count(*) FROM sessions"))
	require.Equal(t, "session lease expired", one[string](b, "SELECT reason FROM seat_history WHERE sub = 'ann'"))
	_, err = b.Resolve(t.Context(), p.SessionHandle, "ann")
	requireKind(t, fault.Gone, "session_closed", err)
	b.RequireInvariants()
}

// A closed session is answered as closed for a day, then as unknown.
func TestClosedSessionsBecomeUnknown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16)
	p := b.place(request("ann", 8))
	require.NoError(t, b.Deregister(t.Context(), ref("a")))
	b.Exec("UPDATE session_history SET closed_at = closed_at - interval '25 hours'")
	_, err := b.Resolve(t.Context(), p.SessionHandle, "ann")
	requireKind(t, fault.NotFound, "session_unknown", err)
	_, err = b.Session(t.Context(), p.SessionID)
	requireKind(t, fault.NotFound, "session_unknown", err)
}

// An outage of the director must not end the fleet's sessions: while no replica can receive heartbeats, and for a lease
// after, no lease expires.
func TestAmnesty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16)
	p := b.place(request("ann", 8))
	live := func() bool {
		_, err := b.Session(t.Context(), p.SessionID)
		_, _, reapErr := b.ReapInstances(t.Context(), "eu", 100)
		require.NoError(t, reapErr)
		return err == nil
	}
	b.ageHeartbeat("a", time.Minute)
	require.True(t, live(), "in a new database, heartbeats could not be received for a whole lease yet")

	b.Exec("UPDATE fleet_clock SET pulse_at = now() - interval '60 seconds', steady_since = now() - interval '1 hour'")
	require.True(t, live(), "heartbeats cannot be received: the last pulse is a minute old")

	require.NoError(t, b.Pulse(t.Context()))
	require.True(t, live(), "the outage has just ended: the fleet has a lease to send heartbeats")

	b.Exec("UPDATE fleet_clock SET steady_since = steady_since - interval '16 seconds'")
	require.False(t, live(), "its heartbeats could be received for a whole lease, and none was")
}

// Pins a fleet that is cut off from the director, and expires just before its silence is noticed: during two leases
// without heartbeats, with pulses as replicas send them, no lease may expire.
func TestASilentFleetDoesNotExpire(t *testing.T) {
	t.Parallel()
	const lease = time.Second
	b := setup(t, func(c *db.Config) { c.Timing.LeaseTTL = lease })
	require.NoError(t, b.Pulse(t.Context())) // stores the duration of a lease
	for i, id := range []string{"a", "b", "c"} {
		b.AddServer(id, 16)
		b.ageHeartbeat(id, time.Duration(i)*lease/10)
	}
	b.EndAmnesty()
	require.True(t, one[bool](b, "SELECT lease_horizon() > '-infinity'"), "there is no amnesty at first")
	tick := time.NewTicker(lease / 20)
	defer tick.Stop()
	for start := time.Now(); time.Since(start) < 2*lease; <-tick.C {
		require.NoError(t, b.Pulse(t.Context()))
		ended, _, err := b.ReapInstances(t.Context(), "eu", 100)
		require.NoError(t, err)
		require.Zero(t, ended)
	}
	_, err := b.Heartbeat(t.Context(), ref("c"), nil)
	require.NoError(t, err, "the first heartbeat after the silence is accepted")
	require.NoError(t, b.Pulse(t.Context()))
	_, err = b.Heartbeat(t.Context(), ref("a"), nil)
	require.NoError(t, err, "so are those of the others, for one lease")
}

// When a fleet of three sends no heartbeats, it counts as cut off, not as dead: no pulse is recorded.
func TestASilentFleetGetsNoPulse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []string{"a", "b", "c"} {
		b.AddServer(id, 16)
		b.ageHeartbeat(id, 12*time.Second)
	}
	b.Exec("UPDATE fleet_clock SET pulse_at = now() - interval '5 seconds', steady_since = now() - interval '1 hour'")
	before := one[time.Time](b, "SELECT pulse_at FROM fleet_clock")
	require.NoError(t, b.Pulse(t.Context()))
	require.Equal(t, before, one[time.Time](b, "SELECT pulse_at FROM fleet_clock"))
	_, err := b.Heartbeat(t.Context(), ref("a"), nil)
	require.NoError(t, err)
	require.NoError(t, b.Pulse(t.Context()))
	require.True(t, before.Before(one[time.Time](b, "SELECT pulse_at FROM fleet_clock")), "one heartbeat is enough")
}

// Leases are compared with the database's clock: a pod whose clock is five minutes off expires none, and corrects its
// time.
func TestPodClockFiveMinutesOff(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *db.Config) { c.PodClock = func() time.Time { return time.Now().Add(5 * time.Minute) } })
	b.AddServer("a", 16)
	b.EndAmnesty()
	p := b.place(request("ann", 8))
	r := b.resolve(p, "ann")
	require.WithinDuration(t, time.Now(), r.IssuedAt, 5*time.Second)
	require.NoError(t, b.ReadClock(t.Context()))
	require.WithinDuration(t, time.Now(), b.Now(), 5*time.Second)
	ended, _, err := b.ReapInstances(t.Context(), "eu", 100)
	require.NoError(t, err)
	require.Zero(t, ended)
}

// A session that is locked while its instance ends is closed by the reaper later, and gets no players until then.
func TestStrandedSessionsAreClosed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16)
	p := b.place(request("ann", 8))
	tx, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT 1 FROM sessions FOR UPDATE")
	require.NoError(t, err)
	require.NoError(t, b.Deregister(t.Context(), ref("a")), "it does not wait for the session")
	_, err = b.Session(t.Context(), p.SessionID)
	requireKind(t, fault.Gone, "session_closed", err)
	again := b.AddServer("a", 16)
	require.Equal(t, 8, again.Available, "the seats of the old session are not free yet")
	require.NoError(t, tx.Rollback(t.Context()))
	_, closed, err := b.ReapInstances(t.Context(), "eu", 100)
	require.NoError(t, err)
	require.Equal(t, 1, closed)
	b.RequireInvariants()
	require.NotEmpty(t, b.place(request("ann", 16)).SessionID)
}

package db_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/variant"
)

// valve makes a valve that admits so many players a second.
func (b *bundle) valve(name string, rate float64, set ...func(*db.ValveSettings)) {
	b.t.Helper()
	settings := variant.Apply(db.ValveSettings{Rate: &rate}, set...)
	must.Get(b.As("console:ada").SetValve(b.t.Context(), name, settings))(b.t)
	b.heedValves()
}

// heedValves makes the store read the valves, as it does by itself within two seconds.
func (b *bundle) heedValves() {
	b.t.Helper()
	must.Get(b.LoginLines(b.t.Context()))(b.t)
}

func maxPlayers(n int32) func(*db.ValveSettings) {
	return func(s *db.ValveSettings) { s.MaxPlayers = &n }
}

func noStaff(s *db.ValveSettings) { share := 0.0; s.StaffShare = &share }

// tokens fills the bucket of a valve, and stops its clock.
func (b *bundle) tokens(valve string, players, staff float64) {
	b.t.Helper()
	b.Exec("UPDATE login_queues SET tokens = $2, staff_tokens = $3, refilled_at = clock_timestamp() + interval '1 hour' WHERE valve = $1", valve, players, staff)
}

func (b *bundle) enter(player string) db.Login {
	b.t.Helper()
	return must.Get(b.EnterLoginQueue(b.t.Context(), db.LoginRequest{Player: player}))(b.t)
}

func (b *bundle) enterAll(players ...string) {
	b.t.Helper()
	for _, p := range players {
		b.enter(p)
	}
}

func (b *bundle) admitted() []string {
	b.t.Helper()
	return b.Rows("SELECT player FROM ops.admissions WHERE state = 'admitted' ORDER BY place, player")
}

// requireCounters compares the counters of all lines with their rows.
func (b *bundle) requireCounters() {
	b.t.Helper()
	require.Empty(b.t, b.Rows(`SELECT q.valve, q.waiting, q.waiting_staff, q.players FROM login_queues q WHERE (q.waiting, q.waiting_staff, q.players) <> (
		SELECT count(*) FILTER (WHERE admitted_at IS NULL), count(*) FILTER (WHERE admitted_at IS NULL AND is_staff), count(*) FILTER (WHERE admitted_at IS NOT NULL)
		FROM admissions a WHERE a.valve = q.valve)`))
}

func TestALineIsAdmittedInItsOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.valve("launch", 10, noStaff)
	b.tokens("launch", 0, 0)
	b.enterAll("e", "d", "c", "b", "a")
	require.NoError(t, b.MarkLine(t.Context(), "launch"))
	b.heedValves()
	require.Equal(t, 3, b.enter("c").WaitingPlace.Position)
	b.tokens("launch", 2.9, 0)
	require.NoError(t, b.AdmitWaiting(t.Context(), "launch"))
	require.Equal(t, []string{"e", "d"}, b.admitted())
	b.heedValves()
	require.Nil(t, b.enter("e").WaitingPlace)
	require.Equal(t, 1, b.enter("c").WaitingPlace.Position)
	require.Equal(t, 3, b.enter("a").WaitingPlace.Position)
	require.Equal(t, 3, b.enter("a").WaitingPlace.Waiting)
	b.requireCounters()
}

// Pins a bucket that is refilled by the time of a replica, or holds more than a second's admissions.
func TestABucketIsRefilledByTheDatabase(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *db.Config) { c.PodClock = func() time.Time { return time.Now().Add(time.Hour) } })
	b.valve("launch", 4, noStaff)
	b.tokens("launch", 0, 0)
	for i := range 20 {
		b.enter(fmt.Sprint("p", i))
	}
	require.Empty(t, b.admitted(), "its clock stands still")
	b.Exec("UPDATE login_queues SET refilled_at = clock_timestamp() - interval '1 day'")
	require.NoError(t, b.AdmitWaiting(t.Context(), "launch"))
	require.Len(t, b.admitted(), 4)
	b.requireCounters()
}

func TestPlayersAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.valve("launch", 1000, maxPlayers(2), noStaff)
	b.tokens("launch", 1000, 0)
	b.enterAll("a", "b", "c")
	require.Equal(t, []string{"a", "b"}, b.admitted())
	left, err := b.LeaveLoginQueue(t.Context(), db.LoginRequest{Player: "a"})
	require.NoError(t, err)
	require.True(t, left)
	left, err = b.LeaveLoginQueue(t.Context(), db.LoginRequest{Player: "a"})
	require.NoError(t, err)
	require.False(t, left)
	require.NoError(t, b.AdmitWaiting(t.Context(), "launch"))
	require.Equal(t, []string{"b", "c"}, b.admitted())
	b.requireCounters()
}

func TestStaffHasAShare(t *testing.T) {
	t.Parallel()
	b := setup(t)
	half := 0.5
	b.valve("launch", 10, maxPlayers(4), func(s *db.ValveSettings) { s.StaffShare = &half })
	b.tokens("launch", 10, 1)
	b.enterAll("a", "b", "c")
	staff := func(player string) {
		_, err := b.EnterLoginQueue(t.Context(), db.LoginRequest{Player: player, IsStaff: true})
		require.NoError(t, err)
	}
	require.Equal(t, []string{"a", "b"}, b.admitted(), "half of the room is for staff")
	staff("s1")
	staff("s2")
	require.Equal(t, []string{"a", "b", "s1"}, b.admitted(), "its bucket had one token")
	b.tokens("launch", 10, 5)
	require.NoError(t, b.AdmitWaiting(t.Context(), "launch"))
	require.Equal(t, []string{"a", "b", "s1", "s2"}, b.admitted())
	b.requireCounters()
}

func TestALineIsFull(t *testing.T) {
	t.Parallel()
	b := setup(t)
	two := int32(2)
	b.valve("launch", 1, noStaff, func(s *db.ValveSettings) { s.MaxWaiting = &two })
	b.tokens("launch", 0, 0)
	b.enterAll("a", "b")
	_, err := b.EnterLoginQueue(t.Context(), db.LoginRequest{Player: "c"})
	requireKind(t, fault.TooMany, "login_queue_full", err)
	require.Equal(t, 2, b.enter("b").WaitingPlace.Waiting, "a place is kept")
	changed, err := b.As("").OpenValve(t.Context(), "launch")
	require.NoError(t, err)
	require.True(t, changed)
	require.Nil(t, b.enter("c").WaitingPlace, "the copy of the replica is old: it looks again before it refuses")
	b.requireCounters()
}

// Pins places that a crowd gets twice or out of order, at several replicas at a time.
func TestManyReplicasGiveOutPlaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.valve("launch", 50, noStaff)
	b.tokens("launch", 0, 0)
	replicas := []*db.Store{b.Store, b.Replica(), b.Replica()}
	var entering sync.WaitGroup
	for i := range 300 {
		entering.Go(func() {
			_, err := replicas[i%3].EnterLoginQueue(t.Context(), db.LoginRequest{Player: fmt.Sprint("p", i%100)})
			require.NoError(t, err)
		})
		if i%50 == 0 {
			entering.Go(func() { require.NoError(t, replicas[i%3].AdmitWaiting(t.Context(), "launch")) })
		}
	}
	entering.Wait()
	require.Equal(t, []string{"100|100|1|100"},
		b.Rows("SELECT count(*), count(DISTINCT place), min(place), max(place) FROM admissions"))
	b.tokens("launch", 50, 0)
	for _, r := range replicas {
		entering.Go(func() { require.NoError(t, r.AdmitWaiting(t.Context(), "launch")) })
	}
	entering.Wait()
	require.Equal(t, []string{"50|50"}, b.Rows("SELECT count(*), max(place) FROM admissions WHERE admitted_at IS NOT NULL"))
	b.requireCounters()
}

func TestPlayersWhoAreAwayLoseTheirPlaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.valve("launch", 10, noStaff)
	b.tokens("launch", 2, 0)
	b.enterAll("in", "seated", "away", "back")
	require.Equal(t, "t", b.Rows("SELECT min(expires_at) > clock_timestamp() + interval '7 minutes' FROM admissions")[0])
	b.Exec("UPDATE admissions SET expires_at = clock_timestamp() + interval '290 seconds' WHERE sub = 'back'")
	b.enter("back")
	require.Equal(t, "t", b.Rows("SELECT expires_at > clock_timestamp() + interval '7 minutes' FROM admissions WHERE sub = 'back'")[0])
	b.Exec("UPDATE admissions SET expires_at = clock_timestamp() - interval '1 second' WHERE sub <> 'back'")
	b.Exec("INSERT INTO ticket_players (region, sub, profile, ticket_id, request_hash) VALUES ('global', 'seated', '', 't', '')")
	b.Exec("INSERT INTO settled_tickets (region, id) VALUES ('global', 't')")
	n, err := b.PruneLine(t.Context(), "launch", 100)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, []string{"back", "seated"}, b.Rows("SELECT sub FROM admissions ORDER BY 1"))
	require.Equal(t, "t", b.Rows("SELECT expires_at > clock_timestamp() + interval '4 minutes' FROM admissions WHERE sub = 'seated'")[0])
	_, err = b.RenewLogin(t.Context(), db.LoginRequest{Player: "away"})
	requireKind(t, fault.NotFound, "not_in_login_queue", err)
	b.requireCounters()
}

// Pins a player who comes back from a match within five minutes and has to wait.
func TestAReturningPlayerIsIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.valve("launch", 10, noStaff)
	b.tokens("launch", 2, 0)
	b.enterAll("soon", "late")
	b.Exec("UPDATE admissions SET expires_at = clock_timestamp() - interval '1 second'")
	for sub, ago := range map[string]string{"soon": "4 minutes", "late": "6 minutes"} {
		b.Exec(`INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, left_at, reason)
			VALUES ('eu', gen_random_uuid(), $1, 'm', gen_random_uuid(), $1, now(), clock_timestamp() - $2::interval, 'left')`, sub, ago)
	}
	_, err := b.PruneLine(t.Context(), "launch", 100)
	require.NoError(t, err)
	require.Equal(t, []string{"soon"}, b.admitted())
	require.Equal(t, "t", b.Rows("SELECT expires_at BETWEEN clock_timestamp() + interval '50 seconds' AND clock_timestamp() + interval '61 seconds' FROM admissions")[0])
	b.requireCounters()
}

func TestAValveCountsThoseWhoAreIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for sub, ago := range map[string]string{"playing": "0 minutes", "gone": "10 minutes"} {
		b.Exec(`INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, left_at, reason)
			VALUES ('eu', gen_random_uuid(), $1, 'm', gen_random_uuid(), $1, now(), clock_timestamp() - $2::interval, 'left')`, sub, ago)
	}
	b.valve("launch", 10, maxPlayers(1), noStaff)
	require.Equal(t, []string{"playing"}, b.admitted())
	b.tokens("launch", 10, 0)
	require.Nil(t, b.enter("playing").WaitingPlace)
	require.NotNil(t, b.enter("new").WaitingPlace)
	b.requireCounters()
}

// A valve of a build learns who is in when they ask.
func TestAPlayerOfABuildComesBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	build := "1.0"
	b.valve("old", 10, noStaff, func(s *db.ValveSettings) { s.Build = &build })
	b.tokens("old", 0, 0)
	b.Exec("INSERT INTO ticket_players (region, sub, profile, ticket_id, request_hash) VALUES ('global', 'in', '', 't', '')")
	b.Exec("INSERT INTO settled_tickets (region, id) VALUES ('global', 't')")
	for player, isIn := range map[string]bool{"in": true, "new": false} {
		l, err := b.EnterLoginQueue(t.Context(), db.LoginRequest{Player: player, Build: build})
		require.NoError(t, err)
		require.Equal(t, isIn, l.WaitingPlace == nil, player)
	}
	b.requireCounters()
}

func TestWhichValveDecides(t *testing.T) {
	t.Parallel()
	b := setup(t)
	name := func(region, build string) string {
		line, err := b.DecidingLine(t.Context(), region, build)
		require.NoError(t, err)
		if line == nil {
			return ""
		}
		return line.Valve()
	}
	require.Empty(t, name("eu", "1.0"))
	of := func(region, build string) func(*db.ValveSettings) {
		return func(s *db.ValveSettings) { s.Region, s.Build = &region, &build }
	}
	b.valve("of-eu", 1, of("eu", ""))
	require.Equal(t, "of-eu", name("eu", "1.0"))
	require.Empty(t, name("us", "1.0"))
	b.valve("of-build", 1, of("", "1.0"))
	require.Equal(t, "of-build", name("eu", "1.0"))
	b.valve("of-both", 1, of("eu", "1.0"))
	b.valve("of-all", 1)
	require.Equal(t, "of-both", name("eu", "1.0"))
	require.Equal(t, "of-eu", name("eu", "2.0"))
	require.Equal(t, "of-build", name("us", "1.0"))
	require.Equal(t, "of-all", name("us", ""))
	_, err := b.As("").OpenValve(t.Context(), "of-both")
	require.NoError(t, err)
	b.heedValves()
	require.Empty(t, name("eu", "1.0"), "an open valve decides as well")
}

func TestOperatorsSetValves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, ctx := b.As("console:ada").Because("launch day"), t.Context()
	rate, none, many, half, wrong := 5.0, int32(0), int32(-1), 0.6, "EU"
	for _, set := range []db.ValveSettings{{}, {Rate: new(float64)}, {Rate: &rate, MaxPlayers: &many},
		{Rate: &rate, StaffShare: &half}, {Rate: &rate, Region: &wrong}, {Rate: &rate, MaxWaiting: &none}} {
		_, err := ada.SetValve(ctx, "launch", set)
		requireKind(t, fault.Invalid, "invalid", err)
	}
	change := func(want bool) func(changed bool, err error) {
		return func(changed bool, err error) {
			t.Helper()
			require.NoError(t, err)
			require.Equal(t, want, changed)
		}
	}
	change(true)(ada.SetValve(ctx, "launch", db.ValveSettings{Rate: &rate}))
	change(false)(ada.SetValve(ctx, "launch", db.ValveSettings{}))
	_, err := ada.SetValve(ctx, "other", db.ValveSettings{Rate: &rate})
	requireKind(t, fault.Conflict, "conflict", err)
	change(true)(ada.CloseValve(ctx, "launch"))
	change(false)(ada.CloseValve(ctx, "launch"))
	change(true)(ada.OpenValve(ctx, "launch"))
	change(false)(ada.AdmitPlayer(ctx, "launch", "vip"))
	change(true)(ada.SetValve(ctx, "launch", db.ValveSettings{}))
	b.tokens("launch", 0, 0)
	b.heedValves()
	require.NotNil(t, b.enter("vip").WaitingPlace)
	change(true)(ada.AdmitPlayer(ctx, "launch", "vip"))
	change(false)(ada.AdmitPlayer(ctx, "launch", "vip"))
	require.Nil(t, b.enter("vip").WaitingPlace)
	b.requireCounters()
	_, err = b.As("").AdmitPlayer(ctx, "launch", "x")
	requireKind(t, fault.Invalid, "invalid", err)
	_, err = ada.OpenValve(ctx, "none")
	requireKind(t, fault.NotFound, "not_found", err)
	change(true)(ada.DeleteValve(ctx, "launch"))
	require.Empty(t, b.Rows("SELECT sub FROM admissions"))
	require.Equal(t, []string{"valve.set", "valve.closed", "valve.opened", "valve.set", "valve.player_admitted",
		"valve.deleted"},
		b.Rows("SELECT kind FROM events WHERE actor = 'console:ada' AND detail ->> 'reason' = 'launch day' AND detail ->> 'valve' = 'launch' ORDER BY tx, id"))
}

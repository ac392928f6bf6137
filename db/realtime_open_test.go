package db_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
)

func TestANewSessionHasItsOwnID(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	ann, bob := n.open(n.client("ann")), n.open(n.client("bob", func(o *db.RealtimeRequest) { o.PlayerSub = "bob" }))
	require.Regexp(t, "^s-[0-9a-f]{16}$", ann.SessionID)
	require.NotEqual(t, ann.SessionID, bob.SessionID)
	require.Equal(t, db.OpenedRealtime{SessionID: ann.SessionID, OwnerEpoch: 1, PlayerSub: ann.SessionID}, ann,
		"without a sub the player is the session")
	require.Equal(t, db.OpenedRealtime{SessionID: bob.SessionID, OwnerEpoch: 1, PlayerSub: "bob"}, bob)
	require.Equal(t, "1 live", n.row(ann.SessionID))
}

// Pins a session that its client lost with the process that had made it.
func TestASessionIsResumedThroughAnotherStore(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	first := n.open(n.client("ann"))
	n.suspend(true, first)
	require.Equal(t, "1 suspended", n.row(first.SessionID))
	other := n.Replica()
	second, err := other.OpenRealtime(t.Context(), n.client("ann", resuming(first), at(n.beginReplica(other))))
	require.NoError(t, err)
	require.Equal(t, db.OpenedRealtime{SessionID: first.SessionID, OwnerEpoch: 2, PlayerSub: first.SessionID,
		IsResumed: true}, second)
	require.Equal(t, "2 live", n.row(first.SessionID))
}

// Pins two bugs: whoever knew the public id of a session got it, and a player with a renewed token lost it.
func TestASessionIsBoundToItsTokenOrPlayer(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	ann := func(o *db.RealtimeRequest) { o.PlayerSub = "ann" }
	named, unnamed := n.open(n.client("t1", ann)), n.open(n.client("t2"))
	anonymous := n.open(n.client("", func(o *db.RealtimeRequest) { o.IsAuthenticated, o.KeyID, o.TokenDigest = false, "", nil }))
	for _, c := range []struct {
		name    string
		resume  db.OpenedRealtime
		change  func(*db.RealtimeRequest)
		resumed bool
	}{
		{"identical token", unnamed, func(o *db.RealtimeRequest) { o.TokenDigest = digest("t2") }, true},
		{"another token of the same player", named, func(o *db.RealtimeRequest) { o.PlayerSub = "ann" }, true},
		{"another player's token", named, func(o *db.RealtimeRequest) { o.PlayerSub = "bob" }, false},
		{"a token without a player", named, func(*db.RealtimeRequest) {}, false},
		{"another token", unnamed, func(*db.RealtimeRequest) {}, false},
		{"a player whose name is the id of a session", unnamed,
			func(o *db.RealtimeRequest) { o.PlayerSub = unnamed.SessionID }, false},
		{"no token", unnamed, func(o *db.RealtimeRequest) { o.IsAuthenticated, o.KeyID, o.TokenDigest = false, "", nil },
			false},
		{"a token for an anonymous session", anonymous, func(*db.RealtimeRequest) {}, false},
		{"an anonymous client", anonymous,
			func(o *db.RealtimeRequest) { o.IsAuthenticated, o.KeyID, o.TokenDigest = false, "", nil }, true},
		{"the same player in another project", named,
			func(o *db.RealtimeRequest) { o.ProjectID, o.PlayerSub = "p2", "ann" }, false},
		{"another token of the same key", unnamed, func(o *db.RealtimeRequest) { o.ResumeByKey = true }, true},
		{"a token of the same key id in another project", unnamed,
			func(o *db.RealtimeRequest) { o.ProjectID, o.ResumeByKey = "p2", true }, false},
		{"an id that never was", db.OpenedRealtime{SessionID: "s-0000000000000000"}, func(*db.RealtimeRequest) {}, false},
		{"an id that cannot be", db.OpenedRealtime{SessionID: "s-\x00"}, func(*db.RealtimeRequest) {}, false},
	} {
		opened := n.open(n.client(c.name, resuming(c.resume), c.change))
		require.Equal(t, c.resumed, opened.IsResumed, c.name)
		require.Equal(t, c.resumed, opened.SessionID == c.resume.SessionID, c.name)
		if !c.resumed {
			require.Equal(t, c.resume.SessionID, opened.PreviousSession, c.name)
		}
	}
}

func TestATokenIsJudgedByTheClockOfTheDatabase(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t, func(c *db.Config) { c.PodClock = func() time.Time { return time.Unix(0, 0) } })
	now := one[time.Time](n.bundle, "SELECT clock_timestamp()")
	expired := func(ago time.Duration) func(*db.RealtimeRequest) {
		return func(o *db.RealtimeRequest) { o.TokenExpires = now.Add(-ago) }
	}
	refused := func(o db.RealtimeRequest) {
		t.Helper()
		_, err := n.OpenRealtime(t.Context(), o)
		requireKind(t, fault.Forbidden, "token_expired", err)
	}
	first := n.open(n.client("ann", expired(-time.Hour)))
	n.open(n.client("leeway", expired(0)))
	refused(n.client("bob", expired(6*time.Second)))
	require.True(t, n.open(n.client("ann", resuming(first), expired(23*time.Hour))).IsResumed)
	refused(n.client("ann", resuming(first), expired(25*time.Hour)))
	refused(n.client("bob", resuming(first), expired(time.Hour)))

	named := n.open(n.client("cid", func(o *db.RealtimeRequest) { o.PlayerSub = "cid" }))
	refused(n.client("other", resuming(named), expired(time.Hour), func(o *db.RealtimeRequest) { o.PlayerSub = "cid" }))
	n.suspend(true, named)
	n.steady(n.replica)
	n.age(named, time.Minute)
	refused(n.client("cid", resuming(named), expired(time.Hour)))
}

func TestAKeyOpensSessionsUntilItRetires(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	n.key("p1", "narrow", "token:read")
	n.key("p1", "graceful", "token:mint")
	n.key("p1", "revoked", "token:mint")
	first := n.open(n.client("ann", func(o *db.RealtimeRequest) { o.KeyID = "revoked" }))
	n.Exec("UPDATE project_keys SET revoked_at = now(), retires_at = now() WHERE id = 'revoked'")
	n.Exec("UPDATE project_keys SET revoked_at = now(), retires_at = now() + interval '1 minute' WHERE id = 'graceful'")
	for key, code := range map[string]string{"": "key_required", "narrow": "key_scope", "nobody": "key_unknown",
		"revoked": "key_revoked", "graceful": "", "k1": ""} {
		_, err := n.OpenRealtime(t.Context(), n.client("bob", func(o *db.RealtimeRequest) { o.KeyID = key }))
		if code == "" {
			require.NoError(t, err, key)
			continue
		}
		requireKind(t, fault.Forbidden, code, err)
	}
	_, err := n.OpenRealtime(t.Context(),
		n.client("ann", resuming(first), func(o *db.RealtimeRequest) { o.KeyID = "revoked" }))
	requireKind(t, fault.Forbidden, "key_revoked", err)
	n.open(n.client("bob", func(o *db.RealtimeRequest) { o.KeyID, o.KeyRequired = "", false }))
}

// Pins a leaked key with which somebody opens sessions until the database is full. Those that are opened at the same
// time count as well, and a session that is resumed is none more.
func TestTheSessionsOfAKeyAreBounded(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t, func(c *db.Config) { c.MaxSessionsOfKey = 5 })
	n.key("p1", "other", "token:mint")
	first := n.open(n.client("ann"))
	var opening sync.WaitGroup
	var opened, refused atomic.Int32
	for i := range 20 {
		opening.Go(func() {
			_, err := n.OpenRealtime(t.Context(), n.client(fmt.Sprint("client", i)))
			if err == nil {
				opened.Add(1)
				return
			}
			requireKind(t, fault.TooMany, "too_many_sessions", err)
			refused.Add(1)
		})
	}
	opening.Wait()
	require.Equal(t, [2]int32{4, 16}, [2]int32{opened.Load(), refused.Load()})
	n.suspend(true, first)
	_, err := n.OpenRealtime(t.Context(), n.client("late"))
	requireKind(t, fault.TooMany, "too_many_sessions", err)
	require.True(t, n.open(n.client("ann", resuming(first))).IsResumed)
	n.open(n.client("bob", func(o *db.RealtimeRequest) { o.KeyID = "other" }))
	n.open(n.client("cid", func(o *db.RealtimeRequest) { o.ProjectID = "p2" }))
}

// Pins two tabs with one session that fight for it for ever.
func TestTakeoversOfALiveSessionAreBounded(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	last := n.open(n.client("ann"))
	for range 10 {
		next := n.open(n.client("ann", resuming(last)))
		require.True(t, next.TookOver)
		require.Equal(t, last.OwnerEpoch+1, next.OwnerEpoch)
		last = next
	}
	_, err := n.OpenRealtime(t.Context(), n.client("ann", resuming(last)))
	requireKind(t, fault.TooMany, "takeovers", err)
	require.Equal(t, "11 live", n.row(last.SessionID), "its owner keeps it")
	n.suspend(true, last)
	last = n.open(n.client("ann", resuming(last)))
	require.False(t, last.TookOver, "nobody held it")
	n.Exec("UPDATE realtime_sessions SET takeovers_since = takeovers_since - interval '10 seconds'")
	require.True(t, n.open(n.client("ann", resuming(last))).TookOver)
	require.Equal(t, 1, one[int](n.bundle, "SELECT takeovers FROM realtime_sessions"))
}

func TestASessionIsNotResumedPastItsTTL(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	n.steady(n.replica)
	first := n.open(n.client("ann"))
	n.suspend(true, first)
	n.age(first, 29*time.Second)
	first = n.open(n.client("ann", resuming(first)))
	require.True(t, first.IsResumed)
	n.suspend(true, first)
	n.age(first, 31*time.Second)
	second := n.open(n.client("ann", resuming(first)))
	require.False(t, second.IsResumed, "although no worker has ended it")
	require.Equal(t, first.SessionID, second.PreviousSession)
	require.Equal(t, "2 suspended", n.row(first.SessionID))
}

// Pins takeovers that opened a new session instead, as soon as a replica had been live for the TTL: a session with an
// owner does not expire.
func TestALiveSessionIsTakenOver(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	n.steady(n.replica)
	first := n.open(n.client("ann"))
	second := n.open(n.client("ann", resuming(first)))
	require.True(t, second.IsResumed)
	require.True(t, second.TookOver)
	require.Equal(t, first.SessionID, second.SessionID)
}

// Pins sessions that ended while Postgres, or every replica, was away.
func TestAfterAnOutageASessionHasItsWholeTTL(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	n.steady(n.replica)
	first := n.open(n.client("ann"))
	n.suspend(true, first)
	n.age(first, time.Hour)
	resumable := func(why string) {
		t.Helper()
		o := n.open(n.client("ann", resuming(first)))
		require.True(t, o.IsResumed, why)
		n.suspend(true, o)
		n.age(o, time.Hour)
		require.Zero(t, n.endExpired(), why)
		first = o
	}
	n.silent(n.replica)
	resumable("no replica has renewed its lease yet")
	require.NoError(t, n.RenewRealtimeReplica(t.Context(), lobbyRegion, n.replica))
	resumable("the late renewal has just made the replica live again")
	n.Exec("UPDATE replicas SET steady_since = clock_timestamp() - interval '29 seconds'")
	resumable("clients could come back for 29 seconds")

	dead := n.beginReplica(n.Store)
	n.Exec("UPDATE replicas SET steady_since = '-infinity', seen_at = clock_timestamp() - interval '10 seconds' WHERE id = $1", dead)
	resumable("a replica that died in the outage is no evidence that clients could come back")
	n.Exec("UPDATE replicas SET steady_since = '-infinity', seen_at = pg_postmaster_start_time() WHERE id = $1", dead)
	resumable("nor is a renewal before Postgres started")
	n.Exec("UPDATE replicas SET steady_since = clock_timestamp() - interval '31 seconds' WHERE id = $1", n.replica)
	require.False(t, n.open(n.client("ann", resuming(first))).IsResumed)
	require.Equal(t, 1, n.endExpired())
}

func (n *nexis) endExpired() int {
	n.t.Helper()
	return must.Get(n.EndExpiredRealtime(n.t.Context(), lobbyRegion))(n.t)
}

func TestAnEndedReplicaOpensNoSessions(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	require.NoError(t, n.EndRealtimeReplica(t.Context(), lobbyRegion, n.replica))
	for _, replica := range []uuid.UUID{n.replica, uuid.New()} {
		_, err := n.OpenRealtime(t.Context(), n.client("ann", at(replica)))
		requireKind(t, fault.Unavailable, "unavailable", err)
	}
	require.Zero(t, one[int](n.bundle, "SELECT count(*) FROM realtime_sessions"))
}

func TestTextThatCannotBeStoredIsInvalid(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	for _, change := range []func(*db.RealtimeRequest){
		func(o *db.RealtimeRequest) { o.ProjectID = "" }, func(o *db.RealtimeRequest) { o.ProjectID = "p\x00" },
		func(o *db.RealtimeRequest) { o.PlayerSub = "\xff" },
		func(o *db.RealtimeRequest) { o.KeyID = "\x00" },
	} {
		_, err := n.OpenRealtime(t.Context(), n.client("ann", change))
		requireKind(t, fault.Invalid, "invalid", err)
	}
}

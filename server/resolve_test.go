package server_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/token"
)

// A game server can verify the session token with the published keys, and its claims are those of the contract.
func TestASessionToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a")
	before := b.store.Count("SELECT floor(extract(epoch FROM now()))::int")
	session, resolved := b.seat("alice")
	raw := resolved["session_token"].(string)
	require.Equal(t, fields{"endpoint": "a.example:7777", "session_token": raw, "session_id": session["session_id"]}, resolved)

	source, err := token.NewKeySource("http://"+b.server.Addr().String()+"/.well-known/jwks.json", token.SourceOptions{Client: b.client})
	require.NoError(t, err)
	claims, err := token.NewSessionVerifier(source, 0).Verify(t.Context(), raw, time.Now())
	require.NoError(t, err)
	require.Equal(t, token.SessionClaims{
		Subject: "alice", SessionID: session["session_id"].(string), Handle: session["session_handle"].(string), Endpoint: "a.example:7777",
		Region: "eu", ID: claims.ID, IssuedAt: claims.IssuedAt, Expires: claims.IssuedAt.Add(2 * time.Minute),
		Mode: "duel", MaxPlayers: 8, Party: claims.Party,
	}, claims)
	require.GreaterOrEqual(t, len(claims.ID), 22, "128 random bits, so that no jti repeats")
	require.LessOrEqual(t, int64(before), claims.IssuedAt.Unix())
	all := claimsOf(t, raw)
	require.Equal(t, "lattice-director", all["iss"])
	require.Equal(t, "lattice-gameserver", all["aud"])
	require.NotContains(t, b.log.String(), raw)
	require.NotContains(t, b.log.String(), claims.Handle)
}

// The token of a seat that a match gave has the match and the team, and no other token has.
func TestATokenNamesTheMatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a")
	_, resolved := b.seat("alice")
	require.NotContains(t, claimsOf(t, resolved["session_token"].(string)), "mid")
	b.store.Exec("UPDATE seats SET match_id = '0190a1b2-0000-7000-8000-000000000001', team = 'red'")
	_, resolved = b.seat("alice")
	claims := claimsOf(t, resolved["session_token"].(string))
	require.Equal(t, "0190a1b2-0000-7000-8000-000000000001", claims["mid"])
	require.Equal(t, "red", claims["team"])
}

// The errors of resolve: an unknown session, a session without a seat of the caller, a closed session.
func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.register("a")
	session, _ := b.seat("alice")
	handle := session["session_handle"].(string)
	for _, unknown := range []string{
		"", ".", "eu", "eu.", "nonsense", "EU." + strings.TrimPrefix(handle, "eu."), "us." + strings.TrimPrefix(handle, "eu."),
		handle[:len(handle)-1], handle + "A", handle + "\n", strings.Repeat("x", 5000), session["session_id"].(string), "eu.AAAAAAAAAAAAAAAAAAAAAAAA",
	} {
		b.resolve("alice", unknown).problem(http.StatusNotFound, "session_unknown")
	}
	b.resolve("bob", handle).problem(http.StatusForbidden, "no_seat")

	b.fleet("seats", me.with("session_id", session["session_id"]).with("ended", true)).ok(http.StatusOK)
	for _, sub := range []string{"alice", "bob"} {
		b.resolve(sub, handle).problem(http.StatusGone, "session_closed")
	}
	b.store.Exec("UPDATE session_history SET closed_at = closed_at - interval '25 hours'")
	b.resolve("alice", handle).problem(http.StatusNotFound, "session_unknown")
	b.session("alice", session["session_id"].(string)).problem(http.StatusNotFound, "session_unknown")
}

// A session ends with the lease of its instance, even before a worker closes it.
func TestASessionPastItsLease(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a")
	session, _ := b.seat("alice")
	b.store.AgeHeartbeats("a", time.Minute)
	b.resolve("alice", session["session_handle"]).problem(http.StatusGone, "session_closed")
	b.resolve("bob", session["session_handle"]).problem(http.StatusGone, "session_closed")
	b.session("alice", session["session_id"].(string)).problem(http.StatusGone, "session_closed")
	b.register("b")
	require.NotEqual(t, session["session_id"], b.matchmake("alice", duel).ok(http.StatusOK)["session_id"])
}

// Session ids that do not parse are answered 404.
func TestMalformedSessionIDs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a")
	session, _ := b.seat("alice")
	id := session["session_id"].(string)
	for _, unknown := range []string{
		"x", ".", "eu.", "eu.7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10", "us." + strings.TrimPrefix(id, "eu."), strings.ToUpper(id), id + "0",
		"eu.{" + strings.TrimPrefix(id, "eu."), "' OR 1=1", strings.Repeat("9", 5000), "%", session["session_handle"].(string),
	} {
		b.session("alice", url.PathEscape(unknown)).problem(http.StatusNotFound, "session_unknown")
	}
	for _, strange := range []string{"eu.\x00", "\xff\xfe"} { // no path has such a text
		b.session("alice", url.PathEscape(strange)).problem(http.StatusNotFound, "route_not_found")
	}
}

// resolve extends the reservation of the seat; otherwise it would be freed while the player loads the map.
func TestResolveExtendsTheReservation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a")
	b.matchmake("alice", duel).ok(http.StatusOK)
	const beyond = "SELECT count(*) FROM seats WHERE expires_at > now() + interval '100 seconds'"
	require.Equal(t, 0, b.store.Count(beyond))
	b.seat("alice")
	require.Equal(t, 1, b.store.Count(beyond))
}

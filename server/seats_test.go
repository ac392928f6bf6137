package server_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func joined(pairs ...string) []fields {
	var list []fields
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, fields{"sub": pairs[i], "jti": pairs[i+1]})
	}
	return list
}

// results formats the results of a report as "sub result status".
func results(f fields) (list []string) {
	for _, r := range f["results"].([]any) {
		entry := r.(map[string]any)
		list = append(list, fmt.Sprint(entry["sub"], " ", entry["result"], " ", entry["status"]))
	}
	return list
}

// Each entry of a seat report has its own result, in the order of the request.
func TestEachEntryOfASeatReportHasItsResult(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.register("a")
	session, _ := b.seat("alice")
	b.seat("bob")
	b.seat("carol")
	report := me.with("session_id", session["session_id"])

	res := b.fleet("seats", report.with("joined", joined("alice", "j1", "stranger", "j2", "bob", "j1")).with("left", []string{"carol", "nobody"})).ok(http.StatusOK)
	require.Equal(t, []string{"alice ok 200", "stranger unknown 404", "bob replay 409", "carol ok 200", "nobody unknown 404"}, results(res))
	delete(res, "results")
	require.Equal(t, fields{"session_id": session["session_id"], "joined": 1.0, "left": 1.0, "player_count": 2.0, "closed": false}, res)

	again := b.fleet("seats", report.with("joined", joined("alice", "j1"))).ok(http.StatusOK)
	require.Equal(t, []string{"alice ok 200"}, results(again), "a retry whose answer was lost")
	require.EqualValues(t, 2, again["player_count"])

	b.fleet("seats", report.with("left", []string{"alice"})).ok(http.StatusOK)
	used := b.fleet("seats", report.with("joined", joined("alice", "j1"))).ok(http.StatusOK)
	require.Equal(t, []string{"alice replay 409"}, results(used), "the token was used before")
	back := b.fleet("seats", report.with("joined", joined("alice", "j9"))).ok(http.StatusOK)
	require.Equal(t, []string{"alice ok 200"}, results(back), "the session still has a free seat")
}

// Every token that has not expired can be redeemed, not only the newest.
func TestAnOlderTokenIsAccepted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.register("a")
	session, first := b.seat("alice")
	second := b.resolve("alice", session["session_handle"]).ok(http.StatusOK)
	one, two := claimsOf(t, first["session_token"].(string))["jti"], claimsOf(t, second["session_token"].(string))["jti"]
	require.NotEqual(t, one, two)
	for _, jti := range []any{one, two} {
		res := b.fleet("seats", me.with("session_id", session["session_id"]).with("joined", []fields{{"sub": "alice", "jti": jti}})).ok(http.StatusOK)
		require.Equal(t, []string{"alice ok 200"}, results(res))
	}
}

// A player whose seat was freed gets seat_gone if the session is full, and another seat if it is not.
func TestASeatThatWasFreed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.register("a")
	for _, row := range []struct {
		players int
		want    string
	}{{2, "alice seat_gone 410"}, {3, "alice ok 200"}} {
		pair := duel.with("max_players", row.players)
		session := b.matchmake("alice", pair).ok(http.StatusOK)
		b.matchmake("bob", pair).ok(http.StatusOK)
		report := me.with("session_id", session["session_id"])
		b.fleet("seats", report.with("left", []string{"alice"})).ok(http.StatusOK)
		b.matchmake("carol", pair).ok(http.StatusOK)
		res := b.fleet("seats", report.with("joined", joined("alice", fmt.Sprint("late", row.players)))).ok(http.StatusOK)
		require.Equal(t, []string{row.want}, results(res))
		b.fleet("seats", report.with("ended", true)).ok(http.StatusOK)
	}
}

// A session ends by a report with ended, or when its last seat is left. Reporting the end twice is no error.
func TestASessionEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.register("a")
	session, _ := b.seat("alice")
	report := me.with("session_id", session["session_id"])
	res := b.fleet("seats", report.with("ended", true).with("joined", nil).with("left", nil)).ok(http.StatusOK)
	require.Equal(t, fields{"session_id": session["session_id"], "joined": 0.0, "left": 0.0, "player_count": 0.0, "closed": true, "results": []any{}}, res)
	require.Equal(t, true, b.fleet("seats", report.with("ended", true)).ok(http.StatusOK)["closed"])
	b.resolve("alice", session["session_handle"]).problem(http.StatusGone, "session_closed")
	require.EqualValues(t, 64, b.fleet("heartbeat", me).ok(http.StatusOK)["available"], "its seats are free again")

	session, _ = b.seat("alice")
	report = me.with("session_id", session["session_id"])
	require.Equal(t, false, b.fleet("seats", report).ok(http.StatusOK)["closed"], "an empty report changes nothing")
	require.Equal(t, true, b.fleet("seats", report.with("left", []string{"alice"})).ok(http.StatusOK)["closed"])
}

// A report about a session of another instance changes nothing there.
func TestASessionOfAnotherInstance(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a")
	session, _ := b.seat("alice")
	other := b.register("b")
	for _, id := range []any{session["session_id"], "eu.7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10", "no-session-at-all"} {
		res := b.fleet("seats", other.with("session_id", id).with("left", []string{"alice"}).with("ended", true)).ok(http.StatusOK)
		require.Equal(t, []string{"alice unknown 404"}, results(res))
		require.Equal(t, true, res["closed"], "this instance has no such session")
	}
	b.resolve("alice", session["session_handle"]).ok(http.StatusOK)
	b.fleet("seats", fields{"instance_id": "c", "session_id": session["session_id"]}).problem(http.StatusNotFound, "instance_unknown")
}

// The first report of a server that registered without reports_seats turns reporting on, and the long reservations of
// its resolved seats become short.
func TestTheFirstReportTurnsReportingOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.register("a", func(f fields) { f["reports_seats"] = false })
	session, _ := b.seat("alice")
	const held = "SELECT count(*) FROM seats WHERE expires_at > now() + interval '1 hour'"
	require.Equal(t, 1, b.store.Count(held))
	b.fleet("seats", me.with("session_id", session["session_id"])).ok(http.StatusOK)
	require.Equal(t, 1, b.store.Count("SELECT count(*) FROM instances WHERE reports_seats"))
	require.Equal(t, 0, b.store.Count(held))
}

package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/play"
)

// The answers to a player who gets a seat and reads the session.
func TestAPlayerGetsASeat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a")
	got := b.matchmake("alice", duel).ok(http.StatusOK)
	require.True(t, strings.HasPrefix(got["session_id"].(string), "eu."))
	require.True(t, strings.HasPrefix(got["session_handle"].(string), "eu."))
	require.Equal(t, fields{
		"session_handle": got["session_handle"], "session_id": got["session_id"], "endpoint": "a.example:7777", "region": "eu", "mode": "duel",
		"player_count": 1.0, "max_players": 8.0,
	}, got)
	b.matchmake("bob", duel).ok(http.StatusOK)
	require.Equal(t, got.with("player_count", 2.0), b.session("carol", got["session_id"].(string)).ok(http.StatusOK))
}

// The default size of a session is that of its mode, or 8.
func TestTheSizeOfAMode(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.Modes = play.Modes{"race": 3} })
	b.register("a", func(f fields) { f["modes"] = []string{"duel", "race"} })
	for i, row := range []struct {
		body fields
		want float64
	}{
		{duel, 8},
		{duel.with("mode", "race"), 3},
		{duel.with("mode", "race").with("max_players", nil), 3},
		{duel.with("mode", "race").with("max_players", 2), 2},
	} {
		require.EqualValues(t, row.want, b.matchmake(string(rune('a'+i)), row.body).ok(http.StatusOK)["max_players"])
	}
	b.matchmake("a", duel.with("max_players", 1024)).problem(http.StatusConflict, "no_capacity")
}

// A party is never split and never seated in part.
func TestAPartyIsSeatedTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", func(f fields) { f["capacity"] = 4 })
	four := duel.with("max_players", 4)
	b.matchmake("dave", four).ok(http.StatusOK)
	b.matchmake("erin", four).ok(http.StatusOK)
	b.matchmake("alice", four.with("party", []string{"alice", "bob", "carol"})).problem(http.StatusConflict, "no_capacity")
	require.Equal(t, 2, b.store.Count("SELECT count(*) FROM seats"))

	got := b.matchmake("alice", four.with("party", []string{"bob", "alice"})).ok(http.StatusOK)
	require.EqualValues(t, 4, got["player_count"])
	for _, sub := range []string{"alice", "bob"} {
		require.Equal(t, got["session_id"], b.resolve(sub, got["session_handle"]).ok(http.StatusOK)["session_id"])
	}
}

// Invalid parties are refused: without the caller, with duplicates, empty, or larger than the session.
func TestInvalidPartiesAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.Modes = play.Modes{"duel": 2} })
	b.register("a")
	for name, row := range map[string]struct {
		body  fields
		field string
	}{
		"without the caller":     {duel.with("party", []string{"bob"}), "party"},
		"twice":                  {duel.with("party", []string{"alice", "bob", "bob"}), "party[2]"},
		"empty":                  {duel.with("party", []string{}), "party"},
		"no name":                {duel.with("party", []any{"alice", ""}), "party[1]"},
		"a control character":    {duel.with("party", []any{"alice", "b\tob"}), "party[1]"},
		"larger than the size":   {duel.with("party", []string{"alice", "bob"}).with("max_players", 1), "max_players"},
		"larger than the mode's": {duel.with("party", []string{"alice", "bob", "carol"}), "max_players"},
	} {
		require.Equal(t, []string{row.field}, b.matchmake("alice", row.body).named(), name)
	}
	require.Equal(t, 0, b.store.Count("SELECT count(*) FROM seats"))
}

// A repeated request gets the same seat, and a different request gets a new one. A player never has two.
func TestMatchmakeAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a")
	first := b.matchmake("alice", duel).ok(http.StatusOK)
	require.Equal(t, first, b.matchmake("alice", duel).ok(http.StatusOK))
	b.resolve("alice", first["session_handle"]).ok(http.StatusOK)
	require.Equal(t, first, b.matchmake("alice", duel.with("party", []string{"alice"})).ok(http.StatusOK))

	other := b.matchmake("alice", duel.with("max_players", 2)).ok(http.StatusOK)
	require.NotEqual(t, first["session_id"], other["session_id"])
	require.Equal(t, 1, b.store.Count("SELECT count(*) FROM seats"))
	b.session("alice", first["session_id"].(string)).problem(http.StatusGone, "session_closed")
}

// A player whose game client crashed can rejoin the match.
func TestRejoin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.register("a")
	session, _ := b.seat("alice")
	report := me.with("session_id", session["session_id"])
	b.fleet("seats", report.with("joined", joined("alice", "j1"))).ok(http.StatusOK)

	again := b.matchmake("alice", duel).ok(http.StatusOK)
	require.Equal(t, session["session_id"], again["session_id"])
	token := b.resolve("alice", again["session_handle"]).ok(http.StatusOK)["session_token"].(string)
	res := b.fleet("seats", report.with("joined", []fields{{"sub": "alice", "jti": claimsOf(t, token)["jti"]}})).ok(http.StatusOK)
	require.Equal(t, []string{"alice ok 200"}, results(res))
	require.EqualValues(t, 1, res["player_count"])
}

// A player's own call replaces the seat that a stranger reserved for them in a party.
func TestOwnCallReplacesAStrangersParty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a")
	theirs := b.matchmake("mallory", duel.with("max_players", 2).with("party", []string{"mallory", "alice"})).ok(http.StatusOK)
	own := b.matchmake("alice", duel).ok(http.StatusOK)
	require.NotEqual(t, theirs["session_id"], own["session_id"])
	b.resolve("alice", theirs["session_handle"]).problem(http.StatusForbidden, "no_seat")

	b.matchmake("bob", duel.with("party", []string{"bob", "alice"})).problem(http.StatusConflict, "party_conflict")
	require.Equal(t, own, b.matchmake("alice", duel).ok(http.StatusOK))
}

// A caller can reserve only a bounded number of seats, so that invented party members cannot fill the fleet.
func TestReservedSeatsOfACallerAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.db.MaxReserved = 3 })
	b.register("a", func(f fields) { f["modes"] = []string{"duel", "race"} })
	b.matchmake("mallory", duel.with("party", []string{"mallory", "x1", "x2"})).ok(http.StatusOK)
	a := b.matchmake("mallory", fields{"region": "eu", "mode": "race"})
	a.problem(http.StatusTooManyRequests, "too_many_reserved")
	require.NotEmpty(t, a.header.Get("Retry-After"))
}

// The same Idempotency-Key and the same request, in any JSON spelling, get the stored answer. A different request with
// the same key is refused.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.register("a")
	key := header("Idempotency-Key", "9b2d7c1e-match-4")
	first := b.matchmake("alice", `{"region":"eu","mode":"duel","party":["alice","bob"]}`, key).ok(http.StatusOK)
	b.fleet("seats", me.with("session_id", first["session_id"]).with("ended", true)).ok(http.StatusOK)

	for name, body := range map[string]string{
		"other spaces and order": "{\n \"party\": [\"alice\", \"bob\"],\r\n \"mode\" : \"duel\", \"region\": \"e\\u0075\"}",
		"party in another order": `{"region":"eu","mode":"duel","party":["bob","alice"]}`,
		"null is absent":         `{"region":"eu","mode":"duel","party":["alice","bob"],"max_players":null}`,
		"unknown fields":         `{"region":"eu","mode":"duel","party":["alice","bob"],"client_version":7}`,
	} {
		require.Equal(t, first, b.matchmake("alice", body, key).ok(http.StatusOK), name)
	}
	for name, body := range map[string]fields{
		"another mode":  duel.with("mode", "race").with("party", []string{"alice", "bob"}),
		"another size":  duel.with("max_players", 8).with("party", []string{"alice", "bob"}),
		"another party": duel,
	} {
		require.NotEmpty(t, b.matchmake("alice", body, key).problem(http.StatusUnprocessableEntity, "idempotency_mismatch"), name)
	}
	require.Equal(t, 0, b.store.Count("SELECT count(*) FROM seats"))
	b.matchmake("bob", duel, key).ok(http.StatusOK) // Keys of different callers are independent.

	for _, bad := range []string{"with space", strings.Repeat("k", 129), "ü"} {
		require.Equal(t, []string{"Idempotency-Key"}, b.matchmake("alice", duel, header("Idempotency-Key", bad)).named())
	}
}

// A misspelt mode gets an error that names it and suggests the right one, instead of no_capacity.
func TestMisspeltNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a")
	problem := b.matchmake("alice", duel.with("mode", "dule")).problem(http.StatusConflict, "mode_unknown")
	require.Contains(t, problem["detail"], `did you mean "duel"?`)
}

// Errors are not stored under an Idempotency-Key, so that a retry can succeed.
func TestARefusalSaysHowManyServersStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addApp("arena", "duel", 8, "", "")
	b.addPool("arena", "duel")
	a := b.matchmake("alice", duel)
	require.EqualValues(t, 0, a.problem(http.StatusConflict, "no_capacity")["servers_starting"])
	require.Equal(t, "2", a.header.Get("Retry-After"))
	b.store.Exec(`UPDATE pools SET last_plan = '{"live": 0, "coming": 1}'`)
	require.EqualValues(t, 1, b.matchmake("alice", duel).problem(http.StatusConflict, "no_capacity")["servers_starting"])
	b.store.Exec("UPDATE pools SET paused_until = '9999-01-01'")
	require.Equal(t, "10", b.matchmake("alice", duel).header.Get("Retry-After"))
}

func TestErrorsAreNotReplayed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := header("Idempotency-Key", "k")
	b.matchmake("alice", duel, key).problem(http.StatusConflict, "region_unknown")
	b.register("a")
	b.matchmake("alice", duel, key).ok(http.StatusOK)
}

// The session token holds the mode, the size and the party, so that a game server can open the session when its first
// player connects.
func TestTokenDescribesTheSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", func(f fields) { f["modes"] = []string{"duel", "race"} })
	race := fields{"region": "eu", "mode": "race", "max_players": 4}
	session := b.matchmake("alice", race.with("party", []string{"alice", "bob"})).ok(http.StatusOK)
	require.Equal(t, session["session_id"], b.matchmake("carol", race).ok(http.StatusOK)["session_id"])
	claims := map[string]fields{}
	for _, sub := range []string{"alice", "bob", "carol"} {
		token := b.resolve(sub, session["session_handle"]).ok(http.StatusOK)["session_token"].(string)
		claims[sub] = claimsOf(t, token)
		require.Equal(t, "race", claims[sub]["mode"])
		require.EqualValues(t, 4, claims[sub]["max_players"])
	}
	require.NoError(t, uuid.Validate(claims["alice"]["party"].(string)))
	require.Equal(t, claims["alice"]["party"], claims["bob"]["party"])
	require.NotEqual(t, claims["alice"]["party"], claims["carol"]["party"])
	again := b.resolve("alice", session["session_handle"]).ok(http.StatusOK)["session_token"].(string)
	require.Equal(t, claims["alice"]["party"], claimsOf(t, again)["party"], "the party belongs to the seat")
}

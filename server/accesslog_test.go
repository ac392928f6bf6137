package server_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// logged returns the access log line of an answer.
func (b *bundle) logged(a answer) (line fields) {
	b.t.Helper()
	b.eventually(func() bool {
		for text := range bytes.Lines([]byte(b.log.String())) {
			line = nil
			_ = json.Unmarshal(text, &line)
			if line["msg"] == "request" && line["request_id"] == a.header.Get("X-Request-Id") {
				return true
			}
		}
		return false
	})
	return line
}

// Access log lines must name the game server, the session and the player, so that an operator can trace a complaint.
func TestAccessLogNamesInstanceSessionAndPlayer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := fields{"instance_id": "a"}
	require.Equal(t, "a", b.logged(b.fleet("register", registration("a")))["instance_id"])
	placed := b.matchmake("alice", duel)
	session := placed.ok(http.StatusOK)
	resolved := b.resolve("alice", session["session_handle"])
	read := b.session("alice", session["session_id"].(string))
	for _, a := range []answer{placed, resolved, read} {
		require.Equal(t, session["session_id"], b.logged(a)["session_id"])
		require.Equal(t, "alice", b.logged(a)["player"])
	}
	joined := b.logged(b.fleet("seats", fields{"instance_id": "a", "session_id": session["session_id"], "left": []string{"alice"}}))
	require.Equal(t, "a", joined["instance_id"])
	require.Equal(t, session["session_id"], joined["session_id"])

	mistake := b.fleet("seats", me.with("session_id", session["session_handle"]))
	require.NotContains(t, b.logged(mistake), "session_id", "a handle that is sent as the id is not logged")
	b.session("alice", session["session_handle"].(string))
	require.NotContains(t, b.log.String(), session["session_handle"])
}

// Heartbeats are most of the requests: they are logged at debug level unless they fail.
func TestHeartbeatsAreQuietUnlessTheyFail(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.register("a")
	require.Equal(t, "DEBUG", b.logged(b.fleet("heartbeat", me))["level"])
	refused := b.logged(b.fleet("heartbeat", fields{"instance_id": "stranger"}))
	require.Equal(t, "INFO", refused["level"])
	require.Equal(t, "stranger", refused["instance_id"])
}

// The log of a failed authentication holds the reason and the address.
func TestFailedAuthenticationIsLogged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for want, a := range map[string]answer{
		"The X-Fleet-Token header is missing.": b.fleet("register", registration("a"), func(r *http.Request) { r.Header.Del("X-Fleet-Token") }),
		"The X-Fleet-Token header is wrong.":   b.fleet("register", registration("a"), header("X-Fleet-Token", "s3cret")),
		"expired":                              b.matchmake("alice", duel, header("Authorization", "Bearer "+b.issuer.Token(fields{"sub": "alice", "exp": 1}))),
		"Authorization: Bearer":                b.matchmake("alice", duel, header("Authorization", "s3cret")),
	} {
		require.Equal(t, http.StatusUnauthorized, a.status)
		line := b.logged(a)
		require.Contains(t, line["reason"], want)
		require.Equal(t, "127.0.0.1", line["client"])
	}
	require.NotContains(t, b.log.String(), "s3cret")
}

package sidecar_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/sidecar"
)

func TestAGameServerOverHTTP(t *testing.T) {
	t.Parallel()
	r := setup(t)
	require.Equal(t, "starting", r.must("GET", "/status", nil)["state"])
	status, refused := r.call("POST", "/players", fields{"token": "x"})
	require.Equal(t, []any{http.StatusConflict, "not_ready"}, []any{status, refused["code"]})

	status, refused = r.call("POST", "/ready", fields{"capacity": 2, "endpoint": "0.0.0.0:7777"})
	require.Equal(t, []any{http.StatusBadRequest, "invalid_request"}, []any{status, refused["code"]},
		"what the server binds")

	events := r.sse()
	ready := r.must("POST", "/ready", fields{"capacity": 2})
	require.Equal(t, fields{"state": "ready", "instance_id": "engine-1", "endpoint": "game.test:7777", "players": 0.0,
		"sessions": 0.0, "unwanted": false}, ready)
	require.Equal(t, ready, r.must("POST", "/ready", nil), "a repeated call changes nothing")
	require.Equal(t, 2, r.director.Instances()["engine-1"].Available,
		"what the game server said, over what the sidecar was started with")

	seat := r.seat("ada")
	events.until("sessions", func(f fields) bool { return len(f["sessions"].([]any)) == 1 })
	player := r.must("POST", "/players", fields{"token": seat.SessionToken})
	require.Equal(t, []any{"ada", "duel", seat.SessionID}, []any{player["sub"], player["mode"], player["session_id"]})
	status, refused = r.call("POST", "/players", fields{"token": seat.SessionToken})
	require.Equal(t, []any{http.StatusForbidden, "replay"}, []any{status, refused["code"]})
	status, refused = r.call("POST", "/players", fields{"token": "forged"})
	require.Equal(t, []any{http.StatusForbidden, "bad_token"}, []any{status, refused["code"]})
	require.Len(t, r.must("GET", "/players", nil)["players"], 1)

	r.director.Expire("engine-1")
	kicked := events.until("kick", func(fields) bool { return true })
	require.Equal(t, fields{"id": player["id"], "sub": "ada", "session_id": seat.SessionID, "reason": "session_lost"},
		kicked)
	status, refused = r.call("DELETE", "/players/"+player["id"].(string), nil)
	require.Equal(t, []any{http.StatusNotFound, "unknown_player"}, []any{status, refused["code"]})

	r.must("PUT", "/load", fields{"load": 0.5})
	require.Eventually(t, func() bool { return r.director.Instances()["engine-1"].Load == 0.5 }, patience,
		time.Millisecond)
	require.Equal(t, "draining", r.must("POST", "/drain", nil)["state"])
	require.True(t, r.director.Instances()["engine-1"].Draining)
	require.Equal(t, "ready", r.must("POST", "/undrain", nil)["state"])

	seat = r.seat("bob")
	player = r.must("POST", "/players", fields{"token": seat.SessionToken})
	require.Equal(t, "stopping", r.must("POST", "/shutdown", fields{"grace": "1h"})["state"])
	r.must("DELETE", "/players/"+player["id"].(string), nil)
	events.until("status", func(f fields) bool { return f["state"] == "ended" })
	<-r.ended
	require.NoError(t, r.err)
	require.Empty(t, r.director.Instances())
}

func TestAGameServerInLines(t *testing.T) {
	t.Parallel()
	r := setup(t)
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", r.lines)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	var events []string
	ask := func(line string) string {
		_, err := conn.Write([]byte(line + "\n"))
		require.NoError(t, err)
		for {
			answer, err := in.ReadString('\n')
			require.NoError(t, err)
			answer = strings.TrimSuffix(answer, "\n")
			if event, is := strings.CutPrefix(answer, "event "); is {
				events = append(events, event)
				continue
			}
			return answer
		}
	}
	require.Contains(t, ask("nonsense"), `error {"code":"unknown_command","detail":"The commands are admit, `)
	require.Contains(t, ask("ready {"), `error {"code":"invalid"`)
	require.Contains(t, ask(`ready {"capasity":2}`), `error {"code":"invalid_request"`)
	require.Contains(t, ask(`ready {"capasity":2}`), `"field":"capasity"`)
	require.Equal(t, "starting", r.must("GET", "/status", nil)["state"])
	require.Equal(t, "ok", ask("watch"))
	require.Contains(t, ask(`ready {"labels":{"map":"dust"}}`), `ok {"state":"ready"`)
	require.Equal(t, "ok", ask("health"))
	require.Equal(t, "ok", ask("load 0.25"))
	require.Contains(t, ask("load -1"), `error {"code":"invalid"`)
	seat := r.seat("ada")
	answer, admitted := strings.CutPrefix(ask("admit "+seat.SessionToken), "ok ")
	require.True(t, admitted, answer)
	var player sidecar.Player
	require.NoError(t, json.Unmarshal([]byte(answer), &player))
	require.Equal(t, "ada", player.Sub)
	require.Equal(t, "ok", ask("leave "+player.ID))
	require.Contains(t, ask("leave "+player.ID), `error {"code":"unknown_player"`)
	require.Contains(t, ask("shutdown 0s"), `ok {"state":"stopping"`)
	<-r.ended
	require.NoError(t, r.err)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break
		}
		events = append(events, strings.TrimPrefix(line, "event "))
	}
	require.Contains(t, strings.Join(events, "\n"), `status {"state":"ready"`)
	require.Contains(t, strings.Join(events, "\n"), `status {"state":"ended"`)
}

// The roster is there before a player connects, in both forms; a session ends when the game server says so.
func TestTheRosterAndTheEndOfASession(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.must("POST", "/ready", nil)
	seat := r.seat("ada")
	say := r.talk()
	var roster struct {
		Sessions []sdk.SessionRoster `json:"sessions"`
	}
	require.Eventually(t, func() bool {
		require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(say("sessions"), "ok ")), &roster))
		return len(roster.Sessions) == 1 && len(roster.Sessions[0].Players) == 1
	}, patience, time.Millisecond)
	require.Equal(t, []string{seat.SessionID, "ada"},
		[]string{roster.Sessions[0].SessionID, roster.Sessions[0].Players[0].Sub})
	require.Len(t, r.must("GET", "/sessions", nil)["sessions"], 1)

	player := r.must("POST", "/players", fields{"token": seat.SessionToken})
	require.Contains(t, say("players"), `"id":"`+player["id"].(string)+`"`)
	require.Contains(t, say("drain"), `ok {"state":"draining"`)
	require.Contains(t, say("undrain"), `ok {"state":"ready"`)
	require.Contains(t, say("status"), `"players":1,"sessions":1`)
	require.Contains(t, say("end "), "error ")
	require.Equal(t, "ok", say("end "+seat.SessionID))
	require.Eventually(t, func() bool {
		players, listed := r.must("GET", "/players", nil)["players"].([]any)
		return listed && len(players) == 0
	}, patience, time.Millisecond, "nobody plays in a session that is over")
	status, refused := r.call("POST", "/players", fields{"token": seat.SessionToken})
	require.Equal(t, http.StatusForbidden, status, "%v", refused)
	r.must("DELETE", "/sessions/"+seat.SessionID, nil)
}

// talk opens a connection of lines, and returns a function that sends a line and returns its answer.
func (r *rig) talk() (say func(line string) string) {
	r.t.Helper()
	conn := webtest.Dial(r.t, r.lines)
	in := bufio.NewReader(conn)
	return func(line string) string {
		must.Get(conn.Write([]byte(line + "\n")))(r.t)
		answer := must.Get(in.ReadString('\n'))(r.t)
		return strings.TrimSuffix(answer, "\n")
	}
}

// Pins a line that was refused although the largest labels that a game server may have are in it.
func TestTheLargestAnnouncementInALine(t *testing.T) {
	t.Parallel()
	r := setup(t)
	labels := fields{}
	for i := range 64 {
		labels[fmt.Sprintf("l%062d", i)] = strings.Repeat("x", 255)
	}
	line := "ready " + string(must.Get(json.Marshal(fields{"labels": labels}))(t))
	require.Greater(t, len(line), 20<<10)
	require.Regexp(t, "^ok ", r.talk()(line))
}

// A frozen game server must not keep its registration because its sidecar lives.
func TestAGameServerThatSaysNothingIsNotRegistered(t *testing.T) {
	t.Parallel()
	r := setup(t, func(o *sidecar.Options) { o.HealthWithin = 3 * time.Second })
	r.must("POST", "/ready", nil)
	seat := r.seat("ada")
	r.must("POST", "/players", fields{"token": seat.SessionToken})
	events := r.sse()
	events.until("status", func(f fields) bool { return f["state"] == "unhealthy" })
	require.Eventually(t, func() bool { return len(r.director.Instances()) == 0 }, patience, time.Millisecond)
	events.until("kick", func(f fields) bool { return f["sub"] == "ada" })

	r.must("POST", "/ready", nil)
	require.Len(t, r.director.Instances(), 1, "it lives again")
}

func TestAnotherProcessTakesTheInstance(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.must("POST", "/ready", nil)
	client, err := sdk.New(sdk.Options{URLs: []string{"http://director.test"},
		HTTPClient: &http.Client{Transport: r.director.Transport()}})
	require.NoError(t, err)
	defer client.Close()
	other, err := sdk.Start(t.Context(), client,
		sdk.ServerOptions{InstanceID: "engine-1", Endpoint: "other:1", Region: "eu", Modes: []string{"duel"},
			Capacity: 1})
	require.NoError(t, err)
	<-r.ended
	require.ErrorIs(t, r.err, sdk.ErrSuperseded)
	require.NoError(t, other.Close(t.Context()))
}

func TestADirectorThatWantsTheServerToEnd(t *testing.T) {
	t.Parallel()
	r := setup(t, func(o *sidecar.Options) { o.IsDeployed = true })
	status, refused := r.call("POST", "/ready", fields{"region": "us"})
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, []any{map[string]any{"field": "region",
		"detail": "is decided by the deployment, and may not be given"}}, refused["errors"])
	r.must("POST", "/ready", fields{"version": "1.2"})
	events := r.sse()
	r.director.Unwant("engine-1")
	events.until("status", func(f fields) bool { return f["unwanted"] == true })
}

func TestBadCalls(t *testing.T) {
	t.Parallel()
	r := setup(t, func(o *sidecar.Options) { o.Server = sdk.ServerOptions{} })
	for _, test := range []struct {
		method, path string
		body         any
		status       int
		code         string
	}{
		{"POST", "/ready", nil, 400, "invalid_request"},
		{"POST", "/ready", fields{"modez": []string{"duel"}}, 400, "invalid_request"},
		{"POST", "/players", fields{}, 400, "invalid_request"},
		{"PUT", "/load", fields{"load": -1}, 400, "invalid_request"},
		{"PUT", "/load", nil, 400, "invalid_request"},
		{"POST", "/shutdown", fields{"grace": "soon"}, 400, "invalid_request"},
		{"DELETE", "/players/x", nil, 404, "unknown_player"},
		{"DELETE", "/sessions/x", nil, 409, "not_ready"},
		{"POST", "/drain", nil, 409, "not_ready"},
		{"GET", "/nowhere", nil, 404, "route_not_found"},
	} {
		status, refused := r.call(test.method, test.path, test.body)
		require.Equal(t, []any{test.status, test.code}, []any{status, refused["code"]}, "%s %s %v: %v", test.method,
			test.path, test.body, refused)
		require.NotEmpty(t, refused["detail"])
	}
}

// Pins a page in a browser on the same machine that shuts the game server down: by a form, under a name of its own that
// leads here (DNS rebinding), or at the address of lines with commands in the body of a request.
func TestPagesInBrowsersAreRefused(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for name, change := range map[string]func(*http.Request){
		"a form":   func(req *http.Request) { req.Header.Set("Origin", "https://evil.example") },
		"its name": func(req *http.Request) { req.Host = "evil.example:9357" },
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/shutdown", nil)
		require.NoError(t, err)
		change(req)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusForbidden, res.StatusCode, name)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/status", nil)
	require.NoError(t, err)
	req.Host = "localhost:9357"
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusOK, res.StatusCode)

	lines, conn := dial(t, r.lines)
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: "+r.lines+"\r\n\r\nshutdown\r\n")
	require.Contains(t, readLine(t, lines), `error {"code":"no_http"`)
	_, err = lines.ReadString('\n')
	require.Error(t, err, "the connection is closed")
	require.Eventually(t, func() bool {
		return r.must("GET", "/status",
			nil)["state"] == string(sidecar.StateStarting)
	}, patience,
		5*time.Millisecond)
}

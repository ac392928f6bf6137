package orchestrator

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/rivalis/roster"
)

const (
	lobbyJSON = `{"id":"lobby%20%231%2F%C3%BC","type":"lobby","connections":3,"instanceId":"562cfc2cbeef8cf4",` +
		`"endpointUrl":"wss://eu0.game.example.com/?a=1&b=<2>","local":true}`
	matchJSON = `{"id":"match-42","type":"match","connections":7,"instanceId":"562cfc2cbeef8cf4",` +
		`"endpointUrl":"wss://eu0.game.example.com/?a=1&b=<2>","local":false}`
	eu0JSON = `{"id":"562cfc2cbeef8cf4","name":"eu0","processUid":"p_78ef19167edc060162262184","endpointUrl":"wss://eu0.game.example.com/?a=1&b=<2>",` +
		`"labels":{"region":"eu","tier":"a:b"},"roomTypes":["lobby","match"],"rooms":[` + lobbyJSON + `,` + matchJSON + `],"connections":10,` +
		`"capacity":{"maxConnections":2000,"maxRooms":64},"autoCreate":true,"status":"active","lastSyncAt":1795000000123,"agentVersion":"8.0.0","protocolVersion":3}`
	bareJSON = `{"id":"0000000000000001","name":"","processUid":"p_2","endpointUrl":"ws://[::1]:1","labels":{},"roomTypes":[],"rooms":[],"connections":0,` +
		`"capacity":{"maxConnections":null,"maxRooms":null},"autoCreate":false,"status":"draining","lastSyncAt":1795000000000,"agentVersion":"8.0.0","protocolVersion":3}`
)

// fleetHash is the hash of an empty fleet combined with the hashes of the instances without lastSyncAt.
var fleetHash = func() string {
	hash := uint64(0x4f53cda18c2baa0c)
	for _, instance := range []string{eu0JSON, bareJSON} {
		sum := sha256.Sum256([]byte(regexp.MustCompile(`"lastSyncAt":[0-9]+,`).ReplaceAllString(instance, "")))
		hash ^= binary.BigEndian.Uint64(sum[:8])
	}
	return fmt.Sprintf("%016x", hash)
}()

func data(json string) string { return `{"status":"OK","data":` + json + `}` }

// Clients compare and hash the bytes of answers, so the status, headers and bytes of each route are fixed.
func TestAnswersToTheByte(t *testing.T) {
	t.Parallel()
	stats := `{"instances":2,"rooms":2,"connections":10,"roomTypes":["lobby","match"],"stateHash":"` + fleetHash + `"}`
	for _, tc := range []struct {
		method, target, body string
		status               int
		want                 string
		tagged               bool
	}{
		{"GET", "/healthz", "", 200, `{"status":"OK"}`, false},
		{"GET", "/readyz", "", 200, `{"status":"OK"}`, false},
		{"GET", "/v1/stats", "", 200, data(stats), true},
		{"GET", "/v1/instances", "", 200, data("[" + eu0JSON + "," + bareJSON + "]"), true},
		{"GET", "/v1/instances/562cfc2cbeef8cf4", "", 200, data(eu0JSON), false},
		{"GET", "/v1/instances/562cfc2cbeef8cf4/rooms", "", 200, data("[" + lobbyJSON + "," + matchJSON + "]"), false},
		{"GET", "/v1/instances/0000000000000001/rooms", "", 200, data("[]"), false},
		{"GET", "/v1/rooms", "", 200, data("[" + lobbyJSON + "," + matchJSON + "]"), true},
		{"GET", "/v1/rooms/match-42", "", 200, data(matchJSON), false},
		{"GET", "/v1/rooms/lobby%20%231%2F%C3%BC", "", 200, data(lobbyJSON), false},
		{"POST", "/v1/rooms", `{"type":"match","roomId":"match-42"}`, 201, data(matchJSON), false},
		{"DELETE", "/v1/rooms/match-42", "", 200, `{"status":"OK"}`, false},
		{"POST", "/v1/instances/562cfc2cbeef8cf4/drain", "", 200, `{"status":"OK"}`, false},
		{"POST", "/v1/instances/562cfc2cbeef8cf4/undrain", "", 200, `{"status":"OK"}`, false},
	} {
		t.Run(tc.method+" "+tc.target, func(t *testing.T) {
			t.Parallel()
			f := duelFleet()
			f.answer = db.CommandAnswer{FinalState: db.CommandDone, CreatedRoom: f.agents[0].Rooms[1]}
			b := newRig(t, f)
			w := b.call(tc.method, tc.target, tc.body)
			require.Equal(t, tc.want, w.Body.String())
			require.Equal(t, tc.status, w.Code)
			headers := http.Header{
				"Content-Type": {"application/json; charset=utf-8"}, "Content-Length": w.Header()["Content-Length"],
				"X-Request-Id": w.Header()["X-Request-Id"],
			}
			if tc.tagged {
				headers["Etag"] = []string{`W/"` + fleetHash + `"`}
			}
			require.Equal(t, headers, w.Header())
			if tc.method == "GET" {
				length := w.Header().Get("Content-Length")
				head := b.call(http.MethodHead, tc.target, "")
				require.Equal(t, tc.status, head.Code)
				require.Equal(t, length, head.Header().Get("Content-Length"))
				require.Equal(t, tc.tagged, head.Header().Get("ETag") != "")
			}
		})
	}
}

// An unknown path gets the same answer with and without a key, so that guessing reveals no routes. It does not count as
// a failed key.
func TestUnknownRoutes(t *testing.T) {
	t.Parallel()
	b := newRig(t, duelFleet())
	for range 20 { // more failures than one address may have
		for _, route := range [][2]string{
			{"GET", "/"}, {"GET", "/v1"}, {"GET", "/v1/stats/"}, {"GET", "/v1/rooms/"}, {"GET", "/v1/rooms/a/"},
			{"GET", "/v1/instances//rooms"},
			{"GET", "/v1/instances/a/rooms/"}, {"GET", "//v1/stats"}, {"GET", "/V1/stats"}, {"GET", "/v1/rooms/a/b"},
			{"GET", "/v1%2Fstats"},
			{"PUT", "/v1/rooms"}, {"DELETE", "/v1/rooms"}, {"POST", "/v1/rooms/a"}, {"PATCH", "/v1/rooms/a"},
			{"POST", "/v1/stats"},
			{"GET", "/v1/instances/a/drain"}, {"OPTIONS", "/v1/stats"}, {"BREW", "/v1/stats"}, {"POST", "/v1/events"},
			{"POST", "/healthz"},
		} {
			w := b.call(route[0], route[1], "", "Authorization", "")
			require.Equal(t, 404, w.Code, "%v", route)
			require.Empty(t, w.Header().Get("Allow"), "%v", route)
			rejected(t, w, 404, "NOT_FOUND")
		}
	}
	rejected(t, b.get("/v1/stats", "Authorization", ""), 401, "UNAUTHORIZED")
}

// A room id is compared in the form in which it is sent: a game's own ids may contain any character.
func TestIDsAreComparedAsTheyAreSent(t *testing.T) {
	t.Parallel()
	b := newRig(t, duelFleet())
	for _, id := range []string{"match%2D42", "lobby%20%231%2f%C3%BC", "lobby%20%231/%C3%BC", "%00", "..", "%2e%2e",
		"a%2Fb", "match-42%00", "match-42;x"} {
		w := b.get("/v1/rooms/" + id)
		require.Equal(t, 404, w.Code, id)
	}
	rejected(t, b.get("/v1/rooms/match%2D42"), 404, "ROOM_NOT_FOUND")
	rejected(t, b.get("/v1/rooms/.."), 404, "ROOM_NOT_FOUND")
	rejected(t, b.get("/v1/instances/.."), 404, "INSTANCE_NOT_FOUND")
	rejected(t, b.get("/v1/instances/562cfc2cbeef8cf%34/rooms"), 404, "INSTANCE_NOT_FOUND")
	b.answer.FinalState = db.CommandDone
	b.call(http.MethodDelete, "/v1/rooms/lobby%20%231%2F%C3%BC", "")
	require.Contains(t, b.commands[0], "destroy lobby%20%231%2F%C3%BC by key#")
}

// unread is a roster before its first read.
type unread struct{ Roster }

func (unread) View() *roster.View { return nil }

func TestBeforeTheFleetIsRead(t *testing.T) {
	t.Parallel()
	b := newRig(t, duelFleet(), func(o *RESTOptions) { o.Roster = unread{} })
	for _, path := range []string{"/readyz", "/v1/stats", "/v1/instances", "/v1/rooms"} {
		rejected(t, b.get(path), 503, "NOT_READY")
	}
	require.Equal(t, 200, b.get("/v1/rooms/match-42").Code)
	require.Equal(t, 200, b.get("/healthz").Code)
}

func TestProbesOfAReplicaThatIsNotReady(t *testing.T) {
	t.Parallel()
	b := newRig(t, duelFleet())
	require.Equal(t, 200, b.get("/healthz", "Authorization", "").Code)
	b.unready = true
	rejected(t, b.get("/readyz", "Authorization", ""), 503, "NOT_READY")
	require.Equal(t, 200, b.get("/healthz").Code)
}

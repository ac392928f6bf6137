package server_test

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
)

// posts holds the routes that take a body, each with a valid body.
var posts = map[string]fields{
	"/fleet/register":   registration("nasty"),
	"/fleet/heartbeat":  {"instance_id": "nasty"},
	"/fleet/clients":    {"instance_id": "nasty", "seq": 1, "clients": []any{}},
	"/fleet/deregister": {"instance_id": "nasty"},
	"/fleet/seats":      {"instance_id": "nasty", "session_id": "eu.x", "joined": []fields{{"sub": "alice", "jti": "j"}}, "left": []string{"bob"}},
	"/fleet/drain":      {"instance_id": "nasty", "drain": true},
	"/matchmake":        {"region": "eu", "mode": "duel", "party": []string{"alice"}, "max_players": 8},
	"/resolve":          {"session_handle": "eu.x"},
}

// withAllTokens adds the tokens of a game server and of a player to a request.
func (b *bundle) withAllTokens(r *http.Request) {
	header("X-Fleet-Token", fleetToken)(r)
	b.as("alice")(r)
}

func (b *bundle) post(path string, body any, change ...func(*http.Request)) answer {
	b.t.Helper()
	return b.call(b.request(http.MethodPost, path, body, append([]func(*http.Request){b.withAllTokens}, change...)...))
}

// Bodies over 64 KiB are refused, with and without a Content-Length.
func TestBodiesThatAreTooLarge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	long := `{"instance_id":"` + strings.Repeat("x", 64<<10) + `"}`
	for path := range posts {
		b.post(path, long).problem(http.StatusRequestEntityTooLarge, "body_too_large")
		b.post(path, long, func(r *http.Request) { r.ContentLength = -1 }).problem(http.StatusRequestEntityTooLarge, "body_too_large")
	}
	longest := `{"instance_id":"nasty"` + strings.Repeat(" ", 64<<10-len(`{"instance_id":"nasty"}`)) + "}"
	b.post("/fleet/heartbeat", longest).problem(http.StatusNotFound, "instance_unknown")
}

// Every route refuses bodies whose Content-Type is not JSON, and accepts every form of JSON media type.
func TestMediaTypes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, body := range posts {
		for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", ";"} {
			b.post(path, body, header("Content-Type", media)).problem(http.StatusUnsupportedMediaType, "unsupported_media_type")
		}
		b.post(path, body, header("Content-Encoding", "gzip")).problem(http.StatusUnsupportedMediaType, "unsupported_media_type")
	}
	for _, media := range []string{"", "application/json; charset=UTF-8", "application/merge-patch+json"} {
		b.post("/fleet/register", registration("a"), header("Content-Type", media)).ok(http.StatusOK)
	}
}

// Every route refuses malformed bodies, stores nothing and logs no error.
func TestMalformedBodies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	before := rows(b)
	bodies := map[string]string{
		"nothing": "", "space": " \n", "null": "null", "a list": "[]", "a number": "1e999", "a string": `"x"`, "half": `{"instance_id":"x`,
		"two": `{}{}`, "a comment": `{/**/}`, "invalid UTF-8": "{\"instance_id\":\"\xff\xfe\",\"region\":\"\xc3\x28\"}",
		"UTF-16": "\xff\xfe{\x00}\x00", "deep lists": strings.Repeat("[", 30_000), "deep objects": strings.Repeat(`{"a":`, 10_000),
		"deep and closed": `{"labels":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}", "NULs": strings.Repeat("\x00", 100),
	}
	for path := range posts {
		for name, body := range bodies {
			a := b.post(path, body)
			require.Equal(t, http.StatusBadRequest, a.status, "%s: %s: %s", path, name, a.body)
		}
	}
	require.Equal(t, before, rows(b))
	require.NotContains(t, b.log.String(), `"level":"ERROR"`)
}

// Values that Go or Postgres cannot store, or that would harm a terminal, are refused with the name of their field.
func TestInvalidFields(t *testing.T) {
	t.Parallel()
	b := setup(t)
	before := rows(b)
	words := []any{`a\u0000b`, `\ud800`, `\udc00\ud800`, `tab\there`, `\u007f`, `\u009f`, strings.Repeat("x", 5000)}
	numbers := []string{"1e400", "-1e400", "99999999999999999999999", "-1", "0.5", "1e-400", `"7"`, "true", "{}", "[]"}
	for path, good := range posts {
		for field, value := range good {
			switch value.(type) {
			case string, []string, []fields:
				for _, word := range words {
					b.refused(path, field, good, `"`+word.(string)+`"`)
				}
			case int:
				for _, number := range numbers {
					b.refused(path, field, good, number)
				}
			case bool:
				for _, number := range append(numbers, `"true"`) {
					if number != "true" && field != "reports_seats" || number == "{}" {
						b.refused(path, field, good, number)
					}
				}
			}
		}
	}
	require.Equal(t, before, rows(b))
	require.NotContains(t, b.log.String(), `"level":"ERROR"`)
}

// refused sends a valid body with one invalid value, given as JSON text, and requires an error that names the field.
func (b *bundle) refused(path, field string, good fields, value string) {
	b.t.Helper()
	invalid := must.Get(json.Marshal(good.with(field, json.RawMessage(value))))(b.t)
	a := b.post(path, invalid)
	if path == "/resolve" && a.status == http.StatusNotFound {
		return // A handle is opaque: any unknown text is answered 404.
	}
	require.Equal(b.t, []string{field}, a.named(), "%s", invalid)
}

// rows counts the stored rows, except keys and their events.
func rows(b *bundle) int {
	b.t.Helper()
	return b.store.Count(`SELECT (SELECT count(*) FROM instances) + (SELECT count(*) FROM instance_directory) + (SELECT count(*) FROM sessions)
		+ (SELECT count(*) FROM seats) + (SELECT count(*) FROM idempotency_keys) + (SELECT count(*) FROM redeemed_tokens)
		+ (SELECT count(*) FROM session_history) + (SELECT count(*) FROM seat_history) + (SELECT count(*) FROM events WHERE kind NOT LIKE 'key.%')`)
}

// Unknown paths and methods are answered with problem documents and not with gin's own pages.
func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, path := range []string{"/fleet", "/fleet/register/", "/metrics", "/debug/pprof/", "/sessions/", "/docs/", "/openapi.json", "/..%2f"} {
		a := b.get(path)
		require.Equal(t, http.StatusNotFound, a.status, path)
		require.Equal(t, "application/problem+json", a.header.Get("Content-Type"))
	}
	a := b.get("/matchmake", b.as("alice"))
	a.problem(http.StatusMethodNotAllowed, "method_not_allowed")
	require.Equal(t, "POST", a.header.Get("Allow"))
}

// The caller's request id appears in the answer and in the log, unless it could forge a log line.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.matchmake("alice", duel, header("X-Request-Id", "mine-1"))
	require.Equal(t, "mine-1", a.header.Get("X-Request-Id"))
	require.Equal(t, "mine-1", a.problem(http.StatusConflict, "region_unknown")["request_id"])
	require.Contains(t, b.log.String(), `"request_id":"mine-1"`)
	require.NotEqual(t, `x" level=ERROR`, b.get("/healthz", header("X-Request-Id", `x" level=ERROR`)).header.Get("X-Request-Id"))
}

// A replica with all slots taken refuses further calls, while health and key set are still served.
func TestCallsInFlightAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.MaxInFlight = 1 })
	b.register("a")
	release := b.store.Hold("LOCK TABLE instance_directory IN ACCESS EXCLUSIVE MODE")
	slow := make(chan answer, 1)
	go func() { slow <- b.fleet("register", registration("b")) }()
	b.store.AwaitBlocked(1)
	a := b.fleet("register", registration("c"))
	a.problem(http.StatusServiceUnavailable, "unavailable")
	require.NotEmpty(t, a.header.Get("Retry-After"))
	b.get("/readyz").ok(http.StatusOK)
	b.get("/.well-known/jwks.json").ok(http.StatusOK)
	release()
	(<-slow).ok(http.StatusOK)
	b.matchmake("alice", duel).ok(http.StatusOK)
}

// A rush of players does not keep heartbeats out, and refusing a player costs no routing and no log line.
func TestPlayersDoNotKeepGameServersOut(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.MaxInFlight = 1 })
	b.register("a")
	release := b.store.Hold("LOCK TABLE seats IN ACCESS EXCLUSIVE MODE")
	slow := make(chan answer, 1)
	go func() { slow <- b.matchmake("alice", duel) }()
	b.store.AwaitBlocked(1)
	a := b.matchmake("bob", duel)
	a.problem(http.StatusServiceUnavailable, "unavailable")
	require.NotEmpty(t, a.header.Get("Retry-After"))
	require.NotContains(t, b.log.String(), a.header.Get("X-Request-Id"), "refused before routing")
	b.fleet("heartbeat", fields{"instance_id": "nobody"}).problem(http.StatusNotFound, "instance_unknown")
	release()
	(<-slow).ok(http.StatusOK)
	b.matchmake("bob", duel).ok(http.StatusOK)
}

// A body that does not arrive within the timeout is answered 408: it would hold a connection and a buffer.
func TestABodyThatDoesNotArrive(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.BodyTimeout = 50 * time.Millisecond })
	conn, err := net.Dial("tcp", b.server.Addr().String())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprintf(conn, "POST /fleet/heartbeat HTTP/1.1\r\nHost: director\r\nX-Fleet-Token: %s\r\nContent-Length: 100\r\n\r\n{", fleetToken)
	require.NoError(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusRequestTimeout, res.StatusCode)
}

package server_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// posts are the routes that take a body, with one that is good, and who may send it.
var posts = map[string]fields{
	"/fleet/register":   registration("nasty"),
	"/fleet/heartbeat":  {"instance_id": "nasty"},
	"/fleet/deregister": {"instance_id": "nasty"},
	"/fleet/seats":      {"instance_id": "nasty", "session_id": "eu.x", "joined": []fields{{"sub": "alice", "jti": "j"}}, "left": []string{"bob"}},
	"/fleet/drain":      {"instance_id": "nasty", "drain": true},
	"/matchmake":        {"region": "eu", "mode": "duel", "party": []string{"alice"}, "max_players": 8},
	"/resolve":          {"session_handle": "eu.x"},
}

// anybody makes a request that of a game server and of a player.
func (b *bundle) anybody(r *http.Request) {
	header("X-Fleet-Token", fleetToken)(r)
	b.as("alice")(r)
}

func (b *bundle) post(path string, body any, change ...func(*http.Request)) answer {
	b.t.Helper()
	return b.call(b.request(http.MethodPost, path, body, append([]func(*http.Request){b.anybody}, change...)...))
}

// Pins bodies that are too long, and those that hide their length.
func TestBodiesThatAreTooLarge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	long := `{"instance_id":"` + strings.Repeat("x", 64<<10) + `"}`
	for path := range posts {
		b.post(path, long).problem(http.StatusRequestEntityTooLarge, "body_too_large")
		b.post(path, long, func(r *http.Request) { r.ContentLength = -1 }).problem(http.StatusRequestEntityTooLarge, "body_too_large")
	}
	just := `{"instance_id":"nasty"` + strings.Repeat(" ", 64<<10-len(`{"instance_id":"nasty"}`)) + "}"
	b.post("/fleet/heartbeat", just).problem(http.StatusNotFound, "instance_unknown")
}

// Pins bodies that say that they are no JSON, and are read all the same; or the other way round.
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

// Pins what strangers send instead of a body: every route refuses it by itself, with nothing stored and nothing broken.
func TestNastyBodies(t *testing.T) {
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

// Pins fields that Go, Postgres or a terminal cannot hold: each is refused by name.
func TestNastyFields(t *testing.T) {
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

// refused sends a good body with one bad value, written as it is.
func (b *bundle) refused(path, field string, good fields, value string) {
	b.t.Helper()
	const here = "@@here@@"
	text := bytes.NewBuffer(nil)
	body := b.request(http.MethodPost, path, good.with(field, here)).Body
	_, err := text.ReadFrom(body)
	require.NoError(b.t, err)
	nasty := strings.Replace(text.String(), `"`+here+`"`, value, 1)
	a := b.post(path, nasty)
	if path == "/resolve" && a.status == http.StatusNotFound {
		return // a handle is opaque: one that was never given out is unknown
	}
	require.Equal(b.t, []string{field}, a.named(), "%s", nasty)
}

// rows counts what is stored, keys and the history of keys aside.
func rows(b *bundle) int {
	b.t.Helper()
	return count(b, `SELECT (SELECT count(*) FROM instances) + (SELECT count(*) FROM instance_directory) + (SELECT count(*) FROM sessions)
		+ (SELECT count(*) FROM seats) + (SELECT count(*) FROM idempotency_keys) + (SELECT count(*) FROM redeemed_tokens)
		+ (SELECT count(*) FROM session_history) + (SELECT count(*) FROM seat_history) + (SELECT count(*) FROM events WHERE kind NOT LIKE 'key.%')`)
}

// Pins paths and methods that nobody serves: problems too, and never a page of gin's.
func TestWhatIsNotServed(t *testing.T) {
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

// Pins a request id that is lost on its way, or taken over where it could forge a line in the log.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.matchmake("alice", duel, header("X-Request-Id", "mine-1"))
	require.Equal(t, "mine-1", a.header.Get("X-Request-Id"))
	require.Equal(t, "mine-1", a.problem(http.StatusConflict, "region_unknown")["request_id"])
	require.Contains(t, b.log.String(), `"request_id":"mine-1"`)
	require.NotEqual(t, `x" level=ERROR`, b.get("/healthz", header("X-Request-Id", `x" level=ERROR`)).header.Get("X-Request-Id"))
}

// Pins a replica that takes on more calls than it can answer, and one whose health hides behind them.
func TestCallsInFlightAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.MaxInFlight = 1 })
	b.register("a")
	release := b.hold("instance_directory")
	slow := make(chan answer, 1)
	go func() { slow <- b.fleet("register", registration("b")) }()
	b.untilBlocked(1)
	a := b.fleet("register", registration("c"))
	a.problem(http.StatusServiceUnavailable, "unavailable")
	require.NotEmpty(t, a.header.Get("Retry-After"))
	b.get("/readyz").ok(http.StatusOK)
	b.get("/.well-known/jwks.json").ok(http.StatusOK)
	release()
	(<-slow).ok(http.StatusOK)
	b.matchmake("alice", duel).ok(http.StatusOK)
}

// Pins players in masses who keep heartbeats out, and refusals that cost as much as answers.
func TestPlayersDoNotKeepGameServersOut(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.MaxInFlight = 1 })
	b.register("a")
	release := b.hold("seats")
	slow := make(chan answer, 1)
	go func() { slow <- b.matchmake("alice", duel) }()
	b.untilBlocked(1)
	a := b.matchmake("bob", duel)
	a.problem(http.StatusServiceUnavailable, "unavailable")
	require.NotEmpty(t, a.header.Get("Retry-After"))
	require.NotContains(t, b.log.String(), a.header.Get("X-Request-Id"), "refused before anybody looked at it")
	b.fleet("heartbeat", fields{"instance_id": "nobody"}).problem(http.StatusNotFound, "instance_unknown")
	release()
	(<-slow).ok(http.StatusOK)
	b.matchmake("bob", duel).ok(http.StatusOK)
}

// Pins a caller who keeps a connection and a buffer for as long as it likes, by never sending the rest.
func TestABodyThatNeverComes(t *testing.T) {
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

package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/dbtest"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/server/keyring"
	"github.com/lattice-director/director/token"
)

// TestMain fails if a stopped replica leaves goroutines running.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/lattice-director/director/internal/pglocal.(*process).run"))
}

const fleetToken = "the secret of the fleet"

// config holds the settings that a test may change before its replica starts.
type config struct {
	db       db.Config
	schedule keyring.Schedule
	server.Options
	nobody bool // no key set and no fleet token: no routes for players and game servers
}

// bundle is a replica on a database of its own, with clients.
type bundle struct {
	t      *testing.T
	store  *db.Store
	keys   *keyring.Keeper
	server *server.Server
	log    *logBuffer
	issuer issuer
	client *http.Client
	config config
	stop   func() // stops the replica and waits for its end
}

// setup starts a replica that is ready.
func setup(t *testing.T, change ...func(*config)) *bundle {
	t.Helper()
	b := start(t, dbtest.New(t), change...)
	require.NoError(t, b.store.ReadClock(t.Context()))
	require.NoError(t, b.keys.Refresh(t.Context()))
	return b
}

// start starts a replica on a database that may be unavailable.
func start(t *testing.T, url string, change ...func(*config)) *bundle {
	t.Helper()
	b := &bundle{t: t, log: new(logBuffer), issuer: newIssuer(t)}
	b.config = defaults(t, url)
	for _, c := range change {
		c(&b.config)
	}
	b.open()
	b.run()
	b.client = newClient(t)
	return b
}

// defaults returns settings with long timeouts, because a machine that runs all tests at once is slow.
func defaults(t *testing.T, url string) config {
	t.Helper()
	return config{
		db:      db.Config{URL: url, MaxConns: 8, BatchTimeout: time.Minute, HoldTimeout: time.Minute},
		Options: server.Options{FleetTokens: []string{fleetToken}, Listener: listen(t), CallTimeout: 30 * time.Second, ReadyTimeout: 30 * time.Second},
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return l
}

func (b *bundle) open() {
	b.t.Helper()
	log := slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.config.db.Log, b.config.Log = log, log
	var err error
	b.store, err = db.Open(b.t.Context(), b.config.db)
	require.NoError(b.t, err)
	b.t.Cleanup(b.store.Close)
	sealer, err := token.NewSealer(bytes.Repeat([]byte{7}, token.KEKBytes))
	require.NoError(b.t, err)
	b.keys = keyring.New(b.store, sealer, token.AlgEdDSA, b.config.schedule)

	o := b.config.Options
	o.Store, o.Keys = b.store, b.keys
	if b.config.nobody {
		o.FleetTokens = nil
	}
	if o.Access.Keys == nil && !b.config.nobody {
		o.Access.Keys = b.issuer.source
	}
	b.server, err = server.New(o)
	require.NoError(b.t, err)
}

// run runs the replica until the test ends.
func (b *bundle) run() {
	b.t.Helper()
	require.NoError(b.t, b.server.Listen(b.t.Context()))
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- b.server.Run(ctx) }()
	b.stop = sync.OnceFunc(func() {
		stop()
		require.NoError(b.t, <-stopped)
	})
	b.t.Cleanup(b.stop)
}

// answer is the answer to a call.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
}

// call sends a request and reads the answer.
func (b *bundle) call(r *http.Request) answer {
	b.t.Helper()
	res, err := b.client.Do(r)
	require.NoError(b.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(b.t, err)
	return answer{b.t, res.StatusCode, res.Header, body}
}

func (b *bundle) request(method, path string, body any, change ...func(*http.Request)) *http.Request {
	b.t.Helper()
	var content io.Reader
	switch v := body.(type) {
	case nil:
	case string:
		content = bytes.NewBufferString(v)
	case []byte:
		content = bytes.NewReader(v)
	default:
		text, err := json.Marshal(v)
		require.NoError(b.t, err)
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, "http://"+b.server.Addr().String()+path, content)
	require.NoError(b.t, err)
	if content != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, c := range change {
		c(r)
	}
	return r
}

func (b *bundle) get(path string, change ...func(*http.Request)) answer {
	b.t.Helper()
	return b.call(b.request(http.MethodGet, path, nil, change...))
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// fields is a JSON object.
type fields map[string]any

func (f fields) with(name string, value any) fields {
	changed := fields{name: value}
	for k, v := range f {
		if k != name {
			changed[k] = v
		}
	}
	return changed
}

// ok requires the status and returns the JSON object of the answer.
func (a answer) ok(status int) fields {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "%s", a.body)
	var f fields
	if len(a.body) > 0 {
		require.NoError(a.t, json.Unmarshal(a.body, &f))
	}
	return f
}

// problem requires a problem document with the status and code, and returns it.
func (a answer) problem(status int, code string) fields {
	a.t.Helper()
	f := a.ok(status)
	require.Equal(a.t, "application/problem+json", a.header.Get("Content-Type"))
	require.Equal(a.t, code, f["code"], "%s", a.body)
	return f
}

// named requires a 400 and returns the fields that it names.
func (a answer) named() (names []string) {
	a.t.Helper()
	f := a.problem(http.StatusBadRequest, "invalid_request")
	for _, e := range f["errors"].([]any) {
		names = append(names, e.(map[string]any)["field"].(string))
	}
	return names
}

// fleet makes a call of a game server.
func (b *bundle) fleet(path string, body any, change ...func(*http.Request)) answer {
	b.t.Helper()
	return b.call(b.request(http.MethodPost, "/fleet/"+path, body, append([]func(*http.Request){header("X-Fleet-Token", fleetToken)}, change...)...))
}

// as adds a player's access token to a request.
func (b *bundle) as(sub string) func(*http.Request) {
	return header("Authorization", "Bearer "+b.issuer.token(fields{"sub": sub}))
}

func (b *bundle) matchmake(sub string, body any, change ...func(*http.Request)) answer {
	b.t.Helper()
	return b.call(b.request(http.MethodPost, "/matchmake", body, append([]func(*http.Request){b.as(sub)}, change...)...))
}

func (b *bundle) resolve(sub string, handle any, change ...func(*http.Request)) answer {
	b.t.Helper()
	return b.call(b.request(http.MethodPost, "/resolve", fields{"session_handle": handle}, append([]func(*http.Request){b.as(sub)}, change...)...))
}

func (b *bundle) session(sub, id string) answer {
	b.t.Helper()
	return b.get("/sessions/"+id, b.as(sub))
}

// duel is a matchmake request for the region and mode of registration.
var duel = fields{"region": "eu", "mode": "duel"}

func registration(id string) fields {
	return fields{
		"instance_id": id, "endpoint": id + ".example:7777", "region": "eu", "modes": []string{"duel"}, "capacity": 64,
		"boot_id": "boot-1", "reports_seats": true,
	}
}

// register registers an instance and returns the fields that identify it in later calls.
func (b *bundle) register(id string, change ...func(fields)) fields {
	b.t.Helper()
	body := registration(id)
	for _, c := range change {
		c(body)
	}
	f := b.fleet("register", body).ok(http.StatusOK)
	return fields{"instance_id": id, "incarnation": f["incarnation"]}
}

// seat reserves a seat for the player and resolves it.
func (b *bundle) seat(sub string) (session, resolved fields) {
	b.t.Helper()
	session = b.matchmake(sub, duel).ok(http.StatusOK)
	return session, b.resolve(sub, session["session_handle"]).ok(http.StatusOK)
}

func (b *bundle) exec(sql string, args ...any) {
	b.t.Helper()
	_, err := b.store.Pool().Exec(b.t.Context(), sql, args...)
	require.NoError(b.t, err)
}

func count(b *bundle, sql string, args ...any) (n int) {
	b.t.Helper()
	require.NoError(b.t, b.store.Pool().QueryRow(b.t.Context(), sql, args...).Scan(&n))
	return n
}

// steady turns on the expiry of leases, as if replicas had been serving for an hour.
func (b *bundle) steady() {
	b.t.Helper()
	b.exec("UPDATE fleet_clock SET pulse_at = now(), steady_since = now() - interval '1 hour'")
}

// expire moves the last heartbeat of an instance back, so that its lease has expired.
func (b *bundle) expire(id string) {
	b.t.Helper()
	b.steady()
	b.exec("UPDATE instance_leases SET heartbeat_at = heartbeat_at - interval '1 minute' WHERE instance_id = $1", id)
}

// How long, and in which interval, eventually checks its condition.
const (
	wait = 20 * time.Second
	tick = 10 * time.Millisecond
)

package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/dev/devlogin"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/migrations"
)

// login is an issuer of access tokens, and the settings with which a replica trusts it.
func login(t *testing.T) devlogin.Issuer {
	t.Helper()
	return must.Get(devlogin.New())(t)
}

func bearer(t *testing.T, i devlogin.Issuer, sub string) string {
	t.Helper()
	raw, _, err := i.Mint(devlogin.Claims{Subject: sub}, 5*60*1e9)
	require.NoError(t, err)
	return "Authorization: Bearer " + raw
}

type object map[string]any

var myServer = object{"instance_id": "eu-1", "endpoint": "127.0.0.1:7777", "region": "eu", "modes": []string{"duel"}, "capacity": 8}

// Pins a replica that starts with settings that cannot work, or whose error does not name the missing one.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	i := login(t)
	full := serving(url, i.JWKS())
	without := func(name string) (rest []string) {
		for _, pair := range full {
			if !strings.HasPrefix(pair, name+"=") {
				rest = append(rest, pair)
			}
		}
		return rest
	}
	stale := dbtest.New(t)
	_, err := migrations.Down(t.Context(), stale, 1, nil)
	require.NoError(t, err)
	unusable := filepath.Join(t.TempDir(), "jwks.json")
	require.NoError(t, os.WriteFile(unusable, []byte(`{"keys":[{"kty":"future","kid":"new"}]}`), 0o600))
	for name, c := range map[string]struct {
		environ []string
		says    string
	}{
		"unusable key file": {append(full, "DIRECTOR_AUTH_JWKS="+unusable), `no usable key: key "new": it cannot be read, or is of an unknown type`},
		"short secret":      {append(full, "DIRECTOR_FLEET_TOKEN=short"), "16 characters or more"},
		"no KEK":            {without("DIRECTOR_KEY_ENCRYPTION_KEY"), "set DIRECTOR_KEY_ENCRYPTION_KEY"},
		"no key set":        {without("DIRECTOR_AUTH_JWKS"), "set DIRECTOR_AUTH_JWKS"},
		"bad key set":       {append(full, `DIRECTOR_AUTH_JWKS={"keys":[]}`), "DIRECTOR_AUTH_JWKS: "},
		"key set not there": {append(full, "DIRECTOR_AUTH_JWKS=/nowhere/jwks.json"), "DIRECTOR_AUTH_JWKS: "},
		"plain key set":     {append(full, "DIRECTOR_AUTH_JWKS=http://login.example/jwks"), "DIRECTOR_AUTH_JWKS: "},
		"no database":       {without("DATABASE_URL"), "set DATABASE_URL"},
		"keys of Rivalis":   {append(full, "FLEET_PORT=7350"), "set DIRECTOR_ORCHESTRATOR_ADMIN_KEYS"},
		"open tickets":      {append(full, "DIRECTOR_GRPC_ADDR=:0"), "anybody who reaches :0 could read and change all tickets: set DIRECTOR_OM_TOKENS"},
		"tickets over REST": {append(full, "DIRECTOR_GRPC_ADDR=127.0.0.1:0", "DIRECTOR_ADDR=:0"), "--om-open"},
		"names, and no CA":  {append(full, "DIRECTOR_GRPC_ADDR=127.0.0.1:0", "DIRECTOR_OM_CLIENTS=lobby"), "set DIRECTOR_OM_CLIENT_CA, too"},
		"half of mTLS":      {append(full, "DIRECTOR_GRPC_ADDR=127.0.0.1:0", "DIRECTOR_OM_CLIENT_CA=ca.pem"), "set DIRECTOR_TLS_CERT and DIRECTOR_TLS_KEY with"},
		"half of TLS":       {append(full, "DIRECTOR_TLS_CERT=cert.pem"), "set DIRECTOR_TLS_CERT and DIRECTOR_TLS_KEY, or neither"},
		"no schema":         {serving(dbtest.Empty(t), i.JWKS()), "run 'director migrate up'"},
		"old schema":        {serving(stale, i.JWKS()), "run 'director migrate up'"},
	} {
		r := director.Run(t, c.environ, "", "serve")
		require.ErrorContains(t, r.Err, c.says, name)
		require.Contains(t, r.Stderr, "director: ", name)
		require.NotContains(t, r.Stderr, testFleetToken)
	}
	require.ErrorContains(t, director.Run(t, serving(dbtest.Empty(t), "x"), "", "work").Err, "run 'director migrate up'")
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	inUse := director.Run(t, full, "", "serve", "--addr", taken.Listener.Addr().String())
	require.ErrorContains(t, inUse.Err, "choose another address with --addr")
}

func TestServeAnOpenFleetWhenToldSo(t *testing.T) {
	t.Parallel()
	r := start(t, env("DATABASE_URL="+dbtest.New(t), "DIRECTOR_KEY_ENCRYPTION_KEY="+testKEK, "DIRECTOR_AUTH_JWKS="+login(t).JWKS()),
		"serve", "--allow-open-fleet", "--addr", "127.0.0.1:0")
	status, body := clitest.Post(t, r.api()+"/fleet/register", "", myServer)
	require.Equal(t, http.StatusOK, status, body)
	require.NoError(t, r.stop())
}

// Pins a replica for Open Match alone that requires settings of players and game servers.
func TestServeOpenMatchAlone(t *testing.T) {
	t.Parallel()
	r := start(t, env("DATABASE_URL="+dbtest.New(t), "DIRECTOR_KEY_ENCRYPTION_KEY="+testKEK, "DIRECTOR_GRPC_ADDR=127.0.0.1:0"), "serve", "--addr", "127.0.0.1:0")
	status, body := clitest.Post(t, r.api()+"/v1/frontendservice/tickets", "", map[string]any{"ticket": map[string]any{}})
	require.Equal(t, http.StatusOK, status, body)
	status, body = clitest.Post(t, r.api()+"/fleet/register", "", myServer)
	require.Equal(t, http.StatusUnauthorized, status, "only servers that the director has started may register: %s", body)
	require.NoError(t, r.stop())
	for _, said := range []string{"only game servers with a credential of their own are served", "players are not served"} {
		r.log.AwaitLine(t, said)
	}
}

// Pins a replica for Rivalis alone that requires settings of players and game servers, or a key in its log.
func TestServeRivalisAlone(t *testing.T) {
	t.Parallel()
	const agentKey, adminKey = "an-agent-key-for-tests-0123456789", "an-admin-key-for-tests-0123456789"
	r := start(t, env("DATABASE_URL="+dbtest.New(t), "DIRECTOR_KEY_ENCRYPTION_KEY="+testKEK, "FLEET_HOST=127.0.0.1", "FLEET_PORT=0",
		"FLEET_AGENT_KEY="+agentKey, "FLEET_ADMIN_KEY="+adminKey), "serve", "--addr", "127.0.0.1:0")
	rivalis := "http://" + r.logged("listening", "orchestrator_addr")
	require.Eventually(t, func() bool {
		status, _ := clitest.Get(t, rivalis+"/readyz")
		return status == http.StatusOK
	}, deadline, tick)
	status, body := clitest.Post(t, rivalis+"/v1/rooms", "Authorization: Bearer "+adminKey, object{"type": "match"})
	require.Equal(t, http.StatusConflict, status, body)
	status, body = clitest.Post(t, r.api()+"/fleet/register", "", myServer)
	require.Equal(t, http.StatusUnauthorized, status, "only servers that the director has started may register: %s", body)
	require.NoError(t, r.stop())
	require.NotContains(t, r.log.String(), agentKey)
	require.NotContains(t, r.log.String(), adminKey)
}

// Pins a replica whose Open Match server does not follow its settings.
func TestServeOpenMatch(t *testing.T) {
	t.Parallel()
	const secret = "a-token-of-the-lobby"
	url := dbtest.New(t)
	r := start(t, serving(url, login(t).JWKS(), "DIRECTOR_GRPC_ADDR=127.0.0.1:0,127.0.0.1:0", "DIRECTOR_OM_TOKENS=frontend="+secret,
		"DIRECTOR_OM_REGION=moon"), "serve")
	addrs := strings.Split(r.logged("listening", "grpc_addr"), ",")
	require.Len(t, addrs, 2)
	conn, err := net.Dial("tcp", addrs[1])
	require.NoError(t, err)
	require.NoError(t, conn.Close())

	path := r.api() + "/v1/frontendservice/tickets"
	status, _ := clitest.Post(t, path, "", object{"ticket": object{}})
	require.Equal(t, http.StatusUnauthorized, status)
	status, body := clitest.Post(t, path, "Authorization: Bearer "+secret, object{"ticket": object{"extensions": object{}}})
	require.Equal(t, http.StatusOK, status, body)
	status, body = clitest.Post(t, path, "Authorization: Bearer "+secret, object{"ticket": object{"search_fields": object{"tags": []string{strings.Repeat("x", 70_000)}}}})
	require.Equal(t, http.StatusBadRequest, status, body)
	require.Contains(t, body, "more than the 65536")
	status, _ = clitest.Post(t, r.api()+"/v1/backendservice/tickets:releaseall", "Authorization: Bearer "+secret, object{})
	require.Equal(t, http.StatusForbidden, status)
	var regions []string
	require.NoError(t, storetest.OnDatabase(t, url).Pool().QueryRow(t.Context(), "SELECT array_agg(region) FROM tickets").Scan(&regions))
	require.Equal(t, []string{"moon"}, regions)
	require.NoError(t, r.stop())
	require.NotContains(t, r.log.String(), secret)
}

// Pins a replica that does not start because Postgres starts a second later.
func TestServeStartsWithoutADatabase(t *testing.T) {
	t.Parallel()
	r := start(t, serving("postgres://u@127.0.0.1:1/d", login(t).JWKS()), "serve", "--work")
	api := r.api()
	status, _ := clitest.Get(t, api+"/healthz")
	require.Equal(t, http.StatusOK, status)
	status, body := clitest.Get(t, api+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "database")
	require.NoError(t, r.stop())
	require.Contains(t, r.log.String(), "the database is unreachable")
}

// Pins an upgrade that stops replicas of the previous release.
func TestServeRunsOnANewerSchema(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	_, err := storetest.OnDatabase(t, url).Pool().Exec(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, true)", migrations.Latest()+1)
	require.NoError(t, err)
	r := start(t, serving(url, login(t).JWKS(), "DIRECTOR_LEASE_TLL=1s"), "serve")
	r.api()
	require.NoError(t, r.stop())
	require.Contains(t, r.log.String(), "the schema is newer than this build")
	require.Contains(t, director.OK(t, env("DATABASE_URL="+url), "migrate", "status"), "of a newer release")
	require.Contains(t, r.log.String(), "DIRECTOR_LEASE_TTL", "a typo is warned about")
}

// Pins all calls of a player to an installation as it is deployed: a replica, a worker, settings in the environment.
func TestServeAndWork(t *testing.T) {
	t.Parallel()
	url, i := dbtest.New(t), login(t)
	w := start(t, serving(url, i.JWKS(), "DIRECTOR_METRICS_ADDR=127.0.0.1:0"), "work")
	metrics := "http://" + w.logged("working", "metrics")
	r := start(t, serving(url, i.JWKS(), "DIRECTOR_MODE_DUEL=2", "DIRECTOR_METRICS_ADDR=127.0.0.1:0"), "serve")
	api := r.api()

	status, body := clitest.Post(t, api+"/fleet/register", fleetHeader, myServer)
	require.Equal(t, http.StatusOK, status, body)
	status, _ = clitest.Post(t, api+"/fleet/register", "X-Fleet-Token: wrong", myServer)
	require.Equal(t, http.StatusUnauthorized, status)
	anna := bearer(t, i, "anna")
	status, body = clitest.Post(t, api+"/matchmake", anna, object{"region": "eu", "mode": "duel"})
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, `"max_players":2`)
	handle := clitest.Field(t, body, "session_handle")
	require.Eventually(t, func() bool {
		status, body = clitest.Post(t, api+"/resolve", anna, object{"session_handle": handle})
		return status == http.StatusOK // once the first key is made
	}, deadline, tick)

	require.Eventually(t, func() bool {
		_, page := clitest.Get(t, metrics+"/metrics")
		return strings.Contains(page, `director_worker_runs_total{loop="history",result="ok"} 1`)
	}, deadline, tick)
	require.NoError(t, w.stop())
	require.NoError(t, r.stop())
	for _, log := range []string{w.log.String(), r.log.String()} {
		for _, secret := range []string{testFleetToken, testKEK, testLobbyToken, handle, strings.TrimPrefix(anna, "Authorization: Bearer "), clitest.Field(t, body, "session_token")} {
			require.NotContains(t, log, secret)
		}
	}
}

// Pins calls and answers that are lost when a replica stops.
func TestServeFinishesCallsUnderWay(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	s := storetest.OnDatabase(t, url)
	r := start(t, serving(url, login(t).JWKS(), "DIRECTOR_CALL_TIMEOUT=1m", "DIRECTOR_SHUTDOWN_TIMEOUT=1m"), "serve")
	api := r.api()

	holder, err := s.Pool().BeginTx(t.Context(), pgx.TxOptions{})
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), "LOCK TABLE instance_directory IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	answered := make(chan int, 1)
	go func() {
		req, _ := http.NewRequest(http.MethodPost, api+"/fleet/register", strings.NewReader(
			`{"instance_id":"eu-1","endpoint":"127.0.0.1:7777","region":"eu","modes":["duel"],"capacity":8}`))
		req.Header.Set("X-Fleet-Token", testFleetToken)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			answered <- 0
			return
		}
		_ = resp.Body.Close()
		answered <- resp.StatusCode
	}()
	require.Eventually(t, func() bool {
		var waiting int
		err := s.Pool().QueryRow(t.Context(), `SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
			WHERE NOT l.granted AND d.datname = current_database()`).Scan(&waiting)
		return err == nil && waiting > 0
	}, deadline, tick)

	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	r.log.AwaitLine(t, `"msg":"draining"`)
	require.NoError(t, holder.Rollback(t.Context()))
	require.Equal(t, http.StatusOK, <-answered)
	require.NoError(t, <-stopped)
	require.Contains(t, r.log.String(), `"clean":true`)
}

// Pins spans that are lost when the process ends, and secrets in spans.
func TestTraces(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var sent strings.Builder
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		mu.Lock()
		defer mu.Unlock()
		sent.WriteString(req.URL.Path + " ")
		sent.Write(body)
	}))
	defer collector.Close()
	url, i := dbtest.New(t), login(t)
	r := start(t, serving(url, i.JWKS(), "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL+"/", "DIRECTOR_MODE_DUEL=2",
		"DIRECTOR_GRPC_ADDR=127.0.0.1:0", "DIRECTOR_OM_TOKENS="+testLobbyToken), "serve")
	api := r.api()
	clitest.Post(t, api+"/fleet/register", fleetHeader, myServer)
	anna := bearer(t, i, "anna")
	_, body := clitest.Post(t, api+"/matchmake", anna, object{"region": "eu", "mode": "duel"})
	handle := clitest.Field(t, body, "session_handle")
	require.NotEmpty(t, handle, body)
	code, body := clitest.Post(t, api+"/v1/frontendservice/tickets", "Authorization: Bearer "+testLobbyToken, object{"ticket": object{}})
	require.Equal(t, http.StatusOK, code, body)
	require.NoError(t, r.stop())

	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"/v1/traces ", "POST /matchmake", "LockInstanceID", "openmatch.FrontendService/CreateTicket", "CreatePlainTickets", "service.name"} {
		require.Contains(t, sent.String(), want)
	}
	for _, secret := range []string{testFleetToken, testKEK, handle, strings.TrimPrefix(anna, "Authorization: Bearer ")} {
		require.NotContains(t, sent.String(), secret)
	}
}

func TestQueryNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Heartbeats", queryName("-- name: Heartbeats :many\nSELECT 1"))
	require.Equal(t, "begin", queryName("begin"))
}

// Pins escape codes and missing fields in a log that does not go to a terminal.
func TestOnlyATerminalIsATerminal(t *testing.T) {
	t.Parallel()
	require.False(t, cli.IsTerminal(io.Discard))
	file, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	require.False(t, cli.IsTerminal(file))
	require.NoError(t, file.Close())
	null := must.Get(os.OpenFile(os.DevNull, os.O_WRONLY, 0))(t)
	require.False(t, cli.IsTerminal(null), "a character device")
	require.NoError(t, null.Close())
}

// A replica needs no secret that game servers share: each registers by an enrolment.
func TestServeWithoutASharedFleetToken(t *testing.T) {
	t.Parallel()
	environ := env("DATABASE_URL="+dbtest.New(t), "DIRECTOR_KEY_ENCRYPTION_KEY="+testKEK, "DIRECTOR_AUTH_JWKS="+login(t).JWKS())
	r := start(t, environ, "serve", "--addr", "127.0.0.1:0")
	status, body := clitest.Post(t, r.api()+"/fleet/register", "X-Fleet-Token: "+testFleetToken, myServer)
	require.Equal(t, http.StatusUnauthorized, status, body)
	made := clitest.Read[newEnrolmentLine](t, director, environ, "enrolments", "create", "--region", "eu", "--name", "a", "--max-servers", "1")
	status, body = clitest.Post(t, r.api()+"/fleet/register", "X-Fleet-Token: "+made.Token, myServer)
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, `"credential"`)
	require.NoError(t, r.stop())
}

// Pins a worker that begins to work although its port for metrics is taken, and ends in the middle of it.
func TestAWorkerListensBeforeItWorks(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	r := director.Run(t, env("DATABASE_URL="+s.URL, "DIRECTOR_KEY_ENCRYPTION_KEY="+testKEK), "", "work",
		"--metrics-addr", taken.Listener.Addr().String())
	require.ErrorContains(t, r.Err, "choose another address with --metrics-addr")
	require.Empty(t, storetest.Values[string](s, "SELECT loop FROM ops.worker_loops"))
	require.NotContains(t, r.Stderr, "failing")
}

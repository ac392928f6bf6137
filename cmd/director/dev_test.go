package main

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/testkit/agents"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/logtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/programtest"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/server/realtime/realtimetest"
	"github.com/lattice-director/director/token"
)

// The timeout is for a busy machine: on an idle one each wait takes milliseconds.
const (
	deadline = 30 * time.Second
	tick     = 5 * time.Millisecond
)

// otherKEK is a key-encryption key that is neither testKEK nor that of a data directory.
const otherKEK = "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="

// scratch returns a data directory that Postgres can use whichever user runs the test.
func scratch(t *testing.T) string {
	t.Helper()
	return filepath.Join(programtest.PostgresDir(t), "data")
}

// devProcess is a process of `director dev`, in a process group of its own as in a shell.
type devProcess struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *logtest.Buffer
	stderr *logtest.Buffer
	over   chan struct{} // closed when the process has ended
	err    error         // of the process; valid once over is closed
}

func startDev(t *testing.T, data string, more ...string) *devProcess {
	t.Helper()
	p := &devProcess{t: t, stdout: &logtest.Buffer{}, stderr: &logtest.Buffer{}, over: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0], append([]string{"dev", "--data", data, "--addr", "127.0.0.1:0", "--metrics-addr",
		"127.0.0.1:0", "--orchestrator-addr", "127.0.0.1:0",
		"--realtime-addr", "127.0.0.1:0", "--realtime-control-addr", "127.0.0.1:0", "--console-addr", "127.0.0.1:0"},
		more...)...)
	p.cmd.Env = []string{asProgram + "=1", "PATH=" + os.Getenv("PATH"), pglocal.EnvBinDir + "=" + os.Getenv(pglocal.EnvBinDir)}
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, p.cmd.Start())
	go func() {
		p.err = p.cmd.Wait()
		p.stdout.End()
		p.stderr.End()
		close(p.over)
	}()
	t.Cleanup(func() {
		select {
		case <-p.over:
		default:
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		}
	})
	return p
}

// api waits for the welcome text, and returns the URL of the API.
func (p *devProcess) api() string {
	p.t.Helper()
	defer func() {
		if p.t.Failed() {
			p.t.Log(p.stderr.String())
		}
	}()
	return strings.Fields(p.stdout.AwaitLine(p.t, "  API "))[1]
}

// interrupt does what Ctrl-C does: the terminal sends the signal to the whole process group.
func (p *devProcess) interrupt() {
	p.t.Helper()
	require.NoError(p.t, syscall.Kill(-p.cmd.Process.Pid, syscall.SIGINT))
	<-p.over
	require.NoError(p.t, p.err, p.stderr.String())
}

// postgresGone waits until the postmaster of a data directory has ended.
func postgresGone(t *testing.T, data string) {
	t.Helper()
	require.Eventually(t, func() bool {
		pid, err := os.ReadFile(filepath.Join(data, "data", "postmaster.pid"))
		if os.IsNotExist(err) {
			return true
		}
		number, _, _ := strings.Cut(string(pid), "\n")
		_, err = os.Stat("/proc/" + number)
		return os.IsNotExist(err)
	}, deadline, tick)
}

// Pins the first steps of a new user: one command, a server, a player, a token that verifies. After Ctrl-C and after a
// crash all data still exists, and no Postgres is left running.
func TestDev(t *testing.T) {
	t.Parallel()
	data := scratch(t)
	first := startDev(t, data)
	api := first.api()
	status, body := clitest.Get(t, api+"/readyz")
	require.Equal(t, http.StatusOK, status, body)

	second := startDev(t, data)
	<-second.over
	require.Error(t, second.err)
	require.Contains(t, second.stderr.String(), "another 'director dev' runs in "+data)

	status, body = clitest.Post(t, api+"/fleet/register", "", object{
		"instance_id": "my-server", "endpoint": "127.0.0.1:7777", "region": "local", "modes": []string{"duel"},
		"capacity": 64})
	require.Equal(t, http.StatusOK, status, body)
	alice := "Authorization: Bearer " + strings.TrimSpace(director.OK(t, env(), "token", "mint", "--sub", "alice",
		"--data", data))
	status, body = clitest.Post(t, api+"/matchmake", alice, object{"region": "local", "mode": "duel"})
	require.Equal(t, http.StatusOK, status, body)
	session := clitest.Field(t, body, "session_id")
	status, body = clitest.Post(t, api+"/resolve", alice,
		object{"session_handle": clitest.Field(t, body, "session_handle")})
	require.Equal(t, http.StatusOK, status, body)
	verifies(t, api, clitest.Field(t, body, "session_token"), session)
	require.Contains(t, lineWith(t, first.hints(data), "Play in a browser"), "make browser DATA="+data)
	require.Equal(t, pageOrigins[0], allowedOrigin(t, api, pageOrigins[0]))
	require.Empty(t, allowedOrigin(t, api, "https://evil.example"))
	status, _ = clitest.Get(t, strings.Fields(lineWith(t, first.hints(data), "  Metrics "))[1])
	require.Equal(t, http.StatusOK, status)

	// Other commands find the database through the data directory.
	require.Len(t, clitest.Read[[]opsview.Instance](t, director, env(), "fleet", "list", "--data", data), 1)
	require.True(t, clitest.Read[[]migrationLine](t, director, env(), "migrate", "status", "--data", data)[0].Applied)
	keys := clitest.Read[[]opsview.Key](t, director, env(), "keys", "list", "--data", data)
	require.Len(t, keys, 2)
	require.Contains(t, director.OK(t, env(), "keys", "rotate", "--data", data), "No key is due")

	require.Equal(t, []providerCheck{{Provider: "manual"}, {Provider: "process", Servers: new(int)}},
		clitest.Read[[]providerCheck](t, director, env(), "providers", "check", "--data", data))
	first.isQuiet()
	first.servesTheConsole()
	first.servesRivalis(data)
	first.servesTheLobby(data)

	first.interrupt()
	postgresGone(t, data)
	require.ErrorContains(t, director.Run(t, env(), "", "fleet", "list", "--data", data).Err,
		"no 'director dev' runs in")
	require.ErrorContains(t, director.Run(t, env(), "", "dev", "hints", "--data", data).Err,
		"no 'director dev' runs in")
	require.ErrorContains(t, director.Run(t, env(), "", "providers", "list", "--data", data).Err,
		"there is no provider")

	again := startDev(t, data, "--key-encryption-key", testKEK)
	again.api()
	require.Equal(t, session, clitest.Read[[]opsview.Session](t, director, env(), "sessions", "list", "--data",
		data)[0].Session)
	require.Equal(t, keys, clitest.Read[[]opsview.Key](t, director, env(), "keys", "list", "--data", data))
	// Keys of settings, of `dev` and of commands beside it, replace that of the directory nowhere.
	for _, environ := range [][]string{env(), env("DIRECTOR_KEY_ENCRYPTION_KEY=" + otherKEK)} {
		director.OK(t, environ, "keys", "rotate", "--force", "--data", data)
	}
	for _, key := range clitest.Read[[]opsview.Key](t, director, env(), "keys", "list", "--data", data) {
		require.Equal(t, keys[0].SealedBy, key.SealedBy)
	}

	require.NoError(t, again.cmd.Process.Kill())
	<-again.over
	postgresGone(t, data)
	afterCrash := startDev(t, data)
	afterCrash.api()
	require.Len(t, clitest.Read[[]opsview.Session](t, director, env(), "sessions", "list", "--data", data), 1)
	afterCrash.interrupt()
	postgresGone(t, data)
}

// hints returns what director dev hints prints.
func (p *devProcess) hints(data string) string {
	p.t.Helper()
	return director.OK(p.t, env(), "dev", "hints", "--data", data)
}

// lineWith returns the line of a text that has a word.
func lineWith(t *testing.T, text, word string) string {
	t.Helper()
	for l := range strings.Lines(text) {
		if strings.Contains(l, word) {
			return l
		}
	}
	require.Fail(t, "no line has the word", "%q in %s", word, text)
	return ""
}

// isQuiet requires a line for all migrations, three for the addresses and one for the rest, and no log.
func (p *devProcess) isQuiet() {
	p.t.Helper()
	p.stdout.AwaitLine(p.t, "dev hints")
	lines := strings.FieldsFunc(p.stdout.String(), func(r rune) bool { return r == '\n' })
	require.Len(p.t, lines, 6, "%s", lines)
	require.Regexp(p.t, "^Created the tables: [0-9]+ migrations in ", lines[0])
	require.Empty(p.t, p.stderr.String())
}

// allowedOrigin asks as a browser does whether a page may call matchmake, and returns the origin that may.
func allowedOrigin(t *testing.T, api, page string) string {
	t.Helper()
	return webtest.Send(t, http.DefaultClient, webtest.Request(t, http.MethodOptions, api+"/matchmake", nil,
		"Origin", page, "Access-Control-Request-Method", http.MethodPost)).Header.Get("Access-Control-Allow-Origin")
}

// servesTheConsole logs in with the link of the welcome text, and looks at the fleet.
func (p *devProcess) servesTheConsole() {
	p.t.Helper()
	link, secret, found := strings.Cut(strings.Fields(p.stdout.AwaitLine(p.t, "  Console "))[1], "/login#token=")
	require.True(p.t, found)
	jar := must.Get(cookiejar.New(nil))(p.t)
	browser := &http.Client{Jar: jar}
	// follows the redirect to the fleet
	response, err := browser.PostForm(link+"/login", url.Values{"token": {secret}, "next": {"/fleet"}})
	require.NoError(p.t, err)
	defer response.Body.Close()
	body := must.Get(io.ReadAll(response.Body))(p.t)
	require.Contains(p.t, string(body), "dev, operator")
	require.Contains(p.t, string(body), "my-server")
}

// servesTheLobby joins a room, with the address and the token command of the welcome text.
func (p *devProcess) servesTheLobby(data string) {
	p.t.Helper()
	hints := p.hints(data)
	require.Contains(p.t, lineWith(p.t, hints, "  ada=$("),
		"projects token demo-project demo-key --sub ada --data "+data+")")
	token := strings.TrimSpace(director.OK(p.t, env(), "projects", "token", "demo-project", "demo-key", "--sub", "ada",
		"--data", data))
	client := realtimetest.Dial(p.t, realtimetest.Options{URL: strings.Fields(lineWith(p.t, hints, "  Lobby "))[1],
		Token: token})
	client.Join(p.t, "lobby", "", nil)
	client.Close()
}

// servesRivalis connects a game server, with the address and the keys that the hints name.
func (p *devProcess) servesRivalis(data string) {
	p.t.Helper()
	address := strings.Fields(lineWith(p.t, p.hints(data), "  Rivalis "))[1]
	key := func(name string) string {
		text := must.Get(os.ReadFile(filepath.Join(data, name)))(p.t)
		return strings.TrimSpace(string(text))
	}
	admin := key("admin-key")
	a := agents.New(agents.Config{URL: strings.Replace(address, "http", "ws", 1), Key: key("agent-key"), Name: "eu0",
		EndpointURL: "wss://eu0.example", RoomTypes: []string{"match"}})
	defer background.RunUntilCanceled(p.t, a.Run)()
	require.Eventually(p.t, func() bool {
		status, _ := clitest.Post(p.t, address+"/v1/rooms", "Authorization: Bearer "+admin, object{"type": "match"})
		return status == http.StatusCreated // and 409 before the game server is listed
	}, deadline, tick)
}

// verifies checks a session token as a game server does: with the published keys only.
func verifies(t *testing.T, api, raw, session string) {
	t.Helper()
	keys := must.Get(token.NewKeySource(api+"/.well-known/jwks.json", token.SourceOptions{PlainHTTP: true}))(t)
	claims := must.Get(token.NewSessionVerifier(keys, 0).Verify(t.Context(), raw, time.Now()))(t)
	require.Equal(t, session, claims.SessionID)
	require.Equal(t, "alice", claims.Subject)
}

// Pins a `dev` that starts a Postgres although DATABASE_URL names one, or writes that one's password into the data
// directory.
func TestDevOnADatabaseOfYours(t *testing.T) {
	t.Parallel()
	data := scratch(t)
	url := dbtest.Empty(t)
	r := start(t, env("DATABASE_URL="+url, "DIRECTOR_FLEET_TOKEN="+testFleetToken), "dev", "--data", data, "--addr",
		"127.0.0.1:0", "--orchestrator-addr", "127.0.0.1:0",
		"--realtime-addr", "127.0.0.1:0", "--realtime-control-addr", "127.0.0.1:0", "--console-addr", "127.0.0.1:0",
		"--log-level", "info")
	r.stdout.AwaitLine(t, "dev hints")
	hints := director.OK(t, env(), "dev", "hints", "--data", data)
	require.Contains(t, lineWith(t, hints, "/fleet/register"), `-H "X-Fleet-Token: $DIRECTOR_FLEET_TOKEN"`)
	status, body := clitest.Post(t, r.api()+"/fleet/register", fleetHeader, myServer)
	require.Equal(t, http.StatusOK, status, body)
	require.NoError(t, r.stop())
	require.NotContains(t, r.stdout.String()+r.log.String(), testFleetToken)

	files, err := os.ReadDir(data)
	require.NoError(t, err)
	require.Len(t, files, 6, "the issuer's key, the key-encryption key, the token of the console, two keys for Rivalis and the directory of game servers, no Postgres")
}

// Pins a `dev` without a fleet token that listens on other interfaces than loopback.
func TestDevIsOpenOnThisMachineOnly(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{":8080", "0.0.0.0:8080", "[::]:8080", "192.0.2.1:8080"} {
		require.ErrorContains(t, director.Run(t, env(), "", "dev", "--data", scratch(t), "--addr", addr).Err,
			"set DIRECTOR_FLEET_TOKEN")
	}
	for _, addr := range []string{"127.0.0.1:0", "localhost:8080", "[::1]:8080"} {
		require.NoError(t, (&Config{Server: server.Options{Addr: addr}}).allowOpenFleet())
	}
	require.NoError(t, (&Config{Server: server.Options{Addr: ":8080",
		FleetTokens: []string{testFleetToken}}}).allowOpenFleet())
}

// Pins a `dev` that continues after its Postgres has ended.
func TestDevEndsWithItsPostgres(t *testing.T) {
	t.Parallel()
	data := scratch(t)
	p := startDev(t, data)
	p.api()
	pid, err := os.ReadFile(filepath.Join(data, "data", "postmaster.pid"))
	require.NoError(t, err)
	number, _, _ := strings.Cut(string(pid), "\n")
	require.NoError(t, exec.CommandContext(context.WithoutCancel(t.Context()), "kill", "-QUIT", number).Run())
	<-p.over
	require.Error(t, p.err)
	require.Contains(t, p.stderr.String(), "Postgres ended by itself")
}

// Pins a Ctrl-C during the start that leaves a Postgres running, or prints errors.
func TestDevInterruptedWhileItStarts(t *testing.T) {
	t.Parallel()
	data := scratch(t)
	p := startDev(t, data, "--log-level", "info")
	p.stderr.AwaitLine(t, `"postgres started"`)
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	<-p.over
	require.NotContains(t, p.stderr.String(), "context canceled")
	postgresGone(t, data)
}

func TestQuote(t *testing.T) {
	t.Parallel()
	require.Equal(t, "/a/b-c.d", quoteForShell("/a/b-c.d"))
	require.Equal(t, `'it'\''s here'`, quoteForShell("it's here"))
	require.Equal(t, "''", quoteForShell(""))
}

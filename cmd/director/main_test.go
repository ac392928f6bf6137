package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/logtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// asProgram is the variable with which this test binary runs as the program, for tests that need a separate process.
const asProgram = "RUN_AS_DIRECTOR"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Secrets of the tests. None of them may be printed.
const (
	testKEK        = "dGhpcyBpcyBhIHNlY3JldCBvZiAzMiBieXRlcyAhISE="
	testFleetToken = "a-fleet-token-of-tests"
	testLobbyToken = "a-lobby-token-of-tests"
)

func env(pairs ...string) []string { return append([]string{"HOME=/nonexistent"}, pairs...) }

// serving is the smallest environment that a replica needs.
func serving(url, jwks string, more ...string) []string {
	return env(append([]string{
		"DATABASE_URL=" + url, "DIRECTOR_KEY_ENCRYPTION_KEY=" + testKEK, "DIRECTOR_FLEET_TOKEN=" + testFleetToken,
		"DIRECTOR_AUTH_JWKS=" + jwks, "DIRECTOR_ADDR=127.0.0.1:0",
	}, more...)...)
}

// director is the program under test.
var director clitest.Program = Run

// running is a command that runs until stop is called.
type running struct {
	t      *testing.T
	log    *logtest.Buffer
	stdout *logtest.Buffer
	stop   func() error // stops it and returns its error
}

func start(t *testing.T, environ []string, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{t: t, log: &logtest.Buffer{}, stdout: &logtest.Buffer{}}
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, args, environ, strings.NewReader(""), r.stdout, r.log)
		r.log.End()
		r.stdout.End()
	}()
	r.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = r.stop() })
	return r
}

// logged waits for a line of the log, and returns one of its attributes.
func (r *running) logged(message, attribute string) string {
	r.t.Helper()
	line := r.log.AwaitLine(r.t, `"msg":"`+message+`"`)
	var attributes map[string]any
	require.NoError(r.t, json.Unmarshal([]byte(line), &attributes))
	text, _ := attributes[attribute].(string)
	return text
}

// api waits until a replica listens, and returns its URL.
func (r *running) api() string { return "http://" + r.logged("listening", "addr") }

const fleetHeader = "X-Fleet-Token: " + testFleetToken

func placeOn(t *testing.T, s *db.Store, sub string) (db.Placement, error) {
	t.Helper()
	return s.Place(t.Context(), db.PlaceRequest{Caller: sub, Region: "eu", Mode: "duel", Party: []string{sub},
		MaxPlayers: 2})
}

// Pins a command without help, or with incomplete help.
func TestEveryCommandExplainsItself(t *testing.T) {
	t.Parallel()
	p := &program{stdout: io.Discard, stderr: io.Discard}
	for _, cmd := range allCommands(p.rootCommand()) {
		if cmd.Name() == "help" {
			continue
		}
		require.NotEmpty(t, cmd.Short, cmd.CommandPath())
		require.NotEmpty(t, cmd.Long, cmd.CommandPath())
		require.Contains(t, cmd.Example, "director", cmd.CommandPath())
		help := director.OK(t, env(), append(strings.Fields(cmd.CommandPath())[1:], "--help")...)
		require.Contains(t, help, "Examples:\n", cmd.CommandPath())
	}
}

// Pins help with 45 flags in one list, and lines that are wider than a terminal.
func TestHelpGroupsSettings(t *testing.T) {
	t.Parallel()
	help := director.OK(t, env(), "serve", "--help-all")
	require.Regexp(t, `(?s)\nFlags:\n.*--print-config.*\nDatabase:\n.*--database-url .*\nListeners:\n.*--addr .*\nTokens and keys:\n.*--session-token-ttl `, help)
	_, flags, _ := strings.Cut(help, "\nFlags:\n")
	require.LessOrEqual(t, longestLine(flags), helpWidth)
}

// Pins a first help with all settings of a replica, and a list of 25 commands in no order.
func TestHelpBeginsWithWhatAStartNeeds(t *testing.T) {
	t.Parallel()
	help := director.OK(t, env(), "serve", "--help")
	require.Contains(t, help, "--database-url ")
	require.Contains(t, help, "--key-encryption-key ")
	require.NotContains(t, help, "--seat-ttl ")
	require.Regexp(t, `'director serve --help-all' shows \d+ further settings`, help)
	require.NotContains(t, director.OK(t, env(), "token", "mint", "--help"), "help-all", "few settings are all shown")
	require.Regexp(t, `(?s)Run:\n  dev .*Overview:\n  at .*Game servers:\n  capacity .*Players:\n  erase .*Rooms:\n  agents .*System:\n  apply .*Commands:\n`,
		director.OK(t, env(), "--help"))
}

// Pins a mistyped command without an error, or with exit code 0.
func TestWrongUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, says string }{
		{"serv", `did you mean "serve"?`},
		{"keys lst", `unknown command "lst" for "director keys", did you mean "list"?`},
		{"keys nothing-like-it", `unknown command "nothing-like-it" for "director keys"`},
		{"serve --lease-tll 15s", "unknown flag: --lease-tll, did you mean --lease-ttl?"},
		{"fleet list --regoin eu", "unknown flag: --regoin, did you mean --region?"},
		{"keys taint", "an argument is missing: director keys taint"},
		{"fleet drain", "name game servers, or give --host, --label or --region"},
		{"serve --no-such-flag", "unknown flag: --no-such-flag"},
		{"version --output xml", "it must be table or json"},
		{"migrate up --data /nonexistent", "set DATABASE_URL"},
		{"sessions close eu.x --reason=", "--reason is not allowed to be empty"},
		{"fleet list --data /nonexistent", "no 'director dev' runs in /nonexistent"},
	} {
		r := director.Run(t, env(), "", strings.Fields(c.args)...)
		require.Equal(t, 2, cli.ExitCode(r.Err), c.args)
		require.Contains(t, r.Stderr, c.says)
		require.Contains(t, r.Stderr, "--help' for usage")
		require.Empty(t, r.Stdout)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	require.Contains(t, director.OK(t, env(), "version"), "director ")
	require.Positive(t, clitest.Read[build](t, director, env(), "version").Schema)
}

// Pins a rotation by an operator whose events name the director, and not the operator.
func TestRotationsNameTheOperator(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	s := storetest.OnDatabase(t, url)
	director.OK(t, env("DATABASE_URL="+url, "DIRECTOR_KEY_ENCRYPTION_KEY="+testKEK), "keys", "rotate", "--force")
	require.Equal(t, []string{"true"}, storetest.Values[string](s,
		`SELECT DISTINCT (actor = 'sql:' || session_user)::text FROM events WHERE kind LIKE 'key.%'`))
}

// Pins a completion that prints errors into the command line, or does not offer names from the database.
func TestCompletion(t *testing.T) {
	t.Parallel()
	require.Contains(t, director.OK(t, env(), "completion", "bash"), "director")
	require.NotContains(t, director.OK(t, env(), "__complete", "fleet", "drain", ""), "error")

	url := dbtest.New(t)
	s := storetest.OnDatabase(t, url)
	s.AddServer("eu-1", 8)
	s.AddServer("eu-2", 8)
	p, err := placeOn(t, s.Store, "anna")
	require.NoError(t, err)
	environ := env("DATABASE_URL="+url, "DIRECTOR_KEY_ENCRYPTION_KEY="+testKEK)
	made := clitest.Read[[]newKeyLine](t, director, environ, "keys", "rotate")

	offers := func(want string, args ...string) {
		t.Helper()
		require.Eventually(t, func() bool { // on a busy machine a query may exceed the timeout of a completion
			return strings.Contains(director.OK(t, environ, append([]string{"__complete"}, args...)...), want)
		}, deadline, tick, want)
	}
	offers("eu-1\neu-2\n", "fleet", "drain", "eu")
	offers("eu-2\n", "fleet", "drain", "eu-1", "")
	require.NotContains(t, director.OK(t, environ, "__complete", "fleet", "drain", "eu-1", ""), "eu-1")
	require.NotContains(t, director.OK(t, environ, "__complete", "fleet", "undrain", ""), "eu-1")
	offers(made[0].KID, "keys", "taint", "")
	offers(p.SessionID, "sessions", "show", "eu.")
	offers(p.SessionID, "sessions", "close", "eu.")
	offers("json", "fleet", "list", "--output", "")
	offers("eu\n", "fleet", "list", "--region", "")
	offers("duel\n", "sessions", "list", "--mode", "d")
	offers("eu-2\n", "sessions", "list", "--instance", "eu-2")
	director.OK(t, environ, "profiles", "apply", "-f", writeFile(t, "duel.yaml", duelFile))
	offers("duel\n", "replay", "--name", "")
	offers("pgbouncer\n", "fleet", "list", "--pooler", "")
	offers("warn\n", "serve", "--log-level", "")
}

// longestLine returns the length of the longest line, in characters.
func longestLine(text string) (n int) {
	for line := range strings.Lines(text) {
		n = max(n, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
	}
	return n
}

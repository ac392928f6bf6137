package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/dbtest"
	"github.com/lattice-director/director/internal/cli"
)

// asProgram makes this test binary the program itself, for what only a process of its own can show.
const asProgram = "RUN_AS_DIRECTOR"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Secrets of the tests: none of them may ever be printed.
const (
	testKEK        = "dGhpcyBpcyBhIHNlY3JldCBvZiAzMiBieXRlcyAhISE="
	testFleetToken = "a-fleet-token-of-tests"
	testLobbyToken = "a-lobby-token-of-tests"
)

func env(pairs ...string) []string { return append([]string{"HOME=/nonexistent"}, pairs...) }

// serving is the least that a replica needs.
func serving(url, jwks string, more ...string) []string {
	return env(append([]string{
		"DATABASE_URL=" + url, "DIRECTOR_KEY_ENCRYPTION_KEY=" + testKEK, "DIRECTOR_FLEET_TOKEN=" + testFleetToken,
		"DIRECTOR_AUTH_JWKS=" + jwks, "DIRECTOR_ADDR=127.0.0.1:0",
	}, more...)...)
}

// ran is how a command went.
type ran struct {
	stdout, stderr string
	err            error
}

// run runs a command to its end, with answers to what it asks.
func run(t *testing.T, environ []string, answers string, args ...string) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	err := Run(t.Context(), args, environ, strings.NewReader(answers), &stdout, &stderr)
	return ran{stdout.String(), stderr.String(), err}
}

// ok runs a command that has to go well and gives what it printed.
func ok(t *testing.T, environ []string, args ...string) string {
	t.Helper()
	r := run(t, environ, "", args...)
	require.NoError(t, r.err, r.stderr)
	return r.stdout
}

// read runs a command and reads its JSON.
func read[T any](t *testing.T, environ []string, args ...string) (v T) {
	t.Helper()
	text := ok(t, environ, append(args, "--output", "json")...)
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	return v
}

// running is a command that runs until it is told to stop.
type running struct {
	t      *testing.T
	log    *lines
	stdout *lines
	stop   func() error // tells it, and gives how it ended
}

func start(t *testing.T, environ []string, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{t: t, log: newLines(), stdout: newLines()}
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, args, environ, strings.NewReader(""), r.stdout, r.log)
		r.log.end()
		r.stdout.end()
	}()
	r.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = r.stop() })
	return r
}

// logged waits for a line of the log and gives one of its attributes.
func (r *running) logged(message, attribute string) string {
	r.t.Helper()
	line := r.log.wait(r.t, `"msg":"`+message+`"`)
	var attributes map[string]any
	require.NoError(r.t, json.Unmarshal([]byte(line), &attributes))
	text, _ := attributes[attribute].(string)
	return text
}

// api waits until a replica listens and says where.
func (r *running) api() string { return "http://" + r.logged("listening", "addr") }

// lines is a writer whose lines can be waited for.
type lines struct {
	mu    sync.Mutex
	text  strings.Builder
	more  chan struct{} // closed when there is more, or the end
	ended bool
}

func newLines() *lines { return &lines{more: make(chan struct{})} }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.tell()
	return l.text.Write(p)
}

func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.tell()
}

func (l *lines) tell() {
	close(l.more)
	l.more = make(chan struct{})
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// wait gives the first line that holds the words.
func (l *lines) wait(t *testing.T, words string) string {
	t.Helper()
	for {
		l.mu.Lock()
		text, more, ended := l.text.String(), l.more, l.ended
		l.mu.Unlock()
		for line := range strings.Lines(text) {
			if strings.Contains(line, words) && strings.HasSuffix(line, "\n") {
				return line
			}
		}
		if ended {
			require.FailNow(t, "it ended before it said "+words, text)
		}
		select {
		case <-more:
		case <-t.Context().Done():
			require.FailNow(t, "it did not say "+words, text)
		}
	}
}

// get asks for a page.
func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	return send(t, http.MethodGet, url, "", nil)
}

// post sends JSON with a header "Name: value", or "".
func post(t *testing.T, url, header string, body any) (status int, answer string) {
	t.Helper()
	return send(t, http.MethodPost, url, header, body)
}

func send(t *testing.T, method, url, header string, body any) (int, string) {
	t.Helper()
	text, err := json.Marshal(body)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(text))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	if name, value, given := strings.Cut(header, ": "); given {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(answer)
}

const fleetHeader = "X-Fleet-Token: " + testFleetToken

// storeOn opens a store, for what a test does besides the program.
func storeOn(t *testing.T, url string) *db.Store {
	t.Helper()
	s, err := db.Open(t.Context(), db.Config{URL: url, MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func registerOn(t *testing.T, s *db.Store, id string) {
	t.Helper()
	_, err := s.Register(t.Context(), db.Registration{InstanceID: id, Endpoint: id + ":7777", Region: "eu", Modes: []string{"duel"}, Capacity: 8, BootID: "b"})
	require.NoError(t, err)
}

func placeOn(t *testing.T, s *db.Store, sub string) (db.Placement, error) {
	t.Helper()
	return s.Place(t.Context(), db.PlaceRequest{Caller: sub, Region: "eu", Mode: "duel", Party: []string{sub}, MaxPlayers: 2})
}

// Pins a command that nobody can learn from its own help.
func TestEveryCommandExplainsItself(t *testing.T) {
	t.Parallel()
	p := &program{stdout: io.Discard, stderr: io.Discard}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Name() == "help" {
			return
		}
		require.NotEmpty(t, cmd.Short, cmd.CommandPath())
		require.NotEmpty(t, cmd.Long, cmd.CommandPath())
		require.Contains(t, cmd.Example, "director", cmd.CommandPath())
		help := ok(t, env(), append(strings.Fields(cmd.CommandPath())[1:], "--help")...)
		require.Contains(t, help, "Examples:\n", cmd.CommandPath())
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(p.root())
}

// Pins 45 flags in one list, and lines that a terminal breaks in the middle of words.
func TestHelpGroupsSettings(t *testing.T) {
	t.Parallel()
	help := ok(t, env(), "serve", "--help")
	require.Regexp(t, `(?s)\nFlags:\n.*--print-config.*\nDatabase:\n.*--database-url .*\nListeners:\n.*--addr .*\nTokens and keys:\n.*--key-period `, help)
	_, flags, _ := strings.Cut(help, "\nFlags:\n")
	require.LessOrEqual(t, longestLine(flags), helpWidth)
}

// Pins a typo that is answered with silence, or with exit code 0.
func TestWrongUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, says string }{
		{"serv", `did you mean "serve"?`},
		{"keys lst", `unknown command "lst" for "director keys", did you mean "list"?`},
		{"keys nothing-like-it", `unknown command "nothing-like-it" for "director keys"`},
		{"serve --lease-tll 15s", "unknown flag: --lease-tll, did you mean --lease-ttl?"},
		{"fleet list --regoin eu", "unknown flag: --regoin, did you mean --region?"},
		{"keys taint", "accepts 1 arg(s)"},
		{"fleet drain", "requires at least 1 arg(s)"},
		{"serve --no-such-flag", "unknown flag: --no-such-flag"},
		{"version --output xml", "it must be table or json"},
		{"migrate up --data /nonexistent", "set DATABASE_URL"},
		{"sessions close eu.x --reason=", "--reason is not allowed to be empty"},
		{"fleet list --data /nonexistent", "no 'director dev' runs in /nonexistent"},
	} {
		r := run(t, env(), "", strings.Fields(c.args)...)
		require.Equal(t, 2, cli.ExitCode(r.err), c.args)
		require.Contains(t, r.stderr, c.says)
		require.Contains(t, r.stderr, "--help' for usage")
		require.Empty(t, r.stdout)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	require.Contains(t, ok(t, env(), "version"), "director ")
	require.Positive(t, read[build](t, env(), "version").Schema)
}

// Pins a completion that prints errors into somebody's command line, or goes without what the database knows.
func TestCompletion(t *testing.T) {
	t.Parallel()
	require.Contains(t, ok(t, env(), "completion", "bash"), "director")
	require.NotContains(t, ok(t, env(), "__complete", "fleet", "drain", ""), "error")

	url := dbtest.New(t)
	s := storeOn(t, url)
	registerOn(t, s, "eu-1")
	registerOn(t, s, "eu-2")
	p, err := placeOn(t, s, "anna")
	require.NoError(t, err)
	environ := env("DATABASE_URL="+url, "DIRECTOR_KEY_ENCRYPTION_KEY="+testKEK)
	made := read[[]madeLine](t, environ, "keys", "rotate")

	offers := func(want string, args ...string) {
		t.Helper()
		require.Eventually(t, func() bool { // a busy machine may take longer than Tab does
			return strings.Contains(ok(t, environ, append([]string{"__complete"}, args...)...), want)
		}, deadline, tick, want)
	}
	offers("eu-1\neu-2\n", "fleet", "drain", "eu")
	offers("eu-2\n", "fleet", "drain", "eu-1", "")
	require.NotContains(t, ok(t, environ, "__complete", "fleet", "drain", "eu-1", ""), "eu-1")
	require.NotContains(t, ok(t, environ, "__complete", "fleet", "undrain", ""), "eu-1")
	offers(made[0].KID, "keys", "taint", "")
	offers(p.SessionID, "sessions", "show", "eu.")
	offers(p.SessionID, "sessions", "close", "eu.")
	offers("json", "fleet", "list", "--output", "")
	offers("eu\n", "fleet", "list", "--region", "")
	offers("duel\n", "sessions", "list", "--mode", "d")
	offers("eu-2\n", "sessions", "list", "--instance", "eu-2")
	offers("pgbouncer\n", "fleet", "list", "--pooler", "")
	offers("warn\n", "serve", "--log-level", "")
}

// longestLine is in characters.
func longestLine(text string) (n int) {
	for line := range strings.Lines(text) {
		n = max(n, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
	}
	return n
}

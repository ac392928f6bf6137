package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/longtest"
)

// The whole system at work, with a server and a replica killed on the way: all promises are kept. What is printed is
// what `make demo` prints on a terminal, where it ends with a link that works, until Ctrl-C.
func TestDemo(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "`make demo`")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out bytes.Buffer
	read, write := io.Pipe()
	look := make(chan string, 1)
	go func() { look <- visitConsole(read); interrupt(); _, _ = io.Copy(io.Discard, read) }()
	require.Equal(t, exitKept, runDemo(ctx, options{20 * time.Second, stayFor},
		io.MultiWriter(&out, t.Output(), write)))
	require.Contains(t, <-look, "arena-1")
	require.NotContains(t, out.String(), "DEMO_STAY")
	for _, claim := range []string{
		"Every bot played", "Those who waited for a server got one", "Every matched player had one seat",
		"No match breaks its rules",
		"Matching went on without its worker", "Nobody over capacity", "The killed server's players play on",
		"The killed replica lost nothing",
		"Everything went on without it", "The drained server took nobody new", "Replayed tokens were refused",
		"All invariants hold",
		"Servers started when players came", "A worker died while servers started, and none was lost or doubled",
		"The pool shrank to nothing",
		"Friends on two replicas share one room", "The lobby leads to a game server",
		"The killed replica's clients kept their rooms",
		"Nobody was ranked by their own word", "Everything stopped when told",
	} {
		require.Contains(t, out.String(), "✓ "+claim+"\n")
	}
	require.Equal(t, 20, strings.Count(out.String(), "\n✓ "))
}

// DEMO_SECONDS has a default and limits.
func TestLength(t *testing.T) {
	t.Parallel()
	length, err := parseLength("")
	require.NoError(t, err)
	require.Equal(t, time.Minute, length)
	for _, bad := range []string{"5", "x", "3601"} {
		_, err := parseLength(bad)
		require.ErrorContains(t, err, "from 15 to 3600")
	}
}

// visitConsole waits for the link that the demo prints last, opens it as its page does, and returns the page of the
// fleet.
func visitConsole(out io.Reader) string {
	last := regexp.MustCompile(`^  (http://\S+)/login#token=(\S+)$`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if link := last.FindStringSubmatch(lines.Text()); link != nil {
			return fleetPage(link[1], link[2])
		}
	}
	return "no link"
}

// fleetPage returns the page, or why there is none: it runs beside the test's goroutine.
func fleetPage(console, token string) string {
	jar, _ := cookiejar.New(nil) // never fails
	browser := &http.Client{Jar: jar}
	defer browser.CloseIdleConnections()
	resp, err := browser.PostForm(console+"/login", url.Values{"token": {token}, "next": {"/fleet"}})
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	return fmt.Sprintf("%s %v\n%s", resp.Status, err, page)
}

// DEMO_STAY decides; without it the demo stays on a terminal only.
func TestStay(t *testing.T) {
	t.Parallel()
	for value, want := range map[string][2]time.Duration{"": {0, stayFor}, "0": {},
		"1": {stayFor, stayFor}} { // in a pipe, on a terminal
		for i, terminal := range []bool{false, true} {
			o, err := parseOptions(func(name string) string { return map[string]string{"DEMO_STAY": value}[name] },
				terminal)
			require.NoError(t, err)
			require.Equal(t, want[i], o.stayTime, "DEMO_STAY=%s, terminal: %t", value, terminal)
		}
	}
	_, err := parseOptions(func(string) string { return "never" }, true)
	require.ErrorContains(t, err, "DEMO_SECONDS is")
	require.ErrorContains(t, err, "DEMO_STAY is")
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _ = errors.Join(read.Close(), write.Close()) }()
	require.False(t, isTerminal(write))
}

// A forgotten demo ends by itself, and one whose director has died says so.
func TestLookAroundEnds(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	i := inspection{maxTime: 20 * time.Millisecond, consoleLink: "http://console.example",
		runBots: func(ctx context.Context) { <-ctx.Done() }, unexpectedExit: func() error { return nil }}
	require.NoError(t, i.await(t.Context(), &screen{output: &out}))
	require.True(t, strings.HasSuffix(out.String(), "\n  http://console.example\n"), "the link is last")
	i.maxTime, i.unexpectedExit = stayFor, func() error { return errors.New("killed") }
	require.ErrorContains(t, i.await(t.Context(), &screen{output: &out}), "killed")
	require.Contains(t, out.String(), "at most 30 minutes")
}

// Ctrl-C while somebody looks around is no interruption: the promises decide. Where nobody looks on, the last lines say
// how to.
func TestConclude(t *testing.T) {
	t.Parallel()
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	kept, broken := proof{true, "one", "kept"}, proof{false, "two", "not kept"}
	for name, test := range map[string]struct {
		ctx  context.Context
		end  ending
		code int
		last string
	}{
		"in CI":       {t.Context(), ending{proofs: []proof{kept, kept}}, exitKept, howToLook},
		"interrupted": {interrupted, ending{err: context.Canceled}, exitInterrupted, "removed.\n"},
		"Ctrl-C after all": {interrupted, ending{proofs: []proof{kept, kept}, printedProofs: 1}, exitKept,
			"All promises were kept.\n"},
		"Ctrl-C after a broken": {interrupted, ending{proofs: []proof{broken, kept}, printedProofs: 1}, exitBroken,
			"/logs\n"},
		"a process died": {t.Context(),
			ending{proofs: []proof{kept}, printedProofs: 1, err: errors.New("killed")}, exitBroken, "/logs\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			c := &cluster{workDir: t.TempDir()}
			require.Equal(t, test.code, concludeDemo(test.ctx, c, &screen{output: &out}, test.end))
			require.Truef(t, strings.HasSuffix(out.String(), test.last), "ends with %s", out.String())
			require.Equal(t, test.end.printedProofs == 0 && test.end.err == nil,
				strings.Contains(out.String(), "✓ one\n    kept\n✓ one"), "what was shown is not repeated")
		})
	}
}

// After a broken promise the exit code is 1, and the logs are kept.
func TestBrokenPromise(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &cluster{workDir: t.TempDir()}
	code := concludeDemo(t.Context(), c, &screen{output: &out},
		ending{proofs: []proof{{true, "one", "kept"}, {false, "two", "not kept"}}})
	require.Equal(t, exitBroken, code)
	require.Contains(t, out.String(), "✗ two\n    not kept")
	require.Contains(t, out.String(), "1 of 2 promises were broken")
	require.Contains(t, out.String(), c.logsDir())
	require.DirExists(t, c.workDir)
}

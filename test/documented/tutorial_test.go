package documented

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/logtest"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/programtest"
	"github.com/lattice-director/director/internal/testkit/toolstest"
	"github.com/lattice-director/director/test/rigtest"
)

// block is a command of the tutorial with the output that it shows. The comment before it says where it runs: in a
// terminal of its own (dev, go, python), in the shell of the player, or again until its output is as shown.
type block struct{ where, command, output string }

var runBlock = regexp.MustCompile("(?s)<!-- run: (\\w+) -->\n(?:```sh\n(.*?)```\n)?(?:```(?:json)?\n(.*?)```\n)?")

// tutorialBlocks returns the blocks of the tutorial in their order.
func tutorialBlocks(t *testing.T) (all []block) {
	t.Helper()
	text := must.Get(os.ReadFile("../../docs/tutorial.md"))(t)
	for _, m := range runBlock.FindAllSubmatch(text, -1) {
		all = append(all, block{string(m[1]), string(m[2]), string(m[3])})
	}
	commands := bytes.Count(text, []byte("```sh\n")) - bytes.Count(text, []byte("<!-- not run"))
	require.GreaterOrEqual(t, len(all), commands, "each command of the tutorial says where it runs, or why it does not")
	return all
}

// tutorial is a reader who follows the tutorial: a data directory, a shell, and addresses instead of those that the
// tutorial shows.
type tutorial struct {
	t        *testing.T
	director string
	first    string // the game server in Go
	env      []string
	shown    *strings.Replacer // replaces addresses of this run by those of the tutorial
	actual   *strings.Replacer // replaces addresses of the tutorial by those of this run
	addr     map[string]string // addresses of this run, by those of the tutorial
	shell    *shell
	last     string // the last command of the shell
	serverID int    // process of the game server in Go
}

func newTutorial(t *testing.T) *tutorial {
	t.Helper()
	r := &tutorial{t: t, director: clitest.BuildDirector(t), first: filepath.Join(t.TempDir(), "first"),
		addr: map[string]string{}}
	build := must.Get(toolstest.GoCommand(t.Context(), "build", "-o", r.first, "./examples/first"))(t)
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	data := filepath.Join(programtest.PostgresDir(t), "data")
	var toShown, toActual []string
	for _, usual := range []string{"127.0.0.1:8080", "127.0.0.1:8090", "127.0.0.1:7777", "127.0.0.1:7778"} {
		actual := rigtest.FreeAddr(t)
		r.addr[usual] = actual
		toShown, toActual = append(toShown, actual, usual), append(toActual, usual, actual,
			strings.Replace(usual, "127.0.0.1:", "localhost:", 1), actual,
			strings.Replace(usual, ":", "/", 1), strings.Replace(actual, ":", "/", 1))
	}
	toShown = append(toShown, data, "/home/you/.local/state/director", r.director, "director")
	toActual = append(toActual, ".bin/director", r.director)
	r.shown, r.actual = strings.NewReplacer(toShown...), strings.NewReplacer(toActual...)
	r.env = append(os.Environ(), "DIRECTOR_DATA="+data)
	return r
}

// start starts a process that is interrupted when the test ends, and returns what it prints.
func (r *tutorial) start(name string, args ...string) (*exec.Cmd, *logtest.Buffer) {
	r.t.Helper()
	cmd, out := exec.Command(name, args...), &logtest.Buffer{}
	cmd.Env, cmd.Stdout, cmd.Stderr = r.env, out, r.t.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(r.t, cmd.Start())
	r.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	return cmd, out
}

// shell is a bash that runs one command after the other.
type shell struct {
	in    io.Writer
	lines *bufio.Scanner
	count int
}

func (r *tutorial) newShell() *shell {
	r.t.Helper()
	cmd := exec.Command("bash")
	cmd.Env, cmd.Stderr, cmd.Dir = r.env, r.t.Output(), "../.."
	in := must.Get(cmd.StdinPipe())(r.t)
	out := must.Get(cmd.StdoutPipe())(r.t)
	require.NoError(r.t, cmd.Start())
	r.t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	return &shell{in: in, lines: bufio.NewScanner(out)}
}

// run runs a command and returns what it prints.
func (s *shell) run(t *testing.T, command string) string {
	t.Helper()
	s.count++
	end := fmt.Sprintf("end of command %d", s.count)
	must.Get(fmt.Fprintf(s.in, "%s\nprintf '\\n%%s\\n' '%s'\n", command, end))(t)
	var text strings.Builder
	for s.lines.Scan() {
		if s.lines.Text() == end {
			return text.String()
		}
		text.WriteString(s.lines.Text() + "\n")
	}
	require.Fail(t, "the shell has ended", "%s: %v", command, s.lines.Err())
	return ""
}

// What differs from run to run, and what stands for it when outputs are compared.
var differences = []struct {
	text *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`"session_handle":"local\.[\w-]+"`), `"session_handle":"HANDLE"`},
	{regexp.MustCompile(`"session_token":"[^"]+"`), `"session_token":"TOKEN"`},
	{regexp.MustCompile(`token=[0-9a-f]+…?`), "token=SECRET"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`), "TIME"},
	{regexp.MustCompile(`[\d.]+(ms|s) ago`), "AGO"},
	{regexp.MustCompile(`\d+ migrations in [\d.ms]+`), "MIGRATIONS"},
	{regexp.MustCompile(`Lattice Director \S+,`), "Lattice Director VERSION,"},
	{regexp.MustCompile(`process \d+`), "process ID"},
	{regexp.MustCompile(`dev hints.*`), "dev hints"},
	{regexp.MustCompile(`[ \t]+\n`), "\n"},
	{regexp.MustCompile(`[ \t]{2,}`), "  "}, // the columns of tables are as wide as their values
}

// plain returns an output with the tutorial's addresses, and without what differs from run to run.
func (r *tutorial) plain(text string) string {
	text = r.shown.Replace(text) + "\n"
	for _, d := range differences {
		text = d.text.ReplaceAllString(text, d.with)
	}
	return strings.TrimSpace(text)
}

// requireOutput waits until a process has printed what a block shows.
func (r *tutorial) requireOutput(b block, got func() string) {
	r.t.Helper()
	began := time.Now()
	want := r.plain(b.output)
	for tick := time.Tick(250 * time.Millisecond); r.plain(got()) != want && time.Since(began) < 90*time.Second; {
		<-tick
	}
	require.Equal(r.t, want, r.plain(got()), b.command)
}

// play runs the command of a block as its place says, and requires the output that the block shows.
func (r *tutorial) play(b block) {
	r.t.Helper()
	switch b.where {
	case "dev":
		require.Equal(r.t, "git clone https://github.com/lattice-director/director\ncd director\nmake dev\n", b.command)
		_, out := r.start(r.director, "dev", "--addr", r.addr["127.0.0.1:8080"], "--console-addr", r.addr["127.0.0.1:8090"], "--metrics-addr", "127.0.0.1:0",
			"--orchestrator-addr", "127.0.0.1:0", "--realtime-addr", "127.0.0.1:0", "--realtime-control-addr", "127.0.0.1:0")
		r.requireOutput(b, out.String)
		require.Eventually(r.t, func() bool { // a reader is slower than the worker that makes the first signing key
			status, _ := clitest.Get(r.t, "http://"+r.addr["127.0.0.1:8080"]+"/readyz")
			return status == http.StatusOK
		}, 30*time.Second, 50*time.Millisecond)
		r.shell = r.newShell()
	case "go":
		require.Equal(r.t, "go run ./examples/first\n", b.command)
		cmd, out := r.start(r.first, "-director", "http://"+r.addr["127.0.0.1:8080"], "-addr", r.addr["127.0.0.1:7777"])
		r.requireOutput(b, out.String)
		r.serverID = cmd.Process.Pid
	case "python":
		require.Contains(r.t, b.command, "python examples/first/server.py\n")
		r.env = append(r.env, "DIRECTOR=http://"+r.addr["127.0.0.1:8080"], "ENDPOINT="+r.addr["127.0.0.1:7778"], "PYTHONUNBUFFERED=1")
		_, out := r.start("python3", "../../examples/first/server.py")
		r.requireOutput(b, out.String)
	case "shell":
		if strings.Contains(b.command, "kill -9") {
			require.Eventually(r.t, func() bool { // a reader is slower than the report of the server that alice has left
				return r.shell.run(r.t, r.director+" events --since 5m --kind session.closed") != ""
			}, 30*time.Second, 50*time.Millisecond)
		}
		r.last = regexp.MustCompile(`kill -9 \d+`).ReplaceAllString(r.actual.Replace(b.command), fmt.Sprintf("kill -9 %d", r.serverID))
		text := r.shell.run(r.t, r.last)
		if b.output != "" {
			require.Equal(r.t, r.plain(b.output), r.plain(text), "%s", b.command)
		}
	case "again":
		commands := strings.Split(strings.TrimSpace(r.last), "\n")
		again := commands[len(commands)-1]
		r.requireOutput(b, func() string { return r.shell.run(r.t, again) })
	default:
		require.Fail(r.t, "the tutorial runs a command in an unknown place", b.where)
	}
}

// Pins a tutorial whose commands do not work any more, or print something else than it shows.
func TestTheTutorial(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestTheTicketsShownAreMatched")
	out, err := exec.CommandContext(t.Context(), "python3", "-c", "import cryptography").CombinedOutput()
	require.NoError(t, err, "this test needs python3 with the module cryptography: run ops/install-python.sh\n%s", out)
	r := newTutorial(t)
	for _, b := range tutorialBlocks(t) {
		r.play(b)
	}
	require.NotZero(t, r.serverID)
}

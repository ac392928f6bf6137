package peers

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/toolstest"
	"github.com/lattice-director/director/test/peertest"
)

// engine is what runs a package, whose tests have names that match a pattern.
type engine struct {
	name, tests string
	programs    []string
	isPackaged  bool   // by Debian, so that CI must have it
	setting     string // the variable that says where something is that nobody packages; "": none
}

var engines = []engine{
	{name: "C++", tests: "^TestCpp", programs: []string{"g++"}, isPackaged: true},
	{name: "C#", tests: "^TestCSharp", programs: []string{"mcs", "mono"}, isPackaged: true},
	{name: "C# on .NET", tests: "^TestDotnet", programs: []string{"mcs", "dotnet"}},
	{name: "Godot 3", tests: "^TestGodot3", programs: []string{"godot3-server"}, isPackaged: true},
	{name: "Godot 4", tests: "^TestGodot4", programs: []string{"godot4"}},
	{name: "Schemathesis", tests: "^TestContract", programs: []string{"schemathesis"}},
	{name: "Rust", tests: "^TestRust", programs: []string{"cargo"}},
	{name: "bevygap's plugins", tests: "^TestBevygap", programs: []string{"cargo"}},
	{name: "Lightyear", tests: "^TestLightyear", programs: []string{"cargo"}},
	{name: "a clone of Open Match", tests: "^TestOpenMatch", setting: openMatchClone},
	{name: "Nexis' server", tests: "^TestNexis", setting: nexisBinary},
}

// compilesLong are the patterns of engines that take long to compile.
var compilesLong = map[string]bool{"^TestBevygap": true, "^TestLightyear": true}

func TestMain(m *testing.M) {
	flag.Parse()
	for _, e := range engines {
		err := e.missing()
		if compilesLong[e.tests] {
			err = errors.Join(err, checkLong())
		}
		switch {
		case os.Getenv("DIRECTOR_TEST_PEERS") == "":
			toolstest.LeaveOutAnywhere(errors.New("make peers runs them"), e.tests, e.name)
		case e.isPackaged:
			toolstest.LeaveOut(err, e.tests, e.name)
		default:
			toolstest.LeaveOutAnywhere(err, e.tests, e.name)
		}
	}
	dbtest.VerifyNoLeaks(m, clitest.RemoveDirector, removeBuildDirectory)
}

// missing says what this machine lacks of an engine; nil: nothing.
func (e engine) missing() (err error) {
	if e.setting != "" && os.Getenv(e.setting) == "" {
		err = fmt.Errorf("%s is not set; docs/peers.md says what it names", e.setting)
	}
	for _, program := range e.programs {
		_, none := exec.LookPath(program)
		err = errors.Join(err, none)
	}
	return err
}

// scenarios are the scenarios that all packages of engines but Rust's pass.
var scenarios = func() map[string]peertest.Scenario {
	all := map[string]peertest.Scenario{}
	for _, group := range []map[string]peertest.Scenario{peertest.Players, peertest.Lobbies, peertest.GameServers} {
		maps.Copy(all, group)
	}
	return all
}()

// process is a peer in a process of its own, which connects to the test.
type process struct {
	in  *json.Encoder
	out *json.Decoder
}

// Step implements [peertest.Peer].
func (p process) Step(t testing.TB, request, answer any) {
	t.Helper()
	require.NoError(t, p.in.Encode(request))
	require.NoError(t, p.out.Decode(answer))
}

// startPeer starts a peer, which ends with the test, and has to end well.
func startPeer(t *testing.T, name string, args ...string) peertest.Peer {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = listener.Close() }()
	command := exec.Command(name, args...)
	command.Env = append(os.Environ(), "DIRECTOR_STEPS="+listener.Addr().String(), "HOME="+t.TempDir())
	command.Stdout, command.Stderr = t.Output(), t.Output()
	require.NoError(t, command.Start())
	tcp, _ := listener.(*net.TCPListener)
	require.NoError(t, tcp.SetDeadline(time.Now().Add(time.Minute)))
	conn, err := listener.Accept()
	if err != nil {
		_ = command.Process.Kill()
		require.NoError(t, errors.Join(err, command.Wait()), "the peer did not connect")
	}
	require.NoError(t, conn.SetDeadline(time.Now().Add(5*time.Minute)))
	t.Cleanup(func() { endPeer(t, command, conn) })
	encoder := json.NewEncoder(conn)
	encoder.SetEscapeHTML(false)
	return process{encoder, json.NewDecoder(conn)}
}

// endPeer closes a peer's connection, and requires that its process then ends by itself.
func endPeer(t *testing.T, command *exec.Cmd, conn net.Conn) {
	_ = conn.Close()
	kill := time.AfterFunc(time.Minute, func() { _ = command.Process.Kill() })
	defer kill.Stop()
	if err := command.Wait(); err != nil {
		t.Errorf("%s: %v", command.Path, err)
	}
}

var buildDir string // "" until a test needs it

// buildDirectory returns a directory for what tests build, which lives as long as the process.
func buildDirectory() (string, error) {
	if buildDir != "" {
		return buildDir, nil
	}
	var err error
	buildDir, err = os.MkdirTemp("", "director-peers-")
	return buildDir, err
}

func removeBuildDirectory() {
	if buildDir != "" {
		_ = os.RemoveAll(buildDir)
	}
}

// run runs a program that has to succeed.
func run(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

package process_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/process"
)

const within, tick = 20 * time.Second, 20 * time.Millisecond

func await(t *testing.T, p *process.Provider, ref provider.Ref, phase provider.Phase) (o provider.Observation) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		o, err = p.Get(t.Context(), ref)
		return err == nil && o.Phase == phase
	}, within, tick, "%s is not %s", ref, phase)
	return o
}

func deploy(t *testing.T, p *process.Provider, env ...string) provider.Ref {
	t.Helper()
	s := spec()
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		s.Env[name] = cmp.Or(value, "1")
	}
	o := must.Get(p.Deploy(t.Context(), s))(t)
	return o.Ref
}

// Pins servers that die with their director, or that its successor does not find; and with EndWithParent, servers that
// stay.
func TestDirectorKilled(t *testing.T) {
	t.Parallel()
	for _, endWithParent := range []string{"", "1"} {
		dir, tag := dirOf(t), provider.NewTag()
		self, err := os.Executable()
		require.NoError(t, err)
		first := exec.CommandContext(t.Context(), self)
		first.Env = []string{"TEST_ROLE=director", "TEST_DIR=" + dir, "TEST_TAG=" + string(tag), "TEST_END_WITH_PARENT=" + endWithParent}
		out, err := first.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, first.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "deployed\n", line)
		second := open(t, config(dir, false))
		await(t, second, provider.Ref(tag), provider.PhaseReady)
		require.NoError(t, first.Process.Kill())
		_ = first.Wait()

		if endWithParent != "" {
			await(t, second, provider.Ref(tag), provider.PhaseGone)
			continue
		}
		found, err := second.Find(t.Context(), "ld-test", tag)
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.Equal(t, provider.PhaseReady, found[0].Phase)
		require.Equal(t, 1, alive(dir))
		require.NoError(t, second.Stop(t.Context(), found[0].Ref, time.Minute))
		await(t, second, provider.Ref(tag), provider.PhaseGone)
	}
}

// Pins a director that dies between the state and the start, and leaves a tag that can never be deployed.
func TestDirectorKilledBeforeStart(t *testing.T) {
	t.Parallel()
	dir := dirOf(t)
	p := open(t, config(dir, false))
	s := spec()
	state := `{"tag":"` + string(s.Tag) + `","owner":"ld-test","app":"game","started":"2026-01-01T00:00:00Z"}`
	require.NoError(t, os.Mkdir(filepath.Join(dir, string(s.Tag)), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, string(s.Tag), "state.json"), []byte(state), 0o600))
	found, err := p.Find(t.Context(), s.Owner, s.Tag)
	require.NoError(t, err)
	require.Empty(t, found)
	o, err := p.Deploy(t.Context(), s)
	require.NoError(t, err)
	await(t, p, o.Ref, provider.PhaseReady)
	require.Equal(t, 1, alive(dir))
	require.NoError(t, p.Stop(t.Context(), o.Ref, time.Minute))
	await(t, p, o.Ref, provider.PhaseGone)
}

// Pins a machine without file descriptors, whose pool was paused as if the command could not be run.
func TestAShortageOfFilesIsTransient(t *testing.T) {
	t.Parallel()
	dir, tag := dirOf(t), provider.NewTag()
	director := exec.CommandContext(t.Context(), must.Get(os.Executable())(t))
	director.Env = []string{"TEST_ROLE=shortage", "TEST_DIR=" + dir, "TEST_TAG=" + string(tag)}
	out, err := director.Output()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Greater(t, len(lines), 5)
	for _, line := range lines[:len(lines)-1] {
		require.Regexp(t, "^transient ", line)
	}
	require.Equal(t, "deployed", lines[len(lines)-1])
	second := open(t, config(dir, false))
	await(t, second, provider.Ref(tag), provider.PhaseReady)
	require.NoError(t, second.Stop(t.Context(), provider.Ref(tag), 0))
	await(t, second, provider.Ref(tag), provider.PhaseGone)
}

// Pins a server that ignores SIGTERM and stays, also where the director that stopped it is gone; and a second SIGTERM.
func TestStubborn(t *testing.T) {
	t.Parallel()
	dir := dirOf(t)
	first, err := process.New(config(dir, false))
	require.NoError(t, err)
	ref := deploy(t, first, "TEST_STUBBORN")
	await(t, first, ref, provider.PhaseReady)
	awaitLog(t, dir, ref, "args")
	require.NoError(t, first.Stop(t.Context(), ref, time.Second))
	require.NoError(t, first.Stop(t.Context(), ref, time.Hour), "a later call does not prolong the grace")
	awaitLog(t, dir, ref, "SIGTERM")
	o, err := first.Get(t.Context(), ref)
	require.NoError(t, err)
	require.Equal(t, provider.PhaseStopping, o.Phase)
	first.Close()
	second := open(t, config(dir, false))
	await(t, second, ref, provider.PhaseGone)
	text, err := os.ReadFile(filepath.Join(dir, string(ref), "log"))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), "SIGTERM"))
}

// Pins the child of a game that stays when the game has ended.
func TestChildrenAreKilled(t *testing.T) {
	t.Parallel()
	dir := dirOf(t)
	p := open(t, config(dir, false))
	ref := deploy(t, p, "TEST_CHILD")
	require.Eventually(t, func() bool { return strings.Count(awaitLog(t, dir, ref, "args"), "args") == 2 }, within, tick)
	require.Equal(t, 2, alive(dir))
	require.NoError(t, p.Stop(t.Context(), ref, time.Second))
	require.Eventually(t, func() bool { return alive(dir) == 1 }, within, tick)
	o, err := p.Get(t.Context(), ref)
	require.NoError(t, err)
	require.Equal(t, provider.PhaseStopping, o.Phase, "the child holds the lock")
	await(t, p, ref, provider.PhaseGone)
	require.Zero(t, alive(dir))
}

// Pins a child in a session of its own, such as a daemon, which no signal to the process group reaches: its deployment
// ended never. The observers of the same lock, which run all the time, must survive.
func TestChildrenInSessionsOfTheirOwnAreKilled(t *testing.T) {
	t.Parallel()
	dir := dirOf(t)
	p := open(t, config(dir, false))
	ref := deploy(t, p, "TEST_CHILD=session")
	require.Eventually(t, func() bool { return strings.Count(awaitLog(t, dir, ref, "args"), "args") == 2 }, within, tick)
	require.Equal(t, 2, alive(dir))
	require.NoError(t, p.Stop(t.Context(), ref, time.Second))
	await(t, p, ref, provider.PhaseGone)
	require.Zero(t, alive(dir))
	list, err := provider.ListAll(t.Context(), p, "ld-test")
	require.NoError(t, err)
	require.Empty(t, list)
}

// Pins a deployment that never ends because its lock is held by a process that cannot be killed. Here that is the test.
func TestSurvivorsOfSIGKILLAreAbandoned(t *testing.T) {
	t.Parallel()
	dir := dirOf(t)
	p := open(t, config(dir, false))
	ref := deploy(t, p)
	require.NoError(t, p.Stop(t.Context(), ref, time.Minute))
	await(t, p, ref, provider.PhaseGone)
	lock, err := os.Open(filepath.Join(dir, string(ref), "lock"))
	require.NoError(t, err)
	defer func() { _ = lock.Close() }()
	require.Eventually(t, func() bool { return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil }, within, tick)
	o, err := p.Get(t.Context(), ref)
	require.NoError(t, err)
	require.Equal(t, provider.PhaseStopping, o.Phase)

	stopped := fmt.Sprintf(`{"kill_at": %q, "signalled": true}`, time.Now().Add(-11*time.Second).Format(time.RFC3339Nano))
	require.NoError(t, os.WriteFile(filepath.Join(dir, string(ref), "stop.json"), []byte(stopped), 0o600))
	require.Contains(t, await(t, p, ref, provider.PhaseGone).Error, "survive SIGKILL")
	require.Equal(t, provider.Gone, provider.KindOf(p.Stop(t.Context(), ref, time.Minute)))
}

func awaitLog(t *testing.T, dir string, ref provider.Ref, word string) (text string) {
	t.Helper()
	require.Eventually(t, func() bool {
		log, err := os.ReadFile(filepath.Join(dir, string(ref), "log"))
		text = string(log)
		return err == nil && strings.Contains(text, word)
	}, within, tick)
	return text
}

// Pins an environment that holds the director's own secrets, arguments that a value splits, and secrets on disk.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	dir := dirOf(t)
	p := open(t, config(dir, false))
	ref := deploy(t, p)
	o := await(t, p, ref, provider.PhaseReady)
	text := awaitLog(t, dir, ref, "args")
	port := o.Ports["game"].External
	require.Contains(t, text, `args ["--port=`+fmt.Sprint(port)+`" "" "a b"]`)
	require.Contains(t, text, "LATTICE_PORT_WEB_1="+fmt.Sprint(o.Ports["web-1"].Internal))
	require.NotContains(t, text, "HOME=")
	require.NotContains(t, text, "PATH=")
	files, err := filepath.Glob(filepath.Join(dir, string(ref), "*"))
	require.NoError(t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		if filepath.Base(file) != "log" { // in which the game of this test prints its environment
			require.NotContains(t, string(content), "s3cret")
		}
	}
	require.NoError(t, p.Stop(t.Context(), ref, time.Minute))
	await(t, p, ref, provider.PhaseGone)
}

// Pins a server that was built for Edgegap and binds port 0, since the director does not know the ports when it makes
// the environment.
func TestPortsOfServersBuiltForEdgegap(t *testing.T) {
	t.Parallel()
	dir := dirOf(t)
	cfg := config(dir, false)
	cfg.Advertise = netip.MustParseAddr("203.0.113.7")
	p := open(t, cfg)
	ref := deploy(t, p, `ARBITRIUM_PORTS_MAPPING={"ports":{"game":{"internal":0,"external":0}}}`, "ARBITRIUM_PUBLIC_IP=0.0.0.0")
	port := await(t, p, ref, provider.PhaseReady).Ports["game"].External
	text := awaitLog(t, dir, ref, "args")
	require.Contains(t, text, `"ARBITRIUM_PUBLIC_IP=203.0.113.7"`)
	require.Contains(t, text, `\"internal\":`+fmt.Sprint(port)+`,\"external\":`+fmt.Sprint(port))
	require.NotContains(t, text, `\"internal\":0`)
}

func TestReadLog(t *testing.T) {
	t.Parallel()
	dir := dirOf(t)
	p := open(t, config(dir, false))
	ref := deploy(t, p, "TEST_STUBBORN")
	awaitLog(t, dir, ref, "args")
	require.NoError(t, os.WriteFile(filepath.Join(dir, string(ref), "log.1"), []byte("older\nold\n"), 0o600))
	read := func(lines int) string {
		text, err := p.ReadLog(t.Context(), ref, lines)
		require.NoError(t, err)
		return string(text)
	}
	require.True(t, strings.HasPrefix(read(2), "old\nargs "))
	require.True(t, strings.HasPrefix(read(1), "args "))
	require.True(t, strings.HasPrefix(read(9), "older\n"))
	_, err := p.ReadLog(t.Context(), provider.Ref(provider.NewTag()), 1)
	require.Equal(t, provider.Gone, provider.KindOf(err))
}

// Pins a game that fills the disk.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	dir := dirOf(t)
	cfg := config(dir, false)
	cfg.MaxLogBytes = 64 << 10
	p := open(t, cfg)
	ref := deploy(t, p, "TEST_FLOOD")
	old := filepath.Join(dir, string(ref), "log.1")
	require.Eventually(t, func() bool { info, err := os.Stat(old); return err == nil && info.Size() > 0 }, within, tick)
	info, err := os.Stat(old)
	require.NoError(t, err)
	require.LessOrEqual(t, info.Size(), int64(32<<10))
	require.NoError(t, p.Stop(t.Context(), ref, time.Minute))
	await(t, p, ref, provider.PhaseGone)
	require.Eventually(t, func() bool {
		info, err := os.Stat(filepath.Join(dir, string(ref), "log"))
		return err == nil && info.Size() <= 64<<10
	}, within, tick)
}

// Pins a server that outlives its lifetime, and one that ends without a reason.
func TestEnds(t *testing.T) {
	t.Parallel()
	dir := dirOf(t)
	p := open(t, config(dir, false))
	s := spec()
	s.Lifetime = time.Second
	o, err := p.Deploy(t.Context(), s)
	require.NoError(t, err)
	require.WithinDuration(t, o.Started.Add(time.Second), o.Ends, time.Millisecond)
	await(t, p, o.Ref, provider.PhaseGone)

	ref := deploy(t, p, "TEST_FAIL")
	require.Eventually(t, func() bool {
		o, err := p.Get(t.Context(), ref)
		return err == nil && o.Phase == provider.PhaseGone && o.Error == "exit status 3"
	}, within, tick)
}

// Pins two servers at one port, a port that another program has, and more servers than the host may have.
func TestHostIsFull(t *testing.T) {
	t.Parallel()
	dir := dirOf(t)
	cfg := config(dir, false)
	cfg.PortMax = cfg.PortMin + 3
	p := open(t, cfg)
	a, b := deploy(t, p), deploy(t, p)
	s := spec()
	_, err := p.Deploy(t.Context(), s)
	require.Equal(t, provider.Capacity, provider.KindOf(err), "%v", err)
	require.ErrorContains(t, err, "no port")
	require.NoError(t, p.Stop(t.Context(), a, time.Minute))
	await(t, p, a, provider.PhaseGone)
	o, err := p.Deploy(t.Context(), s)
	require.NoError(t, err, "the port is free again")

	cfg.MaxServers, cfg.PortMax = 2, cfg.PortMin+39
	s.Tag = provider.NewTag()
	_, err = open(t, cfg).Deploy(t.Context(), s)
	require.Equal(t, provider.Capacity, provider.KindOf(err), "%v", err)
	for _, ref := range []provider.Ref{b, o.Ref} {
		require.NoError(t, p.Stop(t.Context(), ref, time.Minute))
		await(t, p, ref, provider.PhaseGone)
	}
}

// Pins a director that is frozen while it holds the lock, and stops all others for ever.
func TestLockHeld(t *testing.T) {
	t.Parallel()
	dir := dirOf(t)
	p := open(t, config(dir, false))
	ref := deploy(t, p)
	await(t, p, ref, provider.PhaseReady)
	lock, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_RDWR, 0)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil }, within, tick)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	s := spec()
	_, err = p.Deploy(ctx, s)
	require.Equal(t, provider.Transient, provider.KindOf(err), "%v", err)
	require.Equal(t, provider.Transient, provider.KindOf(p.Stop(ctx, ref, 0)))
	require.Equal(t, provider.PhaseReady, await(t, p, ref, provider.PhaseReady).Phase, "reads need no lock")
	require.NoError(t, lock.Close())
	require.NoError(t, p.Stop(t.Context(), ref, time.Minute))
	await(t, p, ref, provider.PhaseGone)
}

func TestConfigRefused(t *testing.T) {
	t.Parallel()
	for says, spoil := range map[string]func(*process.Config){
		"Dir is empty":  func(c *process.Config) { c.Dir = "" },
		"absolute path": func(c *process.Config) { c.Commands = map[string][]string{"sh": {"sh", "-c"}} },
		"empty":         func(c *process.Config) { c.PortMin, c.PortMax = 40000, 30000 },
	} {
		cfg := config(t.TempDir(), false)
		spoil(&cfg)
		_, err := process.New(cfg)
		require.ErrorContains(t, err, says)
	}
	p := open(t, config(t.TempDir(), false))
	s := spec()
	s.App = "absent"
	_, err := p.Deploy(t.Context(), s)
	require.Equal(t, provider.Permanent, provider.KindOf(err), "%v", err)
}

// Pins a row that runs code by a variable of the loader, a shell or an interpreter.
func TestVariablesAreAllowedByName(t *testing.T) {
	t.Parallel()
	cfg := config(dirOf(t), false)
	cfg.Variables = []string{"TEST_*", "MAP", "FLEET"}
	p := open(t, cfg)
	for _, name := range []string{"LD_PRELOAD", "BASH_ENV", "ENV", "PATH", "PYTHONPATH", "NODE_OPTIONS", "MAP2", "map", "FLEET_TOKEN2", "TEST"} {
		s := spec()
		s.Env[name] = "x"
		_, err := p.Deploy(t.Context(), s)
		require.Equal(t, provider.Permanent, provider.KindOf(err))
		require.ErrorContains(t, err, "env: "+name+" is not allowed on this host: it allows TEST_*, MAP, FLEET")
	}
	ref := deploy(t, p, "MAP=canyon", "LATTICE_REGION=eu", "ARBITRIUM_REQUEST_ID=a", "DIRECTOR_URL=http://a")
	await(t, p, ref, provider.PhaseReady)
	require.NoError(t, p.Stop(t.Context(), ref, 0))
	await(t, p, ref, provider.PhaseGone)
}

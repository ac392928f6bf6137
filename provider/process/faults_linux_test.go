package process_test

import (
	"bufio"
	stdcontext "context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/process"
)

func context() stdcontext.Context { return stdcontext.Background() }

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
	s.Tag, s.Owner = provider.NewTag(), "ld-test"
	for _, name := range env {
		s.Env[name] = "1"
	}
	o, err := p.Deploy(t.Context(), s)
	require.NoError(t, err)
	return o.Ref
}

// Pins servers that die with their director, or that its successor does not find; and with EndWithParent, servers that stay.
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
	s.Tag, s.Owner = provider.NewTag(), "ld-test"
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
	require.Contains(t, text, `args ["--port=`+itoa(port)+`" "" "a b"]`)
	require.Contains(t, text, "LATTICE_PORT_WEB_1="+itoa(o.Ports["web-1"].Internal))
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
	s.Tag, s.Owner, s.Lifetime = provider.NewTag(), "ld-test", time.Second
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
	s.Tag, s.Owner = provider.NewTag(), "ld-test"
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
	ctx, cancel := stdcontext.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	s := spec()
	s.Tag, s.Owner = provider.NewTag(), "ld-test"
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
	s.Tag, s.Owner, s.App = provider.NewTag(), "ld-test", "absent"
	_, err := p.Deploy(t.Context(), s)
	require.Equal(t, provider.Permanent, provider.KindOf(err), "%v", err)
	s.App, s.Env = "game", provider.Env{"LD_PRELOAD": "/tmp/x.so"}
	_, err = p.Deploy(t.Context(), s)
	require.ErrorContains(t, err, "LD_PRELOAD")
}

func itoa(port uint16) string { return strconv.Itoa(int(port)) }

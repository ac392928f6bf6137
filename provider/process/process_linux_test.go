package process_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/process"
	"github.com/lattice-director/director/provider/providertest"
)

// TestMain makes the test binary a game server, or a director that dies, if its environment says so.
func TestMain(m *testing.M) {
	switch os.Getenv("TEST_ROLE") {
	case "game":
		game()
	case "director":
		director()
	case "shortage":
		shortage()
	default:
		os.Exit(m.Run())
	}
}

// game listens on its port until SIGTERM. It can be made to ignore that, to print without end, to start a child that
// ignores SIGTERM, in a session of its own or not, or to end at once.
func game() {
	time.AfterFunc(5*time.Minute, func() { os.Exit(1) }) // a test that is killed leaves nothing for ever
	terminated := make(chan os.Signal, 4)
	signal.Notify(terminated, syscall.SIGTERM)
	if os.Getenv("TEST_FAIL") != "" {
		os.Exit(3)
	}
	c, err := net.ListenPacket("udp", "127.0.0.1:"+os.Getenv("LATTICE_PORT_GAME"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Printf("args %q env %q\n", os.Args[1:], os.Environ())
	if os.Getenv("TEST_CHILD") != "" {
		child := exec.Command(os.Args[0])
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: os.Getenv("TEST_CHILD") == "session"}
		child.Env, child.Stdout = []string{"TEST_ROLE=game", "TEST_STUBBORN=1", "LATTICE_PORT_GAME=0"}, os.Stdout
		if err := child.Start(); err != nil {
			panic(err)
		}
	}
	if os.Getenv("TEST_FLOOD") != "" {
		go func() {
			out := bufio.NewWriter(os.Stdout)
			for i := 0; ; i++ {
				fmt.Fprintf(out, "line %09d\n", i)
			}
		}()
	}
	for range terminated {
		fmt.Println("SIGTERM")
		if os.Getenv("TEST_STUBBORN") == "" {
			_ = c.Close()
			os.Exit(0)
		}
	}
}

// director deploys one game, prints its ref, and waits to be killed.
func director() {
	cfg := config(os.Getenv("TEST_DIR"), os.Getenv("TEST_END_WITH_PARENT") != "")
	cfg.PortMin, cfg.PortMax = 20000, 20099
	p, err := process.New(cfg)
	if err != nil {
		panic(err)
	}
	defer p.Close()
	s := spec()
	s.Tag = provider.Tag(os.Getenv("TEST_TAG"))
	if _, err := p.Deploy(context.Background(), s); err != nil {
		panic(err)
	}
	fmt.Println("deployed")
	select {}
}

// shortage deploys a game while it may open no more files, and again with one file more at a time. It prints the kind of
// each error.
func shortage() {
	cfg := config(os.Getenv("TEST_DIR"), false)
	cfg.PortMin, cfg.PortMax = 19900, 19999
	p, err := process.New(cfg)
	if err != nil {
		panic(err)
	}
	defer p.Close()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 100, Max: 100}); err != nil {
		panic(err)
	}
	var open []*os.File
	for {
		file, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		open = append(open, file)
	}
	for _, file := range open {
		s := spec()
		s.Tag = provider.Tag(os.Getenv("TEST_TAG"))
		_, err := p.Deploy(context.Background(), s)
		if err == nil {
			fmt.Println("deployed")
			return
		}
		fmt.Println(provider.KindOf(err), err)
		_ = file.Close()
	}
}

// ranges counts the ranges of ports: directories that know nothing of each other must not share one.
var ranges atomic.Uint32

func config(dir string, endWithParent bool) process.Config {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	first := uint16(20100 + 40*ranges.Add(1))
	return process.Config{
		Dir: dir, Commands: map[string][]string{"game": {self, "--port=${LATTICE_PORT_GAME}", "${HOME}", "a b"}, "absent": {"/no/such/file"}},
		PortMin: first, PortMax: first + 39, EndWithParent: endWithParent, Variables: []string{"TEST_*"},
	}
}

func spec() provider.Spec {
	return provider.Spec{
		Tag: provider.NewTag(), Owner: "ld-test", App: "game",
		Env:   provider.Env{"TEST_ROLE": "game", "FLEET_TOKEN": "s3cret-value"},
		Ports: []provider.Port{{Name: "game", Protocol: provider.UDP}, {Name: "web-1", Protocol: provider.TCP}},
	}
}

func open(t *testing.T, cfg process.Config) *process.Provider {
	t.Helper()
	p := must.Get(process.New(cfg))(t)
	t.Cleanup(p.Close)
	return p
}

// below returns the processes whose working directory is below dir.
func below(dir string) (pids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, dir+"/") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func alive(dir string) int { return len(below(dir)) }

// dirOf returns a directory below which no process is left when the test ends, also when it has failed.
func dirOf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() {
		for _, pid := range below(dir) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return dir
}

func TestConformance(t *testing.T) {
	t.Parallel()
	providertest.Run(t, func(t *testing.T) providertest.Engine {
		dir := dirOf(t)
		return providertest.Engine{
			New:        func(t *testing.T) provider.Provider { return open(t, config(dir, false)) },
			Spec:       spec(),
			AliveCount: func(*testing.T) int { return alive(dir) },
		}
	})
}

// The example game without a director: it tries to register until it is stopped.
func TestConformanceWithArena(t *testing.T) {
	t.Parallel()
	arena := filepath.Join(t.TempDir(), "arena")
	built, err := exec.Command("go", "build", "-o", arena, "../../examples/arena").CombinedOutput()
	require.NoError(t, err, "%s", built)
	providertest.Run(t, func(t *testing.T) providertest.Engine {
		dir := dirOf(t)
		cfg := config(dir, false)
		cfg.Commands["arena"] = []string{arena, "server", "--director", "http://127.0.0.1:1", "--start-within", "5m"}
		return providertest.Engine{
			New: func(t *testing.T) provider.Provider { return open(t, cfg) },
			Spec: provider.Spec{
				App: "arena", Env: provider.Env{"FLEET_TOKEN": "s3cret-value-of-a-token"}, Ports: []provider.Port{{Name: "game", Protocol: provider.TCP}},
			},
			AliveCount: func(*testing.T) int { return alive(dir) },
		}
	})
}

package subprocess_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/dev/subprocess"
	"github.com/lattice-director/director/internal/testkit/must"
)

// asProgram is the variable that makes this test binary one of the programs that the tests start.
const asProgram = "RUN_AS_SUBPROCESS"

func TestMain(m *testing.M) {
	switch os.Getenv(asProgram) {
	case "":
		os.Exit(m.Run())
	case "fails":
		fmt.Println("no luck today")
		os.Exit(3)
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		serve()
	case "polite":
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		go serve()
		<-stop
	}
}

func serve() {
	_ = http.ListenAndServe(os.Getenv("ADDR"), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
}

func command(t *testing.T, as string, env ...string) subprocess.Command {
	return subprocess.Command{Name: as, Path: os.Args[0], Env: append(env, asProgram+"="+as), Logs: t.TempDir()}
}

func start(t *testing.T, as string) *subprocess.Process {
	t.Helper()
	addrs := must.Get(subprocess.FreeAddrs(t.Context(), 2))(t)
	require.NotEqual(t, addrs[0], addrs[1])
	p := must.Get(command(t, as, "ADDR="+addrs[0]).Start())(t)
	t.Cleanup(p.Kill)
	require.NoError(t, p.AwaitReady(t.Context(), "http://"+addrs[0]))
	return p
}

// A requested stop must not be reported as a crash.
func TestStop(t *testing.T) {
	t.Parallel()
	p := start(t, "polite")
	require.True(t, p.Running())
	require.NoError(t, p.Stop(t.Context()))
	<-p.Done()
	require.NoError(t, p.Err())
	require.True(t, p.Killed())
}

// A process that ignores SIGTERM must not block Stop.
func TestStopKillsAProcessThatIgnoresSIGTERM(t *testing.T) {
	t.Parallel()
	p := start(t, "deaf")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, p.Stop(ctx), "deaf did not stop in time")
	require.False(t, p.Running())
}

// The error of a process that ended by itself must have the end of its log.
func TestEndsByItself(t *testing.T) {
	t.Parallel()
	p, err := command(t, "fails").Start()
	require.NoError(t, err)
	require.ErrorContains(t, p.AwaitReady(t.Context(), "http://127.0.0.1:1"), "fails ended before it was ready: no luck today")
	require.ErrorContains(t, p.Err(), "fails ended by itself (exit status 3): no luck today")
	require.ErrorContains(t, p.Stop(t.Context()), "no luck today")
	require.ErrorContains(t, command(t, "fails").Run(t.Context()), "exit status 3: no luck today")
}

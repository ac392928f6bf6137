package lab

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/programtest"
)

// asProgram makes this test binary a process of a lab, or a program that has a lab.
const asProgram = "RUN_AS_PROGRAM_OF_A_LAB"

func TestMain(m *testing.M) {
	switch os.Getenv(asProgram) {
	case "":
		os.Exit(m.Run())
	case "owner":
		haveLab()
	default:
		serve(os.Args[1:])
	}
}

// serve is a fake director that is ready at once and has one metric.
func serve(args []string) {
	metrics, err := net.Listen("tcp", os.Getenv("DIRECTOR_METRICS_ADDR")) // before the process is ready
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	go func() {
		_ = http.Serve(metrics, http.HandlerFunc(func(w http.ResponseWriter,
			_ *http.Request) {
			fmt.Fprint(w, someMetrics)
		}))
	}()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	go func() { <-stop; os.Exit(0) }()
	_ = http.ListenAndServe(os.Getenv("DIRECTOR_ADDR"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.Join(args, " "), os.Getenv("DIRECTOR_LOG_LEVEL"), os.Getenv("MORE"))
	}))
}

const someMetrics = `# TYPE director_group_calls histogram
director_group_calls_bucket{group="heartbeat",le="1"} 1
director_group_calls_bucket{group="heartbeat",le="2"} 3
director_group_calls_bucket{group="heartbeat",le="+Inf"} 4
director_group_calls_sum{group="heartbeat"} 30
director_group_calls_count{group="heartbeat"} 4
# TYPE director_other gauge
director_other 1
`

// Pins replicas that share an address, costs of other processes, and a death that is not reported.
func TestLab(t *testing.T) {
	t.Parallel()
	l := must.Get(Start(t.Context(), Options{JWKS: "{}", Replicas: 2, Dir: programtest.EmptiedDir(t),
		Env: []string{"DIRECTOR_LOG_LEVEL=info", asProgram + "=director"}}))(t)
	t.Cleanup(func() { _ = l.Close() })
	one, err := l.Start(t.Context(), Command{Name: "one", Args: []string{"one", "more"}, Env: []string{"MORE=, more"}})
	require.NoError(t, err)
	for url, says := range map[string]string{l.Replicas[0].At(Web): "serve --workinfo", l.Replicas[1].At(Web): "serveinfo",
		one.At(Web): "one moreinfo, more"} {
		require.Equal(t, says, ask(t, url))
	}
	require.Regexp(t, `^\d\d\.`, l.Version())

	before, err := l.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, bench.Batches{Count: 8, Calls: 60}, before.Batches["heartbeat"], "of two replicas")
	require.Equal(t, CanMeasureCPU(), before.PostgresCPU > 0)
	require.Equal(t, CanMeasureCPU(), before.ServerRSS > 1<<20)
	_, err = l.database.pool.Exec(t.Context(), "CREATE TABLE burnt AS SELECT sha512(n::text::bytea) FROM generate_series(1, 100000) n")
	require.NoError(t, err)
	after, err := l.Meter(one).Read(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 30, after.Batches["heartbeat"].Calls, "of one process")
	used := after.Plus(before, -1)
	require.Greater(t, used.WALBytes, 100_000*64.0)
	require.Positive(t, used.Transactions)
	require.Less(t, used.Transactions, 20.0)
	require.Equal(t, CanMeasureCPU(), used.PostgresCPU >= tick)

	living, end := l.Living(t.Context())
	defer end()
	require.NoError(t, one.Handle.Stop(t.Context()))
	require.NoError(t, living.Err())
	victim, err := os.FindProcess(l.Replicas[1].Handle.PID())
	require.NoError(t, err)
	require.NoError(t, victim.Kill())
	<-living.Done()
	require.ErrorContains(t, context.Cause(living), "replica-1 ended by itself (signal: killed)")
	require.ErrorContains(t, l.Close(), "replica-1 ended by itself")
}

func ask(t *testing.T, url string) string {
	t.Helper()
	_, said := clitest.Get(t, url)
	return said
}

// Pins a worker whose CPU is not measured, and a replica that works beside it.
func TestWorkerOfItsOwn(t *testing.T) {
	t.Parallel()
	l, err := Start(t.Context(), Options{JWKS: "{}", Worker: true, Dir: programtest.EmptiedDir(t),
		Env: []string{asProgram + "=director"}})
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	require.Equal(t, "serveerror", ask(t, l.Replicas[0].At(Web)))
	require.Equal(t, "workerror", ask(t, l.Worker.At(Web)))
	all, err := l.Read(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 60, all.Batches["heartbeat"].Calls, "of both")
	require.NotEmpty(t, l.OpsToken)
}

// Pins children whose CPU is counted only while they run.
func TestFamilyCPU(t *testing.T) {
	t.Parallel()
	if !CanMeasureCPU() {
		return
	}
	cmd := exec.Command("/bin/sh", "-c", "(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done); echo; read x")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	alone, _, err := usage(cmd.Process.Pid)
	require.NoError(t, err)
	family, err := familyCPU(cmd.Process.Pid)
	require.NoError(t, err)
	require.Greater(t, family, alone)
	ours, err := familyCPU(os.Getpid())
	require.NoError(t, err)
	require.GreaterOrEqual(t, ours, alone, "the shell lives")
	require.NoError(t, stdin.Close())
	_ = cmd.Wait()
}

// haveLab runs a lab and prints the ids of its processes, until it is killed.
func haveLab() {
	l, err := Start(context.Background(),
		Options{JWKS: "{}", Dir: os.Getenv("LAB_DIR"), Env: []string{asProgram + "=director"}})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(l.Replicas[0].Handle.PID(), l.Postgres.PID())
	select {}
}

// Pins a director and a Postgres that keep running when a benchmark is killed.
func TestNothingOutlivesUs(t *testing.T) {
	t.Parallel()
	if !CanMeasureCPU() {
		return // without /proc the kernel does not kill children either
	}
	dir := programtest.PostgresDir(t)
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), asProgram+"=owner", "LAB_DIR="+dir)
	stdout, err := owner.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, owner.Start())
	said, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, owner.Process.Signal(syscall.SIGKILL))
	_ = owner.Wait()
	for pid := range strings.FieldsSeq(said) {
		n, err := strconv.Atoi(pid)
		require.NoError(t, err, said)
		require.Eventually(t, func() bool { return !lives(n) }, 30*time.Second, 10*time.Millisecond)
	}
}

func lives(pid int) bool {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return false
	}
	stat, err := p.Stat()
	return err == nil && stat.State != "Z"
}

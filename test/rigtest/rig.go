package rigtest

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/dev/subprocess"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/keytest"
)

// FleetToken is the secret of the game servers.
const FleetToken = "a-fleet-token-for-tests"

// Rig is an installation: a Postgres, durable and of its own unless NewRigOn made it, and processes of the director on
// it. Its fields may be changed while no other goroutine uses it; its methods are safe for concurrent use.
type Rig struct {
	T           *testing.T
	BinaryPath  string   // the binary that the next process runs
	NextEnv     []string // the environment of the next process, NAME=value; the last value of a name is used
	Cluster     *pglocal.Cluster
	SQLPool     *pgxpool.Pool
	HTTPClient  *http.Client  // of the callers
	PlayerLogin keytest.Login // of the players

	logsDir string

	mu           sync.Mutex
	startedCount int      // processes, to number their logs
	knownURLs    []string // of the replicas that callers know
	nextTurn     int
}

// NewRig makes an installation with the schema of this tree, for a binary of this tree. Each setting is NAME=value.
func NewRig(t *testing.T, bin string, settings ...string) *Rig {
	t.Helper()
	return newRigOnCluster(t, bin, dbtest.NewMigratedCluster(t, pglocal.Options{Durable: true}), settings)
}

// NewRigOfRelease makes an installation whose schema the binary migrates, which may be one of another release.
func NewRigOfRelease(t *testing.T, bin string, settings ...string) *Rig {
	t.Helper()
	r := newRigOnCluster(t, bin, dbtest.NewCluster(t, pglocal.Options{Durable: true}), settings)
	// The binary migrates, and not this tree: the schema is that of the binary's release.
	r.RunCommand("migrate", "up")
	return r
}

func newRigOnCluster(t *testing.T, bin string, cluster *pglocal.Cluster, settings []string) *Rig {
	t.Helper()
	r := NewRigOn(t, bin, cluster.URL("postgres"), settings...)
	r.Cluster = cluster
	return r
}

// NewRigOn makes an installation on a database that has the schema. It has no Cluster. Each setting is NAME=value.
func NewRigOn(t *testing.T, bin, database string, settings ...string) *Rig {
	t.Helper()
	r := NewEmbeddedRig(t, 3*time.Second)
	r.BinaryPath, r.logsDir = bin, t.TempDir()
	r.NextEnv = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DATABASE_URL=" + database,
		"DIRECTOR_FLEET_TOKEN=" + FleetToken, "DIRECTOR_OPEN_PARTIES=true",
		"DIRECTOR_KEY_ENCRYPTION_KEY=" + base64.StdEncoding.EncodeToString(keytest.KEK(7)),
		"DIRECTOR_AUTH_JWKS=" + r.PlayerLogin.Set,
		// All callers have one address, and some are refused on purpose.
		"DIRECTOR_FAILURE_RATE=0", "DIRECTOR_LOG_FORMAT=json",
	}, settings...)
	// A pool of the test's own, which works whatever becomes of the processes.
	var err error
	r.SQLPool, err = pgxpool.New(t.Context(), database)
	require.NoError(t, err)
	t.Cleanup(r.SQLPool.Close)
	return r
}

// NewEmbeddedRig makes a rig without processes: its replicas run inside the test, which sets their URLs and the
// SQLPool. A call may take as long as the timeout.
func NewEmbeddedRig(t *testing.T, timeout time.Duration) *Rig {
	t.Helper()
	return &Rig{T: t, PlayerLogin: keytest.NewLogin(t), HTTPClient: &http.Client{Timeout: timeout}}
}

// newCommand returns a command of the director with a log of its own.
func (r *Rig) newCommand(args ...string) subprocess.Command {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.startedCount++
	// A copy of NextEnv, which the test changes for the next process.
	return subprocess.Command{Name: fmt.Sprintf("%s-%d", args[0], r.startedCount), Path: r.BinaryPath, Args: args,
		Env: slices.Clone(r.NextEnv), Logs: r.logsDir}
}

// RunCommand runs a command of the director to its end.
func (r *Rig) RunCommand(args ...string) {
	r.T.Helper()
	require.NoError(r.T, r.newCommand(args...).Run(r.T.Context()))
}

// ApplyProfile applies a profile, in YAML.
func (r *Rig) ApplyProfile(document string) {
	r.T.Helper()
	r.apply("profiles", document)
}

// ApplyPools applies app versions and pools, in YAML.
func (r *Rig) ApplyPools(document string) {
	r.T.Helper()
	r.apply("pools", document)
}

// apply applies a document with a family of commands, "profiles" or "pools".
func (r *Rig) apply(family, document string) {
	r.T.Helper()
	file := filepath.Join(r.T.TempDir(), family+".yaml")
	require.NoError(r.T, os.WriteFile(file, []byte(document), 0o600))
	r.RunCommand(family, "apply", "-f", file)
}

// Process is a running director.
type Process struct {
	Process *subprocess.Process
	URL     string // "" for a worker
}

// StartProcess starts a process that is killed when the test ends.
func (r *Rig) StartProcess(args ...string) *Process {
	r.T.Helper()
	p, err := r.newCommand(args...).Start()
	require.NoError(r.T, err)
	r.T.Cleanup(func() {
		// Before the log is read, so that it is complete.
		p.Kill()
		// Only the last 4,000 bytes: a test has many processes, and the end of a log says most.
		if r.T.Failed() {
			text, _ := os.ReadFile(filepath.Join(r.logsDir, p.Name()+".log"))
			r.T.Logf("%v:\n%s", args, text[max(0, len(text)-4000):])
		}
	})
	return &Process{Process: p}
}

// StartReplica starts a replica at an address, and does not wait until it is ready.
func (r *Rig) StartReplica(addr string, args ...string) *Process {
	r.T.Helper()
	p := r.StartProcess(append([]string{"serve", "--addr", addr}, args...)...)
	p.URL = "http://" + addr
	return p
}

// ServeReplica starts a replica, waits until it is ready, and adds it to those that callers know.
func (r *Rig) ServeReplica(args ...string) *Process {
	r.T.Helper()
	p := r.StartReplica(FreeAddr(r.T), args...)
	r.AwaitReady(p)
	// Only now: callers should find a replica that is ready.
	r.SetURLs(append(r.ReplicaURLs(), p.URL)...)
	return p
}

// usedAddrs are the addresses that FreeAddr has returned: until somebody listens there, the kernel offers them again.
var usedAddrs sync.Map

// FreeAddr returns a loopback address, host:port, that it returns only once.
func FreeAddr(t *testing.T) string {
	t.Helper()
	for {
		addrs, err := subprocess.FreeAddrs(t.Context(), 1)
		require.NoError(t, err)
		_, isUsed := usedAddrs.LoadOrStore(addrs[0], true)
		if !isUsed {
			return addrs[0]
		}
	}
}

// AwaitReady waits until a replica is ready.
func (r *Rig) AwaitReady(p *Process) {
	r.T.Helper()
	ctx, cancel := context.WithTimeout(r.T.Context(), 60*time.Second)
	defer cancel()
	require.NoError(r.T, p.Process.AwaitReady(ctx, p.URL+"/readyz"))
}

// MemoryOf returns the bytes that a process has of a kind of /proc/PID/status, such as VmRSS; 0 when it has ended.
func MemoryOf(pid int, kind string) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	var kib int64
	_, line, _ := strings.Cut(string(text), kind+":")
	_, _ = fmt.Sscan(line, &kib)
	return kib << 10
}

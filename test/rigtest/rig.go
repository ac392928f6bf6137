package rigtest

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
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

// Rig is an installation: a Postgres, durable and of its own unless On made it, and processes of the director on it.
// Its fields may be changed while no other goroutine uses it; its methods are safe for concurrent use.
type Rig struct {
	T       *testing.T
	Bin     string   // the binary that the next process runs
	Env     []string // the environment of the next process, NAME=value; the last value of a name is used
	Cluster *pglocal.Cluster
	Pool    *pgxpool.Pool
	Client  *http.Client  // of the callers
	Login   keytest.Login // of the players

	logs string

	mu      sync.Mutex
	started int      // processes, to number their logs
	urls    []string // of the replicas that callers know
	turn    int
}

// New makes an installation with the schema of this tree, for a binary of this tree. Each setting is NAME=value.
func New(t *testing.T, bin string, settings ...string) *Rig {
	t.Helper()
	return onCluster(t, bin, dbtest.NewMigratedCluster(t, pglocal.Options{Durable: true}), settings)
}

// NewOf makes an installation whose schema the binary migrates, which may be one of another release.
func NewOf(t *testing.T, bin string, settings ...string) *Rig {
	t.Helper()
	r := onCluster(t, bin, dbtest.NewCluster(t, pglocal.Options{Durable: true}), settings)
	r.Run("migrate", "up")
	return r
}

func onCluster(t *testing.T, bin string, cluster *pglocal.Cluster, settings []string) *Rig {
	t.Helper()
	r := On(t, bin, cluster.URL("postgres"), settings...)
	r.Cluster = cluster
	return r
}

// On makes an installation on a database that has the schema. It has no Cluster. Each setting is NAME=value.
func On(t *testing.T, bin, database string, settings ...string) *Rig {
	t.Helper()
	r := Embedded(t, 3*time.Second)
	r.Bin, r.logs = bin, t.TempDir()
	r.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DATABASE_URL=" + database,
		"DIRECTOR_FLEET_TOKEN=" + FleetToken, "DIRECTOR_OPEN_PARTIES=true",
		"DIRECTOR_KEY_ENCRYPTION_KEY=" + base64.StdEncoding.EncodeToString(keytest.KEK(7)),
		"DIRECTOR_AUTH_JWKS=" + r.Login.Set,
		"DIRECTOR_FAILURE_RATE=0", "DIRECTOR_LOG_FORMAT=json",
	}, settings...)
	var err error
	r.Pool, err = pgxpool.New(t.Context(), database)
	require.NoError(t, err)
	t.Cleanup(r.Pool.Close)
	return r
}

// Embedded is a rig without processes: its replicas run inside the test, which sets their URLs and the Pool. A call may
// take as long as the timeout.
func Embedded(t *testing.T, timeout time.Duration) *Rig {
	t.Helper()
	return &Rig{T: t, Login: keytest.NewLogin(t), Client: &http.Client{Timeout: timeout}}
}

// command is a run of the director with a log of its own.
func (r *Rig) command(args ...string) subprocess.Command {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started++
	return subprocess.Command{Name: fmt.Sprintf("%s-%d", args[0], r.started), Path: r.Bin, Args: args,
		Env: slices.Clone(r.Env), Logs: r.logs}
}

// Run runs a command of the director to its end.
func (r *Rig) Run(args ...string) {
	r.T.Helper()
	require.NoError(r.T, r.command(args...).Run(r.T.Context()))
}

// ApplyProfile applies a profile, in YAML.
func (r *Rig) ApplyProfile(document string) {
	r.T.Helper()
	file := filepath.Join(r.T.TempDir(), "profile.yaml")
	require.NoError(r.T, os.WriteFile(file, []byte(document), 0o600))
	r.Run("profiles", "apply", "-f", file)
}

// Process is a running director.
type Process struct {
	*subprocess.Process

	URL string // "" for a worker
}

// Start starts a process that is killed when the test ends.
func (r *Rig) Start(args ...string) *Process {
	r.T.Helper()
	p, err := r.command(args...).Start()
	require.NoError(r.T, err)
	r.T.Cleanup(func() {
		p.Kill()
		if r.T.Failed() {
			text, _ := os.ReadFile(filepath.Join(r.logs, p.Name()+".log"))
			r.T.Logf("%v:\n%s", args, text[max(0, len(text)-4000):])
		}
	})
	return &Process{Process: p}
}

// StartReplica starts a replica at an address, and does not wait until it is ready.
func (r *Rig) StartReplica(addr string, args ...string) *Process {
	r.T.Helper()
	p := r.Start(append([]string{"serve", "--addr", addr}, args...)...)
	p.URL = "http://" + addr
	return p
}

// Serve starts a replica, waits until it is ready, and adds it to those that callers know.
func (r *Rig) Serve(args ...string) *Process {
	r.T.Helper()
	p := r.StartReplica(FreeAddr(r.T), args...)
	r.AwaitReady(p)
	r.SetURLs(append(r.URLs(), p.URL)...)
	return p
}

// usedAddrs are those that FreeAddr has returned: nobody listens there yet, and the kernel offers them again.
var usedAddrs sync.Map

// FreeAddr returns a loopback address, host:port, that it returns only once.
func FreeAddr(t *testing.T) string {
	t.Helper()
	for {
		addrs, err := subprocess.FreeAddrs(t.Context(), 1)
		require.NoError(t, err)
		if _, used := usedAddrs.LoadOrStore(addrs[0], true); !used {
			return addrs[0]
		}
	}
}

// AwaitReady waits until a replica is ready.
func (r *Rig) AwaitReady(p *Process) {
	r.T.Helper()
	ctx, cancel := context.WithTimeout(r.T.Context(), 60*time.Second)
	defer cancel()
	require.NoError(r.T, p.AwaitReady(ctx, p.URL+"/readyz"))
}

package faults

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/dbtest"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/pglocal"
	"github.com/lattice-director/director/internal/subprocess"
)

const fleetToken = "a-fleet-token-for-tests"

func TestMain(m *testing.M) {
	code := m.Run()
	clitest.RemoveDirector()
	os.Exit(code)
}

// rig is an installation: a durable Postgres of its own, and processes of the director on it.
type rig struct {
	t       *testing.T
	bin     string
	env     []string
	logs    string
	cluster *pglocal.Cluster
	pool    *pgxpool.Pool
	login   ed25519.PrivateKey
	client  *http.Client

	mu      sync.Mutex
	started int      // processes, to number their logs
	urls    []string // of the replicas that callers know
	turn    int
}

func newRig(t *testing.T, settings ...string) *rig {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	r := &rig{t: t, bin: clitest.BuildDirector(t), logs: t.TempDir(), login: private, client: &http.Client{Timeout: 3 * time.Second}}
	r.cluster = dbtest.NewCluster(t, pglocal.Options{Durable: true})
	r.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DATABASE_URL=" + r.cluster.URL("postgres"),
		"DIRECTOR_FLEET_TOKEN=" + fleetToken,
		"DIRECTOR_KEY_ENCRYPTION_KEY=" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32)),
		"DIRECTOR_AUTH_JWKS=" + keySet(public),
		"DIRECTOR_FAILURE_RATE=0", "DIRECTOR_LOG_FORMAT=json",
	}, settings...)
	r.run("migrate", "up")
	r.pool, err = pgxpool.New(t.Context(), r.cluster.URL("postgres"))
	require.NoError(t, err)
	t.Cleanup(r.pool.Close)
	return r
}

// keySet is the JWKS of the login.
func keySet(login ed25519.PublicKey) string {
	return fmt.Sprintf(`{"keys":[{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","use":"sig","kid":"login","x":%q}]}`, b64(login))
}

// command is a run of the director with a log of its own.
func (r *rig) command(args ...string) subprocess.Command {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started++
	return subprocess.Command{Name: fmt.Sprintf("%s-%d", args[0], r.started), Path: r.bin, Args: args, Env: r.env, Logs: r.logs}
}

// run runs a command of the director to its end.
func (r *rig) run(args ...string) {
	r.t.Helper()
	require.NoError(r.t, r.command(args...).Run(r.t.Context()))
}

// process is a running director.
type process struct {
	*subprocess.Process
	url string // "" for a worker
}

// start starts a process that is killed when the test ends.
func (r *rig) start(args ...string) *process {
	r.t.Helper()
	p, err := r.command(args...).Start()
	require.NoError(r.t, err)
	r.t.Cleanup(func() {
		p.Kill()
		if r.t.Failed() {
			text, _ := os.ReadFile(filepath.Join(r.logs, p.Name()+".log"))
			r.t.Logf("%v:\n%s", args, text[max(0, len(text)-4000):])
		}
	})
	return &process{Process: p}
}

// startReplica starts a replica at an address, and does not wait until it is ready.
func (r *rig) startReplica(addr string, args ...string) *process {
	r.t.Helper()
	p := r.start(append([]string{"serve", "--addr", addr}, args...)...)
	p.url = "http://" + addr
	return p
}

// serve starts a replica, waits until it is ready, and adds it to those that callers know.
func (r *rig) serve(args ...string) *process {
	r.t.Helper()
	p := r.startReplica(freeAddr(r.t), args...)
	r.awaitReady(p)
	r.mu.Lock()
	r.urls = append(r.urls, p.url)
	r.mu.Unlock()
	return p
}

// usedAddrs are those that freeAddr has returned: nobody listens there yet, and the kernel offers them again.
var usedAddrs sync.Map

func freeAddr(t *testing.T) string {
	t.Helper()
	for {
		addrs, err := subprocess.FreeAddrs(t.Context(), 1)
		require.NoError(t, err)
		if _, used := usedAddrs.LoadOrStore(addrs[0], true); !used {
			return addrs[0]
		}
	}
}

func (r *rig) awaitReady(p *process) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 60*time.Second)
	defer cancel()
	require.NoError(r.t, p.AwaitReady(ctx, p.url+"/readyz"))
}

func (r *rig) exec(sql string, args ...any) {
	r.t.Helper()
	_, err := r.pool.Exec(r.t.Context(), sql, args...)
	require.NoError(r.t, err)
}

func one[T any](r *rig, sql string, args ...any) (v T) {
	r.t.Helper()
	require.NoError(r.t, r.pool.QueryRow(context.WithoutCancel(r.t.Context()), sql, args...).Scan(&v), sql)
	return v
}

// requireInvariants asserts that no invariant is violated.
func (r *rig) requireInvariants() {
	r.t.Helper()
	require.Empty(r.t, one[[]string](r, "SELECT coalesce(array_agg(name || ': ' || violations), '{}') FROM ops.invariants WHERE violations > 0"))
}

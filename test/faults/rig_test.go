package faults

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/dbtest"
	"github.com/lattice-director/director/db/pglocal"
)

const fleetToken = "a-fleet-token-for-tests"

// build compiles the director once for all tests.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "faults")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "director")
	out, err := exec.Command("go", "build", "-o", bin, "github.com/lattice-director/director/cmd/director").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return bin, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if bin, err := build(); err == nil {
		_ = os.RemoveAll(filepath.Dir(bin))
	}
	os.Exit(code)
}

// rig is an installation: a durable Postgres of its own, and processes of the director on it.
type rig struct {
	t       *testing.T
	bin     string
	env     []string
	cluster *pglocal.Cluster
	pool    *pgxpool.Pool
	login   ed25519.PrivateKey
	client  *http.Client

	mu   sync.Mutex
	urls []string // of the replicas callers know
	turn int
}

func newRig(t *testing.T, settings ...string) *rig {
	t.Helper()
	bin, err := build()
	require.NoError(t, err)
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	r := &rig{t: t, bin: bin, login: private, client: &http.Client{Timeout: 3 * time.Second}}
	r.cluster = dbtest.NewCluster(t, pglocal.Options{Durable: true})
	r.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DATABASE_URL=" + r.cluster.URL("postgres"),
		"DIRECTOR_FLEET_TOKEN=" + fleetToken,
		"DIRECTOR_KEY_ENCRYPTION_KEY=" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32)),
		"DIRECTOR_AUTH_JWKS=" + fmt.Sprintf(`{"keys":[{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","use":"sig","kid":"login","x":%q}]}`, b64(public)),
		"DIRECTOR_FAILURE_RATE=0", "DIRECTOR_LOG_FORMAT=json",
	}, settings...)
	r.run("migrate", "up")
	r.pool, err = pgxpool.New(t.Context(), r.cluster.URL("postgres"))
	require.NoError(t, err)
	t.Cleanup(r.pool.Close)
	return r
}

func b64(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

func (r *rig) command(args ...string) *exec.Cmd {
	cmd := exec.Command(r.bin, args...)
	cmd.Env = r.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

func (r *rig) run(args ...string) {
	r.t.Helper()
	out, err := r.command(args...).CombinedOutput()
	require.NoError(r.t, err, "%s", out)
}

// process is a running director.
type process struct {
	*exec.Cmd
	url    string
	exited chan struct{}
}

func (r *rig) start(args ...string) *process {
	r.t.Helper()
	log, err := os.CreateTemp(r.t.TempDir(), "director-*.log")
	require.NoError(r.t, err)
	p := &process{Cmd: r.command(args...), exited: make(chan struct{})}
	p.Stdout, p.Stderr = log, log
	require.NoError(r.t, p.Cmd.Start())
	go func() { _ = p.Cmd.Wait(); close(p.exited) }()
	r.t.Cleanup(func() {
		_ = p.Process.Signal(syscall.SIGCONT)
		_ = p.Process.Kill()
		<-p.exited
		if r.t.Failed() {
			text, _ := os.ReadFile(log.Name())
			r.t.Logf("%v:\n%s", args, text[max(0, len(text)-4000):])
		}
	})
	return p
}

// serve starts a replica that callers learn of, and waits until it is ready.
func (r *rig) serve(args ...string) *process {
	r.t.Helper()
	addr := freeAddr(r.t)
	p := r.start(append([]string{"serve", "--addr", addr}, args...)...)
	p.url = "http://" + addr
	r.await(p.url + "/readyz")
	r.mu.Lock()
	r.urls = append(r.urls, p.url)
	r.mu.Unlock()
	return p
}

func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = ln.Close() }()
	return ln.Addr().String()
}

func (r *rig) await(url string) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		res, err := r.client.Get(url)
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	}, 60*time.Second, 20*time.Millisecond, url)
}

// next is the replica whose turn it is, as a balancer without health checks would choose.
func (r *rig) next() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn++
	return r.urls[r.turn%len(r.urls)]
}

// token is a player's access token.
func (r *rig) token(sub string) string {
	claims, _ := json.Marshal(map[string]any{"sub": sub, "exp": time.Now().Add(time.Hour).Unix()})
	signed := b64([]byte(`{"alg":"EdDSA","kid":"login","typ":"JWT"}`)) + "." + b64(claims)
	return signed + "." + b64(ed25519.Sign(r.login, []byte(signed)))
}

type fields map[string]any

var errNoAnswer = errors.New("no answer")

// post asks one replica once. A status of 0 is an answer that was lost, or never given.
func (r *rig) post(url, path string, header http.Header, body fields) (int, fields, error) {
	text, _ := json.Marshal(body)
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, url+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	res, err := r.client.Do(req)
	if err != nil {
		return 0, nil, errors.Join(errNoAnswer, err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return 0, nil, errors.Join(errNoAnswer, err)
	}
	var out fields
	if len(data) > 0 {
		err = json.Unmarshal(data, &out)
	}
	return res.StatusCode, out, err
}

func (r *rig) fleet(path string, body fields) (int, fields, error) {
	return r.post(r.next(), path, http.Header{"X-Fleet-Token": {fleetToken}}, body)
}

func (r *rig) play(sub, path string, body fields) (int, fields, error) {
	return r.post(r.next(), path, http.Header{"Authorization": {"Bearer " + r.token(sub)}}, body)
}

// insist asks, now this replica and now that, until one answers 200: what a client does that was told to retry.
func (r *rig) insist(ctx context.Context, sub, path string, body fields) (fields, error) {
	for ctx.Err() == nil {
		status, answer, err := r.play(sub, path, body)
		switch {
		case status == http.StatusOK:
			return answer, nil
		case err == nil && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests:
			return nil, fmt.Errorf("%s answered %d: %v", path, status, answer)
		}
		rest(ctx, 20*time.Millisecond)
	}
	return nil, ctx.Err()
}

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// keepAlive registers instances in region eu and sends their heartbeats until the test ends.
func (r *rig) keepAlive(every time.Duration, ids ...string) {
	r.t.Helper()
	r.keepAliveIn("eu", every, ids...)
}

func (r *rig) keepAliveIn(region string, every time.Duration, ids ...string) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	var wg sync.WaitGroup
	r.t.Cleanup(func() { cancel(); wg.Wait() })
	for _, id := range ids {
		registration := fields{"instance_id": id, "endpoint": id + ":7777", "region": region, "modes": []string{"duel"}, "capacity": 50000, "boot_id": id}
		status, answer, err := r.fleet("/fleet/register", registration)
		require.NoError(r.t, err)
		require.Equal(r.t, http.StatusOK, status, "%v", answer)
		wg.Go(func() {
			for ctx.Err() == nil {
				rest(ctx, every)
				if status, _, _ := r.fleet("/fleet/heartbeat", fields{"instance_id": id}); status == http.StatusNotFound {
					_, _, _ = r.fleet("/fleet/register", registration)
				}
			}
		})
	}
}

func one[T any](r *rig, sql string, args ...any) (v T) {
	r.t.Helper()
	require.NoError(r.t, r.pool.QueryRow(context.WithoutCancel(r.t.Context()), sql, args...).Scan(&v), sql)
	return v
}

// requireSound asks every invariant view.
func (r *rig) requireSound() {
	r.t.Helper()
	require.Empty(r.t, one[[]string](r, "SELECT coalesce(array_agg(name || ': ' || violations), '{}') FROM ops.invariants WHERE violations > 0"))
}

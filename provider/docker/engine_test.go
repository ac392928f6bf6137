package docker_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/docker"
	"github.com/lattice-director/director/provider/providertest"
)

// realHost is the engine of DOCKER_HOST, or of the usual socket.
var realHost = cmp.Or(os.Getenv("DOCKER_HOST"), docker.DefaultHost)

const image = "lattice-director-test-game"

// TestMain says what was not tested.
func TestMain(m *testing.M) {
	code := m.Run()
	if !reachable() {
		fmt.Fprintf(os.Stderr, "provider/docker: NO DOCKER ENGINE answers at %s: only the fake of its API was tested. "+
			"DIRECTOR_TEST_DOCKER=required makes this an error.\n", realHost)
	}
	os.Exit(code)
}

// reachable reports whether there is a real engine.
var reachable = sync.OnceValue(func() bool {
	if !docker.ValidHost(realHost) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	status, _, err := ask(ctx, http.MethodGet, "/_ping", nil)
	return err == nil && status == http.StatusOK
})

// realEngines returns the real engines there are: one or none.
func realEngines(t *testing.T) []string {
	t.Helper()
	if reachable() {
		return []string{realHost}
	}
	require.NotEqual(t, "required", os.Getenv("DIRECTOR_TEST_DOCKER"), "no Docker engine answers at %s", realHost)
	t.Logf("NO DOCKER ENGINE answers at %s: nothing was tested here", realHost)
	return nil
}

// ask calls the engine without the provider.
func ask(ctx context.Context, method, path string, body io.Reader) (status int, answer []byte, err error) {
	network, addr, _ := strings.Cut(realHost, "://")
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	req, err := http.NewRequestWithContext(ctx, method, "http://docker"+path, body)
	if err != nil {
		return 0, nil, err
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// importGame makes the image of the game: a static program and nothing else, so that nothing is pulled.
var importGame = sync.OnceValue(func() error {
	dir, err := os.MkdirTemp("", "game-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, "game")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "./testdata/game")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	var root bytes.Buffer
	w := tar.NewWriter(&root)
	if err := w.WriteHeader(&tar.Header{Name: "game", Mode: 0o755, Size: int64(len(text))}); err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	query := url.Values{"fromSrc": {"-"}, "repo": {image}, "tag": {"1.0"}, "changes": {`ENTRYPOINT ["/game"]`}}
	status, answer, err := ask(context.Background(), http.MethodPost, "/images/create?"+query.Encode(), &root)
	if err == nil && (status != http.StatusOK || strings.Contains(string(answer), `"error"`)) {
		err = fmt.Errorf("status %d: %s", status, answer)
	}
	return err
})

// containers returns the ids of an owner's containers.
func containers(t *testing.T, owner provider.Owner, running bool) []string {
	t.Helper()
	filter := map[string][]string{"label": {"lattice-director.owner=" + string(owner)}}
	if running {
		filter["status"] = []string{"running"}
	}
	text := must.Get(json.Marshal(filter))(t)
	_, answer, err := ask(context.Background(), http.MethodGet, "/containers/json?all=1&filters="+url.QueryEscape(string(text)), nil)
	require.NoError(t, err)
	var all []struct {
		ID string `json:"Id"`
	}
	require.NoError(t, json.Unmarshal(answer, &all), "%s", answer)
	ids := make([]string, len(all))
	for i, c := range all {
		ids[i] = c.ID
	}
	return ids
}

// newOwner returns an owner whose containers are removed when the test ends.
func newOwner(t *testing.T) provider.Owner {
	t.Helper()
	require.NoError(t, importGame())
	owner := must.Get(provider.OwnerOf(string(provider.NewTag())[:17]))(t)
	t.Cleanup(func() {
		for _, id := range containers(t, owner, false) {
			_, _, err := ask(context.Background(), http.MethodDelete, "/containers/"+id+"?force=1", nil)
			require.NoError(t, err)
		}
	})
	return owner
}

func realSpec() provider.Spec {
	s := spec()
	s.App = image
	return s
}

func TestConformanceOnARealEngine(t *testing.T) {
	t.Parallel()
	for _, host := range realEngines(t) {
		providertest.Run(t, func(t *testing.T) providertest.Engine {
			owner := newOwner(t)
			return providertest.Engine{
				New: func(t *testing.T) provider.Provider {
					return open(t, docker.Config{Host: host, Images: []string{image}})
				},
				Owner: owner, // parallel tests share the engine
				Spec:  realSpec(), AliveCount: func(t *testing.T) int { return len(containers(t, owner, true)) }, Within: time.Minute,
			}
		})
	}
}

// Pins ports that the engine does not publish where players dial, and a server that gets a second SIGTERM or none.
func TestARealServer(t *testing.T) {
	t.Parallel()
	for _, host := range realEngines(t) {
		s := realSpec()
		s.Owner, s.Env["TEST_STUBBORN"] = newOwner(t), "1"
		p := open(t, docker.Config{Host: host, Images: []string{image + ":1.0"}})
		require.NoError(t, p.Check(t.Context(), s.App, s.Version))
		require.ErrorContains(t, open(t, docker.Config{Host: host, Images: []string{"no-such-image"}}).Check(t.Context(), "no-such-image", "1"), "the engine has no image")
		o, err := p.Deploy(t.Context(), s)
		require.NoError(t, err)
		require.Eventually(t, func() bool { o, err = p.Get(t.Context(), o.Ref); return err == nil && o.Phase == provider.PhaseReady }, time.Minute, 20*time.Millisecond)
		require.Eventually(t, func() bool { return echoes(t, fmt.Sprintf("%s:%d", o.IP, o.Ports["game"].External)) }, time.Minute, 20*time.Millisecond)
		begin := time.Now()
		for _, worker := range []*docker.Provider{p, open(t, docker.Config{Host: host, Images: []string{image}}), p} {
			require.NoError(t, worker.Stop(t.Context(), o.Ref, 3*time.Second))
		}
		require.Less(t, time.Since(begin), 3*time.Second, "Stop does not wait for the end")
		require.Eventually(t, func() bool { o, err = p.Get(t.Context(), o.Ref); return err == nil && o.Phase == provider.PhaseGone }, time.Minute, 50*time.Millisecond)
		require.GreaterOrEqual(t, time.Since(begin), 3*time.Second, "a repeated Stop shortened the grace")
		require.Equal(t, "exit status 137", o.Error)
	}
}

func echoes(t *testing.T, at string) bool {
	t.Helper()
	c := must.Get(new(net.Dialer).DialContext(t.Context(), "udp", at))(t)
	defer func() { _ = c.Close() }()
	require.NoError(t, c.SetDeadline(time.Now().Add(100*time.Millisecond)))
	answer := make([]byte, 10)
	_, _ = c.Write([]byte("hello"))
	n, err := c.Read(answer)
	return err == nil && string(answer[:n]) == "hello"
}

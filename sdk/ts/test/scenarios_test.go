package sdkts_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/chromiumtest"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/nodetest"
	"github.com/lattice-director/director/test/peertest"
)

// scenarios run in Node.js, and in Chromium.
var scenarios = func() map[string]peertest.Scenario {
	all := map[string]peertest.Scenario{}
	for _, group := range []map[string]peertest.Scenario{peertest.Players, peertest.Lobbies, peertest.LobbyLists} {
		maps.Copy(all, group)
	}
	return all
}()

type node struct{ *nodetest.Script }

func (n node) Step(t testing.TB, request, answer any) { n.Ask(t, request, answer) }

func TestNodeScenarios(t *testing.T) {
	t.Parallel()
	// Streams that are still open must not keep the process alive.
	script := fmt.Sprintf("process.stdin.on('end', () => process.exit()); const steps = import(%q); const answer = async (request) => (await steps).call(request);",
		"file://"+filepath.Join(built(t), "test", "scenarios.mjs"))
	peertest.Run(t, "", func(t *testing.T) peertest.Peer { return node{nodetest.Start(t, script)} }, scenarios)
}

type page struct{ *chromiumtest.Page }

func (p page) Step(t testing.TB, request, answer any) {
	p.Call(t, "async (request) => (await import('/test/scenarios.mjs')).call(request)", request, answer)
}

// inBrowsers are the scenarios in which a browser's network differs from that of Node.js. A long run has all in Chromium.
var inBrowsers = []string{
	"a player and a party are seated", "a watch survives its replica", "an aborted call and an aborted watch end", "redirects and strangers get no token",
	"a lobby client survives its replica",
}

func TestChromiumScenarios(t *testing.T) {
	t.Parallel()
	some := maps.Clone(scenarios)
	maps.DeleteFunc(some, func(name string, _ peertest.Scenario) bool { return !slices.Contains(inBrowsers, name) })
	require.Len(t, some, len(inBrowsers))
	browser, web := chromiumtest.Start(t), serveSite(t)
	peertest.Run(t, web.URL, func(t *testing.T) peertest.Peer { return page{browser.OpenPage(t, web.URL+"/page")} }, longtest.Pick(some, scenarios))
}

// serveSite serves what build made, as the server of a page does.
func serveSite(t testing.TB) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(built(t))))
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>test</title>"))
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	return web
}

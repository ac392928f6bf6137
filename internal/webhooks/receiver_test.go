package webhooks_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/keymint"
)

// The receiver that docs/how-to/webhooks.md shows, in Node.js with its own implementation of ed25519, accepts what is
// delivered and refuses what is forged.
func TestTheReceiverOfTheDocumentation(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	require.NoError(t, err, "make test installs Node.js")
	b := setup(t)
	keys := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rows, now, err := b.Keys(r.Context())
		if err != nil || r.URL.Path != "/.well-known/webhook-keys.json" {
			t.Errorf("%s: %v", r.URL.Path, err)
			return
		}
		ring, err := keymint.Open(rows, b.sealer, now, time.Minute)
		if err != nil {
			t.Error(err)
			return
		}
		document, _, _ := ring.WebhookKeySet(now)
		_, _ = w.Write(document)
	}))
	t.Cleanup(keys.Close)
	page, err := os.ReadFile("../../docs/how-to/webhooks.md")
	require.NoError(t, err)
	code := regexp.MustCompile("(?s)```js\n(.*?)```").FindSubmatch(page)
	require.NotNil(t, code)
	require.LessOrEqual(t, strings.Count(string(code[1]), "\n"), 25)
	file := filepath.Join(t.TempDir(), "receiver.mjs")
	// The port is chosen by the system, and printed.
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(code[1]), "'127.0.0.1')", "'127.0.0.1', function () { console.log('port', this.address().port) })", 1)), 0o600))
	run := exec.CommandContext(t.Context(), node, file)
	run.Env = append(os.Environ(), "PORT=0", "DIRECTOR="+keys.URL)
	run.Stderr = os.Stderr
	out, err := run.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, run.Start())
	t.Cleanup(func() { _ = run.Process.Kill(); _ = run.Wait() })
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	url := "http://127.0.0.1:" + strings.TrimPrefix(lines.Text(), "port ")

	_, err = b.As("").CreateWebhook(t.Context(), "studio", url, []string{"session.*"})
	require.NoError(t, err)
	b.deliver()
	b.happen(1, 3)
	for range 3 {
		require.True(t, lines.Scan())
		require.Regexp(t, "^evt_[0-9a-f-]{36} session.closed$", lines.Text())
	}
	forged, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"type":"session.closed"}`))
	require.NoError(t, err)
	forged.Header.Set("webhook-id", "evt_1")
	forged.Header.Set("webhook-timestamp", "1700000000")
	forged.Header.Set("webhook-signature", "v1a,"+strings.Repeat("A", 86)+"==")
	answer, err := http.DefaultClient.Do(forged)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
}

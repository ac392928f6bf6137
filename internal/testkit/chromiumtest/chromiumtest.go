// Package chromiumtest opens pages in a headless Chromium, for tests of what browsers run. Tests that need it have
// names that begin with TestChromium, and their package has a TestMain that calls Prepare.
package chromiumtest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/toolstest"
)

// Prepare is what a TestMain calls first. Where Chromium is missing, it says so on stderr and leaves out the tests that
// need it; in CI it ends the process.
func Prepare() {
	// LeaveOut changes a flag, which a later parse would set again.
	flag.Parse()
	toolstest.LeaveOut(findBrowser(), "^TestChromium", "Chromium (run ops/install-chromium.sh)")
}

// findBrowser returns an error if there is no Chromium where chromedp looks for one.
func findBrowser() error {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if _, err := exec.LookPath(name); err == nil {
			return nil
		}
	}
	for _, path := range []string{"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
		"/Applications/Chromium.app/Contents/MacOS/Chromium"} {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
	}
	return errors.New("there is no Chromium")
}

// Browser is a running Chromium, which ends with its test.
type Browser struct{ ctx context.Context }

// Start starts a Chromium with a profile of its own.
func Start(t testing.TB) *Browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-background-networking", true))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	require.NoError(t, chromedp.Do(ctx)) // starts Chromium, without a timeout, which would end it
	return &Browser{ctx}
}

// OpenPage opens a URL in a tab of its own, which is closed when the test ends. No call of the page has a time limit
// but that of the test binary.
func (b *Browser) OpenPage(t testing.TB, url string) *Page {
	t.Helper()
	ctx, end := chromedp.NewContext(b.ctx)
	t.Cleanup(end)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(url)))
	return &Page{ctx}
}

// Page is an open page.
type Page struct {
	Ctx context.Context // that chromedp's functions take for this page
}

// Call calls an asynchronous JavaScript function with one argument and decodes what it resolves to.
func (p *Page) Call(t testing.TB, function string, argument, result any) {
	t.Helper()
	arg, err := json.Marshal(argument)
	require.NoError(t, err)
	script := fmt.Sprintf("(async () => JSON.stringify(await (%s)(%s)))()", function, arg)
	text, err := chromedp.Run(p.Ctx, chromedp.Evaluate[string](script, chromedp.EvalAwaitPromise))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(text), result), text)
}

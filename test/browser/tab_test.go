package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/chromiumtest"
)

// tab is a page of a replica, and what the browser complains about: errors of scripts, and what the page's policy blocks.
type tab struct {
	*chromiumtest.Page

	t *testing.T

	mu         sync.Mutex
	complaints []string
}

// open opens a URL in a window of a width, in light or dark colours.
func open(t *testing.T, b *chromiumtest.Browser, url string, width int64, scheme string) *tab {
	t.Helper()
	p := &tab{Page: b.Page(t, "about:blank"), t: t}
	messages := chromedp.Console(p.Ctx)
	require.NoError(t, chromedp.Do(p.Ctx, chromedp.EmulateViewport(width, 800)))
	_, err := chromedp.Call(p.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	require.NoError(t, err)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			p.mu.Lock()
			p.complaints = append(p.complaints, fmt.Sprintf("%s %s: %s", m.Source, m.Type, m.Text))
			p.mu.Unlock()
		}
	}()
	require.NoError(t, chromedp.Do(p.Ctx, chromedp.Navigate(url)))
	return p
}

// eval returns the value of an expression, which may be a promise.
func eval[V any](p *tab, expression string) V {
	p.t.Helper()
	value, err := chromedp.Run(p.Ctx, chromedp.Evaluate[V](expression, chromedp.EvalAwaitPromise))
	require.NoError(p.t, err, expression)
	return value
}

// until waits until an expression is true.
func (p *tab) until(expression string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return eval[bool](p, "!!("+expression+")") }, time.Minute, 20*time.Millisecond, expression)
}

// click clicks the first element of a selector, once there is one.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.until(fmt.Sprintf("document.querySelector(%q)", selector))
	eval[bool](p, fmt.Sprintf("document.querySelector(%q).click(), true", selector))
}

// fits requires that nothing is wider than the window, and that the browser has not complained.
func (p *tab) fits() {
	p.t.Helper()
	require.LessOrEqual(p.t, eval[int](p, "document.documentElement.scrollWidth"), eval[int](p, "innerWidth"), "wider than the window: %s", eval[string](p,
		`[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('pre')).slice(0, 5).map(e => e.outerHTML.slice(0, 200)).join('\n')`))
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Empty(p.t, p.complaints)
}

// shot keeps a picture of the page in the directory DIRECTOR_TEST_SCREENSHOTS, for people who look at them.
func (p *tab) shot(name string) {
	p.t.Helper()
	dir := os.Getenv("DIRECTOR_TEST_SCREENSHOTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(p.Ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	require.NoError(p.t, os.MkdirAll(dir, 0o755))
	require.NoError(p.t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600))
}

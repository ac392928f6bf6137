package chromiumtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// stepTimeout bounds each step of a Tab, on a machine that runs all tests at once.
const stepTimeout = time.Minute

// Tab is a page with what the browser complains about: errors of scripts, and what the page's policy blocks.
type Tab struct {
	Page *Page

	t testing.TB

	mu         sync.Mutex
	complaints []string
}

// Tab opens an empty tab, which ends with its test.
func (b *Browser) Tab(t testing.TB) *Tab {
	t.Helper()
	w := &Tab{Page: b.Page(t, "about:blank"), t: t}
	messages := chromedp.Console(w.Page.Ctx)
	require.NoError(t, chromedp.Do(w.Page.Ctx)) // it listens from now on
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type == "debug" || m.Type == "info" || m.Type == "log" { // recommendations of the browser
				continue
			}
			w.mu.Lock()
			w.complaints = append(w.complaints,
				fmt.Sprintf("%s %s: %s (%s:%d)", m.Source, m.Type, m.Text, m.URL, m.Line))
			w.mu.Unlock()
		}
	}()
	return w
}

// Look sets the size of the window and the colours that the system prefers, light or dark.
func (w *Tab) Look(width, height int64, scheme string) {
	w.t.Helper()
	w.Do(chromedp.EmulateViewport(width, height))
	_, err := chromedp.Call(w.Page.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"}},
	})
	require.NoError(w.t, err)
}

// Do performs actions.
func (w *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.Page.Ctx, stepTimeout)
	defer cancel()
	require.NoError(w.t, chromedp.Do(ctx, actions...))
}

// Open opens a URL.
func (w *Tab) Open(url string) { w.t.Helper(); w.Do(chromedp.Navigate(url)) }

// Eval returns the value of an expression of JavaScript, which may be a promise.
func Eval[V any](w *Tab, expression string) V {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.Page.Ctx, stepTimeout)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[V](expression, chromedp.EvalAwaitPromise))
	require.NoError(w.t, err, expression)
	return value
}

// Until waits until an expression is true.
func (w *Tab) Until(expression string) {
	w.t.Helper()
	require.Eventually(w.t, func() bool { return Eval[bool](w, "!!("+expression+")") }, stepTimeout, 100*time.Millisecond,
		expression)
}

// RequireClean requires that the browser has complained about nothing.
func (w *Tab) RequireClean(where string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Empty(w.t, w.complaints, where)
}

// RequireFits requires that nothing is wider than the window.
func (w *Tab) RequireFits(where string) {
	w.t.Helper()
	require.LessOrEqual(w.t, Eval[int](w, "document.documentElement.scrollWidth"), Eval[int](w, "innerWidth"),
		"%s is wider than the window: %s", where, Eval[string](w,
			`[...document.querySelectorAll('body *')]
				.filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.table, pre, svg, .hidden'))
				.slice(0, 5).map(e => e.outerHTML.slice(0, 200)).join('\n')`))
}

// RequireAccessible requires that axe finds nothing against WCAG 2.2 AA: contrast, labels, names, structure. axe is the
// script of axe-core.
func (w *Tab) RequireAccessible(axe, where string) {
	w.t.Helper()
	Eval[bool](w, axe+"; true")
	require.Empty(w.t, Eval[[]string](w, `axe.run(document, {runOnly: {type: 'tag',
			values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}})
		.then(r => r.violations.map(v => v.id + ': ' + v.help + ': ' +
			v.nodes.slice(0, 4).map(n => n.html.slice(0, 160) + ' ' + n.failureSummary).join(' | ')))`), where)
}

// Shot keeps a picture of the page in the directory DIRECTOR_TEST_SCREENSHOTS, for people who look at them.
func (w *Tab) Shot(name string) {
	w.t.Helper()
	dir := os.Getenv("DIRECTOR_TEST_SCREENSHOTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(w.Page.Ctx, chromedp.FullScreenshot(100))
	require.NoError(w.t, err)
	require.NoError(w.t, os.MkdirAll(dir, 0o755))
	require.NoError(w.t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600))
}

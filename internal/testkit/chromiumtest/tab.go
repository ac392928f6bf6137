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

// Tab is a page that collects what the browser complains about: errors of scripts, and what the page's policy blocks.
type Tab struct {
	Page *Page

	t testing.TB

	mu         sync.Mutex
	complaints []string
}

// OpenTab opens an empty tab, which is closed when the test ends.
func (b *Browser) OpenTab(t testing.TB) *Tab {
	t.Helper()
	tab := &Tab{Page: b.OpenPage(t, "about:blank"), t: t}
	messages := chromedp.Console(tab.Page.Ctx)
	require.NoError(t, chromedp.Do(tab.Page.Ctx)) // messages has what the browser says from now on
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type == "debug" || m.Type == "info" || m.Type == "log" { // recommendations of the browser
				continue
			}
			tab.addComplaint(fmt.Sprintf("%s %s: %s (%s:%d)", m.Source, m.Type, m.Text, m.URL, m.Line))
		}
	}()
	return tab
}

func (tab *Tab) addComplaint(text string) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.complaints = append(tab.complaints, text)
}

// SetAppearance sets the size of the window in pixels and the colours that the system prefers, light or dark.
func (tab *Tab) SetAppearance(width, height int64, scheme string) {
	tab.t.Helper()
	tab.Do(chromedp.EmulateViewport(width, height))
	_, err := chromedp.Call(tab.Page.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"}},
	})
	require.NoError(tab.t, err)
}

// Do performs actions of chromedp, for at most stepTimeout.
func (tab *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.Page.Ctx, stepTimeout)
	defer cancel()
	require.NoError(tab.t, chromedp.Do(ctx, actions...))
}

// Open opens a URL.
func (tab *Tab) Open(url string) { tab.t.Helper(); tab.Do(chromedp.Navigate(url)) }

// Eval returns the value of an expression of JavaScript, which may be a promise.
func Eval[V any](tab *Tab, expression string) V {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.Page.Ctx, stepTimeout)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[V](expression, chromedp.EvalAwaitPromise))
	require.NoError(tab.t, err, expression)
	return value
}

// Until waits until an expression of JavaScript is true, for at most stepTimeout.
func (tab *Tab) Until(expression string) {
	tab.t.Helper()
	require.Eventually(tab.t, func() bool { return Eval[bool](tab, "!!("+expression+")") }, stepTimeout, 100*time.Millisecond,
		expression)
}

// RequireClean requires that the browser has complained about nothing. where names the page in the message of a
// failure.
func (tab *Tab) RequireClean(where string) {
	tab.t.Helper()
	tab.mu.Lock()
	defer tab.mu.Unlock()
	require.Empty(tab.t, tab.complaints, where)
}

// RequireFits requires that nothing is wider than the window, but what can be scrolled by itself.
func (tab *Tab) RequireFits(where string) {
	tab.t.Helper()
	require.LessOrEqual(tab.t, Eval[int](tab, "document.documentElement.scrollWidth"), Eval[int](tab, "innerWidth"),
		"%s is wider than the window: %s", where, Eval[string](tab,
			`[...document.querySelectorAll('body *')]
				.filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.table, pre, svg, .hidden'))
				.slice(0, 5).map(e => e.outerHTML.slice(0, 200)).join('\n')`))
}

// RequireAccessible requires that axe-core, whose script is given, finds nothing against WCAG 2.2 AA: contrast, labels,
// names, structure.
func (tab *Tab) RequireAccessible(axeScript, where string) {
	tab.t.Helper()
	Eval[bool](tab, axeScript+"; true")
	require.Empty(tab.t, Eval[[]string](tab, `axe.run(document, {runOnly: {type: 'tag',
			values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}})
		.then(r => r.violations.map(v => v.id + ': ' + v.help + ': ' +
			v.nodes.slice(0, 4).map(n => n.html.slice(0, 160) + ' ' + n.failureSummary).join(' | ')))`), where)
}

// SaveScreenshot writes NAME.png, for people, into the directory that DIRECTOR_TEST_SCREENSHOTS names; without that
// variable it does nothing.
func (tab *Tab) SaveScreenshot(name string) {
	tab.t.Helper()
	dir := os.Getenv("DIRECTOR_TEST_SCREENSHOTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(tab.Page.Ctx, chromedp.FullScreenshot(100))
	require.NoError(tab.t, err)
	require.NoError(tab.t, os.MkdirAll(dir, 0o755))
	require.NoError(tab.t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600))
}

package console

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/chromiumtest"
	"github.com/lattice-director/director/internal/nodetest"
)

func TestMain(m *testing.M) {
	chromiumtest.Prepare()
	nodetest.Prepare() // with axe, for the test of all pages
	os.Exit(m.Run())
}

// tab is a tab of a real Chromium. It collects what the page complains about.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu         sync.Mutex
	complaints []string
}

// newTab opens a tab. The tabs of a browser share its cookies.
func (b *bundle) newTab(in *chromiumtest.Browser) *tab {
	b.t.Helper()
	ctx := in.Page(b.t, "about:blank").Ctx
	w := &tab{t: b.t, ctx: ctx, base: b.server.URL}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type == "debug" || m.Type == "info" || m.Type == "log" { // recommendations of the browser
				continue
			}
			w.mu.Lock()
			w.complaints = append(w.complaints, fmt.Sprintf("%s %s: %s (%s:%d)", m.Source, m.Type, m.Text, m.URL, m.Line))
			w.mu.Unlock()
		}
	}()
	return w
}

func (w *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	require.NoError(w.t, chromedp.Do(ctx, actions...))
}

func (w *tab) open(path string) { w.t.Helper(); w.do(chromedp.Navigate(w.base + path)) }

// eval returns the value of an expression, which may be a promise.
func eval[T any](w *tab, expression string) T {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(w.t, err, expression)
	return value
}

// until waits until an expression is true.
func (w *tab) until(expression string) {
	w.t.Helper()
	require.Eventually(w.t, func() bool { return eval[bool](w, "!!("+expression+")") }, time.Minute, 20*time.Millisecond, expression)
}

// look sets the size of the window and the colours that the system prefers.
func (w *tab) look(width, height int64, scheme string) {
	w.t.Helper()
	w.do(chromedp.EmulateViewport(width, height))
	_, err := chromedp.Call(w.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	})
	require.NoError(w.t, err)
}

// login logs in through the form.
func (w *tab) login(secret string) {
	w.t.Helper()
	w.open("/login")
	w.do(chromedp.SendKeys(chromedp.ID("token"), secret), chromedp.Click(chromedp.CSS("#login button")))
	w.until("document.querySelector('.who')")
}

// clean requires that the page complained about nothing: no error of a script, nothing that the policy blocked.
func (w *tab) clean(where string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Empty(w.t, w.complaints, where)
}

// fits requires that nothing is wider than the window.
func (w *tab) fits(where string) {
	w.t.Helper()
	type excess struct{ Width, Window int }
	got := eval[excess](w, "({Width: document.documentElement.scrollWidth, Window: window.innerWidth})")
	require.LessOrEqual(w.t, got.Width, got.Window, "%s is too wide: %s", where, eval[string](w,
		`[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.table, pre, svg, .hidden')).slice(0, 5).map(e => e.outerHTML.slice(0, 200)).join('\n')`))
}

// accessible requires that axe finds nothing against WCAG 2.2 AA: contrast, labels, names, structure.
func (w *tab) accessible(axe, where string) {
	w.t.Helper()
	eval[bool](w, axe+"; true")
	found := eval[string](w, `axe.run(document, {runOnly: {type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}})
		.then(r => JSON.stringify(r.violations.map(v => v.id + ': ' + v.help + ': ' + v.nodes.slice(0, 4).map(n => n.html.slice(0, 160) + ' ' + n.failureSummary).join(' | '))))`)
	var violations []string
	require.NoError(w.t, json.Unmarshal([]byte(found), &violations))
	require.Empty(w.t, violations, where)
}

// shot keeps a picture of the page in the directory DIRECTOR_TEST_SCREENSHOTS, for people who look at them.
func (w *tab) shot(name string) {
	w.t.Helper()
	dir := os.Getenv("DIRECTOR_TEST_SCREENSHOTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(w.ctx, chromedp.FullScreenshot(100))
	require.NoError(w.t, err)
	require.NoError(w.t, os.MkdirAll(dir, 0o755))
	require.NoError(w.t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600))
}

// Pins pages that nobody can read or use in a real browser: with errors of scripts, what the policy blocks, too little contrast, without
// labels, or wider than a phone.
func TestChromiumPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pages := b.populate()
	axe := nodetest.File(t, "axe-core/axe.min.js")
	browser := chromiumtest.Start(t)
	w := b.newTab(browser)
	for _, window := range []struct {
		name          string
		width, height int64
	}{{"desktop", 1280, 800}, {"phone", 360, 740}} {
		for _, scheme := range []string{"light", "dark"} {
			w.look(window.width, window.height, scheme)
			if window.name+scheme == "desktoplight" {
				w.open("/login")
				w.accessible(axe, "login")
				w.login(adaToken)
			}
			for _, path := range pages {
				where := strings.Trim(strings.NewReplacer("/", "-", "?", "-", "&", "-").Replace(path), "-")
				where = where[:min(len(where), 64)] + "-" + window.name + "-" + scheme
				w.open(path)
				w.until("document.querySelector('h1')")
				w.fits(where)
				w.accessible(axe, where)
				w.clean(where)
				w.shot(where)
			}
		}
	}
}

// Pins a drain that an operator cannot make in a browser, and one that others see only after they reload.
func TestChromiumDrains(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("eu-1")
	browser := chromiumtest.Start(t)
	w := b.newTab(browser)
	w.look(1280, 800, "light")
	w.login(adaToken)
	w.open("/fleet")
	w.until("document.getElementById('connection').textContent === 'live'")
	other := b.newTab(browser)
	other.open("/fleet")
	other.do(chromedp.Click(chromedp.CSS(`a[aria-label="Drain eu-1"]`)))
	other.until("document.querySelector('#ask button')")
	other.do(chromedp.Click(chromedp.CSS("#ask button")))
	other.until("document.querySelector('.note.good')?.textContent.includes('eu-1 drains')")
	w.until("document.getElementById('i-eu-1').textContent.includes('draining')")
	require.Equal(t, []string{"console:ada"}, b.actors("instance.drained"))
	w.clean("fleet")
	other.clean("drain")
}

// Pins keys that do nothing, or that act while somebody types; a theme that is forgotten; and a page that nobody can pause.
func TestChromiumKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	browser := chromiumtest.Start(t)
	w := b.newTab(browser)
	w.look(1280, 800, "light")
	w.login(adaToken)
	w.open("/fleet")
	w.do(chromedp.KeyEvent("/"))
	w.until("document.activeElement.id === 'find'")
	w.do(chromedp.KeyEvent("?gh"))
	require.Contains(t, eval[string](w, "document.getElementById('find').value"), "?gh")
	eval[bool](w, "document.activeElement.blur(); true")
	w.do(chromedp.KeyEvent("?"))
	w.until("document.getElementById('help').open")
	eval[bool](w, "document.getElementById('help').close(); true")
	w.do(chromedp.KeyEvent("t"))
	w.until("document.documentElement.dataset.theme === 'dark'")
	w.open("/fleet")
	require.Equal(t, "dark", eval[string](w, "document.documentElement.dataset.theme"))
	w.until("document.getElementById('connection').textContent === 'live'")
	w.do(chromedp.KeyEvent("p"))
	w.until("document.getElementById('connection').textContent === 'paused'")
	b.register("eu-1")
	w.do(chromedp.KeyEvent("p"))
	w.until("document.getElementById('i-eu-1')")
	w.do(chromedp.KeyEvent("gh"))
	w.until("location.pathname === '/health'")
	w.clean("keys")
}

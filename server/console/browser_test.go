package console

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/chromiumtest"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/nodetest"
)

func TestMain(m *testing.M) {
	chromiumtest.Prepare()
	nodetest.Prepare() // with axe, for the test of all pages
	os.Exit(m.Run())
}

// tab is a tab with a page of the console.
type tab struct {
	*chromiumtest.Tab

	t    *testing.T
	base string
}

// newTab opens a tab. The tabs of a browser share its cookies.
func (b *bundle) newTab(in *chromiumtest.Browser) *tab {
	b.t.Helper()
	return &tab{Tab: in.OpenTab(b.t), t: b.t, base: b.server.URL}
}

func (w *tab) open(path string) { w.t.Helper(); w.Open(w.base + path) }

// eval returns the value of an expression, which may be a promise.
func eval[V any](w *tab, expression string) V {
	w.t.Helper()
	return chromiumtest.Eval[V](w.Tab, expression)
}

// login logs in through the form.
func (w *tab) login(secret string) {
	w.t.Helper()
	w.open("/login")
	w.Do(chromedp.SendKeys(chromedp.ID("token"), secret), chromedp.Click(chromedp.CSS("#login button")))
	w.Until("document.querySelector('.who')")
}

// Pins pages that nobody can read or use in a real browser: with errors of scripts, what the policy blocks, too little
// contrast, without labels, or wider than a phone.
func TestChromiumPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pages := b.populate()
	b.crowd()
	b.valves() // when everybody is in
	axe := nodetest.File(t, "axe-core/axe.min.js")
	browser := chromiumtest.Start(t)
	w := b.newTab(browser)
	looks := []struct {
		name          string
		width, height int64
		scheme        string
	}{{"desktop-light", 1280, 800, "light"}, {"phone-dark", 360, 740, "dark"}, {"desktop-dark", 1280, 800, "dark"}, {"phone-light", 360, 740, "light"}}
	// The whole: each page at each size in each scheme. The part: each page once, half of them on a dark phone.
	inTurn := longtest.Pick(2, 1)
	for i, look := range longtest.Pick(looks[:2], looks) {
		w.SetAppearance(look.width, look.height, look.scheme)
		if i == 0 {
			w.open("/login")
			w.RequireAccessible(axe, "login")
			w.login(adaToken)
		}
		for j, path := range pages {
			if j%inTurn != i%inTurn {
				continue
			}
			where := strings.Trim(strings.NewReplacer("/", "-", "?", "-", "&", "-").Replace(path), "-")
			where = where[:min(len(where), 64)] + "-" + look.name
			w.open(path)
			w.Until("document.querySelector('h1')")
			w.RequireFits(where)
			w.RequireAccessible(axe, where)
			w.RequireClean(where)
			w.SaveScreenshot(where)
		}
	}
}

// Pins a drain that an operator cannot make in a browser, and one that others see only after they reload.
func TestChromiumDrains(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	browser := chromiumtest.Start(t)
	w := b.newTab(browser)
	w.SetAppearance(1280, 800, "light")
	w.login(adaToken)
	w.open("/fleet")
	w.Until("document.getElementById('connection').textContent === 'live'")
	other := b.newTab(browser)
	other.open("/fleet")
	other.Do(chromedp.Click(chromedp.CSS(`a[aria-label="Drain eu-1"]`)))
	other.Until("document.querySelector('#ask button')")
	other.Do(chromedp.Click(chromedp.CSS("#ask button")))
	other.Until("document.querySelector('.note.good')?.textContent.includes('eu-1 drains')")
	w.Until("document.getElementById('i-eu-1').textContent.includes('draining')")
	require.Equal(t, []string{"console:ada"}, b.actors("instance.drained"))
	w.RequireClean("fleet")
	other.RequireClean("drain")
}

// Pins an event whose detail closes when another event arrives, that is too wide for a phone when it is open, or whose
// page has no key to the older ones; and a time that the browser's field sends and the page refuses.
func TestChromiumEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const add = `INSERT INTO events (kind, detail) SELECT 'test.event', jsonb_build_object('said', repeat('x', 1000), 'more', jsonb_build_array(1, 2)) FROM generate_series(1, $1::int)`
	b.Exec(add, pageSize+1)
	axe := nodetest.File(t, "axe-core/axe.min.js")
	browser := chromiumtest.Start(t)
	w := b.newTab(browser)
	w.SetAppearance(360, 740, "dark")
	w.login(adaToken)
	w.open("/events")
	w.Until("document.getElementById('connection').textContent === 'live'")
	w.Do(chromedp.Click(chromedp.CSS("#live summary")))
	w.Until("document.querySelector('#live details').open")
	w.RequireFits("an open detail")
	w.RequireAccessible(axe, "an open detail")
	w.SaveScreenshot("events-open-phone-dark")
	b.Exec(add, 1)
	w.Until("document.querySelectorAll('#live details')[1]?.open && !document.querySelector('#live details').open")
	eval[bool](w, "document.activeElement.blur(); true")
	w.Do(chromedp.KeyEvent("n"))
	w.Until("location.search.includes('after=') && document.querySelector('caption')?.textContent.includes('Older events')")

	w.SetAppearance(1280, 800, "light")
	w.open("/events")
	eval[bool](w, "document.getElementById('until').value = '2001-02-03T04:05'; document.querySelector('.filters').requestSubmit(); true")
	w.Until("location.search.includes('until=2001') && document.querySelector('.empty')?.textContent.includes('No event matches the filter')")
	require.Equal(t, "2001-02-03T04:05", eval[string](w, "document.getElementById('until').value"))
	w.RequireFits("until")
	w.SaveScreenshot("events-until-none-desktop-light")
	w.RequireClean("events")
}

// Pins keys that do nothing, or that act while somebody types; a theme that is forgotten; and a page that nobody can
// pause.
func TestChromiumKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	browser := chromiumtest.Start(t)
	w := b.newTab(browser)
	w.SetAppearance(1280, 800, "light")
	w.login(adaToken)
	w.open("/fleet")
	w.Do(chromedp.KeyEvent("/"))
	w.Until("document.activeElement.id === 'find'")
	w.Do(chromedp.KeyEvent("?gh"))
	require.Contains(t, eval[string](w, "document.getElementById('find').value"), "?gh")
	eval[bool](w, "document.activeElement.blur(); true")
	w.Do(chromedp.KeyEvent("?"))
	w.Until("document.getElementById('help').open")
	eval[bool](w, "document.getElementById('help').close(); true")
	w.Do(chromedp.KeyEvent("t"))
	w.Until("document.documentElement.dataset.theme === 'dark'")
	w.open("/fleet")
	require.Equal(t, "dark", eval[string](w, "document.documentElement.dataset.theme"))
	w.Until("document.getElementById('connection').textContent === 'live'")
	w.Do(chromedp.KeyEvent("p"))
	w.Until("document.getElementById('connection').textContent === 'paused'")
	b.AddServer("eu-1", 8)
	w.Do(chromedp.KeyEvent("p"))
	w.Until("document.getElementById('i-eu-1')")
	w.Do(chromedp.KeyEvent("gh"))
	w.Until("location.pathname === '/health'")
	w.RequireClean("keys")
}

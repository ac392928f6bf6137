package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/chromiumtest"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/test/rigtest"
)

// open opens a URL in a window of a width, in light or dark colours.
func open(t *testing.T, b *chromiumtest.Browser, url string, width int64, scheme string) *chromiumtest.Tab {
	t.Helper()
	p := b.OpenTab(t)
	p.SetAppearance(width, 800, scheme)
	p.Open(url)
	return p
}

// click clicks the first element of a selector, once there is one.
func click(p *chromiumtest.Tab, selector string) {
	p.Until(fmt.Sprintf("document.querySelector(%q)", selector))
	chromiumtest.Eval[bool](p, fmt.Sprintf("document.querySelector(%q).click(), true", selector))
}

// Pins pages of documentation that a phone cuts off, such as the table of errors, which was 587 pixels wide on a screen
// of 360, and scripts or styles that the page's own policy blocks.
func TestChromiumDocs(t *testing.T) {
	t.Parallel()
	r := rigtest.NewRig(t, clitest.BuildDirector(t))
	replica := r.ServeReplica()
	b := chromiumtest.Start(t)
	for i, width := range []int64{1280, 360} { // in a short run each size has one scheme, in a long run both
		schemes := []string{"light", "dark"}
		for _, scheme := range longtest.Pick(schemes[i:i+1], schemes) {
			look := fmt.Sprintf("%d-%s", width, scheme)
			manual := open(t, b, replica.URL+"/docs#no_capacity", width, scheme)
			manual.Until("document.querySelector('nav a.item.now')") // its script runs
			require.Greater(t, chromiumtest.Eval[int](manual, "document.querySelectorAll('.codes tbody tr').length"),
				30)
			require.Zero(t, chromiumtest.Eval[int](manual,
				"[...document.querySelectorAll('.codes td')].filter(e => e.getBoundingClientRect().right > innerWidth).length"),
				"cells beyond the edge")
			manual.RequireFits(look)
			manual.RequireClean(look)
			manual.SaveScreenshot("manual-" + look)
			readers := map[string]string{"reader": "/docs/try#/play/matchmake", "nexis": "/docs/try?doc=nexis"}
			if width == 1280 { // as TestChromiumSearchAndTry opens it
				readers = longtest.Pick(nil, readers)
			}
			for name, path := range readers {
				reader := open(t, b, replica.URL+path, width, scheme)
				reader.Until("document.querySelectorAll('.opblock').length > 5")
				if name == "reader" {
					reader.Until("document.querySelector('.opblock.is-open .execute')")
				} else {
					require.Zero(t, chromiumtest.Eval[int](reader,
						"document.querySelectorAll('.try-out, .execute').length"),
						"calls that no listener of this address answers")
				}
				reader.RequireFits(name + look)
				reader.RequireClean(name + look)
				reader.SaveScreenshot(name + "-" + look)
			}
		}
	}
}

// A player's token is entered, a call is made, and the token is kept nowhere. The search finds what only a description
// or a code says.
func TestChromiumSearchAndTry(t *testing.T) {
	t.Parallel()
	r := rigtest.NewRig(t, clitest.BuildDirector(t))
	replica := r.ServeReplica()
	p := open(t, chromiumtest.Start(t), replica.URL+"/docs/try#/play/matchmake", 1280, "light")

	p.Until("document.querySelector('.opblock.is-open input[placeholder=\"Idempotency-Key\"]')")
	require.Empty(t, chromiumtest.Eval[string](p,
		"document.querySelector('.opblock.is-open input[placeholder=\"Idempotency-Key\"]').value"),
		"the same key for every call")
	click(p, ".btn.authorize")
	p.Until("document.querySelector('#http-bearer-value, .auth-container input')")
	chromiumtest.Eval[bool](p, `[...document.querySelectorAll('.auth-container')].find(e => e.textContent.includes('accessToken')).querySelector('input').focus(), true`)
	require.NoError(t, chromedp.Do(p.Page.Ctx, chromedp.KeyEvent(r.PlayerLogin.AccessToken("ann"))))
	chromiumtest.Eval[bool](p, `document.activeElement.closest('.auth-container').querySelector('.btn.authorize').click(), true`)
	click(p, ".close-modal")
	r.RequireOK(r.PostFleet("/fleet/register", rigtest.Fields{"instance_id": "a", "endpoint": "h:1",
		"region": "eu-west", "modes": []string{"duel"}, "capacity": 8}))
	click(p, ".opblock.is-open .execute")
	p.Until("document.querySelector('.live-responses-table td.response-col_status')")
	require.Contains(t, chromiumtest.Eval[string](p, "document.querySelector('.live-responses-table').textContent"), `"session_handle"`)
	require.Equal(t, 1, rigtest.QueryOne[int](r, "SELECT count(*) FROM seats WHERE sub = 'ann'"))
	require.Equal(t, "00", chromiumtest.Eval[string](p, "`${localStorage.length}${sessionStorage.length}${document.cookie}`"))

	for search, found := range map[string]string{"netcode clients": "/fleet/clients",
		"SERVERS_STARTING": "/matchmake"} {
		chromiumtest.Eval[bool](p, "(e => (e.focus(), e.select(), true))(document.querySelector('.operation-filter-input'))")
		require.NoError(t, chromedp.Do(p.Page.Ctx, chromedp.KeyEvent(search)))
		p.Until(fmt.Sprintf("((e) => e.length > 0 && e.length < 8 && e.some(p => p.dataset.path === %q))([...document.querySelectorAll('.opblock-summary-path')])", found))
	}
	p.RequireFits("the search")
	p.RequireClean("the search")
}

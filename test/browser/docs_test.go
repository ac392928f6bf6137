package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/chromiumtest"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/test/rigtest"
)

// Pins pages of documentation that a phone cuts off, such as the table of errors, which was 587 pixels wide on a screen of 360, and
// scripts or styles that the page's own policy blocks.
func TestChromiumDocs(t *testing.T) {
	t.Parallel()
	r := rigtest.New(t, clitest.BuildDirector(t))
	replica := r.Serve()
	b := chromiumtest.Start(t)
	for _, width := range []int64{1280, 360} {
		for _, scheme := range []string{"light", "dark"} {
			look := fmt.Sprintf("%d-%s", width, scheme)
			manual := open(t, b, replica.URL+"/docs#no_capacity", width, scheme)
			manual.until("document.querySelector('nav a.item.now')") // its script runs
			require.Greater(t, eval[int](manual, "document.querySelectorAll('.codes tbody tr').length"), 30)
			require.Zero(t, eval[int](manual, "[...document.querySelectorAll('.codes td')].filter(e => e.getBoundingClientRect().right > innerWidth).length"),
				"cells beyond the edge")
			manual.fits()
			manual.shot("manual-" + look)
			for name, path := range map[string]string{"reader": "/docs/try#/play/matchmake", "nexis": "/docs/try?doc=nexis"} {
				reader := open(t, b, replica.URL+path, width, scheme)
				reader.until("document.querySelectorAll('.opblock').length > 5")
				if name == "reader" {
					reader.until("document.querySelector('.opblock.is-open .execute')")
				} else {
					require.Zero(t, eval[int](reader, "document.querySelectorAll('.try-out, .execute').length"), "calls that no listener of this address answers")
				}
				reader.fits()
				reader.shot(name + "-" + look)
			}
		}
	}
}

// A player's token is entered, a call is made, and the token is kept nowhere. The search finds what only a description or a code says.
func TestChromiumSearchAndTry(t *testing.T) {
	t.Parallel()
	r := rigtest.New(t, clitest.BuildDirector(t))
	replica := r.Serve()
	status, answer, err := r.Fleet("/fleet/register", rigtest.Fields{"instance_id": "a", "endpoint": "h:1", "region": "eu-west", "modes": []string{"duel"}, "capacity": 8})
	require.NoError(t, err)
	require.Equal(t, 200, status, answer)
	p := open(t, chromiumtest.Start(t), replica.URL+"/docs/try#/play/matchmake", 1280, "light")

	p.until("document.querySelector('.opblock.is-open input[placeholder=\"Idempotency-Key\"]')")
	require.Empty(t, eval[string](p, "document.querySelector('.opblock.is-open input[placeholder=\"Idempotency-Key\"]').value"), "the same key for every call")
	p.click(".btn.authorize")
	p.until("document.querySelector('#http-bearer-value, .auth-container input')")
	eval[bool](p, `[...document.querySelectorAll('.auth-container')].find(e => e.textContent.includes('accessToken')).querySelector('input').focus(), true`)
	require.NoError(t, chromedp.Do(p.Ctx, chromedp.KeyEvent(r.AccessToken("ann"))))
	eval[bool](p, `document.activeElement.closest('.auth-container').querySelector('.btn.authorize').click(), true`)
	p.click(".close-modal")
	p.click(".opblock.is-open .execute")
	p.until("document.querySelector('.live-responses-table td.response-col_status')")
	require.Contains(t, eval[string](p, "document.querySelector('.live-responses-table').textContent"), `"session_handle"`)
	require.Equal(t, 1, rigtest.One[int](r, "SELECT count(*) FROM seats WHERE sub = 'ann'"))
	require.Equal(t, "00", eval[string](p, "`${localStorage.length}${sessionStorage.length}${document.cookie}`"))

	for search, found := range map[string]string{"netcode clients": "/fleet/clients", "SERVERS_STARTING": "/matchmake"} {
		eval[bool](p, "(e => (e.focus(), e.select(), true))(document.querySelector('.operation-filter-input'))")
		require.NoError(t, chromedp.Do(p.Ctx, chromedp.KeyEvent(search)))
		p.until(fmt.Sprintf("((e) => e.length > 0 && e.length < 8 && e.some(p => p.dataset.path === %q))([...document.querySelectorAll('.opblock-summary-path')])", found))
	}
	p.fits()
}

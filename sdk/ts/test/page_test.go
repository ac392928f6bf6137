package sdkts_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/dev/subprocess"
	"github.com/lattice-director/director/internal/testkit/chromiumtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/test/peertest"
	"github.com/lattice-director/director/test/rigtest"
)

// Two players queue on the page of examples/browser, see their place, accept, play on a game server of the arena, and
// leave.
func TestChromiumExamplePage(t *testing.T) {
	t.Parallel()
	addrs, err := subprocess.FreeAddrs(t.Context(), 1)
	require.NoError(t, err)
	r := rig{peertest.NewRig(t, "http://"+addrs[0], nil)}
	a, b := r.Installation.ServeReplica("--work"), r.Installation.ServeReplica("--work")
	profile, err := os.ReadFile("../../../examples/browser/profile.yaml")
	require.NoError(t, err)
	r.Installation.ApplyProfile(string(profile))
	url := r.startExample(addrs[0], a.URL+","+b.URL)

	browser := chromiumtest.Start(t)
	ada, bo := visitor{browser.OpenPage(t, url), r}, visitor{browser.OpenPage(t, url), r}
	ada.join("ada", "#queue")
	ada.sees("#status", "You wait for a match.")
	ada.sees("#line", "Place in line: 1.")
	bo.join("bo", "#queue")
	for _, v := range []visitor{ada, bo} {
		v.sees("#accepted", "of 2 have accepted")
		v.click("#accept")
	}
	ada.sees("#status", "You play as ada.")
	bo.sees("#status", "You play as bo.")
	for _, v := range []visitor{ada, bo} {
		v.sees("#players", "ada: ")
		v.sees("#players", "bo: ")
	}
	require.NoError(t, chromedp.Do(ada.Ctx, chromedp.KeyEvent(kb.ArrowLeft)))
	ada.eventually("#players li[data-player=ada]", `(e) => e.dataset.at.startsWith('0.0,')`)
	ada.click("#leave")
	ada.sees("#status", "You left.")
	bo.eventually("#players", `(e) => !e.textContent.includes('ada')`)
	ada.join("ada", "#now")
	ada.sees("#status", "You play as ada.")
}

// rig is an installation with the example.
type rig struct{ *peertest.Rig }

// startExample builds and starts the example without bots, and returns the address of its page.
func (r rig) startExample(addr, director string, more ...string) string {
	r.T.Helper()
	program := filepath.Join(r.T.TempDir(), "browser")
	out, err := exec.CommandContext(r.T.Context(), "go", "build", "-o", program,
		"github.com/lattice-director/director/examples/browser").CombinedOutput()
	require.NoError(r.T, err, "%s", out)
	key := filepath.Join(r.T.TempDir(), "issuer.jwk")
	require.NoError(r.T, os.WriteFile(key, r.Login.JWK(), 0o600))
	p := must.Get(subprocess.Command{
		Name: "browser", Path: program, Logs: r.T.TempDir(), Env: append(os.Environ(), "FLEET_TOKEN="+rigtest.FleetToken),
		Args: append([]string{"--listen", addr, "--director", director, "--issuer-key", key, "--bots", "0", "--sdk",
			filepath.Join(built(r.T), "sdk")}, more...),
	}.Start())(r.T)
	r.T.Cleanup(p.Kill)
	ctx, cancel := context.WithTimeout(r.T.Context(), time.Minute)
	defer cancel()
	require.NoError(r.T, p.AwaitReady(ctx, "http://"+addr))
	return "http://" + addr
}

// visitor is a player with a page of its own.
type visitor struct {
	*chromiumtest.Page

	r rig
}

func (v visitor) join(name, button string) {
	v.r.T.Helper()
	require.NoError(v.r.T, chromedp.Do(v.Ctx, chromedp.SetValue("#name", name)))
	v.click(button)
}

func (v visitor) click(selector string) {
	v.r.T.Helper()
	ctx, cancel := context.WithTimeout(v.Ctx, time.Minute)
	defer cancel()
	require.NoError(v.r.T, chromedp.Do(ctx, chromedp.Click(selector)))
}

// sees waits until a visible element has a text.
func (v visitor) sees(selector, text string) {
	v.r.T.Helper()
	v.eventually(selector, `(e) => e.checkVisibility() && e.textContent.includes('`+strings.ReplaceAll(text, "'", `\'`)+`')`)
}

// eventually waits until a function of an element is true.
func (v visitor) eventually(selector, holds string) {
	v.r.T.Helper()
	var text string
	v.Call(v.r.T, `async (selector) => {
		const holds = `+holds+`;
		for (const end = Date.now() + 60000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 20))) {
			const element = document.querySelector(selector);
			if (element && holds(element)) return '';
		}
		return document.body.innerText;
	}`, selector, &text)
	require.Empty(v.r.T, text, "%s: %s", selector, holds)
}

package sdkts_test

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/examples/lobby/backend"
	"github.com/lattice-director/director/internal/dev/subprocess"
	"github.com/lattice-director/director/internal/testkit/chromiumtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/nodetest"
	"github.com/lattice-director/director/test/peertest"
)

const internalToken = "an-internal-token-of-tests"

// lobbyExample is the example with rooms, on two replicas.
type lobbyExample struct {
	rig

	url, axe string
	browser  *chromiumtest.Browser
}

func startLobbyExample(t *testing.T) *lobbyExample {
	t.Helper()
	addrs := must.Get(subprocess.FreeAddrs(t.Context(), 2))(t)
	r := rig{peertest.NewRig(t, "http://"+addrs[0], nil)}
	rooms := must.Get(os.ReadFile("../../../examples/browser/rooms.json"))(t)
	r.Installation.NextEnv = append(r.Installation.NextEnv, "DIRECTOR_REALTIME_ROOMS="+string(rooms),
		"DIRECTOR_REALTIME_INTERNAL_TOKEN="+internalToken)
	a := r.Installation.ServeLobby("--work", "--realtime-control-addr", addrs[1])
	b := r.Installation.ServeLobby("--work")
	profile := must.Get(os.ReadFile("../../../examples/browser/profile.yaml"))(t)
	r.Installation.ApplyProfile(string(profile))
	control := "http://" + addrs[1]
	project, key, err := backend.Backend{URL: control, InternalToken: internalToken}.Project(t.Context(), "demo")
	require.NoError(t, err)
	url := r.startExample(addrs[0], a.Process.URL+","+b.Process.URL, "--lobby", a.Lobby+","+b.Lobby, "--control",
		control,
		"--internal-token", internalToken,
		"--project", project, "--key", key)
	return &lobbyExample{r, url + "/lobby.html", nodetest.File(t, "axe-core/axe.min.js"), chromiumtest.Start(t)}
}

// lobbyVisitor is a player with a page of its own, in a window of a width.
type lobbyVisitor struct {
	visitor

	tab *chromiumtest.Tab
	in  *lobbyExample
}

func (e *lobbyExample) visit(name string, width int64) lobbyVisitor {
	e.T.Helper()
	tab := e.browser.OpenTab(e.T)
	tab.SetAppearance(width, 800, "light")
	tab.Open(e.url)
	v := lobbyVisitor{visitor{tab.Page, e.rig}, tab, e}
	v.fill("#name", name)
	v.click("#enter button")
	v.sees("#hall-title", "Rooms")
	return v
}

// fill types a text into a field, as a player does.
func (v lobbyVisitor) fill(selector, text string) {
	v.r.T.Helper()
	require.NoError(v.r.T, chromedp.Do(v.Ctx, chromedp.SetValue(selector, text)))
}

// isFit requires that the page can be read and used by everybody.
func (v lobbyVisitor) isFit(where string) {
	v.r.T.Helper()
	v.tab.RequireFits(where)
	v.tab.RequireAccessible(v.in.axe, where)
	v.tab.RequireClean(where)
	v.tab.SaveScreenshot("lobby-" + where)
}

// Two players on the page with rooms, one of them on a phone: they find a room, chat, become ready, accept, play on a game
// server of the arena, and are back in their room.
func TestChromiumLobbyPage(t *testing.T) {
	t.Parallel()
	e := startLobbyExample(t)
	ada, bo := e.visit("ada", 1280), e.visit("bo", 360)
	ada.isFit("hall 1280")
	ada.fill("#room-name", "friday")
	ada.click("#create button")
	ada.sees("#room-title", "friday")
	bo.sees("#rooms li", "friday, 1 of 4 players")
	bo.isFit("hall 360")
	bo.click("#rooms button")
	for _, v := range []lobbyVisitor{ada, bo} {
		v.sees("#members", "ada (owner, not ready)")
		v.sees("#members", "bo (not ready)")
	}
	bo.fill("#line", "hello <b>you</b>")
	bo.click("#say button")
	ada.sees("#chat", "bo: hello <b>you</b>")
	for _, v := range []lobbyVisitor{ada, bo} {
		v.click("#ready")
	}
	ada.eventually("#start", `(e) => !e.disabled`)
	ada.isFit("room 1280")
	bo.isFit("room 360")

	// A page that is loaded again is in its room, with the same session.
	bo.tab.Open(strings.Replace(e.url, "lobby.html", "lobby.html?again", 1))
	bo.sees("#members", "bo (ready)")
	ada.sees("#members", "bo (ready)")

	ada.click("#start")
	for _, v := range []lobbyVisitor{ada, bo} {
		v.sees("#check-title", "A match was found")
		v.click("#accept")
	}
	for _, v := range []lobbyVisitor{ada, bo} {
		v.sees("#players", "ada: ")
		v.sees("#players", "bo: ")
	}
	ada.sees("#status", "You play as ada.")
	bo.isFit("game 360")
	ada.isFit("game 1280")
	require.NoError(t, chromedp.Do(ada.Ctx, chromedp.KeyEvent(kb.ArrowLeft)))
	ada.eventually("#players li[data-player=ada]", `(e) => e.dataset.at.startsWith('0.0,')`)
	ada.click("#leave-game")
	ada.sees("#members", "ada (owner, not ready)")
	ada.click("#leave-room")
	ada.sees("#rooms li", "friday, 1 of 4 players")
}

// A player is invited and declines; another one is removed by the owner.
func TestChromiumLobbyInvitation(t *testing.T) {
	t.Parallel()
	e := startLobbyExample(t)
	ada, bo := e.visit("ada", 1280), e.visit("bo", 360)
	ada.fill("#room-name", "friday")
	ada.click("#create button")
	ada.fill("#friend", "bo")
	ada.click("#invite button")
	bo.sees("#invited-by", "ada invites you to friday.")
	bo.isFit("invitation 360")
	bo.click("#decline-invitation")
	bo.eventually("#invitation", `(e) => e.hidden`)
	ada.fill("#friend", "bo")
	ada.click("#invite button")
	bo.click("#accept-invitation")
	ada.sees("#members", "bo (not ready)")
	ada.click("#members button")
	bo.sees("#status", "The owner removed you.")
	bo.sees("#rooms li", "friday, 1 of 4 players")
	bo.fill("#code", chromiumtest.Eval[string](ada.tab, "document.querySelector('#room-code').textContent"))
	bo.click("#join-code button")
	ada.sees("#members", "bo (not ready)")
}

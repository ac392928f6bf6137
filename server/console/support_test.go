package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/matching/explainer"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins a page of a player that does not lead to what support does for the player, and an action without a reason, an
// event or a name.
func TestSupportActsOnAPlayer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	b.AddProfile("duel", storetest.Duel)
	const hers = "a&b=<c>"
	seat, ticket := b.place("duel", hers, "bob"), b.QueuePlayer(hers, 1000, "duel")
	b.lobby(1, "lobby")
	b.AddClient("p1", "s1", hers)
	b.Exec(`INSERT INTO project_keys (project, id, name, scopes, sealed_secret, sealed_by) VALUES ('p1', 'k', 'k', '{mint}', '', 'x')`)
	b.Exec(`INSERT INTO lobby_members (region, lobby, session, player, state, join_order) SELECT region, uid, 's1', $1, 'joined', 1 FROM lobbies`, hers)

	w := b.as(adaToken)
	player := url.QueryEscape(hers)
	free := sessionPath(seat.SessionID) + "/free?player=" + player + "&from=player"
	cancel := ticketPath(ticket) + "/cancel?from=player&player=" + player
	remove := "/lobby/kick?from=player&player=" + player + "&project=p1&room=lobby%3A001"
	w.contains("/players?q="+player, "Free the seat", "Close the session", `aria-label="Cancel ticket `+ticket, "Remove from room lobby:001",
		"<b>1</b><span>seats</span>", "<b>1</b><span>tickets in the queue</span>",
		"<b>1</b><span>rooms of the lobby</span>")
	for path, says := range map[string]string{free: "is free for others", cancel: "1 player of it",
		remove: "leaves the room"} {
		w.contains(path, says, "required")
		refused := w.act(path)
		require.Equal(t, http.StatusUnprocessableEntity, refused.Status, path)
		require.Contains(t, refused.Body, "Say why", path)
		done := w.act(path, "reason", "ticket 4711")
		require.Equal(t, http.StatusSeeOther, done.Status, done.Body)
		require.Equal(t, playerPath(hers), done.Header.Get("Location"), path)
		notice := w.get(playerPath(hers)).Body
		if path == remove {
			require.Contains(t, notice, "has left the room")
		} else {
			require.Contains(t, notice, "ticket 4711", path)
			w.act(path, "reason", "again")
			require.Contains(t, w.get(playerPath(hers)).Body, "nothing changed", path)
		}
	}
	for _, kind := range []string{"seat.freed", "ticket.cancelled", "lobby.player_kicked"} {
		require.Equal(t, []string{"console:ada"}, b.actors(kind))
		require.Equal(t, []string{"ticket 4711"}, storetest.Values[string](b.DB,
			"SELECT detail ->> 'reason' FROM ops.events WHERE kind = $1 ORDER BY tx, id", kind))
	}
	require.Equal(t, 1, b.Count("SELECT count(*) FROM seats"), "the seat of the other player")
	require.Zero(t, b.Count("SELECT count(*) FROM tickets"))
	require.Zero(t, b.Count("SELECT count(*) FROM lobby_members WHERE session = 's1'"))
	page := b.as(ivyToken).get("/players?q=bob").Body
	require.NotContains(t, page, "Free the seat")
	require.Equal(t, http.StatusNotFound, w.get("/tickets/none/cancel").Status)
}

// Pins the seat of another player, whose id is the same but for a space at its end, and who lost it.
func TestActionsTakeIDsOfPlayersExactly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	session := b.place("duel", "bob", "bob ").SessionID
	w := b.as(adaToken)
	require.Contains(t, w.get(sessionPath(session)).Body, "/free?player=bob&#43;")
	require.Equal(t, http.StatusSeeOther, w.act(sessionPath(session)+"/free?player=bob+", "reason", "stuck").Status)
	require.Equal(t, []string{"bob"}, storetest.Values[string](b.DB, "SELECT sub FROM seats"))
}

// Pins a next page that begins within the page before, because its key was cut: those of lists of players are long.
func TestKeysOfRowsAreNotCut(t *testing.T) {
	t.Parallel()
	place, player := strings.Repeat("r", 200), strings.Repeat("p", 255)
	first, second := query{values: url.Values{afterParam: {place + "~" + player}}}.lastKey()
	require.Equal(t, []string{place, player}, []string{first, second})
}

// Pins a player who asks to be erased, or for what is known, and whom support cannot serve in the console.
func TestSupportErasesAPlayer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	const hers = "a&b=<c>"
	b.place("duel", hers, "bob")
	w := b.as(adaToken)
	erase := "/players/erase?player=" + url.QueryEscape(hers)
	w.contains(playerPath(hers), "Erase this player", "Export what is known as JSON")
	require.Contains(t, w.get("/players/export?player="+url.QueryEscape(hers)).Body, `"seats": [`)
	w.contains(erase, "Erase a&amp;b=&lt;c&gt;?", "This cannot be undone", "required")
	require.Equal(t, http.StatusUnprocessableEntity, w.act(erase).Status)
	done := w.act(erase, "reason", "ticket 4711")
	require.Equal(t, http.StatusSeeOther, done.Status, done.Body)
	require.Contains(t, w.get("/players").Body, "The player is erased, in")
	w.contains(playerPath(hers), "Nothing is known of this player.")
	require.Equal(t, 1, b.Count("SELECT count(*) FROM seats"), "the seat of the other player")
	w.act(erase, "reason", "again")
	require.Contains(t, w.get("/players").Body, "Nothing was known of the player.")
	require.Equal(t, http.StatusForbidden, b.as(ivyToken).get(erase).Status)
	require.NotContains(t, b.as(ivyToken).get("/players?q=bob").Body, "Erase this player")
}

// Pins a player whom support cannot find by a name.
func TestPlayersAreFoundByName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exec(`INSERT INTO stored_players (region, sub, attributes, avoid, may_party_with, updated_by) VALUES
		('global', 'u-17', '{"name": "Zoë"}', '{u-18}', '{}', 'backend:game'), ('global', 'u-18', '{"name": "Zoë"}', '{}', '{}', 'backend:game')`)
	w := b.as(ivyToken)
	w.contains("/players?q=Zo%C3%AB", "2 players have an attribute with this text", `href="/players?q=u-17"`)
	w.contains("/find?q=Zo%C3%AB", "Players who are called so", `href="/players?q=u-18"`)
	w.contains("/players?q=u-17", "name: Zoë", `href="/players?q=u-18"`, "by game")
	require.Contains(t, w.get("/players?q=Zoe").Body, "Nothing is known of this player.")
}

// busyExplainer explains another ticket, as long as the context of a call lives.
type busyExplainer struct{ Explainer }

func (busyExplainer) Survey(ctx context.Context) (explainer.Survey, error) {
	<-ctx.Done()
	return explainer.Survey{}, &fault.Error{Kind: fault.TooMany, Code: "too_many_queries", Err: ctx.Err()}
}

// Pins a page of the queue that fails while another ticket is explained.
func TestTheQueueIsShownWhileATicketIsExplained(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.Explain = busyExplainer{o.Explain} })
	b.AddProfile("duel", storetest.Duel)
	ticket := b.QueuePlayer("p1", 1000, "duel")
	b.as(ivyToken).contains("/queue", ticketPath(ticket), "no match yet",
		"is not known: this replica explains another ticket")
}

// Pins a page of health that says nothing of requests that fail, or hides which they are.
func TestHealthShowsFailedRequests(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.as(ivyToken)
	w.contains("/health", "<b>0</b><span><a href=\"#requests\">requests failed</a>", `<details id="requests">`, "None yet.")
	require.NoError(t, b.CountRequests(t.Context(),
		[]db.RouteCount{{Route: "POST /matchmake", Requests: 5000, Refused: 40, Failed: 12},
			{Route: "POST /fleet/heartbeat", Requests: 7}}))
	b.Exec(`UPDATE request_minutes SET minute = minute - interval '1 minute'`)
	b.Exec(`INSERT INTO request_minutes SELECT date_trunc('minute', now()) - interval '3 hours', 'GET /tickets/:id', 9, 9, 0`)
	page := w.contains("/health", `<span class="state bad">12</span>`, fmt.Sprintf("of %s in 1 h", formatNumber(5007)), `<details id="requests" open>`,
		"<code>POST /matchmake</code>", "&lt; 1 %", "<b>40</b>")
	require.NotContains(t, page, "GET /tickets/:id")
	w.contains("/health?range=6+h", "GET /tickets/:id", "<b>49</b>")
}

// Pins requests from before the chosen range that are counted as failed in it, beside a line that is flat.
func TestHealthCountsRequestsOfTheRange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.as(ivyToken)
	b.Exec(`INSERT INTO request_minutes (minute, route, requests, refused, failed)
		SELECT date_trunc('minute', now()) - interval '16 minutes', 'POST /matchmake', 100, 40, 60`)
	w.contains("/health?range=15+min", "<b>0</b><span><a href=\"#requests\">requests failed</a> (5xx) of 0 in 15 min",
		`<details id="requests">`, "None yet.")
	w.contains("/health", `<span class="state bad">60</span>`, "of 100 in 1 h")
	b.Exec("UPDATE request_minutes SET minute = date_trunc('minute', now()) - interval '14 minutes'")
	w.contains("/health?range=15+min", `<span class="state bad">60</span>`, "of 100 in 15 min", "POST /matchmake")
}

// Pins a search that leads to another player: spaces around an id are part of it, and around what was typed are not.
func TestPlayersAreFoundBySpaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	session := b.place("duel", " bob", "bob").SessionID
	other := b.place("duel", "carl").SessionID
	w := b.as(adaToken)
	w.contains(sessionPath(session), "/players?q=%20bob")
	w.contains(playerPath(" bob"), "player=&#43;bob")
	require.NotContains(t, w.get(playerPath("bob")).Body, "player=&#43;bob")
	w.contains(playerPath(" carl "), sessionPath(other)) // typed, or pasted
	require.Equal(t, playerPath(" bob"), w.get("/find?q="+url.QueryEscape(" bob")).Header.Get("Location"))
	require.Equal(t, playerPath("carl"), w.get("/find?q="+url.QueryEscape("carl ")).Header.Get("Location"))
}

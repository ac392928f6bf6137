package console

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

const hostile = `"><script>alert(1)</script>`

// Pins a page of a game server that leaves out its sessions, labels or events, or shows markup that the server chose.
func TestInstance(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8, func(r *db.Registration) { r.Labels = map[string]string{"rack": hostile} })
	placed := b.place("duel", "p1")
	page := b.as(adaToken).get("/instances/eu-1")
	require.Equal(t, http.StatusOK, page.Status)
	for _, text := range []string{"eu-1:7777", "4 of 8", sessionPath(placed.SessionID), "instance.registered", "/instances/eu-1/drain", "rack=&#34;&gt;&lt;script"} {
		require.Contains(t, page.Body, text)
	}
	require.NotContains(t, page.Body, "<script>alert")
	require.NotContains(t, b.as(ivyToken).get("/instances/eu-1").Body, "/drain")
	missing := b.as(adaToken).get("/instances/" + url.PathEscape(hostile+"/x"))
	require.Equal(t, http.StatusNotFound, missing.Status)
	require.NotContains(t, missing.Body, "<script>alert")
	require.Contains(t, missing.Body, "It may have ended a while ago")
}

// Pins a session that is closed without a reason or a name, twice, or by a viewer, and one that nobody can look at
// afterwards.
func TestSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	id := b.place("duel", "p1", hostile).SessionID
	w := b.as(adaToken)
	open := w.get(sessionPath(id)).Body
	for _, text := range []string{"reserved", "/players?q=p1", "2 of 4", sessionPath(id) + "/close", "&lt;script&gt;alert"} {
		require.Contains(t, open, text)
	}
	require.NotContains(t, open, "<script>alert")

	require.Contains(t, w.act(sessionPath(id)+"/close").Body, "Say why")
	require.Equal(t, http.StatusUnprocessableEntity, w.act(sessionPath(id)+"/close", "reason", strings.Repeat("x", db.MaxReason+1)).Status)
	require.Equal(t, http.StatusBadRequest, w.act(sessionPath(id)+"/close", "reason", "a\x00b").Status)
	require.Empty(t, b.actors("session.closed"))
	require.Equal(t, http.StatusSeeOther, w.act(sessionPath(id)+"/close", "reason", "players stuck "+hostile).Status)
	closed := w.get(sessionPath(id)).Body
	require.Contains(t, closed, "players stuck &#34;&gt;&lt;script")
	require.NotContains(t, closed, "<script>alert")
	require.Equal(t, http.StatusSeeOther, w.act(sessionPath(id)+"/close", "reason", "again").Status)
	require.Contains(t, w.get("/fleet").Body, "closed before: nothing changed")
	require.Equal(t, []string{"console:ada"}, b.actors("session.closed"))

	require.Equal(t, http.StatusNotFound, w.get("/sessions/eu.00000000-0000-0000-0000-000000000000").Status)
	require.Equal(t, http.StatusBadRequest, w.get("/sessions/x").Status)
}

// Pins a player who is not found where they are or were, and an id that becomes markup.
func TestPlayer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	id := b.place("duel", "p1", hostile).SessionID
	w := b.as(ivyToken)
	require.Contains(t, w.get("/players").Body, "Enter the id of a player")
	require.Contains(t, w.get("/players?q=nobody").Body, "Nothing is known of this player.")
	require.Contains(t, w.get("/players?q=p1").Body, sessionPath(id))
	found := w.get("/players?q=" + url.QueryEscape(hostile)).Body
	require.Contains(t, found, sessionPath(id))
	require.NotContains(t, found, "<script>alert")

	require.NoError(t, b.As("x").CloseSession(t.Context(), id, "maintenance"))
	page := w.get("/players?q=p1").Body
	require.Contains(t, page, "None.")
	require.Contains(t, page, "maintenance")
	require.Contains(t, page, "No refusals in the last 7 days.")
}

// Pins a player who only ever was refused, of whom the page used to know nothing.
func TestARefusedPlayer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.RecordRefusals(t.Context(), []db.Refusals{{Times: 12, Latest: fault.Refusal{
		Player: "p1", Call: "POST /matchmake", Code: "no_capacity", Region: "eu", Mode: "duel", Detail: "<script>alert(1)</script> is full", RequestID: "request-7",
	}}}))
	page := b.as(ivyToken).get("/players?q=p1").Body
	for _, text := range []string{"POST /matchmake", "no_capacity", "eu", "duel", "&lt;script&gt;alert(1)&lt;/script&gt; is full", ">12<", "request-7", "/capacity"} {
		require.Contains(t, page, text)
	}
	require.NotContains(t, page, "No refusals in the last 7 days.")
}

// Pins a search that finds no session, game server or player by their ids.
func TestFind(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	id := b.place("duel", "p1").SessionID
	starting := b.deployments(1, "")[0].String()
	b.agents(1, "rooms")
	w := b.as(ivyToken)
	for text, path := range map[string]string{id: sessionPath(id), "eu-1 \t": "/instances/eu-1", "p1": "/players?q=p1", starting: "/deployments/" + starting, "0000000000000001": "/agents/0000000000000001", "a&b/../c": "/players?q=a%26b%2F..%2Fc", "": "/players?q="} {
		require.Equal(t, path, w.get("/find?q="+url.QueryEscape(text)).Header.Get("Location"), text)
	}
}

// Pins a page that says that players get seats where they are refused, or does not say why and what to do.
func TestCapacity(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.as(ivyToken)
	require.Contains(t, w.get("/capacity").Body, "No game server offers a mode")
	b.AddServer("eu-1", 8)
	require.Contains(t, w.get("/capacity").Body, "gets seats everywhere below")
	large := w.get("/capacity?party=9&seats=9").Body
	require.Contains(t, large, "no game server has room for a session of that size")
	require.Contains(t, large, "Start game servers of this mode in this region")
	_, err := b.As("x").Drain(t.Context(), "eu-1")
	require.NoError(t, err)
	drained := w.get("/capacity").Body
	require.Contains(t, drained, "is refused now with 409")
	require.Contains(t, drained, "all live game servers drain")
	require.Contains(t, drained, "Undrain a game server")
	for _, query := range []string{"party=x&seats=-1", "party=99999999999999999999", "region=" + url.QueryEscape(hostile)} {
		page := w.get("/capacity?" + query)
		require.Equal(t, http.StatusOK, page.Status, query)
		require.NotContains(t, page.Body, "<script>alert")
	}
}

var kidRow = regexp.MustCompile(`<tr id="k-([^"]+)">`)

// Pins keys that are rotated twice by one form, or tainted without a name.
func TestKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.as(adaToken)
	require.Contains(t, w.get("/keys").Body, "No key signs")
	form := url.Values{"csrf": {csrfField.FindStringSubmatch(w.get("/keys").Body)[1]}}
	require.Equal(t, http.StatusSeeOther, w.post("/keys/rotate", form).Status)
	page := w.get("/keys").Body
	require.Contains(t, page, "keys were made")
	made := kidRow.FindAllStringSubmatch(page, -1)
	require.GreaterOrEqual(t, len(made), 2)
	require.Equal(t, http.StatusSeeOther, w.post("/keys/rotate", form).Status, "the same form again")
	require.Contains(t, w.get("/keys").Body, "nothing changed")
	require.Len(t, kidRow.FindAllStringSubmatch(w.get("/keys").Body, -1), len(made))

	kid := made[0][1]
	require.Contains(t, w.get("/keys/"+kid+"/taint").Body, "This cannot be undone.")
	require.Contains(t, w.act("/keys/"+kid+"/taint").Body, "Say why")
	require.Equal(t, http.StatusSeeOther, w.act("/keys/"+kid+"/taint", "reason", "it leaked").Status)
	require.Contains(t, w.get("/keys").Body, `<span class="state bad">tainted</span>`)
	w.act("/keys/"+kid+"/taint", "reason", "again")
	require.Contains(t, w.get("/keys").Body, "nothing changed")
	require.Equal(t, []string{"console:ada"}, b.actors("key.tainted"))
	require.Equal(t, http.StatusNotFound, w.get("/keys/nothing/taint").Status)
	require.NotContains(t, b.as(ivyToken).get("/keys").Body, "/taint")
}

// Pins health that says less than doctor, or reads the whole database for each browser.
func TestHealth(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.as(ivyToken)
	page := w.get("/health").Body
	for _, text := range []string{"no replica has ever served this database", "No worker has run on this database.", "no key signs", "First:"} {
		require.Contains(t, page, text)
	}
	b.Exec(`INSERT INTO worker_loops (loop, every, succeeded_at) VALUES ('reap', '1 s', now()), ('history', '10 min', now() - interval '2 hours')`)
	page = w.get("/health").Body
	require.Contains(t, page, "1 of 2")
	require.Contains(t, page, "no worker has run on this database", "the checks of doctor are at most 15 s old")
}

// Pins a list of key-encryption keys that is cut, and says that those it lacks can be retired.
func TestAllKeyEncryptionKeysOrAHint(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.as(adaToken)
	add := func(from, until int) {
		b.Exec(`INSERT INTO signing_keys (kid, alg, public_jwk, sealed_private, sealed_by, publish_at, sign_from, sign_until, verify_until, lead, overlap)
			SELECT 'k' || n, 'EdDSA', '{}', '\x00', 'kek-' || n, now() + n * interval '1 day', now() + n * interval '1 day', now() + (n + 1) * interval '1 day',
			       now() + (n + 2) * interval '1 day', '0', '1 hour'
			FROM generate_series($1::int, $2::int) n`, from, until)
	}
	add(1, pageSize)
	page := w.contains("/keys", "One that is missing here can be retired.")
	require.NotContains(t, page, "More are in use")
	add(pageSize+1, pageSize+1)
	page = w.contains("/keys", "More are in use and not shown.")
	require.NotContains(t, page, "One that is missing here can be retired.")
}

// Pins a form that was sent twice at once, and rotates twice: the second one brings the key after it forward.
func TestOneFormRotatesOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.as(adaToken)
	_, err := b.rotate(t.Context(), b.As("console:ada"), "")
	require.NoError(t, err)
	// The lead of the next key is over, so that it would sign at once.
	b.Exec("UPDATE signing_keys SET publish_at = publish_at - interval '1 hour' WHERE sign_from > now()")
	page := w.get("/keys/rotate").Body
	form := url.Values{"csrf": {csrfField.FindStringSubmatch(page)[1]},
		"next": {regexp.MustCompile(`name="next" value="([^"]+)"`).FindStringSubmatch(page)[1]}}
	release := b.Hold("SELECT pg_advisory_xact_lock(hashtext('director.signing_keys'))")
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { w.post("/keys/rotate", form) })
	}
	b.AwaitBlocked(2)
	release()
	all.Wait()
	require.Len(t, b.actors("key.advanced"), 1)
	require.Equal(t, 3, b.Count("SELECT count(*) FROM signing_keys"))
}

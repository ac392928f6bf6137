package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/storetest"
)

// actors returns the actors of the events of a kind, oldest first.
func (b *bundle) actors(kind string) []string {
	b.t.Helper()
	return storetest.Values[string](b.DB, "SELECT actor FROM ops.events WHERE kind = $1 ORDER BY tx, id", kind)
}

// Pins an action that does nothing, says nothing, does it twice, or does not name the person.
func TestDrain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	w := b.as(adaToken)
	asked := w.get("/instances/eu-1/drain")
	require.Contains(t, asked.Body, "Drain eu-1?")
	require.Empty(t, b.actors("instance.drained"), "a question changes nothing")

	done := w.act("/instances/eu-1/drain", "reason", "kernel update")
	require.Equal(t, http.StatusSeeOther, done.Status, done.Body)
	require.Equal(t, "/instances/eu-1", done.Header.Get("Location"))
	page := w.get("/fleet")
	require.Contains(t, w.get("/instances/eu-1").Body, "reason: kernel update", "the event has the reason")
	require.Contains(t, page.Body, "eu-1 drains: it gets no new players.")
	require.Contains(t, page.Body, `<span class="state warn">draining</span>`)
	require.NotContains(t, w.get("/fleet").Body, "it gets no new players.", "a notice is shown once")

	w.act("/instances/eu-1/drain")
	require.Contains(t, w.get("/fleet").Body, "nothing changed")
	require.Equal(t, []string{"console:ada"}, b.actors("instance.drained"))
	w.act("/instances/eu-1/undrain")
	require.Equal(t, []string{"console:ada"}, b.actors("instance.undrained"))
	require.Equal(t, http.StatusNotFound, w.get("/instances/eu-2/drain").Status)
}

// Pins a viewer who changes something, or is shown what only operators may do.
func TestViewersChangeNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	w := b.as(ivyToken)
	page := w.get("/fleet")
	require.Contains(t, page.Body, "ivy, viewer")
	require.NotContains(t, page.Body, "/drain")
	require.Contains(t, b.as(adaToken).get("/fleet").Body, "/instances/eu-1/drain")
	form := url.Values{"csrf": {csrfField.FindStringSubmatch(page.Body)[1]}}
	for _, r := range b.console.engine.Routes() {
		path := strings.NewReplacer(":id", "eu-1", ":kid", "x").Replace(r.Path)
		if r.Method == http.MethodPost && path != "/login" && path != "/logout" {
			require.Equal(t, http.StatusForbidden, w.post(path, form).Status, path)
			require.Equal(t, http.StatusForbidden, w.get(path).Status, path)
		}
	}
	require.Empty(t, b.actors("instance.drained"))
}

// Pins a form of another site that is accepted, whether the browser says where it comes from or not.
func TestFormsOfOtherSites(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	w := b.as(adaToken)
	form := url.Values{"csrf": {csrfField.FindStringSubmatch(w.get("/fleet").Body)[1]}}
	for name, headers := range map[string][]string{
		"site":   {"Sec-Fetch-Site", "cross-site"},
		"domain": {"Sec-Fetch-Site", "same-site"},
		"origin": {"Origin", "https://evil.example"},
	} {
		require.Equal(t, http.StatusForbidden, w.post("/instances/eu-1/drain", form, headers...).Status, name)
	}
	other := csrfField.FindStringSubmatch(b.as(adaToken).get("/fleet").Body)[1]
	for _, csrf := range []string{"", "x", other} {
		require.Equal(t, http.StatusForbidden, w.post("/instances/eu-1/drain", url.Values{"csrf": {csrf}}).Status)
	}
	require.Empty(t, b.actors("instance.drained"))
	require.Equal(t, http.StatusSeeOther, w.post("/instances/eu-1/drain", form, "Sec-Fetch-Site", "same-origin").Status)
	require.Equal(t, http.StatusForbidden, b.browser().post("/login", url.Values{"token": {adaToken}}, "Sec-Fetch-Site", "cross-site").Status)
}

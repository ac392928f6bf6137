package console

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins a pause without a person or a reason, that a viewer makes, or that nobody sees and can end.
func TestPausePoolsAndProfiles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddProfile("duel", storetest.Duel)
	b.deployments(1, "x")
	w, viewer := b.as(adaToken), b.as(ivyToken)
	for _, c := range []struct{ list, path, kind, paused string }{
		{"/queue", "/profiles/duel", "profile", "duel is paused: it makes no matches."},
		{"/deployments", "/pools/eu/arena/v1.2", "pool", "The pool is paused: it starts no servers."},
	} {
		w.contains(c.list, `href="`+c.path+`/pause"`)
		require.NotContains(t, viewer.get(c.list).Body, "/pause")
		require.Equal(t, http.StatusForbidden, viewer.get(c.path+"/pause").Status)
		require.Equal(t, http.StatusUnprocessableEntity, w.act(c.path+"/pause").Status, "a reason is required")
		require.Empty(t, b.actors(c.kind+".paused"))
		done := w.act(c.path+"/pause", "reason", "<i>the season ends</i>")
		require.Equal(t, http.StatusSeeOther, done.Status, done.Body)
		w.contains(c.list, c.paused, `<span class="state warn">paused</span>`, "&lt;i&gt;the season ends&lt;/i&gt;", `href="`+c.path+`/resume"`)
		w.contains("/events?kind="+c.kind+".paused&actor=console:ada", "reason: &lt;i&gt;the season ends")
		require.Equal(t, http.StatusSeeOther, w.act(c.path+"/resume").Status)
		require.NotContains(t, w.get(c.list).Body, c.path+"/resume")
		require.Equal(t, []string{"console:ada"}, b.actors(c.kind+".paused"))
		require.Equal(t, []string{"console:ada"}, b.actors(c.kind+".resumed"))
	}
	require.Equal(t, http.StatusNotFound, w.get("/pools/eu/arena/v9/pause").Status)
	require.Equal(t, http.StatusNotFound, w.get("/profiles/none/pause").Status)
}

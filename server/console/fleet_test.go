package console

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// Pins a page that says nothing while there is nothing, or does not say what to do.
func TestFleetEmpty(t *testing.T) {
	t.Parallel()
	w := setup(t).as(ivyToken)
	page := w.get("/fleet").Body
	require.Contains(t, page, "No game server is registered.")
	require.Contains(t, page, "DIRECTOR_FLEET_TOKEN")
	require.Contains(t, w.get("/fleet?region=eu").Body, "No game server matches the filter.")
}

// Pins a page that does not show what is there, or shows what a filter leaves out.
func TestFleetShowsAndFilters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	b.AddServer("us-1", 8, func(r *db.Registration) { r.Region, r.Modes = "us", []string{"arena"} })
	b.place("duel", "p1", "p2")
	w := b.as(adaToken)
	page := w.get("/fleet").Body
	for _, text := range []string{"eu-1", "us-1", "4 of 8", `<b>2</b><span><a href="/fleet?state=ready">ready</a></span>`, `href="/instances/eu-1"`} {
		require.Contains(t, page, text)
	}
	for _, query := range []string{"region=us", "mode=arena", "id=us-", "region=us&state=ready&mode="} {
		page := w.get("/fleet?" + query).Body
		require.Contains(t, page, `href="/instances/us-1"`, query)
		require.NotContains(t, page, `href="/instances/eu-1"`, query)
	}
	links := regexp.MustCompile(`<span><a href="(/fleet\?state=[a-z]+)">`).FindAllStringSubmatch(page, -1)
	require.Len(t, links, 3)
	for _, link := range links {
		require.Contains(t, w.get(link[1]).Body, "Show all", link[1])
	}
	require.Contains(t, w.get("/fleet?state=draining").Body, "No game server matches the filter.")
}

// Pins a name that a stranger chose and that becomes markup, and an id whose page cannot be opened.
func TestFleetHostile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	hostile := `"><script>alert(1)</script>`
	b.AddServer("eu-1", 8, func(r *db.Registration) { r.Labels, r.Version = map[string]string{"name": hostile}, hostile })
	w := b.as(adaToken)
	for _, path := range []string{"/fleet", "/fleet?id=" + url.QueryEscape(hostile), "/fleet?region=" + url.QueryEscape(hostile), "/fleet?after=" + url.QueryEscape("~"+hostile), "/fleet?page=x"} {
		page := w.get(path)
		require.Equal(t, http.StatusOK, page.Status, path)
		require.NotContains(t, page.Body, "<script>alert", path)
	}
}

var nextPage = regexp.MustCompile(`<p class="more"><a href="([^"]+)">`)

// Pins a page that shows thousands of rows at once, and paging that loses or repeats some.
func TestFleetIsPaged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const many = 2*pageSize + 3
	b.Exec(`WITH i AS (INSERT INTO instances (region, id, endpoint, modes, capacity, incarnation, seat_ceiling)
		SELECT 'eu', 'eu-' || n, '192.0.2.1:1', '{duel}', 8, gen_random_uuid(), 8 FROM generate_series(1, $1) n RETURNING id, incarnation)
		INSERT INTO instance_directory (instance_id, region, incarnation) SELECT id, 'eu', incarnation FROM i`, many)
	w := b.as(adaToken)
	seen := map[string]bool{}
	row := regexp.MustCompile(`<tr id="i-([^"]+)">`)
	path, pages := "/fleet?region=eu", 0
	for path != "" {
		page := w.get(path)
		require.Equal(t, http.StatusOK, page.Status)
		for _, match := range row.FindAllStringSubmatch(page.Body, -1) {
			require.False(t, seen[match[1]], match[1])
			seen[match[1]] = true
		}
		path = ""
		if next := nextPage.FindStringSubmatch(page.Body); next != nil {
			path = strings.ReplaceAll(next[1], "&amp;", "&")
			require.Contains(t, path, "region=eu", "the next page keeps the filter")
		}
		pages++
	}
	require.Len(t, seen, many)
	require.Equal(t, 3, pages)
	require.Contains(t, w.get("/fleet?after=zz~zz").Body, "No further game servers.", fmt.Sprint(pages))
}

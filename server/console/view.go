package console

import (
	"html/template"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

// view is what the template of a page reads.
type view struct {
	Data     any // what the loader returned
	Query    query
	Operator bool // may act; "live" is rendered once for all operators and once for all viewers
	Now      time.Time

	// The following are not set while "live" is rendered, because it is the same for everybody of a role.
	Session  session
	Nav      []navGroup
	Theme    string // light, dark, or empty: as the system says
	Notice   string // what the last action did
	LiveHTML template.HTML
	Version  int  // of LiveHTML
	Watched  bool // whether LiveHTML is replaced
	Build    string
}

// makeView returns what every page shows beside its data. It takes the notice of the last action, which is shown once.
func (c *Console) makeView(g *gin.Context, q query, data any) view {
	s := sessionOf(g)
	ctx, cancel := c.boundCall(g.Request.Context())
	defer cancel()
	return view{
		Data: data, Query: q, Operator: !s.Viewer, Now: c.now(),
		Session: s, Nav: navFor(q.escapedPath, c.usage.latest(ctx, c.options.Store, c.now())),
		Theme: themeOf(g.Request), Notice: c.takeNotice(g), Build: c.options.Version,
	}
}

// themeOf returns the theme that the browser chose (static/console.js sets the cookie).
func themeOf(r *http.Request) string {
	cookie, err := r.Cookie("director-theme")
	// Anybody can write the cookie, and the page has its value: only the two values are taken.
	if err != nil || cookie.Value != "light" && cookie.Value != "dark" {
		return ""
	}
	return cookie.Value
}

// leaveNotice keeps a text for the next page of the browser.
func (c *Console) leaveNotice(g *gin.Context, text string) {
	// Browsers drop a cookie of more than 4 KiB, and with it the notice. The cookie lasts a minute: if the next page is
	// never loaded, no page must show the notice much later.
	c.setCookie(g, purposeNotice, shortenText(text, 1000), time.Minute)
}

// takeNotice returns the text that leaveNotice kept, and forgets it; "": none.
func (c *Console) takeNotice(g *gin.Context) (text string) {
	if c.openCookie(g.Request, purposeNotice, &text) {
		c.clearCookie(g, purposeNotice)
	}
	return text
}

// showPage answers with a whole page.
func (c *Console) showPage(g *gin.Context, p anyPage) {
	q := queryOf(g)
	data, err := p.loadData(g.Request.Context(), q)
	if err != nil {
		rest.Fail(g, err)
		return
	}
	v := c.makeView(g, q, data)
	live, err := c.templates.renderLive(p.templateName, v)
	if err != nil {
		rest.Fail(g, err)
		return
	}
	v.LiveHTML, v.Version, v.Watched = live.html, live.version, p.readEvery > 0
	c.writeTemplate(g, http.StatusOK, c.templates.pagesByName[p.templateName], v)
}

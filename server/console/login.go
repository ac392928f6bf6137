package console

import (
	"log/slog"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

// loginView is what templates/login.html reads.
type loginView struct {
	Next   string
	Tokens bool   // login by token is possible
	OIDC   string // how the button of the issuer is named; empty: none
	Error  string
	Theme  string
}

func (c *Console) mountLogin(r gin.IRoutes) {
	r.GET("/login", c.showLogin)
	r.POST("/login", c.loginByToken)
	if c.oidcLogin != nil {
		r.GET("/login/oidc", c.beginOIDC)
		r.GET("/login/callback", c.finishOIDC)
	}
}

func (c *Console) showLogin(g *gin.Context) {
	next := localPath(g.Query("next"))
	if s, ok := c.readSession(g.Request); ok {
		// Where it is not known, the page that comes next shows the error.
		if ended, _ := c.hasEnded(g.Request.Context(), s); !ended {
			g.Redirect(http.StatusSeeOther, next)
			return
		}
	}
	c.writeLogin(g, http.StatusOK, next, "")
}

func (c *Console) writeLogin(g *gin.Context, status int, next, problem string) {
	v := loginView{Next: next, Tokens: len(c.options.Tokens) > 0, Error: problem, Theme: themeOf(g.Request)}
	if c.oidcLogin != nil {
		v.OIDC = c.oidcLogin.settings.Label
	}
	c.writeTemplate(g, status, c.templates.loginPage, v)
}

// loginByToken answers forms of the login. Failures are counted by address, as those of the API.
func (c *Console) loginByToken(g *gin.Context) {
	next := localPath(g.PostForm("next"))
	// Counted only if it fails: the right token works from an address where others have failed.
	who, ok := c.operatorTokens.Find(g.PostForm("token"))
	if !ok {
		c.loginFailed(g, next,
			"This is not the token of an operator. Tokens are in DIRECTOR_OPS_TOKENS of the replicas.", "wrong token")
		return
	}
	c.beginSession(g, session{Name: actorOf(who), Viewer: who.Viewer, Token: who.Fingerprint})
	rest.AddLogAttrs(g.Request.Context(), slog.String("login", who.Name))
	g.Redirect(http.StatusSeeOther, next)
}

// loginFailed shows the login again. An address that has failed too often has to wait.
func (c *Console) loginFailed(g *gin.Context, next, problem, reason string) {
	rest.AddLogAttrs(g.Request.Context(), slog.String("reason", reason), slog.String("client", g.ClientIP()))
	// By address, and not by token or name: whoever guesses tries many of them.
	if wait := c.failureLimiter.Take(rest.FailureKey(g)); wait > 0 {
		c.writeLogin(g, http.StatusTooManyRequests, next,
			"Too many failed logins from your address. Wait a minute, and try again.")
		return
	}
	c.writeLogin(g, http.StatusUnauthorized, next, problem)
}

// logOut ends the login, for copies of its cookie as well.
func (c *Console) logOut(g *gin.Context) {
	s := sessionOf(g)
	if !checkForm(g, s) {
		return
	}
	ctx, cancel := c.boundCall(g.Request.Context())
	defer cancel()
	// Before the cookie is cleared: if this fails, the browser can log out again.
	if err := c.options.Store.EndLogin(ctx, s.loginDigest(), s.Until); err != nil {
		rest.Fail(g, err)
		return
	}
	c.clearCookie(g, purposeSession)
	g.Redirect(http.StatusSeeOther, "/login?"+url.Values{"next": {"/"}}.Encode())
}

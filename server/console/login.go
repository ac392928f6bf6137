package console

import (
	"context"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/gin-gonic/gin"
	"golang.org/x/oauth2"

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

// showLogin answers with the form. A browser that is logged in is sent to the page that it asked for.
func (c *Console) showLogin(g *gin.Context) {
	next := localPath(g.Query("next"))
	if s, ok := c.readSession(g.Request); ok {
		// After an error the browser is sent on as well: the page that it asked for shows the error.
		if ended, _ := c.hasEnded(g.Request.Context(), s); !ended {
			g.Redirect(http.StatusSeeOther, next)
			return
		}
	}
	c.writeLogin(g, http.StatusOK, next, "")
}

// writeLogin answers with the form of the login, and what was wrong with the last one.
func (c *Console) writeLogin(g *gin.Context, status int, next, problem string) {
	v := loginView{Next: next, Tokens: len(c.options.Tokens) > 0, Error: problem, Theme: themeOf(g.Request)}
	if c.oidcLogin != nil {
		v.OIDC = c.oidcLogin.settings.Label
	}
	c.writeTemplate(g, status, c.templates.loginPage, v)
}

// loginByToken logs in the person whose form has the token of an operator.
func (c *Console) loginByToken(g *gin.Context) {
	next := localPath(g.PostForm("next"))
	// Only failures are limited: the right token works from an address where others have failed.
	who, ok := c.operatorTokens.Find(g.PostForm("token"))
	if !ok {
		c.refuseLogin(g, next,
			"This is not the token of an operator. Tokens are in DIRECTOR_OPS_TOKENS of the replicas.", "wrong token")
		return
	}
	c.beginSession(g, session{Name: actorOf(who), Viewer: who.Viewer, Token: who.Fingerprint})
	rest.AddLogAttrs(g.Request.Context(), slog.String("login", who.Name))
	g.Redirect(http.StatusSeeOther, next)
}

// refuseLogin shows the login again with a problem; reason is for the log. It counts the failure for the address, as
// those of the API; an address that has failed too often has to wait.
func (c *Console) refuseLogin(g *gin.Context, next, problem, reason string) {
	rest.AddLogAttrs(g.Request.Context(), slog.String("reason", reason), slog.String("client", g.ClientIP()))
	// Not by token or name: whoever guesses tries many of them.
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
	// The login ends before the cookie is cleared: if this fails, the browser can log out again.
	if err := c.options.Store.EndLogin(ctx, s.loginDigest(), s.Until); err != nil {
		rest.Fail(g, err)
		return
	}
	c.clearCookie(g, purposeSession)
	g.Redirect(http.StatusSeeOther, "/login?"+url.Values{"next": {"/"}}.Encode())
}

// askLogin sends a browser to the login, which leads back here. Streams and forms get an error, since a redirect would
// lose what was sent.
func (c *Console) askLogin(g *gin.Context) {
	if g.Request.Method != http.MethodGet || wantsStream(g.Request) {
		rest.Fail(g, &rest.Problem{
			Status: http.StatusUnauthorized, Code: "unauthorized", Title: "Logged out",
			Detail: "Your login has ended. Log in again, and repeat what you did: nothing was changed.",
		})
		return
	}
	// The address is one of ours as it stands, and localPath checks it again when the browser brings it back.
	to := "/login"
	if here := g.Request.URL.RequestURI(); here != "/" {
		to += "?next=" + url.QueryEscape(here)
	}
	g.Redirect(http.StatusSeeOther, to)
	g.Abort()
}

// requireLogin is the middleware that asks for a login. While the database does not say whether a login has ended,
// actions are refused; pages still answer, because Health has to say what is wrong.
func (c *Console) requireLogin(g *gin.Context) {
	s, ok := c.readSession(g.Request)
	if !ok {
		c.askLogin(g)
		return
	}
	ended, err := c.hasEnded(g.Request.Context(), s)
	if ended {
		c.askLogin(g)
		return
	}
	if err != nil && g.Request.Method != http.MethodGet {
		rest.Fail(g, err)
		return
	}
	rest.NoteCaller(g, s.Name, "operator")
	g.Set(sessionKey, s)
}

// beginOIDC sends a browser to the issuer.
func (c *Console) beginOIDC(g *gin.Context) {
	p, err := c.oidcLogin.readProvider(g.Request.Context())
	if err != nil {
		c.failAtIssuer(g, err)
		return
	}
	// The verifier (PKCE) keeps whoever sees the code, such as a proxy that logs addresses, from using it.
	a := attempt{randomText(), randomText(), oauth2.GenerateVerifier(), localPath(g.Query("next")),
		c.now().Add(loginTimeout)}
	// The browser keeps the attempt, because another replica may get the return from the issuer.
	c.setCookie(g, purposeLogin, a, loginTimeout)
	config := c.oidcLogin.oauthConfig(p)
	g.Redirect(http.StatusSeeOther, config.AuthCodeURL(a.State, oidc.Nonce(a.Nonce),
		oauth2.S256ChallengeOption(a.Verifier)))
}

// maxIssuerText is how many bytes a page shows of a text of the issuer, which anybody can send who has a link to the
// callback.
const maxIssuerText = 200

// finishOIDC logs in a browser that the issuer sends back.
func (c *Console) finishOIDC(g *gin.Context) {
	var a attempt
	isCurrent := c.openCookie(g.Request, purposeLogin, &a) && c.now().Before(a.Until)
	// Also if the login fails below: a state is good for one return.
	c.clearCookie(g, purposeLogin)
	if !isCurrent || subtle.ConstantTimeCompare([]byte(a.State), []byte(g.Query("state"))) != 1 {
		c.refuseLogin(g, "/", "This login was begun in another browser, or too long ago. Log in again.",
			"oidc: unknown state")
		return
	}
	// The error is access_denied when the person went back. It is shown as text, and never followed.
	if code := shortenText(g.Query("error"), maxIssuerText); code != "" {
		c.refuseLogin(g, a.Next, "The issuer refused the login: "+code+" "+
			shortenText(g.Query("error_description"), maxIssuerText), "oidc: "+code)
		return
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(g.Request.Context(), c.oidcLogin.settings.HTTP),
		issuerTimeout)
	defer cancel()
	s, err := c.oidcLogin.finish(ctx, a, g.Query("code"))
	var refused *refusedLogin
	switch {
	case errors.As(err, &refused):
		c.refuseLogin(g, a.Next, refused.sentence, "oidc: "+refused.reason)
	case err != nil:
		c.failAtIssuer(g, err)
	default:
		c.beginSession(g, s)
		rest.AddLogAttrs(g.Request.Context(), slog.String("login", s.Name))
		g.Redirect(http.StatusSeeOther, a.Next)
	}
}

package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

// session is a login. The browser has it as a sealed cookie, so that every replica knows it; a query says only whether
// it has ended before its time.
type session struct {
	// Name is the actor in events: actorPrefix, and the name of the token, or the email or subject of OIDC.
	Name   string    `json:"name"`
	Viewer bool      `json:"viewer,omitempty"`
	Token  string    `json:"token,omitempty"` // the fingerprint of the operator's token; empty after a login by OIDC
	CSRF   string    `json:"csrf"`            // what forms of the session carry, so that no other site can send them
	Until  time.Time `json:"until"`
}

// actorPrefix begins the name of an actor who uses the console.
const actorPrefix = "console:"

// Label is the name without its kind, for the header of pages.
func (s session) Label() string { return actorName(s.Name) }

// Role is the role, in words.
func (s session) Role() string {
	if s.Viewer {
		return "viewer"
	}
	return "operator"
}

// The purposes of sealed cookies. A cookie of one purpose does not open for another.
const (
	purposeSession = "session"
	purposeLogin   = "login" // an attempt, between the button and the return from the issuer
	purposeNotice  = "notice"
)

// sessionKey is where requireLogin leaves the login for the handlers of a request.
const sessionKey = "console.session"

func sessionOf(g *gin.Context) session { return g.MustGet(sessionKey).(session) }

// readSession returns the login that a request carries; ok is false without one that counts.
func (c *Console) readSession(r *http.Request) (s session, ok bool) {
	// The time is sealed with the rest: a browser may keep a cookie for longer than it was told to.
	if !c.openCookie(r, purposeSession, &s) || !c.now().Before(s.Until) {
		return session{}, false
	}
	// A login by an issuer ends with the issuer's settings: without them nobody vouches for it.
	if s.Token == "" {
		return s, c.oidcLogin != nil
	}
	who, ok := c.operatorTokens.Current(s.Token)
	// Name and role are those of the present settings, not those of the cookie: a token may have got others.
	s.Name, s.Viewer = actorOf(who), who.Viewer
	return s, ok
}

// loginDigest is how the database names a login: whoever reads it there cannot log in with it.
func (s session) loginDigest() []byte {
	sum := sha256.Sum256([]byte(s.CSRF))
	return sum[:]
}

// endedTimeout bounds the query whether a login has ended. It is short, because pages answer also without its result.
const endedTimeout = 500 * time.Millisecond

// hasEnded reports whether somebody has logged out of the login, at any replica.
func (c *Console) hasEnded(ctx context.Context, s session) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, endedTimeout)
	defer cancel()
	return c.options.Store.LoginHasEnded(ctx, s.loginDigest())
}

// actorOf is how events name whoever has a token.
func actorOf(who rest.OperatorIdentity) string {
	return actorPrefix + strings.TrimPrefix(who.Name, "operator:")
}

// beginSession logs a browser in.
func (c *Console) beginSession(g *gin.Context, s session) {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails, by its contract
	// The token is one for the login, and not for each form: pages that are open in several tabs stay usable.
	s.CSRF, s.Until = base64.RawURLEncoding.EncodeToString(random), c.now().Add(sessionTTL)
	c.setCookie(g, purposeSession, s, sessionTTL)
}

// checkForm reports whether a form has the token of the session. If not, it answers with an error.
func checkForm(g *gin.Context, s session) bool {
	if subtle.ConstantTimeCompare([]byte(g.PostForm("csrf")), []byte(s.CSRF)) == 1 {
		return true
	}
	rest.Fail(g, &rest.Problem{
		Status: http.StatusForbidden, Code: "forbidden", Title: "The form is out of date",
		Detail: "The form was opened in another login. Go back, reload the page, and send it again: nothing was changed.",
	})
	return false
}

// cookieName has the prefix with which browsers refuse a cookie that another host or a page without TLS sets.
func (c *Console) cookieName(r *http.Request, purpose string) string {
	if c.isSecure(r) {
		return "__Host-director-" + purpose
	}
	return "director-" + purpose
}

// setCookie seals a value into a cookie, which the browser keeps for its lifetime.
func (c *Console) setCookie(g *gin.Context, purpose string, value any, lifetime time.Duration) {
	text, _ := json.Marshal(value) // structs of texts and times always encode
	c.writeCookie(g, purpose, c.options.Cookies.Seal(purpose, text), int(lifetime.Seconds()))
}

func (c *Console) clearCookie(g *gin.Context, purpose string) { c.writeCookie(g, purpose, "", -1) }

// writeCookie sets a cookie that is sent with links from elsewhere, so that a link in a chat opens its page
// (SameSite=Lax).
func (c *Console) writeCookie(g *gin.Context, purpose, value string, seconds int) {
	http.SetCookie(g.Writer, &http.Cookie{ //nolint:gosec // G124: Secure where the browser speaks TLS
		Name: c.cookieName(g.Request, purpose), Value: value, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: c.isSecure(g.Request), SameSite: http.SameSiteLaxMode,
	})
}

// openCookie decodes a sealed cookie into what the pointer into points to, and reports whether there was a valid one.
func (c *Console) openCookie(r *http.Request, purpose string, into any) bool {
	cookie, err := r.Cookie(c.cookieName(r, purpose))
	if err != nil {
		return false
	}
	// A cookie that was sealed by another key-encryption key, or for another purpose, counts as none, so that the browser
	// logs in anew.
	text, err := c.options.Cookies.Open(purpose, cookie.Value)
	return err == nil && json.Unmarshal(text, into) == nil
}

// localPath returns a path of this console, or "/": a link to the login must not lead elsewhere after it.
func localPath(next string) string {
	u, err := url.Parse(next)
	// Browsers take //host and a backslash for the beginning of another host, and drop tabs and line feeds within an
	// address.
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(next, "/") ||
		strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	return next
}

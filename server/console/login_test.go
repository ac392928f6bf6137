package console

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/variant"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server/rest"
)

// Pins pages that answer without a login, and a login that forgets where somebody wanted to go.
func TestLoginIsRequired(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.browser()
	for _, path := range []string{"/", "/fleet", "/fleet?region=eu", "/instances/eu-1/drain"} {
		got := w.get(path)
		require.Equal(t, http.StatusSeeOther, got.Status, path)
		require.Contains(t, got.Header.Get("Location"), "/login")
	}
	require.Equal(t, "/login?next=%2Ffleet%3Fregion%3Deu", w.get("/fleet?region=eu").Header.Get("Location"))
	require.Equal(t, http.StatusUnauthorized, w.post("/instances/eu-1/drain", nil).Status)

	got := w.post("/login", url.Values{"token": {adaToken}, "next": {"/fleet?region=eu"}})
	require.Equal(t, "/fleet?region=eu", got.Header.Get("Location"))
	page := w.get("/fleet")
	require.Equal(t, http.StatusOK, page.Status)
	require.Contains(t, page.Body, "ada, operator")
	require.Equal(t, http.StatusSeeOther, w.get("/login").Status, "whoever is logged in needs no login")

	require.Equal(t, http.StatusForbidden, w.post("/logout", nil).Status, "a form without its token")
	w.post("/logout", url.Values{"csrf": {csrfField.FindStringSubmatch(page.Body)[1]}})
	require.Equal(t, http.StatusSeeOther, w.get("/fleet").Status)
}

// Pins a copy of a cookie that still counts after its owner has logged out, at another replica, too; and one that
// counts for changes while nobody knows.
func TestALogoutEndsCopiesOfTheCookie(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	owner, other := b.as(adaToken), b.as(adaToken)
	thief := b.browser()
	base, err := url.Parse(b.server.URL)
	require.NoError(t, err)
	thief.http.Jar.SetCookies(base, owner.http.Jar.Cookies(base))
	form := url.Values{"csrf": {csrfField.FindStringSubmatch(owner.get("/instances/eu-1/drain").Body)[1]}}
	require.Equal(t, http.StatusOK, thief.get("/fleet").Status)

	b.Exec("ALTER TABLE console_logouts RENAME TO away")
	require.Equal(t, http.StatusOK, thief.get("/health").Status)
	require.GreaterOrEqual(t, thief.post("/instances/eu-1/drain", form).Status, 500)
	b.Exec("ALTER TABLE away RENAME TO console_logouts")

	require.Equal(t, http.StatusSeeOther, owner.post("/logout", form).Status)
	require.Equal(t, "/login?next=%2Ffleet", thief.get("/fleet").Header.Get("Location"))
	require.Equal(t, http.StatusUnauthorized, thief.post("/instances/eu-1/drain", form).Status)
	require.Equal(t, http.StatusOK, thief.get("/login").Status, "no circle of redirects")
	require.Equal(t, http.StatusOK, other.get("/fleet").Status, "another login of the same person stays")

	b.Exec("UPDATE console_logouts SET until = now() - interval '2 hours'")
	form = url.Values{"csrf": {csrfField.FindStringSubmatch(other.get("/instances/eu-1/drain").Body)[1]}}
	require.Equal(t, http.StatusSeeOther, other.post("/logout", form).Status)
	var kept int
	require.NoError(t, b.Store.Pool().QueryRow(t.Context(), "SELECT count(*) FROM console_logouts").Scan(&kept))
	require.Equal(t, 1, kept, "what counts no more is forgotten")
}

// Pins a wrong token that logs in, one that is written into the page, and an address that may guess for ever.
func TestWrongTokensAreLimited(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.FailureRate = rest.Rate{PerSecond: 1e-6, Burst: 3} })
	w := b.browser()
	for range 3 {
		got := w.post("/login", url.Values{"token": {"ada=" + adaToken}})
		require.Equal(t, http.StatusUnauthorized, got.Status)
		require.NotContains(t, got.Body, adaToken)
	}
	require.Equal(t, http.StatusTooManyRequests, w.post("/login", url.Values{"token": {"x"}}).Status)
	require.Equal(t, http.StatusSeeOther, w.post("/login", url.Values{"token": {adaToken}}).Status,
		"the right token is never limited")
}

// Pins strangers who lock all operators out of the console with forms that they never finish.
func TestHalfSentFormsLockNobodyOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	ada := b.as(adaToken)
	cookies := ada.http.Jar.Cookies(&url.URL{Scheme: "http", Host: b.server.Listener.Addr().String(), Path: "/"})
	for i := range 4 * maxRequests {
		path := []string{"/login", "/instances/eu-1/drain"}[i%2]
		conn := webtest.Dial(t, b.server.Listener.Addr().String())
		_, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: director\r\nCookie: %s=%s\r\nExpect: 100-continue\r\n"+
			"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\n", path, cookies[0].Name,
			cookies[0].Value)
		require.NoError(t, err)
		_, err = bufio.NewReader(conn).ReadString('\n') // 100 Continue: the form is being read
		require.NoError(t, err)
	}
	require.Equal(t, http.StatusSeeOther, b.browser().post("/login", url.Values{"token": {adaToken}}).Status)
	require.Equal(t, http.StatusSeeOther, ada.act("/instances/eu-1/drain", "reason", "test").Status)
}

// Pins a login that leads to another site.
func TestLoginLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, next := range []string{"https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)",
		"evil.example", "/\t/evil.example", ""} {
		got := b.browser().post("/login", url.Values{"token": {adaToken}, "next": {next}})
		require.Equal(t, "/", got.Header.Get("Location"), next)
	}
}

// Pins a replica that does not know the logins of another one, and one that accepts those of another installation.
func TestLoginCountsOnEveryReplica(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.as(adaToken)
	other := func(change ...func(*Options)) *httptest.Server {
		o := variant.Apply(b.console.options, change...)
		c, err := New(o)
		require.NoError(t, err)
		t.Cleanup(c.Stop)
		return httptest.NewUnstartedServer(c)
	}
	status := func(s *httptest.Server) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/fleet", http.NoBody)
		u, err := url.Parse(b.server.URL)
		require.NoError(t, err)
		for _, c := range w.http.Jar.Cookies(u) {
			r.AddCookie(c)
		}
		out := httptest.NewRecorder()
		s.Config.Handler.ServeHTTP(out, r)
		return out.Code
	}
	require.Equal(t, http.StatusOK, status(other()))
	require.Equal(t, http.StatusSeeOther,
		status(other(func(o *Options) { o.Cookies = keytest.Sealer(t, 2).Cookies() })), "another key-encryption key")
	require.Equal(t, http.StatusSeeOther,
		status(other(func(o *Options) { o.Tokens = []string{"ivy:viewer=" + ivyToken} })), "the token was taken away")
	late := other()
	late.Config.Handler.(*Console).now = func() time.Time { return time.Now().Add(13 * time.Hour) }
	require.Equal(t, http.StatusSeeOther, status(late), "the login has ended")
}

// Pins cookies that scripts can read, that other sites' forms send, or that go over plain HTTP.
func TestCookies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		change  func(*Options)
		headers []string
		secure  bool
	}{
		{"plain", func(*Options) {}, nil, false},
		{"https URL", func(o *Options) { o.URL = "https://console.example" }, nil, true},
		{"trusted proxy", func(o *Options) { o.TrustedProxies = []string{"127.0.0.1", "::1"} },
			[]string{"X-Forwarded-Proto", "https"}, true},
		{"stranger", func(*Options) {}, []string{"X-Forwarded-Proto", "https"}, false},
	} {
		b := setup(t, c.change)
		got := b.browser().post("/login", url.Values{"token": {adaToken}}, c.headers...)
		cookies, err := http.ParseSetCookie(got.Header.Get("Set-Cookie"))
		require.NoError(t, err)
		require.Equal(t, c.secure, cookies.Secure, c.name)
		require.Equal(t, c.secure, cookies.Name == "__Host-director-session", c.name)
		require.True(t, cookies.HttpOnly)
		require.Equal(t, http.SameSiteLaxMode, cookies.SameSite)
		require.Equal(t, 12*60*60, cookies.MaxAge)
		require.Equal(t, c.secure, got.Header.Get("Strict-Transport-Security") != "", c.name)
	}
}

// Pins options with which nobody can log in, or the issuer sends browsers elsewhere.
func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := b.console.options
	for name, change := range map[string]func(*Options){
		"no store":   func(o *Options) { o.Store = nil },
		"no cookies": func(o *Options) { o.Cookies = nil },
		"no login":   func(o *Options) { o.Tokens = nil },
		"OIDC, no URL": func(o *Options) {
			o.OIDC = &OIDC{Issuer: "https://login.example", ClientID: "c", Operators: []string{"*"}}
		},
		"URL with a path": func(o *Options) { o.URL = "https://console.example/ops" },
		"no URL at all":   func(o *Options) { o.URL = "console" },
		"bad proxy":       func(o *Options) { o.TrustedProxies = []string{"x"} },
	} {
		o := good
		change(&o)
		_, err := New(o)
		require.Error(t, err, name)
	}
}

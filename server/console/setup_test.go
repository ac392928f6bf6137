package console

import (
	"context"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/internal/keymint"
	"github.com/lattice-director/director/internal/matching/explainer"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/token"
)

const (
	universe = "global" // of tickets
	adaToken = "ada-is-an-operator-0001"
	ivyToken = "ivy-is-only-a-viewer-02"
)

// bundle is a console on a database of its own.
type bundle struct {
	*storetest.DB
	t       *testing.T
	console *Console
	server  *httptest.Server
	rotate  func(ctx context.Context, by db.Act, next string) ([]db.SigningKey, error)
}

func setup(t *testing.T, change ...func(*Options)) *bundle {
	t.Helper()
	return setupOn(t, storetest.New(t), change...)
}

func setupOn(t *testing.T, d *storetest.DB, change ...func(*Options)) *bundle {
	t.Helper()
	b := &bundle{t: t, DB: d}
	sealer := keytest.Sealer(t, 1)
	policy := db.KeyPolicy{Period: 24 * time.Hour, Lead: time.Minute, Overlap: time.Minute}
	b.rotate = func(ctx context.Context, by db.Act, next string) ([]db.SigningKey, error) {
		return by.RotateKeys(ctx, db.SigningKeyRotation{Policy: policy, Mint: keymint.With(sealer, token.AlgEdDSA), Force: true, NextKID: &next})
	}
	o := Options{Store: b.Store, Doctor: doctor.Doctor{Store: b.Store}, Rotate: b.rotate, Cookies: sealer.Cookies(), Explain: explainer.New(explainer.Options{Store: b.Store, Universe: universe}), Universe: universe,
		Tokens: []string{"ada=" + adaToken, "ivy:viewer=" + ivyToken}, Version: "v0.0.0-test"}
	for _, c := range change {
		c(&o)
	}
	b.console = must.Get(New(o))(t)
	b.server = httptest.NewServer(b.console)
	t.Cleanup(b.server.Close)
	t.Cleanup(b.console.Stop)
	return b
}

// browser is a client with cookies, which does not follow redirects.
type browser struct {
	t    *testing.T
	http *http.Client
	base string
}

func (b *bundle) browser() *browser {
	jar := must.Get(cookiejar.New(nil))(b.t)
	return &browser{b.t, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, b.server.URL}
}

// as is a browser that has logged in with a token.
func (b *bundle) as(token string) *browser {
	w := b.browser()
	require.Equal(b.t, http.StatusSeeOther, w.post("/login", url.Values{"token": {token}}).Status)
	return w
}

func (w *browser) get(path string) webtest.Answer {
	w.t.Helper()
	return webtest.Send(w.t, w.http, webtest.Request(w.t, http.MethodGet, w.base+path, nil))
}

func (w *browser) post(path string, form url.Values, headers ...string) webtest.Answer {
	w.t.Helper()
	return webtest.Send(w.t, w.http, webtest.Request(w.t, http.MethodPost, w.base+path, form.Encode(),
		append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)...))
}

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// act opens the form of an action and sends it with these values.
func (w *browser) act(path string, pairs ...string) webtest.Answer {
	w.t.Helper()
	page := w.get(path)
	require.Equal(w.t, http.StatusOK, page.Status, page.Body)
	form := url.Values{"csrf": {csrfField.FindStringSubmatch(page.Body)[1]}}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return w.post(path, form)
}

// place seats players in a session of a mode.
func (b *bundle) place(mode string, players ...string) db.Placement {
	b.t.Helper()
	return must.Get(b.Place(b.t.Context(), db.PlaceRequest{Caller: players[0], Region: "eu", Mode: mode, Party: players, MaxPlayers: 4}))(b.t)
}

package console

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/internal/keymint"
	"github.com/lattice-director/director/internal/matching/explainer"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/token"
)

const (
	universe = "global" // of tickets
	adaToken = "ada-is-an-operator-0001"
	ivyToken = "ivy-is-only-a-viewer-02"
)

// bundle is a console on a database of its own.
type bundle struct {
	*db.Store
	t       *testing.T
	url     string // of the database
	console *Console
	server  *httptest.Server
	rotate  func(ctx context.Context, by db.Act) ([]db.SigningKey, error)
}

func setup(t *testing.T, change ...func(*Options)) *bundle {
	t.Helper()
	b := &bundle{t: t, url: dbtest.New(t)}
	b.Store = storetest.Open(t, b.url)
	sealer := sealerOf(t, 1)
	policy := db.KeyPolicy{Period: 24 * time.Hour, Lead: time.Minute, Overlap: time.Minute}
	b.rotate = func(ctx context.Context, by db.Act) ([]db.SigningKey, error) {
		return by.RotateKeys(ctx, policy, true, keymint.With(sealer, token.AlgEdDSA))
	}
	o := Options{Store: b.Store, Doctor: doctor.Doctor{Store: b.Store}, Rotate: b.rotate, Cookies: sealer.Cookies(), Explain: explainer.New(explainer.Options{Store: b.Store, Universe: universe}), Universe: universe,
		Tokens: []string{"ada=" + adaToken, "ivy:viewer=" + ivyToken}, Version: "v0.0.0-test"}
	for _, c := range change {
		c(&o)
	}
	var err error
	b.console, err = New(o)
	require.NoError(t, err)
	b.server = httptest.NewServer(b.console)
	t.Cleanup(b.server.Close)
	t.Cleanup(b.console.Stop)
	return b
}

func sealerOf(t *testing.T, kek byte) *token.Sealer {
	t.Helper()
	key := make([]byte, token.KEKBytes)
	key[0] = kek
	sealer, err := token.NewSealer(key)
	require.NoError(t, err)
	return sealer
}

// browser is a client with cookies, which does not follow redirects.
type browser struct {
	t    *testing.T
	http *http.Client
	base string
}

func (b *bundle) browser() *browser {
	jar, err := cookiejar.New(nil)
	require.NoError(b.t, err)
	return &browser{b.t, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, b.server.URL}
}

// as is a browser that has logged in with a token.
func (b *bundle) as(token string) *browser {
	w := b.browser()
	require.Equal(b.t, http.StatusSeeOther, w.post("/login", url.Values{"token": {token}}).status)
	return w
}

// answer is a response with its body read.
type answer struct {
	status int
	body   string
	header http.Header
}

func (w *browser) do(r *http.Request) answer {
	w.t.Helper()
	response, err := w.http.Do(r)
	require.NoError(w.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(w.t, err)
	return answer{response.StatusCode, string(body), response.Header}
}

func (w *browser) get(path string) answer {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.base+path, http.NoBody)
	require.NoError(w.t, err)
	return w.do(r)
}

func (w *browser) post(path string, form url.Values, headers ...string) answer {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.base+path, strings.NewReader(form.Encode()))
	require.NoError(w.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return w.do(r)
}

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// act opens the form of an action and sends it with these values.
func (w *browser) act(path string, pairs ...string) answer {
	w.t.Helper()
	page := w.get(path)
	require.Equal(w.t, http.StatusOK, page.status, page.body)
	form := url.Values{"csrf": {csrfField.FindStringSubmatch(page.body)[1]}}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return w.post(path, form)
}

// register adds a game server of region eu for duels.
func (b *bundle) register(id string, change ...func(*db.Registration)) db.Registered {
	b.t.Helper()
	r := db.Registration{InstanceID: id, Endpoint: "192.0.2.1:7777", Region: "eu", Modes: []string{"duel"}, Capacity: 8, BootID: "b"}
	for _, c := range change {
		c(&r)
	}
	made, err := b.Register(b.t.Context(), r)
	require.NoError(b.t, err)
	return made
}

// place seats players in a session of a mode.
func (b *bundle) place(mode string, players ...string) db.Placement {
	b.t.Helper()
	p, err := b.Place(b.t.Context(), db.PlaceRequest{Caller: players[0], Region: "eu", Mode: mode, Party: players, MaxPlayers: 4})
	require.NoError(b.t, err)
	return p
}

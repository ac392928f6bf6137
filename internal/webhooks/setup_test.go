package webhooks_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/keymint"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/internal/testkit/variant"
	"github.com/lattice-director/director/internal/webhooks"
	"github.com/lattice-director/director/token"
)

// bundle is an installation with signing keys.
type bundle struct {
	*storetest.DB

	sealer *token.Sealer
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{storetest.New(t), keytest.Sealer(t, 1)}
	must.Get(b.RotateKeys(t.Context(), db.SigningKeyRotation{
		Policy: db.KeyPolicy{Period: time.Hour, Lead: time.Minute, Overlap: time.Minute},
		Mint:   keymint.With(b.sealer, token.AlgEdDSA)}))(t)
	return b
}

// deliver runs a worker's engine on a store until stop is called, or the test ends.
func (b *bundle) deliver(change ...func(*webhooks.Options)) (stop func()) {
	b.T.Helper()
	o := variant.Apply(webhooks.Options{Store: b.Store, Sealer: b.sealer, Hosts: []string{"127.0.0.1"}}, change...)
	engine := must.Get(webhooks.New(o))(b.T)
	return background.Loop(b.T, engine.Run)
}

// subscribe makes a webhook at a receiver.
func (b *bundle) subscribe(name string, r *receiver, kinds ...string) {
	b.T.Helper()
	must.Get(b.As("").CreateWebhook(b.T.Context(), name, r.server.URL+"/hook", kinds))(b.T)
}

// happen writes events of sessions, numbered from first to last: event n is about session n modulo 3.
func (b *bundle) happen(first, last int) {
	b.T.Helper()
	for n := first; n <= last; n++ {
		b.Exec(`INSERT INTO events (region, kind, session_id, detail) VALUES ('eu', 'session.closed', $1, $2)`,
			uuid.UUID{15: byte(n % 3)}, fmt.Sprintf(`{"n": %d}`, n))
	}
}

// webhook reads the state of a webhook.
func (b *bundle) webhook(name string) opsview.Webhook {
	b.T.Helper()
	return must.Get(opsview.Webhooks.One(b.T.Context(), b.Pool(), opsview.WebhookFilter{Name: name}))(b.T)
}

// received is a request of a webhook, verified.
type received struct {
	ID, Kind, Session string
	N                 int // of happen
	At                time.Time
}

// receiver is an endpoint that verifies what it gets by the published keys, as docs/how-to/webhooks.md says to.
type receiver struct {
	t      *testing.T
	b      *bundle
	server *httptest.Server

	mu     sync.Mutex
	got    []received         // that were answered with 200
	tried  int                // requests
	answer func(received) int // the status; nil: 200
}

func (b *bundle) receiver(answer func(received) int) *receiver {
	t, _ := b.T.(*testing.T)
	r := &receiver{t: t, b: b, answer: answer}
	r.server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.server.Close)
	return r
}

func (r *receiver) serve(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	got, err := r.verify(request.Header, body)
	if err != nil {
		r.t.Errorf("a request that cannot be verified: %s", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.tried++
	answer := r.answer
	r.mu.Unlock()
	status := http.StatusOK
	if answer != nil {
		status = answer(got)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if status == http.StatusOK {
		r.got = append(r.got, got)
	}
	w.WriteHeader(status)
}

// verify does what a receiver does by the specification.
func (r *receiver) verify(h http.Header, body []byte) (got received, err error) {
	seconds, err := strconv.ParseInt(h.Get("webhook-timestamp"), 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return got, fmt.Errorf("webhook-timestamp %q", h.Get("webhook-timestamp"))
	}
	content := fmt.Appendf(nil, "%s.%d.%s", h.Get("webhook-id"), seconds, body)
	if !r.isSigned(h.Get("webhook-signature"), content) {
		return got, fmt.Errorf("webhook-signature %q", h.Get("webhook-signature"))
	}
	var sent struct {
		Type      string
		Timestamp time.Time
		Data      struct {
			Session string
			Detail  struct{ N int }
		}
	}
	err = json.Unmarshal(body, &sent)
	return received{h.Get("webhook-id"), sent.Type, sent.Data.Session, sent.Data.Detail.N, sent.Timestamp}, err
}

func (r *receiver) isSigned(header string, content []byte) bool {
	rows, now, err := r.b.Keys(context.WithoutCancel(r.t.Context()))
	if err != nil {
		return false
	}
	ring, err := keymint.Open(rows, r.b.sealer, now, time.Minute)
	if err != nil {
		return false
	}
	for _, key := range ring.WebhookKeys(now) {
		public, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(key.Key, "whpk_"))
		for one := range strings.SplitSeq(header, " ") {
			signature, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(one, "v1a,"))
			if ed25519.Verify(public, content, signature) {
				return true
			}
		}
	}
	return false
}

// answers changes what the endpoint answers.
func (r *receiver) answers(answer func(received) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func always(status int) func(received) int { return func(received) int { return status } }

func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received{}, r.got...)
}

func (r *receiver) requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tried
}

// awaits waits until so many events have arrived.
func (r *receiver) awaits(n int) []received {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return len(r.all()) >= n }, time.Minute, 5*time.Millisecond, "%d events", n)
	return r.all()
}

// requireEach asserts that events 1 to n of happen have arrived, each once by its id, and those of each session in
// order.
func (r *receiver) requireEach(n int) {
	r.t.Helper()
	ids, numbers, last := map[string]bool{}, map[int]bool{}, map[string]int{}
	for _, e := range r.awaits(n) {
		require.False(r.t, ids[e.ID], "%s came twice", e.ID)
		ids[e.ID], numbers[e.N] = true, true
		require.Greater(r.t, e.N, last[e.Session], "the order of a session")
		last[e.Session] = e.N
	}
	for i := 1; i <= n; i++ {
		require.True(r.t, numbers[i], "event %d did not come", i)
	}
}

package webhooks_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/webhooks"
	"github.com/lattice-director/director/migrations"
)

// A subscriber builds its own state of seats from what it gets, and only of the kinds that it asked for.
func TestASubscriberGetsWhatHappens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	seats, sessions := b.receiver(nil), b.receiver(nil)
	b.subscribe("seats", seats, "seat.*")
	b.subscribe("sessions", sessions, "session.opened", "session.closed")
	b.deliver()

	b.AddServer("eu-1", 8)
	p, err := b.Place(t.Context(), db.PlaceRequest{Caller: "ada", Region: "eu", Mode: "duel",
		Party: []string{"ada", "bob"}, MaxPlayers: 2})
	require.NoError(t, err)
	require.NoError(t, b.As("").CloseSession(t.Context(), p.SessionID, "a test"))

	got := seats.awaits(4)
	var kinds []string
	for _, e := range got {
		require.Equal(t, p.SessionID, e.Session)
		require.True(t, strings.HasPrefix(e.ID, "evt_"), e.ID)
		kinds = append(kinds, e.Kind)
	}
	require.Equal(t, []string{"seat.reserved", "seat.reserved", "seat.left", "seat.left"}, kinds)
	opened := sessions.awaits(2)
	require.Equal(t, []string{"session.opened", "session.closed"}, []string{opened[0].Kind, opened[1].Kind})
	b.Eventually(4, "SELECT delivered FROM ops.webhooks WHERE name = 'seats'")
	require.Equal(t, "active", b.webhook("seats").State)
	require.Empty(t, b.webhook("seats").LastError)
}

// Pins a gap, or an event that comes twice, after an endpoint was away for an hour.
func TestADeadSubscriberCatchesUp(t *testing.T) {
	t.Parallel()
	for name, dies := range map[string]func(r *receiver) (revive func()){
		"it answers 503": func(r *receiver) func() {
			r.answers(always(http.StatusServiceUnavailable))
			return func() { r.answers(nil) }
		},
		"nobody listens": func(r *receiver) func() {
			r.server.Config.SetKeepAlivesEnabled(false)
			_ = r.server.Listener.Close()
			return func() {
				again := httptest.NewServer(http.HandlerFunc(r.serve))
				r.t.Cleanup(again.Close)
				r.b.Exec("UPDATE webhooks SET url = $1 || '/hook'", again.URL) // at the same name, another process
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			r := b.receiver(nil)
			b.subscribe("studio", r, "session.*")
			b.deliver()
			b.happen(1, 10)
			r.awaits(10)

			revive := dies(r)
			b.happen(11, 300)
			b.Eventually(1, "SELECT count(*) FROM ops.webhooks WHERE state = 'failing'")
			b.Exec(`UPDATE webhook_progress SET failing_since = failing_since - interval '1 hour', failures = failures + 60`)
			b.Exec(`UPDATE events SET at = at - interval '1 hour' WHERE kind = 'session.closed'`)
			require.Len(t, r.all(), 10)
			w := b.webhook("studio")
			require.Greater(t, w.Lag, 59*time.Minute)
			require.NotEmpty(t, w.LastError)
			require.Zero(t, w.Waiting, "what is new waits in the log")

			revive()
			b.happen(301, 320)
			b.Exec(`UPDATE webhook_progress SET next_at = now()`)
			r.requireEach(320)
			b.Eventually(1, "SELECT count(*) FROM ops.webhooks WHERE state = 'active' AND lag < '1 minute' AND dead_letters = 0")
		})
	}
}

// Pins an endpoint that answers slowly, or never, and holds up others.
func TestASlowSubscriberDelaysNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	never, slow := make(chan struct{}), b.receiver(nil)
	slow.answers(func(received) int { <-never; return http.StatusOK })
	t.Cleanup(sync.OnceFunc(func() { close(never) }))
	quick := b.receiver(nil)
	b.subscribe("a-slow-one", slow, "session.*")
	b.subscribe("b-quick-one", quick, "session.*")
	b.deliver()
	b.happen(1, 200)
	quick.requireEach(200)
	require.Empty(t, slow.all())
	require.LessOrEqual(t, slow.requests(), 16, "requests of one webhook are bounded")
}

// Pins an event that its endpoint cannot take, and that holds up others than those of its subject, or is overtaken by
// them.
func TestABadLetterHoldsUpItsSubjectOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.receiver(func(e received) int {
		if e.N == 1 {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	b.subscribe("studio", r, "session.*")
	b.deliver()
	b.happen(1, 9) // 1, 4 and 7 are of one session
	r.awaits(6)
	b.Eventually(3, "SELECT waiting FROM ops.webhooks")
	b.happen(10, 12)
	r.awaits(8)
	b.Eventually(4, "SELECT waiting FROM ops.webhooks")
	deliveries := must.Get(opsview.WebhookDeliveries.Read(t.Context(), b.Pool(), opsview.WebhookDeliveryFilter{}, opsview.Page{}))(t)
	var states []string
	for _, d := range deliveries {
		states = append(states, d.State)
	}
	require.Equal(t, []string{"retrying", "behind", "behind", "behind"}, states)
	require.Equal(t, "active", b.webhook("studio").State)
	require.Equal(t, "it answered 500", b.webhook("studio").LastError)

	r.answers(nil)
	b.Exec("UPDATE webhook_deliveries SET next_at = now() WHERE next_at IS NOT NULL")
	r.requireEach(12)
	b.Eventually(0, "SELECT count(*) FROM webhook_deliveries")
}

// A letter that was tried for three days is a dead letter, those behind it go on, and an operator sends it again with
// the same id.
func TestDeadLettersAreReplayed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var id atomic.Value
	r := b.receiver(nil)
	r.answers(func(e received) int {
		if e.N == 3 {
			id.Store(e.ID)
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	b.subscribe("studio", r, "session.*")
	b.deliver()
	b.happen(1, 6) // 3 and 6 are of one session
	r.awaits(4)
	b.Eventually(2, "SELECT waiting FROM ops.webhooks")
	b.Exec("UPDATE webhook_deliveries SET first_at = first_at - interval '73 hours', next_at = now() WHERE next_at IS NOT NULL")
	r.awaits(5)
	b.Eventually(1, "SELECT dead_letters FROM ops.webhooks")
	b.Eventually(0, "SELECT waiting FROM ops.webhooks") // the last answer is stored after the receiver has seen its event

	dead, err := opsview.WebhookDeliveries.One(t.Context(), b.Pool(), opsview.WebhookDeliveryFilter{State: "dead"})
	require.NoError(t, err)
	require.Equal(t, id.Load(), "evt_"+dead.Event.String())
	require.Equal(t, "it answered 500", dead.LastError)
	r.answers(nil)
	n, err := b.As("console:ada").ReplayWebhook(t.Context(), "studio", dead.Event)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	got := r.awaits(6)
	require.Equal(t, id.Load(), got[5].ID)
	b.Eventually(0, "SELECT count(*) FROM webhook_deliveries")
	require.Equal(t, 1, b.Count("SELECT count(*) FROM events WHERE kind = 'webhook.replayed' AND actor = 'console:ada'"))
}

// While nothing can be delivered for three days, the place in the log moves on, and what it passes is dead letters.
func TestAnEndpointThatIsDeadForDays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.receiver(always(http.StatusBadGateway))
	b.subscribe("studio", r, "session.*")
	b.happen(1, 5)
	b.deliver()
	b.Eventually(1, "SELECT count(*) FROM ops.webhooks WHERE state = 'failing'")
	b.Exec("UPDATE events SET at = at - interval '73 hours' WHERE kind = 'session.closed'")
	b.happen(6, 8)
	b.Exec("UPDATE webhook_progress SET failing_since = now() - interval '73 hours', next_at = now()")
	b.Eventually(5, "SELECT dead_letters FROM ops.webhooks")
	require.Empty(t, r.all())
	r.answers(nil)
	b.Exec("UPDATE webhook_progress SET next_at = now()")
	r.awaits(3)
	_, err := b.As("").ReplayWebhook(t.Context(), "studio", uuid.Nil)
	require.NoError(t, err)
	r.awaits(8)
}

// Pins a worker that died, or froze, and whose webhooks nobody took over, or that went on after others had.
func TestAWorkerThatDiedIsReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.receiver(nil)
	b.subscribe("studio", r, "session.*")
	quick := func(o *webhooks.Options) { o.Lease = time.Second }

	dying := b.Replica()
	b.deliver(quick, func(o *webhooks.Options) { o.Store = dying })
	b.happen(1, 20)
	r.awaits(20)
	b.Eventually(20, "SELECT delivered FROM ops.webhooks")
	var frozen db.WebhookLease
	require.NoError(t, b.Pool().QueryRow(t.Context(), "SELECT webhook, worker, epoch FROM webhook_progress").Scan(&frozen.Webhook, &frozen.Worker, &frozen.Epoch))
	dying.Close() // it can neither renew its lease nor end it

	b.deliver(quick)
	b.happen(21, 60)
	r.requireEach(60)
	require.Greater(t, b.Count("SELECT epoch FROM webhook_progress"), int(frozen.Epoch))
	late := b.RecordWebhookStep(t.Context(), frozen, db.WebhookStep{SentCount: 1})
	require.True(t, fault.Is(late, fault.Conflict), "what it writes on waking is refused: %v", late)
	require.True(t, fault.Is(b.RenewWebhook(t.Context(), frozen, time.Minute), fault.Conflict))
	require.NotEqual(t, opsview.EventCursor{}, b.webhook("studio").Cursor())
}

// Two workers share an installation: no event comes twice, and one that stops gives its webhooks up at once.
func TestWorkersShareWebhooks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.receiver(nil)
	b.subscribe("studio", r, "session.*")
	stop := b.deliver(func(o *webhooks.Options) { o.Lease = time.Hour })
	b.happen(1, 30)
	r.awaits(30)
	b.deliver(func(o *webhooks.Options) { o.Lease, o.Store = time.Hour, b.Replica() })
	b.happen(31, 60)
	r.awaits(60)
	b.Eventually(60, "SELECT delivered FROM ops.webhooks")
	stop()
	b.happen(61, 90)
	r.requireEach(90)
}

func TestAnEndpointThatIsGonePausesItsWebhook(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.receiver(always(http.StatusGone))
	b.subscribe("studio", r, "session.*")
	b.deliver()
	b.happen(1, 1)
	b.Eventually(1, "SELECT count(*) FROM ops.webhooks WHERE state = 'paused' AND reason = 'its endpoint answered 410 Gone'")
	require.Equal(t, 1, b.Count("SELECT count(*) FROM events WHERE kind = 'webhook.paused' AND actor = 'director'"))
	require.Equal(t, 1, r.requests())
	r.answers(nil)
	b.happen(2, 3)
	changed, err := b.As("").ResumeWebhook(t.Context(), "studio")
	require.NoError(t, err)
	require.True(t, changed)
	r.requireEach(3)
}

// What an event says is what is sent, in the form of the specification.
func TestTheBody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bodies := make(chan map[string]any, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		bodies <- body
		if r.Header.Get("Content-Type") != "application/json" {
			t.Error(r.Header)
		}
	}))
	t.Cleanup(server.Close)
	_, err := b.As("").CreateWebhook(t.Context(), "studio", server.URL, []string{"drain.kept"})
	require.NoError(t, err)
	b.deliver()
	event, err := b.As("console:ada").TestWebhook(t.Context(), "studio")
	require.NoError(t, err)
	body := <-bodies
	require.Equal(t, "webhook.tested", body["type"])
	_, err = time.Parse(time.RFC3339Nano, body["timestamp"].(string))
	require.NoError(t, err)
	data := body["data"].(map[string]any)
	require.Equal(t, "console:ada", data["actor"])
	require.Equal(t, map[string]any{"webhook": "studio"}, data["detail"])
	cursor, ok := opsview.ParseEventCursor(data["cursor"].(string))
	require.True(t, ok)
	require.Equal(t, event, cursor)
}

// Pins a webhook with which somebody who may make one reaches what only the director should: what a list does not
// allow, metadata services however they are written, names that mean loopback, and where a redirect leads.
func TestNoWebhookReachesWhatTheListDoesNotAllow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var hits atomic.Int32
	inside := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.3:0") // not the address that is listed
	require.NoError(t, err)
	require.NoError(t, inside.Listener.Close())
	inside.Listener = listener
	inside.Start()
	t.Cleanup(inside.Close)
	outside := httptest.NewServer(http.RedirectHandler(inside.URL, http.StatusTemporaryRedirect))
	t.Cleanup(outside.Close)
	port := inside.URL[strings.LastIndexByte(inside.URL, ':'):]
	urls := map[string]string{
		"redirect": outside.URL, "neighbour": inside.URL, "mapped": "http://[::ffff:127.0.0.3]" + port,
		"decimal": "http://2130706435" + port,
		"short":   "http://127.3" + port, "translated": "http://[64:ff9b::7f00:3]" + port, "six": "http://[::1]" + port,
		"metadata": "http://169.254.169.254/latest", "metadata-mapped": "http://[::ffff:169.254.169.254]/",
		"unspecified": "http://0.0.0.0" + port,
	}
	for name, url := range urls {
		_, err := b.As("").CreateWebhook(t.Context(), name, url, []string{"session.*"})
		require.NoError(t, err)
	}
	b.deliver(func(o *webhooks.Options) { o.Hosts = []string{"127.0.0.1", "0.0.0.0/0", "::/0"} })
	b.happen(1, 1)
	b.Eventually(len(urls), "SELECT count(*) FROM ops.webhooks WHERE state = 'failing'")
	require.Zero(t, hits.Load())
	for name := range urls {
		require.NotContains(t, b.webhook(name).LastError, "//", "no URL")
	}
	require.Contains(t, b.webhook("redirect").LastError, "it answered 307")
	require.Contains(t, b.webhook("metadata").LastError, "DIRECTOR_WEBHOOK_HOSTS")
}

// A database that was restored from a dump of another server, which had counted further, goes on at the same event.
func TestARestoredDumpKeepsItsPlace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.receiver(nil)
	b.subscribe("studio", r, "session.*")
	stop := b.deliver()
	b.happen(1, 20)
	r.awaits(20)
	b.Eventually(20, "SELECT delivered FROM ops.webhooks")
	stop()
	b.happen(21, 40)
	const far = "(tx::text::bigint + 7000000000000)::text::xid8"
	b.Exec("UPDATE events SET tx = " + far)
	b.Exec("UPDATE webhook_progress SET tx = " + far)
	_, err := migrations.Up(t.Context(), b.URL, nil)
	require.NoError(t, err)
	b.deliver()
	b.happen(41, 60)
	r.requireEach(60)
}

func TestForgedURLsAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, url := range []string{
		"", "studio.example", "ftp://studio.example", "file:///etc/passwd", "http://", "http:///x",
		"https://me:secret@studio.example/",
		"http://studio.example#x", "http://studio.example/a b", "http://studio.example/\nx", "gopher://studio.example",
		"http://studio.example\\@inside/",
		"javascript:alert(1)", "http://studio.example/" + strings.Repeat("x", 2048),
	} {
		_, err := b.As("").CreateWebhook(t.Context(), "studio", url, []string{"*"})
		require.True(t, fault.Is(err, fault.Invalid), "%q: %v", url, err)
	}
	require.Zero(t, b.Count("SELECT count(*) FROM webhooks"))
	_, err := webhooks.New(webhooks.Options{Store: b.Store, Sealer: b.sealer, Hosts: []string{"http://studio.example"}})
	require.Error(t, err)
}

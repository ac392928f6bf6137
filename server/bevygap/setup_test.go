package bevygap

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/logtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/variant"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server/rest"
)

// world is a fake of the store: it has app versions and seats.
type world struct {
	mu       sync.Mutex
	offers   []db.Offer
	seats    int
	err      error // of every call
	outlook  fault.Outlook
	demand   map[string]db.Waiting
	ended    int
	givenUp  []string
	seated   []db.PlaceRequest
	connects []error // of the next calls of connect
	digest   string
	ip       string
	capacity chan struct{}
}

func (w *world) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// open adds seats and rings for them.
func (w *world) open(seats int) {
	w.change(func() { w.seats += seats })
	w.capacity <- struct{}{}
}

func (w *world) Offers(context.Context) ([]db.Offer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.offers, w.err
}

func (w *world) Place(_ context.Context, r db.PlaceRequest) (db.Placement, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return db.Placement{}, w.err
	case w.seats == 0:
		return db.Placement{}, &fault.Error{Kind: fault.NoCapacity, Code: "no_capacity"}
	}
	w.seats--
	w.seated = append(w.seated, r)
	delete(w.demand, r.Caller)
	return db.Placement{SessionID: r.Region + ".s", SessionHandle: r.Region + ".h", Region: r.Region, Mode: r.Mode}, nil
}

func (w *world) GiveUpSeat(_ context.Context, _, sub string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.givenUp = append(w.givenUp, sub)
	return nil
}

func (w *world) PutWaiting(_ context.Context, _ string, _ time.Duration,
	waiting []db.Waiting) ([]fault.Outlook, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return nil, w.err
	}
	for _, one := range waiting {
		w.demand[one.Player] = one
	}
	return []fault.Outlook{w.outlook}, nil
}

func (w *world) EndWaiting(_ context.Context, waiting []db.Waiting) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range waiting {
		delete(w.demand, one.Player)
		w.ended++
	}
	return nil
}

func (w *world) Subscribe(string, string) (wake <-chan struct{}, stop func()) {
	return w.capacity, func() {}
}

var tokenOfTests = bytes.Repeat([]byte{0xa5}, tokenBytes)

func (w *world) connect(context.Context, string, string) (Connection, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.connects) > 0 {
		err := w.connects[0]
		w.connects = w.connects[1:]
		return Connection{}, err
	}
	return Connection{tokenOfTests, 7, netip.MustParseAddr(w.ip), 31504, w.digest}, nil
}

// await waits until a condition on the world holds.
func (w *world) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return holds()
	}, 20*time.Second, 5*time.Millisecond, what)
}

// bundle is a face that serves on a port.
type bundle struct {
	*world

	t    *testing.T
	face *Face
	url  string // of the host, as in 127.0.0.1:1234
	log  *logtest.Buffer
}

func setup(t *testing.T, change ...func(*Options)) *bundle {
	t.Helper()
	b := &bundle{t: t, log: new(logtest.Buffer), world: &world{
		demand: map[string]db.Waiting{}, capacity: make(chan struct{}, 1), digest: "0a:1b:2c", ip: "192.0.2.7",
		offers: []db.Offer{
			{App: "my game", Version: "1.0", MaxPlayers: 8, Dialect: "lightyear-le", Regions: []db.OfferRegion{
				{Region: "eu", Modes: []string{"duel", "race"},
					Networks: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}},
				{Region: "us", Modes: []string{"duel"},
					Networks: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}},
			}},
			{App: "my game", Version: "0.9", MaxPlayers: 8, Dialect: "lightyear-le"},
			{App: "other", Version: "1", MaxPlayers: 8,
				Regions: []db.OfferRegion{{Region: "eu", Modes: []string{"other"}}}},
		},
	}}
	log := slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o := variant.Apply(Options{
		Store: b.world, ConnectSeat: b.connect, AllowsGuests: true,
		AllowsOrigin: func(origin string) bool { return origin == "https://play.example" },
		WaitLimit:    20 * time.Second, Log: log, PerAddress: 1000,
	}, change...)
	b.face = must.Get(New(o))(t)
	engine := must.Get(rest.New(rest.Options{Log: log}))(t)
	b.face.Mount(engine)
	server := httptest.NewUnstartedServer(engine)
	// requests must outlive both
	server.Config.ReadTimeout, server.Config.WriteTimeout = 200*time.Millisecond, 200*time.Millisecond
	server.Start()
	b.url = strings.TrimPrefix(server.URL, "http://")
	t.Cleanup(server.Close)
	background.Loop(t, b.face.Run)
	t.Cleanup(func() { require.NoError(t, b.face.Stop(context.Background())) })
	return b
}

// client is a bevygap client, as far as the wire shows it.
type client struct {
	t  *testing.T
	ws *websocket.Conn
}

func (b *bundle) dial(query string, headers http.Header) *client {
	b.t.Helper()
	ws, refused := webtest.DialWebSocket(b.t, "ws://"+b.url+"/matchmaker/ws"+query,
		&websocket.DialOptions{HTTPHeader: headers})
	require.NotNil(b.t, ws, "%v", refused)
	return &client{b.t, ws}
}

// ask dials and sends the request that bevygap's client sends.
func (b *bundle) ask(query string) *client {
	b.t.Helper()
	c := b.dial(query, nil)
	c.send(websocket.MessageText, `{"game":"my game","version":"1.0","client_ip":null}`)
	return c
}

func (c *client) send(kind websocket.MessageType, text string) {
	c.t.Helper()
	require.NoError(c.t, c.ws.Write(c.t.Context(), kind, []byte(text)))
}

func (c *client) read() string {
	c.t.Helper()
	kind, text, err := c.ws.Read(c.t.Context())
	require.NoError(c.t, err)
	require.Equal(c.t, websocket.MessageText, kind)
	return string(text)
}

// expect reads frames, and then the close frame.
func (c *client) expect(frames ...string) {
	c.t.Helper()
	for _, frame := range frames {
		require.Equal(c.t, frame, c.read())
	}
	_, _, err := c.ws.Read(c.t.Context())
	var closed websocket.CloseError
	require.ErrorAs(c.t, err, &closed)
	require.Equal(c.t, websocket.CloseError{Code: websocket.StatusNormalClosure, Reason: "Goodbye"}, closed)
}

// requireFrame compares bytes, which must be exact.
func requireFrame(t *testing.T, want, got string) {
	t.Helper()
	require.Equal(t, want, got)
}

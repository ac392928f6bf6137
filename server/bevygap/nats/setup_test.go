package nats

import (
	"context"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	client "github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/logtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/internal/testkit/variant"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/token"
)

const (
	patience = 20 * time.Second
	leaseTTL = 3 * time.Second // beats of a second
)

var digestOfTests = strings.Repeat("ab:", 31) + "cd"

// rig is a database with deployments, and replicas that serve their game servers.
type rig struct {
	*storetest.DB

	t      *testing.T
	sealer *token.Sealer
	log    *logtest.Buffer
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, sealer: keytest.Sealer(t, 7), log: &logtest.Buffer{}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(r.log.String())
		}
	})
	r.DB = storetest.New(t, func(c *db.Config) { c.Timing.LeaseTTL = leaseTTL })
	r.Exec(`INSERT INTO app_versions (app, version, provider, launch, ports, game_port, modes, capacity, max_players, dialect, protocol_id, digest_required, compat)
		VALUES ('ships', '1', 'process', 'ships', '[]', 'game', '{duel}', 64, 8, 'lightyear-le', '80085', true, 'bevygap')`)
	return r
}

// deploy inserts a deployment whose provider is ready.
func (r *rig) deploy() provision.Joining {
	r.t.Helper()
	id := uuid.New()
	r.Exec(`INSERT INTO deployments (region, id, app, version, provider, tag, phase, intent_at, ref, next_at, netcode_key, sealed_by, provider_ready_at, ip, ports)
		VALUES ('eu', $1, 'ships', '1', 'process', $2, 'starting', now(), $2, NULL, 'key', 'kek', now(), '192.0.2.7',
			'{"game": {"name": "game", "internal": 7000, "external": 31504, "protocol": "udp"}}')`, id, id.String()[:20])
	return provision.Joining{Region: "eu", ID: id}
}

func (r *rig) password(of provision.Joining) string {
	return string(r.sealer.ServerTokens().Token(token.ForFleet,
		token.Deployment{Region: of.Region, ID: of.ID.String()}))
}

// replica starts a server.
func (r *rig) replica(change ...func(*Options)) *Server {
	r.t.Helper()
	o := variant.Apply(Options{Store: r.Store, ServerTokens: r.sealer.ServerTokens(), Addr: "127.0.0.1:0",
		Log: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, change...)
	s := must.Get(New(o))(r.t)
	require.NoError(r.t, s.Listen(r.t.Context()))
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	r.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(r.t, s.Stop(ctx))
		require.NoError(r.t, <-served)
	})
	return s
}

// plugin is a game server with bevygap's plugin, as far as NATS is concerned.
type plugin struct {
	t                              *testing.T
	conn                           *client.Conn
	js                             client.JetStreamContext
	closed                         chan struct{}
	errors                         chan error
	sessions, connections, digests client.KeyValue
}

// connect connects a game server of a deployment, as the plugin does.
func (r *rig) connect(of provision.Joining, servers ...*Server) *plugin {
	r.t.Helper()
	p := must.Get(r.dial(of.ID.String(), r.password(of), servers...))(r.t)
	bucket := func(name string) client.KeyValue {
		return must.Get(p.js.CreateKeyValue(&client.KeyValueConfig{Bucket: name, MaxValueSize: 1024}))(r.t)
	}
	bucket("sessions_eg2ly")
	bucket("unclaimed_sessions")
	p.sessions, p.connections, p.digests = bucket("sessions_ly2eg"), bucket("active_connections"), bucket("cert_digests")
	must.Get(p.js.AddStream(&client.StreamConfig{Name: "DELETE_SESSION_STREAM", Retention: client.WorkQueuePolicy,
		Subjects: []string{"edgegap_delete_session_q.*"}}))(r.t)
	return p
}

func (r *rig) dial(user, password string, servers ...*Server) (*plugin, error) {
	p := &plugin{t: r.t, closed: make(chan struct{}), errors: make(chan error, 64)}
	urls := make([]string, len(servers))
	for i, s := range servers {
		urls[i] = "nats://" + s.Addr().String()
	}
	var err error
	p.conn, err = client.Connect(strings.Join(urls, ","), client.UserInfo(user, password),
		client.Name("bevygap_server_plugin"), client.MaxReconnects(10),
		client.ReconnectWait(50*time.Millisecond), client.DontRandomize(), client.Timeout(patience),
		client.ClosedHandler(func(*client.Conn) { close(p.closed) }),
		client.ErrorHandler(func(_ *client.Conn, _ *client.Subscription, err error) {
			select {
			case p.errors <- err:
			default:
			}
		}))
	if err != nil {
		return nil, err
	}
	r.t.Cleanup(p.conn.Close)
	p.js, err = p.conn.JetStream(client.MaxWait(patience))
	return p, err
}

func (p *plugin) reportDigest() {
	p.t.Helper()
	must.Get(p.digests.PutString("192.0.2.7", digestOfTests))(p.t)
	require.NoError(p.t, p.conn.Publish("gameserver.contexts", []byte("{}")))
}

// session is what the plugin reads when a client connects.
func (p *plugin) session(id uint64) string {
	p.t.Helper()
	entry := must.Get(p.sessions.Get(strconv.FormatUint(id, 10)))(p.t)
	require.Equal(p.t, client.KeyValuePut, entry.Operation())
	return string(entry.Value())
}

// join is what the plugin does when a client connects.
func (p *plugin) join(id uint64) (key string) {
	p.t.Helper()
	key = p.session(id)
	must.Get(p.connections.PutString(key, strconv.FormatUint(id, 10)))(p.t)
	return key
}

// player seats a player on the game servers of a region, and returns the client id of its token.
func (r *rig) player(sub string) uint64 {
	r.t.Helper()
	placed := must.Get(r.Place(r.t.Context(),
		db.PlaceRequest{Caller: sub, Region: "eu", Mode: "duel", MaxPlayers: 8, Party: []string{sub}}))(r.t)
	seat := must.Get(r.Resolve(r.t.Context(), placed.SessionHandle, sub))(r.t)
	return seat.NetcodeSeat.ClientID
}

func (r *rig) connected() []string {
	r.t.Helper()
	return storetest.Values[string](r.DB, `SELECT sub FROM seats WHERE state = 'connected' ORDER BY sub`)
}

func (r *rig) incarnation(of provision.Joining) string {
	r.t.Helper()
	return storetest.One[string](r.DB, `SELECT incarnation::text FROM instances WHERE id = $1`, of.ID.String())
}

// moody is a store whose database can be away.
type moody struct {
	Store

	away  atomic.Bool
	calls atomic.Int64 // refused because of that
}

func (m *moody) refusal() error {
	if !m.away.Load() {
		return nil
	}
	m.calls.Add(1)
	return &fault.Error{Kind: fault.Unavailable, Code: "unavailable", Detail: "away"}
}

func (m *moody) FindDeployedServer(ctx context.Context, of provision.Joining) (db.DeployedServer, error) {
	if err := m.refusal(); err != nil {
		return db.DeployedServer{}, err
	}
	return m.Store.FindDeployedServer(ctx, of)
}

func (m *moody) Register(ctx context.Context, r db.Registration) (db.Registered, error) {
	if err := m.refusal(); err != nil {
		return db.Registered{}, err
	}
	return m.Store.Register(ctx, r)
}

func (m *moody) ClientSession(ctx context.Context, of provision.Joining, id uint64) (string, error) {
	if err := m.refusal(); err != nil {
		return "", err
	}
	return m.Store.ClientSession(ctx, of, id)
}

func (m *moody) ReportClients(ctx context.Context, l db.ClientList) (db.ClientListResult, error) {
	if err := m.refusal(); err != nil {
		return db.ClientListResult{}, err
	}
	return m.Store.ReportClients(ctx, l)
}

// wire is a connection without a client library.
type wire struct {
	net.Conn

	t *testing.T
}

// open connects and sends a text after INFO has come.
func (r *rig) open(s *Server, text string) *wire {
	r.t.Helper()
	conn := webtest.Dial(r.t, s.Addr().String())
	require.NoError(r.t, conn.SetDeadline(time.Now().Add(patience)))
	w := &wire{conn, r.t}
	require.True(r.t, strings.HasPrefix(w.line(), "INFO {"))
	must.Get(w.Write([]byte(text)))(r.t)
	return w
}

// line reads a line, byte by byte.
func (w *wire) line() string {
	var text strings.Builder
	for b := make([]byte, 1); ; {
		if _, err := w.Read(b); err != nil {
			return text.String()
		}
		text.Write(b)
		if b[0] == '\n' {
			return text.String()
		}
	}
}

// rest reads until the connection ends.
func (w *wire) rest() (text string) {
	for {
		line := w.line()
		if line == "" {
			return text
		}
		text += line
	}
}

// hello is what a client of a deployment sends first.
func (r *rig) hello(of provision.Joining) string {
	return `CONNECT {"user":"` + of.ID.String() + `","pass":"` + r.password(of) + `","headers":true}` + "\r\nPING\r\n"
}

// blank is a store in which everybody has a session.
type blank struct{ Store }

func (blank) Register(context.Context, db.Registration) (db.Registered, error) {
	return db.Registered{Incarnation: uuid.New()}, nil
}
func (blank) ConnectedClients(context.Context, string) ([]uint64, error) { return nil, nil }
func (blank) ClientSession(context.Context, provision.Joining, uint64) (string, error) {
	return "eu.s", nil
}
func (blank) ReportClients(context.Context, db.ClientList) (db.ClientListResult, error) {
	return db.ClientListResult{IsApplied: true}, nil
}

// hanging is a store whose calls do not return until their time is over.
type hanging struct{ Store }

func hang(ctx context.Context) error {
	<-ctx.Done()
	return fault.NewUnavailable("the database hangs", ctx.Err())
}

func (hanging) Register(ctx context.Context, _ db.Registration) (db.Registered, error) {
	return db.Registered{}, hang(ctx)
}
func (hanging) ClientSession(ctx context.Context, _ provision.Joining, _ uint64) (string, error) {
	return "", hang(ctx)
}
func (hanging) ReportClients(ctx context.Context, _ db.ClientList) (db.ClientListResult, error) {
	return db.ClientListResult{}, hang(ctx)
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

package nats

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	client "github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/await"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// A whole day of a game server with bevygap's plugin, as its calls come: buckets, digest, clients that come and go.
func TestAGameServerOfBevygap(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	of := r.deploy()
	p := r.connect(of, r.replica())
	require.Equal(t, 0, r.Count("SELECT count(*) FROM deployments WHERE phase = 'ready'"), "no digest, no players")
	p.reportDigest()
	require.Equal(t, digestOfTests, storetest.One[string](r.DB, "SELECT cert_digest FROM deployments WHERE phase = 'ready'"))
	require.Equal(t, "192.0.2.7:31504", storetest.One[string](r.DB, "SELECT endpoint FROM instances"))

	ann, bob := r.player("ann"), r.player("bob")
	annsKey := p.join(ann)
	require.Contains(t, annsKey, storetest.One[string](r.DB, "SELECT id::text FROM sessions"))
	require.Equal(t, []string{"ann"}, r.connected())
	bobsKey := p.join(bob)
	require.NotEqual(t, annsKey, bobsKey, "the plugin deletes by the key alone")
	require.Equal(t, []string{"ann", "bob"}, r.connected())
	kept, err := p.connections.Get(annsKey)
	require.NoError(t, err)
	require.Equal(t, strconv.FormatUint(ann, 10), string(kept.Value()))

	require.NoError(t, p.connections.Delete(annsKey))
	require.Equal(t, []string{"bob"}, r.connected())
	_, err = p.connections.Get(annsKey)
	require.ErrorIs(t, err, client.ErrKeyNotFound)
	_, err = p.js.Publish("edgegap_delete_session_q."+strconv.FormatUint(bob, 10), []byte("x"))
	require.NoError(t, err)
	require.Empty(t, r.connected())
	r.RequireInvariants()
	require.NotContains(t, r.log.String(), r.password(of))
}

// The plugin panics, with everybody on it, when a client has no session.
func TestAnUnknownClientHasAName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.connect(r.deploy(), r.replica())
	p.reportDigest()
	ann := r.player("ann")
	p.join(ann)
	require.Equal(t, "unknown.7", p.session(7))
	require.Equal(t, "unknown.7", p.join(7))
	require.Equal(t, []string{"ann"}, r.connected())
	require.NoError(t, p.connections.Delete("unknown.7"))
	require.Equal(t, []string{"ann"}, r.connected())

	other := r.connect(r.deploy(), r.replica())
	require.Equal(t, connectionKey("unknown", ann), other.session(ann), "the token is for another game server")
}

// What is not the plugin's is refused with words, and nothing of it is stored.
func TestWhatTheFaceDoesNotServe(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.connect(r.deploy(), r.replica())
	_, err := p.js.CreateKeyValue(&client.KeyValueConfig{Bucket: "mine"})
	require.ErrorContains(t, err, "the streams of bevygap's plugin")
	_, err = p.js.StreamInfo("mine")
	require.ErrorIs(t, err, client.ErrStreamNotFound)
	_, err = p.conn.Request("a.service", nil, patience)
	require.ErrorIs(t, err, client.ErrNoResponders)
	_, err = p.sessions.PutString("7", "mine")
	require.ErrorContains(t, err, "the streams of bevygap's plugin")
	_, err = p.connections.PutString("no-client", "7")
	require.ErrorContains(t, err, "ends with .<client id>")
	_, err = p.connections.Create("eu.7", []byte("7"))
	require.ErrorContains(t, err, "wrong last sequence")
	_, err = p.digests.PutString("192.0.2.7", "no digest")
	require.ErrorContains(t, err, "SHA-256")
	_, err = p.digests.Get("192.0.2.7")
	require.ErrorIs(t, err, client.ErrKeyNotFound)
	_, err = p.sessions.Get("not.a.number")
	require.ErrorIs(t, err, client.ErrKeyNotFound)
	_, err = p.sessions.Watch("7")
	require.Error(t, err)
	require.True(t, p.conn.IsConnected())
}

// Pins a reconnect that would free the seats of everybody whom another replica has acknowledged, or take the game
// server for one that has restarted.
func TestAGameServerGoesOnAtAnotherReplica(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	of := r.deploy()
	first, second := r.replica(), r.replica()
	p := r.connect(of, first, second)
	p.reportDigest()
	ann, bob := r.player("ann"), r.player("bob")
	key := p.join(ann)
	before := r.incarnation(of)

	reconnected := make(chan struct{})
	p.conn.SetReconnectHandler(func(*client.Conn) { close(reconnected) })
	killed, cancel := context.WithCancel(t.Context())
	cancel()
	_ = first.Stop(killed) // it cuts the connections
	await.Value(t, reconnected, "a connection to the other replica")
	require.Equal(t, second.Addr().String(), p.conn.ConnectedAddr())
	p.join(bob)
	require.Equal(t, []string{"ann", "bob"}, r.connected())
	require.Equal(t, before, r.incarnation(of))
	require.Equal(t, digestOfTests, storetest.One[string](r.DB, "SELECT cert_digest FROM deployments WHERE phase = 'ready'"), "it is not told again")
	require.NoError(t, p.connections.Delete(key))
	require.Equal(t, []string{"bob"}, r.connected())
	r.RequireInvariants()
}

// A process that has restarted knows nobody: its sessions end.
func TestARestartIsANewIncarnation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	of, s := r.deploy(), r.replica()
	p := r.connect(of, s)
	p.reportDigest()
	p.join(r.player("ann"))
	before := r.incarnation(of)
	p.conn.Close()
	again := r.connect(of, s)
	again.reportDigest()
	require.NotEqual(t, before, r.incarnation(of))
	require.Empty(t, r.connected())
	r.RequireInvariants()
}

// The lease is renewed while the game server answers, and a half-open connection renews nothing.
func TestTheConnectionIsTheLease(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	of, s := r.deploy(), r.replica()
	w := r.open(s, r.hello(of)+"SUB _INBOX.a.* 1\r\n")
	r.Await("SELECT EXISTS (SELECT FROM instance_leases WHERE instance_id = $1)", of.ID.String())
	first := storetest.One[time.Time](r.DB, "SELECT heartbeat_at FROM instance_leases")
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for range 6 {
			if w.line() == "PING\r\n" {
				_, _ = w.Write([]byte("PONG\r\n"))
			}
		}
	}()
	r.Await("SELECT heartbeat_at > $1 FROM instance_leases", first)
	await.Value(t, answered, "the pings")
	require.Contains(t, w.rest(), "Stale Connection", "it does not answer any more")
	require.True(t, storetest.One[bool](r.DB, "SELECT heartbeat_at < now() - interval '1 second' FROM instance_leases"))
}

// A deployment that is over ends its connection, and its credential opens no other: neither does any other secret.
func TestCredentials(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	of, other, s := r.deploy(), r.deploy(), r.replica()
	password := r.password(of)
	for name, c := range map[string][2]string{
		"none": {"", ""}, "no password": {of.ID.String(), ""}, "wrong": {of.ID.String(), password[:len(password)-1]}, "of another": {other.ID.String(), password},
		"no user": {"", password}, "unknown deployment": {uuid.NewString(), password}, "in capitals": {of.ID.String(), password + " "},
	} {
		_, err := r.dial(c[0], c[1], s)
		require.ErrorIs(t, err, client.ErrAuthorization, name)
	}
	p := r.connect(of, s)
	r.Exec("UPDATE deployments SET desired = 'stopped', phase = 'stopping' WHERE id = $1", of.ID)
	r.Exec("DELETE FROM instance_leases WHERE instance_id = $1", of.ID.String())
	await.Value(t, p.closed, "the end of the connection")
	require.ErrorIs(t, p.conn.LastError(), client.ErrAuthorization)
	_, err := r.dial(of.ID.String(), password, s)
	require.ErrorIs(t, err, client.ErrAuthorization)
	require.NotContains(t, r.log.String(), password)
	require.NotContains(t, r.log.String(), "level=ERROR")
}

// Pins a game server that renews its lease for ever in a region that another cell serves, and one that connects again and
// again.
func TestAGameServerWhoseRegionIsElsewhereIsSentAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	of, s := r.deploy(), r.replica()
	p := r.connect(of, s)
	act := r.As("console:ada").Because("it moves")
	must.Get(act.SetCell(t.Context(), db.OtherCell{Name: "eu", APIAddress: "https://eu.example",
		ServedRegions: []string{"eu"}, EvenIfUsed: true}))(t)
	require.NoError(t, r.ReadCells(t.Context()))
	await.Value(t, p.closed, "the end of the connection")
	require.ErrorIs(t, p.conn.LastError(), client.ErrAuthorization)
	_, err := r.dial(of.ID.String(), r.password(of), s)
	require.ErrorIs(t, err, client.ErrAuthorization)
}

// An address that sends wrong credentials gets no answers any more, and a game server behind it still does.
func TestWrongCredentialsAreThrottled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	of, s := r.deploy(), r.replica(func(o *Options) { o.FailureRate.PerSecond, o.FailureRate.Burst = .001, 2 })
	wrong := `CONNECT {"user":"a","pass":"b"}` + "\r\nPING\r\n"
	for range 2 {
		require.Equal(t, "-ERR 'Authorization Violation'\r\n", r.open(s, wrong).rest())
	}
	require.Empty(t, r.open(s, wrong).rest())
	r.connect(of, s)
}

// The plugin demands TLS unless it is told otherwise.
func TestTLS(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	of := r.deploy()
	web := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer web.Close()
	roots := web.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	s := r.replica(func(o *Options) { o.TLS = &tls.Config{Certificates: web.TLS.Certificates} })
	conn, err := client.Connect("tls://"+s.Addr().String(), client.UserInfo(of.ID.String(), r.password(of)),
		client.Secure(&tls.Config{RootCAs: roots, ServerName: "example.com"}), client.Timeout(patience))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.Flush())
	// What comes in plain text is no handshake, and is never taken for what comes after it.
	require.NotContains(t, r.open(s, r.hello(of)).rest(), "PONG")
}

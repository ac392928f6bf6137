package nats

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Before anybody is authenticated: everything must arrive in time, and be the beginning of a connection.
func TestHandshakesAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.replica(func(o *Options) { o.shakeHandsWithin = 500 * time.Millisecond })
	hello := r.hello(r.deploy())
	for name, c := range map[string]struct{ sent, got string }{
		"nothing": {"", ""}, "half a line": {"CONNECT {", ""},
		"an operation before": {"PING\r\n" + hello, "-ERR 'Authorization Violation'\r\n"},
		"a request of HTTP":   {"GET / HTTP/1.1\r\n\r\n", ""},
		"no JSON":             {"CONNECT nothing\r\n", "-ERR 'Authorization Violation'\r\n"},
		"a publication":       {"PUB a 1\r\nx\r\n", "-ERR 'Authorization Violation'\r\n"},
		"a long line":         {strings.Repeat("x", maxLine), ""},
		"another type":        {`CONNECT {"user":7}` + "\r\n", "-ERR 'Authorization Violation'\r\n"},
	} {
		require.Equal(t, c.got, r.open(s, c.sent).rest(), name)
	}
	slow := r.open(s, "")
	for i := range hello {
		if _, err := slow.Write([]byte{hello[i]}); err != nil {
			break
		}
		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // the pace of the slow client
	}
	require.Empty(t, slow.rest(), "byte by byte")
	require.EqualValues(t, 0, s.serverSlots.Count())
	require.Eventually(t, func() bool { return s.handshakeSlots.Count() == 0 && s.refusalSlots.Count() == 0 }, patience,
		5*time.Millisecond)
}

// After it: each operation is bounded, and a client that breaks the protocol is told why.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s, of := r.replica(), r.deploy()
	many := ""
	for i := range maxSubscriptions + 1 {
		many += fmt.Sprintf("SUB a %d\r\n", i)
	}
	for sent, got := range map[string]string{
		strings.Repeat("x", maxLine): "Maximum Control Line Exceeded", "PUB a 65537\r\n": "Maximum Payload Violation",
		"PUB a 999999999\r\n": "Maximum Payload Violation",
		many:                  "maximum subscriptions exceeded", "HELLO\r\n": "Unknown Protocol Operation",
		"SUB\r\n":            "Parser Error",
		"PUB a 1\r\nxyz\r\n": "Parser Error",
	} {
		require.Equal(t, "PONG\r\n-ERR '"+got+"'\r\n", r.open(s, r.hello(of)+sent).rest(), "%.40q", sent)
	}
	half := r.open(s, r.hello(of)+"PUB a 100\r\n")
	go func() { // a byte each 100 ms: the payload must arrive whole in time
		for {
			if _, err := half.Write([]byte("x")); err != nil {
				return
			}
			time.Sleep(100 * time.Millisecond) //nolint:forbidigo // the pace of the slow client
		}
	}()
	require.Contains(t, half.rest(), "Stale Connection")
}

// A client that does not read what it asks for is ended, and nothing is stored for it.
func TestASlowReaderIsEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.replica()
	w := r.open(s, r.hello(r.deploy())+"SUB _INBOX.a.* 1\r\n")
	require.NoError(t, w.SetDeadline(time.Now().Add(2*patience)))
	ask := strings.Repeat("PUB $JS.API.STREAM.INFO.KV_sessions_ly2eg _INBOX.a.b 0\r\n\r\n", 1000)
	for {
		if _, err := w.Write([]byte(ask)); err != nil {
			break
		}
	}
	require.Eventually(t, func() bool { return s.serverSlots.Count() == 0 }, patience, 5*time.Millisecond)
}

// A replica has so many places, and says so.
func TestAReplicaIsFull(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.replica(func(o *Options) { o.MaxServers = 1 })
	p := r.connect(r.deploy(), s)
	require.Equal(t, "-ERR 'maximum connections exceeded'\r\n", r.open(s, r.hello(r.deploy())).rest())
	p.conn.Close()
	require.Eventually(t, func() bool { return s.serverSlots.Count() == 0 }, patience, 5*time.Millisecond)
	r.connect(r.deploy(), s)
}

// One credential does not take the places of all others.
func TestConnectionsOfADeploymentAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s, of := r.replica(), r.deploy()
	var open []*wire
	for range maxPerDeployment {
		w := r.open(s, r.hello(of))
		require.Equal(t, "PONG\r\n", w.line())
		open = append(open, w)
	}
	require.Equal(t, "-ERR 'maximum connections exceeded'\r\n", r.open(s, r.hello(of)).rest())
	require.Equal(t, "PONG\r\n", r.open(s, r.hello(r.deploy())).line(), "another deployment")
	require.NoError(t, open[0].Close())
	require.Eventually(t, func() bool { return s.serverSlots.Count() == maxPerDeployment }, patience,
		5*time.Millisecond)
	require.Equal(t, "PONG\r\n", r.open(s, r.hello(of)).line())
}

// While the database is away the plugin must not see an error: it would panic, with everybody on it.
func TestTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	of := r.deploy()
	store := &moody{Store: r.Store}
	s := r.replica(func(o *Options) { o.Store, o.holdWrite = store, 200*time.Millisecond })
	p := r.connect(of, s)
	p.reportDigest()
	r.Await("SELECT EXISTS (SELECT FROM deployments WHERE phase = 'ready')") // a write may be acknowledged before it is stored
	ann := r.player("ann")

	back := func() { // once a call has been refused
		store.calls.Store(0)
		require.Eventually(t, func() bool { return store.calls.Load() > 0 }, patience, time.Millisecond)
		store.away.Store(false)
	}
	store.away.Store(true)
	go back()
	key := p.session(ann)
	require.Contains(t, key, storetest.One[string](r.DB, "SELECT id::text FROM sessions"), "the look-up has waited")

	store.away.Store(true)
	_, err := p.connections.PutString(key, "x")
	require.NoError(t, err, "acknowledged, and stored later")
	require.Empty(t, r.connected())
	store.away.Store(false)
	r.Eventually(1, "SELECT count(*) FROM seats WHERE state = 'connected' AND sub = 'ann'")

	store.away.Store(true)
	go back()
	second, err := r.dial(of.ID.String(), r.password(of), s)
	require.NoError(t, err, "a new connection waits as well")
	second.conn.Close()
}

// When the look-up has waited as long as the plugin does, the client gets a name, and the list decides later.
func TestTheDatabaseStaysAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	store := &moody{Store: r.Store}
	s := r.replica(func(o *Options) { o.Store, o.holdRead, o.holdWrite = store, 300*time.Millisecond, 100*time.Millisecond })
	p := r.connect(r.deploy(), s)
	p.reportDigest()
	r.Await("SELECT EXISTS (SELECT FROM deployments WHERE phase = 'ready')") // a write may be acknowledged before it is stored
	ann := r.player("ann")
	store.away.Store(true)
	require.Equal(t, connectionKey(unverifiedSession, ann), p.join(ann))
	require.Empty(t, r.open(s, r.hello(r.deploy())).rest(), "it connects again, elsewhere")
	store.away.Store(false)
	r.Eventually(1, "SELECT count(*) FROM seats WHERE state = 'connected' AND sub = 'ann'")
}

// Pins an answer that came after the plugin had given up, and panicked: a call that hangs held up the one behind it,
// which then began to count its own time. While the database hangs, each look-up is answered within holdRead, each
// write within holdWrite, whatever else is under way for the same game server.
func TestADatabaseThatHangsDelaysNoAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, err := Options{Store: hanging{}, ServerTokens: keytest.Sealer(t, 7).ServerTokens()}.withDefaults()
		require.NoError(t, err)
		g := newGameServer(o, newMetrics(func() float64 { return 0 }), provision.Joining{Region: "eu"},
			db.DeployedServer{}, quiet())
		g.beginProcess("boot")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { // as a connection does
			for ctx.Err() == nil {
				_ = g.renewAndStore(ctx)
			}
		}()
		for _, c := range []struct {
			subject string
			within  time.Duration
		}{
			{"$KV.active_connections.eu.s.7", o.holdWrite}, {"$KV.cert_digests.192.0.2.7", o.holdWrite},
			{"edgegap_delete_session_q.7", o.holdWrite},
			{"$JS.API.DIRECT.GET.KV_sessions_ly2eg.$KV.sessions_ly2eg.7", o.holdRead},
		} {
			for range 3 {
				began := time.Now()
				require.True(t, g.hasBegun())
				_, err := g.answerRequest(ctx,
					operation{verb: opPub, subject: c.subject, replySubject: "a", payload: []byte(digestOfTests)},
					began)
				require.NoError(t, err)
				require.LessOrEqual(t, time.Since(began), c.within, c.subject)
			}
		}
	})
}

// A game server has at most as many clients as a list over HTTP.
func TestClientsAreBounded(t *testing.T) {
	t.Parallel()
	g := &gameServer{clientIsHere: map[uint64]bool{}}
	for id := range uint64(maxClients) {
		require.True(t, g.changeClient(id+1, true))
	}
	require.False(t, g.changeClient(maxClients+1, true))
	require.True(t, g.changeClient(1, true), "it is one of them")
	require.True(t, g.changeClient(2, false))
}

func FuzzConnection(f *testing.F) {
	for _, text := range []string{"SUB _INBOX.a.* 1\r\nPUB $JS.API.STREAM.CREATE.KV_cert_digests _INBOX.a.1 2\r\n{}\r\n",
		"SUB _INBOX.a.* 1\r\nPUB $KV.active_connections.eu.7 _INBOX.a.1 1\r\n7\r\nHPUB $KV.active_connections.eu.7 _INBOX.a.2 31 31\r\nNATS/1.0\r\nKV-Operation: DEL\r\n\r\n\r\n",
		"SUB _INBOX.a.* 1\r\nPUB $JS.API.DIRECT.GET.KV_sessions_ly2eg.$KV.sessions_ly2eg.7 _INBOX.a.1 0\r\n\r\n",
		"UNSUB 1\r\nPUB $KV. a 0\r\n\r\n",
		"SUB _INBOX.> 1\r\nPUB $JS.API.STREAM.INFO. _INBOX.a 0\r\n\r\nPUB edgegap_delete_session_q.7 _INBOX.b 0\r\n\r\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o := Options{Store: blank{}, holdRead: time.Second, holdWrite: time.Second}
		g := newGameServer(o, newMetrics(func() float64 { return 0 }), provision.Joining{Region: "eu"},
			db.DeployedServer{}, quiet())
		g.beginProcess("boot")
		receivers := subscriptions{}
		ops, _ := readAll(text)
		for _, op := range ops {
			if op.verb == opSub && !receivers.addPattern(op.sid, op.subject) {
				return
			}
			if op.verb != opPub && op.verb != opHPub {
				continue
			}
			answer, err := g.answerRequest(t.Context(), op, time.Now())
			require.NoError(t, err)
			sent := answer.encodeFor("a", "1")
			require.True(t, strings.HasPrefix(string(sent), "MSG a 1 ") || strings.HasPrefix(string(sent), "HMSG a 1 "))
			require.Less(t, len(sent), maxPayload)
			require.LessOrEqual(t, len(g.clientIsHere), maxClients)
		}
	})
}

package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server/bevygap"
	"github.com/lattice-director/director/token/netcode"
)

// The frames are tested in package bevygap, many clients and killed replicas in test/faults. These tests cover what the
// replica adds.

func guests(c *config) {
	c.Bevygap = &bevygap.Options{AllowsGuests: true, PerAddress: 1000}
}

// deployServer adds a server of a pool of an app that clients ask for.
func (b *bundle) deployServer() {
	b.t.Helper()
	b.deployNetcode("my game", 2, netcode.LightyearLE, "7")
	b.addPool("my game", "duel")
}

// askBevygap returns the frames of a conversation, after the answer to its handshake.
func (b *bundle) askBevygap(query string, header http.Header) (frames []string, handshake webtest.Answer) {
	b.t.Helper()
	ws, handshake := webtest.DialWebSocket(b.t, "ws://"+b.server.Addr().String()+"/matchmaker/ws"+query, &websocket.DialOptions{HTTPHeader: header})
	if ws == nil {
		return nil, handshake
	}
	err := ws.Write(b.t.Context(), websocket.MessageText, []byte(`{"game":"my game","version":"1","client_ip":null}`))
	for err == nil {
		var text []byte
		if _, text, err = ws.Read(b.t.Context()); err == nil {
			frames = append(frames, string(text))
		}
	}
	require.Equal(b.t, websocket.StatusNormalClosure, websocket.CloseStatus(err), "%v", err)
	return frames, handshake
}

func TestABevygapClientGetsASeatAndAToken(t *testing.T) {
	t.Parallel()
	b := setup(t, guests)
	b.deployServer()
	guest, _ := b.askBevygap("", nil)
	player, _ := b.askBevygap("?access_token="+b.issuer.Token(fields{"sub": "ann"}), nil)
	for _, frames := range [][]string{guest, player} {
		require.Len(t, frames, 3)
		require.Equal(t, `"Acknowledged"`, frames[0])
		require.Regexp(t, `^{"SessionRequestAccepted":"eu\.[0-9a-f-]{36}"}$`, frames[1])
		require.Regexp(t, `^{"SessionReady":{"token":"[A-Za-z0-9+/]+=","ip":"192\.0\.2\.7","port":31504,"cert_digest":"","client_id":"[1-9][0-9]*"}}$`, frames[2])
		text, _, _ := strings.Cut(frames[2][len(`{"SessionReady":{"token":"`):], `"`)
		require.Len(t, text, 2732)
		require.NotContains(t, b.log.String(), frames[2][30:90], "no token is in the log")
	}
	require.Equal(t, 1, b.store.Count("SELECT count(*) FROM seats WHERE sub = 'ann'"))
	require.Equal(t, 1, b.store.Count("SELECT count(*) FROM seats WHERE sub LIKE 'guest:%'"))
	wrong, _ := b.askBevygap("?access_token=wrong", nil)
	require.Contains(t, wrong[1], `{"Error":[401,"the access token was refused"]}`)
}

// Players wait without a server: their socket outlives the deadlines of calls, and ends with a frame when the replica
// stops.
func TestAStoppingReplicaEndsBevygapClients(t *testing.T) {
	t.Parallel()
	b := setup(t, guests)
	b.addApp("my game", "duel", 2, netcode.LightyearLE, "7")
	b.addPool("my game", "duel")
	got := make(chan []string, 1)
	go func() {
		frames, _ := b.askBevygap("", nil)
		got <- frames
	}()
	require.Eventually(t, func() bool { return b.store.Count("SELECT count(*) FROM demand WHERE source = 'bevygap'") == 1 }, wait, tick)
	b.stop()
	frames := <-got
	require.Contains(t, frames[len(frames)-1], `{"Error":[503,"this replica stops: ask again"]}`)
	require.Zero(t, b.store.Count("SELECT count(*) FROM demand"))
}

// The replica strips Origins of pages that are not listed; this face must see and refuse them.
func TestOriginsOfBevygapClients(t *testing.T) {
	t.Parallel()
	for _, listed := range [][]string{nil, {"https://play.example"}} {
		b := setup(t, guests, func(c *config) { c.CORSOrigins = listed })
		b.deployServer()
		_, evil := b.askBevygap("", http.Header{"Origin": {"https://evil.example"}})
		require.Equal(t, http.StatusForbidden, evil.Status)
		frames, _ := b.askBevygap("", http.Header{"Origin": {"https://play.example"}})
		require.Equal(t, listed == nil, len(frames) == 0)
	}
}

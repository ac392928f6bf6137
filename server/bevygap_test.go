package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/bevygap"
	"github.com/lattice-director/director/token"
	"github.com/lattice-director/director/token/netcode"
)

// The frames are tested in package bevygap, many clients and killed replicas in test/faults. These tests cover what the
// replica adds.

func guests(c *config) {
	c.Bevygap = &bevygap.Options{AllowsGuests: true, PerAddress: 1000}
}

// deployServer adds a pool with one server that takes players.
func (b *bundle) deployServer(capacity int) {
	b.t.Helper()
	b.store.Exec(`INSERT INTO app_versions (app, version, provider, launch, ports, game_port, modes, capacity, max_players, dialect, protocol_id)
		VALUES ('my game', '1', 'manual', 'none', '[]', 'game', '{duel}', 100, 2, 'lightyear-le', '7')`)
	b.store.Exec(`INSERT INTO pools (region, app, version, max_servers) VALUES ('eu', 'my game', '1', 10)`)
	b.store.Exec(`INSERT INTO pool_modes (region, mode, app, version) VALUES ('eu', 'duel', 'my game', '1')`)
	if capacity == 0 {
		return
	}
	id := uuid.New()
	sealed, by := b.sealer.SealSecret(token.PurposeNetcode, "eu", id.String(), netcode.NewKey().Secret())
	b.register(id.String())
	b.store.Exec(`INSERT INTO deployments (region, id, app, version, provider, tag, phase, intent_at, ref, ip, ports, endpoint, netcode_key, sealed_by, incarnation, next_at)
		SELECT 'eu', $1, 'my game', '1', 'manual', left($1::uuid::text, 20), 'ready', now(), 'ref', '192.0.2.7',
			'{"game": {"name": "game", "internal": 6420, "external": 31504, "protocol": "udp"}}', '192.0.2.7:31504', $2, $3, incarnation, NULL
		FROM instances WHERE id = $1::uuid::text`, id, sealed, by)
	b.store.Exec(`UPDATE instances SET deployment_id = $1 WHERE id = $1::uuid::text`, id)
}

func (b *bundle) askBevygap(query string, header http.Header) (frames []string, err error) {
	b.t.Helper()
	url := "ws://" + b.server.Addr().String() + "/matchmaker/ws" + query
	ws, response, err := websocket.Dial(b.t.Context(), url, &websocket.DialOptions{HTTPHeader: header})
	if response != nil && response.Body != nil {
		defer func() { _ = response.Body.Close() }()
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = ws.CloseNow() }()
	err = ws.Write(b.t.Context(), websocket.MessageText, []byte(`{"game":"my game","version":"1","client_ip":null}`))
	for err == nil {
		var text []byte
		if _, text, err = ws.Read(b.t.Context()); err == nil {
			frames = append(frames, string(text))
		}
	}
	require.Equal(b.t, websocket.StatusNormalClosure, websocket.CloseStatus(err), "%v", err)
	return frames, nil
}

func TestABevygapClientGetsASeatAndAToken(t *testing.T) {
	t.Parallel()
	b := setup(t, guests)
	b.deployServer(8)
	guest, err := b.askBevygap("", nil)
	require.NoError(t, err)
	player, err := b.askBevygap("?access_token="+b.issuer.Token(fields{"sub": "ann"}), nil)
	require.NoError(t, err)
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
	wrong, err := b.askBevygap("?access_token=wrong", nil)
	require.NoError(t, err)
	require.Contains(t, wrong[1], `{"Error":[401,"the access token was refused"]}`)
}

// Players wait without a server: their socket outlives the deadlines of calls, and ends with a frame when the replica
// stops.
func TestAStoppingReplicaEndsBevygapClients(t *testing.T) {
	t.Parallel()
	b := setup(t, guests)
	b.deployServer(0)
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
		b.deployServer(8)
		_, err := b.askBevygap("", http.Header{"Origin": {"https://evil.example"}})
		require.ErrorContains(t, err, "403")
		_, err = b.askBevygap("", http.Header{"Origin": {"https://play.example"}})
		require.Equal(t, listed == nil, err != nil)
	}
}

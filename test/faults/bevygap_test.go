package faults

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/test/rigtest"
	"github.com/lattice-director/director/token"
	"github.com/lattice-director/director/token/netcode"
)

// bevygapRig is an installation with a pool that no worker serves: its servers start when the test says so.
type bevygapRig struct {
	*rig
	key netcode.Key
}

// startServer registers a server of the pool, as a worker and the server do together.
func (r *bevygapRig) startServer(url string, capacity int) {
	r.T.Helper()
	id := uuid.New()
	sealed, by := keytest.Sealer(r.T, 7).SealSecret(token.PurposeNetcode, "eu", id.String(), r.key.Secret())
	answer := r.RequireOK(r.PostJSON(url, "/fleet/register", http.Header{"X-Fleet-Token": {fleetToken}}, fields{
		"instance_id": id.String(), "endpoint": "192.0.2.7:31504", "region": "eu", "modes": []string{"other"},
		"capacity": capacity,
	}))
	r.ExecSQL(`INSERT INTO deployments (region, id, app, version, provider, tag, phase, intent_at, ref, ip, ports, endpoint, netcode_key, sealed_by, cert_digest, incarnation, next_at)
		VALUES ('eu', $1, 'my game', '1', 'manual', left($1::uuid::text, 20), 'ready', now(), $1::uuid::text, '192.0.2.7',
			'{"game": {"name": "game", "internal": 6420, "external": 31504, "protocol": "udp"}}', '192.0.2.7:31504', $2, $3, 'aa:bb', $4, NULL)`,
		id, sealed, by, answer["incarnation"])
	r.ExecSQL(`UPDATE instances SET deployment_id = $1, modes = '{duel}' WHERE id = $1::uuid::text`, id)
	r.ExecSQL(`UPDATE instance_modes SET mode = 'duel' WHERE instance_id = $1::uuid::text`, id)
}

// bevygapClient is a client, as far as the wire shows it.
type bevygapClient struct {
	ws    *websocket.Conn
	ended chan struct{} // closed when the connection has ended

	// Read these only after ended is closed.
	frames []string
	err    error // of the end
}

func (c *bevygapClient) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// askAll connects n clients at once, which send what bevygap's client sends. They read, and so answer pings, until the
// connection ends.
func (r *bevygapRig) askAll(url string, n int) (clients []*bevygapClient) {
	r.T.Helper()
	clients = make([]*bevygapClient, n)
	rigtest.Each(n, n, func(i int) {
		c, err := r.ask(url)
		if err != nil {
			r.T.Error(err) // not fatal, since callers run in goroutines of their own
			return
		}
		clients[i] = c
	})
	require.False(r.T, r.T.Failed())
	return clients
}

func (r *bevygapRig) ask(url string) (*bevygapClient, error) {
	ws, _, err := websocket.Dial(r.T.Context(), "ws"+strings.TrimPrefix(url, "http")+"/matchmaker/ws", nil) //nolint:bodyclose // it is the connection's
	if err != nil {
		return nil, err
	}
	r.T.Cleanup(func() { _ = ws.CloseNow() })
	request := []byte(`{"game":"my game","version":"1","client_ip":null}`)
	if err := ws.Write(r.T.Context(), websocket.MessageText, request); err != nil {
		return nil, err
	}
	c := &bevygapClient{ws: ws, ended: make(chan struct{})}
	go c.readFrames(r.T.Context())
	return c, nil
}

func (c *bevygapClient) readFrames(ctx context.Context) {
	defer close(c.ended)
	for {
		_, text, err := c.ws.Read(ctx)
		if err != nil {
			c.err = err
			return
		}
		c.frames = append(c.frames, string(text))
	}
}

// awaitDemand waits until so many players wait for a server who have begun to wait at a time or later.
func (r *bevygapRig) awaitDemand(begun time.Time, players int) {
	r.T.Helper()
	r.AwaitTrue("SELECT coalesce(sum(players), 0) = $2 FROM ops.demand WHERE expires_at > now() AND since >= $1", begun, players)
}

var (
	bevygapWaits = regexp.MustCompile(`^"Acknowledged"\n{"SessionRequestAccepted":"[0-9a-f]{32}"}\n({"ProgressReport":"(waiting for a server|waiting for the database|a server is starting|[0-9]+ servers are starting)"}\n)+$`)
	bevygapReady = regexp.MustCompile(`^{"SessionReady":{"token":"([A-Za-z0-9+/]+=)","ip":"192\.0\.2\.7","port":31504,"cert_digest":"aa:bb","client_id":"([1-9][0-9]*)"}}$`)
)

// requireReady asserts that the frames of a client are those of bevygap, to the byte, and returns the id of its token.
func (r *bevygapRig) requireReady(minter *netcode.Minter, c *bevygapClient) (clientID string) {
	r.T.Helper()
	require.NotEmpty(r.T, c.frames)
	before, last := c.frames[:len(c.frames)-1], c.frames[len(c.frames)-1]
	require.Regexp(r.T, bevygapWaits, strings.Join(before, "\n")+"\n")
	parts := bevygapReady.FindStringSubmatch(last)
	require.NotNil(r.T, parts, "%.200s", last)
	var closed websocket.CloseError
	require.ErrorAs(r.T, c.err, &closed)
	require.Equal(r.T, websocket.CloseError{Code: websocket.StatusNormalClosure, Reason: "Goodbye"}, closed)
	raw := must.Get(base64.StdEncoding.DecodeString(parts[1]))(r.T)
	require.Len(r.T, parts[1], 2732)
	claims := must.Get(minter.Open(raw, 7, time.Now()))(r.T)
	require.Equal(r.T, parts[2], fmt.Sprint(claims.ClientID))
	return parts[2]
}

// 200 clients ask two replicas at once and there is no server. Some leave, and a replica is killed, whose players ask
// again. Then servers start: everybody who still waits gets a seat and a token of its own, and what the others left
// behind is gone.
func TestBevygapClientsOnAnEmptyPool(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestKilledWorkersStartEachServerOnce")
	r := &bevygapRig{newRig(t, "DIRECTOR_BEVYGAP=guests", "DIRECTOR_BEVYGAP_PER_ADDRESS=1000", "DIRECTOR_BEVYGAP_WAIT=5m",
		"DIRECTOR_LEASE_TTL=5m"), netcode.NewKey()}
	r.ExecSQL(`INSERT INTO app_versions (app, version, provider, launch, ports, game_port, modes, capacity, max_players, dialect, protocol_id)
		VALUES ('my game', '1', 'manual', 'none', '[]', 'game', '{duel}', 100, 2, 'lightyear-le', '7')`)
	r.ExecSQL(`INSERT INTO pools (region, app, version, max_servers) VALUES ('eu', 'my game', '1', 10)`)
	r.ExecSQL(`INSERT INTO pool_modes (region, mode, app, version) VALUES ('eu', 'duel', 'my game', '1')`)
	stays, dies := r.ServeReplica(), r.ServeReplica()
	patient, killed := r.askAll(stays.URL, 100), r.askAll(dies.URL, 100)
	r.awaitDemand(time.Time{}, 200)

	leavers, patient := patient[:20], patient[20:]
	for _, c := range leavers {
		require.NoError(t, c.ws.CloseNow())
	}
	r.awaitDemand(time.Time{}, 180)
	dies.Process.Kill()
	for _, c := range killed {
		<-c.ended
		require.Equal(t, websocket.StatusCode(-1), websocket.CloseStatus(c.err), "no frame of a dead replica")
	}
	killedAt := one[time.Time](r.rig, "SELECT clock_timestamp()")
	patient = append(patient, r.askAll(stays.URL, 100)...)
	r.awaitDemand(killedAt, 100)
	r.awaitDemand(time.Time{}, 180) // that of the dead replica lapses
	r.startServer(stays.URL, 100)
	r.startServer(stays.URL, 80)

	minter, err := netcode.NewMinter(netcode.LightyearLE, r.key)
	require.NoError(t, err)
	ids := map[string]bool{}
	for _, c := range patient {
		<-c.ended
		ids[r.requireReady(minter, c)] = true
	}
	require.Len(t, ids, 180)
	require.Equal(t, 180, one[int](r.rig, "SELECT count(DISTINCT sub) FROM seats"))
	require.Equal(t, 180, one[int](r.rig, "SELECT count(*) FROM netcode_tokens"))
	r.awaitDemand(time.Time{}, 0)
	r.RequireInvariants()
}

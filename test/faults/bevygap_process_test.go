package faults

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/test/rigtest"
	"github.com/lattice-director/director/token/netcode"
)

const bevygapPool = `
apps:
  - app: my game
    version: "1"
    provider: process
    launch: game
    ports:
      - {name: game, protocol: udp}
    game_port: game
    modes: [duel]
    capacity: 2
    max_players: 2
    grace: 5s
    netcode: {dialect: lightyear-le, protocol_id: 7}
pools:
  - region: eu
    app: my game
    version: "1"
    max: 2
    empty_ttl: 1s
`

// readyFrame is the frame with which a client gets its connect token.
type readyFrame struct {
	SessionReady struct {
		Token    string `json:"token"`
		IP       string `json:"ip"`
		Port     int    `json:"port"`
		ClientID string `json:"client_id"`
	}
}

// A bevygap client asks, and there is no server: a worker starts a process, which registers and opens the client's
// connect token with the key that it was started with. The client has its seat, and after everybody has left no process
// is left.
func TestABevygapClientStartsItsServer(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestKilledWorkersStartEachServerOnce")
	self, err := os.Executable()
	require.NoError(t, err)
	addr := rigtest.FreeAddr(t)
	r := &bevygapRig{rig: newRig(t, "DIRECTOR_BEVYGAP=guests", "DIRECTOR_BEVYGAP_WAIT=2m", "DIRECTOR_PROVIDERS=process",
		"DIRECTOR_PUBLIC_URL=http://"+addr,
		"DIRECTOR_PROCESS_COMMANDS=game="+self+" "+netcodeGame, "DIRECTOR_PROCESS_DIR="+t.TempDir(),
		"DIRECTOR_PROCESS_PORTS=31600-31699")}
	r.ApplyPools(bevygapPool)
	replica := r.StartReplica(addr, "--work")
	r.AwaitReady(replica)

	clients := r.askAll(replica.URL, 3)
	ids := map[string]bool{}
	for _, c := range clients {
		<-c.ended
		require.NotEmpty(t, c.frames, "%v", c.err)
		ids[r.play(c.frames[len(c.frames)-1])] = true
	}
	require.Len(t, ids, 3)
	require.Equal(t, 3, one[int](r.rig, "SELECT count(*) FROM seats WHERE connected_at IS NOT NULL"))
	require.Equal(t, 2, one[int](r.rig, "SELECT count(*) FROM deployments WHERE phase = 'ready'"),
		"two players a server")

	r.ExecSQL("SELECT ops.close_session(region || '.' || id, 'test') FROM sessions")
	r.ExecSQL("SELECT ops.stop_deployment(id, 'over') FROM deployments")
	require.Eventually(t, func() bool { return one[int](r.rig, "SELECT count(*) FROM deployments") == 0 },
		2*time.Minute, 100*time.Millisecond)
	require.Equal(t, 2, one[int](r.rig, "SELECT count(*) FROM deployment_history WHERE ready_at IS NOT NULL AND reason = 'over'"))
	r.RequireInvariants()
}

// play connects to a server, as far as the connect token goes, and returns the id of the client.
func (r *bevygapRig) play(frame string) (clientID string) {
	r.T.Helper()
	var ready readyFrame
	require.NoError(r.T, json.Unmarshal([]byte(frame), &ready), "%.200s", frame)
	to := ready.SessionReady
	raw, err := base64.StdEncoding.DecodeString(to.Token)
	require.NoError(r.T, err, "%.200s", frame)
	public := must.Get(netcode.Parse(raw, netcode.LightyearLE))(r.T)
	require.Equal(r.T, fmt.Sprintf("[%s:%d]", to.IP, to.Port), fmt.Sprint(public.Addrs),
		"the token and the frame name one server")
	conn := must.Get((&net.Dialer{}).DialContext(r.T.Context(), "udp", fmt.Sprintf("%s:%d", to.IP, to.Port)))(r.T)
	defer func() { require.NoError(r.T, conn.Close()) }()
	must.Get(conn.Write(raw))(r.T)
	require.NoError(r.T, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
	answer := make([]byte, 1024)
	n := must.Get(conn.Read(answer))(r.T)
	require.Equal(r.T, to.ClientID, string(answer[:n]))
	return to.ClientID
}

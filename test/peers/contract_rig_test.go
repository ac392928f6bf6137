package peers

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/sdk/lobby"
	"github.com/lattice-director/director/test/rigtest"
	"github.com/lattice-director/director/token"
)

// The secrets of callers that are not game servers or players.
const (
	contractOperator = "an-operators-token-of-tests"
	contractViewer   = "a-viewers-token-of-tests"
	contractBackend  = "a-backends-token-of-tests"
	contractPlayers  = "a-token-for-players-of-tests"
	contractTickets  = "a-token-for-tickets-of-tests"
)

const (
	crowdedRegion = "crowded"   // where nobody is admitted, so that players wait in the login queue
	otherRegion   = "elsewhere" // which another cell serves
	calmRegion    = "calm"      // which no request names, so that what is there stays
	calmInstance  = "calm-1"
)

// contractRig is two replicas behind one address, with something of each kind that callers can read or change.
type contractRig struct {
	*rigtest.Rig

	address, lobby      string
	metrics             []string // URLs
	enrolment, instance string   // credentials
	deployed            uuid.UUID
}

// contractProfile is the profile of the contract's examples. Nobody is matched by it, so tickets wait.
const contractProfile = `name: ranked-5v5
mode: duel
teams: [{name: all, players: 10}]
`

// soloProfile matches each player alone.
const soloProfile = `name: solo
mode: duel
teams: [{name: all, players: 1}]
`

func newContractRig(t *testing.T) *contractRig {
	t.Helper()
	settings := append(rigtest.LobbySettings(), "DIRECTOR_PLAYER_RATE=0", "DIRECTOR_CALL_TIMEOUT=30s",
		"DIRECTOR_HOLD_TIMEOUT=1m",
		"DIRECTOR_TICKET_LEASE=0s", "DIRECTOR_BEVYGAP=guests", "DIRECTOR_BEVYGAP_WAIT=1s",
		"DIRECTOR_BEVYGAP_PER_ADDRESS=1000",
		"DIRECTOR_OPS_TOKENS=ada:operator="+contractOperator+",ivy:viewer="+contractViewer,
		"DIRECTOR_BACKEND_TOKENS=shop:players+tickets="+contractBackend+",players:players="+contractPlayers+
			",tickets:tickets="+contractTickets)
	r := &contractRig{Rig: rigtest.NewRigOn(t, clitest.BuildDirector(t), dbtest.New(t), settings...)}
	balancer := rigtest.NewBalancer(t)
	for range 2 {
		metrics := rigtest.FreeAddr(t)
		replica := r.ServeLobby("--work", "--metrics-addr", metrics)
		balancer.AddAddr(strings.TrimPrefix(replica.Process.URL, "http://"))
		r.metrics, r.lobby = append(r.metrics, "http://"+metrics+"/metrics"), replica.Lobby
	}
	r.address = "http://" + balancer.ListenAddr()
	r.KeepAliveIn("eu-west", 200*time.Millisecond, "eu-arena-1")
	r.KeepAliveIn(calmRegion, 200*time.Millisecond, calmInstance)
	for change := range 3 { // as many as the contract's examples know
		r.putProfile("ranked-5v5", fmt.Sprintf("%sttl: %dh\n", contractProfile, change+1))
	}
	r.putProfile("solo", soloProfile)
	r.enrol()
	r.deploy()
	r.befriend("ann", "bo")
	r.ExecSQL("SELECT ops.set_valve('crowded', 1, region => $1), ops.close_valve('crowded')", crowdedRegion)
	r.ExecSQL("SELECT ops.set_cell('other', 'https://other.example', ARRAY[$1], 'test')", otherRegion)
	return r
}

// putProfile applies a profile as an operator does.
func (r *contractRig) putProfile(name, document string) {
	r.T.Helper()
	operator := http.Header{"Authorization": {"Bearer " + contractOperator}}
	r.RequireOK(r.CallJSON(r.T.Context(), http.MethodPut, r.NextReplica()+"/ops/profiles/"+name, operator,
		rigtest.Fields{"document": document}))
}

// befriend keeps players in the room of the contract's examples.
func (r *contractRig) befriend(players ...string) {
	r.T.Helper()
	const project, room = "demo-project", "lobby:friday"
	r.ExecSQL("INSERT INTO projects (id, name, region) VALUES ($1, $1, 'global')", project)
	for _, player := range players {
		claims := token.ProjectClaims{ProjectID: project, Subject: player, IssuedAt: time.Now(),
			Expires: time.Now().Add(time.Hour)}
		client := must.Get(lobby.Connect(r.T.Context(), lobby.Options{URLs: []string{r.lobby},
			Token: lobby.StaticToken(token.MintProject(token.ProjectSecret(rigtest.LobbyMaster, project),
				claims))}))(r.T)
		r.T.Cleanup(client.Close)
		must.Get(client.Join(r.T.Context(), "lobby", room, lobby.JoinOptions{}))(r.T)
		r.keepJoined(client, room)
	}
}

// keepJoined joins a room again whenever its player was removed from it, or the room was closed, until the test ends.
func (r *contractRig) keepJoined(client *lobby.Client, room string) {
	background.Loop(r.T, func(ctx context.Context) {
		for ctx.Err() == nil {
			_, _ = client.Join(ctx, "lobby", room, lobby.JoinOptions{}) // refused while the player is banned
			rigtest.PauseFor(ctx, 200*time.Millisecond)
		}
	})
}

// enrol makes an enrolment, by which an instance registers.
func (r *contractRig) enrol() {
	r.T.Helper()
	r.enrolment = rigtest.QueryOne[string](r.Rig, "SELECT ops.create_enrolment('eu', 'rack-7', '{}', 100)")
	answer := r.RequireOK(r.PostJSON(r.NextReplica(), "/fleet/register", http.Header{"X-Fleet-Token": {r.enrolment}},
		rigtest.Fields{"instance_id": "enrolled", "endpoint": "a.example:7777", "region": "eu",
			"modes": []string{"duel"}, "capacity": 64, "boot_id": "b"}))
	r.instance, _ = answer["credential"].(map[string]any)["token"].(string)
	require.NotEmpty(r.T, r.instance)
}

// deploy makes a deployment whose server starts.
func (r *contractRig) deploy() {
	r.T.Helper()
	r.deployed = uuid.New()
	r.ExecSQL(`INSERT INTO app_versions (app, version, provider, launch, ports, game_port, modes, capacity, max_players)
		VALUES ('arena', '1', 'process', 'arena', '[]', 'game', '{duel}', 64, 8)`)
	r.ExecSQL(`INSERT INTO deployments (region, id, app, version, provider, tag, phase, intent_at, ref, next_at, provider_ready_at, ip, location, ports)
		VALUES ('eu', $1, 'arena', '1', 'process', $2, 'starting', now(), $2, NULL, now(), '192.0.2.7', 'Montreal',
			'{"game": {"name": "game", "internal": 7000, "external": 31504, "protocol": "udp"}}')`, r.deployed, r.deployed.String()[:20])
}

// seatInCalm seats a player for as long as the test runs, and returns the id of its session.
func (r *contractRig) seatInCalm() any {
	r.T.Helper()
	seat := r.RequireOK(r.PostPlay("una", "/matchmake", rigtest.Fields{"region": calmRegion, "mode": "duel"}))
	r.RequireOK(r.PostFleet("/fleet/seats", rigtest.Fields{"instance_id": calmInstance, "session_id": seat["session_id"],
		"joined": []rigtest.Fields{{"sub": "una", "jti": "j"}}}))
	return seat["session_id"]
}

// makeMatch queues a player who is matched alone, and returns the id of the match.
func (r *contractRig) makeMatch() string {
	r.T.Helper()
	r.QueueFor("zoe", "solo")
	r.AwaitTrue("SELECT EXISTS (SELECT FROM ops.matches WHERE profile = 'solo')")
	return rigtest.QueryOne[string](r.Rig, "SELECT match::text FROM ops.matches WHERE profile = 'solo' LIMIT 1")
}

func (r *contractRig) deployment() token.Deployment {
	return token.Deployment{Region: "eu", ID: r.deployed.String()}
}

func (r *contractRig) tokenOf(purpose token.ServerPurpose) string {
	return string(keytest.Sealer(r.T, 7).ServerTokens().Token(purpose, r.deployment()))
}

// knownParameters returns the parameters of calls that Schemathesis cannot find: those of the deployment's webhook, and
// the id of a match.
func (r *contractRig) knownParameters() string {
	mac := string(keytest.Sealer(r.T, 7).ServerTokens().MAC(token.ForHook, r.deployment()))
	return fmt.Sprintf(`
[[operations]]
include-operation-id = "deploymentHook"
parameters = {region = "eu", id = %q, mac = %q}

[[operations]]
include-operation-id = "explainMatch"
parameters = {id = %q}
`, r.deployed.String(), mac, r.makeMatch())
}

// wrongCredentials are good credentials, each where another one is asked for.
func (r *contractRig) wrongCredentials() credentials {
	own := r.ownCredentials()
	return credentials{fleet: own.player, deployment: own.fleet, backend: own.operator, operator: own.backend,
		player: own.operator}
}

// ownCredentials are the credentials that the routes ask for.
func (r *contractRig) ownCredentials() credentials {
	return credentials{fleet: rigtest.FleetToken, deployment: r.tokenOf(token.ForContext), backend: contractBackend,
		operator: contractOperator, player: r.PlayerLogin.AccessToken("alice")}
}

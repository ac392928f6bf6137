package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/token"
	"github.com/lattice-director/director/token/netcode"
)

// addApp adds a version of an app for a mode, unless it is there. Its servers take connect tokens if it has a dialect.
func (b *bundle) addApp(app, mode string, maxPlayers int, dialect netcode.Dialect, protocol string) {
	b.t.Helper()
	b.store.Exec(`INSERT INTO app_versions (app, version, provider, launch, ports, game_port, modes, capacity, max_players, dialect, protocol_id)
		VALUES ($1, '1', 'process', 'arena', '[]', 'game', ARRAY[$2], 64, $3, nullif($4, ''), nullif($5, '')) ON CONFLICT DO NOTHING`,
		app, mode, maxPlayers, string(dialect), protocol)
}

// addPool adds a pool of servers of addApp.
func (b *bundle) addPool(app, mode string) {
	b.t.Helper()
	b.store.Exec("INSERT INTO pools (region, app, version, max_servers) VALUES ('eu', $1, '1', 10)", app)
	b.store.Exec("INSERT INTO pool_modes (region, mode, app, version) VALUES ('eu', $2, $1, '1')", app, mode)
}

// deploy inserts a deployment whose provider is ready, or not yet.
func (b *bundle) deploy(ready bool) uuid.UUID {
	b.t.Helper()
	id := uuid.New()
	b.addApp("arena", "duel", 8, "", "")
	b.store.Exec(`INSERT INTO deployments (region, id, app, version, provider, tag, phase, intent_at, ref, next_at)
		VALUES ('eu', $1, 'arena', '1', 'process', $2, 'starting', now(), $2, NULL)`, id, id.String()[:20])
	if ready {
		b.providerReady(id)
	}
	return id
}

func (b *bundle) providerReady(id uuid.UUID) {
	b.t.Helper()
	b.store.Exec(`UPDATE deployments SET provider_ready_at = now(), ip = '192.0.2.7', location = 'Montreal',
		ports = '{"game": {"name": "game", "internal": 7000, "external": 31504, "protocol": "udp"}}' WHERE id = $1`, id)
}

func (b *bundle) tokenOf(purpose token.ServerPurpose, id uuid.UUID) string {
	return string(b.deployments().Token(purpose, token.Deployment{Region: "eu", ID: id.String()}))
}

func (b *bundle) ofDeployment(id uuid.UUID) func(*http.Request) {
	return header("X-Fleet-Token", b.tokenOf(token.ForFleet, id))
}

func deployed(id uuid.UUID) fields {
	return fields{"instance_id": id.String(), "region": "eu", "modes": []string{"duel"}, "capacity": 64, "boot_id": "boot-1"}
}

// A deployed server needs no shared secret and no address: the director says both, and it gets players once it is
// ready.
func TestDeployedServersJoin(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.FleetTokens, c.OpenFleet = nil, false })
	id := b.deploy(false)
	me := fields{"instance_id": id.String()}
	in := b.fleet("register", deployed(id), b.ofDeployment(id)).ok(http.StatusOK)
	require.Equal(t, "starting", in["status"])
	require.Equal(t, "running", in["desired"])
	require.NotContains(t, in, "endpoint")
	require.Equal(t, "starting", b.fleet("heartbeat", me, b.ofDeployment(id)).ok(http.StatusOK)["status"])
	b.matchmake("ann", duel).problem(http.StatusConflict, "no_capacity")

	b.providerReady(id)
	ready, err := b.store.MakeReady(t.Context(), "eu", id)
	require.NoError(t, err)
	require.True(t, ready)
	alive := b.fleet("heartbeat", me, b.ofDeployment(id)).ok(http.StatusOK)
	require.Equal(t, "alive", alive["status"])
	require.Equal(t, "192.0.2.7:31504", alive["endpoint"])
	require.NotEmpty(t, alive["ends_at"])
	require.Equal(t, "192.0.2.7:31504", b.matchmake("ann", duel).ok(http.StatusOK)["endpoint"])
	require.Equal(t, "registered", b.fleet("register", deployed(id), b.ofDeployment(id)).ok(http.StatusOK)["status"])
	b.call(b.request(http.MethodGet, "/fleet/sessions?instance_id="+id.String(), nil, b.ofDeployment(id))).ok(http.StatusOK)
}

// The token of a deployment speaks for one instance, whatever the route, and for what its version allows.
func TestDeploymentTokensSpeakForOneInstance(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a")
	id, other := b.deploy(true), b.deploy(true)
	b.fleet("register", deployed(other), b.ofDeployment(other)).ok(http.StatusOK)
	for _, victim := range []string{"a", other.String()} {
		for path, body := range map[string]fields{
			"register": deployed(id).with("instance_id", victim), "heartbeat": {}, "deregister": {}, "seats": {"session_id": "eu.x"}, "drain": {"drain": true},
		} {
			b.fleet(path, body.with("instance_id", victim), b.ofDeployment(id)).problem(http.StatusForbidden, "outside_deployment")
		}
		b.call(b.request(http.MethodGet, "/fleet/sessions?instance_id="+victim, nil, b.ofDeployment(id))).problem(http.StatusForbidden, "outside_deployment")
	}
	for name, value := range map[string]any{"region": "us", "modes": []string{"race"}, "capacity": 65} {
		b.fleet("register", deployed(id).with(name, value), b.ofDeployment(id)).problem(http.StatusForbidden, "outside_deployment")
	}
	b.fleet("heartbeat", fields{"instance_id": "a"}).ok(http.StatusOK)
	// the shared token: nobody else knows the endpoint
	b.fleet("register", deployed(id)).problem(http.StatusBadRequest, "invalid_request")
}

// Pins a refusal that only the server saw, whose log is at its provider.
func TestRefusedRegistrationsAreKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deploy(true)
	refused := func() (text string) {
		require.NoError(t, b.store.Pool().QueryRow(t.Context(), "SELECT coalesce(refused, '') FROM ops.deployments WHERE deployment = $1", id).Scan(&text))
		return text
	}
	events := func() int {
		return b.store.Count("SELECT count(*) FROM ops.events WHERE kind = 'deployment.refused' AND instance = '" + id.String() + "'")
	}
	for range 3 {
		b.fleet("register", deployed(id).with("capacity", 65), b.ofDeployment(id)).problem(http.StatusForbidden, "outside_deployment")
	}
	require.Equal(t, "outside_deployment: the deployment may not register this capacity: its app version has a capacity of 64", refused())
	require.Equal(t, 1, events())
	b.fleet("register", deployed(id).with("capacity", 0), b.ofDeployment(id)).problem(http.StatusBadRequest, "invalid_request")
	require.Contains(t, refused(), "invalid_request: ")
	require.Contains(t, refused(), "capacity must be")
	require.Equal(t, 2, events())
	b.fleet("register", deployed(id).with("cert_digest", "no hex"), b.ofDeployment(id)).problem(http.StatusBadRequest, "invalid_request")
	require.Contains(t, refused(), "cert_digest")
	before := refused()
	b.fleet("register", deployed(id), b.ofDeployment(id)).ok(http.StatusOK)
	b.fleet("register", deployed(id).with("boot_id", "boot-2").with("replaces", "none"), b.ofDeployment(id)).problem(http.StatusConflict, "instance_taken")
	require.Equal(t, before, refused(), "it is part of a restart")
	require.Equal(t, 1, b.store.Count("SELECT count(*) FROM ops.deployments WHERE refused_at < registered_at"))
}

// The provider's name of a server counts only from a server of the deployment, and only if it is the deployment's.
func TestProviderRefs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, other := b.deploy(false), b.deploy(false)
	b.fleet("register", deployed(id).with("provider_ref", id.String()[:20]), b.ofDeployment(id)).ok(http.StatusOK)
	b.fleet("register", deployed(id).with("provider_ref", other.String()[:20]), b.ofDeployment(id)).problem(http.StatusForbidden, "outside_deployment")
	b.fleet("register", deployed(id).with("provider_ref", "arena-x7/tag").with("boot_id", "boot-2"), b.ofDeployment(id)).problem(http.StatusGone, "deployment_over")
	for _, wrong := range []string{"a b", strings.Repeat("a", 129), "a\n", "../ü"} {
		got := b.fleet("register", deployed(id).with("provider_ref", wrong), b.ofDeployment(id)).problem(http.StatusBadRequest, "invalid_request")
		require.Contains(t, fmt.Sprint(got), "provider_ref")
	}
	got := b.fleet("register", registration("a").with("provider_ref", id.String()[:20])).problem(http.StatusBadRequest, "invalid_request")
	require.Contains(t, fmt.Sprint(got), "provider_ref")
	require.Equal(t, 1, b.store.Count("SELECT count(*) FROM instances WHERE boot_id = 'boot-1'"), "the refused server took nobody's place")
}

func TestWrongDeploymentTokens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deploy(true)
	good := b.tokenOf(token.ForFleet, id)
	for _, wrong := range []string{good[:len(good)-1], good + "x", strings.Replace(good, "ld1.eu", "ld1.us", 1), b.tokenOf(token.ForContext, id), "ld1.", strings.Replace(good, id.String(), uuid.NewString(), 1)} {
		b.fleet("register", deployed(id), header("X-Fleet-Token", wrong)).problem(http.StatusUnauthorized, "unauthorized")
	}
	require.NotContains(t, b.log.String(), good)

	open := setup(t, func(c *config) { c.FleetTokens, c.OpenFleet = nil, true })
	open.fleet("register", registration("a"), header("X-Fleet-Token", good[:len(good)-1])).problem(http.StatusUnauthorized, "unauthorized")
	open.fleet("register", registration("a"), header("X-Fleet-Token", "anything")).ok(http.StatusOK)
}

func TestDeploymentsThatAreOverAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := uuid.New()
	b.fleet("register", deployed(id), b.ofDeployment(id)).problem(http.StatusGone, "deployment_over")
	b.context(http.MethodGet, id).problem(http.StatusGone, "deployment_over")
	b.context(http.MethodDelete, id).problem(http.StatusGone, "deployment_over")
}

func (b *bundle) context(method string, id uuid.UUID) answer {
	return b.call(b.request(method, "/fleet/context", nil, header("Authorization", b.tokenOf(token.ForContext, id))))
}

// A server that was built for Edgegap asks once for its context, maybe before its provider has answered.
func TestContextWaitsForTheAddress(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deploy(false)
	answered := make(chan answer)
	go func() { answered <- b.context(http.MethodGet, id) }()
	b.providerReady(id)
	got := (<-answered).ok(http.StatusOK)
	require.Equal(t, id.String(), got["request_id"])
	require.Equal(t, "192.0.2.7", got["public_ip"])
	require.Equal(t, "Status.READY", got["status"])
	require.Equal(t, "Montreal", got["location"].(map[string]any)["city"])
	require.InDelta(t, 31504, got["ports"].(map[string]any)["game"].(map[string]any)["external"], 0)

	for _, wrong := range []string{"", b.tokenOf(token.ForFleet, id), "token " + b.tokenOf(token.ForContext, id)} {
		b.call(b.request(http.MethodGet, "/fleet/context", nil, header("Authorization", wrong))).problem(http.StatusUnauthorized, "unauthorized")
	}
}

func TestServersMayStopThemselves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deploy(true)
	b.fleet("register", deployed(id), b.ofDeployment(id)).ok(http.StatusOK)
	require.Equal(t, http.StatusAccepted, b.context(http.MethodDelete, id).status)
	require.Equal(t, "stopped", b.fleet("heartbeat", fields{"instance_id": id.String()}, b.ofDeployment(id)).ok(http.StatusOK)["desired"])
}

// A webhook wakes the worker and nothing else: its body is not believed, and a wrong secret finds nothing.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deploy(false)
	woken, stop := b.store.Subscribe(db.TopicDeployments, "eu")
	defer stop()
	mac := string(b.deployments().MAC(token.ForHook, token.Deployment{Region: "eu", ID: id.String()}))
	hook := func(path string) answer {
		return b.call(b.request(http.MethodPost, "/hooks/"+path, `{"current_status": "Status.TERMINATED"}`))
	}
	for range 20 {
		require.Equal(t, http.StatusNoContent, hook("eu/"+id.String()+"/"+mac).status)
	}
	<-woken
	var due bool
	var phase string
	require.NoError(t, b.store.Pool().QueryRow(t.Context(), `SELECT next_at <= clock_timestamp() + interval '1 second'
		AND woken_at <= clock_timestamp() + interval '1 second', phase FROM deployments`).Scan(&due, &phase))
	require.True(t, due)
	require.Equal(t, "starting", phase)

	for _, wrong := range []string{
		"eu/" + id.String() + "/" + mac[:42] + "_", "us/" + id.String() + "/" + mac, "eu/" + uuid.NewString() + "/" + mac, "eu/x/" + mac, "eu/" + strings.ToUpper(id.String()) + "/" + mac,
	} {
		hook(wrong).problem(http.StatusNotFound, "route_not_found")
	}
	require.NotContains(t, b.log.String(), mac)
}

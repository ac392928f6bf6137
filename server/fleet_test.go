package server_test

import (
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// The answers to an instance that registers, sends a heartbeat and deregisters.
func TestInstanceLifecycle(t *testing.T) {
	t.Parallel()
	b := setup(t)
	registered := b.fleet("register", registration("a").with("load", 0.5)).ok(http.StatusOK)
	require.NoError(t, uuid.Validate(registered["incarnation"].(string)))
	require.Equal(t, fields{"instance_id": "a", "status": "registered", "available": 64.0, "incarnation": registered["incarnation"]}, registered)

	me := fields{"instance_id": "a", "incarnation": registered["incarnation"]}
	b.seat("alice")
	heartbeat := b.fleet("heartbeat", me.with("load", 3)).ok(http.StatusOK)
	require.Equal(t, fields{"instance_id": "a", "status": "alive", "available": 56.0}, heartbeat, "a session of 8 takes 8 seats")

	require.Empty(t, b.fleet("deregister", me).ok(http.StatusNoContent))
	b.fleet("deregister", me).problem(http.StatusNotFound, "instance_unknown")
	b.fleet("heartbeat", me).problem(http.StatusNotFound, "instance_unknown")
}

// A registration is stored completely and replaces the one before as a whole.
func TestARegistrationReplacesTheOneBefore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", func(f fields) {
		maps.Copy(f, fields{
			"load": 0.25, "max_sessions": 3, "version": "1.8.2", "cert_digest": "sha-256:mC0=", "unheard_of": []int{1},
			"labels": fields{"build": "1842", "gone": nil, "a/b.c_d-e": "ü"}, "reports_seats": true,
		})
	})
	require.Equal(t, 1, b.store.Count(`SELECT count(*) FROM ops.fleet WHERE instance = 'a' AND load = 0.25 AND max_sessions = 3 AND version = '1.8.2'
		AND labels = '{"build": "1842", "a/b.c_d-e": "ü"}' AND reports_seats AND capacity = 64 AND modes = '{duel}'`))
	require.Equal(t, 1, b.store.Count("SELECT count(*) FROM instances WHERE cert_digest = 'sha-256:mC0=' AND boot_id = 'boot-1'"))

	b.register("a", func(f fields) {
		f["modes"], f["capacity"] = []string{"race", "duel"}, 10
		for _, optional := range []string{"load", "max_sessions", "version", "cert_digest", "labels"} {
			f[optional] = nil // null means absent
		}
	})
	require.Equal(t, 1, b.store.Count(`SELECT count(*) FROM ops.fleet WHERE instance = 'a' AND load = 0 AND max_sessions IS NULL AND version IS NULL
		AND labels = '{}' AND capacity = 10 AND modes = '{race,duel}'`))
}

// Which registrations keep the incarnation and which begin a new one: sessions must end with the process that runs
// them, and survive everything else.
func TestIncarnations(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change    func(fields)
		expired   bool
		continues bool
	}{
		"the same again":         {func(fields) {}, false, true},
		"smaller, other modes":   {func(f fields) { f["capacity"], f["modes"] = 1, []string{"race"} }, false, true},
		"no boot id":             {func(f fields) { delete(f, "boot_id") }, false, true},
		"empty boot id":          {func(f fields) { f["boot_id"] = "" }, false, true},
		"another boot":           {func(f fields) { f["boot_id"] = "boot-2" }, false, false},
		"another endpoint":       {func(f fields) { f["endpoint"] = "elsewhere:1" }, false, false},
		"another region":         {func(f fields) { f["region"] = "us" }, false, false},
		"after the lease":        {func(fields) {}, true, false},
		"legacy after the lease": {func(f fields) { delete(f, "boot_id") }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			old := b.register("a")
			session, _ := b.seat("alice")
			if row.expired {
				b.store.AgeHeartbeats("a", time.Minute)
			}
			me := b.register("a", row.change)
			require.Equal(t, row.continues, me["incarnation"] == old["incarnation"])
			if row.continues {
				b.fleet("heartbeat", old).ok(http.StatusOK)
				b.session("alice", session["session_id"].(string)).ok(http.StatusOK)
				return
			}
			b.session("alice", session["session_id"].(string)).problem(http.StatusGone, "session_closed")
			b.fleet("heartbeat", me).ok(http.StatusOK)
			for path, body := range map[string]fields{
				"heartbeat": old, "drain": old.with("drain", true), "deregister": old,
				"seats": old.with("session_id", session["session_id"]),
			} {
				b.fleet(path, body).problem(http.StatusConflict, "superseded")
			}
			b.fleet("heartbeat", me).ok(http.StatusOK)
		})
	}
}

// replaces detects registrations that were delayed on the network: a restarted process learns which incarnation it
// would replace, and a process that was replaced learns that it must stop.
func TestRegistrationWithReplaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.register("a", func(f fields) { f["replaces"] = "none" })
	restarted := registration("a").with("boot_id", "boot-2")
	taken := b.fleet("register", restarted.with("replaces", "none")).problem(http.StatusConflict, "instance_taken")
	require.Equal(t, first["incarnation"], taken["incarnation"])
	second := b.fleet("register", restarted.with("replaces", taken["incarnation"])).ok(http.StatusOK)
	b.fleet("register", registration("a").with("replaces", first["incarnation"])).problem(http.StatusConflict, "superseded")
	b.fleet("heartbeat", fields{"instance_id": "a", "incarnation": second["incarnation"]}).ok(http.StatusOK)
	for _, malformed := range []string{"", "None", "{" + first["incarnation"].(string) + "}"} {
		require.Equal(t, []string{"replaces"}, b.fleet("register", restarted.with("replaces", malformed)).named())
	}
	b.fleet("register", registration("a").with("boot_id", "boot-3").with("replaces", nil)).ok(http.StatusOK)
}

// A frozen server that continues after its lease expired gets 404, and 409 once another incarnation has registered.
func TestAServerFrozenPastItsLease(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.register("a")
	b.store.AgeHeartbeats("a", time.Minute)
	b.fleet("heartbeat", me).problem(http.StatusNotFound, "instance_unknown")
	b.matchmake("alice", duel).problem(http.StatusConflict, "no_capacity")
	again := b.register("a")
	b.fleet("heartbeat", me).problem(http.StatusConflict, "superseded")
	b.fleet("heartbeat", again).ok(http.StatusOK)
}

// Game servers written for the predecessor of this API still work: they send no incarnation and no boot id, and a load
// with every call.
func TestLegacyServers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fleet("register", fields{
		"instance_id": "old", "endpoint": "udp://203.0.113.7:7777/?x=1", "region": "eu", "modes": []string{"duel"}, "capacity": 8, "load": 0,
	}).ok(http.StatusOK)
	me := fields{"instance_id": "old", "load": 1, "incarnation": nil}
	b.fleet("heartbeat", me).ok(http.StatusOK)
	session, resolved := b.seat("alice")
	require.Equal(t, "udp://203.0.113.7:7777/?x=1", resolved["endpoint"])
	require.Equal(t, 1, b.store.Count("SELECT count(*) FROM seats WHERE expires_at > now() + interval '1 hour'"), "it reports no seats")

	res := b.fleet("seats", fields{"instance_id": "old", "session_id": session["session_id"], "left": []string{"alice"}}).ok(http.StatusOK)
	require.Equal(t, true, res["closed"], "its last seat was left")
	b.fleet("drain", me.with("drain", true)).ok(http.StatusOK)
	b.fleet("deregister", me).ok(http.StatusNoContent)
}

// A draining instance gets no new sessions and no new players, while its players can rejoin.
func TestADrainingInstance(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.register("a")
	session, _ := b.seat("alice")
	answer := fields{"instance_id": "a", "status": "draining", "available": 56.0}
	require.Equal(t, answer, b.fleet("drain", me.with("drain", true)).ok(http.StatusOK))
	require.Equal(t, answer, b.fleet("drain", me.with("drain", true)).ok(http.StatusOK), "draining twice changes nothing")

	b.matchmake("bob", duel).problem(http.StatusConflict, "no_capacity")
	b.resolve("alice", session["session_handle"]).ok(http.StatusOK)
	b.fleet("heartbeat", me).ok(http.StatusOK)
	b.register("a")
	b.matchmake("bob", duel).problem(http.StatusConflict, "no_capacity") // Registering again does not end the drain.

	require.Equal(t, answer.with("status", "ready"), b.fleet("drain", me.with("drain", false)).ok(http.StatusOK))
	b.matchmake("bob", duel).ok(http.StatusOK)
	b.fleet("drain", me.with("instance_id", "b").with("drain", true)).problem(http.StatusNotFound, "instance_unknown")
}

// A lowered capacity closes no session, and new sessions respect it.
func TestALoweredCapacity(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a")
	session, _ := b.seat("alice")
	me := b.register("a", func(f fields) { f["capacity"] = 2 })
	require.EqualValues(t, 0, b.fleet("heartbeat", me).ok(http.StatusOK)["available"])
	b.resolve("alice", session["session_handle"]).ok(http.StatusOK)
	b.matchmake("bob", duel).ok(http.StatusOK) // gets a seat of the open session
	b.matchmake("carol", duel.with("max_players", 2)).problem(http.StatusConflict, "no_capacity")
}

// Fleet routes accept each configured secret and nothing else.
func TestTheFleetToken(t *testing.T) {
	t.Parallel()
	const second = "another secret, for rotation"
	b := setup(t, func(c *config) { c.FleetTokens = append(c.FleetTokens, second) })
	b.register("a")
	b.fleet("heartbeat", fields{"instance_id": "a"}, header("X-Fleet-Token", second)).ok(http.StatusOK)
	for _, wrong := range []string{"", fleetToken[:20], fleetToken + second, second + "x", "the secret of the Fleet"} {
		for _, path := range []string{"register", "heartbeat", "deregister", "seats", "drain"} {
			a := b.fleet(path, "not even JSON", header("X-Fleet-Token", wrong))
			a.problem(http.StatusUnauthorized, "unauthorized")
			require.NotEmpty(t, a.header.Get("WWW-Authenticate"))
		}
	}
	require.NotContains(t, b.log.String(), fleetToken)
}

// With OpenFleet, game servers need no secret. TestInvalidOptionsAreRefused covers the rest.
func TestAnOpenFleet(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.FleetTokens, c.OpenFleet = nil, true })
	b.fleet("register", registration("a"), header("X-Fleet-Token", "")).ok(http.StatusOK)
}

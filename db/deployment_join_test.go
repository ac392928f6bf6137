package db_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/variant"
)

// deploy inserts an app version and a deployment of it in a phase, with an intent and a ref.
func (b *bundle) deploy(phase string, change ...string) uuid.UUID {
	b.t.Helper()
	b.AddAppVersion(map[string]any{"ports": "[]", "endpoint": "ws://{ip}:{port}/play", "modes": []string{"duel", "ffa"}, "capacity": 16})
	b.Exec(`INSERT INTO start_pauses (region, app, version, cause, count, reason) SELECT r, 'arena', '1', 'failures', 2, 'x' FROM unnest('{eu,us}'::text[]) r ON CONFLICT DO NOTHING`)
	id := uuid.New()
	b.AddDeployment(id, map[string]any{"phase": phase, "intent_at": time.Now(), "ref": id.String()[:20], "next_at": nil})
	for _, set := range change {
		b.Exec("UPDATE deployments SET "+set+" WHERE id = $1", id)
	}
	return id
}

const providerReady = `provider_ready_at = now(), ip = '192.0.2.7', ports = '{"game": {"name": "game", "internal": 7000, "external": 31504, "protocol": "udp"}}'`

// joinAs registers the server of a deployment.
func (b *bundle) joinAs(id uuid.UUID, boot string, change ...func(*db.Registration)) (db.Registered, error) {
	b.t.Helper()
	r := variant.Apply(db.Registration{
		InstanceID: id.String(), Region: "eu", Modes: []string{"duel"}, Capacity: 16, BootID: boot,
		Joining: &provision.Joining{Region: "eu", ID: id, TokenBy: "aa"},
	}, change...)
	return b.Register(b.t.Context(), r)
}

func (b *bundle) requireJoined(id uuid.UUID, boot string, change ...func(*db.Registration)) db.Registered {
	b.t.Helper()
	return must.Get(b.joinAs(id, boot, change...))(b.t)
}

func (b *bundle) phaseOf(id uuid.UUID) string {
	b.t.Helper()
	return one[string](b, "SELECT phase FROM deployments WHERE id = $1", id)
}

// A server gets players once its provider and itself are ready, whichever comes second.
func TestReadyIsBoth(t *testing.T) {
	t.Parallel()
	t.Run("the server registers first", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		id := b.deploy("starting")
		in := b.requireJoined(id, "boot-1")
		require.Equal(t, &db.Deployed{}, in.Deployed)
		_, err := b.Place(t.Context(), request("ann", 8))
		requireKind(t, fault.NoCapacity, "no_capacity", err)
		ready, err := b.MakeReady(t.Context(), "eu", id)
		require.NoError(t, err)
		require.False(t, ready, "its provider has not said so")

		b.Exec("UPDATE deployments SET "+providerReady+" WHERE id = $1", id)
		ready, err = b.MakeReady(t.Context(), "eu", id)
		require.NoError(t, err)
		require.True(t, ready)
		b.requireHosts(id)
		ready, err = b.MakeReady(t.Context(), "eu", id)
		require.NoError(t, err)
		require.False(t, ready, "it was ready before")
	})
	t.Run("the provider is ready first", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		id := b.deploy("starting", providerReady)
		in := b.requireJoined(id, "boot-1")
		require.True(t, in.Deployed.IsReady)
		b.requireHosts(id)
	})
}

// requireHosts checks that placement uses the server of a deployment, and what the rows say then.
func (b *bundle) requireHosts(id uuid.UUID) {
	b.t.Helper()
	alive := must.Get(b.Heartbeat(b.t.Context(), ref(id.String()), nil))(b.t)
	require.True(b.t, alive.Deployed.IsReady)
	require.Equal(b.t, "ws://192.0.2.7:31504/play", alive.Deployed.Endpoint)
	require.False(b.t, alive.Deployed.IsEnding)
	require.WithinDuration(b.t, time.Now().Add(24*time.Hour), *alive.Deployed.EndsAt, time.Minute)
	p := b.place(request("ann", 8))
	require.Equal(b.t, "ws://192.0.2.7:31504/play", p.Endpoint)
	require.Equal(b.t, "ready", b.phaseOf(id))
	require.Equal(b.t, "eu 0, us 2", one[string](b,
		"SELECT string_agg(region || ' ' || count, ', ' ORDER BY region) FROM start_pauses"),
		"a server that became ready ends a row of failures in its region")
	require.Equal(b.t, 23*time.Hour, one[time.Duration](b,
		"SELECT date_trunc('hour', next_at - now() + '1 minute') FROM deployments WHERE id = $1", id))
	b.RequireInvariants()
}

// A game that asks for a certificate's digest is not ready without one, and players get it in one form.
func TestReadyNeedsTheDigest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deploy("starting", providerReady)
	b.Exec("UPDATE app_versions SET digest_required = true")
	in := b.requireJoined(id, "boot-1")
	require.False(t, in.Deployed.IsReady)
	_, err := b.joinAs(id, "boot-1", func(r *db.Registration) { r.CertDigest = "AB" })
	requireKind(t, fault.Invalid, "invalid_request", err)

	again := b.requireJoined(id, "boot-1", func(r *db.Registration) { r.CertDigest = strings.Repeat("AB", 32) })
	require.Equal(t, in.Incarnation, again.Incarnation)
	require.True(t, again.Deployed.IsReady)
	want := strings.TrimSuffix(strings.Repeat("ab:", 32), ":")
	require.Equal(t, want, one[string](b, "SELECT cert_digest FROM deployments"))
	require.Equal(t, want, one[string](b, "SELECT cert_digest FROM instances"))
}

// A version whose game port is not among the provider's is wrong: its server never gets players, and does not stay for
// ever.
func TestReadyNeedsTheGamePort(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deploy("starting", "provider_ready_at = now(), ip = '192.0.2.7', ports = '{}'")
	in := b.requireJoined(id, "boot-1")
	require.False(t, in.Deployed.IsReady)
	require.True(t, in.Deployed.IsEnding)
	require.Equal(t, "failed", b.phaseOf(id))
	require.Contains(t, one[string](b, "SELECT last_error FROM deployments"), `no port "game"`)
}

// Servers that people start have no provider that knows their address.
func TestManualServersBringTheirEndpoint(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deploy("starting", "provider_ready_at = now()")
	in := b.requireJoined(id, "boot-1", func(r *db.Registration) { r.Endpoint = "192.0.2.9:7000" })
	require.True(t, in.Deployed.IsReady)
	require.Equal(t, "192.0.2.9:7000", in.Deployed.Endpoint)
}

func TestEndpointsOfIPv6(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deploy("starting", providerReady, "ip = '2001:db8::1'")
	require.Equal(t, "ws://[2001:db8::1]:31504/play", b.requireJoined(id, "boot-1").Deployed.Endpoint)
}

func TestRegistrationsOutsideTheDeployment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deploy("starting")
	for field, change := range map[string]func(*db.Registration){
		"instance_id": func(r *db.Registration) { r.InstanceID = uuid.NewString() },
		"region":      func(r *db.Registration) { r.Region = "us" },
		"capacity":    func(r *db.Registration) { r.Capacity = 17 },
		"modes":       func(r *db.Registration) { r.Modes = []string{"duel", "race"} },
	} {
		_, err := b.joinAs(id, "boot-1", change)
		requireKind(t, fault.Forbidden, "outside_deployment", err)
		require.ErrorContains(t, err, field)
	}
	require.Zero(t, one[int](b, "SELECT count(*) FROM instances"))
}

// A server whose deployment has ended must not come back as a server that nobody stops.
func TestDeploymentsThatAreOver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, phase := range []string{"failed", "stopping"} {
		_, err := b.joinAs(b.deploy(phase), "boot-1")
		requireKind(t, fault.Gone, "deployment_over", err)
	}
	_, err := b.joinAs(uuid.New(), "boot-1")
	requireKind(t, fault.Gone, "deployment_over", err)
	require.Zero(t, one[int](b, "SELECT count(*) FROM instances"))
	require.Zero(t, one[int](b, "SELECT count(*) FROM instance_directory"))
}

// A server that registers before its provider has answered proves that it runs: its deployment is due at once.
func TestRegistrationBeforeTheProvidersAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deploy("deploying", "ref = NULL")
	in := b.requireJoined(id, "boot-1")
	require.False(t, in.Deployed.IsReady)
	require.True(t, one[bool](b, "SELECT next_at <= now() AND woken_at IS NOT NULL AND incarnation = $1 AND tokens_by = 'aa' FROM deployments", in.Incarnation))
}

// A lease that expired is no new process: its boots do not count, its players' sessions are over, and it stays ready.
func TestRejoiningIsNoBoot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deploy("starting", providerReady)
	b.requireJoined(id, "boot-1")
	b.EndAmnesty()
	for range 7 {
		b.ageHeartbeat(id.String(), time.Minute)
		_, _, err := b.ReapInstances(t.Context(), "eu", 10)
		require.NoError(t, err)
		require.True(t, one[bool](b, "SELECT lost_at IS NOT NULL AND next_at <= now() FROM deployments"))
		require.True(t, b.requireJoined(id, "boot-1").Deployed.IsReady)
		require.True(t, one[bool](b, "SELECT lost_at IS NULL FROM deployments"))
	}
	require.Equal(t, 1, one[int](b, "SELECT boots FROM deployments"))
	b.requireHosts(id)
}

// A server that crashes again and again is a failure of its version, not a server.
func TestTooManyBoots(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deploy("starting", providerReady)
	for n := range 5 {
		require.True(t, b.requireJoined(id, fmt.Sprint("boot-", n)).Deployed.IsReady)
	}
	require.Equal(t, 5, one[int](b, "SELECT boots FROM deployments"))
	b.Exec("UPDATE deployments SET boots_since = now() - interval '11 minutes'")
	b.requireJoined(id, "boot-5")
	require.Equal(t, 1, one[int](b, "SELECT boots FROM deployments"), "they were spread over more than ten minutes")
	for n := range 4 {
		b.requireJoined(id, fmt.Sprint("boot-", 6+n))
	}
	_, err := b.joinAs(id, "boot-10")
	requireKind(t, fault.Gone, "deployment_over", err)
	require.Equal(t, "failed", b.phaseOf(id))
	require.Equal(t, "gone", one[string](b, "SELECT status FROM instances"))
	require.True(t, one[bool](b, "SELECT next_at <= now() AND reason = 'too_many_boots' FROM deployments"))
	_, err = b.joinAs(id, "boot-11")
	requireKind(t, fault.Gone, "deployment_over", err)
	b.RequireInvariants()
}

// A server that drains keeps draining when it comes back, and its answer says that it ends.
func TestDrainingDeployments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deploy("starting", providerReady)
	b.requireJoined(id, "boot-1")
	b.Exec("UPDATE deployments SET phase = 'draining', desired = 'stopped'")
	b.Exec("UPDATE instances SET status = 'draining'")
	alive, err := b.Heartbeat(t.Context(), ref(id.String()), nil)
	require.NoError(t, err)
	require.True(t, alive.Deployed.IsEnding)
	in := b.requireJoined(id, "boot-2")
	require.True(t, in.Deployed.IsEnding)
	require.Equal(t, "draining", one[string](b, "SELECT status FROM instances"))
	require.Equal(t, "draining", b.phaseOf(id))
}

// Pins a server that registers again in the moment in which it becomes ready, or drains: the registration has read the
// deployment before, and took the endpoint away.
func TestARegistrationThatIsOvertakenKeepsTheEndpoint(t *testing.T) {
	t.Parallel()
	const dialled = "ws://192.0.2.7:31504/play"
	for status, end := range map[string]string{"ready": "", "draining": "UPDATE deployments SET phase = 'draining', desired = 'stopped'"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			id := b.deploy("starting")
			b.requireJoined(id, "boot-1")
			release := b.Hold("SELECT FROM instance_directory FOR UPDATE")
			again := make(chan error, 1)
			go func() {
				_, err := b.joinAs(id, "boot-1")
				again <- err
			}()
			b.AwaitBlocked(1)
			b.Exec("UPDATE deployments SET " + providerReady)
			require.True(t, must.Get(b.MakeReady(t.Context(), "eu", id))(t))
			if end != "" {
				b.Exec(end)
			}
			release()
			require.NoError(t, <-again)
			require.Equal(t, status+" "+dialled, one[string](b, "SELECT status || ' ' || endpoint FROM instances"))
			b.RequireInvariants()
		})
	}
}

// The worker and the server become ready at the same time: one of them commits it, and neither waits for the other in a
// circle.
func TestReadyAtTheSameTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.withoutDeadlockCheck()
	ids := make([]uuid.UUID, 20)
	for i := range ids {
		ids[i] = b.deploy("starting")
	}
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			for range 3 {
				_, err := other.MakeReady(t.Context(), "eu", id)
				require.NoError(t, err)
				_, err = b.Pool().Exec(t.Context(), "UPDATE deployments SET "+providerReady+" WHERE id = $1", id)
				require.NoError(t, err)
			}
			_, err := other.MakeReady(t.Context(), "eu", id)
			require.NoError(t, err)
		})
		wg.Go(func() {
			for range 3 {
				_, err := b.joinAs(id, "boot-1")
				require.NoError(t, err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, len(ids), one[int](b,
		"SELECT count(*) FROM deployments d JOIN instances i ON i.deployment_id = d.id WHERE d.phase = 'ready' AND i.status = 'ready'"))
	b.RequireInvariants()
}

package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// drains are the ways in which an operator drains the game server a, each with its end.
var drains = map[string]struct{ begin, end string }{
	"instance":          {"SELECT ops.drain('a')", "SELECT ops.undrain('a')"},
	"host":              {"SELECT ops.drain_host('A')", "SELECT ops.undrain_host('a')"},
	"host of a region":  {"SELECT ops.drain_host('a', 'eu')", "SELECT ops.undrain_host('a', 'eu')"},
	"label":             {"SELECT ops.drain_label('rack=7')", "SELECT ops.undrain_label('rack=7')"},
	"label of a region": {"SELECT ops.drain_label('rack=7', 'eu')", "SELECT ops.undrain_label('rack=7', 'eu')"},
}

func inRack7(r *db.Registration) { r.Labels = map[string]string{"rack": "7", "zone": "b"} }

func (b *bundle) requireStatus(id, want string) {
	b.t.Helper()
	require.Equal(b.t, want, one[string](b, "SELECT status FROM ops.fleet WHERE instance = $1 AND status <> 'gone'",
		id))
}

// Pins a game server that gets players again because it restarted, which an operator had drained.
func TestAnOperatorsDrainOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	for how, drain := range drains {
		for name, restart := range map[string]func(b *bundle, r *db.Registration){
			"another boot": func(_ *bundle, r *db.Registration) { r.BootID = "boot-2" },
			"lease expired": func(b *bundle,
				_ *db.Registration) {
				b.EndAmnesty()
				b.ageHeartbeat("a", 16*time.Second)
			},
			"deregistered": func(b *bundle,
				_ *db.Registration) {
				require.NoError(b.t, b.Deregister(b.t.Context(), ref("a")))
			},
			"same process": func(*bundle, *db.Registration) {},
		} {
			t.Run(how+"/"+name, func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				b.AddServer("a", 16, inRack7)
				require.True(t, one[bool](b, drain.begin))
				require.False(t, one[bool](b, drain.begin))
				b.AddServer("a", 16, inRack7, func(r *db.Registration) { restart(b, r) })
				b.requireStatus("a", "draining")
				_, err := b.Place(t.Context(), request("ann", 8))
				requireKind(t, fault.NoCapacity, "no_capacity", err)
				require.Equal(t, []string{"true"}, storetest.Values[string](b.DB,
					"SELECT DISTINCT (actor = 'sql:' || session_user)::text FROM ops.events WHERE kind = 'instance.drained'"))

				require.True(t, one[bool](b, drain.end))
				require.False(t, one[bool](b, drain.end))
				b.requireStatus("a", "ready")
				b.place(request("ann", 8))
				b.RequireInvariants()
			})
		}
	}
}

func TestADrainOfAGroupHoldsForWhoRegistersLater(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exec("SELECT ops.drain_host('10.0.0.7'), ops.drain_label('rack=7', 'us')")
	at := func(endpoint, region string) func(*db.Registration) {
		return func(r *db.Registration) { r.Endpoint, r.Region = endpoint, region }
	}
	b.AddServer("a", 16, at("10.0.0.7:7777", "eu"))
	b.AddServer("b", 16, at("10.0.0.77:7777", "eu"))
	b.AddServer("c", 16, inRack7, at("c:1", "eu"))
	b.AddServer("d", 16, inRack7, at("d:1", "us"))
	require.Equal(t, []string{"a|draining", "b|ready", "c|ready", "d|draining"},
		storetest.Values[string](b.DB, "SELECT instance || '|' || status FROM ops.fleet ORDER BY instance"))
	require.Equal(t, []string{"host|10.0.0.7||1", "label|rack=7|us|1"},
		storetest.Values[string](b.DB, "SELECT target || '|' || value || '|' || region || '|' || instances FROM ops.drains ORDER BY since, target"))
	require.Equal(t, []string{`{"host": "10.0.0.7"}`, `{"label": "rack=7"}`}, storetest.Values[string](b.DB, "SELECT detail::text FROM ops.events WHERE kind = 'drain.kept' ORDER BY 1"))
}

// A game server's own drain and an operator's do not end each other.
func TestDrainsOfTheGameServerAndTheOperatorAreApart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := b.AddServer("a", 16)
	set := func(drain, want bool) {
		t.Helper()
		status, err := b.SetDrain(t.Context(), refOf(in), drain)
		require.NoError(t, err)
		require.Equal(t, want, status.IsDraining)
	}
	b.Exec("SELECT ops.drain_host('a')")
	set(false, true)
	require.Empty(t, storetest.Values[string](b.DB, "SELECT kind FROM ops.events WHERE kind = 'instance.undrained'"))
	set(true, true)
	b.Exec("SELECT ops.undrain_host('a')")
	b.requireStatus("a", "draining")
	set(false, false)
	set(true, true)
	b.Exec("SELECT ops.drain_host('a')")
	set(false, true)
	b.Exec("SELECT ops.undrain_host('a')")
	b.requireStatus("a", "ready")
}

func TestTwoDrainsOfOneGameServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16, inRack7)
	b.Exec("SELECT ops.drain('a')")
	b.Exec("SELECT ops.drain_label('rack=7')")
	_, err := b.Pool().Exec(t.Context(), "SELECT ops.undrain('a')")
	require.ErrorContains(t, err, "instance 'a' stays draining: sql:")
	require.ErrorContains(t, err, "keeps the label 'rack=7' drained")
	b.Exec("SELECT ops.undrain_label('rack=7')")
	b.requireStatus("a", "draining")
	b.Exec("SELECT ops.undrain('a')")
	b.requireStatus("a", "ready")
}

// Pins a drain that a registration misses, because each of the two transactions does not see the other.
func TestARegistrationBesideADrain(t *testing.T) {
	t.Parallel()
	b, ctx := setup(t), context.Background()
	registering, err := b.Pool().Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = registering.Rollback(ctx) }()
	_, err = registering.Exec(ctx, `INSERT INTO instances (region, id, incarnation, endpoint, modes, capacity, seat_ceiling)
		VALUES ('eu', 'a', gen_random_uuid(), '10.0.0.7:1', '{duel}', 8, 8)`)
	require.NoError(t, err)
	drained := make(chan error, 1)
	go func() {
		_, err := b.Pool().Exec(ctx, "SELECT ops.drain_host('10.0.0.7')")
		drained <- err
	}()
	b.AwaitBlocked(1)
	require.NoError(t, registering.Commit(ctx))
	require.NoError(t, <-drained)
	b.requireStatus("a", "draining")
}

// A drain may be given while the game server is away, and is ended after everybody has forgotten the game server.
func TestADrainOfAGameServerThatIsAway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16)
	require.NoError(t, b.Deregister(t.Context(), ref("a")))
	require.True(t, one[bool](b, "SELECT ops.drain('a')"))
	b.Exec("UPDATE instances SET ended_at = now() - interval '2 days'")
	n, err := b.ForgetInstances(t.Context(), "eu", 24*time.Hour, 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	b.AddServer("a", 16, func(r *db.Registration) { r.Region = "us" })
	b.requireStatus("a", "draining")

	b.Exec("UPDATE instances SET status = 'gone', ended_at = now() - interval '2 days'")
	_, err = b.ForgetInstances(t.Context(), "us", 24*time.Hour, 10)
	require.NoError(t, err)
	require.True(t, one[bool](b, "SELECT ops.undrain('a')"))
	_, err = b.Pool().Exec(t.Context(), "SELECT ops.undrain('a')")
	require.ErrorContains(t, err, "there is no instance 'a'")
}

func TestTheDrainOfADeployedGameServerGoesWithIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16)
	b.Exec("SELECT ops.drain('a')")
	b.Exec("UPDATE instances SET status = 'gone', ended_at = now() - interval '2 days', deployment_id = gen_random_uuid()")
	_, err := b.ForgetInstances(t.Context(), "eu", 24*time.Hour, 10)
	require.NoError(t, err)
	require.Empty(t, storetest.Values[string](b.DB, "SELECT value FROM ops.drains"))
}

func TestDrainsOfGroupsRefuseWhatIsNone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for call, want := range map[string]string{
		"drain_host('')": "host must be the host of an endpoint", "drain_host(NULL)": "host must be",
		"undrain_host(' ')":           "host must be",
		"drain_host('10.0.0.7:7777')": "without its port", "drain_label('rack')": "label must be key=value",
		"undrain_label('=7')": "label must be key=value",
	} {
		_, err := b.Pool().Exec(t.Context(), "SELECT ops."+call)
		require.ErrorContains(t, err, want, call)
	}
}

func TestHostsOfEndpoints(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for endpoint, want := range map[string]string{
		"10.0.0.7:7777": "10.0.0.7", "[2001:DB8::7]:7777": "2001:db8::7", "EU-7.example.com:1": "eu-7.example.com",
		"wss://eu-7.example.com/play":        "eu-7.example.com",
		"wss://u:p@eu-7.example.com:443/a:b": "eu-7.example.com", "ws://[::1]:80": "::1", "tcp://a?x=y": "a",
	} {
		require.Equal(t, want, one[string](b, "SELECT endpoint_host($1)", endpoint), endpoint)
	}
}

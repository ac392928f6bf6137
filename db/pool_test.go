package db_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/token/netcode"
)

// arenaVersion returns an app version of which servers can be started.
func arenaVersion(version string) provision.AppVersion {
	return provision.AppVersion{
		App: "arena", Version: version, Provider: "process", Launch: "arena",
		Ports: []provision.AppPort{{Name: "game", Protocol: provider.UDP}},
		Modes: []string{"duel", "solo"}, Capacity: 8, MaxPlayers: 2,
	}
}

func euPool(version string, modes ...string) provision.Pool {
	return provision.Pool{Region: "eu", App: "arena", Version: version, Max: 10, Modes: modes}
}

func (b *bundle) declare(apps []provision.AppVersion, pools ...provision.Pool) provision.PoolChanges {
	b.t.Helper()
	done := must.Get(b.Declare(b.t.Context(), db.Declaration{Author: "ci", AppVersions: apps, Pools: pools}))(b.t)
	return done.Provisioned
}

// refused returns the error of a declaration that is not applied.
func (b *bundle) refused(kind fault.Kind, apps []provision.AppVersion, pools ...provision.Pool) *fault.Error {
	b.t.Helper()
	_, err := b.Declare(b.t.Context(), db.Declaration{AppVersions: apps, Pools: pools})
	return requireFault(b.t, kind, err)
}

// deploy inserts a deployment in a phase, and an instance of it where that has one.
func (b *bundle) deployed(version, phase string) (id string) {
	b.t.Helper()
	id = uuid.NewString()
	b.AddDeployment(uuid.MustParse(id), map[string]any{"version": version, "phase": phase, "intent_at": time.Now(), "ref": id, "endpoint": "x:1", "incarnation": uuid.New()})
	if phase == "ready" {
		b.AddServer(id, 8)
		b.Exec("UPDATE instances SET deployment_id = id::uuid WHERE id = $1", id)
	}
	return id
}

// failing makes version v1 pause in two regions, after failures and for lack of capacity.
const failing = `INSERT INTO start_pauses (region, app, version, cause, count, until, reason)
	SELECT r, 'arena', 'v1', c, 3, now() + interval '1 hour', 'x' FROM unnest('{eu,us}'::text[]) r, unnest('{failures,capacity}'::text[]) c`

func TestDeclarePoolsReadsBackWhatWasDeclared(t *testing.T) {
	t.Parallel()
	b := setup(t)
	three := 3
	v := arenaVersion("v1")
	v.MaxSessions, v.Env, v.CPUUnits, v.MemoryMiB = &three, map[string]string{"LOG": "debug"}, 512, 256
	v.Dialect, v.ProtocolID, v.DigestRequired, v.Compat = netcode.LightyearLE, 1<<63+1, true, provision.CompatArbitrium
	p := euPool("v1", "solo", "duel")
	p.Min, p.Buffer, p.BufferPercent, p.MaxStarting, p.EmptyTTL = 1, 20, true, 5, time.Minute
	p.Coords, p.Networks = &provider.Coords{Latitude: 52.5,
		Longitude: 13.4}, []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")}

	done := b.declare([]provision.AppVersion{v}, p)
	require.Equal(t, []provision.PoolChange{{App: "arena", Version: "v1", Change: "created"}}, done.AppChanges)
	require.Equal(t, []provision.PoolChange{{Region: "eu", App: "arena", Version: "v1", Change: "created"}},
		done.PoolChanges)
	require.Equal(t, "unchanged", b.declare([]provision.AppVersion{v}, p).PoolChanges[0].Change)

	stored, err := b.FindAppVersion(t.Context(), "arena", "v1")
	require.NoError(t, err)
	v.GamePort, v.Endpoint, v.StartWithin, v.RegisterWithin = "game", "{ip}:{port}", 3*time.Minute, time.Minute
	v.Grace, v.MaxLifetime, v.DrainAhead, v.AppliedAt = 30*time.Second, 24*time.Hour, time.Hour, stored.AppliedAt
	require.Equal(t, v, stored)

	pools, err := b.Pools(t.Context(), "eu")
	require.NoError(t, err)
	p.Modes, p.Zone = []string{"duel", "solo"}, "UTC"
	require.Equal(t, []provision.Pool{p}, pools)
	require.Equal(t, 2, one[int](b, "SELECT count(*) FROM events WHERE actor = 'ci' AND kind IN ('app_version.applied', 'pool.applied')"))
}

func TestDeclarePoolsIsAllOrNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.declare([]provision.AppVersion{arenaVersion("v1")}, euPool("v1", "duel"))
	e := b.refused(fault.Conflict, []provision.AppVersion{arenaVersion("v2")},
		provision.Pool{Region: "us", App: "arena", Version: "v2", Max: 1}, euPool("v2", "solo", "duel"))
	require.Equal(t, "pools[1].modes", e.Field)
	require.Contains(t, e.Detail, "belongs to pool arena/v1")
	_, err := b.FindAppVersion(t.Context(), "arena", "v2")
	require.True(t, fault.Is(err, fault.NotFound))
}

func TestDeclarePoolsKeepsWhatServersDependOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.declare([]provision.AppVersion{arenaVersion("v1")}, euPool("v1", "duel"))
	larger := arenaVersion("v1")
	larger.Capacity = 16
	// no server was started
	require.Equal(t, []string{"capacity"}, b.declare([]provision.AppVersion{larger}).AppChanges[0].ChangedFields)

	b.Exec("UPDATE app_versions SET used_at = now()")
	b.Exec(failing)
	e := b.refused(fault.Conflict, []provision.AppVersion{arenaVersion("v1")})
	require.Equal(t, "apps[0].capacity", e.Field)
	larger.Grace = time.Minute
	require.Equal(t, []string{"grace"}, b.declare([]provision.AppVersion{larger}).AppChanges[0].ChangedFields)
	require.Zero(t, one[int](b, "SELECT count(*) FROM start_pauses"), "a change ends the pauses of all regions")
	larger.Fallback = &provision.AppFallback{Provider: "agones", Launch: "fleet"}
	require.Equal(t, []string{"fallback"}, b.declare([]provision.AppVersion{larger}).AppChanges[0].ChangedFields,
		"an outage of the provider is the time to add one")
	v, err := b.FindAppVersion(t.Context(), "arena", "v1")
	require.NoError(t, err)
	require.Equal(t, larger.Fallback, v.Fallback)
}

func TestFallbacksThatCannotStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for field, f := range map[string]provision.AppFallback{
		"apps[0].fallback.provider": {Provider: "shop", Launch: "a"}, "apps[0].fallback.launch": {Provider: "agones"},
		"apps[0].fallback.launch_version": {Provider: "agones", Launch: "a", LaunchVersion: "a b"},
		"apps[0].fallback.provider ":      {Provider: "manual", Launch: "a"},
		"apps[0].fallback.provider  ":     {Provider: arenaVersion("v1").Provider, Launch: "a"},
	} {
		v := arenaVersion("v1")
		v.Fallback = &f
		require.Equal(t, strings.TrimSpace(field), b.refused(fault.Invalid, []provision.AppVersion{v}).Field)
	}
}

// Pins a document that moves a mode between its pools, whose order decided whether it was applied.
func TestDeclarePoolsMovesAModeBetweenPoolsWithoutServers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v1, v2 := arenaVersion("v1"), arenaVersion("v2")
	b.declare([]provision.AppVersion{v1, v2}, euPool("v1"),
		provision.Pool{Region: "eu", App: "arena", Version: "v2", Modes: []string{}})
	b.declare(nil, euPool("v2"), provision.Pool{Region: "eu", App: "arena", Version: "v1", Modes: []string{}})
	require.Equal(t, 2, one[int](b, "SELECT count(*) FROM pool_modes WHERE version = 'v2'"))
	e := b.refused(fault.Conflict, nil, euPool("v1"))
	require.Contains(t, e.Detail, "belongs to pool arena/v2")
}

func TestDeclarePoolsDryRunWritesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	done, err := b.Declare(t.Context(), db.Declaration{AppVersions: []provision.AppVersion{arenaVersion("v1")},
		Pools: []provision.Pool{euPool("v1", "duel")}, DryRun: true})
	require.NoError(t, err)
	require.Equal(t, "created", done.Provisioned.PoolChanges[0].Change)
	require.Zero(t, one[int](b, "SELECT count(*) FROM app_versions"))
}

func TestDeclarePoolsRefusesToTakeAModeFromServers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.declare([]provision.AppVersion{arenaVersion("v1")}, euPool("v1", "duel", "solo"))
	id := b.deployed("v1", "starting")
	e := b.refused(fault.Conflict, nil, euPool("v1", "solo"))
	require.Equal(t, "pools[0].modes", e.Field)
	b.Exec("UPDATE deployments SET desired = 'stopped', phase = 'stopping' WHERE id = $1::uuid", id)
	b.declare(nil, euPool("v1", "solo"))
}

func TestCheckPoolsNamesTheValue(t *testing.T) {
	t.Parallel()
	for path, change := range map[string]func(*provision.AppVersion, *provision.Pool){
		"apps[0].app":               func(v *provision.AppVersion, p *provision.Pool) { v.App = " x"; p.App = "arena" },
		"apps[0].provider":          func(v *provision.AppVersion, _ *provision.Pool) { v.Provider = "lambda" },
		"apps[0].launch":            func(v *provision.AppVersion, _ *provision.Pool) { v.Launch = "rm -rf" },
		"apps[0].ports":             func(v *provision.AppVersion, _ *provision.Pool) { v.Ports = nil },
		"apps[0].ports[0].protocol": func(v *provision.AppVersion, _ *provision.Pool) { v.Ports[0].Protocol = "sctp" },
		"apps[0].ports[1].name": func(v *provision.AppVersion, _ *provision.Pool) {
			v.Ports, v.GamePort = append(v.Ports, v.Ports[0]), "game"
		},
		"apps[0].ports[0].internal": func(v *provision.AppVersion, _ *provision.Pool) { v.Provider = "docker" },
		"apps[0].game_port":         func(v *provision.AppVersion, _ *provision.Pool) { v.GamePort = "web" },
		"apps[0].endpoint":          func(v *provision.AppVersion, _ *provision.Pool) { v.Endpoint = "{host}:1" },
		"apps[0].modes":             func(v *provision.AppVersion, p *provision.Pool) { v.Modes, p.Modes = nil, nil },
		"apps[0].modes[1]": func(v *provision.AppVersion,
			_ *provision.Pool) {
			v.Modes = []string{"duel", "duel"}
		},
		"apps[0].capacity": func(v *provision.AppVersion, _ *provision.Pool) { v.Capacity = 1 },
		"apps[0].env.FLEET_TOKEN": func(v *provision.AppVersion,
			_ *provision.Pool) {
			v.Env = map[string]string{"FLEET_TOKEN": "x"}
		},
		"apps[0].env.A": func(v *provision.AppVersion, _ *provision.Pool) {
			v.Env = map[string]string{"A": string(make([]byte, 4097))}
		},
		"apps[0].max_lifetime": func(v *provision.AppVersion, _ *provision.Pool) {
			v.Provider, v.Ports[0].Internal, v.MaxLifetime = "edgegap", 1, 25*time.Hour
		},
		"apps[0].drain_ahead":     func(v *provision.AppVersion, _ *provision.Pool) { v.DrainAhead = 24 * time.Hour },
		"apps[0].netcode.dialect": func(v *provision.AppVersion, _ *provision.Pool) { v.Dialect = "netcode103" },
		"apps[0].compat":          func(v *provision.AppVersion, _ *provision.Pool) { v.Compat = "arbitrum" },
		"apps[0].env.NATS_HOST": func(v *provision.AppVersion, _ *provision.Pool) {
			v.Compat, v.Dialect, v.ProtocolID = provision.CompatBevygap, netcode.LightyearLE, 1
			v.Env = map[string]string{"NATS_HOST": "mine"}
		},
		"pools[0].region": func(_ *provision.AppVersion, p *provision.Pool) { p.Region = "EU" },
		"pools[0].min":    func(_ *provision.AppVersion, p *provision.Pool) { p.Min = 11 },
		"pools[0].max":    func(_ *provision.AppVersion, p *provision.Pool) { p.Max = -1 },
		"pools[0].buffer": func(_ *provision.AppVersion,
			p *provision.Pool) {
			p.Buffer, p.BufferPercent = 100, true
		},
		"pools[0].coordinates": func(_ *provision.AppVersion,
			p *provision.Pool) {
			p.Coords = &provider.Coords{Latitude: 91}
		},
		"pools[0].networks[0]": func(_ *provision.AppVersion, p *provision.Pool) {
			p.Networks = []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")}
		},
		"pools[0].modes": func(_ *provision.AppVersion, p *provision.Pool) { p.Modes = []string{"ranked"} },
	} {
		v, p := arenaVersion("v1"), euPool("v1", "duel")
		change(&v, &p)
		wrong := provision.CheckPools([]provision.AppVersion{v}, []provision.Pool{p})
		require.Len(t, wrong, 1, "%s: %v", path, wrong)
		require.Equal(t, path, wrong[0].Path, "%v", wrong)
	}
	v := arenaVersion("v1") // its players are known by connect tokens alone
	v.Compat = provision.CompatBevygap
	require.Equal(t, "apps[0].netcode.dialect", provision.CheckPools([]provision.AppVersion{v}, nil)[0].Path)
	v.Compat, v.Env = "", map[string]string{"NATS_HOST": "of the game"}
	require.Empty(t, provision.CheckPools([]provision.AppVersion{v}, nil))
	wrong := provision.CheckPools([]provision.AppVersion{arenaVersion("v1"), arenaVersion("v2")},
		[]provision.Pool{euPool("v1", "duel"), euPool("v2", "duel")})
	require.Len(t, wrong, 1)
	require.Equal(t, "pools[1].modes", wrong[0].Path)
}

func TestScalePauseAndResumePool(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.declare([]provision.AppVersion{arenaVersion("v1")}, euPool("v1", "duel"))
	edit := provision.PoolEdit{Region: "eu", App: "arena", Version: "v1", Author: "ann", Reason: "launch day"}
	two, eleven := 2, 11
	p, err := b.ScalePool(t.Context(), edit, provision.PoolScale{Min: &two})
	require.NoError(t, err)
	require.Equal(t, []int{2, 10}, []int{p.Min, p.Max})
	_, err = b.ScalePool(t.Context(), edit, provision.PoolScale{Min: &eleven})
	require.True(t, fault.Is(err, fault.Invalid), "%v", err)

	_, err = b.PausePool(t.Context(), edit, provision.Forever())
	require.NoError(t, err)
	pools, err := b.Pools(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, provision.Forever(), pools[0].PausedUntil.UTC())
	require.Equal(t, "launch day", pools[0].PauseReason)

	b.Exec("UPDATE app_versions SET failures = 3, paused_until = now() + interval '1 hour', pause_reason = 'by a worker of the release before'")
	b.Exec(failing)
	_, err = b.ResumePool(t.Context(), edit)
	require.NoError(t, err)
	require.Equal(t, 0, one[int](b, "SELECT count(*) FROM pools p, app_versions v WHERE p.paused_until IS NOT NULL OR v.paused_until IS NOT NULL OR v.failures > 0"))
	require.Equal(t, "us", one[string](b, "SELECT string_agg(DISTINCT region, ' ') FROM start_pauses"),
		"the other region's pool was not resumed")
	require.Equal(t, "ann", one[string](b,
		"SELECT actor FROM events WHERE kind = 'pool.scaled' AND detail ->> 'reason' = 'launch day'"))

	edit.Version = "v2"
	_, err = b.ResumePool(t.Context(), edit)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
}

func TestRollPoolMovesModesAndDrains(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.declare([]provision.AppVersion{arenaVersion("v1"), arenaVersion("v2")}, euPool("v1", "duel", "solo"))
	ready, starting, stopping := b.deployed("v1", "ready"), b.deployed("v1", "starting"), b.deployed("v1", "stopping")

	edit := provision.PoolEdit{Region: "eu", App: "arena", Version: "v1"}
	done, err := b.RollPool(t.Context(), edit, "v2")
	require.NoError(t, err)
	require.Equal(t, provision.PoolRoll{NewPool: done.NewPool, MovedModes: []string{"duel", "solo"}, DrainedServers: 2},
		done)
	require.Equal(t, 2, one[int](b, "SELECT count(*) FROM pool_modes WHERE version = 'v2'"))
	require.Equal(t, "draining", one[string](b, "SELECT status FROM instances WHERE id = $1", ready))
	phase := func(id string) string {
		return one[string](b, "SELECT desired || ' ' || phase FROM deployments WHERE id = $1::uuid", id)
	}
	require.Equal(t, []string{"running draining", "stopped starting", "running stopping"},
		[]string{phase(ready), phase(starting), phase(stopping)})
	require.Equal(t, 0, one[int](b, "SELECT count(*) FROM instance_modes WHERE share_bucket < 99"))

	_, err = b.RollPool(t.Context(), edit, "v2")
	require.True(t, fault.Is(err, fault.Conflict), "%v", err) // no modes are left
	edit.Version = "v2"
	_, err = b.RollPool(t.Context(), edit, "v1") // back
	require.NoError(t, err)
	_, err = b.RollPool(t.Context(), edit, "v3")
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
}

func TestDeletePool(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.declare([]provision.AppVersion{arenaVersion("v1"), arenaVersion("v2")}, euPool("v1", "duel"),
		euPool("v2", "solo"))
	b.deployed("v1", "ready")
	for version, kept := range map[string]int{"v1": 1, "v2": 0} {
		_, err := b.DeletePool(t.Context(), provision.PoolEdit{Region: "eu", App: "arena", Version: version})
		require.NoError(t, err)
		require.Equal(t, kept, one[int](b, "SELECT count(*) FROM app_versions WHERE version = $1", version))
	}
	require.Zero(t, one[int](b, "SELECT count(*) FROM pools"))
}

package db_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/variant"
)

// everyKind declares a profile, an app version with a pool, and a project.
func everyKind(change ...func(*db.Declaration)) db.Declaration {
	return variant.Apply(db.Declaration{
		Universe: "global", Author: "ci", Reason: "commit 1",
		Profiles:    []db.DeclaredProfile{{Document: duelProfile(100)}},
		AppVersions: []provision.AppVersion{arenaVersion("v1")},
		Pools:       []provision.Pool{euPool("v1", "duel")},
		Projects:    []db.NewProject{{ID: "lobby", Name: "Lobby", Region: "eu"}},
	}, change...)
}

// words returns what became of each thing, in the order of the outcome.
func words(done db.DeclarationOutcome) string {
	var all []string
	for _, p := range done.Profiles {
		all = append(all, p.Declared.Name+" "+p.Change)
	}
	for _, c := range done.Provisioned.AppChanges {
		all = append(all, c.Version+" "+c.Change)
	}
	for _, c := range done.Provisioned.PoolChanges {
		all = append(all, c.Region+"/"+c.Version+" "+c.Change)
	}
	for _, p := range done.Projects {
		all = append(all, p.ID+" "+p.Change)
	}
	return strings.Join(all, ", ")
}

func (b *bundle) declareAll(d db.Declaration) string {
	b.t.Helper()
	done := must.Get(b.Declare(b.t.Context(), d))(b.t)
	return words(done)
}

// written counts what declarations leave in the database.
const written = `SELECT (SELECT count(*) FROM profile_versions) + (SELECT count(*) FROM app_versions) + (SELECT count(*) FROM pools) +
	(SELECT count(*) FROM projects) + (SELECT count(*) FROM events)`

// Pins a pipeline that writes versions and events on each run, and a dry run that says something else than the run.
func TestDeclareIsIdempotent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dry := everyKind(func(d *db.Declaration) { d.DryRun = true })
	const created = "duel created, v1 created, eu/v1 created, lobby created"
	require.Equal(t, created, b.declareAll(dry))
	require.Zero(t, one[int](b, written), "a dry run writes nothing")
	require.Equal(t, created, b.declareAll(everyKind()))
	before := one[int](b, written)
	require.Equal(t, 8, before, "each with its event")
	require.Equal(t, 4, one[int](b, "SELECT count(*) FROM events WHERE actor = 'ci'"))
	const unchanged = "duel unchanged, v1 unchanged, eu/v1 unchanged, lobby unchanged"
	require.Equal(t, unchanged, b.declareAll(everyKind()))
	require.Equal(t, unchanged, b.declareAll(dry))
	require.Equal(t, before, one[int](b, written))

	changed := everyKind(func(d *db.Declaration) {
		d.Profiles[0].Document = duelProfile(150)
		d.AppVersions[0].Capacity, d.Pools[0].Max, d.Projects[0].Name = 16, 20, "Town"
	})
	require.Equal(t, "duel changed, v1 changed, eu/v1 changed, lobby changed", b.declareAll(changed))
	require.Equal(t, "Town", one[string](b, "SELECT name FROM projects"))
	require.Equal(t, "Lobby", one[string](b, "SELECT detail->>'before' FROM events WHERE kind = 'project.renamed'"))
}

// Pins a declaration of which a part is applied: each of these is refused after the others would have been written.
func TestDeclareIsAllOrNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *db.Config) { c.Timing.PendingFor = 20 * time.Second })
	b.declareAll(everyKind())
	before := one[int](b, written)
	for field, wrong := range map[string]func(*db.Declaration){
		"profiles[1].accept.within": func(d *db.Declaration) {
			d.Profiles = append(d.Profiles,
				db.DeclaredProfile{Document: []byte("name: slow\nteams: [{name: a, players: 2}]\naccept: {within: 15s}\n")})
		},
		"profiles[0]":      func(d *db.Declaration) { d.Profiles[0].ExpectedVersion = new(7) },
		"apps[0].launch":   func(d *db.Declaration) { d.AppVersions[0].Launch = "" },
		"apps[0].capacity": func(*db.Declaration) { b.Exec("UPDATE app_versions SET used_at = now()") }, // after all else was written
		"pools[1].modes": func(d *db.Declaration) {
			d.AppVersions, d.Pools = append(d.AppVersions, arenaVersion("v2")), append(d.Pools, euPool("v2", "duel"))
		},
		"projects[0].region": func(d *db.Declaration) { d.Projects[0].Region = "us" },
		"projects[1].id": func(d *db.Declaration) {
			d.Projects = append(d.Projects, db.NewProject{ID: "a b", Name: "x", Region: "eu"})
		},
		"projects[1].name": func(d *db.Declaration) {
			d.Projects = append(d.Projects,
				db.NewProject{ID: "a", Region: "eu"})
		},
		"reason": func(d *db.Declaration) { d.Reason = strings.Repeat("x", 501) },
	} {
		d := everyKind(func(d *db.Declaration) { d.AppVersions[0].Capacity = 16; d.Profiles[0].Document = duelProfile(175) }, wrong)
		_, err := b.Declare(t.Context(), d)
		b.Exec("UPDATE app_versions SET used_at = NULL")
		var refused *fault.Error
		require.ErrorAs(t, err, &refused, field)
		require.Equal(t, field, refused.Field, "%v", err)
		require.Equal(t, before, one[int](b, written), field)
		require.Equal(t, 8, one[int](b, "SELECT capacity FROM app_versions"), field)
	}
}

// Pins a file that is gone and takes the servers, the tickets or the rooms of players along.
func TestPruneRemovesWhatNobodyUses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.EnsureRealtimeProfiles(t.Context(), "global"))
	b.declareAll(everyKind(func(d *db.Declaration) {
		d.AppVersions = append(d.AppVersions, arenaVersion("v2"), arenaVersion("v3"), arenaVersion("v4"))
		d.Pools = append(d.Pools, euPool("v2", "solo"),
			provision.Pool{Region: "us", App: "arena", Version: "v3", Max: 1, Modes: []string{}})
		d.Profiles = append(d.Profiles, db.DeclaredProfile{Document: []byte("name: event\nteams: [{name: a, players: 2}]\n")},
			db.DeclaredProfile{Document: []byte("name: gone\nteams: [{name: a, players: 2}]\n")})
		d.Projects = append(d.Projects, db.NewProject{ID: "old", Name: "old", Region: "us"})
	}))
	b.deployed("v2", "ready")
	b.Exec("INSERT INTO ticket_players (region, sub, ticket_id, profile, request_hash) VALUES ('global', 'ada', 't1', 'event', '')")

	everything := func(d *db.Declaration) {
		d.Prune = db.Prune{Profiles: true, Apps: true, Pools: true,
			Projects: true}
	}
	dry := everyKind(everything, func(d *db.Declaration) { d.DryRun = true })
	const pruned = "duel unchanged, event kept, gone retired, v1 unchanged, v2 kept, v3 deleted, v4 deleted, " +
		"eu/v1 unchanged, eu/v2 kept, us/v3 deleted, lobby unchanged, old kept"
	require.Equal(t, pruned, b.declareAll(dry))
	require.Equal(t, 3, one[int](b, "SELECT count(*) FROM pools"))
	done, err := b.Declare(t.Context(), everyKind(everything))
	require.NoError(t, err)
	require.Equal(t, pruned, words(done))
	require.Equal(t, "tickets wait for it (1): 'director profiles retire event' cancels those that name no other profile", done.Profiles[1].Reason)
	require.Equal(t, "pool eu/arena/v2 starts servers of it", done.Provisioned.AppChanges[1].Reason)
	require.Equal(t, "it has servers (1): 'director pools delete eu/arena/v2' drains them",
		done.Provisioned.PoolChanges[1].Reason)
	require.NotEmpty(t, done.Projects[1].Reason)

	require.Equal(t, 2, one[int](b, "SELECT count(*) FROM pools"))
	require.Equal(t, "v1,v2", one[string](b, "SELECT string_agg(version, ',' ORDER BY version) FROM app_versions"))
	require.Equal(t, "gone", one[string](b, "SELECT string_agg(name, ',') FROM profiles WHERE retired_at IS NOT NULL"))
	require.Equal(t, 2, one[int](b, "SELECT count(*) FROM projects"))
	require.Equal(t, 2, one[int](b, "SELECT count(*) FROM events WHERE kind = 'app_version.deleted' AND actor = 'ci'"))
	require.Equal(t, strings.NewReplacer("gone retired, ", "", "v3 deleted, v4 deleted, ", "", "us/v3 deleted, ",
		"").Replace(pruned),
		b.declareAll(everyKind(everything)), "again changes nothing")

	b.Exec("UPDATE deployments SET phase = 'draining'") // it ends, and is still a server of the app version
	require.Contains(t, b.declareAll(everyKind(everything)), "v2 kept, eu/v1 unchanged, eu/v2 deleted")
	require.Equal(t, 1, one[int](b, "SELECT count(*) FROM deployments"))
}

// Pins a mode that cannot move to a new version because of a pool that the same declaration removes.
func TestAPrunedPoolReleasesItsModes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.declareAll(everyKind())
	next := db.Declaration{AppVersions: []provision.AppVersion{arenaVersion("v2")},
		Pools: []provision.Pool{euPool("v2", "duel")}}
	_, err := b.Declare(t.Context(), next)
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
	next.Prune = db.Prune{Apps: true, Pools: true}
	require.Equal(t, "v2 created, v1 deleted, eu/v2 created, eu/v1 deleted", b.declareAll(next))
	require.Equal(t, "v2", one[string](b, "SELECT version FROM pool_modes WHERE mode = 'duel'"))
}

// Pins two pipelines that apply one commit at the same time, and both write it, or lock each other out.
func TestDeclarationsComeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*db.Declaration){
		"duel %s, v1 %[1]s, eu/v1 %[1]s, lobby %[1]s": func(d *db.Declaration) {
			d.Prune = db.Prune{Profiles: true, Apps: true, Pools: true, Projects: true}
		},
		"lobby %s":           func(d *db.Declaration) { d.Profiles, d.AppVersions, d.Pools = nil, nil, nil },
		"v1 %s, eu/v1 %[1]s": func(d *db.Declaration) { d.Profiles, d.Projects = nil, nil },
	} {
		b := setup(t)
		const pipelines = 6
		outcomes := make(chan string, pipelines)
		for range pipelines {
			go func() {
				done, err := b.Declare(t.Context(), everyKind(change))
				if err != nil {
					outcomes <- err.Error()
					return
				}
				outcomes <- words(done)
			}()
		}
		count := map[string]int{}
		for range pipelines {
			count[<-outcomes]++
		}
		require.Equal(t, map[string]int{fmt.Sprintf(want, "created"): 1, fmt.Sprintf(want, "unchanged"): pipelines - 1},
			count)
	}
}

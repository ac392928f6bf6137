package declaration_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/declaration"
	"github.com/lattice-director/director/internal/testkit/must"
)

const (
	duel = "name: duel\nteams: [{name: a, players: 2}]\naccept: {within: 20s}\n"
	apps = "apps:\n  - {app: arena, version: v1, provider: manual, launch: arena, modes: [duel], capacity: 8, max_players: 2}\n"
	eu   = "pools:\n  - {region: eu, app: arena, version: v1, max: 10}\n"
	town = "projects:\n  - {id: town}\n"
)

// write makes a directory with files.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// parse reads a directory. Problems begin with names below it.
func parse(t *testing.T, files map[string]string) (set *declaration.Set, problems []string) {
	t.Helper()
	dir := write(t, files)
	sources := must.Get(declaration.Sources([]string{dir}, nil))(t)
	set = declaration.Parse(sources, declaration.Options{ProjectRegion: "us"})
	for _, p := range set.Problems() {
		problems = append(problems, strings.TrimPrefix(p, dir+"/"))
	}
	return set, problems
}

func TestADirectoryIsOneDeclaration(t *testing.T) {
	t.Parallel()
	set, problems := parse(t, map[string]string{
		"apps.yaml": apps, "pools/eu.yml": eu, "profiles/duel.yaml": duel, "README.md": "no: [",
		"profiles/solo.json": "{\n\t\"name\": \"solo\",\n\t\"teams\": [{\"name\": \"a\", \"players\": 1}]\n}\n",
		".git/config.yaml":   "no: [", ".hidden.yaml": "no: [", "lobby.yaml": town,
	})
	require.Empty(t, problems)
	d := set.Declaration()
	require.Len(t, d.Profiles, 2)
	require.Equal(t, "v1", d.AppVersions[0].Version)
	require.Equal(t, "eu", d.Pools[0].Region)
	require.Equal(t, []db.NewProject{{ID: "town", Name: "town", Region: "us"}}, d.Projects)
	require.Equal(t, "eu.yml", filepath.Base(set.FileOf("pools", 0)))
	require.Equal(t, db.Prune{Profiles: true, Apps: true, Pools: true, Projects: true}, set.Prune())
}

// Pins a directory of profiles that deletes the pools which another directory declares.
func TestOnlyKindsThatAreDeclaredArePruned(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]db.Prune{
		duel: {Profiles: true}, apps: {Apps: true}, "pools: []\n": {Pools: true}, town: {Projects: true},
		apps + "pools: []\n": {Apps: true, Pools: true},
	} {
		set, problems := parse(t, map[string]string{"a.yaml": text})
		require.Empty(t, problems)
		require.Equal(t, want, set.Prune(), text)
	}
}

// Pins an error that names no file, or that names the place in another file than the one with the mistake.
func TestProblemsNameFileLineAndField(t *testing.T) {
	t.Parallel()
	for want, files := range map[string]map[string]string{
		"b.yaml:2:41: apps[0].provider: \"shop\" must be": {"a.yaml": apps,
			"b.yaml": strings.Replace(apps, "manual, launch: arena",
				"shop, launch: arena, ports: [{name: game, protocol: udp}]", 1)},
		"b.yaml:2:27: apps[0].version: app version arena/v1 occurs twice": {"a.yaml": apps, "b.yaml": apps},
		"b.yaml:2:39: pools[0].version: pool arena/v1 of region eu":       {"a.yaml": apps + eu, "b.yaml": eu},
		"c.yaml:3:58: pools[1].modes: app version arena/v1 does not": {"b.yaml": apps,
			"c.yaml": strings.Replace(eu, "eu,", "us,", 1) +
				"  - {region: eu, app: arena, version: v1, max: 1, modes: [solo]}\n"},
		"b.yaml:1:7: name: profile duel is declared in":            {"a.yaml": duel, "b.yaml": duel},
		"b.yaml:2:10: projects[0].id: project town is declared in": {"a.yaml": town, "b.yaml": town},
		"b.yaml:2:5: projects[0].id: id must have 1 to 128 bytes":  {"b.yaml": "projects:\n  - {name: town}\n"},
		"b.yaml:1:17: projects[0].id: id must have 1 to 128 bytes": {"b.yaml": "projects: [{id: a b}]"},
		"b.yaml:2:30: teams[0].players: ":                          {"b.yaml": "name: duel\nteams: [{name: red, players: none}]\n"},
		"b.yaml:1:1: this is neither a profile":                    {"b.yaml": "kind: Kustomization\n"},
		"b.yaml:1:1: the document is empty":                        {"b.yaml": "# nothing\n"},
		"b.yaml:5:1: this begins a second document":                {"b.yaml": duel + "---\n" + duel},
		"b.yaml:1:1: this is neither a profile, which has a name":  {"b.yaml": "- a\n"},
	} {
		_, problems := parse(t, files)
		require.NotEmpty(t, problems, want)
		if !strings.HasPrefix(problems[0], want) {
			t.Errorf("\nwant %s\ngot  %s", want, problems[0])
		}
	}
}

// Pins a refusal of the database that nobody can find in the files.
func TestLocateFindsValuesThatTheDatabaseRefuses(t *testing.T) {
	t.Parallel()
	set, problems := parse(t, map[string]string{"a.yaml": apps + eu,
		"b.yaml": strings.Replace(eu, "eu", "us", 1) + town, "c.yaml": duel})
	require.Empty(t, problems)
	for field, want := range map[string]string{
		"profiles[0].accept.within": "c.yaml:3:18: accept.within: no",
		"pools[1].modes":            "b.yaml:2:5: pools[0].modes: no",
		"apps[0].capacity":          "a.yaml:2:", "projects[0].region": "b.yaml:4:5: projects[0].region: no",
		"profiles[0]": "c.yaml:1:1: no",
	} {
		err := set.Locate(&fault.Error{Kind: fault.Conflict, Detail: "no", Field: field})
		require.ErrorContains(t, err, want)
	}
	other := &fault.Error{Kind: fault.Invalid, Detail: "no", Field: "reason"}
	require.Equal(t, error(other), set.Locate(other))
}

func TestSourcesRefuseWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"README.md": ""})
	_, err := declaration.Sources([]string{dir}, nil)
	require.ErrorContains(t, err, "has no file whose name ends in .yaml, .yml or .json")
	_, err = declaration.Sources([]string{filepath.Join(dir, "no.yaml")}, nil)
	require.ErrorIs(t, err, os.ErrNotExist)

	// as Kubernetes mounts a ConfigMap
	data := write(t, map[string]string{"..2026/duel.yaml": duel})
	require.NoError(t, os.Symlink("..2026", filepath.Join(data, "..data")))
	require.NoError(t, os.Symlink("..data/duel.yaml", filepath.Join(data, "duel.yaml")))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(data, link))
	sources, err := declaration.Sources([]string{link}, nil)
	require.NoError(t, err)
	require.Equal(t, []declaration.Source{{File: filepath.Join(link, "duel.yaml"), Text: []byte(duel)}}, sources)

	sources, err = declaration.Sources([]string{"-"}, strings.NewReader(strings.Repeat("x", 1<<20)))
	require.NoError(t, err)
	require.Len(t, declaration.Parse(sources, declaration.Options{}).Problems(), 1)
}

// Pins a directory that is read whole, however much it has.
func TestADeclarationIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large := bytes.Repeat([]byte("# a line\n"), 25<<10)
	for n := range 160 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.yaml", n)), large, 0o600))
	}
	_, err := declaration.Sources([]string{dir}, nil)
	require.ErrorContains(t, err, "4096 and 32 MiB are allowed in all")
}

package upgrade

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/test/rigtest"
)

const (
	pollEvery   = 100 * time.Millisecond
	counterRoom = rigtest.CounterRoom + ":default"
)

// profiles are what the loop matches by: players' own tickets, and those of Open Match's frontends.
var profiles = []string{
	"name: duel\nmode: duel\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\n",
	"name: open\nmode: duel\npool: {tags: [red]}\nteams: [{name: all, players: 2}]\n",
}

// The working tree's release replaces the last one under load, step by step as docs/how-to/upgrade.md says, and back,
// and again. No request needs more than the documented retries, and nothing that was acknowledged is lost.
func TestReleasesRunSideBySide(t *testing.T) {
	t.Parallel()
	lastRelease, workingTree := must.Get(buildLastRelease())(t), clitest.BuildDirector(t)
	s := newSite(t, lastRelease)
	l := newLoad(s.Rig)
	l.startPlayers()
	l.startFrontends(s.addrs("--grpc-addr")...)
	rooms := l.startRivalis(s.addrs("--orchestrator-addr")...)
	guests := s.NewCrowd(s.lobbies...)
	for n := range 4 {
		guests.AddGuest(s.lobbies[n%len(s.lobbies)], counterRoom)
	}
	awaitProgress := func() {
		l.awaitRounds(2)
		guests.AwaitCount(2, guests.Guests...)
	}
	l.addCaller("invariants", func(ctx context.Context, _ string) error {
		defer rigtest.PauseFor(ctx, 200*time.Millisecond)
		violated, err := s.Violations()
		if err != nil {
			return err
		}
		if len(violated) > 0 {
			return fmt.Errorf("violated: %v", violated)
		}
		return nil
	})
	awaitProgress()

	old := s.schemaVersion()
	s.BinaryPath = workingTree
	s.RunCommand("migrate", "up")
	migrated := s.schemaVersion()
	for _, replica := range s.replicas {
		s.AwaitReady(replica.Process)
	}
	t.Logf("the schema went from version %d to %d", old, migrated)
	awaitProgress()
	for _, bin := range []string{workingTree, lastRelease, workingTree} {
		s.BinaryPath = bin
		s.RunCommand("migrate", "up") // as a deployment of either release does
		require.Equal(t, migrated, s.schemaVersion())
		for n := range s.replicas {
			s.stop(s.replicas[n].Process)
			s.launch(n)
			awaitProgress()
		}
		s.stop(s.worker)
		s.worker = s.StartProcess("work")
		awaitProgress()
	}

	guests.EndAll()
	guests.RequireConverged(counterRoom, guests.ListMembers(counterRoom)...)
	// Every Rivalis game server is connected to a replica.
	s.AwaitTrue("SELECT count(*) = $1 FROM agent_states WHERE left_at IS NULL AND NOT doubted", len(rooms.agents))
	l.callers.End()
	l.requireKept(t)
	s.RequireInvariants()
}

// A schema that the last release cannot use has to fail the test above.
func TestABreakingMigrationIsNoticed(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestReleasesRunSideBySide")
	s := newSite(t, must.Get(buildLastRelease())(t))
	l := newLoad(s.Rig)
	l.startPlayers()
	l.awaitRounds(1)
	require.Empty(t, l.judge.firstFailures())
	s.ExecSQL("ALTER TABLE seats RENAME COLUMN party TO parties")
	require.Eventually(t, func() bool { return len(l.judge.firstFailures()) > 0 }, callTimeout, pollEvery, "%v", l.judge)
	s.ExecSQL("ALTER TABLE seats RENAME COLUMN parties TO party")
}

// site is an installation of two replicas, each with an address for every kind of caller, and a worker.
type site struct {
	*rigtest.Rig

	replicas []*replica
	worker   *rigtest.Process
	lobbies  []string // URLs
}

// replica is a place for a process: what replaces it listens at the same addresses.
type replica struct {
	*rigtest.Process

	addr  string
	faces []string // flags of its other listeners, each followed by its address
}

// newSite is an installation of one release.
func newSite(t *testing.T, bin string) *site {
	t.Helper()
	s := &site{Rig: rigtest.NewRigOfRelease(t, bin,
		slices.Concat(rigtest.LobbySettings(), rigtest.OrchestratorSettings(), []string{
			"DIRECTOR_ORCHESTRATOR_HEARTBEAT=500ms", "DIRECTOR_OM_PLAYER_ARG=player", "DIRECTOR_PLAYER_RATE=0",
			"DIRECTOR_SHUTDOWN_TIMEOUT=6s", // within half of it lobby connections are closed
		})...)}
	for n := range 2 {
		r := &replica{addr: rigtest.FreeAddr(t)}
		for _, flag := range []string{"--grpc-addr", "--orchestrator-addr", "--realtime-addr"} {
			r.faces = append(r.faces, flag, rigtest.FreeAddr(t))
		}
		s.replicas = append(s.replicas, r)
		s.launch(n)
		s.SetURLs(append(s.ReplicaURLs(), r.URL)...)
		s.lobbies = append(s.lobbies, "ws://"+s.addrs("--realtime-addr")[n])
	}
	s.worker = s.StartProcess("work")
	for _, document := range profiles {
		s.ApplyProfile(document)
	}
	return s
}

// launch starts the nth replica from the present binary, at its addresses.
func (s *site) launch(n int) {
	s.T.Helper()
	r := s.replicas[n]
	r.Process = s.StartReplica(r.addr, r.faces...)
	s.AwaitReady(r.Process)
}

// stop sends SIGTERM, as a service manager does; the process has to drain and to end without an error.
func (s *site) stop(p *rigtest.Process) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), callTimeout)
	defer cancel()
	require.NoError(s.T, p.Process.Stop(ctx))
}

// addrs returns the addresses of all replicas for a flag of faces.
func (s *site) addrs(flag string) (addrs []string) {
	for _, r := range s.replicas {
		addrs = append(addrs, r.faces[slices.Index(r.faces, flag)+1])
	}
	return addrs
}

func (s *site) schemaVersion() int64 {
	s.T.Helper()
	return rigtest.QueryOne[int64](s.Rig, "SELECT max(version_id) FROM goose_db_version WHERE is_applied")
}

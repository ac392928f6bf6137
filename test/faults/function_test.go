package faults

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/longtest"
)

// A worker is killed between the proposals of a profile's match function and their commit. The next owner frees the
// tickets that the dead one has marked, and nobody is seated twice.
func TestAWorkerDiesBetweenProposalAndCommit(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestTheLoopSurvivesAllFaults")
	l := newOMRig(t, 1)
	l.NextEnv = append(l.NextEnv, "DIRECTOR_OM_FUNCTIONS=127.0.0.1", "DIRECTOR_OM_PENDING_FOR=120s")
	l.ServeReplica("--grpc-addr", l.grpcAddrs[0])
	l.ApplyProfile(fmt.Sprintf("name: pairs\nmode: duel\nfunction: {host: 127.0.0.1, port: %d, type: grpc, every: 100ms}\n", l.function.GetPort()))

	worker := l.rig.StartProcess("work")
	for n := range 20 {
		l.QueueFor(fmt.Sprint("early-", n), "pairs")
	}
	// Without a game server the matches of the function wait, and keep their marks.
	l.AwaitTrue("SELECT count(*) = 20 FROM tickets WHERE pending_at IS NOT NULL")
	worker.Process.Kill()
	l.KeepAlive(time.Second, "a")
	worker = l.rig.StartProcess("work")
	l.AwaitTrue("SELECT count(*) = 20 FROM settled_tickets WHERE assignment IS NOT NULL")

	var players sync.WaitGroup
	players.Go(func() {
		for n := range 200 {
			l.QueueFor(fmt.Sprint("late-", n), "pairs")
			pause(t.Context(), 20*time.Millisecond)
		}
	})
	for range 6 {
		pause(t.Context(), 2*time.Second) // it takes the profile over, and is in the middle of its matches
		worker.Process.Kill()
		worker = l.rig.StartProcess("work")
	}
	players.Wait()
	l.AwaitTrue("SELECT count(*) = 220 FROM settled_tickets WHERE assignment IS NOT NULL")
	require.Equal(t, 220, one[int](l.rig, "SELECT count(DISTINCT sub) FROM seats"))
	require.Equal(t, 220, one[int](l.rig, "SELECT count(*) FROM seats"), "nobody has two seats")
	require.Equal(t, 110, one[int](l.rig, "SELECT count(*) FROM match_history"))
	l.RequireInvariants()
}

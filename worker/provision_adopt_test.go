package worker

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/provider"
)

// Pins a second Deploy after an answer that was lost.
func TestALostAnswerIsAdopted(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	w.lose = 1
	p := w.worker()
	ids := []uuid.UUID{}
	for range 20 {
		ids = append(ids, w.want())
	}
	w.step(p)
	w.lose = 0
	w.let(time.Minute, p)
	for _, id := range ids {
		w.join(id)
	}
	w.let(time.Minute, p)
	for _, id := range ids {
		require.Equal(t, "ready", w.phase(id))
	}
	require.Len(t, w.refs(), 20)
	for tag, n := range w.executed {
		require.Equal(t, 1, n, tag)
	}
	w.requireSame()
}

// A worker that is killed between the provider's answer and the commit.
func TestAKilledWorkersServerIsAdopted(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	w.kill = 1
	id := w.want()
	w.step(w.worker())
	require.Equal(t, "deploying", w.phase(id))
	w.kill = 0
	p := w.worker()
	w.let(44*time.Second, p)
	require.Equal(t, "deploying", w.phase(id), "the claim lasts three call timeouts")
	w.let(5*time.Second, p)
	require.Equal(t, "starting", w.phase(id))
	require.Equal(t, 1, w.count("deploy"))
	w.requireSame()
}

// A worker that is killed between the answer's ref and the decision, when the server has registered already and is
// ready.
func TestAServerIsReadyBeforeItsDeployIsDecided(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	id := w.want()
	w.step(p)
	w.join(id)
	w.Exec("UPDATE deployments SET phase = 'deploying', next_at = $1", w.Now())
	w.elapse(30 * time.Second)
	w.step(p)
	require.Equal(t, "ready", w.phase(id))
	w.requireSame()
}

// A worker that is killed after the intent, before the call.
func TestAnIntentWithoutADeployIsRepeatedAfterTheGrace(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	id := w.want()
	w.next("deploy", provider.Fail(provider.Ambiguous, "deploy", errors.New("cut")))
	w.let(40*time.Second, p)
	require.Equal(t, 1, w.count("deploy"), "not before the timeout and the grace are over")
	w.let(20*time.Second, p)
	require.Equal(t, 2, w.count("deploy"))
	require.Equal(t, "starting", w.phase(id))
	w.requireSame()
}

// Where a tag names one server, Deploy may be repeated at once: players wait for it.
func TestAnIntentWithoutADeployIsRepeatedAtOnceUnderNativeNames(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	w.can.NativeNames = true
	p := w.worker()
	id := w.want()
	w.next("deploy", provider.Fail(provider.Ambiguous, "deploy", errors.New("cut")))
	w.let(5*time.Second, p)
	require.Equal(t, 2, w.count("deploy"))
	require.Equal(t, "starting", w.phase(id))
	w.requireSame()
	require.NoError(t, w.StopDeployment(t.Context(), "eu", id, "test"))
	w.let(30*time.Second, p)
	require.Equal(t, "gone: test", w.phase(id), "there is no second server to wait for")
}

// The provider lists a server later than the grace: a second one was started, and is stopped.
func TestASecondServerIsStopped(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	w.lists = 70 * time.Second
	p := w.worker()
	id := w.want()
	w.kill = 1
	w.step(p)
	w.kill = 0
	w.let(time.Minute, p)
	w.join(id)
	require.Len(t, w.refs(), 2)
	w.let(3*time.Minute, p)
	require.Len(t, w.refs(), 1)
	require.Equal(t, "ready", w.phase(id))
	w.requireSame()
}

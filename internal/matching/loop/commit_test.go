package loop

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
)

// slowCommits is a store whose transactions end when the test says so.
type slowCommits struct {
	Store
	begun chan begunCommit
	end   chan struct{}
}

func (s slowCommits) Now() time.Time { return time.Now() }

type begunCommit struct {
	region  string
	share   db.HostShare
	matches int
}

func (s slowCommits) CommitMatches(_ context.Context, _, region string, share db.HostShare, _ []db.MatchOwner,
	matches []db.NewMatch, _ db.AssignMatch) ([]db.MatchOutcome, error) {
	s.begun <- begunCommit{region, share, len(matches)}
	<-s.end
	return make([]db.MatchOutcome, len(matches)), nil
}

func jobIn(region string) *job {
	return &job{match: db.NewMatch{ID: uuid.New(), Regions: []string{region},
		Tickets: []db.MatchTicket{{Players: []db.MatchPlayer{{Sub: "ann"}}}}}}
}

// A long queue of a game region is sent on all lanes, each with its share of the game servers; what fits into one
// transaction has all of them, and waits until transactions with shares have ended.
func TestLanesOfAGameRegion(t *testing.T) {
	t.Parallel()
	s := slowCommits{begun: make(chan begunCommit, 8), end: make(chan struct{})}
	c := newCommits(s, "global", newHistorian(Options{}, prometheus.NewCounter(prometheus.CounterOpts{})))
	for range 2*batchMatches + 1 {
		c.addJob(jobIn("eu"))
	}
	c.addJob(jobIn("us"))
	c.sendBatches(t.Context())
	begun := []begunCommit{<-s.begun, <-s.begun, <-s.begun}
	require.ElementsMatch(t, []begunCommit{
		{"eu", db.HostShare{Lane: 0, LaneCount: 2}, batchMatches},
		{"eu", db.HostShare{Lane: 1, LaneCount: 2}, batchMatches}, {"us", db.HostShare{Lane: 0, LaneCount: 1}, 1},
	}, begun)
	require.Equal(t, 2*batchMatches+2, c.len())
	require.Len(t, c.allJobs(), c.len())
	c.sendBatches(t.Context())
	require.Empty(t, s.begun, "all lanes are taken")

	free := func() {
		o := <-c.outcomeQueue
		c.sentBatches--
		c.stateByLine[o.line].sentByLane[o.lane] = nil
	}
	for range 3 {
		s.end <- struct{}{}
		free()
	}
	require.Zero(t, c.sentBatches)
	c.sendBatches(t.Context())
	require.Equal(t, begunCommit{"eu", db.HostShare{Lane: 0, LaneCount: 1}, 1}, <-s.begun)
	c.addJob(jobIn("eu"))
	c.sendBatches(t.Context())
	require.Empty(t, s.begun, "the transaction under way may have locked all game servers")
	s.end <- struct{}{}
	free()
	c.sendBatches(t.Context())
	require.Equal(t, begunCommit{"eu", db.HostShare{Lane: 0, LaneCount: 1}, 1}, <-s.begun)
	s.end <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c.waitForAll(ctx)
	require.Zero(t, c.sentBatches)
}

// Pins a worker that waits a second for an outcome that it has taken already: the loop ended while it slept, and with
// the outcome it woke.
func TestAnOutcomeThatWasTakenIsNotAwaited(t *testing.T) {
	t.Parallel()
	s := slowCommits{begun: make(chan begunCommit, 2), end: make(chan struct{})}
	l := must.Get(New(Options{Store: s, Universe: "global"}))(t)
	for _, region := range []string{"eu", "us"} {
		l.commits.addJob(jobIn(region))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	l.commits.sendBatches(ctx)
	s.end <- struct{}{}
	for timers := newTimers(compareEvery); len(l.commits.returnedOutcomes) == 0; {
		l.sleepUntilDue(ctx, &wakes{}, timers, time.Now())
	}
	s.end <- struct{}{}
	l.commits.waitForAll(ctx)
	require.NoError(t, ctx.Err(), "both transactions have ended, and it waited for a third")
}

// endingStore is a store whose transactions hang, and which keeps the context of the last call of a worker.
type endingStore struct {
	slowCommits
	endError *error // of the context
}

func (s endingStore) EndLoopWorker(ctx context.Context, _ uuid.UUID) error {
	*s.endError = ctx.Err()
	return nil
}

// Pins a worker that has no time left to free its profiles after a transaction that hangs.
func TestAHungTransactionLeavesTimeToHandOver(t *testing.T) {
	t.Parallel()
	endError := context.Canceled
	s := endingStore{slowCommits{begun: make(chan begunCommit, 1), end: make(chan struct{})}, &endError}
	l := must.Get(New(Options{Store: s, Universe: "global"}))(t)
	l.commits.addJob(jobIn("eu"))
	l.commits.sendBatches(t.Context())
	l.handOver(t.Context())
	require.NoError(t, endError)
	close(s.end)
}

// askingStore is a store that notes how long the players of each profile have to answer.
type askingStore struct {
	slowCommits
	asked chan map[string]time.Duration
}

func (s askingStore) ProposeMatches(_ context.Context, _ string, _ []db.MatchOwner, matches []db.NewMatch,
	within time.Duration) ([]db.MatchOutcome, error) {
	times := map[string]time.Duration{}
	for _, m := range matches {
		times[m.Profile] = within
	}
	s.asked <- times
	return make([]db.MatchOutcome, len(matches)), nil
}

// Pins ready checks of two profiles that were decided at one moment: players of both had the longer time to answer.
func TestEachReadyCheckHasTheTimeOfItsProfile(t *testing.T) {
	t.Parallel()
	s := askingStore{asked: make(chan map[string]time.Duration, 2)}
	c := newCommits(s, "global", newHistorian(Options{}, prometheus.NewCounter(prometheus.CounterOpts{})))
	times := map[string]time.Duration{"short": 10 * time.Second, "long": time.Minute}
	for profile, within := range times {
		j := jobIn("eu")
		j.match.Profile, j.asksPlayers, j.answerWithin = profile, true, within
		c.addJob(j)
	}
	c.sendBatches(t.Context())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c.waitForAll(ctx)
	close(s.asked)
	asked := map[string]time.Duration{}
	for some := range s.asked {
		maps.Copy(asked, some)
	}
	require.Equal(t, times, asked)
}

package loop

import (
	"context"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
)

// What the transaction of one batch takes at most.
const (
	batchMatches = 256
	batchPlayers = 1024
)

// maxUnderWay bounds the matches of this worker that are queued or sent, of all game regions, since only the decision
// says which region a match is for. Beyond it, deciding waits: for the length of a transaction at most, which the
// database bounds.
const maxUnderWay = 4096

// commitLanes is how many transactions of one game region run at a time while more matches wait than one takes, each on
// a backend of its own. Each has its share of the region's game servers, since it locks those on which it may open
// sessions.
const commitLanes = 2

// commits sends matches to the database: one transaction at a time for each game region, or one in each lane, and one
// for the ready checks of each length, beside each other. The matches that wait meanwhile are the next batch.
type commits struct {
	store            Store
	universe         string
	history          *historian
	outcomeQueue     chan outcomes // of the batches whose transaction has ended
	abandoned        chan struct{} // closed when nobody takes outcomes any more
	returnedOutcomes []outcomes    // taken from outcomeQueue, not handled yet
	stateByLine      map[line]*lineState
	sentBatches      int            // whose outcomes are not handled yet
	askingByProfile  map[string]int // matches whose players are to be asked, by profile
}

// line identifies the matches that share a transaction: those for a game region, or those whose players are asked.
type line struct {
	region       string
	asksPlayers  bool
	answerWithin time.Duration // of those who are asked: a transaction asks all of its players for the same time
}

type lineState struct {
	queuedJobs []*job              // the oldest first
	sentByLane [commitLanes][]*job // the batch of each lane; nil: the lane is free
	laneCount  int                 // in use
}

// outcomes is what became of a batch. With an error, nothing is known about its matches.
type outcomes struct {
	line          line
	lane          int
	jobs          []*job
	matchOutcomes []db.MatchOutcome // as jobs
	err           error
	tookTime      time.Duration
}

func newCommits(store Store, universe string, history *historian) *commits {
	return &commits{
		store: store, universe: universe, history: history, outcomeQueue: make(chan outcomes, 64),
		abandoned:   make(chan struct{}),
		stateByLine: map[line]*lineState{}, askingByProfile: map[string]int{},
	}
}

// addJob queues a match in its line, by its oldest ticket.
func (c *commits) addJob(j *job) {
	j.match.Demand = db.DemandKey{}
	// The commit subtracts the match from this row of demand, if it is counted there: see sumDemand.
	if region, key := j.demandRow(c.universe); j.waitedForServer && region == j.gameRegion() {
		j.match.Demand = key
	}
	to := line{region: j.gameRegion()}
	if j.asksPlayers {
		// Asking players takes no server of a region, so that the ready checks of all regions share one line.
		to = line{asksPlayers: true, answerWithin: j.answerWithin}
		c.askingByProfile[j.match.Profile]++
	}
	s := c.stateByLine[to]
	if s == nil {
		s = &lineState{}
		c.stateByLine[to] = s
	}
	at, _ := slices.BinarySearchFunc(s.queuedJobs, j,
		func(a, b *job) int { return a.oldestCreated.Compare(b.oldestCreated) })
	s.queuedJobs = slices.Insert(s.queuedJobs, at, j)
}

// sendBatches sends a batch on each free lane of the lines that have jobs.
func (c *commits) sendBatches(ctx context.Context) {
	for to, s := range c.stateByLine {
		// Lanes are chosen only while the line has no transaction: lanes of different counts would share game servers.
		if len(s.sentJobs()) == 0 {
			if len(s.queuedJobs) == 0 {
				delete(c.stateByLine, to)
				continue
			}
			s.chooseLanes(to)
		}
		for lane := range s.laneCount {
			if s.sentByLane[lane] == nil && len(s.queuedJobs) > 0 {
				s.sentByLane[lane] = s.takeBatch()
				c.sentBatches++
				go c.runBatch(ctx, to, db.HostShare{Lane: lane, LaneCount: s.laneCount}, s.sentByLane[lane])
			}
		}
	}
}

// sentJobs returns the matches of the line's transactions.
func (s *lineState) sentJobs() []*job { return slices.Concat(s.sentByLane[:]...) }

// chooseLanes uses all lanes if more matches wait than one transaction takes. A single lane chooses among all game
// servers.
func (s *lineState) chooseLanes(to line) {
	s.laneCount = 1
	if !to.asksPlayers && s.batchSize() < len(s.queuedJobs) {
		s.laneCount = commitLanes
	}
}

// runBatch runs the transaction of a batch and hands in its outcomes.
func (c *commits) runBatch(ctx context.Context, to line, share db.HostShare, jobs []*job) {
	o := c.runTransaction(ctx, to, share, jobs)
	select {
	case c.outcomeQueue <- o:
	// The loop began anew and takes no outcomes: the queue that it reads next has what was committed.
	case <-c.abandoned:
	}
}

// batchSize is how many of the queued matches the next transaction takes.
func (s *lineState) batchSize() (n int) {
	players := 0
	// At least one, however many players it has.
	for n < len(s.queuedJobs) && n < batchMatches && (n == 0 || players+s.queuedJobs[n].playerCount() <= batchPlayers) {
		players += s.queuedJobs[n].playerCount()
		n++
	}
	return n
}

// takeBatch takes the next batch off the queue. Matches with and without a completed ready check may share a batch.
func (s *lineState) takeBatch() []*job {
	n := s.batchSize()
	// A copy: the transaction reads the batch while the loop queues others in the array of queuedJobs.
	batch := slices.Clone(s.queuedJobs[:n])
	s.queuedJobs = slices.Delete(s.queuedJobs, 0, n)
	return batch
}

// runTransaction runs the transaction of a batch. It runs beside the loop, and uses nothing that the loop changes.
func (c *commits) runTransaction(ctx context.Context, to line, share db.HostShare, jobs []*job) outcomes {
	started := time.Now()
	matches, owners := make([]db.NewMatch, len(jobs)), []db.MatchOwner{}
	for i, j := range jobs {
		matches[i] = j.match
		if !slices.Contains(owners, j.owner) {
			owners = append(owners, j.owner)
		}
	}
	o := outcomes{line: to, lane: share.Lane, jobs: jobs}
	if to.asksPlayers {
		o.matchOutcomes, o.err = c.store.ProposeMatches(ctx, c.universe, owners, matches, to.answerWithin)
	} else {
		o.matchOutcomes, o.err = c.store.CommitMatches(ctx, c.universe, to.region, share, owners, matches,
			encodeAssignment)
	}
	o.tookTime = time.Since(started)
	// Not in the loop, which may have begun anew: tickets that a commit took out of the queue must have a history.
	for _, outcome := range o.matchOutcomes {
		c.history.keepMatched(outcome.LeftTickets)
	}
	return o
}

// encodeAssignment returns the assignment of a match's tickets, as frontends of Open Match read it.
func encodeAssignment(m *db.NewMatch, p db.Placement) []byte {
	seats := ticketbody.Seats{MatchID: m.ID.String(), SessionHandle: p.SessionHandle, Endpoint: p.Endpoint,
		Region: p.Region, Teams: map[string]string{}}
	for _, t := range m.Tickets {
		for _, player := range t.Players {
			seats.Teams[player.Sub] = player.Team
		}
	}
	body, _ := ticketbody.EncodeAssignment(p.Endpoint, seats) // texts that Postgres took always encode
	return body
}

// allJobs returns the matches that are queued or sent.
func (c *commits) allJobs() (all []*job) {
	for _, s := range c.stateByLine {
		all = append(append(all, s.queuedJobs...), s.sentJobs()...)
	}
	return all
}

// len returns the number of matches that are queued or sent.
func (c *commits) len() int {
	n := 0
	for _, s := range c.stateByLine {
		n += len(s.queuedJobs) + len(s.sentJobs())
	}
	return n
}

// dropProfile drops the queued matches of a profile. Those that were sent are refused, since their transaction checks
// who owns the profile.
func (c *commits) dropProfile(name string) {
	isDropped := func(j *job) bool { return j.owner.ProfileName == name }
	for _, s := range c.stateByLine {
		for _, j := range s.queuedJobs {
			if isDropped(j) {
				c.endAsking(j)
			}
		}
		s.queuedJobs = slices.DeleteFunc(s.queuedJobs, isDropped)
	}
}

// endAsking subtracts a match that has left the line of its ready check from askingByProfile.
func (c *commits) endAsking(j *job) {
	if !j.asksPlayers {
		return
	}
	c.askingByProfile[j.match.Profile]--
	if c.askingByProfile[j.match.Profile] == 0 {
		delete(c.askingByProfile, j.match.Profile)
	}
}

// waitForAll waits for the transactions that run, so that they have ended before this worker's lease does.
func (c *commits) waitForAll(ctx context.Context) {
	c.sentBatches -= len(c.returnedOutcomes) // the loop took them from the channel when it woke, and then ended
	c.returnedOutcomes = nil
	for ; c.sentBatches > 0; c.sentBatches-- {
		select {
		case <-c.outcomeQueue:
		case <-ctx.Done():
			return
		}
	}
}

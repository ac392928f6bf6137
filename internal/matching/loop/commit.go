package loop

import (
	"context"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
)

// What one transaction takes at most.
const (
	batchMatches = 256
	batchPlayers = 1024
)

// commitLanes is how many transactions of one game region run at a time while more matches wait than one takes, each on
// a backend of its own. Each has its share of the region's game servers, since it locks those on which it may open
// sessions.
const commitLanes = 2

// commits sends matches to the database: one transaction at a time for each game region, or one in each lane, and one
// for ready checks, beside each other. What waits meanwhile is the next batch.
type commits struct {
	store    Store
	universe string
	history  *historian
	outcomes chan outcomes
	ended    chan struct{} // closed when nobody takes outcomes any more
	returned []outcomes    // taken from the channel, not handled yet
	lines    map[line]*lineState
	under    int            // batches that were sent and are not handled yet
	asking   map[string]int // matches whose players are to be asked, by profile
}

// line is where a transaction is sent: to a game region, or to players.
type line struct {
	region string
	asks   bool
}

type lineState struct {
	queue []*job
	sent  [commitLanes][]*job // by lane; nil: none is under way
	lanes int                 // in use
}

// outcomes is what became of a batch. On an error nothing is known about its matches.
type outcomes struct {
	line     line
	lane     int
	jobs     []*job
	outcomes []db.MatchOutcome
	err      error
	took     time.Duration
}

func newCommits(store Store, universe string, history *historian) *commits {
	return &commits{
		store: store, universe: universe, history: history, outcomes: make(chan outcomes, 64),
		ended: make(chan struct{}),
		lines: map[line]*lineState{}, asking: map[string]int{},
	}
}

// add queues a match: the oldest first.
func (c *commits) add(j *job) {
	j.match.Demand = db.DemandKey{}
	if region, key := j.demand(c.universe); j.waitedForServer && region == j.gameRegion() {
		j.match.Demand = key
	}
	to := line{j.gameRegion(), j.asks}
	if j.asks {
		// Asking players takes no server of a region: one line is enough, and no region holds the ready checks of
		// another up.
		to.region = ""
		c.asking[j.match.Profile]++
	}
	s := c.lines[to]
	if s == nil {
		s = &lineState{}
		c.lines[to] = s
	}
	at, _ := slices.BinarySearchFunc(s.queue, j, func(a, b *job) int { return a.oldest.Compare(b.oldest) })
	s.queue = slices.Insert(s.queue, at, j)
}

// send sends a batch on each free lane of the lines that have jobs.
func (c *commits) send(ctx context.Context) {
	for to, s := range c.lines {
		if len(s.sending()) == 0 {
			if len(s.queue) == 0 {
				delete(c.lines, to)
				continue
			}
			s.chooseLanes(to)
		}
		for lane := range s.lanes {
			if s.sent[lane] == nil && len(s.queue) > 0 {
				s.sent[lane] = s.batch()
				c.under++
				go c.report(ctx, to, db.HostShare{Lane: lane, Lanes: s.lanes}, s.sent[lane])
			}
		}
	}
}

// sending are the matches under way.
func (s *lineState) sending() []*job { return slices.Concat(s.sent[:]...) }

// chooseLanes uses all lanes if more matches wait than one transaction takes. Where one is enough it chooses among all
// game servers.
func (s *lineState) chooseLanes(to line) {
	s.lanes = 1
	if !to.asks && s.batchSize() < len(s.queue) {
		s.lanes = commitLanes
	}
}

// report runs the transaction of a batch and hands in its outcomes.
func (c *commits) report(ctx context.Context, to line, share db.HostShare, jobs []*job) {
	select {
	case c.outcomes <- c.transact(ctx, to, share, jobs):
	// The loop began anew and takes no outcomes: what was committed is found in the queue that it reads next.
	case <-c.ended:
	}
}

// batchSize is how many of the queued matches the next transaction takes.
func (s *lineState) batchSize() (n int) {
	players := 0
	for n < len(s.queue) && n < batchMatches && (n == 0 || players+s.queue[n].players() <= batchPlayers) {
		players += s.queue[n].players()
		n++
	}
	return n
}

// batch takes the next batch off the queue. Matches with and without a completed ready check may share it.
func (s *lineState) batch() []*job {
	n := s.batchSize()
	batch := slices.Clone(s.queue[:n])
	s.queue = slices.Delete(s.queue, 0, n)
	return batch
}

// transact runs the transaction of a batch. It uses nothing that the loop changes meanwhile.
func (c *commits) transact(ctx context.Context, to line, share db.HostShare, jobs []*job) outcomes {
	started := time.Now()
	matches, owners, within := make([]db.NewMatch, len(jobs)), []db.MatchOwner{}, time.Duration(0)
	for i, j := range jobs {
		matches[i] = j.match
		within = max(within, j.within)
		if !slices.Contains(owners, j.owner) {
			owners = append(owners, j.owner)
		}
	}
	o := outcomes{line: to, lane: share.Lane, jobs: jobs}
	if to.asks {
		o.outcomes, o.err = c.store.ProposeMatches(ctx, c.universe, owners, matches, within)
	} else {
		o.outcomes, o.err = c.store.CommitMatches(ctx, c.universe, to.region, share, owners, matches, assign)
	}
	o.took = time.Since(started)
	for _, outcome := range o.outcomes {
		c.history.keep(outcome.LeftTickets)
	}
	return o
}

// assign returns what Open Match's frontends read of a match.
func assign(m *db.NewMatch, p db.Placement) []byte {
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

// jobs are all that are queued or under way.
func (c *commits) jobs() (all []*job) {
	for _, s := range c.lines {
		all = append(append(all, s.queue...), s.sending()...)
	}
	return all
}

func (c *commits) len() int {
	n := 0
	for _, s := range c.lines {
		n += len(s.queue) + len(s.sending())
	}
	return n
}

// dropProfile drops what is queued of a profile. What is under way fails at its fence.
func (c *commits) dropProfile(name string) {
	for _, s := range c.lines {
		s.queue = slices.DeleteFunc(s.queue, func(j *job) bool {
			drops := j.owner.Profile == name
			if drops {
				c.endAsking(j)
			}
			return drops
		})
	}
}

// endAsking removes a job that has left from the count of matches whose players are to be asked.
func (c *commits) endAsking(j *job) {
	if !j.asks {
		return
	}
	if c.asking[j.match.Profile]--; c.asking[j.match.Profile] == 0 {
		delete(c.asking, j.match.Profile)
	}
}

// wait waits for the transactions under way, so that their outcomes are known before this worker's lease ends.
func (c *commits) wait(ctx context.Context) {
	for ; c.under > 0; c.under-- {
		select {
		case <-c.outcomes:
		case <-ctx.Done():
			return
		}
	}
}

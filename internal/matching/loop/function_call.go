package loop

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/openmatch/cycle"
	"github.com/lattice-director/director/internal/openmatch/functions"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

// Bounds of the proposals of one call of a function.
const (
	maxFunctionMatches = maxUnderWay
	maxFunctionBytes   = 64 << 20
	maxFunctionPlayers = 1024 // of a match, as in a profile with teams
)

var errTooManyMatches = fmt.Errorf("the match function proposed more than %d matches or %d MiB", maxFunctionMatches,
	maxFunctionBytes>>20)

// calls holds the calls of functions that run concurrently with the loop.
type calls struct {
	loopContext  context.Context // ends with the loop: a call outlasts the step that begins it
	runningCount int             // calls whose results are not taken yet
	resultQueue  chan *functionCall
	// returnedCalls were taken from resultQueue and are not handled yet.
	returnedCalls []*functionCall
	goroutines    sync.WaitGroup
	store         Store
	log           *slog.Logger
	guard         *panics.Guard
}

func newCalls(o Options) *calls {
	return &calls{resultQueue: make(chan *functionCall, maxFunctionCalls), store: o.Store, log: o.Log, guard: o.Guard}
}

// runAndReport runs a call and delivers its result. If the loop has ended, it frees the tickets of the accepted
// matches.
func (c *calls) runAndReport(call *functionCall) {
	call.err = c.guard.Do("call of a match function", func() error { return call.proposeAndFetch(c.loopContext) })
	if c.loopContext.Err() == nil {
		c.resultQueue <- call // it has room for maxFunctionCalls, so this does not block
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.loopContext), time.Second)
	defer cancel()
	if err := c.store.FreeMarkedTickets(ctx, call.universe, call.markedTickets()); err != nil {
		c.log.LogAttrs(ctx, slog.LevelWarn, "tickets of matches could not be freed: they wait until their marks expire",
			slog.Any("error", err))
	}
}

// takeDelivered takes the results from resultQueue.
func (c *calls) takeDelivered() (all []*functionCall) {
	for len(c.resultQueue) > 0 {
		all = append(all, <-c.resultQueue)
	}
	return all
}

// functionCall is one call of the function of a profile. First the function proposes, outside any cycle, so that no
// other caller waits for it. Then a cycle decides which of the proposals become matches, together with those of other
// callers.
type functionCall struct {
	matchmaker  *functions.Matchmaker
	store       Store
	universe    string
	playerArg   string
	judgedAt    time.Time // the moment at which proposed tickets have to be free
	profile     *profile.Profile
	profileName string
	ownerEpoch  int64 // when the call began: a later owner's matches have another one
	function    *function

	proposals       []cycle.Proposal
	heldBytes       int                          // of the proposals, held in the bound of the matchmaker's engine
	teamsByMatch    map[string]map[string]string // team of each ticket, by match; a match without teams is missing
	refusedByReason map[string]int               // number of refused proposals, by reason
	acceptedMatches []cycle.Accepted
	err             error
}

// proposeAndFetch calls the function and has a cycle decide about its proposals.
func (c *functionCall) proposeAndFetch(ctx context.Context) error {
	defer func() { c.matchmaker.Engine.Release(c.heldBytes) }()
	newID := func() string { return db.FunctionMatchID(c.profileName, c.ownerEpoch) }
	// An error of the function is returned last: the proposals that arrived before it are valid.
	callError := c.matchmaker.Call(ctx, c.profile, newID, c.collectProposal)
	if err := c.judgeProposals(ctx); err != nil {
		return err
	}
	if len(c.proposals) == 0 {
		return callError
	}
	if err := c.matchmaker.Engine.Fetch(ctx, c); err != nil {
		return err
	}
	return callError
}

// collectProposal takes a proposal of the function.
func (c *functionCall) collectProposal(p cycle.Proposal) error {
	size := len(p.Match) + len(p.BackfillBody)
	if len(c.proposals) >= maxFunctionMatches || c.heldBytes+size > maxFunctionBytes {
		return errTooManyMatches
	}
	// Counted against the bound of proposals in cycles: until Fetch these are in no cycle, and take memory all the same.
	if err := c.matchmaker.Engine.Hold(size); err != nil {
		return err
	}
	c.heldBytes += size
	c.proposals = append(c.proposals, p)
	return nil
}

// Run implements [cycle.Caller].
func (c *functionCall) Run(_ context.Context, propose func(cycle.Proposal) error) error {
	for _, p := range c.proposals {
		if err := propose(p); err != nil {
			return err
		}
	}
	return nil
}

// Deliver implements [cycle.Caller].
func (c *functionCall) Deliver(m cycle.Accepted) error {
	c.acceptedMatches = append(c.acceptedMatches, m)
	return nil
}

// markedTickets returns the tickets of the accepted matches.
func (c *functionCall) markedTickets() (all []db.MarkedTickets) {
	for _, m := range c.acceptedMatches {
		all = append(all, db.MarkedTickets{TicketIDs: m.Proposal.Tickets, MatchMark: m.Mark})
	}
	return all
}

// judgeProposals refuses the proposals that cannot be committed, so that they do not take tickets from other proposals
// in a cycle.
func (c *functionCall) judgeProposals(ctx context.Context) error {
	queued, err := c.readQueued(ctx)
	if err != nil {
		return err
	}
	j := functionJudge{call: c, queuedByID: queued, completer: decide.NewCompleter(c.profile)}
	c.teamsByMatch, c.refusedByReason = map[string]map[string]string{}, map[string]int{}
	var valid []cycle.Proposal
	for _, p := range c.proposals {
		teams, refusal := j.judge(p)
		if refusal != "" {
			c.refusedByReason[refusal]++
			continue
		}
		if teams != nil {
			c.teamsByMatch[p.ID] = teams
		}
		valid = append(valid, p)
	}
	c.proposals = valid
	return nil
}

// readQueued reads the proposed tickets that are in the queue, by id.
func (c *functionCall) readQueued(ctx context.Context) (map[string]db.Candidate, error) {
	var ids []string
	for _, p := range c.proposals {
		ids = append(ids, p.Tickets...)
	}
	slices.Sort(ids)
	found := map[string]db.Candidate{}
	for page := range slices.Chunk(slices.Compact(ids), refreshPage) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		rows, err := c.store.Candidates(ctx, c.universe, page)
		cancel()
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			found[r.TicketID] = r
		}
	}
	return found, nil
}

// functionJudge decides which proposals of one call can be committed.
type functionJudge struct {
	call       *functionCall
	queuedByID map[string]db.Candidate
	completer  *decide.Completer
}

// judge returns the teams of a proposal, nil if it names none, or why it cannot be committed: a value of the metric's
// label why.
func (j *functionJudge) judge(p cycle.Proposal) (teams map[string]string, refusal string) {
	if p.BackfillBody != nil {
		return nil, "backfill"
	}
	if len(p.Tickets) == 0 {
		return nil, "empty"
	}
	teams, err := functions.Teams(p)
	if err != nil {
		return nil, "teams"
	}
	players, tickets := map[string]bool{}, map[string]bool{}
	for _, id := range p.Tickets {
		// Checked before its players, which would count as twice in the match.
		if tickets[id] {
			return nil, "same_ticket"
		}
		tickets[id] = true
		t, refusal := j.candidateOf(id)
		if refusal != "" {
			return nil, refusal
		}
		for _, player := range t.Players {
			if players[player.Sub] {
				return nil, "same_player"
			}
			players[player.Sub] = true
		}
	}
	if len(players) > maxFunctionPlayers {
		return nil, "size"
	}
	return teams, ""
}

// candidateOf returns a proposed ticket, or why no match of the profile can have it.
func (j *functionJudge) candidateOf(id string) (t *match.Ticket, refusal string) {
	row, isQueued := j.queuedByID[id]
	switch {
	case !isQueued:
		return nil, "unknown_ticket"
	case !row.IsFree(j.call.judgedAt):
		return nil, "taken"
	}
	t, err := ticketbody.Decode(row.TicketID, row.CreatedAt, row.Body, j.call.playerArg)
	if err != nil {
		return nil, "no_candidate"
	}
	if ok, _ := j.completer.Candidate(t); !ok {
		return nil, "no_candidate"
	}
	return t, ""
}

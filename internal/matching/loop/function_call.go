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
	ctx        context.Context // ends with the loop: a call outlasts the step that begins it
	running    int             // calls whose results are not taken yet
	results    chan *functionCall
	returned   []*functionCall // taken from the channel, not handled yet
	goroutines sync.WaitGroup
	store      Store
	log        *slog.Logger
	guard      *panics.Guard
}

func newCalls(o Options) *calls {
	return &calls{results: make(chan *functionCall, maxFunctionCalls), store: o.Store, log: o.Log, guard: o.Guard}
}

// report runs a call and delivers its result. If the loop has ended, it frees the tickets of the accepted matches.
func (c *calls) report(call *functionCall) {
	call.err = c.guard.Do("call of a match function", func() error { return call.run(c.ctx) })
	if c.ctx.Err() == nil {
		c.results <- call // it has room for all
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), time.Second)
	defer cancel()
	if err := c.store.FreeMarkedTickets(ctx, call.universe, call.marked()); err != nil {
		c.log.LogAttrs(ctx, slog.LevelWarn, "tickets of matches could not be freed: they wait until their marks expire",
			slog.Any("error", err))
	}
}

// delivered returns the results that are delivered and not handled yet.
func (c *calls) delivered() (all []*functionCall) {
	for len(c.results) > 0 {
		all = append(all, <-c.results)
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
	now         time.Time
	profile     *profile.Profile
	profileName string // the name of the profile
	epoch       int64  // of its owner
	function    *function

	proposals []cycle.Proposal
	bytes     int
	teams     map[string]map[string]string // team of each ticket, by match; a match without teams is missing
	refused   map[string]int               // number of refused proposals, by reason
	accepted  []cycle.Accepted
	err       error
}

func (c *functionCall) run(ctx context.Context) error {
	defer func() { c.matchmaker.Release(c.bytes) }()
	newID := func() string { return db.FunctionMatchID(c.profileName, c.epoch) }
	failed := c.matchmaker.Call(ctx, c.profile, newID, c.collect) // proposals that arrived before an error are valid
	if err := c.judge(ctx); err != nil {
		return err
	}
	if len(c.proposals) == 0 {
		return failed
	}
	if err := c.matchmaker.Fetch(ctx, c); err != nil {
		return err
	}
	return failed
}

// collect takes a proposal of the function.
func (c *functionCall) collect(p cycle.Proposal) error {
	size := len(p.Match) + len(p.BackfillBody)
	if len(c.proposals) >= maxFunctionMatches || c.bytes+size > maxFunctionBytes {
		return errTooManyMatches
	}
	if err := c.matchmaker.Hold(size); err != nil {
		return err
	}
	c.bytes += size
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
	c.accepted = append(c.accepted, m)
	return nil
}

// marked returns the tickets of the accepted matches.
func (c *functionCall) marked() (all []db.MarkedTickets) {
	for _, m := range c.accepted {
		all = append(all, db.MarkedTickets{IDs: m.Tickets, Mark: m.Mark})
	}
	return all
}

// judge refuses the proposals that cannot be committed, so that they do not take tickets from other proposals in a
// cycle.
func (c *functionCall) judge(ctx context.Context) error {
	queued, err := c.queued(ctx)
	if err != nil {
		return err
	}
	j := functionJudge{call: c, queued: queued, rest: decide.NewCompleter(c.profile)}
	c.teams, c.refused = map[string]map[string]string{}, map[string]int{}
	c.proposals = slices.DeleteFunc(c.proposals, func(p cycle.Proposal) bool {
		why := j.refuses(p)
		if why != "" {
			c.refused[why]++
		}
		return why != ""
	})
	return nil
}

// queued reads the proposed tickets that are in the queue, by id.
func (c *functionCall) queued(ctx context.Context) (map[string]db.Candidate, error) {
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
			found[r.ID] = r
		}
	}
	return found, nil
}

// functionJudge decides which proposals of one call can be committed.
type functionJudge struct {
	call   *functionCall
	queued map[string]db.Candidate
	rest   *decide.Completer
}

// refuses returns why a proposal cannot be committed; "" if it can.
func (j *functionJudge) refuses(p cycle.Proposal) string {
	teams, err := functions.Teams(p)
	switch {
	case p.BackfillBody != nil:
		return "backfill"
	case len(p.Tickets) == 0:
		return "empty"
	case err != nil:
		return "teams"
	}
	players, tickets := map[string]bool{}, map[string]bool{}
	for _, id := range p.Tickets {
		if tickets[id] {
			return "same_ticket"
		}
		tickets[id] = true
		if why := j.refusesTicket(id, players); why != "" {
			return why
		}
	}
	if len(players) > maxFunctionPlayers {
		return "size"
	}
	if teams != nil {
		j.call.teams[p.ID] = teams
	}
	return ""
}

// refusesTicket returns why a ticket cannot be in a match with these players; "" if it can. It adds the ticket's
// players to them.
func (j *functionJudge) refusesTicket(id string, players map[string]bool) string {
	row, ok := j.queued[id]
	switch {
	case !ok:
		return "unknown_ticket"
	case !row.IsFree(j.call.now):
		return "taken"
	}
	t, err := ticketbody.Decode(row.ID, row.Created, row.Body, j.call.playerArg)
	if err != nil {
		return "no_candidate"
	}
	if ok, _ := j.rest.Candidate(t); !ok {
		return "no_candidate"
	}
	for _, player := range t.Players {
		if players[player.Sub] {
			return "same_player"
		}
		players[player.Sub] = true
	}
	return ""
}

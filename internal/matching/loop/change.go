package loop

import (
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
)

// engine knows the candidates of a profile; see [decide.Engine].
type engine interface {
	Add(t *match.Ticket)
	Remove(id string)
	Return(ids ...string)
	Has(id string) bool
	Len() int
	Next() (at time.Time, ok bool)
	SetRegions(regions []decide.Region)
}

// change is something that an engine is to learn.
type change struct {
	moment    time.Time // the engine first decides what was due before this moment
	kind      changeKind
	entries   []*entry        // of candidatesCame and candidatesReturned
	ticketIDs []string        // of candidatesLeft and candidatesReturned
	regions   []decide.Region // of regionsChanged
	roster    decide.Roster   // of rosterChanged; of rosterEnded only its Session
}

type changeKind int

const (
	candidatesCame     changeKind = iota
	candidatesLeft                // for good, or into a match of another profile
	candidatesReturned            // from a proposal that was dropped
	regionsChanged
	rosterChanged
	rosterEnded
	decisionsDue // after a pause
)

// changeStep is how many candidates are added between two readings of the clock: about half a millisecond.
const changeStep = 128

// mayFindMatch reports whether the engine may find a match because of the change.
func (c *change) mayFindMatch() bool { return c.kind != candidatesLeft }

// applyPart applies a part of the change that takes a short time, and reports whether the change is applied whole.
func (c *change) applyPart(e engine, playerArg string) (isDone bool) {
	switch c.kind {
	case candidatesCame:
		n := min(changeStep, len(c.entries))
		addAll(e, c.entries[:n], playerArg)
		c.entries = c.entries[n:]
		return len(c.entries) == 0
	case candidatesLeft:
		for _, id := range c.ticketIDs {
			e.Remove(id)
		}
	case candidatesReturned:
		e.Return(c.ticketIDs...)
		for _, one := range c.entries {
			// An engine that began after the proposal does not have the ticket.
			if !e.Has(one.id) {
				addAll(e, []*entry{one}, playerArg)
			}
		}
	case regionsChanged:
		e.SetRegions(c.regions)
	case rosterChanged, rosterEnded:
		c.applyRoster(e)
	case decisionsDue:
		return true // nothing to apply: the change only brings the moment at which the engine decides
	}
	return true
}

// applyRoster applies rosterChanged or rosterEnded.
func (c *change) applyRoster(e engine) {
	d, ok := e.(*decide.Engine)
	// A match function finds no open matches.
	if !ok {
		return
	}
	if c.kind == rosterChanged {
		d.PutRoster(c.roster)
	} else {
		d.RemoveRoster(c.roster.Session)
	}
}

// addAll makes tickets candidates, except those that cannot be decoded.
func addAll(e engine, entries []*entry, playerArg string) {
	for _, one := range entries {
		if t, err := one.decodedTicket(playerArg); err == nil {
			e.Add(t)
		}
	}
}

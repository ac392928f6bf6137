package loop

import (
	"iter"
	"slices"
)

// ticketFree implements listener: the ticket is a candidate of each profile that takes it.
func (l *Loop) ticketFree(e *entry) {
	c := change{moment: l.lastMoment, kind: candidatesCame, entries: []*entry{e}}
	for p := range l.profilesTaking(e) {
		l.passChange(p, c)
		p.shadow.learnChange(c)
	}
}

// ticketGone implements listener: the ticket is no candidate any more, and matches that need it are decided anew.
func (l *Loop) ticketGone(e *entry) {
	l.removeCandidate(e)
	delete(l.refusalsByAnchor, e.id)
	if j := l.waiting.removeJobOf(e.id); j != nil {
		l.giveBack(j, noPause)
	}
}

// removeCandidate takes a ticket from the candidates of every profile.
func (l *Loop) removeCandidate(e *entry) {
	c := change{moment: l.lastMoment, kind: candidatesLeft, ticketIDs: []string{e.id}}
	for p := range l.profilesTaking(e) {
		l.passChange(p, c)
		p.shadow.learnChange(c)
	}
}

// profilesTaking returns the profiles of this worker that may take a ticket.
func (l *Loop) profilesTaking(e *entry) iter.Seq[*ownedProfile] {
	return func(yield func(*ownedProfile) bool) {
		if !e.isPlayable() {
			return
		}
		if len(e.askedProfiles) == 0 {
			for _, p := range l.profilesInOrder() {
				if p.takesUnnamedTickets() && !yield(p) {
					return
				}
			}
		}
		for _, name := range e.askedProfiles {
			if p := l.profiles[name]; p != nil && !yield(p) {
				return
			}
		}
	}
}

// fillProfile gives a profile whose version begins to decide the game regions, and the tickets of the queue that no
// match of the profile has.
func (l *Loop) fillProfile(p *ownedProfile) {
	entries := l.candidateEntries(p.name, p.profile.Pool != nil, l.ticketsUnderWay(p.name))
	now := l.currentMoment()
	l.passChange(p, change{moment: now, kind: regionsChanged, regions: l.hosts.regionsOf(p.profile)})
	l.passChange(p, change{moment: now, kind: candidatesCame, entries: entries})
	if p.liveDecider != nil {
		p.liveDecider.candidateCount = len(entries)
	}
}

// candidateEntries returns the free tickets that a profile may take, without those that are taken.
func (l *Loop) candidateEntries(profile string, hasPool bool, taken map[string]bool) []*entry {
	now := l.currentMoment()
	return slices.DeleteFunc(l.queue.byProfile.entriesOf(profile, hasPool),
		func(e *entry) bool { return !e.isFree(now) || taken[e.id] })
}

// ticketsUnderWay returns the tickets of a profile's decided matches that are not committed. They stay candidates of
// other profiles.
func (l *Loop) ticketsUnderWay(name string) map[string]bool {
	all := l.allJobs()
	return ticketsOf(slices.DeleteFunc(all, func(j *job) bool { return j.match.Profile != name }))
}

package replay

import (
	"fmt"

	"github.com/lattice-director/director/match/profile"
)

// reportNotes returns what the replay does not reproduce, in words.
func (r *run) reportNotes() []string {
	// The notes below are about a history, which simulated tickets do not have.
	if r.input.Matches == nil {
		return []string{
			"Tickets are made, not recorded: compare reports of several rules with each other, not with a real queue.",
			r.capacityNote(), r.acceptNote(),
		}
	}
	p := r.input.Version.Profile
	notes := []string{
		fmt.Sprintf("A ticket that waits longer than it did never cancels: %d tickets (censored).", r.censoredCount),
		r.acceptNote(),
		r.capacityNote(),
		fmt.Sprintf("Other profiles and directors took what they took, when they took it: %d tickets.",
			r.replayedSums.side.NeverMatched.Taken),
		"A ticket that has waited for less than a few seconds now counts as seen when it was created, " +
			"and one that was matched a second ago may be missing.",
		"A ticket that was paused or released stays a candidate, since the history does not record pauses.",
		"The replay begins with the tickets that waited at its first moment, " +
			"and without what the engine remembered of earlier searches.",
	}
	if p.JoinInProgress.When != profile.Never {
		notes = append(notes, "Nobody joins an open match: tickets that did leave when they did.")
	}
	return notes
}

func (r *run) acceptNote() string {
	within := r.input.Version.Profile.Accept
	switch {
	case within == 0:
		return "The profile has no ready check: every match is accepted."
	case r.input.Accept.Drawn:
		return fmt.Sprintf("Accepts are drawn: a ticket accepts with probability %g, "+
			"and a ready check that fails lasts %s.", r.input.Accept.Rate, within)
	case r.input.Matches == nil:
		return "Every ticket accepts its match."
	}
	return fmt.Sprintf("Accepts are as recorded: a ticket that declined a match declines its first one, "+
		"and a ready check that fails lasts %s.", within)
}

func (r *run) capacityNote() string {
	if r.input.Capacity.Recorded {
		return fmt.Sprintf("Capacity is as recorded: while matches waited for a server of a game region, "+
			"others wait there, too (%d shortages).", len(r.input.Capacity.Shortages))
	}
	return "Capacity is unlimited: every match finds a server at once."
}

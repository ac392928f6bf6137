package replayer

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/replay"
)

// arrivalOf makes a ticket from its history. Errors: it lacks attributes that the rules compare.
func (h *history) arrivalOf(row query.ReplayTicketsRow) (replay.Arrival, error) {
	// An assigned ticket had players, so a recording with attributes has some. Another one may have had a body that could
	// not be decoded.
	if row.Attributes == nil && len(h.neededAttributes) > 0 && row.Outcome == "assigned" {
		return replay.Arrival{}, fmt.Errorf("the history has no attributes of players, which the rules compare: a "+
			"replay needs %s=plain from before the time that it replays", attributesSetting)
	}
	t, err := ticketbody.FromFacts(match.Ticket{ID: row.ID, Created: row.Created.UTC(), Profiles: row.Profiles},
		row.Attributes, row.Latencies)
	if err == nil {
		err = h.neededAttributes.refuseHashed(t)
	}
	if err != nil {
		return replay.Arrival{}, err
	}
	// The players are needed without attributes as well, for sizes and places.
	if row.Attributes == nil {
		for _, sub := range slices.Sorted(slices.Values(row.Party)) {
			t.Players = append(t.Players, match.Player{Sub: sub, Attributes: match.Attributes{},
				Source: match.FromBackend})
		}
	}
	// No ticket is seen before it is created: the clock by which a worker recorded SeenAt may have been behind.
	a := replay.Arrival{Ticket: t, SeenAt: laterTime(row.SeenAt, row.Created).UTC()}
	a.Recorded = h.recordedMatch(row)
	// A recorded match has the time at which its tickets left.
	if a.Recorded == nil && row.Outcome != stillWaits {
		a.LeftAt, a.Why = row.LeftAt.UTC(), leavingOf(row.Outcome)
	}
	// The epoch: no worker has recorded when it saw the ticket leave.
	if row.LeftSeenAt.Unix() > 0 {
		a.LeftSeen = row.LeftSeenAt.UTC()
	}
	return a, nil
}

// laterTime returns the later of two times.
func laterTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// recordedMatch returns the match that the profile made of a ticket; nil: it made none, or the ticket joined an open
// match.
func (h *history) recordedMatch(row query.ReplayTicketsRow) *replay.RecordedMatch {
	if row.MatchID == uuid.Nil || row.Profile != h.pastRange.ProfileName || row.Joined {
		return nil
	}
	return &replay.RecordedMatch{
		Match: row.MatchID.String(), Version: int(row.Version), Seed: uint64(row.Seed), Tickets: int(row.Tickets),
		First: row.First, Team: row.Team,
		DecidedAt: row.DecidedAt.UTC(), SeatedAt: row.LeftAt.UTC(),
	}
}

// leavingOf converts the outcome of a ticket that the profile did not match.
func leavingOf(outcome string) replay.Leaving {
	switch outcome {
	// A match that the profile did not begin has the ticket: see recordedMatch.
	case "assigned":
		return replay.Taken
	case "declined":
		return replay.Declined
	}
	return replay.Quit
}

package loop

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
)

// job is a decided match on its way into the database.
type job struct {
	match   db.NewMatch
	owner   db.MatchOwner
	within  time.Duration // of a ready check
	anchor  string        // the ticket that the search began with
	asks    bool          // its players are asked first
	oldest  time.Time     // when the ticket was created that has waited longest
	region  int           // index of the game region that is tried, in match.Regions
	decided time.Time     // by this machine's clock
}

func (j *job) players() int {
	n := 0
	for _, t := range j.match.Tickets {
		n += len(t.Players)
	}
	return n
}

func (j *job) tickets() []string {
	ids := make([]string, len(j.match.Tickets))
	for i, t := range j.match.Tickets {
		ids[i] = t.ID
	}
	return ids
}

// gameRegion is where the match is committed next: "" for one without seats.
func (j *job) gameRegion() string {
	if len(j.match.Regions) == 0 {
		return ""
	}
	return j.match.Regions[j.region]
}

// newJob turns what was decided into what is committed. Regions that are known to have room come first.
func (l *Loop) newJob(p *owned, found decide.Proposal, now time.Time) (*job, error) {
	why, err := explain(found)
	if err != nil {
		return nil, err
	}
	j := &job{owner: p.owner(l), anchor: found.Anchor, within: p.profile.Accept, decided: time.Now()}
	j.match = db.NewMatch{
		ID: uuid.New(), Profile: p.name, Version: p.version, Seed: p.seed, DecidedAt: now, Modes: found.Modes, Size: p.size(),
		Data: p.profile.Data, Why: why, Join: found.Session, Regions: l.hosts.roomFirst(found, p.size()),
	}
	if open, ok := p.rosters[found.Session]; ok {
		j.match.Regions = []string{open.Region}
		for _, player := range open.Players {
			j.match.Beside = append(j.match.Beside, player.Sub)
		}
	}
	if len(found.Chosen) > 0 {
		if j.match.Chosen, err = json.Marshal(found.Chosen); err != nil {
			return nil, err
		}
	}
	seats := map[string][]db.MatchPlayer{}
	for _, team := range found.Teams {
		for _, s := range team.Seats {
			seats[s.Ticket] = append(seats[s.Ticket], db.MatchPlayer{Sub: s.Sub, Team: team.Name, Role: s.Role})
		}
	}
	for _, id := range slices.Sorted(slices.Values(found.Tickets)) {
		e := l.queue.entries[id]
		if e == nil {
			return nil, fmt.Errorf("ticket %s left the queue", id)
		}
		t, err := l.decode(e)
		if err != nil {
			return nil, err
		}
		told, err := tell(seats[id], t, p.profile.Tell)
		if err != nil {
			return nil, err
		}
		j.match.Tickets = append(j.match.Tickets, db.MatchTicket{ID: id, Tx: e.tx, Players: told, History: l.history(e, t)})
		if j.oldest.IsZero() || e.created.Before(j.oldest) {
			j.oldest = e.created
		}
	}
	return j, nil
}

// tellBytes bounds what game servers are told of a player.
const tellBytes = 256

// tell adds the attributes that game servers may read to the players of a ticket, sorted by player.
func tell(players []db.MatchPlayer, t *match.Ticket, names []string) ([]db.MatchPlayer, error) {
	slices.SortFunc(players, func(a, b db.MatchPlayer) int { return cmp.Compare(a.Sub, b.Sub) })
	if len(names) == 0 {
		return players, nil
	}
	attributes := map[string]match.Attributes{}
	for _, p := range t.Players {
		attributes[p.Sub] = p.Attributes
	}
	for i, p := range players {
		told := map[string]any{}
		for _, name := range names {
			if v, ok := attributes[p.Sub][name]; ok {
				told[name] = v.Plain()
			}
		}
		text, err := json.Marshal(told)
		if err != nil {
			return nil, err
		}
		if len(text) <= tellBytes {
			players[i].Told = text
		}
	}
	return players, nil
}

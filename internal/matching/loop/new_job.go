package loop

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/explain"
	"github.com/lattice-director/director/match/profile"
)

// newJob makes the job that commits a decided match. Errors: a ticket has left the queue; something cannot be encoded.
func (l *Loop) newJob(p *ownedProfile, d decidedMatch) (*job, error) {
	j := &job{owner: l.matchOwner(p), anchorTicket: d.proposal.Anchor, answerWithin: p.profile.Accept,
		decidedAt: time.Now(), maxWait: waitAtMost}
	var err error
	if j.match, err = l.newMatch(p, d); err != nil {
		return nil, err
	}
	seats := playersByTicket(d.proposal)
	var tickets []*match.Ticket
	for _, id := range slices.Sorted(slices.Values(d.proposal.Tickets)) {
		t, err := l.addTicket(j, p, id, seats[id])
		if err != nil {
			return nil, err
		}
		tickets = append(tickets, t)
	}
	j.nearestRegion = nearestRegion(tickets)
	return j, nil
}

// newMatch returns the match without its tickets. Regions that are known to have room come first.
func (l *Loop) newMatch(p *ownedProfile, d decidedMatch) (m db.NewMatch, err error) {
	found, size := d.proposal, p.sessionSize(d.proposal)
	m = db.NewMatch{
		ID: uuid.New(), Profile: p.name, Version: p.version, Seed: p.lotSeed, DecidedAt: d.decidedAt,
		Modes: found.Modes, Size: size, Data: p.profile.Data, Join: found.Session,
		Regions: l.hosts.roomFirst(found, size),
	}
	// Newcomers join where the match runs, beside the players that it has.
	if open, ok := p.openMatches[found.Session]; ok {
		m.Regions = []string{open.Region}
		for _, player := range open.SeatedPlayers {
			m.Beside = append(m.Beside, player.Sub)
		}
	}
	bots := botsOf(p.profile, found)
	if m.Why, err = explain.EncodeWhy(found, bots.needed); err != nil {
		return m, err
	}
	if len(found.Chosen) > 0 {
		if m.Chosen, err = json.Marshal(found.Chosen); err != nil {
			return m, err
		}
	}
	if bots.fillTo == nil {
		return m, nil
	}
	m.FillTo, err = json.Marshal(bots.fillTo)
	return m, err
}

// addTicket adds a ticket with its players' seats to the match of a job, and returns it.
func (l *Loop) addTicket(j *job, p *ownedProfile, id string, seats []db.MatchPlayer) (*match.Ticket, error) {
	e := l.queue.entryByID[id]
	if e == nil || !e.isPlayable() {
		return nil, fmt.Errorf("ticket %s left the queue", id)
	}
	t, err := e.decodedTicket(l.options.PlayerArg)
	if err != nil {
		return nil, err
	}
	players, err := tellAttributes(seats, t, p.profile.Tell)
	if err != nil {
		return nil, err
	}
	j.waiters = append(j.waiters, waiter{e.createdAt, t.Mean(p.profile.Pivot())})
	j.match.Tickets = append(j.match.Tickets,
		db.MatchTicket{ID: id, Tx: e.lastTx, Players: players, History: l.historyOf(e, t)})
	if j.oldestCreated.IsZero() || e.createdAt.Before(j.oldestCreated) {
		j.oldestCreated = e.createdAt
	}
	return t, nil
}

// historyOf returns what a ticket's history keeps when it leaves the queue; nil if no history is kept.
func (l *Loop) historyOf(e *entry, t *match.Ticket) *db.TicketHistory {
	if l.options.NoHistory {
		return nil
	}
	h := &db.TicketHistory{SeenAt: e.seenAt, Profiles: t.Profiles}
	for _, p := range t.Players {
		h.Party = append(h.Party, p.Sub)
	}
	h.Party = l.options.Privacy.Party(h.Party)
	h.Attributes, h.Latencies = l.options.Privacy.Facts(t)
	return h
}

// playersByTicket returns the players of a match with their teams and roles, by ticket.
func playersByTicket(found decide.Proposal) map[string][]db.MatchPlayer {
	players := map[string][]db.MatchPlayer{}
	for _, team := range found.Teams {
		for _, s := range team.Seats {
			players[s.Ticket] = append(players[s.Ticket], db.MatchPlayer{Sub: s.Sub, Team: team.Name, Role: s.Role})
		}
	}
	return players
}

// tellBytes bounds the JSON of the attributes of a player that game servers may read.
const tellBytes = 256

// tellAttributes adds the attributes that game servers may read to the players of a ticket, and sorts the players by
// sub. A player whose attributes exceed tellBytes gets none.
func tellAttributes(players []db.MatchPlayer, t *match.Ticket, names []string) ([]db.MatchPlayer, error) {
	slices.SortFunc(players, func(a, b db.MatchPlayer) int { return cmp.Compare(a.Sub, b.Sub) })
	if len(names) == 0 {
		return players, nil
	}
	bySub := map[string]*match.Player{}
	for i := range t.Players {
		bySub[t.Players[i].Sub] = &t.Players[i]
	}
	for i, p := range players {
		told, sources := attributesToTell(bySub[p.Sub], names)
		text, err := json.Marshal(told)
		if err != nil {
			return nil, err
		}
		if len(text) > tellBytes {
			continue
		}
		players[i].Told = text
		// tellBytes bounds attributes and sources together. An attribute without a source counts as the client's word.
		if vouched, err := json.Marshal(sources); err == nil && len(text)+len(vouched) <= tellBytes {
			players[i].Sources = sources
		}
	}
	return players, nil
}

// attributesToTell returns the attributes of a player that have some names, and the sources of those that are not the
// client's word.
func attributesToTell(p *match.Player, names []string) (told map[string]any, sources map[string]string) {
	told = map[string]any{}
	if p == nil {
		return told, nil
	}
	for _, name := range names {
		v, ok := p.Attributes[name]
		if !ok {
			continue
		}
		told[name] = v.Plain()
		if source := p.SourceOf(name); source != match.FromClient {
			if sources == nil {
				sources = map[string]string{}
			}
			sources[name] = source.String()
		}
	}
	return told, sources
}

// matchBots are the bots of a match, by team. The zero value has none.
type matchBots struct {
	fillTo map[string]int // the number of players to which they fill each team
	needed map[string]int // how many bots each team needs beside the players of the decision
}

// botsOf returns the bots of a match that is decided. An open match that players join has its bots already:
// newcomers take their places.
func botsOf(p *profile.Profile, found decide.Proposal) (bots matchBots) {
	if found.Session != "" {
		return bots
	}
	players := map[string]int{}
	for _, team := range found.Teams {
		players[team.Name] = len(team.Seats)
	}
	bots.fillTo = p.FillTo(players)
	for team, size := range bots.fillTo {
		if missing := size - players[team]; missing > 0 {
			if bots.needed == nil {
				bots.needed = map[string]int{}
			}
			bots.needed[team] = missing
		}
	}
	return bots
}

// nearestRegion returns the region with the least worst latency of those that all tickets with latencies measured, the
// first by name of equals; "" without one.
func nearestRegion(tickets []*match.Ticket) string {
	worst, measuredBy, measuringCount := map[string]uint16{}, map[string]int{}, 0
	for _, t := range tickets {
		// A ticket without latencies plays anywhere: it rules no region out.
		if len(t.Latencies) > 0 {
			measuringCount++
		}
		for region, ms := range t.Latencies {
			worst[region] = max(worst[region], ms)
			measuredBy[region]++
		}
	}
	best := ""
	for _, region := range slices.Sorted(maps.Keys(worst)) {
		if measuredBy[region] == measuringCount && (best == "" || worst[region] < worst[best]) {
			best = region
		}
	}
	return best
}

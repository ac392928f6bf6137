package loop

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

// rostersFor is how long a reading of open matches stays usable: twice the time between two readings.
const rostersFor = 2 * tick

// mayJoin reports whether newcomers may join matches of the profile.
func (p *ownedProfile) mayJoin() bool { return p.profile.JoinInProgress.When != profile.Never }

// knowsRosters reports whether the profile knows its open matches well enough to decide.
func (p *ownedProfile) knowsRosters() bool {
	return !p.mayJoin() || time.Since(p.rostersRead) <= rostersFor
}

// readRosters reads the open matches of the profiles that have candidates. The others do without, since the reading
// costs Postgres a look at each match.
func (l *Loop) readRosters(ctx context.Context) error {
	return l.readRostersOf(ctx, func(p *ownedProfile) bool { return p.candidateCount() > 0 })
}

// readMissingRosters reads the open matches of the profiles that have something to search for and do not know them, such
// as those whose first candidates have just come.
func (l *Loop) readMissingRosters(ctx context.Context) error {
	return l.readRostersOf(ctx, func(p *ownedProfile) bool {
		return p.liveDecider != nil && p.liveDecider.mayFind(l.lastMoment) && !p.knowsRosters()
	})
}

// readRostersOf reads the open matches of the profiles of which isWanted is true, and passes to their engines which
// matches newcomers may join, and which they may not join any more.
func (l *Loop) readRostersOf(ctx context.Context, isWanted func(*ownedProfile) bool) error {
	var names []string
	for _, p := range l.profilesInOrder() {
		if p.mayJoin() && isWanted(p) {
			names = append(names, p.name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	var open []db.JoinableMatch
	err := callDatabase(ctx, "reading the open matches", func(ctx context.Context) (err error) {
		open, err = l.options.Store.JoinableMatches(ctx, l.options.Universe, names)
		return err
	})
	if err != nil {
		return err
	}
	found := map[string]map[string]db.JoinableMatch{}
	for _, m := range open {
		if found[m.ProfileName] == nil {
			found[m.ProfileName] = map[string]db.JoinableMatch{}
		}
		found[m.ProfileName][m.SessionID] = m
	}
	for _, name := range names {
		// Also where no match was found: those that the engine knew are over.
		l.setRosters(l.profiles[name], found[name])
	}
	return nil
}

// setRosters replaces the open matches of a profile, and passes those that changed to its engine.
func (l *Loop) setRosters(p *ownedProfile, open map[string]db.JoinableMatch) {
	at := l.currentMoment()
	for session := range p.openMatches {
		if _, isOpen := open[session]; !isOpen {
			l.passChange(p, change{moment: at, kind: rosterEnded, roster: decide.Roster{Session: session}})
		}
	}
	for session, m := range open {
		if !reflect.DeepEqual(p.openMatches[session], m) {
			l.passChange(p, change{moment: at, kind: rosterChanged, roster: RosterOf(p.profile, m)})
		}
	}
	p.openMatches, p.rostersRead = open, time.Now()
}

// RosterOf converts an open match for decisions about newcomers of the profile.
func RosterOf(p *profile.Profile, m db.JoinableMatch) decide.Roster {
	r := decide.Roster{
		Session: m.SessionID, MatchID: m.ID.String(), Region: m.Region, Mode: m.Mode, Opened: m.OpenedAt,
		Teams: make([][]decide.RosterPlayer, len(p.Teams)),
	}
	teamIndexes := map[string]int{}
	for i, t := range p.Teams {
		teamIndexes[t.Name] = i
	}
	for i, player := range m.SeatedPlayers {
		team, isKnown := teamIndexes[player.Team]
		// A version that named its teams otherwise seated the player.
		if !isKnown {
			continue
		}
		r.Teams[team] = append(r.Teams[team], decide.RosterPlayer{
			Ticket: m.TicketIDs[i], Sub: player.Sub, Role: player.Role, Attributes: attributesOf(player.Told),
		})
	}
	return r
}

// attributesOf decodes the attributes of a player that game servers may read: see tellAttributes.
func attributesOf(told json.RawMessage) match.Attributes {
	var values map[string]any
	if len(told) == 0 || json.Unmarshal(told, &values) != nil {
		return nil
	}
	all := match.Attributes{}
	for name, v := range values {
		if value := match.ValueOf(v); value.Kind != 0 {
			all[name] = value
		}
	}
	return all
}

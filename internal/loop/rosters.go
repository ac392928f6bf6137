package loop

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

// readRosters tells the engines which matches newcomers may join, and which they may not join any more.
func (l *Loop) readRosters(ctx context.Context) error {
	var names []string
	for _, p := range l.inOrder() {
		if p.profile.When != profile.Never {
			names = append(names, p.name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	open, err := l.Store.OpenMatches(ctx, l.Universe, names)
	if err != nil {
		return err
	}
	found := map[string]map[string]db.OpenMatch{}
	for _, m := range open {
		if found[m.Profile] == nil {
			found[m.Profile] = map[string]db.OpenMatch{}
		}
		found[m.Profile][m.Session] = m
	}
	for _, name := range names {
		l.profiles[name].setRosters(found[name])
	}
	return nil
}

// setRosters replaces the open matches of a profile; those that did not change are left as they are.
func (p *owned) setRosters(open map[string]db.OpenMatch) {
	for session := range p.rosters {
		if _, ok := open[session]; !ok {
			p.engine.RemoveRoster(session)
			p.dirty = true
		}
	}
	for session, m := range open {
		if !reflect.DeepEqual(p.rosters[session], m) {
			p.engine.PutRoster(p.roster(m))
			p.dirty = true
		}
	}
	p.rosters = open
}

func (p *owned) roster(m db.OpenMatch) decide.Roster {
	r := decide.Roster{
		Session: m.Session, MatchID: m.ID.String(), Region: m.Region, Mode: m.Mode, Opened: m.Opened,
		Teams: make([][]decide.RosterPlayer, len(p.profile.Teams)),
	}
	teams := map[string]int{}
	for i, t := range p.profile.Teams {
		teams[t.Name] = i
	}
	for i, player := range m.Players {
		at, ok := teams[player.Team]
		if !ok {
			continue // a version that named its teams otherwise seated the player
		}
		r.Teams[at] = append(r.Teams[at], decide.RosterPlayer{
			Ticket: m.Tickets[i], Sub: player.Sub, Role: player.Role, Attributes: attributesOf(player.Told),
		})
	}
	return r
}

// attributesOf reads attributes as game servers are told of them.
func attributesOf(told json.RawMessage) match.Attributes {
	var values map[string]any
	if len(told) == 0 || json.Unmarshal(told, &values) != nil {
		return nil
	}
	all := match.Attributes{}
	for name, v := range values {
		switch v := v.(type) {
		case float64:
			all[name] = match.Value{Kind: match.Number, Number: v}
		case string:
			all[name] = match.Value{Kind: match.Text, Text: v}
		case []any:
			list := match.Value{Kind: match.List}
			for _, text := range v {
				if text, ok := text.(string); ok {
					list.List = append(list.List, text)
				}
			}
			all[name] = list
		}
	}
	return all
}

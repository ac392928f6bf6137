package loop

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

// shadow is a version of a profile that decides about the same tickets as the live one, and commits nothing. A ticket that the shadow
// has matched is no longer a candidate of it; all tickets leave with the live matches. A shadow joins no open matches.
type shadow struct {
	version int
	profile *profile.Profile
	engine  *decide.Engine
	dirty   bool
	credit  time.Duration // how long it may decide now
	at      time.Time     // when the credit was last increased, by this machine's clock
	seen    db.ShadowMatches
	count   map[string]int // matches of a side within this second
}

const (
	// shadowShare bounds the shadow of a profile to a fifth of this worker's time.
	shadowShare = 5
	// shadowCredit bounds the time that a shadow saves up, and so its turn.
	shadowCredit = 20 * time.Millisecond
	// shadowEffort is how many nodes a shadow searches between two readings of the clock, about a millisecond.
	shadowEffort = 2048
	// shadowPause is how long a shadow without credit waits.
	shadowPause = 20 * time.Millisecond
	// shadowMatches is how many matches of a side are recorded per second; further ones are left out.
	shadowMatches = 100
)

var errFunctionShadow = errors.New("a version with a match function cannot be a shadow")

// followShadow makes a version the shadow of a profile; 0: none.
func (l *Loop) followShadow(ctx context.Context, p *owned, version int) error {
	switch {
	case version == 0:
		p.shadow = nil
		return nil
	case p.shadow != nil && p.shadow.version == version && p.shadow.seen.Live == p.version:
		return nil
	}
	stored, err := l.Store.Profile(ctx, l.Universe, p.name, version)
	if err != nil {
		return err
	}
	p.shadow = &shadow{version: version, at: time.Now(), count: map[string]int{}, seen: db.ShadowMatches{Profile: p.name, Live: p.version, Shadow: version}}
	read, err := profile.ParseStored([]byte(stored.Document))
	if err == nil && read.Function != nil {
		err = errFunctionShadow
	}
	if err != nil {
		l.Log.LogAttrs(ctx, slog.LevelError, "the shadow of a profile cannot decide", slog.String("profile", p.name), slog.Int("version", version), slog.Any("error", err))
		return nil
	}
	p.shadow.profile, p.shadow.engine, p.shadow.dirty = read, decide.New(decide.Version{Profile: read, Number: version}, p.seed), true
	l.fill(p.shadow.engine, read, nil)
	return nil
}

// turnShadows runs the shadows within their share of the time. It is called after all live versions have decided.
func (l *Loop) turnShadows() {
	now := l.moment()
	for _, p := range l.inOrder() {
		if s := p.shadow; s != nil && s.engine != nil && l.hosts.knows(s.profile.Modes) {
			s.decide(now)
		}
	}
}

func (s *shadow) decide(now time.Time) {
	started := time.Now()
	s.credit = min(shadowCredit, s.credit+started.Sub(s.at)/shadowShare)
	s.at = started
	if at, ok := s.engine.Next(); ok && !at.After(now) {
		s.dirty = true
	}
	for s.dirty && time.Since(started) < s.credit {
		found, done := s.engine.Run(now, shadowEffort)
		s.dirty = !done
		for i := range found {
			s.record("shadow", s.profile, &found[i], now)
		}
	}
	s.credit -= time.Since(started)
}

// next returns when a shadow may have something to decide, by this machine's clock; ok is false if it has nothing.
func (s *shadow) next(skew time.Duration) (at time.Time, ok bool) {
	if s.engine == nil {
		return at, false
	}
	if s.dirty {
		return time.Now().Add(shadowPause), true
	}
	at, ok = s.engine.Next()
	return at.Add(-skew), ok
}

// setRegions passes the current game regions to the shadow. A nil shadow ignores them.
func (s *shadow) setRegions(h hosts) {
	if s != nil && s.engine != nil {
		s.engine.SetRegions(h.regionsOf(s.profile))
		s.dirty = true
	}
}

// record keeps a match for the comparison. It ignores newcomers of open matches.
func (s *shadow) record(side string, p *profile.Profile, found *decide.Proposal, at time.Time) {
	if s == nil || s.engine == nil || found.Session != "" || s.count[side] >= shadowMatches {
		return
	}
	s.count[side]++
	measures, _ := json.Marshal(measuresOf(p, found)) // finite numbers always encode
	s.seen.Sides, s.seen.DecidedAt = append(s.seen.Sides, side), append(s.seen.DecidedAt, at)
	s.seen.Measures = append(s.seen.Measures, string(measures))
}

// measuresOf returns the measures of a match for a comparison: the values of its rules, its latency and its fill.
func measuresOf(p *profile.Profile, found *decide.Proposal) map[string]float64 {
	players, seats := 0, 0
	for _, t := range found.Teams {
		players += len(t.Seats)
	}
	for _, t := range p.Teams {
		seats += t.Max
	}
	m := map[string]float64{"players": float64(players), "fill": float64(players) / float64(max(1, seats))}
	for _, r := range found.Rules {
		if r.Text != "ended" {
			m[r.ID] = r.Value
		}
	}
	if len(found.Regions) > 0 && found.Regions[0].Measured {
		m["latency_ms"] = float64(found.Regions[0].Worst)
	}
	return m
}

// putShadows stores the matches that shadows and live versions decided since the last call. It drops matches that it cannot store:
// a comparison must not stop the decisions.
func (l *Loop) putShadows(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for _, p := range l.inOrder() {
		if p.shadow == nil || len(p.shadow.seen.Sides) == 0 {
			continue
		}
		seen := p.shadow.seen
		if err := l.Store.RecordShadow(ctx, l.Universe, seen); err != nil {
			l.Log.LogAttrs(ctx, slog.LevelWarn, "matches of a shadow could not be recorded", slog.String("profile", p.name), slog.Any("error", err))
		}
		p.shadow.seen = db.ShadowMatches{Profile: seen.Profile, Live: seen.Live, Shadow: seen.Shadow}
		clear(p.shadow.count)
	}
}

// addTicket makes a ticket a candidate of the live version and of the shadow.
func (p *owned) addTicket(t *match.Ticket) {
	p.engine.Add(t)
	if s := p.shadow; s != nil && s.engine != nil {
		s.engine.Add(t)
		s.dirty = true
	}
}

// removeTicket removes a ticket from both.
func (p *owned) removeTicket(id string) {
	p.engine.Remove(id)
	if s := p.shadow; s != nil && s.engine != nil {
		s.engine.Remove(id)
	}
}

package loop

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

// shadow is a version of a profile that decides about the same tickets as the live one, and commits nothing. A ticket
// that the shadow has matched is no longer a candidate of it; all tickets leave with the live matches. A shadow joins
// no open matches.
type shadow struct {
	version     int
	profile     *profile.Profile
	decider     *decider      // nil: this release cannot run the version
	timeCredit  time.Duration // how long it may decide now
	creditedAt  time.Time     // when the credit was last increased, by this machine's clock
	matchCounts db.ShadowMatches
	countBySide map[string]int // matches of a side within this second
}

const (
	// shadowShare bounds the shadow of a profile to a fifth of this worker's time.
	shadowShare = 5
	// shadowCredit bounds the time that a shadow saves up, and so its turn.
	shadowCredit = 20 * time.Millisecond
	// shadowLeast is the credit with which a turn begins.
	shadowLeast = 2 * time.Millisecond
	// shadowEffort is how many nodes a shadow searches between two readings of the clock, about a millisecond.
	shadowEffort = 2048
	// shadowPause is how long a shadow without credit waits.
	shadowPause = 20 * time.Millisecond
	// shadowMatches is how many matches of a side are recorded per second; further ones are left out.
	shadowMatches = 100
)

var errFunctionShadow = errors.New("a version with a match function cannot be a shadow")

// followShadow makes a version the shadow of a profile, if it may begin now, and reports whether it did; 0: none.
func (l *Loop) followShadow(ctx context.Context, p *owned, version int, mayBegin bool) (began bool, err error) {
	switch {
	case version == 0:
		p.shadow = nil
		return false, nil
	case !mayBegin || p.shadow != nil && p.shadow.version == version && p.shadow.matchCounts.LiveMatches == p.version:
		return false, nil
	}
	var stored db.ProfileVersion
	err = callDatabase(ctx, "reading the shadow of a profile", func(ctx context.Context) (err error) {
		stored, err = l.options.Store.Profile(ctx, l.options.Universe, p.name, version)
		return err
	})
	if err != nil {
		return false, err
	}
	p.shadow = &shadow{version: version, creditedAt: time.Now(), countBySide: map[string]int{},
		matchCounts: db.ShadowMatches{Profile: p.name, LiveMatches: p.version, Shadow: version}}
	read, err := profile.ParseStored([]byte(stored.Document))
	if err == nil && read.Function != nil {
		err = errFunctionShadow
	}
	if err != nil {
		l.options.Log.LogAttrs(ctx, slog.LevelError, "the shadow of a profile cannot decide",
			slog.String("profile", p.name),
			slog.Int("version", version), slog.Any("error", err))
		return true, nil
	}
	p.shadow.profile, p.shadow.decider = read, newDecider(decide.Version{Profile: read, Number: version}, p.lotSeed)
	p.shadow.setRegions(l.hosts, l.currentMoment())
	p.shadow.learnChange(change{moment: l.lastMoment, kind: candidatesCame,
		entries: l.candidateEntries(p.name, read.Pool != nil, nil)})
	return true, nil
}

// learnChange passes a change on to the shadow. A nil shadow ignores it.
func (s *shadow) learnChange(c change) {
	if s != nil && s.decider != nil {
		s.decider.putChange(c)
	}
}

// beginShadow begins a turn of the shadow of a profile, if there is one, within its share of the time. It competes with
// the hot profiles: never with those that have little to do.
func (l *Loop) beginShadow(p *owned, now time.Time) {
	s := p.shadow
	if s == nil || s.decider == nil || s.decider.isRunning || !s.decider.mayFind(now) ||
		!l.hosts.knowsModes(s.profile.Modes) {
		return
	}
	began := time.Now()
	s.timeCredit = min(shadowCredit, s.timeCredit+began.Sub(s.creditedAt)/shadowShare)
	s.creditedAt = began
	if s.timeCredit < shadowLeast {
		return
	}
	t := &turn{profile: p, shadow: s, beganAt: now, mayDecide: true, maxTime: s.timeCredit, maxLate: l.maxLate,
		searchEffort: shadowEffort, maxMatches: shadowMatches, playerArg: l.options.PlayerArg}
	s.decider.isHot = true
	l.turns.beginTurn(s.decider.beginTurn(t))
}

// endShadow takes the result of a turn of a shadow.
func (l *Loop) endShadow(t *turn) {
	s := t.shadow
	s.timeCredit -= t.tookTime
	if t.err != nil {
		s.decider = nil // the panic is in the log; the next version of the shadow begins anew
		return
	}
	for i := range t.decidedMatches {
		s.recordMatch("shadow", s.profile, &t.decidedMatches[i].proposal, t.decidedMatches[i].decidedAt)
	}
}

// nextDecision returns when a shadow may have something to decide, by this machine's clock; ok is false if it has
// nothing.
func (s *shadow) nextDecision(skew time.Duration) (at time.Time, ok bool) {
	switch {
	case s == nil || s.decider == nil || s.decider.isRunning:
		return at, false
	case s.decider.isUnfinished || len(s.decider.queuedChanges) > 0:
		return time.Now().Add(shadowPause), true
	}
	return s.decider.nextAt.Add(-skew), s.decider.hasNext
}

// setRegions passes the current game regions to the shadow. A nil shadow ignores them.
func (s *shadow) setRegions(h hosts, at time.Time) {
	if s != nil && s.decider != nil {
		s.learnChange(change{moment: at, kind: regionsChanged, regions: h.regionsOf(s.profile)})
	}
}

// recordMatch keeps a match for the comparison. It ignores newcomers of open matches.
func (s *shadow) recordMatch(side string, p *profile.Profile, found *decide.Proposal, at time.Time) {
	if s == nil || s.decider == nil || found.Session != "" || s.countBySide[side] >= shadowMatches {
		return
	}
	s.countBySide[side]++
	measures, _ := json.Marshal(measuresOf(p, found)) // finite numbers always encode
	s.matchCounts.Sides, s.matchCounts.DecidedAt = append(s.matchCounts.Sides, side), append(s.matchCounts.DecidedAt,
		at)
	s.matchCounts.Measures = append(s.matchCounts.Measures, string(measures))
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

// putShadows stores the matches that shadows and live versions decided since the last call. It drops matches that it
// cannot store: a comparison must not stop the decisions.
func (l *Loop) putShadows(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for _, p := range l.inOrder() {
		if p.shadow == nil || len(p.shadow.matchCounts.Sides) == 0 {
			continue
		}
		seen := p.shadow.matchCounts
		if err := l.options.Store.RecordShadow(ctx, l.options.Universe, seen); err != nil {
			l.options.Log.LogAttrs(ctx, slog.LevelWarn, "matches of a shadow could not be recorded",
				slog.String("profile", p.name), slog.Any("error", err))
		}
		p.shadow.matchCounts = db.ShadowMatches{Profile: seen.Profile, LiveMatches: seen.LiveMatches,
			Shadow: seen.Shadow}
		clear(p.shadow.countBySide)
	}
}

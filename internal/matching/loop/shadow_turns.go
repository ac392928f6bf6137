package loop

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

var errFunctionShadow = errors.New("a version with a match function cannot be a shadow")

// followShadow makes a version the shadow of a profile, 0: none, and reports whether a shadow has begun by that.
func (l *Loop) followShadow(ctx context.Context, p *ownedProfile, version int) (hasBegun bool, err error) {
	if version == 0 {
		p.shadow = nil
		return false, nil
	}
	if p.shadow.compares(p.version, version) {
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
	p.shadow = l.newShadow(ctx, p, version, stored.Document)
	if p.shadow.decider != nil {
		p.shadow.setRegions(l.hosts, l.currentMoment())
		// With the tickets that the live version has matched and not committed: the shadow decides about them itself.
		p.shadow.learnChange(change{moment: l.lastMoment, kind: candidatesCame,
			entries: l.candidateEntries(p.name, p.shadow.profile.Pool != nil, nil)})
	}
	return true, nil
}

// newShadow makes the shadow of a profile, without candidates. A version that this release cannot run decides nothing,
// and is not read again until the live version or the shadow is another one.
func (l *Loop) newShadow(ctx context.Context, p *ownedProfile, version int, document string) *shadow {
	s := &shadow{version: version, creditedAt: time.Now(), countBySide: map[string]int{},
		unstoredMatches: db.ShadowMatches{Profile: p.name, LiveVersion: p.version, ShadowVersion: version}}
	read, err := profile.ParseStored([]byte(document))
	if err == nil && read.Function != nil {
		err = errFunctionShadow
	}
	if err != nil {
		l.options.Log.LogAttrs(ctx, slog.LevelError, "the shadow of a profile cannot decide",
			slog.String("profile", p.name), slog.Int("version", version), slog.Any("error", err))
		return s
	}
	s.profile, s.decider = read, newDecider(decide.Version{Profile: read, Number: version}, p.lotSeed)
	return s
}

// beginShadow begins a turn of the shadow of a profile, if there is one, within the shadow's share of the time. The turn
// competes only with those of hot profiles.
func (l *Loop) beginShadow(p *ownedProfile, now time.Time) {
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
	t := &turn{profileName: p.name, isShadow: true, beganAt: now, mayDecide: true, maxTime: s.timeCredit,
		maxLate: l.maxLate, searchEffort: shadowEffort, maxMatches: shadowMatches, playerArg: l.options.PlayerArg}
	s.decider.isHot = true // however short its last turn was: players wait for the live versions only
	l.turns.queueTurn(s.decider.prepareTurn(t))
}

// endShadow takes the result of a turn of the shadow of a profile.
func (l *Loop) endShadow(p *ownedProfile, t *turn) {
	s := p.shadow
	// The shadow is another version by now, or there is none.
	if s == nil || s.decider != t.decider {
		return
	}
	s.timeCredit -= t.tookTime
	if t.err != nil {
		s.decider = nil // the panic is in the log; the next version of the shadow begins anew
		return
	}
	for i := range t.decidedMatches {
		s.recordMatch("shadow", s.profile, &t.decidedMatches[i].proposal, t.decidedMatches[i].decidedAt)
	}
}

// putShadows stores the matches that shadows and live versions decided since the last call. It drops matches that it
// cannot store: a comparison must not stop the decisions.
func (l *Loop) putShadows(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for _, p := range l.profilesInOrder() {
		if p.shadow == nil || len(p.shadow.unstoredMatches.Sides) == 0 {
			continue
		}
		unstored := p.shadow.unstoredMatches
		if err := l.options.Store.RecordShadow(ctx, l.options.Universe, unstored); err != nil {
			l.options.Log.LogAttrs(ctx, slog.LevelWarn, "matches of a shadow could not be recorded",
				slog.String("profile", p.name), slog.Any("error", err))
		}
		p.shadow.unstoredMatches = db.ShadowMatches{Profile: unstored.Profile, LiveVersion: unstored.LiveVersion,
			ShadowVersion: unstored.ShadowVersion}
		clear(p.shadow.countBySide)
	}
}

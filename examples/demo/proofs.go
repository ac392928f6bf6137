package main

import (
	"context"
	"fmt"
	"strings"
)

// proof is one promise, whether it was kept, and what shows that.
type proof struct {
	ok              bool
	claim, evidence string
}

// judge makes the proofs from the database, the answers and the record of chaos.
type judge struct {
	options options
	ledger  ledger
	players *players
	tally   tally
	record
}

// proofs makes all proofs. The play must be over.
func (j judge) proofs(ctx context.Context) (all []proof, err error) {
	for _, prove := range []func(context.Context) (proof, error){
		j.everybodyPlayed, j.nobodyOverCapacity, j.evictedPlayOn, j.nothingLost, j.wentOn, j.drainHeld, j.thiefRefused, j.invariantsHold,
	} {
		p, err := prove(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.claim, err)
		}
		all = append(all, p)
	}
	return all, nil
}

func (j judge) everybodyPlayed(ctx context.Context) (proof, error) {
	p := proof{claim: "Every bot played"}
	redeemed, err := j.ledger.played(ctx)
	welcomed, visits, stats := 0, 0, j.players.Stats()
	for _, b := range stats.Bots {
		visits += b.Matches + b.Rejoins + b.Moves
		if len(b.Visits) > 0 {
			welcomed++
		}
	}
	p.ok = welcomed == j.options.bots && redeemed == j.options.bots
	p.evidence = fmt.Sprintf("%d of %d were admitted with a verified token, %d times; they picked up %d coins",
		min(welcomed, redeemed), j.options.bots, visits, stats.Total().Coins)
	return p, err
}

func (j judge) nobodyOverCapacity(context.Context) (proof, error) {
	t := j.tally
	p := proof{claim: "Nobody over capacity", ok: t.looks > 0 && len(t.over) == 0}
	p.evidence = fmt.Sprintf("checked %d times; the fullest was %s: matches hold %d of its %d seats",
		t.looks, t.fullest.Name, t.fullest.Reserved, t.fullest.Capacity)
	if len(t.over) > 0 {
		p.evidence = "over capacity: " + strings.Join(t.over, ", ")
	}
	return p, nil
}

func (j judge) evictedPlayOn(ctx context.Context) (proof, error) {
	p := proof{claim: "The killed server's players play on"}
	e, err := j.ledger.eviction(ctx, j.server, j.serverKilledAt)
	p.ok = e.inside > 0 && e.over()
	p.evidence = fmt.Sprintf("%d of %d on %s (%d inside) play elsewhere, the last after %.1f s",
		e.players-len(e.waiting)-len(e.seatless), e.players, j.server, e.inside, e.slowest.Seconds())
	switch {
	case e.open > 0:
		p.evidence += fmt.Sprintf("; %d sessions are still open there", e.open)
	case len(e.seatless) > 0:
		p.evidence += "; without a seat: " + some(e.seatless)
	case len(e.waiting) > 0:
		p.evidence += "; seated, but not there yet: " + some(e.waiting)
	}
	return p, err
}

func (j judge) nothingLost(ctx context.Context) (proof, error) {
	p := proof{claim: "The killed replica lost nothing", evidence: "no replica was killed"}
	if j.replica == nil {
		return p, nil
	}
	given := j.players.answers.where(func(answer) bool { return true })
	byVictim := j.players.answers.where(func(a answer) bool { return a.replica == j.replica.addr && a.at.Before(j.replicaKilledAt) })
	unknown, err := j.ledger.unknown(ctx, given)
	p.ok = len(unknown) == 0 && len(byVictim) > 0
	p.evidence = fmt.Sprintf("%d answers gave a seat, %d of them by %s: the database has all seats", len(given), len(byVictim), j.replica.Name)
	if len(unknown) > 0 {
		p.evidence = fmt.Sprintf("players got %d seats that the database does not have: %s", len(unknown), some(unknown))
	}
	return p, err
}

// wentOn proves that other replicas answered players while the killed one was down, and it itself after its restart.
func (j judge) wentOn(context.Context) (proof, error) {
	p := proof{claim: "Everything went on without it", evidence: "no replica was killed and started again"}
	if j.replica == nil || j.replicaBackAt.IsZero() {
		return p, nil
	}
	meanwhile, since := len(j.players.answers.where(j.withoutReplica)), len(j.players.answers.where(j.byReturned))
	p.ok = meanwhile > 0 && since > 0
	p.evidence = fmt.Sprintf("%d calls were answered while %s was down; after its restart it answered %d", meanwhile, j.replica.Name, since)
	return p, nil
}

func (j judge) drainHeld(ctx context.Context) (proof, error) {
	p := proof{claim: "The drained server took nobody new"}
	seats, leftWell, err := j.ledger.intruders(ctx, j.drainedIncarnation, j.drainedAt)
	p.ok = j.drained != "" && seats == 0
	p.evidence = fmt.Sprintf("%d seats given on %s since; %d players finished their match there", seats, j.drained, leftWell)
	return p, err
}

func (j judge) thiefRefused(context.Context) (proof, error) {
	p := proof{claim: "Replayed tokens were refused", ok: j.tokensShown > 0 && j.tokensShown == j.tokensRefused}
	p.evidence = fmt.Sprintf("%d of %d", j.tokensRefused, j.tokensShown)
	return p, nil
}

func (j judge) invariantsHold(ctx context.Context) (proof, error) {
	p := proof{claim: "All invariants hold"}
	views, broken, err := j.ledger.violations(ctx)
	p.ok = views > 0 && len(broken) == 0 && len(j.tally.broken) == 0
	p.evidence = fmt.Sprintf("%d views ops.invariant_* are empty now, and were in each of %d earlier checks", views, j.tally.looks)
	if len(broken) > 0 {
		p.evidence = "broken now: " + strings.Join(broken, ", ")
	} else if len(j.tally.broken) > 0 {
		p.evidence = "broken during the play: " + strings.Join(j.tally.broken, ", ")
	}
	return p, err
}

// endedWell is the last proof, made after everything was stopped.
func endedWell(stopped error) proof {
	p := proof{claim: "Everything stopped when told", ok: stopped == nil, evidence: "every process that the demo did not kill ended with exit code 0"}
	if stopped != nil {
		p.evidence = strings.ReplaceAll(stopped.Error(), "\n", "; ")
	}
	return p
}

// some are the first few names of a list.
func some(names []string) string {
	if len(names) > 5 {
		return strings.Join(names[:5], ", ") + fmt.Sprintf(" and %d more", len(names)-5)
	}
	return strings.Join(names, ", ")
}

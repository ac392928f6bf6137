package proof

import (
	"fmt"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/report"
)

// match makes the findings of the rounds.
func (all rounds) match(sizes matchSizes) []report.Finding {
	many := report.Whole(float64(sizes.queued))
	findings := []report.Finding{
		noted(atMost(many+" queued: until all are matched and seated, compared with an Open Match director", all.seating(), seatingRatio, times),
			"%s; an Open Match director takes %s to fetch and assign as many in pairs, without seats; as many single-row commits take %s",
			millis(all.p50(queueAll)), millis(all.p50(fetchAll)), millis(float64(sizes.queued)/all.perSecond(commit)*1000)),
		noted(atMost(many+" matched without a game server: until all are seated, p50", all.p50(seatAll), 2000, millis), "from the registration of game servers on"),
		noted(atMost("created until the assignment is seen: p50", all.p50(duelLife), 10, millis),
			"of pairs of players, of which the later one counts; creating %s, of a no-op %s, a notification %s, a single-row commit under load %s",
			millis(all.p50Of(duelLife, "create")), millis(all.p50(pacedNoOp)), millis(all.p50(notices)), millis(all.p50(commit))),
		atMost("created until the assignment is seen: p99", all.p99(duelLife), 60, millis),
		all.steady(),
		all.idle(sizes.idle),
	}
	findings = append(findings, all.decided()...)
	return append(findings, all.failures(queueAll, seatAll, fetchAll, duelLife, steadyLoad))
}

// seatingRatio is how much longer seating may take than what an Open Match director does in the same round.
const seatingRatio = 1.2

func (all rounds) seating() float64 {
	return all.median(func(r round) float64 { return r[queueAll].Latency.P50 / r[fetchAll].Latency.P50 })
}

// steadyCPU is the CPU of director and Postgres a ticket, in µs, with which one core takes 2,000 tickets a second.
const steadyCPU = 500

func (all rounds) steady() report.Finding {
	f := atMost("steady load: CPU a ticket, of replica, worker and Postgres", all.median(func(r round) float64 { return cpu(r[steadyLoad]) }), steadyCPU, micros)
	share := func(of func(*bench.Costs) float64) string {
		return measured(all.median(func(r round) float64 { return costOf(r[steadyLoad], of) }), micros)
	}
	return noted(f, "Postgres %s; %s of the %s requested, beside %s that wait; create's p99 %s. A no-op %s; single-row commits %s",
		share(func(c *bench.Costs) float64 { return c.PostgresMicros }), all.rate(steadyLoad), perSecond(all.median(requested)),
		report.Whole(all.median(func(r round) float64 { return float64(r[steadyLoad].Tickets) })), millis(all.p99(steadyLoad)),
		measured(all.median(func(r round) float64 { return cpu(r[pacedNoOp]) }), micros), all.rate(commit))
}

func requested(r round) float64 {
	if o := r[steadyLoad].Open; o != nil {
		return o.Rate
	}
	return 0
}

// idle makes the finding about a worker with nothing to do. A call of the trial lasts a second.
func (all rounds) idle(tickets int) report.Finding {
	share := func(of func(*bench.Costs) float64) float64 {
		return all.median(func(r round) float64 { return costOf(r[idleQueue], of) / 1e6 })
	}
	f := atMost(fmt.Sprintf("%s waiting whom no rule matches: CPU of the worker", report.Whole(float64(tickets))),
		share(func(c *bench.Costs) float64 { return c.ServerMicros }), 0.02, percent)
	return noted(f, "of one CPU; Postgres %s", measured(share(func(c *bench.Costs) float64 { return c.PostgresMicros }), percent))
}

func costOf(r bench.Result, of func(*bench.Costs) float64) float64 {
	if r.Costs == nil {
		return 0
	}
	return of(r.Costs)
}

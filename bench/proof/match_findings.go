package proof

import (
	"fmt"

	"github.com/lattice-director/director/bench"
)

// match makes the findings of the rounds.
func (all rounds) match(sizes matchSizes) []Finding {
	many := inFull(float64(sizes.queued))
	findings := []Finding{
		noted(atMost(many+" queued: until all are matched and seated, compared with an Open Match director",
			all.compared(queueAll, fetchAll, p50), seatingRatio, times),
			"%s; an Open Match director takes %s to fetch and assign as many in pairs, without seats; as many single-row commits take %s",
			all.show(queueAll, p50, millis), all.show(fetchAll, p50, millis),
			millis(float64(sizes.queued)/all.of(commit, throughput)*1000)),
		noted(atMost(many+" matched without a game server: until all are seated, p50", all.of(seatAll, p50), 2000,
			millis), "from the registration of game servers on"),
		noted(atMost("created until the assignment is seen: p50", all.of(duelLife, p50), 10, millis),
			"of pairs of players, of which the later one counts; creating %s, of a no-op %s, a notification %s, a single-row commit under load %s",
			all.show(duelLife, stepOf("create", p50), millis), all.show(pacedNoOp, p50, millis),
			all.show(notices, p50, millis), all.show(commit, p50, millis)),
		atMost("created until the assignment is seen: p99", all.of(duelLife, p99), 60, millis),
		all.steady(),
		all.idle(sizes.idle),
	}
	findings = append(findings, all.decided()...)
	return append(findings, all.failures(queueAll, seatAll, fetchAll, duelLife, steadyLoad))
}

// seatingRatio is how much longer seating may take than what an Open Match director does in the same round.
const seatingRatio = 1.2

// steadyCPU is the CPU of director and Postgres a ticket, in µs, with which one core takes 2,000 tickets a second.
const steadyCPU = 500

func (all rounds) steady() Finding {
	f := atMost("steady load: CPU a ticket, of replica, worker and Postgres", all.of(steadyLoad, cpu), steadyCPU,
		micros)
	return noted(f, "Postgres %s; %s of the %s requested, beside %s that wait; create's p99 %s. A no-op %s; single-row commits %s",
		all.show(steadyLoad, postgresMicros, micros), all.rate(steadyLoad), all.show(steadyLoad, requested, perSecond),
		all.show(steadyLoad, func(r bench.Result) float64 { return float64(r.Tickets) }, inFull),
		all.show(steadyLoad, p99, millis),
		all.show(pacedNoOp, cpu, micros), all.rate(commit))
}

// idle makes the finding about a worker with nothing to do. A call of the trial lasts a second.
func (all rounds) idle(tickets int) Finding {
	f := atMost(fmt.Sprintf("%s waiting whom no rule matches: CPU of the worker", inFull(float64(tickets))),
		all.of(idleQueue, serverMicros)/1e6, 0.02, percent)
	return noted(f, "of one CPU; Postgres %s", percent(all.of(idleQueue, postgresMicros)/1e6))
}

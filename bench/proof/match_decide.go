package proof

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

// decision is a trial that decides about a queue without a database.
type decision struct {
	team  int // players of each of two teams
	queue int // tickets
}

var (
	duels     = decision{1, 50_000}
	teams     = decision{5, 50_000}
	fewTeams  = decision{5, 1_000}
	manyTeams = decision{5, 100_000}
)

func (d decision) name() string {
	return fmt.Sprintf("decide about %s, %d against %d", inFull(float64(d.queue)), d.team, d.team)
}

func decisionNames() (names []string) {
	for _, d := range []decision{duels, teams, fewTeams, manyTeams} {
		names = append(names, d.name())
	}
	return names
}

// decisions are the trials of the decision alone.
func (b *testbed) decisions() (trials []trial) {
	for _, d := range []decision{duels, teams, fewTeams, manyTeams} {
		trials = append(trials, trial{d.name(),
			func(ctx context.Context) (bench.Result, error) { return b.decide(ctx, d) }})
	}
	return trials
}

const decidedProfile = `name: decided
attributes: {skill: {type: number}}
teams: [{name: red, players: %d}, {name: blue, players: %d}]
rules: [{near: skill, within: 100, widen: [{after: 10s, within: 200}]}]
`

// decide decides about the whole queue, a small one several times, and reports the CPU a ticket as that of the load.
func (b *testbed) decide(ctx context.Context, d decision) (bench.Result, error) {
	p, err := profile.Parse(fmt.Appendf(nil, decidedProfile, d.team, d.team))
	if err != nil {
		return bench.Result{}, err
	}
	queue := of(b.options, d.queue, 100)
	tickets, times := crowdOf(queue), max(1, duels.queue/queue/2)
	var cpu, took time.Duration
	for range times {
		one, used, err := b.decideOnce(ctx, p, tickets)
		if err != nil {
			return bench.Result{}, err
		}
		took, cpu = took+one, cpu+used
	}
	return bench.Result{
		Scenario: "decide", Callers: 1, Tickets: queue, Seconds: took.Seconds(),
		Costs: &bench.Costs{GeneratorMicros: float64(cpu.Microseconds()) / float64(times*queue)},
		Figures: bench.Figures{
			Calls: int64(times), Errors: map[string]int64{}, PerSecond: float64(times) / took.Seconds(),
			Latency: bench.Latency{P50: took.Seconds() * 1000 / float64(times)}, // all runs are alike
		},
	}, nil
}

// decideOnce decides about a queue that was loaded before.
func (b *testbed) decideOnce(ctx context.Context, p *profile.Profile,
	tickets []*match.Ticket) (took, cpu time.Duration, err error) {
	e := decide.New(decide.Version{Profile: p, Number: 1}, 1)
	for _, t := range tickets {
		e.Add(t)
	}
	runtime.GC() // so that the garbage of loading does not count
	before, err := b.Database.Read(ctx)
	if err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	e.Run(begin.Add(time.Minute), math.MaxInt)
	took = time.Since(begun)
	after, err := b.Database.Read(ctx)
	return took, after.GeneratorCPU - before.GeneratorCPU, err
}

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// crowdOf makes tickets of single players with normally distributed skill.
func crowdOf(n int) []*match.Ticket {
	random := rand.New(rand.NewPCG(1, 0))
	tickets := make([]*match.Ticket, n)
	for i := range tickets {
		skill := match.Value{Kind: match.Number, Number: 1500 + 300*random.NormFloat64()}
		tickets[i] = &match.Ticket{
			ID: fmt.Sprintf("t%08d", i), Created: begin.Add(time.Duration(i) * time.Millisecond),
			Profiles: []string{"decided"},
			Players:  []match.Player{{Sub: fmt.Sprint("player-", i), Attributes: match.Attributes{"skill": skill}}},
		}
	}
	return tickets
}

// decided makes the findings about the decision alone. They are CPU time, since other programs may run beside it.
func (all rounds) decided() []Finding {
	perTicket := func(d decision) float64 {
		return all.of(d.name(), loadMicros)
	}
	whole := func(d decision) Finding {
		f := atMost(d.name()+": CPU", perTicket(d)*float64(d.queue)/1000, 250, millis)
		return noted(f, "without a database; by the clock %s", all.show(d.name(), p50, millis))
	}
	return []Finding{
		whole(duels), whole(teams),
		noted(atMost("CPU a ticket of 100,000, compared with 1,000",
			all.compared(manyTeams.name(), fewTeams.name(), loadMicros), 1.5, times),
			"%s and %s, 5 against 5", micros(perTicket(manyTeams)), micros(perTicket(fewTeams))),
	}
}

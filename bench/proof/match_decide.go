package proof

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

// decision is an arm that decides about a queue without a database.
type decision struct {
	teamSize int // players of each of two teams
	queued   int // tickets
}

var (
	duels     = decision{1, 50_000}
	teams     = decision{5, 50_000}
	fewTeams  = decision{5, 1_000}
	manyTeams = decision{5, 100_000}
)

// name is the arm's, and begins the claim about it.
func (d decision) name() string {
	return fmt.Sprintf("decide about %s, %d against %d", whole(d.queued), d.teamSize, d.teamSize)
}

// decisionArms are the arms of the decision alone.
func (b *testbed) decisionArms() (arms []arm) {
	for _, d := range []decision{duels, teams, fewTeams, manyTeams} {
		arms = append(arms, arm{name: d.name(),
			run: func(ctx context.Context) (bench.Result, error) { return b.decide(ctx, d) }})
	}
	return arms
}

const decidedProfile = `name: decided
attributes: {skill: {type: number}}
teams: [{name: red, players: %d}, {name: blue, players: %d}]
rules: [{near: skill, within: 100, widen: [{after: 10s, within: 200}]}]
`

// decide decides about the whole queue, a small one several times. Its value is the CPU a ticket, in µs.
func (b *testbed) decide(ctx context.Context, d decision) (bench.Result, error) {
	p, err := profile.Parse(fmt.Appendf(nil, decidedProfile, d.teamSize, d.teamSize))
	if err != nil {
		return bench.Result{}, err
	}
	queued := choose(b.options, d.queued, 100)
	queue, repeats := normalCrowd(queued), max(1, duels.queued/queued/2)
	var cpu, took time.Duration
	for range repeats {
		engine := decide.New(decide.Version{Profile: p, Number: 1}, 1)
		for _, t := range queue {
			engine.Add(t)
		}
		runtime.GC() // so that the garbage of loading does not count
		// of the whole process, in which nothing else runs meanwhile
		used, start := lab.OwnCPU(), time.Now()
		engine.Run(crowdBegins.Add(time.Minute), math.MaxInt)
		took, cpu = took+time.Since(start), cpu+lab.OwnCPU()-used
	}
	r := bench.ResultOf("decide", queued, took/time.Duration(repeats)) // all runs are alike
	r.Values = map[string]float64{"cpu": float64(cpu.Microseconds()) / float64(repeats*queued)}
	return r, ctx.Err()
}

var crowdBegins = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// normalCrowd makes tickets of single players with normally distributed skill.
func normalCrowd(n int) []*match.Ticket {
	random := rand.New(rand.NewPCG(1, 0))
	queue := make([]*match.Ticket, n)
	for i := range queue {
		skill := match.Value{Kind: match.Number, Number: 1500 + 300*random.NormFloat64()}
		queue[i] = &match.Ticket{
			ID: fmt.Sprintf("t%08d", i), Created: crowdBegins.Add(time.Duration(i) * time.Millisecond),
			Profiles: []string{"decided"},
			Players:  []match.Player{{Sub: fmt.Sprint("player-", i), Attributes: match.Attributes{"skill": skill}}},
		}
	}
	return queue
}

var decisionClaims = []claim{
	quickDecision(duels), quickDecision(teams),
	{"CPU a ticket of 100,000, compared with 1,000", ratio(manyTeams.name(), fewTeams.name(), decisionCPU), atMost(1.5)},
}

var decisionCPU = valueOf("cpu", micros)

// quickDecision is the claim about the CPU of deciding about the whole queue.
func quickDecision(d decision) claim {
	inAll := figure{func(r bench.Result) float64 { return decisionCPU.read(r) * float64(d.queued) / 1000 }, millis}
	return claim{d.name() + ", without a database: CPU", median(d.name(), inAll), atMost(250)}
}

package proof

import (
	"context"
	"fmt"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// A region of 100 game servers plays 1,000 matches of five parties of two. It is lost, and an operator evacuates it: a
// worker closes the sessions, ends the game servers, and queues each party again with a ticket as old as its first one.
// The time is that of the evacuation's row, from its beginning until everything is decided.
var evacuation = Experiment{
	Name: "evacuation", Title: "A lost region", Takes: "1 min",
	About: "How soon the players of a lost region have a place in the queue, in their old order",
	parts: inOneLab(lab.Options{Worker: true, Env: []string{lab.KeepTickets}}, evacuationArms), claims: evacuationClaims,
}

const (
	regionLoss = "evacuation of a region" // the arm
	// playersOfMatch is how many players a match has, in parties of two.
	playersOfMatch = 10
)

// lostRegion returns how many game servers the region has, and how many matches each.
func lostRegion(o Options) (servers, matches int) { return choose(o, 100, 2), choose(o, 10, 2) }

// evacuationArms are one arm, which starts from the same rows in each round.
func evacuationArms(_ context.Context, b *testbed) ([]arm, error) {
	servers, matches := lostRegion(b.options)
	evacuate := func(ctx context.Context) (bench.Result, error) {
		return b.evacuate(ctx, servers*matches*playersOfMatch)
	}
	return []arm{arm{name: regionLoss, run: evacuate}.prepare(b.script("evacuation_clean.sql"),
		b.script("evacuation_fill.sql", servers, matches), b.settle)}, nil
}

// evacuated is what an evacuation did.
type evacuated struct {
	Seconds          float64
	PlacedPlayers    int64 `db:"placed"`
	Wrong, Overtaken int64
}

// evacuate lets a worker evacuate the region.
func (b *testbed) evacuate(ctx context.Context, players int) (bench.Result, error) {
	if err := b.sql(ctx, "evacuation_begin.sql"); err != nil {
		return bench.Result{}, err
	}
	found, err := awaitRow[evacuated](ctx, b.pool, time.Minute, "evacuation_ended.sql")
	if err != nil {
		return bench.Result{}, err
	}
	return found.result(players)
}

// result returns an error if players have no place or two, or have not kept their order.
func (e evacuated) result(players int) (bench.Result, error) {
	// no time counts for an evacuation that lost somebody
	if int(e.PlacedPlayers) != players || e.Wrong > 0 || e.Overtaken > 0 {
		return bench.Result{}, fmt.Errorf(
			"of %d players, %d have a place, %d none or two, and %d tickets are before older ones",
			players, e.PlacedPlayers, e.Wrong, e.Overtaken)
	}
	return bench.ResultOf("evacuation", players, time.Duration(e.Seconds*float64(time.Second))), nil
}

func evacuationClaims(o Options) []claim {
	servers, matches := lostRegion(o)
	return []claim{{
		// evacuate returns an error unless nobody has none or two, and all keep their order
		fmt.Sprintf("every one of %s players of a lost region has a place", whole(servers*matches*playersOfMatch)),
		median(regionLoss, duration), atMost(5),
	}}
}

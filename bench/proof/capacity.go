package proof

import (
	"context"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// Four game servers have seats for exactly as many sessions as are requested. 32 callers request them from three
// replicas, each as soon as it has its answer. Each session is for one player, so that every call needs a new one.
//
// A placement that skips rows locked by other transactions mistakes a busy fleet for a full one. This is the best-known
// defect of allocators that use SKIP LOCKED.
var capacity = Experiment{
	Name: "capacity", Title: "No false “no capacity”", Takes: "20 s",
	Run:   inOneLab(lab.Options{Replicas: replicas}, (*testbed).rushes, rounds.capacitySection),
	About: "Whether calls are refused while there are free seats",
}

const (
	hosts   = 4
	rushers = 32
	noRoom  = "409 no_capacity"
)

func (b *testbed) rushes(ctx context.Context) ([]trial, error) {
	naive, err := b.naive(ctx)
	sessions := of(b.options, 1024, 64)
	load := bench.Options{
		Scenario: matchmake, Callers: rushers, Instances: hosts, Capacity: sessions / hosts, Players: 1,
		Turns: sessions, Duration: time.Minute,
	}
	return []trial{b.trial(matchmake, b.director(), load), b.trial(naiveMatchmake, naive, load)}, err
}

func (all rounds) capacitySection(Options) Section {
	return Section{Findings: all.refusals(), Runs: all.typical(matchmake, naiveMatchmake)}
}

// refusals is the sum over all rounds: a single refusal would already be one too many.
func (all rounds) refusals() []Finding {
	refused := func(r bench.Result) int64 { return r.Errors[noRoom] }
	share := func(name string) float64 { return float64(all.sum(refused, name)) / float64(all.sum(calls, name)) }
	asked, other := all.sum(calls, matchmake), all.sum(failed, matchmake)-all.sum(refused, matchmake)
	return []Finding{
		noted(atMost("calls answered “no capacity” while there were free seats", share(matchmake), 0, percent),
			"of the naive placement: %s", percent(share(naiveMatchmake))),
		noted(atMost("calls that failed for another reason", float64(other), 0, inFull), "of %s",
			inFull(float64(asked))),
	}
}

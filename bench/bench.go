// Package bench puts a load on a director and measures how it answers, as game servers and players call it.
//
// The load is a closed loop or an open one. In a closed loop each caller waits for an answer before its next call: a
// slow director gets fewer calls, and latencies belong to the throughput that was reached. In an open loop calls are
// due at a fixed rate, and their latency counts from when they were due: a stall shows in the latencies of all calls
// that were due during it.
//
// A [Scenario] is what callers do. [Scenarios] are those of the HTTP API of players and game servers: a run registers
// its own game servers in its own regions, so that no real player is ever sent to them. Packages bench/openmatch,
// bench/orchestrator and bench/realtime have scenarios of other protocols, and bench/baseline those of what a director
// is compared with. All of them are generated, measured and counted here. The packages know protocols only; their caller
// starts a director (package lab) and issues access tokens.
package bench

import (
	"errors"
	"fmt"
	"time"
)

// Options of a run. Scenario, URLs, Callers and Duration are required.
type Options struct {
	Load     Load
	Scenario Scenario
	URLs     []string // base URLs of replicas, or host:port of their gRPC listeners; callers are spread over them

	AccessToken        MintFunc
	FleetToken         string // sent as X-Fleet-Token; "" sends none
	OpsToken           string // an operator's, sent where scenarios apply profiles; "" sends none
	Token              string // sent by callers, of Open Match or of a project; "" sends none
	AgentKey, AdminKey string // of the orchestrator of Rivalis

	// Run is a part of the names of the run's regions (bench-<Run>-0): up to 20 lower-case letters and digits. "" is random.
	Run        string
	WarmUp     time.Duration // of load before the measurement
	Duration   time.Duration // of the measurement: how long new calls begin
	Meter      Meter         // nil: costs are not measured
	KeepsQueue bool          // tickets are not deleted: the database is discarded
	// Background is how long the meter is read before the load, while nothing is called. What is used then is taken off
	// the costs. 0: not measured.
	Background time.Duration
	Say        func(phase string) // is called when a phase begins, such as "measuring"; nil: nothing
	Measuring  func()             // is called when the measurement begins, after the warm-up; nil: nothing
}

// MintFunc makes a player's access token. It is called concurrently, for most players first before the load starts, and
// remembers the tokens: players have the same names in every run.
type MintFunc func(sub string) (string, error)

// Check validates the options as Run does, and sets defaults.
func (o *Options) Check() error {
	// Sizes that are not set become the scenario's usual ones, which the checks below judge as well.
	for _, size := range o.Load.Sizes(o.Scenario.Usual) {
		size.setUsual()
		if err := size.check(); err != nil {
			return err
		}
	}
	maxCallers := MaxCallers
	if o.Load.Rate > 0 { // callers of an open loop are how many calls may be in flight, not how many are wanted
		maxCallers = MaxInFlight
	}
	switch {
	case o.Load.Callers < 1 || o.Load.Callers > maxCallers:
		return fmt.Errorf("%d callers: there must be 1 to %d", o.Load.Callers, maxCallers)
	case o.Duration <= 0 || o.WarmUp < 0 || o.Background < 0:
		return errors.New("a run must last, and its warm-up and background may not be negative")
	}
	if err := o.checkShape(); err != nil || o.Scenario.Check == nil {
		return err
	}
	return o.Scenario.Check(o)
}

// checkShape validates how the load is spread, over time too.
func (o *Options) checkShape() error {
	switch {
	case !(o.Load.Rate >= 0 && o.Load.Rate <= 1_000_000): // nor NaN
		return fmt.Errorf("a rate of %g: there must be up to 1,000,000 a second", o.Load.Rate)
	case !(o.Load.HotShare >= 0 && o.Load.HotShare <= 1):
		return fmt.Errorf("a hot share of %g: it must be 0 to 1", o.Load.HotShare)
	case o.Load.HotShare > 0 && o.Load.Modes == 1:
		return errors.New("a hot mode needs others beside it: ask for several modes")
	// A turn of such a scenario moves all agents or sessions at once: a second caller would move those of the first.
	case o.Scenario.IsAlone && (o.Load.Callers != 1 || o.Load.Rate > 0):
		return fmt.Errorf("%s has one caller, and no rate", o.Scenario.Name)
	}
	return nil
}

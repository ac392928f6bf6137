package worker

import (
	"math/rand/v2"
	"time"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/provider"
)

// operation is what a step of a deployment does.
type operation string

const (
	opDeploy operation = "deploy"
	opFind   operation = "find"
	opGet    operation = "get"
	opStop   operation = "stop"
	opDecide operation = "" // calls nothing
	// opConfirm is a Get of the ref with which the server has registered.
	opConfirm operation = "confirm"
)

// callClass returns the budget that an operation takes from.
func (o operation) callClass() provision.CallClass {
	// A decision has no class, and so no rate: it needs no budget.
	return map[operation]provision.CallClass{opDeploy: provision.CallDeploy, opFind: provision.CallList,
		opGet: provision.CallGet, opConfirm: provision.CallGet, opStop: provision.CallStop}[o]
}

// Times of the loop.
const (
	findGrace      = 30 * time.Second // how late after the end of its Deploy a server may appear in lists
	lastFind       = 2 * time.Minute  // after an intent that follows an ambiguous one: last look for a second server
	drainPoll      = 15 * time.Second // of a draining deployment: until its sessions have ended
	longestPause   = time.Minute      // after errors
	leasesToReturn = 3                // how many leases a server whose lease expired has to register again
	pollsUntilStop = 8                // polls after which Stop is repeated
)

// isOver reports whether the only steps left are those that end a deployment.
func isOver(d *provision.ClaimedDeployment) bool {
	return d.MustStop || d.Phase == provision.DeploymentFailed || d.Phase == provision.DeploymentStopping
}

// planStep returns the operation of the next step of a deployment. It reads nothing but its arguments.
func planStep(d *provision.ClaimedDeployment, can provider.Capabilities, grace time.Duration) operation {
	switch {
	// Before the end of the deployment: only with its ref can the server be stopped.
	case claimsServer(d):
		return opConfirm
	case isOver(d):
		return planEnd(d, can)
	case d.Phase == provision.DeploymentWanted:
		return opDeploy
	case d.Phase == provision.DeploymentDeploying:
		return planSearch(can, opDeploy)
	// Its end begins a grace earlier, so that the server has ended at EndsAt.
	case isDue(d.EndsAt, d.ClaimedAt.Add(grace)):
		return opDecide
	case isDue(d.FindAt, d.ClaimedAt):
		return planSearch(can, opGet)
	// Whether it drains, or has drained, is decided without a call. A server whose lease was lost is asked about first.
	case d.LostAt == nil && (d.Phase == provision.DeploymentDraining ||
		d.Phase == provision.DeploymentReady && isDue(d.DrainAt, d.ClaimedAt)):
		return opDecide
	default:
		return opGet
	}
}

// claimsServer reports whether a deployment without a ref has a server that says its own.
func claimsServer(d *provision.ClaimedDeployment) bool {
	return d.Ref == "" && d.ClaimedRef != "" && d.IntentAt != nil
}

func planEnd(d *provision.ClaimedDeployment, can provider.Capabilities) operation {
	switch {
	// Nothing was started, so nothing has to be looked for.
	case d.Ref == "" && d.IntentAt == nil:
		return opDecide
	case d.Ref == "" || isDue(d.FindAt, d.ClaimedAt):
		return planSearch(can, opDecide)
	case !can.Stop: // its provider ends it
		return opDecide
	case d.Phase != provision.DeploymentStopping:
		return opStop
	default:
		return opGet
	}
}

// planSearch returns opFind, or what is done instead where the provider cannot list.
func planSearch(can provider.Capabilities, instead operation) operation {
	if can.List {
		return opFind
	}
	return instead
}

// isDue reports whether a time has come. A nil time never comes.
func isDue(t *time.Time, now time.Time) bool { return t != nil && !t.After(now) }

// pollPauses are the pauses between looks at a server that starts or stops.
var pollPauses = []time.Duration{time.Second, 1500 * time.Millisecond, 2 * time.Second, 3 * time.Second,
	5 * time.Second}

// pollPause returns the pause before the next look, with a jitter of a fifth.
func pollPause(polls int) time.Duration {
	// After the last entry the pause stays the same.
	d := pollPauses[min(max(polls, 0), len(pollPauses)-1)]
	return d - d/5 + rand.N(2*d/5)
}

// retryPause returns the pause after an error: full jitter, up to a minute.
func retryPause(failures int) time.Duration {
	// Two to the power of six seconds is the first one above longestPause.
	return 250*time.Millisecond + rand.N(min(time.Second<<min(max(failures, 0), 6), longestPause))
}

// earliestTime returns the first of several times, nil if there is none.
func earliestTime(times ...*time.Time) *time.Time {
	var first *time.Time
	for _, t := range times {
		if t != nil && (first == nil || t.Before(*first)) {
			first = t
		}
	}
	return first
}

// nextScheduled returns when a ready deployment is due without being woken.
func nextScheduled(d *provision.ClaimedDeployment, grace time.Duration) *time.Time {
	var end *time.Time
	if d.EndsAt != nil {
		t := d.EndsAt.Add(-grace)
		end = &t
	}
	// A draining server is looked at in between, since its last session may end at any time.
	drain := d.DrainAt
	if d.Phase == provision.DeploymentDraining {
		t := d.ClaimedAt.Add(drainPoll)
		drain = &t
	}
	return earliestTime(end, drain, d.FindAt)
}

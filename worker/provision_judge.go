package worker

import (
	"cmp"
	"time"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/provider"
)

// verdict is what an observation means for a deployment.
type verdict struct {
	isGone        bool
	goneBecause   string // why, if isGone
	blamesVersion bool   // the end is a failure of the app version, and counts towards the pause of that
	nextDue       *time.Time
}

// judgeDeployment changes a deployment according to an observation of its provider. now is the database's time. It
// reads nothing but its arguments.
func judgeDeployment(d *provision.ClaimedDeployment, v *provision.AppVersion, o provider.Observation, now time.Time,
	lease time.Duration) verdict {
	if o.Phase == provider.PhaseAbsent {
		d.MissingSince = orTime(d.MissingSince, now)
	}
	switch {
	case o.Phase == provider.PhaseAbsent && mayTurnUp(d, now):
		return verdict{nextDue: earliestTime(pausedUntil(*d.MissingSince, absentFor), d.FindAt)}
	// A server that is gone needs no further step, whatever was decided about it.
	case !o.Exists():
		return judgeGone(d, o, now)
	case isOver(d):
		return judgeEnding(d, now)
	case o.Phase == provider.PhaseFailed:
		return failBlaming(d, now, "the provider could not run it", o.Error)
	case o.Phase == provider.PhaseStopping:
		d.MustStop, d.Phase, d.PollCount, d.Reason = true, provision.DeploymentStopping, 0, cmp.Or(d.Reason,
			"the provider ends it")
		return verdict{nextDue: pausedUntil(now, pollPause(0))}
	case d.Phase == provision.DeploymentStarting && o.Phase == provider.PhaseReady:
		return judgeSilence(d, v, now)
	case d.Phase == provision.DeploymentStarting:
		return judgeStart(d, v, now)
	case d.LostAt != nil:
		return judgeLost(d, now, lease)
	default:
		d.PollCount = 0
		return verdict{nextDue: nextScheduled(d, v.Grace)}
	}
}

// absentFor is how far apart the answers are that make a server gone that its provider does not know. A young one may
// be known late.
const absentFor = 5 * time.Second

// mayTurnUp reports whether the provider has not known a server for so short a time that this proves nothing.
func mayTurnUp(d *provision.ClaimedDeployment, now time.Time) bool {
	return d.MissingSince != nil && now.Before(d.MissingSince.Add(absentFor))
}

// judgeGone keeps a deployment for which a second server may still appear until that is decided.
func judgeGone(d *provision.ClaimedDeployment, o provider.Observation, now time.Time) verdict {
	reason := "the server has ended"
	if o.Phase == provider.PhaseAbsent {
		reason = "the provider does not know the server"
	}
	if o.Error != "" {
		reason += ": " + o.Error
		d.LastError = o.Error
	}
	r := verdict{isGone: true, goneBecause: reason}
	if !isOver(d) {
		r.goneBecause, r.blamesVersion = crashReason(d, now, reason), isVersionBlamed(d, now)
	}
	// The end waits for the last look for a second server, which would be left without a deployment.
	if d.FindAt != nil {
		d.MustStop, d.Phase, d.Reason = true, provision.DeploymentStopping, cmp.Or(d.Reason, r.goneBecause)
		r.isGone, r.nextDue = false, latestTime(d.FindAt, now.Add(pollPause(0)))
	}
	return r
}

// crashWindow is how long after it was ready a server that ends by itself has crashed: later its version is not blamed.
const crashWindow = 2 * time.Minute

// isVersionBlamed reports whether the version is to blame for a server that ends by itself: it was never ready, or
// crashed soon after it was. Without that, servers that end as soon as they start would be replaced for ever.
func isVersionBlamed(d *provision.ClaimedDeployment, now time.Time) bool {
	return d.ReadyAt == nil || hasCrashed(d, now)
}

// hasCrashed reports whether a server that has ended by itself had been ready for a short time. One that deregistered
// has ended in order.
func hasCrashed(d *provision.ClaimedDeployment, now time.Time) bool {
	// Its life ended with its lease, not when the provider was asked.
	if d.LostAt != nil {
		now = *d.LostAt
	}
	return d.ReadyAt != nil && d.Reason == "" && now.Before(d.ReadyAt.Add(crashWindow))
}

// crashReason returns the reason for which a server has ended by itself.
func crashReason(d *provision.ClaimedDeployment, now time.Time, reason string) string {
	if hasCrashed(d, now) {
		return provision.ReasonCrashed + ": " + reason
	}
	return reason
}

func judgeEnding(d *provision.ClaimedDeployment, now time.Time) verdict {
	d.PollCount++
	if d.PollCount%pollsUntilStop == 0 {
		// An accepted Stop may be lost: with this phase, planStep chooses Stop instead of Get.
		d.Phase = provision.DeploymentFailed
	}
	return verdict{nextDue: earliestTime(pausedUntil(now, pollPause(d.PollCount)), d.FindAt)}
}

func judgeStart(d *provision.ClaimedDeployment, v *provision.AppVersion, now time.Time) verdict {
	// From the last intent, so that a repeated Deploy has its time anew.
	if d.IntentAt != nil && now.After(d.IntentAt.Add(v.StartWithin)) {
		return failBlaming(d, now, "not ready within "+v.StartWithin.String(), "")
	}
	d.PollCount++
	return verdict{nextDue: earliestTime(pausedUntil(now, pollPause(d.PollCount)), d.FindAt)}
}

// judgeSilence judges a server that the provider calls ready and that is not ready for players. It is woken when it
// registers, so that its provider is not asked again before the time is over.
func judgeSilence(d *provision.ClaimedDeployment, v *provision.AppVersion, now time.Time) verdict {
	since := now
	if d.ProviderReadyAt != nil {
		since = *d.ProviderReadyAt
	}
	deadline := since.Add(v.RegisterWithin)
	if now.Before(deadline) {
		d.PollCount = 0
		return verdict{nextDue: earliestTime(&deadline, d.FindAt)}
	}
	reason := "did not register within " + v.RegisterWithin.String()
	if d.RegisteredAt != nil {
		reason = "registered, and was not ready within " + v.RegisterWithin.String()
	}
	detail := ""
	if d.RefusedBecause != "" {
		detail = "its registration was refused: " + d.RefusedBecause
	}
	return failBlaming(d, now, reason, detail)
}

// judgeLost judges a server whose lease has expired and which its provider calls ready: it may register again.
func judgeLost(d *provision.ClaimedDeployment, now time.Time, lease time.Duration) verdict {
	deadline := d.LostAt.Add(leasesToReturn * lease)
	if !now.Before(deadline) {
		return failBlaming(d, now, "lost its lease and did not register again", "")
	}
	d.PollCount++
	return verdict{nextDue: earliestTime(&deadline, pausedUntil(now, pollPause(d.PollCount)))}
}

// failDeployment ends a deployment that does not work.
func failDeployment(d *provision.ClaimedDeployment, now time.Time, reason, detail string) verdict {
	d.Phase, d.PollCount, d.Reason = provision.DeploymentFailed, 0, cmp.Or(d.Reason, reason)
	if detail != "" {
		d.LastError = detail
	}
	return verdict{nextDue: &now}
}

// failBlaming is failDeployment for a server that does not work, which its version may be to blame for.
func failBlaming(d *provision.ClaimedDeployment, now time.Time, reason, detail string) verdict {
	// Before failDeployment, which sets the reason that isVersionBlamed reads.
	blamed := isVersionBlamed(d, now)
	r := failDeployment(d, now, crashReason(d, now, reason), detail)
	r.blamesVersion = blamed
	return r
}

// orTime returns the time if there is one, else now.
func orTime(t *time.Time, now time.Time) *time.Time {
	if t != nil {
		return t
	}
	return &now
}

func pausedUntil(now time.Time, pause time.Duration) *time.Time {
	t := now.Add(pause)
	return &t
}

func latestTime(t *time.Time, other time.Time) *time.Time {
	if t.After(other) {
		return t
	}
	return &other
}

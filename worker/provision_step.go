package worker

import (
	"cmp"
	"context"
	"time"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/provider"
)

// run makes the step. Its calls end before the claim does, so that a process that was frozen makes no call after
// another worker has claimed the deployment.
func (s *step) run(ctx context.Context, op operation) error {
	// Two of the three timeouts of the claim, counted from before the claim was made.
	ctx, cancel := context.WithDeadline(ctx, s.started.Add(2*s.provisioner.opt.Timeout))
	defer cancel()
	switch op {
	case opDeploy:
		return s.deployServer(ctx)
	case opFind:
		return s.findServers(ctx)
	case opGet:
		return s.observeServer(ctx)
	case opStop:
		return s.stopServer(ctx)
	case opConfirm:
		return s.confirmRef(ctx)
	default:
		return s.decideWithoutCall(ctx)
	}
}

func (s *step) observeServer(ctx context.Context) error {
	var o provider.Observation
	err := s.callProvider(ctx, opGet, func(ctx context.Context) (err error) {
		o, err = s.provider.Get(ctx, s.deployment.Ref)
		return err
	})
	if err != nil {
		return s.retryLater(ctx, err)
	}
	return s.noteObserved(ctx, o)
}

func (s *step) stopServer(ctx context.Context) error {
	err := s.callProvider(ctx, opStop, func(ctx context.Context) error {
		return s.provider.Stop(ctx, s.deployment.Ref, s.appVersion.Grace)
	})
	if err != nil && provider.KindOf(err) == provider.Gone {
		return s.noteObserved(ctx, provider.Observation{Ref: s.deployment.Ref, Phase: provider.PhaseAbsent})
	}
	if err != nil {
		return s.retryLater(ctx, err)
	}
	r := verdict{nextDue: pausedUntil(s.dbNow(), pollPause(0)),
		// The first Stop of a server that failed without a verdict: its endpoint was unknown, or it restarted too
		// often.
		blamesVersion: s.deployment.StopAt == nil && (s.deployment.Reason == provision.ReasonNoEndpoint ||
			s.deployment.Reason == provision.ReasonTooManyBoots)}
	s.deployment.MustStop, s.deployment.Phase, s.deployment.PollCount = true, provision.DeploymentStopping, 0
	return s.conclude(ctx, r)
}

// decideWithoutCall makes the steps that call no provider.
func (s *step) decideWithoutCall(ctx context.Context) error {
	now := s.dbNow()
	switch {
	// Nothing was started, or the provider ends the server and has no call for it: the row may go.
	case isOver(&s.deployment) && (s.deployment.Ref != "" || s.deployment.IntentAt == nil || s.intentIsOld(now)):
		return s.endDeployment(ctx, verdict{goneBecause: "no server was started"})
	// Until the intent is old, the server of the last Deploy may still appear.
	case isOver(&s.deployment):
		return s.conclude(ctx, verdict{nextDue: pausedUntil(now, pollPause(s.deployment.PollCount))})
	case isDue(s.deployment.EndsAt, now.Add(s.appVersion.Grace)):
		// The decision first. The next step, which is due at once, calls the provider.
		s.deployment.MustStop, s.deployment.Reason = true, cmp.Or(s.deployment.Reason, "its lifetime is over")
		return s.conclude(ctx, verdict{nextDue: &now})
	case s.deployment.Phase == provision.DeploymentReady:
		s.deployment.Phase = provision.DeploymentDraining
		return s.conclude(ctx, verdict{nextDue: &now})
	case s.deployment.OpenSessions == 0:
		// It need not live until its end: nobody is on it, and it gets no more players.
		s.deployment.MustStop, s.deployment.Reason = true, cmp.Or(s.deployment.Reason,
			"drained before the end of its lifetime")
		return s.conclude(ctx, verdict{nextDue: &now})
	default:
		return s.conclude(ctx, verdict{nextDue: nextScheduled(&s.deployment, s.appVersion.Grace)})
	}
}

// intentIsOld reports whether a server that the last Deploy has started would be found by now.
func (s *step) intentIsOld(now time.Time) bool {
	return s.deployment.IntentAt == nil || now.After(s.deployment.IntentAt.Add(s.provisioner.opt.Timeout+findGrace))
}

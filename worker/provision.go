package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/panics"
)

// beginLife makes the contexts of the provisioner from that of the worker.
func (p *provisioner) beginLife(ctx context.Context) {
	// It is called in newProvisioner and again in Run: the first context of calls has to be released.
	if p.cancelCalls != nil {
		p.cancelCalls()
	}
	p.workerLife = ctx
	// Calls in progress continue when the worker ends, until finishSteps cancels them.
	p.callsContext, p.cancelCalls = context.WithCancel(context.WithoutCancel(ctx))
}

// finishSteps waits for the steps in progress. Their calls get a grace period, because a Deploy whose answer is lost
// costs a search.
func (p *provisioner) finishSteps() {
	timer := time.AfterFunc(shutdownGrace, p.cancelCalls)
	p.runningSteps.Wait()
	timer.Stop()
	p.cancelCalls()
	p.loopWaker.stopFollowing()
}

func (p *provisioner) runOnce(ctx context.Context) (Done, error) {
	done := Done{}
	// Before anything is claimed: a copy of a database must start and stop nothing.
	if err := p.claimDatabase(ctx); err != nil {
		return done, err
	}
	err := eachRegion(ctx, p.store.ProvisionRegions, func(region string) error {
		// A new region is followed in the run in which it is first listed.
		p.loopWaker.followRegion(region)
		for name := range p.providers {
			if err := p.claimDue(ctx, region, name, done); err != nil {
				return fmt.Errorf("provider %s: %w", name, err)
			}
		}
		return nil
	})
	if err == nil {
		err = p.metrics.countDeployments(ctx, p.store)
	}
	return done, err
}

// claimDatabase claims a database without an owner for the installation that this worker's settings name. Errors: the
// database has another owner; Unavailable.
func (p *provisioner) claimDatabase(ctx context.Context) error {
	if p.ownsDatabase.Load() {
		return nil // ClaimDeployments compares the owner each time
	}
	stored, err := p.store.ClaimOwner(ctx, p.opt.Owner)
	if err != nil {
		return err
	}
	isOurs := stored == p.opt.Owner
	p.ownsDatabase.Store(isOurs)
	p.metrics.setOwned(isOurs)
	if !isOurs {
		return fmt.Errorf("the database belongs to owner %s, but this worker's owner is %s: it starts and stops no "+
			"servers", stored, p.opt.Owner)
	}
	return nil
}

// claimDue starts steps of due deployments, until there are no more or enough are in progress.
func (p *provisioner) claimDue(ctx context.Context, region, name string, done Done) error {
	for ctx.Err() == nil {
		// No more than can begin at once: a claim that waited here would expire.
		batch := min(provisionBatch, maxSteps-int(p.stepsByProvider[name].Load()))
		if batch <= 0 {
			return nil // a step that ends wakes the loop
		}
		start := time.Now()
		claimed, err := p.store.ClaimDeployments(ctx, provision.DeploymentClaim{
			// A claim outlives all calls of its step, which end after two timeouts: see step.run.
			Region: region, Provider: name, Owner: p.opt.Owner, HoldFor: claimTimeouts * p.opt.Timeout, Batch: batch,
		})
		if err != nil {
			return err
		}
		if err := p.startSteps(ctx, name, claimed, start); err != nil {
			return err
		}
		done.add("steps", len(claimed))
		// Less than was asked for: nothing else is due.
		if len(claimed) < batch {
			return nil
		}
	}
	return ctx.Err()
}

// startSteps starts the steps for which there is budget, and puts the others back.
func (p *provisioner) startSteps(ctx context.Context, name string, claimed []provision.ClaimedDeployment,
	started time.Time) error {
	if len(claimed) == 0 {
		return nil
	}
	// Otherwise they would wait for the end of the claim. The time of the claim is in the past: they are due at once.
	putAllBack := func(cause error) error {
		return errors.Join(cause, p.putBack(ctx, claimed, claimed[0].ClaimedAt))
	}
	steps, ops, err := p.prepareSteps(ctx, name, claimed, started)
	if err != nil {
		return putAllBack(err)
	}
	granted, err := p.takeBudgets(ctx, name, p.providers[name].Capabilities(), ops)
	if err != nil {
		return putAllBack(err)
	}
	var back []provision.ClaimedDeployment
	var next []time.Time
	for i, s := range steps {
		if free := granted.takeCall(ops[i]); free != nil {
			back = append(back, s.deployment)
			next = append(next, *free)
			continue
		}
		p.launchStep(s, ops[i])
	}
	return p.store.PutBackDeployments(ctx, back, next)
}

// prepareSteps plans the steps; the i-th operation is that of the i-th step. A deployment without an app version, which
// an operator has deleted, must not block the others of its batch.
func (p *provisioner) prepareSteps(ctx context.Context, name string, claimed []provision.ClaimedDeployment,
	started time.Time) (steps []*step, ops []operation, err error) {
	can, versions := p.providers[name].Capabilities(), versionCache{}
	for i := range claimed {
		// A copy: the rows as they were claimed may have to be put back.
		d := claimed[i]
		v, err := versions.get(ctx, p.store, d.App, d.Version)
		if fault.Is(err, fault.NotFound) {
			p.log.LogAttrs(ctx, slog.LevelError, "a deployment has no app version",
				slog.String("deployment", d.ID.String()), slog.Any("error", err))
			continue // it is due again when the claim ends
		}
		if err != nil {
			return nil, nil, err
		}
		if d.Ref != "" && (d.Phase == provision.DeploymentWanted || d.Phase == provision.DeploymentDeploying) {
			d.Phase = provision.DeploymentStarting // the ref was stored by a step whose decision was dropped
		}
		if !can.List || can.NativeNames {
			d.FindAt = nil // a second server cannot be found, or cannot exist
		}
		steps = append(steps, &step{provisioner: p, provider: p.providers[name], capabilities: can, deployment: d,
			appVersion: v, started: started})
		ops = append(ops, planStep(&d, can, v.Grace))
	}
	return steps, ops, nil
}

// launchStep makes a step beside the loop.
func (p *provisioner) launchStep(s *step, op operation) {
	running := p.stepsByProvider[s.deployment.Provider]
	running.Add(1)
	p.runningSteps.Go(func() {
		defer func() {
			// Only the step that frees the first place wakes: with free places, the loop has not stopped for the lack
			// of one.
			if running.Add(-1) == maxSteps-1 {
				p.loopWaker.wakeNow()
			}
		}()
		// Errors after the end of the worker are most often that end. Without a decision, the claim ends by itself.
		err := panics.Catch(func() error { return s.run(p.callsContext, op) }) // one deployment must not end the worker
		if err != nil && p.workerLife.Err() == nil {
			p.log.LogAttrs(p.callsContext, slog.LevelWarn, "step failed",
				slog.String("deployment", s.deployment.ID.String()),
				slog.String("region", s.deployment.Region),
				slog.String("operation", string(op)), slog.Any("error", err))
		}
	})
}

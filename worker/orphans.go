package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/lattice-director/director/internal/base/wait"
	"github.com/lattice-director/director/provider"
)

const (
	orphanAge     = 10 * time.Minute       // younger servers may belong to a step in progress
	orphansInOne  = 100                    // stopped in one sweep: a mistake must not end thousands at once
	orphanRetry   = 30 * time.Second       // after a list that failed or was not complete
	listPause     = 250 * time.Millisecond // until the budget is asked for another page
	orphansTicker = 5 * time.Second
)

// orphanSweeper looks for servers that run at a provider without a deployment, and stops them; and for deployments
// whose server a provider does not list.
type orphanSweeper struct {
	provisioner *provisioner

	mu        sync.Mutex
	firstSeen map[provider.Ref]time.Time // when servers whose start time the provider does not report were first seen
}

func (p *orphanSweeper) runOnce(ctx context.Context) (Done, error) {
	done := Done{}
	var failed []error
	for name, by := range p.provisioner.providers {
		if !by.Capabilities().List {
			continue
		}
		// Claimed in the database, so that one worker sweeps a provider; now is the database's time.
		now, due, err := p.provisioner.store.ClaimSweep(ctx, name, p.provisioner.opt.SweepEvery)
		if err == nil && due {
			err = p.sweepProvider(ctx, name, by, now, done)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("provider %s: %w", name, err))
			// else the next sweep is due after SweepEvery
			_ = p.provisioner.store.DelaySweep(ctx, name, min(orphanRetry, p.provisioner.opt.SweepEvery))
		}
	}
	return done, errors.Join(failed...)
}

// sweepProvider reads the complete list first and the deployments then: what is listed had its deployment before it was
// started.
func (p *orphanSweeper) sweepProvider(ctx context.Context, name string, by provider.Provider, now time.Time,
	done Done) error {
	if stored, err := p.provisioner.store.ClaimOwner(ctx, p.provisioner.opt.Owner); err != nil ||
		stored != p.provisioner.opt.Owner {
		return err // a restored copy of the database lacks the servers that were started since the backup
	}
	// Before the deployments are read: a server that starts in between is not in this list.
	listed, err := p.listServers(ctx, name, by)
	if err != nil {
		return err
	}
	tags, refs := make([]string, 0, len(listed)), make([]string, 0, len(listed))
	for _, o := range listed {
		tags = append(tags, string(o.Tag))
		refs = append(refs, string(o.Ref))
	}
	// Of all regions, since the list of a provider knows none.
	known, err := p.provisioner.store.RefsOfTags(ctx, tags)
	if err != nil {
		return err
	}
	// An error here ends the sweep before the regions are compared; the next sweep does both again.
	if err := p.stopOrphans(ctx, name, by, p.findOrphans(listed, known, now), done); err != nil {
		return err
	}
	return eachRegion(ctx, p.provisioner.store.ProvisionRegions, func(region string) error {
		due, err := p.provisioner.store.NoteList(ctx, region, name, refs, now)
		// Two lists in a row have to lack a deployment before anybody looks at it: see NoteList.
		done.add("unlisted", due)
		return err
	})
}

// listServers reads all pages, each within the budget that all workers share.
func (p *orphanSweeper) listServers(ctx context.Context, name string,
	by provider.Provider) ([]provider.Observation, error) {
	can := by.Capabilities()
	return provider.Collect(func(cursor string) (page provider.Page, err error) {
		for {
			// One call at a time, as steps take theirs: a long list must not use up what the steps need.
			granted, err := p.provisioner.takeBudgets(ctx, name, can, []operation{opFind})
			if err != nil {
				return page, err
			}
			if granted.takeCall(opFind) == nil {
				break
			}
			if !wait.For(ctx, listPause) {
				return page, ctx.Err()
			}
		}
		call, cancel := context.WithTimeout(ctx, p.provisioner.opt.Timeout)
		defer cancel()
		start := time.Now()
		page, err = by.List(call, p.provisioner.opt.Owner, cursor)
		p.provisioner.metrics.observeCall(name, "list", err, time.Since(start))
		return page, err
	})
}

// findOrphans returns the listed servers that are old enough and belong to no deployment, or are a second one of a
// deployment.
func (p *orphanSweeper) findOrphans(listed []provider.Observation, known map[provider.Tag]provider.Ref,
	now time.Time) []provider.Observation {
	p.mu.Lock()
	defer p.mu.Unlock()
	var orphans []provider.Observation
	seen := map[provider.Ref]time.Time{}
	for _, o := range listed {
		own, ok := known[o.Tag]
		// Without a ref in the deployment, a step is in progress whose Deploy may have made this server.
		if ok && (own == "" || own == o.Ref) || o.Ref == "" || !o.Exists() || o.Phase == provider.PhaseStopping {
			continue
		}
		since := o.Started
		if since.IsZero() {
			// The age of a server without a start time counts from the first list of this process that had it.
			since = now
			if !p.firstSeen[o.Ref].IsZero() {
				since = p.firstSeen[o.Ref]
			}
			seen[o.Ref] = since
		}
		if now.Sub(since) >= orphanAge {
			orphans = append(orphans, o)
		}
	}
	// A new map, not an addition: servers that are gone are forgotten.
	p.firstSeen = seen
	return orphans
}

func (p *orphanSweeper) stopOrphans(ctx context.Context, name string, by provider.Provider,
	orphans []provider.Observation, done Done) error {
	if len(orphans) > orphansInOne {
		p.provisioner.log.LogAttrs(ctx, slog.LevelWarn, "more orphans than one sweep stops",
			slog.String("provider", name), slog.Int("orphans", len(orphans)))
		orphans = orphans[:orphansInOne]
	}
	for _, o := range orphans {
		call, cancel := context.WithTimeout(ctx, p.provisioner.opt.Timeout)
		start := time.Now()
		// Without grace: placement knows no such server, so that nobody is sent there.
		err := by.Stop(call, o.Ref, 0)
		cancel()
		p.provisioner.metrics.observeCall(name, opStop, err, time.Since(start))
		if err != nil && provider.KindOf(err) != provider.Gone {
			return err
		}
		p.provisioner.log.LogAttrs(ctx, slog.LevelWarn, "stopped a server without a deployment",
			slog.String("provider", name), slog.String("ref", string(o.Ref)))
		p.provisioner.metrics.orphansStopped.WithLabelValues(name).Inc()
		done.add("orphans", 1)
		// Logged in the database after the server was stopped: an event without its stop would be wrong.
		if err := p.provisioner.store.LogOrphan(ctx, name, o); err != nil {
			return err
		}
	}
	return nil
}

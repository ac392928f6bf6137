// Package tenure holds what a replica or a worker has for as long as it renews it: a [Lease] that is renewed until it
// is lost or given up, and a [Series] of tenures, in which a replica that others have ended begins again under another
// id.
//
//	begin ─▶ hold: renew, renew … ──stopping─────────▶ end
//	  ▲               └──superseded─▶ fence ─┐
//	  └──────────────────────────────────────┘
package tenure

import (
	"context"
	"time"

	"github.com/lattice-director/director/internal/base/wait"
)

// Lease is held by renewing it. Every and Renew are required, and at least one of Lasts and IsLost.
type Lease struct {
	Renew func(ctx context.Context) error

	Every   time.Duration        // between two renewals
	Timeout time.Duration        // of a renewal; 0: none
	Lasts   time.Duration        // for which it is held without a renewal, by this process's clock; 0: until IsLost
	IsLost  func(err error) bool // reports whether an error of Renew says that others have ended it; nil: none does

	Report func(ctx context.Context, err error) // gets the outcome of each renewal, for the log of outages; may be nil
}

// Hold renews a lease of the caller until ctx ends or the lease is lost: another process may have what it protects.
// Errors: ctx's; that of the renewal with which the lease was lost.
func (l Lease) Hold(ctx context.Context) (lost error) {
	renewed := time.Now()
	due := renewed.Add(l.Every)
	for wait.For(ctx, time.Until(due)) {
		began := time.Now()
		due = began.Add(l.Every)
		err := l.renewOnce(ctx)
		// The error of a renewal that ctx cut off says nothing about the lease.
		if ctx.Err() != nil {
			break
		}
		if err == nil {
			renewed = began // the database has counted from some moment after it
			continue
		}
		overdue := l.Lasts > 0 && time.Since(renewed) >= l.Lasts
		if overdue || l.IsLost != nil && l.IsLost(err) {
			return err
		}
	}
	return ctx.Err()
}

func (l Lease) renewOnce(ctx context.Context) error {
	call := ctx
	if l.Timeout > 0 {
		var cancel context.CancelFunc
		call, cancel = context.WithTimeout(ctx, l.Timeout)
		defer cancel()
	}
	err := l.Renew(call)
	// With ctx and not the call's context: a renewal that has timed out is an outage.
	if l.Report != nil {
		l.Report(ctx, err)
	}
	return err
}

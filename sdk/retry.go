package sdk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// maxRetryAfter caps what a Retry-After may ask for, so that a broken proxy cannot silence a fleet for a day.
const maxRetryAfter = time.Minute

// unreachableError means that a replica gave no answer: the request may or may not have been carried out.
type unreachableError struct{ err error }

func (e *unreachableError) Error() string { return "sdk: director not reachable: " + e.err.Error() }
func (e *unreachableError) Unwrap() error { return e.err }

// Is makes an unreachable director one case for callers, whether nobody answered or a replica said 503.
func (e *unreachableError) Is(target error) bool { return target == ErrUnavailable }

// do makes the call until it is answered for good or ctx ends; out may be nil.
func (c *Client) do(ctx context.Context, k call, out any) error {
	if k.once {
		return c.round(ctx, k, out)
	}
	var last error
	pause := newPacer(c.opts)
	_, _ = backoff.Retry(ctx, func() (struct{}, error) {
		last = c.round(ctx, k, out)
		if last != nil && !retryable(last) {
			return struct{}{}, backoff.Permanent(last)
		}
		pause.after(last)
		return struct{}{}, last
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(0), backoff.WithNotify(c.retrying(ctx, k)))
	if last == nil || !retryable(last) {
		return last
	}
	return fmt.Errorf("sdk: %s: %w; last attempt: %w", k.name(), context.Cause(ctx), last)
}

// round asks the replicas one after the other, without a pause, until one of them answers: a replica that is dead or
// shutting down says nothing about the others.
func (c *Client) round(ctx context.Context, k call, out any) (err error) {
	for range c.replicas.count() {
		rep := c.replicas.pick(time.Now())
		err = c.attempt(ctx, rep.base, k, out)
		if !away(err) || ctx.Err() != nil {
			return err
		}
		c.replicas.failed(rep, time.Now())
	}
	return err
}

func (c *Client) retrying(ctx context.Context, k call) backoff.Notify {
	return func(err error, pause time.Duration) {
		c.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "director call is repeated",
			slog.String("call", k.name()), slog.Duration("pause", pause), slog.Any("error", err))
	}
}

func away(err error) bool {
	_, unreachable := errors.AsType[*unreachableError](err)
	answer, answered := errors.AsType[*Error](err)
	return unreachable || answered && answer.Code == "draining"
}

// mendable says that an operator may be about to mend what the director refuses, such as a fleet token that is being
// changed. Reports that must not be lost outlast that too.
func mendable(err error) bool {
	answer, answered := errors.AsType[*Error](err)
	if !answered {
		return false
	}
	switch answer.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusInternalServerError:
		return true
	}
	return false
}

func retryable(err error) bool { return errors.Is(err, ErrUnavailable) }

// pacer is exponential backoff with jitter on top of what the last answer's Retry-After asked for: added, not the
// larger of the two, or all who were told "2 seconds" would come back in the same instant.
type pacer struct {
	*backoff.ExponentialBackOff
	asked time.Duration
}

func newPacer(opts Options) *pacer {
	return &pacer{ExponentialBackOff: &backoff.ExponentialBackOff{
		InitialInterval: opts.FirstBackoff, MaxInterval: opts.MaxBackoff, Multiplier: 2, RandomizationFactor: 0.5,
	}}
}

func (p *pacer) after(err error) {
	p.asked = 0
	if answer, answered := errors.AsType[*Error](err); answered {
		p.asked = min(answer.RetryAfter, maxRetryAfter)
	}
}

// NextBackOff implements backoff.BackOff.
func (p *pacer) NextBackOff() time.Duration { return p.asked + p.ExponentialBackOff.NextBackOff() }

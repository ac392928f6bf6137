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

// maxRetryAfter caps the pause that a Retry-After header can cause, so that a misconfigured proxy cannot stop a fleet's
// heartbeats for a day.
const maxRetryAfter = time.Minute

// doAt repeats the call until it gets an answer that is not worth a retry, or ctx ends. out may be nil. It returns the
// address of the cell that answered, "" for that of the configured replicas.
func (c *Client) doAt(ctx context.Context, k call, out any) (cell string, err error) {
	attempt := func(base string) error { return c.attemptCall(ctx, base, k, out) }
	if k.isOnce {
		return c.reachReplica(ctx, k, attempt)
	}
	var last error
	pause := newPacer(c.clientOptions)
	_, _ = backoff.Retry(ctx, func() (struct{}, error) {
		cell, last = c.reachReplica(ctx, k, attempt)
		if last != nil && !isRetryable(last) {
			return struct{}{}, backoff.Permanent(last)
		}
		pause.noteResult(last)
		return struct{}{}, last
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(0), backoff.WithNotify(c.notifyRetry(ctx, k)))
	if last == nil || !isRetryable(last) {
		return cell, last
	}
	return cell, fmt.Errorf("sdk: %s: %w; last attempt: %w", k.name(), context.Cause(ctx), last)
}

// reachReplica makes attempts until one is answered, and returns the address of the cell that answered, "" for that of
// the configured replicas. It asks the cell that has what the call names, where the client knows it. Otherwise it asks
// each configured replica in turn, and follows one answer that another cell has it. A region is asked for again when
// its cell is not reachable or sends the client away; a ticket stays where it is.
func (c *Client) reachReplica(ctx context.Context, k call, attempt func(base string) error) (cell string, err error) {
	if known := c.knownCells.addressFor(k); known != "" {
		err = attempt(known)
		if k.ticket != "" || ctx.Err() != nil || !replicaUnavailable(err) && !isElsewhere(err) {
			return known, err
		}
		c.knownCells.forgetRegion(k.region)
	}
	asked, err := c.tryReplicas(ctx, attempt)
	if next := c.knownCells.followError(asked, err); next != "" {
		return next, attempt(next)
	}
	return "", err
}

// tryReplicas makes an attempt at each configured replica in turn, without a pause, until one answers, and returns
// which did. A replica that is unreachable or shutting down says nothing about the others, so there is no reason to
// wait.
func (c *Client) tryReplicas(ctx context.Context, attempt func(base string) error) (asked string, err error) {
	for range c.replicas.replicaCount() {
		rep := c.replicas.pickReplica(time.Now())
		asked, err = rep.baseURL, attempt(rep.baseURL)
		if !replicaUnavailable(err) || ctx.Err() != nil {
			return asked, err
		}
		c.replicas.noteFailure(rep, time.Now())
	}
	return asked, err
}

func (c *Client) notifyRetry(ctx context.Context, k call) backoff.Notify {
	return func(err error, pause time.Duration) {
		c.clientOptions.Logger.LogAttrs(ctx, slog.LevelWarn, "retrying director call",
			slog.String("call", k.name()), slog.Duration("pause", pause), slog.Any("error", err))
	}
}

// replicaUnavailable returns whether the error concerns one replica only: it gave no answer, or is shutting down.
func replicaUnavailable(err error) bool {
	_, unreachable := errors.AsType[*unreachableError](err)
	answer, answered := errors.AsType[*Error](err)
	return unreachable || answered && answer.Code == "draining"
}

// operatorCanFix returns whether the director refused the call for a reason that an operator may be fixing, such as a
// fleet token in rotation. Seat reports must not be lost and are retried through such refusals too.
func operatorCanFix(err error) bool {
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

func isRetryable(err error) bool { return errors.Is(err, ErrUnavailable) }

// pacer adds exponential backoff with jitter to the last answer's Retry-After. It adds both instead of taking the
// larger one: otherwise all clients that got "Retry-After: 2" would retry in the same instant.
type pacer struct {
	exponential *backoff.ExponentialBackOff
	retryAfter  time.Duration // of the last answer; 0: it asked for no pause
}

func newPacer(opts Options) *pacer {
	return &pacer{exponential: &backoff.ExponentialBackOff{
		InitialInterval: opts.FirstBackoff, MaxInterval: opts.MaxBackoff, Multiplier: 2, RandomizationFactor: 0.5,
	}}
}

func (p *pacer) noteResult(err error) {
	p.retryAfter = 0
	if answer, answered := errors.AsType[*Error](err); answered {
		p.retryAfter = min(answer.RetryAfter, maxRetryAfter)
	}
}

// NextBackOff implements backoff.BackOff.
func (p *pacer) NextBackOff() time.Duration { return p.retryAfter + p.exponential.NextBackOff() }

// Reset implements backoff.BackOff: the next pause is the shortest one, after the last answer's Retry-After.
func (p *pacer) Reset() { p.exponential.Reset() }

func sleepPause(ctx context.Context, pause backoff.BackOff) error {
	timer := time.NewTimer(pause.NextBackOff())
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

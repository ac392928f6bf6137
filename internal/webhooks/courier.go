package webhooks

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/tenure"
	"github.com/lattice-director/director/internal/base/wait"
)

const (
	// idlePause is how often the log is read while nothing is due.
	idlePause = time.Second
	// eventsPerStep is how many events of the log one step reads, and lettersPerStep how many letters it sends of them.
	eventsPerStep, lettersPerStep = 1000, 128
	// dueSubjects is how many subjects are tried again in one step.
	dueSubjects = 32
	// maxWaiting bounds the letters of a webhook that wait for another attempt: with so many, the log is not read on.
	maxWaiting = 10_000
)

// courier delivers for one webhook, for as long as it holds its lease.
type courier struct {
	engine       *Engine
	webhookLease db.WebhookLease
	outageLog    *outage.Call
}

// runUntilLost returns when ctx or the lease ends.
func (c *courier) runUntilLost(ctx context.Context) {
	held, lose := context.WithCancel(ctx)
	defer lose()
	go func() {
		defer lose()
		// Once the lease is lost another worker may deliver: what is under way here ends with it.
		_ = tenure.Lease{
			Every: c.engine.options.Lease / 4, Timeout: c.engine.options.Lease / 2, Lasts: c.engine.options.Lease,
			Renew: func(ctx context.Context) error {
				return c.engine.options.Store.RenewWebhook(ctx, c.webhookLease, c.engine.options.Lease)
			},
			IsLost: isTaken,
		}.Hold(held)
	}()
	for held.Err() == nil {
		var pause time.Duration
		err := c.engine.guard.Do("webhook", func() (err error) { pause, err = c.deliverStep(held); return err })
		// The lease is another worker's by now, so that there is none to end.
		if isTaken(err) {
			return
		}
		c.outageLog.Report(held, err)
		if err != nil {
			pause = idlePause
		}
		if !wait.For(held, pause) {
			break
		}
	}
	// Also when the worker stops, so that another one takes the webhook at once. The epoch makes it void after a loss.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = c.engine.options.Store.EndWebhookLease(ending, c.webhookLease) // else it expires
}

func isTaken(err error) bool { return fault.Is(err, fault.Conflict) }

// deliverStep sends what is due, and then what is new, and returns the pause until the next step.
func (c *courier) deliverStep(ctx context.Context) (pause time.Duration, err error) {
	state, err := c.engine.options.Store.ReadWebhookState(ctx, c.webhookLease.Webhook)
	if err != nil {
		return 0, err
	}
	if state.IsFailing && state.DueIn > 0 {
		// At least each second the state is read again, which has what an operator changed.
		return min(state.DueIn, idlePause), nil
	}
	moreDue, moreNew := false, false
	if state.WaitingEvents > 0 {
		if moreDue, err = c.sendDue(ctx, state); err != nil {
			return 0, err
		}
	}
	// With maxWaiting letters the place in the log stays: they are rows, and a dead endpoint must not fill the
	// database.
	if state.WaitingEvents < maxWaiting {
		if moreNew, err = c.sendNew(ctx, state); err != nil {
			return 0, err
		}
	}
	if moreDue || moreNew {
		return 0, nil
	}
	return idlePause, nil
}

// sendDue tries letters again. It reports whether more may be due.
func (c *courier) sendDue(ctx context.Context, state db.WebhookState) (more bool, err error) {
	due, err := c.engine.options.Store.DueLetters(ctx, c.webhookLease.Webhook, dueSubjects, lettersPerStep)
	if err != nil || len(due) == 0 {
		return false, err
	}
	batches := inBatches(due)
	if err := c.newRound(state).sendBatches(ctx, batches); err != nil {
		return false, err
	}
	total := sumTotals(batches)
	// What this round has delivered is not recorded: after a resumption it is sent again, with the same webhook-id.
	if total.isGone {
		return false, c.pauseGone(ctx, state)
	}
	err = c.recordStep(ctx, state, db.WebhookStep{
		Cursor: state.Cursor, DeliveryError: total.summaryText(), SentCount: total.sentCount,
		SettledLetters: deliveredLetters(batches), UndeliveredLetters: undeliveredLetters(batches, rand.Float64),
	})
	// While nothing can be delivered, the pauses of the letters say when to try again.
	return total.sentCount > 0, err
}

// page is what a step sends of the log.
type page struct {
	letters []db.Letter
	next    opsview.EventCursor
	isFull  bool // more may follow at once
}

// sendNew sends the next events of the log. It reports whether more may follow.
func (c *courier) sendNew(ctx context.Context, state db.WebhookState) (more bool, err error) {
	p, err := c.readPage(ctx, state)
	if err != nil || p.next == state.Cursor {
		return false, err
	}
	batches, behind, err := c.splitByAttempt(ctx, p.letters)
	if err != nil {
		return false, err
	}
	if err := c.newRound(state).sendBatches(ctx, batches); err != nil {
		return false, err
	}
	total := sumTotals(batches)
	if total.isGone {
		return false, c.pauseGone(ctx, state)
	}
	if total.isDown() {
		return c.recordDown(ctx, state, p, total)
	}
	// Also for a page without letters: the place in the log moves, and what is known of the endpoint stays.
	err = c.recordStep(ctx, state, db.WebhookStep{
		Cursor: p.next, DeliveryError: total.summaryText(), SentCount: total.sentCount,
		UndeliveredLetters: append(behind, undeliveredLetters(batches, rand.Float64)...),
	})
	return p.isFull, err
}

// recordDown records that nothing could be delivered. The place in the log stays, except for events that the webhook
// could not get for as long as a letter is tried.
func (c *courier) recordDown(ctx context.Context, state db.WebhookState, p page, total totals) (more bool, err error) {
	step := db.WebhookStep{
		Cursor: state.Cursor, IsFailing: true, DeliveryError: total.summaryText(),
		RetryPause: atLeast(roundPause(state.FailedRounds+1, rand.Float64()), total.retryAfter),
	}
	if state.FailsFor >= GiveUpAfter {
		step.UndeliveredLetters = expiredLetters(p.letters, state.Now.Add(-GiveUpAfter), total.summaryText())
		if n := len(step.UndeliveredLetters); n > 0 {
			step.Cursor = step.UndeliveredLetters[n-1].Letter.Cursor
		}
	}
	return false, c.recordStep(ctx, state, step)
}

// readPage reads the next events of the log that concern the webhook: few of them while it fails.
func (c *courier) readPage(ctx context.Context, state db.WebhookState) (p page, err error) {
	feed, err := opsview.ReadFeed(ctx, c.engine.options.Store.Pool(), state.Cursor, nil, opsview.Selection{},
		eventsPerStep)
	if err != nil {
		return p, err
	}
	p.next, p.isFull = feed.Next, feed.IsFull
	for _, e := range feed.Events {
		if !concernsWebhook(state, e) {
			continue
		}
		l, err := letterOf(e)
		if err != nil {
			return p, err
		}
		p.letters = append(p.letters, l)
	}
	kept := p.letters[:min(len(p.letters), lettersPerStep)]
	// A few letters show whether the endpoint is back.
	if state.IsFailing {
		kept = probeLetters(kept)
	}
	if len(kept) < len(p.letters) {
		// The place is right behind the last letter that is sent: what follows it is read again.
		p.letters, p.next, p.isFull = kept, kept[len(kept)-1].Cursor, true
	}
	return p, nil
}

// splitByAttempt takes out the letters whose subject has an earlier letter that waits for another attempt.
func (c *courier) splitByAttempt(ctx context.Context,
	all []db.Letter) (free []*batch, behind []db.Undelivered, err error) {
	if len(all) == 0 {
		return nil, nil, nil
	}
	batches := inBatches(all)
	subjects := make([]string, len(batches))
	for i, b := range batches {
		subjects[i] = b.letters[0].Subject
	}
	waiting, err := c.engine.options.Store.WaitingSubjects(ctx, c.webhookLease.Webhook, subjects)
	if err != nil {
		return nil, nil, err
	}
	isWaiting := make(map[string]bool, len(waiting))
	for _, subject := range waiting {
		isWaiting[subject] = true
	}
	for i, b := range batches {
		if !isWaiting[subjects[i]] {
			free = append(free, b)
			continue
		}
		for _, l := range b.letters {
			behind = append(behind, db.Undelivered{Letter: l, IsBehind: true})
		}
	}
	return free, behind, nil
}

func (c *courier) newRound(state db.WebhookState) *round {
	return &round{engine: c.engine, targetURL: state.URL}
}

func (c *courier) recordStep(ctx context.Context, state db.WebhookState, step db.WebhookStep) error {
	err := c.engine.options.Store.RecordWebhookStep(ctx, c.webhookLease, step)
	if err == nil {
		c.engine.metrics.countStep(state.Name, step)
	}
	return err
}

// errPaused is a Conflict, so that the courier ends as after a lost lease. No worker takes a webhook that is paused.
var errPaused = fault.New(fault.Conflict, "webhook_paused", "the webhook is paused")

// pauseGone ends the deliveries of a webhook whose endpoint wants none.
func (c *courier) pauseGone(ctx context.Context, state db.WebhookState) error {
	if err := c.engine.options.Store.PauseGoneWebhook(ctx, c.webhookLease,
		"its endpoint answered 410 Gone"); err != nil {
		return err
	}
	c.engine.options.Log.LogAttrs(ctx, slog.LevelWarn, "a webhook is paused: its endpoint answered 410 Gone",
		slog.String("webhook", state.Name))
	return errPaused
}

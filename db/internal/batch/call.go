package batch

import (
	"context"
	"time"
)

// Call is the request of one caller on its way through a group. The function that decides a batch may replace Req of a
// call that it leaves unanswered.
type Call[Req, Res any] struct {
	Req      Req
	QueuedAt time.Time // when the call entered its first group

	ctx          context.Context
	requestBytes int
	isAnswered   bool // or moved to another group
	outcome      *outcome[Res]
}

// outcome is what the caller waits for. It is written once, before done is closed.
type outcome[Res any] struct {
	res  Res
	err  error
	done chan struct{}
}

// NewCall makes a call outside of a group, for a test of a function that decides batches.
func NewCall[Req, Res any](ctx context.Context, req Req) *Call[Req, Res] {
	return newCall[Req, Res](ctx, req, 0)
}

func newCall[Req, Res any](ctx context.Context, req Req, bytes int) *Call[Req, Res] {
	return &Call[Req, Res]{ctx: ctx, Req: req, requestBytes: bytes, QueuedAt: time.Now(),
		outcome: &outcome[Res]{done: make(chan struct{})}}
}

// Answer ends the call. A call is answered once.
func (c *Call[Req, Res]) Answer(res Res, err error) {
	c.isAnswered = true
	c.outcome.res, c.outcome.err = res, err
	close(c.outcome.done)
}

// IsAnswered reports whether the call was answered, or moved to another group. Only the goroutine that decides the
// batch may ask.
func (c *Call[Req, Res]) IsAnswered() bool { return c.isAnswered }

// Done returns a channel that is closed when the call is answered, by whichever group.
func (c *Call[Req, Res]) Done() <-chan struct{} { return c.outcome.done }

// Result returns the answer. Call it after Done.
func (c *Call[Req, Res]) Result() (Res, error) { return c.outcome.res, c.outcome.err }

// Unanswered returns the calls that have no answer yet, in their order.
func Unanswered[Req, Res any](calls []*Call[Req, Res]) []*Call[Req, Res] {
	var left []*Call[Req, Res]
	for _, c := range calls {
		if !c.isAnswered {
			left = append(left, c)
		}
	}
	return left
}

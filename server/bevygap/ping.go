package bevygap

import (
	"context"
	"fmt"
	"time"
)

// watch pings a client until ctx ends, and calls left for one that does not answer: a client that vanished without a close frame would wait, and keep
// servers starting, until its time is over. Progress reports do not find it, since the kernel takes them for minutes. There is no goroutine between pings.
func (f *Face) watch(ctx context.Context, s *socket, left context.CancelCauseFunc) (stop func()) {
	var next *time.Timer
	armed := make(chan struct{})
	next = time.AfterFunc(f.options.pingEvery, func() {
		<-armed
		err := f.guard.Do("bevygap ping", func() error { return s.ping(ctx, f.options.pongWithin) })
		if err != nil {
			left(fmt.Errorf("%w: it answers no pings: %w", errLeft, err))
			return
		}
		if ctx.Err() == nil {
			next.Reset(f.options.pingEvery)
		}
	})
	close(armed)
	return func() { next.Stop() }
}

// ping waits for the answer to a ping, which the goroutine that reads takes. Its errors: there was none in time; the socket is closed.
func (s *socket) ping(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return s.ws.Ping(ctx)
}

package realtime

import (
	"context"
	"encoding/json"

	"github.com/lattice-director/director/server/realtime/wire"
)

// rpc begins the action of a frame. It is called in the order of frames, and must not block. finish waits for the
// action's end, in a goroutine of its own; it is nil if there is nothing to wait for. ctx ends when the action may take
// no longer.
type rpc func(ctx context.Context, c *conn, e wire.Envelope) (finish func() (rpcAnswer, error), err error)

// rpcAnswer is what a client gets for a frame that had an effect.
type rpcAnswer struct {
	P           map[string]any // of the rpc.response, beside ok
	Room        string         // of the rpc.response, also of a failure; "": as asked
	EventType   string         // the type of the event with the same P that a client gets that sent no rid; "": none
	AfterQueued func()         // what follows when the answer is queued; may be nil
}

// runInOrder returns an RPC whose calls run one after the other within a connection, in the order of frames.
func runInOrder(call func(ctx context.Context, c *conn, e wire.Envelope) (rpcAnswer, error)) rpc {
	return func(ctx context.Context, c *conn, e wire.Envelope) (func() (rpcAnswer, error), error) {
		// A chain: each call waits for the one before, so no queue and no goroutine of a queue is needed. begin alone
		// touches lastInOrder, and runs in the goroutine that reads.
		before, ended := c.lastInOrder, make(chan struct{})
		c.lastInOrder = ended
		return func() (rpcAnswer, error) {
			defer close(ended)
			if before != nil {
				select {
				case <-before:
				// The call has had no effect. ended is closed all the same: the next call does not wait for one that
				// gave up.
				case <-ctx.Done():
					return rpcAnswer{}, wire.FailUnavailable
				}
			}
			return call(ctx, c, e)
		}, nil
	}
}

// addField sets a field of an answer that may have none yet.
func addField(p map[string]any, name string, v any) map[string]any {
	if p == nil {
		p = map[string]any{}
	}
	p[name] = v
	return p
}

// rawFields returns the fields of an object as JSON, and how many bytes they have.
func rawFields(object map[string]any) (fields map[string]json.RawMessage, size int) {
	fields = make(map[string]json.RawMessage, len(object))
	for name, v := range object {
		fields[name] = wire.RawJSON(v)
		size += len(name) + len(fields[name])
	}
	return fields, size
}

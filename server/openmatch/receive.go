package openmatch

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// receiveTimeout is how long the request of a lasting call may take after its headers. Other calls have a deadline
// anyway.
const receiveTimeout = 10 * time.Second

var errReceive = status.Errorf(codes.DeadlineExceeded, "the request did not arrive within %s", receiveTimeout)

// receivingStream is the stream of a call whose request has not arrived yet.
type receivingStream struct {
	grpc.ServerStream

	receiveTimer *time.Timer // nil: the call has a deadline
	hasExpired   atomic.Bool
	onArrival    func() // called once, when the request has arrived
}

// newReceivingStream begins the time in which the request has to arrive.
func newReceivingStream(stream grpc.ServerStream, arrived func()) *receivingStream {
	s := &receivingStream{ServerStream: stream, onArrival: arrived}
	if cut, lasts := stream.Context().Value(cutKey{}).(context.CancelFunc); lasts {
		s.receiveTimer = time.AfterFunc(receiveTimeout, func() {
			s.hasExpired.Store(true)
			cut()
		})
	}
	return s
}

// RecvMsg implements [grpc.ServerStream].
func (s *receivingStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if s.receiveTimer != nil {
		s.receiveTimer.Stop()
	}
	// The error of the cut stream would say that the caller had canceled it.
	if s.hasExpired.Load() {
		return errReceive
	}
	if err == nil && s.onArrival != nil {
		s.onArrival()
		s.onArrival = nil
	}
	return err
}

// cutKey is the context key of the function that cancels a lasting call: when this replica stops, or when the caller
// does not take what is sent.
type cutKey struct{}

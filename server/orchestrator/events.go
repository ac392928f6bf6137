package orchestrator

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/internal/rivalis/roster"
	"github.com/lattice-director/director/server/rest"
)

// pingInterval keeps proxies from ending a stream that has no events.
const pingInterval = 15 * time.Second

// eventsFormat is upstream's, byte for byte.
var eventsFormat = rest.EventsFormat{
	ContentType: "text/event-stream; charset=utf-8", CacheControl: "no-cache, no-transform", IDLast: true,
}

// streamEvents answers GET /v1/events with server-sent events until the caller disconnects or this replica stops.
func (s *REST) streamEvents(c *gin.Context) {
	format := eventsFormat
	format.Timeout = s.streamTimeout
	out := rest.NewEvents(c, format)
	// HEAD gets no follower, which would take a place among the streams for an answer that has no events.
	if c.Request.Method == http.MethodHead {
		out.Begin()
		return
	}
	ctx, cancel := context.WithCancel(c.Request.Context())
	defer cancel()
	defer context.AfterFunc(s.options.Stopping, cancel)()
	follower, err := s.options.FollowEvents(ctx, c.GetHeader("Last-Event-ID"))
	if err != nil {
		rest.Fail(c, err)
		return
	}
	defer follower.Close()
	// The error is not needed: the caller reconnects and continues after the last id that it received.
	_ = sendEvents(ctx, out, follower)
}

// sendEvents sends events, and a ping every 15 seconds. Errors: the caller has disconnected or does not read, the
// follower has failed, or ctx's.
func sendEvents(ctx context.Context, out *rest.Events, follower Follower) error {
	// Upstream's first line.
	if err := out.Comment("connected"); err != nil {
		return err
	}
	ping := time.Now().Add(pingInterval)
	for {
		events, err := nextBefore(ctx, ping, follower)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := out.SendJSON(e.Type, e.ID, e.Data); err != nil {
				return err
			}
		}
		// Pings do not depend on a pause: a caller gets them also where events come without end.
		if !time.Now().Before(ping) {
			if err := out.Comment("ping"); err != nil {
				return err
			}
			ping = time.Now().Add(pingInterval)
		}
	}
}

// nextBefore waits for events until the next ping is due. It returns no events if there were none by then.
func nextBefore(ctx context.Context, ping time.Time, follower Follower) ([]roster.Event, error) {
	waiting, cancel := context.WithDeadline(ctx, ping)
	defer cancel()
	events, err := follower.Next(waiting)
	// It was the deadline of the ping that ended the wait, after which the follower can be used again.
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil, nil
	}
	return events, err
}

package sdk

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// maxSilence is how long a stream may send nothing: the director sends a comment every 15 seconds.
	maxSilence = 45 * time.Second
	// maxEventBytes bounds one line of a stream.
	maxEventBytes = 64 << 10
)

var (
	errStreamEnded = errors.New("the stream of events has ended")
	errNoStream    = errors.New("the answer is no stream of events")
	errNotInTime   = errors.New("no answer in time")
)

// eventStream is an open stream of events, for one goroutine. Its errors are unreachableErrors: another replica, or a
// poll, may work.
type eventStream struct {
	body        io.ReadCloser
	lineScanner *bufio.Scanner
	endTimer    *time.Timer // ends the connection
	cutStream   context.CancelCauseFunc
}

// openEvents sends k to one replica once. The replica has Options.AttemptTimeout to begin the stream, or to send its
// refusal.
func (c *Client) openEvents(ctx context.Context, base string, k call) (*eventStream, error) {
	ctx, cut := context.WithCancelCause(ctx)
	timer := time.AfterFunc(c.clientOptions.AttemptTimeout, func() { cut(errNotInTime) })
	s, err := c.beginEvents(ctx, base, k)
	if err != nil {
		timer.Stop()
		cut(nil)
		return nil, err
	}
	s.endTimer, s.cutStream = timer, cut
	return s, nil
}

func (c *Client) beginEvents(ctx context.Context, base string, k call) (*eventStream, error) {
	req, err := c.newRequest(ctx, base, k)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream, application/problem+json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, streamError(ctx, err)
	}
	if resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, maxEventBytes)
		return &eventStream{body: resp.Body, lineScanner: lines}, nil
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil, &unreachableError{errNoStream}
	}
	body, err := readBounded(resp.Body)
	if err != nil {
		return nil, streamError(ctx, err)
	}
	return nil, decodeError(resp, k, body)
}

// streamError returns an unreachableError with why the connection was cut, which err does not say, or else with err.
func streamError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return &unreachableError{err}
}

// next blocks until the next event and decodes its data: the name and the id are in the data as well. The time in which
// the caller works on an event does not count as silence.
func (s *eventStream) next(out any) error {
	defer s.endTimer.Stop()
	for {
		s.endTimer.Reset(maxSilence)
		if !s.lineScanner.Scan() {
			return &unreachableError{errors.Join(errStreamEnded, s.lineScanner.Err())}
		}
		data, isData := strings.CutPrefix(s.lineScanner.Text(), "data: ")
		if !isData {
			continue
		}
		if err := json.Unmarshal([]byte(data), out); err != nil {
			return &unreachableError{fmt.Errorf("the stream of events is unreadable: %w", err)}
		}
		return nil
	}
}

// close ends the connection.
func (s *eventStream) close() {
	s.endTimer.Stop()
	s.cutStream(nil)
	_ = s.body.Close()
}

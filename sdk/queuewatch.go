package sdk

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	// silence is how long a stream may send nothing: the director sends a comment every 15 seconds.
	silence = 45 * time.Second
	// maxEventBytes bounds one line of a stream.
	maxEventBytes = 64 << 10
	// streamFailures is after how many streams in a row that brought nothing Watch polls instead.
	streamFailures = 3
)

// Watch returns a channel of the ticket's states, beginning with the current one or, after Next or an earlier Watch, with those
// that the program has missed. A waiting ticket is sent again when one of its rules widens. The channel is closed after a final
// state, when ctx ends, and after an error that a retry cannot change, which err returns once the channel is closed.
//
// Watch follows a stream of events and, where a stream breaks, connects again without a loss. Where streams bring nothing, as
// behind a proxy that buffers answers, it polls.
func (q *Queued) Watch(ctx context.Context) (states <-chan QueueStatus, err func() error) {
	out := make(chan QueueStatus)
	var failed error
	sent := false
	go func() {
		defer close(out)
		failed = q.follow(ctx, func(s QueueStatus) error {
			if sent && s.Version == q.last.Version && s.State == q.last.State && reflect.DeepEqual(s.Step, q.last.Step) {
				return nil // a new stream begins with the current state
			}
			q.last, sent = s, true
			select {
			case out <- s:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	return out, func() error { return failed }
}

// follow passes on the ticket's states until a final one.
func (q *Queued) follow(ctx context.Context, emit func(QueueStatus) error) error {
	pause, empty := newPacer(q.player.client.opts), 0
	for empty < streamFailures {
		version := q.last.Version
		err := q.stream(ctx, emit)
		switch {
		case q.last.State.Final():
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !retryable(err):
			return err
		case q.last.Version > version:
			empty = 0
			pause.Reset()
		default:
			empty++
		}
		pause.after(err)
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
	return q.poll(ctx, emit)
}

func (q *Queued) poll(ctx context.Context, emit func(QueueStatus) error) error {
	for {
		s, err := q.Next(ctx)
		if err != nil {
			return err
		}
		if err := emit(s); err != nil || s.State.Final() {
			return err
		}
	}
}

func sleep(ctx context.Context, pause backoff.BackOff) error {
	timer := time.NewTimer(pause.NextBackOff())
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stream follows one stream of events until it ends.
func (q *Queued) stream(ctx context.Context, emit func(QueueStatus) error) error {
	ctx, cut := context.WithCancel(ctx)
	defer cut()
	resp, err := q.connect(ctx)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	watchdog := time.AfterFunc(silence, cut)
	defer watchdog.Stop()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxEventBytes)
	for lines.Scan() {
		watchdog.Reset(silence)
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		if !isData {
			continue // the name and the id are in the data as well
		}
		var s QueueStatus
		if err := json.Unmarshal([]byte(data), &s); err != nil {
			return fmt.Errorf("sdk: an event of ticket %s: %w", q.id, err)
		}
		if err := emit(s); err != nil || s.State.Final() {
			return err
		}
	}
	return &unreachableError{errors.Join(lines.Err(), errStreamEnded)}
}

var errStreamEnded = errors.New("the stream of events has ended")

// connect opens a stream at the next replica that answers.
func (q *Queued) connect(ctx context.Context) (resp *http.Response, err error) {
	token, err := q.player.token(ctx)
	if err != nil {
		return nil, fmt.Errorf("sdk: access token: %w", err)
	}
	k := call{method: http.MethodGet, path: q.path("/events"), header: http.Header{"Authorization": {"Bearer " + token}}}
	if q.last.Version > 0 {
		k.header.Set("Last-Event-ID", strconv.Itoa(q.last.Version))
	}
	c := q.player.client
	for range c.replicas.count() {
		rep := c.replicas.pick(time.Now())
		resp, err = c.open(ctx, rep.base, k)
		if !replicaUnavailable(err) || ctx.Err() != nil {
			return resp, err
		}
		c.replicas.failed(rep, time.Now())
		c.opts.Logger.LogAttrs(ctx, slog.LevelDebug, "a replica streams no events", slog.Any("error", err))
	}
	return resp, err
}

// open sends k to one replica once and returns the answer with its body, which the caller closes.
func (c *Client) open(ctx context.Context, base string, k call) (*http.Response, error) {
	req, err := c.request(ctx, base, k)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream, application/problem+json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, &unreachableError{err}
	}
	if resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return resp, nil
	}
	defer resp.Body.Close()
	body, err := readBounded(resp.Body)
	if err != nil {
		return nil, &unreachableError{err}
	}
	if resp.StatusCode == http.StatusOK {
		return nil, &unreachableError{errStreamEnded}
	}
	return nil, decodeError(resp, k, body)
}

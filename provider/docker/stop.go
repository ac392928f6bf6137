package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/internal/httpcall"
)

// Stop implements provider.Provider: the engine sends SIGTERM now, and SIGKILL after the grace.
func (p *Provider) Stop(ctx context.Context, ref provider.Ref, grace time.Duration) error {
	tag := provider.Tag(ref)
	c, ok, err := p.inspectContainer(ctx, "stop", tag)
	switch {
	case err != nil:
		return err
	case !ok || phaseOf(c.State.Status) == provider.PhaseGone:
		return provider.Fail(provider.Gone, "stop", fmt.Errorf("no container of %.40q runs", ref))
	// The container never ran: the engine would refuse a SIGTERM, and the next Deploy of the tag would start it.
	case c.State.Status == stateCreated:
		return p.removeContainer(ctx, nameOf(tag))
	}
	// Since the container's start: a signal of an earlier run says nothing about this one.
	terminated, found, err := p.lastSignal(ctx, tag, c.State.StartedAt)
	switch {
	case err != nil:
		return err
	case !found:
		return p.terminateContainer(ctx, tag, grace)
	// The engine should have killed the container after the grace and has not.
	case time.Since(terminated) > grace+killAfter:
		return p.killContainer(ctx, tag)
	default:
		return nil
	}
}

// killAfter is how long after the grace a container that still runs counts as forgotten by the engine, which was
// probably restarted in between.
const killAfter = 5 * time.Second

// eventPause is the pause between two looks at the engine's events.
const eventPause = 100 * time.Millisecond

// terminateContainer makes the engine stop a container. The engine answers when the container has ended, so this
// returns as soon as the engine reports the SIGTERM. The engine continues then, whether the call is still there or not.
func (p *Provider) terminateContainer(ctx context.Context, tag provider.Tag, grace time.Duration) error {
	// Buffered, so that the goroutine ends even if this call has returned before.
	answered := make(chan error, 1)
	// Not bound to the caller, whose context may be shorter than the grace.
	p.stopsRunning.Go(func() { answered <- p.stopAndWait(tag, grace) })
	tick := time.NewTicker(eventPause)
	defer tick.Stop()
	for {
		select {
		case err := <-answered:
			return err
		case <-ctx.Done():
			return provider.Fail(provider.Transient, "stop", ctx.Err())
		case <-tick.C:
			if _, found, err := p.lastSignal(ctx, tag, time.Time{}); found || err != nil {
				return err
			}
		}
	}
}

func (p *Provider) stopAndWait(tag provider.Tag, grace time.Duration) error {
	e, err := p.reachEngine(p.stopContext, "stop")
	if err != nil {
		return err
	}
	// The engine answers only when the container has ended.
	ctx, cancel := context.WithTimeout(p.stopContext, grace+p.cfg.Timeout)
	defer cancel()
	// The engine takes whole seconds: rounded up, so that no server gets less than its grace.
	seconds := int((grace + time.Second - 1) / time.Second)
	target := fmt.Sprintf("%s%s/containers/%s/stop?t=%d", p.baseURL, e.pathPrefix, nameOf(tag), seconds)
	a, _, err := httpcall.Exchange(ctx, p.httpClient, httpcall.Request{Method: http.MethodPost, URL: target})
	if err != nil {
		return provider.Fail(provider.Transient, "stop", errors.New(httpcall.Scrub(err.Error(), nil)))
	}
	return stopError(a)
}

// stopError returns the error of an answer to a call that ends a container.
func stopError(a httpcall.Answer) error {
	switch a.Status {
	case http.StatusNoContent, http.StatusNotModified:
		return nil
	case http.StatusNotFound, http.StatusConflict: // conflict: it does not run
		return answerError(provider.Gone, "stop", a, nil)
	default:
		return answerError(provider.Transient, "stop", a, nil)
	}
}

func (p *Provider) killContainer(ctx context.Context, tag provider.Tag) error {
	a, err := p.callEngine(ctx, call{op: "stop", method: http.MethodPost, path: "/containers/" + nameOf(tag) + "/kill"})
	if err != nil {
		return err
	}
	return stopError(a)
}

// lastSignal returns when a signal was last sent to the container, as far as the engine remembers: it keeps its last
// events. Any signal counts, also one that an operator has sent with the engine's tools. A zero since means no bound.
func (p *Provider) lastSignal(ctx context.Context, tag provider.Tag,
	since time.Time) (at time.Time, found bool, err error) {
	filters, err := json.Marshal(map[string][]string{"container": {nameOf(tag)}, "event": {"kill"},
		"type": {"container"}})
	if err != nil {
		return time.Time{}, false, provider.Fail(provider.Transient, "stop", err)
	}
	now := time.Now() // a later time would make the engine wait for events
	query := url.Values{
		"filters": {string(filters)}, "since": {strconv.FormatInt(max(since.Unix(), 0), 10)},
		"until": {fmt.Sprintf("%d.%09d", now.Unix(), now.Nanosecond())},
	}
	a, err := p.callEngine(ctx, call{op: "stop", method: http.MethodGet, path: "/events", query: query})
	if err != nil {
		return time.Time{}, false, err
	}
	if a.Status != http.StatusOK {
		return time.Time{}, false, answerError(provider.Transient, "stop", a, nil)
	}
	d := json.NewDecoder(bytes.NewReader(a.Body))
	for {
		var event struct {
			Time int64 `json:"time"`
		}
		if err := d.Decode(&event); errors.Is(err, io.EOF) {
			return at, found, nil
		} else if err != nil {
			return time.Time{}, false, provider.Fail(provider.Transient, "stop", fmt.Errorf("is no event: %w", err))
		}
		// The last event counts: the engine returns them in the order of time.
		at, found = time.Unix(event.Time, 0), true
	}
}

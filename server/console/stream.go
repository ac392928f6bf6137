package console

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

const (
	// streamBeat is the time between two signs of life, and the longest that a stream outlives its login.
	streamBeat = 15 * time.Second
	// streamLife bounds a stream, so that browsers spread over the replicas again; they reconnect at once.
	streamLife = 10 * time.Minute
)

// replacement is the event that carries a live part.
type replacement struct {
	HTML string `json:"html"`
}

// trouble is the event that says why nothing new comes.
type trouble struct {
	Says string `json:"says"`
}

// streamPage sends the live part of a page whenever it changes.
func (c *Console) streamPage(g *gin.Context, p anyPage) {
	s, q := sessionOf(g), queryOf(g)
	topic, leave, err := c.pageHub.watchTopic(p.templateName+" "+q.URL(), p.readEvery,
		func(ctx context.Context) (any, error) { return p.loadData(ctx, q) })
	if err != nil {
		rest.Fail(g, &rest.Problem{
			Status: http.StatusServiceUnavailable, Code: "busy", Title: "Busy", RetryAfter: 10 * time.Second,
			Detail: "Too many browsers watch this replica. The page still shows current values when you reload it.",
		})
		return
	}
	defer leave()
	rest.AllowWaiting(g)
	rest.HandleEvents(func(ctx context.Context, _ rest.In[rest.None], out *rest.Events) error {
		// A stream does not outlive its login: this browser sends no further request that would notice the end.
		ctx, cancel := context.WithDeadline(ctx, earlierTime(s.Until, c.now().Add(streamLife)))
		defer cancel()
		w := watcher{console: c, login: s, page: p, query: q, isOperator: !s.Viewer,
			versionSeen: readVersionSeen(g.Request)}
		return w.streamTopic(ctx, topic, out)
	})(g)
}

// readVersionSeen returns the version of the live part that the browser has; -1: none.
func readVersionSeen(r *http.Request) int {
	for _, text := range []string{r.Header.Get("Last-Event-ID"), r.URL.Query().Get(sinceParam)} {
		if version, err := strconv.Atoi(text); err == nil {
			return version
		}
	}
	return -1
}

// earlierTime returns the earlier of two times.
func earlierTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// watcher is one stream.
type watcher struct {
	console     *Console
	login       session
	page        anyPage
	query       query
	isOperator  bool
	versionSeen int  // the browser has this version of the live part; -1: none
	isTroubled  bool // the browser shows why nothing new comes
}

// streamTopic sends readings until the browser leaves, the login ends or the replica stops.
func (w *watcher) streamTopic(ctx context.Context, t *topic, out *rest.Events) error {
	beat := time.NewTicker(w.console.streamBeat)
	defer beat.Stop()
	if err := out.Beat(); err != nil { // so that the browser knows at once that it is connected
		return err
	}
	for {
		// The channel is taken with the reading, so a newer reading is not missed while this one is sent.
		latest, replaced := w.console.pageHub.readingOf(t)
		if err := w.sendReading(latest, out.Send); err != nil {
			return err
		}
		select {
		// The next turn of the loop takes the newer reading.
		case <-replaced:
		case <-beat.C:
			// On an error the stream stays: Health has to show that the database does not answer.
			if ended, _ := w.console.hasEnded(ctx, w.login); ended {
				return nil
			}
			if err := out.Beat(); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		// The replica stops. The browser connects to another one at once.
		case <-w.console.pageHub.ctx.Done():
			return nil
		}
	}
}

// sendReading sends a reading, if it differs from what the browser has.
func (w *watcher) sendReading(r reading, send func(name string, id int, data any) error) error {
	switch {
	// The first reading of the topic is not there yet.
	case r.readAt.IsZero():
		return nil
	// The event has the version of the browser's content as its id, so that a browser which reconnects sends that one.
	case r.err != nil:
		w.isTroubled = true
		return send("trouble", max(w.versionSeen, 0), trouble{rest.ProblemOf(r.err).Detail})
	}
	live, err := w.console.templates.renderLive(w.page.templateName,
		view{Data: r.data, Query: w.query, Operator: w.isOperator, Now: w.console.now()})
	if err != nil {
		return err
	}
	// After trouble the same content is sent again: it replaces the sentence that says why nothing new comes.
	if live.version == w.versionSeen && !w.isTroubled {
		return nil
	}
	w.versionSeen, w.isTroubled = live.version, false
	return send("live", live.version, replacement{string(live.html)})
}

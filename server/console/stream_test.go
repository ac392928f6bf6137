package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/testkit/webtest"
)

func htmlOf(t *testing.T, e webtest.Event) string {
	t.Helper()
	var r replacement
	require.NoError(t, json.Unmarshal([]byte(e.Data), &r))
	return r.HTML
}

// watch opens a stream. Events come on the channel, which is closed when the stream ends.
func (w *browser) watch(path string, headers ...string) (status int, events <-chan webtest.Event) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	w.t.Cleanup(cancel)
	r := webtest.Request(w.t, http.MethodGet, w.base+path, nil,
		append([]string{"Accept", "text/event-stream"}, headers...)...)
	a, events := webtest.Events(w.t, w.http, r.WithContext(ctx))
	return a.Status, events
}

var versionOf = regexp.MustCompile(`data-version="(\d+)"`)

// Pins a stream that does not send a change, sends what the browser has, or offers viewers what operators may do.
func TestStreamSendsChanges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8, func(r *db.Registration) { r.Capacity = 8 })
	ada, ivy := b.as(adaToken), b.as(ivyToken)
	page := ada.get("/fleet").Body
	version := versionOf.FindStringSubmatch(page)[1]
	status, mine := ada.watch("/fleet?_since=" + version)
	require.Equal(t, http.StatusOK, status)
	_, hers := ivy.watch("/fleet")
	require.NotContains(t, htmlOf(t, webtest.NextEvent(t, hers)), "/drain")

	ada.act("/instances/eu-1/drain")
	first := webtest.NextEvent(t, mine)
	require.Equal(t, "live", first.Name)
	require.Contains(t, htmlOf(t, first), "draining",
		"the first event is the change, because the browser has what was there before")
	require.Contains(t, htmlOf(t, first), "/instances/eu-1/undrain")
	require.NotContains(t, htmlOf(t, webtest.NextEvent(t, hers)), "/undrain")

	_, resumed := ada.watch("/fleet?_since="+version, "Last-Event-ID", first.ID)
	b.AddServer("eu-2", 8)
	require.Contains(t, htmlOf(t, webtest.NextEvent(t, resumed)), "eu-2",
		"a stream that resumes does not repeat what the browser has")
}

// Pins a database that every browser reads on its own.
func TestStreamsShareReadings(t *testing.T) {
	t.Parallel()
	h := newHub(100, nil)
	defer h.stop()
	var readings atomic.Int64
	load := func(context.Context) (any, error) { readings.Add(1); return 1, nil }
	var leave []func()
	for range 100 {
		topic, done, err := h.watchTopic("fleet /fleet", time.Hour, load)
		require.NoError(t, err)
		leave = append(leave, done)
		for r, changed := h.readingOf(topic); r.readAt.IsZero(); r, changed = h.readingOf(topic) {
			<-changed
		}
	}
	require.EqualValues(t, 1, readings.Load())
	_, _, err := h.watchTopic("another", time.Hour, load)
	require.ErrorIs(t, err, errFull)
	leave[0]()
	_, done, err := h.watchTopic("another", time.Hour, load)
	require.NoError(t, err)
	done()
}

// Pins a replica that ends because a page panics while it is read for its watchers.
func TestAPanicCostsOneReading(t *testing.T) {
	t.Parallel()
	h := newHub(10, nil)
	defer h.stop()
	var readings atomic.Int64
	seen := make(chan struct{})
	topic, leave, err := h.watchTopic("fleet", time.Millisecond, func(ctx context.Context) (any, error) {
		if readings.Add(1) == 1 {
			panic("a bug")
		}
		select {
		case <-seen:
		case <-ctx.Done():
		}
		return 1, nil
	})
	require.NoError(t, err)
	defer leave()
	failed := func() bool { r, _ := h.readingOf(topic); return errors.Is(r.err, panics.ErrInternal) }
	require.Eventually(t, failed, time.Minute, time.Millisecond, "the watchers learn that the page failed")
	close(seen)
	read := func() bool { r, _ := h.readingOf(topic); return r.data == 1 && r.err == nil }
	require.Eventually(t, read, time.Minute, time.Millisecond, "the page is read again")
}

// Pins readings that continue although nobody watches.
func TestStreamsEndTheirReadings(t *testing.T) {
	t.Parallel()
	h := newHub(100, nil)
	defer h.stop()
	_, leave, err := h.watchTopic("fleet", time.Millisecond, func(context.Context) (any, error) { return 1, nil })
	require.NoError(t, err)
	leave()
	require.Eventually(t, func() bool { h.mu.Lock(); defer h.mu.Unlock(); return len(h.topicsByKey) == 0 }, time.Minute,
		time.Millisecond)
}

// Pins a browser that makes the memory of a replica grow: it opens pages and leaves them at once, and each is read
// until its next turn.
func TestStreamsThatLeaveAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	h := newHub(10, nil)
	defer h.stop()
	open := func(i int) error {
		read := make(chan struct{})
		_, leave, err := h.watchTopic(strconv.Itoa(i), time.Hour,
			func(context.Context) (any, error) { close(read); return 1, nil })
		if err == nil {
			<-read
			leave()
		}
		return err
	}
	for i := range 10 {
		require.NoError(t, open(i))
	}
	require.ErrorIs(t, open(10), errFull)
}

// Pins streams that keep a replica from stopping, and those of somebody who is not logged in.
func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	status, _ := b.browser().watch("/fleet")
	require.Equal(t, http.StatusUnauthorized, status)
	_, events := b.as(adaToken).watch("/fleet")
	webtest.NextEvent(t, events)
	b.console.Stop()
	for range events { // until it is closed
	}
}

// Pins a stream that shows the fleet to a copy of a cookie after its owner has logged out, and one that ends while
// the state of the login cannot be read.
func TestALogoutEndsStreams(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.console.streamBeat = 10 * time.Millisecond
	owner, other := b.as(adaToken), b.as(adaToken)
	thief := b.browser()
	base, err := url.Parse(b.server.URL)
	require.NoError(t, err)
	thief.http.Jar.SetCookies(base, owner.http.Jar.Cookies(base))
	form := url.Values{"csrf": {csrfField.FindStringSubmatch(owner.get("/keys").Body)[1]}}
	_, stolen := thief.watch("/fleet")
	_, kept := other.watch("/fleet")
	webtest.NextEvent(t, stolen)
	webtest.NextEvent(t, kept)

	b.Exec("ALTER TABLE console_logouts RENAME TO away")
	b.AddServer("eu-1", 8)
	require.Contains(t, htmlOf(t, webtest.NextEvent(t, stolen)), "eu-1")
	require.Contains(t, htmlOf(t, webtest.NextEvent(t, kept)), "eu-1")
	b.Exec("ALTER TABLE away RENAME TO console_logouts")

	require.Equal(t, http.StatusSeeOther, owner.post("/logout", form).Status)
	require.Eventually(t, func() bool { _, more := <-stolen; return !more }, 10*time.Second, time.Millisecond,
		"the stream stays")
	status, _ := thief.watch("/fleet")
	require.Equal(t, http.StatusUnauthorized, status)
	b.AddServer("eu-2", 8)
	require.Contains(t, htmlOf(t, webtest.NextEvent(t, kept)), "eu-2", "another login of the same person stays")
}

// Pins a page that goes stale without a word while the database does not answer, and one that stays so.
func TestStreamsSayWhyNothingComes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := watcher{console: b.console, page: anyPage{templateName: "fleet"}, versionSeen: 7}
	var sent []string
	out := func(name string, id int, _ any) error { sent = append(sent, fmt.Sprint(name, id)); return nil }
	require.NoError(t, w.sendReading(reading{}, out), "nothing was read yet")
	require.NoError(t, w.sendReading(reading{err: context.DeadlineExceeded, readAt: time.Now()}, out))
	require.NoError(t, w.sendReading(reading{data: fleetView{}, readAt: time.Now()}, out))
	version := w.versionSeen
	require.NoError(t, w.sendReading(reading{data: fleetView{}, readAt: time.Now()}, out), "nothing has changed")
	require.NoError(t, w.sendReading(reading{err: context.DeadlineExceeded, readAt: time.Now()}, out))
	require.NoError(t, w.sendReading(reading{data: fleetView{}, readAt: time.Now()}, out),
		"nothing has changed, but the browser says that it is stale")
	require.Equal(t, []string{"trouble7", fmt.Sprint("live", version), fmt.Sprint("trouble", version),
		fmt.Sprint("live", version)}, sent)
}

package faults

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/test/rigtest"
)

const (
	lineRate    = 30.0 // admissions a second
	linePlayers = 240
	lineCallers = 8
)

// visitor is a player who waits in the login queue by asking again and again.
type visitor struct {
	name       string
	askedAt    time.Time // before the first call
	placedAt   time.Time // when a call got an answer; zero: none has
	isAdmitted bool
}

// line is a crowd before a valve.
type line struct {
	rig *rig

	mu       sync.Mutex
	visitors []*visitor
	failures []string // answers that are neither a place nor an admission
}

// enter lets players come one after the other, each as soon as the one before has a place.
func (l *line) enter(ctx context.Context, caller int) {
	for i := range linePlayers / lineCallers {
		// The time of the first call, whose answer may be lost with the replica that has given the place.
		v := &visitor{name: fmt.Sprintf("p-%d-%d", caller, i), askedAt: time.Now()}
		for v.placedAt.IsZero() && ctx.Err() == nil {
			if l.ask(ctx, v) {
				v.placedAt = time.Now()
			}
		}
		l.mu.Lock()
		l.visitors = append(l.visitors, v)
		l.mu.Unlock()
	}
}

// ask makes a call for a visitor, keeps whether the player is admitted, and reports whether the call got an answer.
func (l *line) ask(ctx context.Context, v *visitor) bool {
	status, answer, err := l.rig.PostPlay(v.name, "/login-queue", fields{})
	if err != nil {
		pause(ctx, 20*time.Millisecond)
		return false
	}
	v.isAdmitted = answer["state"] == "admitted"
	if status != http.StatusOK {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.failures = append(l.failures, fmt.Sprint(status, answer))
	}
	return status == http.StatusOK
}

// await asks for everybody in turn until all are admitted.
func (l *line) await(ctx context.Context) {
	waiting := slices.Clone(l.visitors)
	for ; len(waiting) > 0 && ctx.Err() == nil; pause(ctx, 50*time.Millisecond) {
		for _, v := range waiting {
			l.ask(ctx, v)
		}
		waiting = slices.DeleteFunc(waiting, func(v *visitor) bool { return v.isAdmitted })
	}
}

// All processes of the installation are killed twice while a crowd waits in the login queue. Nobody loses a place or is
// overtaken, the valve admits no faster than it may, and no call fails but those to processes that are dead.
func TestALoginQueueKeepsItsOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.RunCommand("valves", "set", "launch", "--rate", fmt.Sprint(lineRate), "--staff-share", "0")
	l := &line{rig: r}
	start := func() (all []*process) {
		var urls []string
		for range 3 {
			p := r.StartReplica(rigtest.FreeAddr(t))
			all, urls = append(all, p), append(urls, p.URL)
		}
		for _, p := range all {
			r.AwaitReady(p)
		}
		r.SetURLs(urls...)
		return append(all, r.StartProcess("work"), r.StartProcess("work"))
	}
	all := start()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	var entering sync.WaitGroup
	for caller := range lineCallers {
		entering.Go(func() { l.enter(ctx, caller) })
	}
	for _, placed := range []int{linePlayers / 4, linePlayers / 2} {
		r.AwaitTrue(fmt.Sprintf("SELECT count(*) >= %d FROM admissions", placed))
		for _, p := range all {
			p.Process.Kill()
		}
		all = start()
	}
	entering.Wait()
	l.await(ctx)
	require.Empty(t, l.failures)
	require.Len(t, l.visitors, linePlayers)
	require.Equal(t, linePlayers, one[int](r, "SELECT count(*) FROM admissions WHERE admitted_at IS NOT NULL"))
	require.Equal(t, linePlayers, one[int](r, "SELECT count(DISTINCT place) FROM admissions"))
	require.Zero(t, one[int](r, "SELECT count(*) FROM admissions a JOIN admissions b ON a.place < b.place AND a.admitted_at > b.admitted_at"), "somebody was overtaken")
	places, compared := one[map[string]int64](r, "SELECT json_object_agg(sub, place) FROM admissions"), 0
	for _, a := range l.visitors {
		for _, b := range l.visitors {
			if a.placedAt.Before(b.askedAt) {
				compared++
				require.Less(t, places[a.name], places[b.name], "%s had a place before %s asked", a.name, b.name)
			}
		}
	}
	require.Greater(t, compared, linePlayers)
	span := one[float64](r, "SELECT extract(epoch FROM max(admitted_at) - min(admitted_at)) FROM admissions")
	require.GreaterOrEqual(t, span, (linePlayers-2*lineRate)/lineRate-1, "faster than the valve allows")
	require.Equal(t, linePlayers, one[int](r, "SELECT players FROM login_queues"))
	r.RequireInvariants()
}

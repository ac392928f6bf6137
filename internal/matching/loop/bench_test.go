package loop_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkSeatTheQueue seats 10,000 players who queued before the first worker began, in matches of ten. Which of them
// are left without a match depends on the order of the draws: a few dozen at most.
func BenchmarkSeatTheQueue(b *testing.B) {
	const players, left = 10_000, 50
	for b.Loop() {
		b.StopTimer()
		d := newBundle(b)
		for i := range 20 {
			d.host(fmt.Sprint("host-", i), 1000, "arena")
		}
		d.AddProfile("five", "mode: arena\nattributes: {skill: {type: number}}\n"+
			"teams: [{name: red, players: 5}, {name: blue, players: 5}]\nrules: [{near: skill, within: 100}]\n")
		d.queue(players)
		b.StartTimer()
		started := time.Now()
		stop := d.worker()
		require.Eventually(b, func() bool { return d.Count("SELECT count(*) FROM tickets") <= left }, time.Minute,
			20*time.Millisecond)
		b.ReportMetric(time.Since(started).Seconds(), "s/10000players")
		b.StopTimer()
		stop()
		b.StartTimer()
	}
}

// queue queues so many players, each alone.
func (b *bundle) queue(players int) {
	var callers sync.WaitGroup
	for c := range 64 {
		callers.Go(func() {
			for i := c; i < players; i += 64 {
				b.ticket(float64(i%1000), party(fmt.Sprint("player-", i)), "five")
			}
		})
	}
	callers.Wait()
}

package proof

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

const lobbyHeld = "changes beside a forgotten snapshot"

// heldLobby is changes of rooms at a fixed rate, during which a snapshot is held.
type heldLobby struct {
	times  forgetting
	course course
	result bench.Result
}

func (b *testbed) besideSnapshot(ctx context.Context) (held heldLobby, err error) {
	held.times = b.options.forgetting()
	running, ctx := errgroup.WithContext(ctx)
	begun := make(chan struct{})
	running.Go(func() (err error) {
		load := b.options.inLobby("rooms-patch", 0)
		load.Duration, load.URLs, load.Meter = held.times.over, lab.RealtimeURLs(b.Replicas()), b.Lab
		load.Progress = held.course.follow(load.WarmUp, begun)
		held.result, err = bench.Run(ctx, load)
		return err
	})
	running.Go(func() error { return b.forget(ctx, begun, held.times) })
	return held, running.Wait()
}

func (h *heldLobby) findings() []Finding {
	return h.course.forgotten("changes of rooms", h.times, h.result)
}

package friends

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Group is friends who play together. The first one is the host, who owns the lobby.
type Group []*Friend

// Close closes the connections of all.
func (g Group) Close() {
	for _, f := range g {
		f.Close()
	}
}

// each runs a step for all friends at the same time. Errors: the first.
func (g Group) each(ctx context.Context, step func(context.Context, *Friend) error) error {
	group, stage := errgroup.WithContext(ctx)
	for _, f := range g {
		group.Go(func() error {
			if err := step(stage, f); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func sessionOf(key string) (session string, ok bool) { return strings.CutPrefix(key, "m:") }

// Meet makes a private lobby. The host invites the others by their names, and they join.
func (g Group) Meet(ctx context.Context, room string) error {
	options := func(f *Friend) any { return map[string]any{"name": f.Name, "private": true} }
	host, others := g[0], g[1:]
	if err := host.Join(ctx, "lobby", room, options(host)); err != nil {
		return err
	}
	for _, f := range others {
		if err := host.Send(ctx, room, "invite", map[string]any{"player": f.Name}); err != nil {
			return err
		}
	}
	err := others.each(ctx, func(ctx context.Context, f *Friend) error {
		if err := f.Await(ctx, func() bool { return f.isInvited(room) }); err != nil {
			return err
		}
		return f.Join(ctx, "lobby", room, options(f))
	})
	if err != nil {
		return err
	}
	return g.each(ctx, func(ctx context.Context, f *Friend) error {
		return f.Await(ctx, func() bool { return len(f.sees(room)) == len(g) })
	})
}

// Chat lets each friend say something at the same time as the others, and waits until all have heard everything. It
// returns what they heard.
func (g Group) Chat(ctx context.Context, room, text string) ([]Line, error) {
	before := len(g[0].LinesHeard(room))
	err := g.each(ctx, func(ctx context.Context, f *Friend) error { return f.Say(ctx, room, text) })
	if err != nil {
		return nil, err
	}
	err = g.each(ctx, func(ctx context.Context, f *Friend) error {
		return f.Await(ctx, func() bool { return len(f.LinesHeard(room)) >= before+len(g) })
	})
	return g[0].LinesHeard(room)[before:], err
}

// SameOrder reports whether all friends have heard the same in the same order.
func (g Group) SameOrder(room string) bool {
	first := g[0].LinesHeard(room)
	return !slices.ContainsFunc(g, func(f *Friend) bool { return !slices.Equal(f.LinesHeard(room), first) })
}

// SameState reports whether all friends are in a room and see the same state of it.
func (g Group) SameState(room string) bool {
	first, member := g[0].Room(room)
	return member && !slices.ContainsFunc(g, func(f *Friend) bool {
		other, _ := f.Room(room)
		return !other.Equal(first)
	})
}

// Start makes everybody ready and queues the group for a room type. All join the room of the match that the director
// finds.
func (g Group) Start(ctx context.Context, room, roomType string, latencies map[string]int) (Match, error) {
	host := g[0]
	err := g.each(ctx, func(ctx context.Context, f *Friend) error {
		return f.Send(ctx, room, "ready", map[string]any{"ready": true})
	})
	if err != nil {
		return Match{}, err
	}
	if err := host.Send(ctx, room, "start", map[string]any{"room_type": roomType, "latencies": latencies}); err != nil {
		return Match{}, err
	}
	err = g.each(ctx, func(ctx context.Context, f *Friend) error {
		if err := f.Await(ctx, func() bool { _, ok := f.newest(); return ok }); err != nil {
			return err
		}
		m, _ := f.newest()
		return f.Join(ctx, m.RoomType, m.Room, map[string]any{"name": f.Name})
	})
	m, _ := host.newest()
	return m, err
}

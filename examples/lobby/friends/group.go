package friends

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/sdk/lobby"
)

// Group is friends who play together. The first one is the host, who owns the lobby.
type Group []*Friend

// Close closes the connections of all friends.
func (g Group) Close() {
	for _, f := range g {
		f.Client.Close()
	}
}

// eachFriend runs a step for all friends at the same time. Errors: the first.
func (g Group) eachFriend(ctx context.Context, step func(context.Context, *Friend) error) error {
	group, groupCtx := errgroup.WithContext(ctx)
	for _, f := range g {
		group.Go(func() error {
			if err := step(groupCtx, f); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// Meet makes a private lobby. The host invites the others by their names, and they join.
func (g Group) Meet(ctx context.Context, room string) error {
	// Private: nobody joins without an invitation of a member.
	options := func(f *Friend) lobby.JoinOptions { return lobby.JoinOptions{Name: f.Name, Private: new(true)} }
	host, others := g[0], g[1:]
	hostRoom, err := host.Client.Join(ctx, "lobby", room, options(host))
	if err != nil {
		return err
	}
	for _, f := range others {
		if _, err := hostRoom.Invite(ctx, f.Name); err != nil {
			return err
		}
	}
	err = others.eachFriend(ctx, func(ctx context.Context, f *Friend) error {
		if err := f.Client.Await(ctx, func() bool { return f.isInvited(room) }); err != nil {
			return err
		}
		_, err := f.Client.Join(ctx, "lobby", room, options(f))
		return err
	})
	if err != nil {
		return err
	}
	return g.eachFriend(ctx, func(ctx context.Context, f *Friend) error {
		// Each waits for its own copy of the room: replicas do not send a change at the same moment.
		return f.Client.Await(ctx, func() bool { return len(f.Client.Room(room).State().Members()) == len(g) })
	})
}

// Chat lets each friend say something at the same time as the others, and waits until all have heard everything. It
// returns what they heard.
func (g Group) Chat(ctx context.Context, room, text string) ([]Line, error) {
	// The friends may have chatted in the room before: only the lines of this round count.
	before := len(g[0].LinesHeard(room))
	err := g.eachFriend(ctx, func(ctx context.Context, f *Friend) error { return f.Client.Room(room).Say(ctx, text) })
	if err != nil {
		return nil, err
	}
	err = g.eachFriend(ctx, func(ctx context.Context, f *Friend) error {
		return f.Client.Await(ctx, func() bool { return len(f.LinesHeard(room)) >= before+len(g) })
	})
	if err != nil {
		return nil, err
	}
	return g[0].LinesHeard(room)[before:], nil
}

// SameOrder reports whether all friends have heard the same in the same order.
func (g Group) SameOrder(room string) bool {
	first := g[0].LinesHeard(room)
	return !slices.ContainsFunc(g, func(f *Friend) bool { return !slices.Equal(f.LinesHeard(room), first) })
}

// SameState reports whether all friends are in a room and see the same state of it.
func (g Group) SameState(room string) bool {
	first := g[0].Client.Room(room).State()
	return first.Seq > 0 && !slices.ContainsFunc(g,
		func(f *Friend) bool { return !f.Client.Room(room).State().Equal(first) })
}

// Start makes everybody ready and queues the group for a room type. All join the room of the match that the director
// finds.
func (g Group) Start(ctx context.Context, room, roomType string, latencies map[string]int) (lobby.MatchFound, error) {
	host := g[0]
	err := g.eachFriend(ctx, func(ctx context.Context, f *Friend) error { return f.Client.Room(room).Ready(ctx, true) })
	if err != nil {
		return lobby.MatchFound{}, err
	}
	err = host.Client.Room(room).Start(ctx, lobby.Queue{RoomType: roomType, Latencies: latencies})
	if err != nil {
		return lobby.MatchFound{}, err
	}
	err = g.eachFriend(ctx, func(ctx context.Context, f *Friend) error {
		if err := f.Client.Await(ctx, func() bool { _, ok := f.newestMatch(); return ok }); err != nil {
			return err
		}
		m, _ := f.newestMatch()
		_, err := f.Client.Join(ctx, m.RoomType, m.Room, lobby.JoinOptions{Name: f.Name})
		return err
	})
	if err != nil {
		return lobby.MatchFound{}, err
	}
	m, _ := host.newestMatch()
	return m, nil
}

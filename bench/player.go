package bench

import (
	"context"
	"runtime"
	"strconv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// player is one who has not called before in this run, so that no rate limit per player is reached.
type player struct{ sub, token string }

// players are handed out one after another. Their tokens are made before the load, because signing one takes as long as
// some of the measured calls. In production the login service makes them.
type players struct {
	mint   MintFunc
	tokens []string // of the first players
	next   atomic.Int64
}

func newPlayers(mint MintFunc) *players { return &players{mint: mint} }

// prepare makes the tokens of the first n players, on all CPUs.
func (p *players) prepare(ctx context.Context, n int) error {
	p.tokens = make([]string, n)
	workers := runtime.GOMAXPROCS(0)
	group, ctx := errgroup.WithContext(ctx)
	for w := range workers {
		group.Go(func() (err error) {
			for i := w; i < n && ctx.Err() == nil && err == nil; i += workers {
				p.tokens[i], err = p.mint(subOf(int64(i)))
			}
			return err
		})
	}
	return group.Wait()
}

// another returns the next player.
func (p *players) another() (player, error) {
	i := p.next.Add(1) - 1
	if i < int64(len(p.tokens)) {
		return player{subOf(i), p.tokens[i]}, nil
	}
	token, err := p.mint(subOf(i))
	return player{subOf(i), token}, err
}

func subOf(i int64) string { return "bench-" + strconv.FormatInt(i, 10) }

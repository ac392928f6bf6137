package bench

import (
	"context"
	"runtime"
	"strconv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// player is somebody who has never called before in this run: limits per player are not what is measured.
type player struct{ sub, token string }

// players come one after another. Signing a token takes as long as many a call that is measured, so tokens are made
// ahead, for all players that are likely to come; a login would have made them long ago.
type players struct {
	mint   MintFunc
	tokens []string // of the first so many
	next   atomic.Int64
}

func newPlayers(mint MintFunc) *players { return &players{mint: mint} }

// prepare makes the tokens of the first n players, as fast as the machine can.
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

// another is the next player.
func (p *players) another() (player, error) {
	i := p.next.Add(1) - 1
	if i < int64(len(p.tokens)) {
		return player{subOf(i), p.tokens[i]}, nil
	}
	token, err := p.mint(subOf(i))
	return player{subOf(i), token}, err
}

func subOf(i int64) string { return "bench-" + strconv.FormatInt(i, 10) }

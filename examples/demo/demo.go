package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
)

// What the program ends with; interrupted is what shells take for Ctrl-C.
const (
	exitKept        = 0
	exitBroken      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// demo is one performance, from an empty directory to the proofs.
type demo struct {
	options options
	out     io.Writer
	screen  screen
	paint   paint
	dir     workdir
	cluster *cluster
}

// run performs. The processes it starts have ended when it returns.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	o, err := parseOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitKept
	}
	if err != nil {
		fmt.Fprintln(stderr, "demo:", err)
		return exitUsage
	}
	d := &demo{options: o, out: stdout}
	d.screen, d.paint = newScreen(o, stdout)
	proofs, err := d.perform(ctx)
	return d.curtain(ctx, proofs, err)
}

// perform sets the stage, plays, judges and clears up. What is returned with an error is nothing to go by.
func (d *demo) perform(ctx context.Context) (proofs []proof, err error) {
	if d.dir, err = newWorkdir(ctx); err != nil {
		return nil, err
	}
	fmt.Fprintf(d.out, "%s: the whole system on this machine, for %.0f s. Ctrl-C ends it.\n\n",
		d.paint.in(bold, "Lattice Director"), d.options.length.Seconds())
	login, jwks, err := newLogin()
	if err != nil {
		return nil, err
	}
	d.cluster = &cluster{options: d.options, dir: d.dir, jwks: jwks, servers: map[string]*process{}}
	defer func() {
		stopped := d.cluster.stop()
		if err == nil {
			proofs = append(proofs, endedWell(stopped))
		}
	}()
	if err := d.cluster.start(ctx, d.step); err != nil {
		return nil, err
	}
	players, err := newPlayers(d.cluster, login)
	if err != nil {
		return nil, err
	}
	defer players.close()
	fmt.Fprintf(d.out, "  %-9s %d bots, alone or in parties of up to %d; they know both replicas\n\n", "players", d.options.bots, largestParty)
	return d.play(ctx, players)
}

// step says what is being done before it is: some steps take long on a fresh machine.
func (d *demo) step(what string, do func() (how string, err error)) error {
	begun := time.Now()
	fmt.Fprintf(d.out, "  %-9s ", what)
	how, err := do()
	if err != nil {
		fmt.Fprintln(d.out)
		return err
	}
	fmt.Fprintln(d.out, how+d.paint.in(dim, ", "+took(begun)))
	return nil
}

func took(since time.Time) string { return fmt.Sprintf("in %.1f s", time.Since(since).Seconds()) }

// patience is how much longer than asked for the play goes on where something has not happened yet. On a machine that is
// busy with other things, seconds mean little.
const patience = 30 * time.Second

// play lets everybody play for the length of the demo, with all that happens on the way, and then judges.
func (d *demo) play(ctx context.Context, players *players) ([]proof, error) {
	journal := &journal{begun: time.Now(), heard: d.screen.note}
	chaos := &chaos{cluster: d.cluster, players: players, journal: journal}
	watcher := &watcher{
		cluster: d.cluster, players: players, chaos: chaos, journal: journal, screen: d.screen, feed: newFeed(d.cluster.db),
	}
	timed, cancel := context.WithTimeout(ctx, d.options.length+patience)
	defer cancel()
	watcher.end = cancel
	group, stage := errgroup.WithContext(timed) // A failure of one ends the play for all.
	group.Go(func() error { players.Run(stage); return nil })
	group.Go(func() error { return watcher.run(stage) })
	group.Go(func() error { return chaos.run(stage, d.options.length) })
	for _, r := range d.cluster.replicas {
		group.Go(func() error { r.watch(stage); return nil })
	}
	err := group.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	judge := judge{
		options: d.options, ledger: ledger{d.cluster.db}, players: players, tally: watcher.tally, deeds: chaos.done(),
	}
	return judge.proofs(ctx)
}

// curtain says how it went, and leaves what is needed to find out why it did not go well.
func (d *demo) curtain(ctx context.Context, proofs []proof, err error) (code int) {
	if ctx.Err() != nil {
		d.dir.remove()
		fmt.Fprintln(d.out, "\nInterrupted; everything has been stopped and removed.")
		return exitInterrupted
	}
	if err != nil {
		fmt.Fprintf(d.out, "\n%s %v\n", d.paint.in(red, "The demo could not go on:"), err)
	} else if d.summary(proofs) {
		d.dir.remove()
		return exitKept
	}
	if d.dir != "" {
		fmt.Fprintf(d.out, "What every process said is in %s\n", d.dir.logs())
	}
	return exitBroken
}

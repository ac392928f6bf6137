package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "guards:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	only := flag.String("only", "", "try only guards whose name contains this text")
	flag.Parse()
	// From the root of the repository, where make runs it.
	guards, err := readGuards("test/guards/guards.yaml")
	if err != nil {
		return err
	}
	guards = slices.DeleteFunc(guards, func(g Guard) bool { return !strings.Contains(g.Name, *only) })
	if len(guards) == 0 {
		return fmt.Errorf("no guard's name contains %q", *only)
	}
	return tryAll(ctx, out, guards)
}

// tryAll removes one guard after the other, and prints what noticed it. Errors: a guard that no test notices.
func tryAll(ctx context.Context, out io.Writer, guards []Guard) error {
	checked, unnoticed := map[string]bool{}, 0
	for _, g := range guards {
		// Once for each package: a test that fails anyhow would notice every guard.
		if !checked[g.Package] {
			checked[g.Package] = true
			if err := checkTests(ctx, ".", g.Package, guards); err != nil {
				return err
			}
		}
		started := time.Now()
		failed, err := g.runWithout(ctx, ".")
		if err != nil {
			return fmt.Errorf("%s: %w", g.Name, err)
		}
		if len(failed) == 0 {
			// The others are tried as well: one run names all that no test notices.
			unnoticed++
			_, _ = fmt.Fprintf(out, "NOT NOTICED  %s (%s)\n", g.Name, g.File)
			continue
		}
		_, _ = fmt.Fprintf(out, "noticed      %s: %s, %d s\n", g.Name, strings.Join(failed, ", "),
			int(time.Since(started).Seconds()))
	}
	if unnoticed > 0 {
		return fmt.Errorf("%d of %d guards have no test that notices when they are gone", unnoticed, len(guards))
	}
	_, _ = fmt.Fprintf(out, "%d guards removed, each noticed by a test\n", len(guards))
	return nil
}

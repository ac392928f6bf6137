// Command demo shows the whole system at work on one machine, and proves that it does what it promises: a private
// Postgres, two replicas of the director, a worker, six game servers and sixty players. On the way it kills a game
// server and a replica without warning, lets an operator drain a server in SQL, and plays a thief who shows stolen
// tokens. It ends with what can be proved about all that; its exit code is 1 when a proof fails.
//
// demo.go is the plot. cluster.go starts the processes and bots.go the players; witness.go notes what the players are
// told. chaos.go is what goes wrong, and when. watch.go reads the ops views four times a second and tells screen.go.
// proofs.go judges in the end, by what ledger.go finds in the database. The game itself is examples/arena.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once, and the kernel its children
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

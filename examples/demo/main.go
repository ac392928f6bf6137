// Command demo shows the whole system at work on one machine, and proves that it keeps its promises: a private Postgres, two
// replicas of the director, a worker, six game servers and sixty bots. It kills a game server and a replica with kill -9,
// drains a server in SQL as an operator does, and shows stolen tokens to game servers. It ends with proofs; its exit code is 1
// when one fails.
//
// demo.go is the main program. cluster.go starts the processes and bots.go the players; answers.go records the answers that
// players get. chaos.go injects the faults. watch.go reads the ops views four times a second and updates screen.go. proofs.go
// makes the proofs from what ledger.go finds in the database. The game itself is examples/arena.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once; the kernel then kills its children
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

package faults

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// makeFaults makes one fault after the other; different kinds overlap.
func (s *soak) makeFaults(ctx context.Context) {
	faults := []struct {
		name string
		odds int // the fault is made in one of so many turns
		make func(ctx context.Context)
	}{
		{"kill a replica", 1, s.killReplica}, {"freeze a replica", 1, s.freezeReplica}, {"cut a replica off", 1, s.cutReplica},
		{"kill a worker", 1, s.killWorker}, {"freeze a worker", 1, s.freezeWorker}, {"crash Postgres", 5, s.crashPostgres},
		{"end connections", 2, s.endConnections}, {"abort calls", 1, s.abortCalls}, {"send bodies slowly", 1, s.sendBodiesSlowly},
		{"leave a writing transaction open", 1, s.leaveTransactionOpenForAWhile},
	}
	var under sync.WaitGroup
	defer under.Wait()
	busy := make([]sync.Mutex, len(faults)) // a kind of fault never overlaps with itself
	for ctx.Err() == nil {
		pause(ctx, time.Duration(500+rand.IntN(3000))*time.Millisecond)
		n := rand.IntN(len(faults))
		if ctx.Err() != nil || rand.IntN(faults[n].odds) > 0 || !busy[n].TryLock() {
			continue
		}
		s.faults[faults[n].name]++
		under.Go(func() {
			defer busy[n].Unlock()
			faults[n].make(ctx)
		})
	}
}

func moments() time.Duration { return time.Duration(500+rand.IntN(5000)) * time.Millisecond }

// Each kind of fault has a replica of its own: a frozen replica is not killed.
func (s *soak) killReplica(ctx context.Context) {
	s.replicas[0].Kill()
	pause(ctx, 300*time.Millisecond)
	s.replicas[0] = s.launch(0)
}

func (s *soak) freezeReplica(ctx context.Context) { freeze(ctx, s.replicas[1]) }

func freeze(ctx context.Context, p *process) {
	_ = p.Signal(syscall.SIGSTOP)
	pause(ctx, moments())
	_ = p.Signal(syscall.SIGCONT)
}

func (s *soak) cutReplica(ctx context.Context) {
	s.proxies[2].Pause()
	pause(ctx, moments())
	s.proxies[2].Resume()
}

func (s *soak) killWorker(ctx context.Context) {
	s.workers[0].Kill()
	pause(ctx, time.Second)
	s.workers[0] = s.rig.Start("work")
}

func (s *soak) freezeWorker(ctx context.Context) { freeze(ctx, s.workers[1]) }

func (s *soak) crashPostgres(ctx context.Context) {
	if err := s.Cluster.StopImmediate(); err != nil {
		s.T.Errorf("stop Postgres: %v", err)
	}
	if err := s.Cluster.Start(context.WithoutCancel(ctx)); err != nil {
		s.T.Errorf("start Postgres: %v", err)
	}
}

func (s *soak) endConnections(context.Context) {
	_, _ = s.Pool.Exec(context.Background(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE application_name LIKE 'director%' AND random() < 0.3`)
}

func (s *soak) abortCalls(context.Context) {
	abort(s.T, s.replicas[2], 320, "GET /readyz HTTP/1.1\r\nHost: director\r\n\r\n")
}

// sendBodiesSlowly keeps connections busy with bodies that do not end.
func (s *soak) sendBodiesSlowly(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	var callers sync.WaitGroup
	for n := range 128 {
		callers.Go(func() {
			conn, err := net.Dial("tcp", s.addrs[2])
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			_, _ = fmt.Fprintf(conn, "POST /matchmake HTTP/1.1\r\nHost: d\r\nContent-Type: application/json\r\nContent-Length: 60\r\nAuthorization: Bearer %s\r\n\r\n{",
				s.AccessToken(fmt.Sprintf("slow-%d", n)))
			go func() { _, _ = bufio.NewReader(conn).ReadString(0) }()
			for ctx.Err() == nil {
				pause(ctx, 100*time.Millisecond)
				if _, err := conn.Write([]byte(" ")); err != nil {
					return
				}
			}
		})
	}
	callers.Wait()
}

func (s *soak) leaveTransactionOpenForAWhile(ctx context.Context) {
	conn, err := pgx.Connect(ctx, s.Cluster.URL("template1"))
	if err != nil {
		return
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if tx, err := conn.Begin(ctx); err == nil {
		_, _ = tx.Exec(ctx, "SELECT pg_current_xact_id()")
		pause(ctx, 3*moments())
	}
}

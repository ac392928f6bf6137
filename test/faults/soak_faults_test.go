package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/test/rigtest"
)

// faultKind is a kind of fault.
type faultKind struct {
	name string
	odds int // it is made in one of so many turns that draw it
	make func(ctx context.Context)
}

// faultKinds returns all kinds. Kinds that stop a process have one of their own: a frozen replica is not killed.
func (s *soak) faultKinds() []faultKind {
	return []faultKind{
		{"kill a replica", 1, func(ctx context.Context) {
			s.replicas[0].Process.Kill()
			pause(ctx, 300*time.Millisecond)
			s.replicas[0] = s.launch(0)
		}},
		{"freeze a replica", 1, func(ctx context.Context) { freeze(ctx, s.replicas[1]) }},
		{"cut a replica off", 1, func(ctx context.Context) {
			s.proxies[2].Pause()
			pause(ctx, randomPause())
			s.proxies[2].Resume()
		}},
		{"kill a worker", 1, func(ctx context.Context) {
			s.workers[0].Process.Kill()
			pause(ctx, time.Second)
			s.workers[0] = s.rig.StartProcess("work")
		}},
		{"freeze a worker", 1, func(ctx context.Context) { freeze(ctx, s.workers[1]) }},
		{"crash Postgres", 5, func(ctx context.Context) {
			if err := errors.Join(s.Cluster.StopImmediate(), s.Cluster.Start(context.WithoutCancel(ctx))); err != nil {
				s.T.Errorf("restart Postgres: %v", err)
			}
		}},
		{"end connections", 2, func(context.Context) {
			_, _ = s.SQLPool.Exec(context.Background(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE application_name LIKE 'director%' AND random() < 0.3`)
		}},
		{"abort calls", 1, func(context.Context) {
			abort(s.T, s.replicas[2], 320, "GET /readyz HTTP/1.1\r\nHost: director\r\n\r\n")
		}},
		{"send bodies slowly", 1, s.sendBodiesSlowly}, {"send half requests", 1, s.sendHalfRequests},
		{"leave a writing transaction open", 1, s.leaveTransactionOpenForAWhile},
		{"send text that Postgres cannot store", 1, s.sendOddText}, {"drain a server", 1, s.drainServer},
	}
}

// makeFaults makes one fault after the other; different kinds overlap.
func (s *soak) makeFaults(ctx context.Context) {
	kinds := s.faultKinds()
	var underWay sync.WaitGroup
	defer underWay.Wait()
	busy := make([]sync.Mutex, len(kinds)) // a kind of fault never overlaps with itself
	for ctx.Err() == nil {
		pause(ctx, time.Duration(500+rand.IntN(3000))*time.Millisecond)
		n := rand.IntN(len(kinds))
		if ctx.Err() != nil || rand.IntN(kinds[n].odds) > 0 || !busy[n].TryLock() {
			continue
		}
		s.faults[kinds[n].name]++
		underWay.Go(func() {
			defer busy[n].Unlock()
			kinds[n].make(ctx)
		})
	}
}

// randomPause returns 0.5 to 5.5 s.
func randomPause() time.Duration { return time.Duration(500+rand.IntN(5000)) * time.Millisecond }

// freeze stops a process for a random pause.
func freeze(ctx context.Context, p *process) {
	_ = p.Process.Signal(syscall.SIGSTOP)
	pause(ctx, randomPause())
	_ = p.Process.Signal(syscall.SIGCONT)
}

// sendBodiesSlowly keeps connections busy with bodies that do not end.
func (s *soak) sendBodiesSlowly(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	rigtest.Each(128, 128, func(n int) {
		conn, err := net.Dial("tcp", s.addrs[2])
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, err = fmt.Fprintf(conn, "POST /matchmake HTTP/1.1\r\nHost: d\r\nContent-Type: application/json\r\nContent-Length: 60\r\nAuthorization: Bearer %s\r\n\r\n{",
			s.PlayerLogin.AccessToken(fmt.Sprintf("slow-%d", n)))
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		for err == nil && ctx.Err() == nil {
			pause(ctx, 100*time.Millisecond)
			_, err = conn.Write([]byte(" "))
		}
	})
}

// sendHalfRequests leaves connections to the replica whose requests never end: they end within a header, within the
// body of a call that changes something, and within the body of one that waits.
func (s *soak) sendHalfRequests(ctx context.Context) {
	authorization := "Authorization: Bearer " + s.PlayerLogin.AccessToken("half") + "\r\n"
	requests := []string{
		"GET /tickets/x HTTP/1.1\r\nHost: d\r\nAuthoriz",
		"POST /tickets HTTP/1.1\r\nHost: d\r\n" + authorization +
			"Content-Type: application/json\r\nContent-Length: 60\r\n\r\n{",
		"GET /tickets/x?wait=20s HTTP/1.1\r\nHost: d\r\n" + authorization + "Content-Length: 60\r\n\r\n{",
		"GET /tickets/x/events HTTP/1.1\r\nHost: d\r\n" + authorization + "Transfer-Encoding: chunked\r\n\r\n1\r\n",
	}
	var halves []net.Conn
	for n := range 32 * len(requests) {
		if conn, err := net.Dial("tcp", s.addrs[2]); err == nil {
			halves = append(halves, conn)
			_, _ = conn.Write([]byte(requests[n%len(requests)]))
		}
	}
	pause(ctx, randomPause())
	for _, conn := range halves {
		_ = conn.Close()
	}
}

// sendOddText sends text that Postgres cannot store in paths, queries and bodies: it is refused, or the replica is not
// ready.
func (s *soak) sendOddText(ctx context.Context) {
	for _, path := range []string{"/tickets/%00", "/tickets/%ff", "/fleet/sessions?region=%00", "/matchmake"} {
		status, answer, err := s.CallJSON(ctx, http.MethodPost, "http://"+s.addrs[2]+path, s.HeaderOf("odd"),
			fields{"region": "\x00", "mode": "m"})
		if status >= 500 && status != http.StatusServiceUnavailable { // 0: the replica is cut off
			s.T.Errorf("%s answered %d: %v %v", path, status, answer, err)
		}
	}
}

// drainServer takes a server out of placement for a while, in which it may restart. No session is opened on it
// meanwhile.
func (s *soak) drainServer(ctx context.Context) {
	var id string
	err := s.query(ctx, "SELECT coalesce((SELECT id FROM instances WHERE status = 'ready' ORDER BY random() LIMIT 1), '')", &id)
	if err != nil || id == "" {
		return
	}
	if err := s.query(ctx, "SELECT ops.drain($1)", new(bool), id); err != nil {
		return
	}
	// Read after the drain, so that a session that was opened before it is not counted.
	var drainedAt time.Time
	if err := s.query(ctx, "SELECT clock_timestamp()", &drainedAt); err != nil {
		return
	}
	pause(ctx, 2*randomPause())
	var opened int
	err = s.query(ctx, "SELECT count(*)::int FROM sessions WHERE instance_id = $1 AND opened_at > $2", &opened, id,
		drainedAt)
	if err == nil && opened > 0 {
		s.T.Errorf("%d sessions were opened on %s, which is drained since %s", opened, id, drainedAt)
	}
	_ = s.query(context.WithoutCancel(ctx), "SELECT ops.undrain($1)", new(bool), id)
}

// leaveTransactionOpenForAWhile leaves a transaction open that has written, in another database of the cluster.
func (s *soak) leaveTransactionOpenForAWhile(ctx context.Context) {
	conn, err := pgx.Connect(ctx, s.Cluster.URL("template1"))
	if err != nil {
		return
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if tx, err := conn.Begin(ctx); err == nil {
		_, _ = tx.Exec(ctx, "SELECT pg_current_xact_id()")
		pause(ctx, 3*randomPause())
	}
}

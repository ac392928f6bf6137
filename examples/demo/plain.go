package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// progressEvery is how often a line of progress is written where nothing can be redrawn.
const progressEvery = 3 * time.Second

// plain writes lines, for logs and pipes.
type plain struct {
	out io.Writer

	mu   sync.Mutex
	next time.Duration
}

func (p *plain) note(e event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.out, paint(false).event(e))
}

func (p *plain) show(v view) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v.elapsed < p.next {
		return
	}
	p.next = v.elapsed.Truncate(progressEvery) + progressEvery
	alive := 0
	for _, s := range v.sample.servers {
		if s.Alive {
			alive++
		}
	}
	var replicas []string
	for _, r := range v.replicas {
		word, _ := r.word()
		replicas = append(replicas, word)
	}
	fmt.Fprintf(p.out, "%s  playing %d of %d, %d servers, replicas %s, %d matches, %.1f seats/s, %d rejoins\n",
		clock(v.elapsed), v.playing, v.bots, alive, strings.Join(replicas, " and "), v.sample.matches, v.rate, v.rejoins)
}

package delivery

import (
	"fmt"
	"slices"
	"time"

	"github.com/lattice-director/director/lobby"
)

// line is one session in one room: a room that changes, a sender that keeps to its follower, two wires, and a client.
// Time passes only by wait.
type line struct {
	now    time.Time
	states []lobby.State // by seq - 1

	policy snapshotPolicy
	sent   int64   // seq of what was sent last
	held   []int64 // patches at the gate
	due    bool    // a snapshot is to go out
	broken bool    // a patch was dropped: no patch may go out before a snapshot

	down   []pushed
	up     []said
	client modelClient

	forced  []time.Time // when snapshots were sent that the client forced
	pending bool        // the due snapshot is one of them
}

// pushed is a snapshot or a patch.
type pushed struct {
	snapshot bool
	seq      int64
	checksum string
}

// said is an ack or a resync of the client.
type said struct {
	resync   bool
	seq      int64
	checksum string
}

// modelClient is the SDK, as it behaves in a locale; or a script that says nothing.
type modelClient struct {
	silent  bool
	wrong   func(lobby.ChecksumKind) bool // of which states it computes another checksum than the director
	seq     int64
	resyncs int
}

func newLine(client modelClient, kind lobby.ChecksumKind) *line {
	l := &line{now: time.Unix(1_000_000, 0), client: client}
	l.states = []lobby.State{stateOf(1, kind)}
	l.due = true
	l.work()
	return l
}

// stateOf returns a state that is unlike those of other seqs.
func stateOf(seq int64, kind lobby.ChecksumKind) lobby.State {
	value := fmt.Appendf(nil, "%d", seq)
	switch kind {
	case lobby.ChecksumSafe:
		return lobby.State{"counter": value}
	case lobby.ChecksumLocal:
		return lobby.State{"aa": value, "z": value}
	case lobby.ChecksumNone:
	}
	return lobby.State{"é": value, "z": value}
}

func (l *line) state(seq int64) lobby.State { return l.states[seq-1] }
func (l *line) seq() int64                  { return int64(len(l.states)) }

// change gives the room another state.
func (l *line) change(kind lobby.ChecksumKind) {
	l.states = append(l.states, stateOf(l.seq()+1, kind))
	if !l.broken {
		l.held = append(l.held, l.seq())
	}
	l.work()
}

// work sends what the follower allows.
func (l *line) work() {
	if len(l.held) > maxHeld {
		l.held, l.due, l.broken = nil, true, true
	}
	open, opens := l.policy.isOpen(l.now)
	if l.due && !opens.After(l.now) {
		l.show()
		return
	}
	for ; open && !l.due && len(l.held) > 0; l.held = l.held[1:] {
		l.sent = l.held[0]
		l.down = append(l.down, pushed{seq: l.sent})
	}
}

func (l *line) show() {
	sum, kind := l.state(l.seq()).Checksum()
	if !l.policy.noteSnapshot(l.now, l.seq(), kind) {
		sum = ""
	}
	if l.pending {
		l.forced = append(l.forced, l.now)
	}
	l.down = append(l.down, pushed{snapshot: true, seq: l.seq(), checksum: sum})
	l.sent, l.held, l.due, l.broken, l.pending = l.seq(), nil, false, false, false
}

// overflow drops the patches that wait in the outbox.
func (l *line) overflow() {
	l.down = slices.DeleteFunc(l.down, func(p pushed) bool { return !p.snapshot })
	l.held, l.due, l.broken = nil, true, true
	l.work()
}

func (l *line) wait(d time.Duration) {
	l.now = l.now.Add(d)
	l.work()
}

// hear has the sender take the oldest message of the client.
func (l *line) hear() {
	if len(l.up) == 0 {
		return
	}
	m := l.up[0]
	l.up = l.up[1:]
	if m.resync {
		l.policy.noteResync()
		l.due, l.pending = true, true
	} else if l.policy.takeAck(l.now, float64(m.seq), m.checksum, l.sent, l.state(l.sent).Checksum) {
		l.due, l.pending = true, true
	}
	l.work()
}

// deliver has the client take the message at a place in the wire. Browsers may take the second before the first.
func (l *line) deliver(place int) {
	if place >= len(l.down) {
		return
	}
	p := l.down[place]
	l.down = slices.Delete(l.down, place, place+1)
	if p.snapshot {
		l.client.snapshot(l, p)
	} else {
		l.client.patch(l, p)
	}
}

func (c *modelClient) snapshot(l *line, p pushed) {
	sum, kind := l.state(p.seq).Checksum()
	if c.wrong != nil && c.wrong(kind) {
		sum = "another"
	}
	switch {
	case c.silent:
		c.seq = p.seq
	case p.checksum != "" && p.checksum != sum:
		c.resync(l)
	default:
		c.seq = p.seq
		l.up = append(l.up, said{seq: p.seq, checksum: sum})
	}
}

func (c *modelClient) patch(l *line, p pushed) {
	switch {
	case p.seq <= c.seq:
	case p.seq == c.seq+1:
		c.seq = p.seq
		if !c.silent {
			l.up = append(l.up, said{seq: p.seq})
		}
	case !c.silent:
		c.resync(l)
	}
}

func (c *modelClient) resync(l *line) {
	c.resyncs++
	l.up = append(l.up, said{resync: true, seq: c.seq})
}

// settle delivers everything both ways, until nothing happens any more.
func (l *line) settle() {
	for quiet := time.Duration(0); quiet < 2*forcedWindow; {
		if len(l.down)+len(l.up) > 0 {
			quiet = 0
		}
		l.exchange()
		const step = 100 * time.Millisecond
		l.wait(step)
		quiet += step
	}
}

// exchange delivers what is on its way, and then what the client says to it.
func (l *line) exchange() {
	for len(l.down) > 0 {
		l.deliver(0)
	}
	for len(l.up) > 0 {
		l.hear()
	}
}

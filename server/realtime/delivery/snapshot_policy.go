package delivery

import (
	"time"

	"github.com/lattice-director/director/lobby"
)

// Limits of snapshotPolicy.
const (
	// maxHeld is how many patches are held after a snapshot. If there are more, they are dropped, and once the gate
	// opens a snapshot follows.
	maxHeld = 64
	// maxGate is how long patches wait for the ack of a snapshot. Not every client acks.
	maxGate = 2 * time.Second

	// A client may force maxForced snapshots in forcedWindow, then one in each forcedPause.
	maxForced    = 5
	forcedWindow = 10 * time.Second
	forcedPause  = 2 * time.Second
)

// snapshotPolicy decides what one session gets of the state of one room, and when. The clients of Nexis ask for a
// snapshot after each gap in the sequence of patches and after each checksum that differs from theirs, at once and
// without end; and may apply a snapshot and the patch right after it in the wrong order.
//
// The caller sends only what the policy allows: first a snapshot, then patches while the gate is open, and another
// snapshot once one is due. The caller drops the patches that a snapshot covers. The zero value is closed. Times come
// from the caller and never go back. Not safe for concurrent use.
type snapshotPolicy struct {
	seq      int64     // of the last snapshot; 0: none was sent
	opensAt  time.Time // when patches may follow it without an ack
	ackedSeq float64   // the last seq of an ack

	isUnsure         bool // the last snapshot had a checksum of ChecksumLocal, and the client has not reacted yet
	hasForeignLocale bool // its locale orders keys in another way: no more such checksums

	owesSnapshot bool                 // the client forces a snapshot
	forcedAt     [maxForced]time.Time // when the last forced snapshots were sent, the oldest first
}

// noteSnapshot reports whether a snapshot that goes out now carries its checksum. It closes the gate.
func (p *snapshotPolicy) noteSnapshot(now time.Time, seq int64, kind lobby.ChecksumKind) (checksum bool) {
	checksum = p.usesChecksum(now, kind)
	if p.owesSnapshot {
		copy(p.forcedAt[:], p.forcedAt[1:])
		p.forcedAt[maxForced-1] = now
		p.owesSnapshot = false
	}
	neverAcks := p.seq > 0 && p.ackedSeq == 0 && !now.Before(p.opensAt)
	p.seq, p.opensAt = seq, now.Add(maxGate)
	if neverAcks {
		p.opensAt = now // otherwise the client would get nothing but snapshots of a room that changes often
	}
	p.isUnsure = checksum && kind == lobby.ChecksumLocal
	return checksum
}

// isOpen reports whether patches may go out. If not, they may at opens, unless a snapshot is due then: see dueIn. It
// is zero before the first snapshot.
func (p *snapshotPolicy) isOpen(now time.Time) (open bool, opens time.Time) {
	// A patch that the client gets before the snapshot would make it ask for one more.
	if p.owesSnapshot {
		return false, now.Add(p.dueIn(now))
	}
	return p.seq > 0 && !now.Before(p.opensAt), p.opensAt
}

// takeAck notes that the client has applied seq and computed a checksum, which is empty if it did not. sentSeq is the
// seq of what was sent last, and sum returns the checksum of that state. It reports whether the client has to get a
// snapshot.
func (p *snapshotPolicy) takeAck(now time.Time, seq float64, checksum string, sentSeq int64,
	sum func() (string, lobby.ChecksumKind)) (snapshotDue bool) {
	if seq >= float64(p.seq) {
		// The ack opens the gate before its time.
		p.opensAt = earlierTime(p.opensAt, now)
		p.isUnsure = false
	}
	// A seq that was never sent, one that goes back, or another state: the client has another state than it was sent.
	snapshotDue = seq > float64(sentSeq) || seq < p.ackedSeq ||
		(seq == float64(sentSeq) && checksum != "" && p.checksumDiffers(now, checksum, sum))
	p.ackedSeq = seq
	p.owesSnapshot = p.owesSnapshot || snapshotDue
	return snapshotDue
}

// noteResync notes that the client asks for a snapshot. If it does so instead of an ack of the last one, it has found
// the checksum wrong.
func (p *snapshotPolicy) noteResync() {
	p.hasForeignLocale = p.hasForeignLocale || p.isUnsure
	p.isUnsure = false
	p.owesSnapshot = true
}

// dueIn returns how long a forced snapshot has to wait.
func (p *snapshotPolicy) dueIn(now time.Time) time.Duration {
	if !p.isStorm(now) {
		return 0
	}
	return max(0, p.forcedAt[maxForced-1].Add(forcedPause).Sub(now))
}

// isStorm reports whether the client forces too many snapshots.
func (p *snapshotPolicy) isStorm(now time.Time) bool {
	return !p.forcedAt[0].IsZero() && now.Before(p.forcedAt[0].Add(forcedWindow))
}

// usesChecksum reports whether a checksum of that kind is sent and compared.
func (p *snapshotPolicy) usesChecksum(now time.Time, kind lobby.ChecksumKind) bool {
	switch {
	// Whatever is wrong with this client, checksums do not mend it, and each costs another snapshot.
	case p.isStorm(now):
		return false
	// The client orders keys as its locale does. Where that is not ours, every checksum would force a snapshot.
	case kind == lobby.ChecksumLocal:
		return !p.hasForeignLocale
	}
	return kind == lobby.ChecksumSafe
}

func (p *snapshotPolicy) checksumDiffers(now time.Time, checksum string, sum func() (string, lobby.ChecksumKind)) bool {
	ours, kind := sum()
	return p.usesChecksum(now, kind) && checksum != ours
}

func earlierTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

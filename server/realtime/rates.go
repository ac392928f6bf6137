package realtime

import "time"

// What a player may send to a replica. Acks are counted apart: one comes for each patch.
const (
	framesPerSecond = 100
	framesBurst     = 1_000
	acksPerSecond   = 2_000
	acksBurst       = 20_000

	// A connection is closed if its player is above the rate for so long, or by so many frames.
	maxRefusedFor = 10 * time.Second
	maxRefused    = 10_000
	// refusedPause ends a series of refused frames.
	refusedPause = 2 * time.Second
)

// bucket is a token bucket. The zero value is full.
type bucket struct {
	usedTokens float64
	takenAt    time.Time
}

// takeToken takes a token, if there is one.
func (b *bucket) takeToken(now time.Time, perSecond, burst float64) bool {
	b.usedTokens = max(0, b.usedTokens-now.Sub(b.takenAt).Seconds()*perSecond)
	b.takenAt = now
	// Nothing is taken: a client that keeps sending above the rate still gets its tokens back.
	if b.usedTokens+1 > burst {
		return false
	}
	b.usedTokens++
	return true
}

// rates judges the frames of one player. Not safe for concurrent use.
type rates struct {
	frameBucket, ackBucket bucket

	refusedFrames            int       // frames of the current series
	seriesBegan, lastRefusal time.Time // its first and its last frame
}

// verdict is what happens to a frame.
type verdict int

const (
	frameAllowed verdict = iota
	frameRefused
	frameFatal // the connection is closed
)

// judgeFrame counts a frame, and decides what happens to it.
func (r *rates) judgeFrame(now time.Time, isAck bool) verdict {
	var allowed bool
	if isAck {
		allowed = r.ackBucket.takeToken(now, acksPerSecond, acksBurst)
	} else {
		allowed = r.frameBucket.takeToken(now, framesPerSecond, framesBurst)
	}
	if allowed {
		return frameAllowed
	}
	// A connection is closed for one long series: a client that bursts now and then only loses frames.
	if r.refusedFrames == 0 || now.Sub(r.lastRefusal) > refusedPause {
		r.refusedFrames, r.seriesBegan = 0, now
	}
	r.refusedFrames, r.lastRefusal = r.refusedFrames+1, now
	if r.refusedFrames > maxRefused || now.Sub(r.seriesBegan) >= maxRefusedFor {
		return frameFatal
	}
	return frameRefused
}

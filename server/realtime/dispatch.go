package realtime

import (
	"context"
	"errors"
	"time"

	"github.com/lattice-director/director/server/realtime/wire"
)

const maxGarbage = 20 // frames in a row that cannot be decoded, until the connection is closed

// receiveFrame handles a frame. It blocks while too many actions are under way, or too many answers wait to be written.
func (c *conn) receiveFrame(frame []byte) {
	// Before the frame is decoded: while the client does not read, TCP stops it here, and no more than this
	// frame is held in memory.
	c.waitForSpace()
	e, err := c.codec.Decode(frame)
	refused := c.refuseExcess(e, err)
	if refused {
		return
	}
	if err != nil {
		c.answerGarbage(err)
		return
	}
	c.garbageFrames = 0
	// No action: one comes for each patch, and there is nothing to wait for.
	if e.Type == "state.ack" {
		c.receiveAck(e)
		return
	}
	begin, known := c.server.rpcs[e.Type]
	if !known {
		c.answerFailure(e, wire.FailUnknownType)
		return
	}
	c.beginAction(e, begin)
}

// refuseExcess counts a frame, and answers one that is above the rate of its player, or closes the connection.
func (c *conn) refuseExcess(e wire.Envelope, err error) (refused bool) {
	if broken, is := errors.AsType[*wire.FrameError](err); is {
		// A frame that cannot be decoded has its answer, too, if its rid can be read.
		e.RID = broken.RID
	}
	switch c.frameRates.judgeFrame(time.Now(), err == nil && e.Type == "state.ack") {
	case frameAllowed:
		return false
	// With a close code instead of an answer: the client has ignored those so far.
	case frameFatal:
		c.Close(closeRateLimits, reasonRates)
	default:
		c.answerFailure(e, wire.FailRateLimited)
	}
	return true
}

// answerGarbage answers a frame that cannot be decoded, and closes the connection after many in a row.
func (c *conn) answerGarbage(err error) {
	var broken *wire.FrameError
	// A frame that was understood, but is too large or of another version, is an error of the program and no garbage.
	if !errors.As(err, &broken) || broken.Code == wire.CodeBadFrame {
		c.garbageFrames++
	}
	e := wire.Envelope{}
	if broken != nil {
		e.RID = broken.RID
	}
	c.answerFailure(e, err)
	// A client that speaks another protocol would never stop.
	if c.garbageFrames >= maxGarbage {
		c.Close(closeBadRequest, reasonGarbage)
	}
}

// beginAction begins an action, and answers it when it ends.
func (c *conn) beginAction(e wire.Envelope, begin rpc) {
	c.takeSlot()
	// Not bound to the connection: an action that has begun is completed although the client has gone, as it would be
	// if its answer were lost on the way.
	ctx, cancel := context.WithTimeout(context.Background(), c.server.options.timing.callTimeout)
	var finish func() (rpcAnswer, error)
	// begin runs in the goroutine that reads, which keeps the order of frames; only the wait for its end has a
	// goroutine.
	err := c.server.guard.Do("realtime action", func() (err error) {
		finish, err = begin(ctx, c, e)
		return err
	})
	// Refused at once, or without anything to wait for: no goroutine is needed, and the answer keeps its place.
	if err != nil || finish == nil {
		cancel()
		<-c.actionSlots
		c.answerFrame(e, rpcAnswer{}, err)
		return
	}
	c.running.Go(func() {
		defer func() { <-c.actionSlots }()
		defer cancel()
		var a rpcAnswer
		err := c.server.guard.Do("realtime action", func() (err error) {
			a, err = finish()
			return err
		})
		c.answerFrame(e, a, err)
	})
}

// takeSlot waits until fewer than maxActions are under way.
func (c *conn) takeSlot() {
	select {
	case c.actionSlots <- struct{}{}:
		return
	default:
	}
	// While the reader waits here, pongs are not read: the client must not count as silent.
	c.setPaused(true)
	c.actionSlots <- struct{}{}
	c.setPaused(false)
}

// setPaused notes whether reading waits: a client cannot answer pings meanwhile.
func (c *conn) setPaused(paused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isPaused = paused
}

// waitForSpace waits until the client has read enough of its answers: one that sends faster than it reads fills its own
// outbox otherwise. The time limit of writes bounds it.
func (c *conn) waitForSpace() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.outbox.isHalfFree() && !c.isClosing {
		c.isPaused = true
		c.spaceFreed.Wait()
	}
	c.isPaused = false
}

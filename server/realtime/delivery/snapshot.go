package delivery

import (
	"maps"
	"strings"

	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/wire"
)

// stateFrames is a state of a room, which does not change, with its checksum and its frames, each made when first used.
// Not safe for concurrent use.
type stateFrames struct {
	room  string
	seq   int64
	state lobby.State

	isSummed     bool
	checksumText string
	checksumKind lobby.ChecksumKind
	frames       [2]*wire.SharedFrame // without and with checksum
}

func newStateFrames(room string, seq int64, state lobby.State) *stateFrames {
	return &stateFrames{room: room, seq: seq, state: state}
}

// stateAfter returns the state after a row with a patch.
func (s *stateFrames) stateAfter(o rowOffer) *stateFrames {
	// An answer may carry the room after later actions of the same transaction.
	if o.snapshot != nil && o.snapshot.LogPosition == o.row.LogPos {
		return newStateFrames(s.room, o.snapshot.StateSeq, o.snapshot.State)
	}
	return newStateFrames(s.room, o.row.StateSeq, patchState(s.state, o.row.Patch))
}

// patchState returns a copy of a state with changes.
func patchState(s lobby.State, ops []lobby.Op) lobby.State {
	next := maps.Clone(s)
	for _, op := range ops {
		key := unescapeKey.Replace(strings.TrimPrefix(op.Path, "/"))
		if op.Op == "del" {
			delete(next, key)
		} else {
			next[key] = op.Value
		}
	}
	return next
}

var unescapeKey = strings.NewReplacer("~1", "/", "~0", "~")

// checksum returns the checksum of the state. It is made when it is first asked for: most states are replaced before.
func (s *stateFrames) checksum() (string, lobby.ChecksumKind) {
	if !s.isSummed {
		s.checksumText, s.checksumKind = s.state.Checksum()
		s.isSummed = true
	}
	return s.checksumText, s.checksumKind
}

// snapshotFrame returns the frame of the state, which all members share that get it with or without its checksum.
func (s *stateFrames) snapshotFrame(withChecksum bool) *wire.SharedFrame {
	i, sum := 0, ""
	if withChecksum {
		i = 1
		sum, _ = s.checksum()
	}
	if s.frames[i] == nil {
		s.frames[i] = wire.NewSharedFrame(snapshotMessage(s.room, s.seq, s.state.JSON(), sum))
	}
	return s.frames[i]
}

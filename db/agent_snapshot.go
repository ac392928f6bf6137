package db

import "time"

// staleMisses is the number of unanswered polls in a row that make an agent stale.
const staleMisses = 2

// applySnapshot applies the changes since the last applied reply of an agent.
func (t *agentTx) applySnapshot(a *agentRow, s AgentSnapshot) {
	if a.joinedElsewhere {
		return // it must join again, with its whole content
	}
	// Before replied, which resets the misses that recovers looks at.
	t.recovers(a)
	t.replied(a, s.ReplyAge, s.StateHash, s.ReplySeq)
	if s.Content != nil {
		t.setContent(a, *s.Content)
	}
	for _, raw := range s.RemovedRawIDs {
		if r := t.roomsByKey[roomKey{a.ref.ID, roomBase(raw)}]; r != nil && r.state == roomReported {
			t.removeRoom(a, r, true)
		}
	}
	t.showRooms(a, s.ChangedRooms, true)
	t.judgeRooms(a, s.ReplyAge)
}

// replied records that the agent answered a poll. The hash and the sequence number are written only together with other
// changes, so a reply with equal content writes nothing.
func (t *agentTx) replied(a *agentRow, age time.Duration, hash string, seq int64) {
	t.noteReport(a, age)
	a.hasNewState = a.hasNewState || a.missedPolls != 0 || a.statusOverride != ""
	a.missedPolls, a.statusOverride, a.stateHash, a.replySeq = 0, "", hash, seq
}

// noteReport records that the agent's last reply was received the given age ago.
func (t *agentTx) noteReport(a *agentRow, age time.Duration) {
	a.silentSeconds = max(0, age.Seconds())
	a.lastSync = t.latestJoin.Add(-age)
}

func (t *agentTx) recovers(a *agentRow) {
	if a.missedPolls >= staleMisses && a.isListed() {
		t.agentEvents.noteAgent(EventAgentRecovered, a)
	}
}

// miss records unanswered polls, or that the agent answers again.
func (t *agentTx) miss(a *agentRow, m AgentMiss) {
	misses := int16(max(0, min(m.MissedPolls, 3)))
	if misses == a.missedPolls {
		return
	}
	if misses == 0 {
		t.recovers(a)
	}
	if misses >= staleMisses && a.missedPolls < staleMisses && a.isListed() {
		t.agentEvents.noteAgent(EventAgentStale, a)
	}
	a.missedPolls, a.hasNewState = misses, true
	t.noteReport(a, m.ReplyAge)
}

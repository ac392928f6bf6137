package db

import "time"

const (
	staleMisses = 2 // unanswered polls in a row that make an agent stale
	// maxMissedPolls is the highest count that agent_states stores: the replica then closes the connection.
	maxMissedPolls = 3
)

// applySnapshot applies the changes since the last applied reply of an agent.
func (t *agentTx) applySnapshot(a *agentRow, s AgentSnapshot) {
	if a.isDoubted {
		return // the agent must join again, with its whole content
	}
	// Before recordReply, which resets the misses that noteRecovery looks at.
	t.noteRecovery(a)
	t.recordReply(a, s.ReplyAge, s.StateHash, s.ReplySeq)
	if s.Content != nil {
		t.applyContent(a, *s.Content)
	}
	for _, raw := range s.RemovedRawIDs {
		if r := t.roomsByKey[roomKey{a.ref.ID, roomBase(raw)}]; r != nil && r.state == roomReported {
			t.removeRoom(a, r)
		}
	}
	t.showRooms(a, s.ChangedRooms)
	t.judgeRooms(a, s.ReplyAge)
}

// recordReply records that the agent answered a poll. The hash and the sequence number are written only together with
// other changes, so a reply with equal content writes nothing.
func (t *agentTx) recordReply(a *agentRow, age time.Duration, hash string, seq int64) {
	t.recordReplyTime(a, age)
	a.hasNewState = a.hasNewState || a.missedPolls != 0 || a.statusOverride != ""
	a.missedPolls, a.statusOverride, a.stateHash, a.replySeq = 0, "", hash, seq
}

// recordReplyTime records that the agent's last reply was received the given age ago.
func (t *agentTx) recordReplyTime(a *agentRow, age time.Duration) {
	a.silentSeconds = max(0, age.Seconds())
	a.lastSync = t.now.Add(-age)
}

// noteRecovery logs that an agent is no longer stale, if it was.
func (t *agentTx) noteRecovery(a *agentRow) {
	if a.missedPolls >= staleMisses && a.isListed() {
		t.agentEvents.noteAgent(EventAgentRecovered, a)
	}
}

// recordMisses records unanswered polls, or that the agent answers again.
func (t *agentTx) recordMisses(a *agentRow, m AgentMiss) {
	misses := int16(max(0, min(m.MissedPolls, maxMissedPolls)))
	if misses == a.missedPolls {
		return
	}
	if misses == 0 {
		t.noteRecovery(a)
	}
	if misses >= staleMisses && a.missedPolls < staleMisses && a.isListed() {
		t.agentEvents.noteAgent(EventAgentStale, a)
	}
	a.missedPolls, a.hasNewState = misses, true
	t.recordReplyTime(a, m.ReplyAge)
}

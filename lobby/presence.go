package lobby

// LeaveRoom returns the action by which a session stops being a member, or declines the invitation of its player, also
// that to other sessions.
func (t *Types) LeaveRoom(session, player string) Action {
	return atomicAction(func(r *Room) error {
		// Only a player with a name can come back with another session, which is then not sent the match.
		if r.Participants != nil && player != session {
			r.Effects = append(r.Effects, Effect{Kind: EffectWithdraw, Player: player})
		}
		if _, ok := r.Member(session); ok {
			return t.leaveRoom(r, session)
		}
		if !r.endInvitations(session, player) {
			return ErrNotMember
		}
		return nil
	})
}

// EndSession returns the action of a session that has ended. Invitations and the place in a match stay those of its
// player, who may come back with another session.
func (t *Types) EndSession(session string) Action {
	return atomicAction(func(r *Room) error {
		// Only this session's: endInvitations would also end those of the player's other sessions.
		r.InvitedMembers = withoutMember(r.InvitedMembers, session)
		return t.leaveRoom(r, session)
	})
}

// leaveRoom takes a session out of a room in which it may be.
func (t *Types) leaveRoom(r *Room, session string) error {
	m, ok := r.takeMember(session)
	if !ok {
		return nil
	}
	r.Entries = append(r.Entries, Entry{Kind: EntryLeft, Session: session})
	// Without a logic, of a type that another process is configured for, the member leaves all the same.
	if logic := t.logicOf(r); logic != nil {
		return logic.OnLeave(r, m)
	}
	return nil
}

// MarkAway returns the action of a session whose socket is gone. It changes nothing for one that is no member, or away
// already.
func (t *Types) MarkAway(session string) Action {
	return atomicAction(func(r *Room) error {
		m, changed, ok := r.setAway(session, true)
		// Both the replica and a worker may report it, and members must see one "dropped" only.
		if !ok || !changed {
			return nil
		}
		r.Entries = append(r.Entries, Entry{Kind: EntryDropped, Session: session})
		if logic := t.logicOf(r); logic != nil {
			return logic.OnAway(r, m)
		}
		return nil
	})
}

// MarkBack returns the action of a session that has a socket again. The members receive it even if they have not
// received that it was away: another socket took the session over.
func (t *Types) MarkBack(session string) Action {
	return atomicAction(func(r *Room) error {
		m, _, ok := r.setAway(session, false)
		if !ok {
			return nil
		}
		r.Entries = append(r.Entries, Entry{Kind: EntryReconnected, Session: session})
		if logic := t.logicOf(r); logic != nil {
			return logic.OnBack(r, m)
		}
		return nil
	})
}

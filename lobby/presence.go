package lobby

// LeaveRoom returns the action by which a session stops being a member, or declines the invitation of its player, which
// then ends for the player's other sessions, too.
func (t *Types) LeaveRoom(session, player string) Action {
	return atomicAction(func(r *Room) error {
		// Only a player with a name can come back with another session, which is then not sent the match.
		if r.Participants != nil && player != session {
			r.Effects = append(r.Effects, Effect{Kind: EffectWithdraw, Player: player})
		}
		if _, ok := r.Member(session); ok {
			return t.removeSession(r, session)
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
		// Not endInvitations, which would also end the invitations of the player's other sessions.
		r.InvitedMembers = withoutMember(r.InvitedMembers, session)
		return t.removeSession(r, session)
	})
}

// removeSession removes a session that has left or ended. It changes nothing if the session is no member.
func (t *Types) removeSession(r *Room, session string) error {
	m, ok := r.takeMember(session)
	if !ok {
		return nil
	}
	r.Entries = append(r.Entries, Entry{Kind: EntryLeft, Session: session})
	// Without a logic, because only another process is configured for the type, the member leaves all the same.
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
		// Both the replica and a worker may report a lost socket, and members must see one "dropped" only.
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

// MarkBack returns the action of a session that has a socket again. The members receive an entry even if
// none said that the session was away: another socket may have taken the session over.
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

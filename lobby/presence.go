package lobby

// Leave returns the action by which a session stops being a member, or declines the invitation of its player, also that
// to other sessions.
func (t *Types) Leave(session, player string) Action {
	return atomic(func(r *Room) error {
		// Only a player with a name can come back with another session, which is then not sent the match.
		if r.Participants != nil && player != session {
			r.Effects = append(r.Effects, Effect{Kind: EffectWithdraw, Player: player})
		}
		if _, ok := r.Member(session); ok {
			return t.leave(r, session)
		}
		if !r.answer(session, player) {
			return ErrNotMember
		}
		return nil
	})
}

// End returns the action of a session that has ended. Invitations and the place in a match stay those of its player,
// who may come back with another session.
func (t *Types) End(session string) Action {
	return atomic(func(r *Room) error {
		r.Invited = without(r.Invited, session)
		return t.leave(r, session)
	})
}

// leave takes a session out of a room in which it may be.
func (t *Types) leave(r *Room, session string) error {
	m, ok := r.take(session)
	if !ok {
		return nil
	}
	r.Entries = append(r.Entries, Entry{Kind: EntryLeft, Session: session})
	if logic := t.logic(r); logic != nil {
		return logic.Leave(r, m)
	}
	return nil
}

// Away returns the action of a session whose socket is gone. It changes nothing for one that is no member, or away
// already.
func (t *Types) Away(session string) Action {
	return atomic(func(r *Room) error {
		m, changed, ok := r.setAway(session, true)
		if !ok || !changed {
			return nil
		}
		r.Entries = append(r.Entries, Entry{Kind: EntryDropped, Session: session})
		if logic := t.logic(r); logic != nil {
			return logic.Away(r, m)
		}
		return nil
	})
}

// Back returns the action of a session that has a socket again. The members receive it even if they have not received
// that it was away: another socket took the session over.
func (t *Types) Back(session string) Action {
	return atomic(func(r *Room) error {
		m, _, ok := r.setAway(session, false)
		if !ok {
			return nil
		}
		r.Entries = append(r.Entries, Entry{Kind: EntryReconnected, Session: session})
		if logic := t.logic(r); logic != nil {
			return logic.Back(r, m)
		}
		return nil
	})
}

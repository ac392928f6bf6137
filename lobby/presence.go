package lobby

// Leave returns the action by which a session stops being a member, or declines its invitation.
func (t *Types) Leave(session string) Action {
	return atomic(func(r *Room) error {
		m, ok := r.take(session)
		if !ok {
			return decline(r, session)
		}
		r.Entries = append(r.Entries, Entry{Kind: EntryLeft, Session: session})
		if logic := t.logic(r); logic != nil {
			return logic.Leave(r, m)
		}
		return nil
	})
}

func decline(r *Room, session string) error {
	if _, ok := find(r.Invited, session); !ok {
		return ErrNotMember
	}
	r.Invited = without(r.Invited, session)
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

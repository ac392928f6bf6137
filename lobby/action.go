package lobby

import "maps"

// An Action changes a room. It returns an [*Error] if it is not allowed; then the room stays as it was before it. It
// must not keep the room, and must give the same result for the same room.
type Action func(*Room) error

// atomicAction makes an action of act: if act fails, the room is as before. Actions replace Members, InvitedMembers and
// Sanctions and never change them in place, since the copy of the room from before shares them.
func atomicAction(act func(*Room) error) Action {
	return func(r *Room) error {
		before := *r
		before.State = maps.Clone(r.State)
		r.CallerAnswer = nil
		err := act(r)
		if err != nil {
			*r = before
		}
		return err
	}
}

// boundedAction makes an action of act that fails if the state is too big after it. Actions by which members leave have
// no such bound: a session that has ended must leave in any case.
func boundedAction(act func(*Room) error) Action {
	return atomicAction(func(r *Room) error {
		if err := act(r); err != nil {
			return err
		}
		if len(r.State) > maxStateKeys || r.State.JSONBytes() > maxStateBytes-directorBytes {
			return ErrStateTooBig
		}
		return nil
	})
}

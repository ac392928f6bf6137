package lobby

import (
	"slices"
	"strings"
	"time"
)

// MaxSanction bounds the time of a ban or a mute that does not last as long as its room. The callers check it.
const MaxSanction = 365 * 24 * time.Hour

const (
	// maxSanctions bounds the players who are banned from a room or muted in it: each action in the room reads them.
	maxSanctions = 256
	// maxSanctionReason is how many bytes of a reason the room keeps; the event has all of it.
	maxSanctionReason = 100
)

// IsOver reports whether the sanction has ended at a time. At the zero time, none has.
func (s Sanction) IsOver(now time.Time) bool {
	return !s.EndsAt.IsZero() && !now.IsZero() && !s.EndsAt.After(now)
}

// isSanctioned reports whether a sanction of a kind is in force for a player.
func (r *Room) isSanctioned(player string, now time.Time, kind func(Sanction) bool) bool {
	return slices.ContainsFunc(r.Sanctions,
		func(s Sanction) bool { return s.Player == player && kind(s) && !s.IsOver(now) })
}

// addSanction adds a sanction. It replaces one of the same kind for the player, and removes those that are over.
func (r *Room) addSanction(added Sanction, now time.Time) error {
	r.Sanctions = r.sanctionsWithout(added.Player, added.IsBan, now)
	if len(r.Sanctions) >= maxSanctions {
		return Invalid("player", "cannot be banned or muted while %d others are", maxSanctions)
	}
	if len(added.Reason) > maxSanctionReason {
		// The cut may be within a character.
		added.Reason = strings.ToValidUTF8(added.Reason[:maxSanctionReason], "")
	}
	r.Sanctions = append(r.Sanctions, added)
	return nil
}

// sanctionsWithout returns a copy of the sanctions without those that are over, and without the ban (isBan) or the mute
// of the player.
func (r *Room) sanctionsWithout(player string, isBan bool, now time.Time) []Sanction {
	kept := make([]Sanction, 0, len(r.Sanctions)+1)
	for _, s := range r.Sanctions {
		if !s.IsOver(now) && (s.Player != player || s.IsBan != isBan) {
			kept = append(kept, s)
		}
	}
	return kept
}

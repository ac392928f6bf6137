package verify

import "slices"

// checkMode checks that the session has a mode of the profile that all newcomers allow, if the profile has modes.
func (c *checker) checkMode() []Violation {
	if c.match.Mode != "" && !slices.Contains(c.p.Modes, c.match.Mode) {
		return []Violation{newViolation("mode", "%q is no mode of the profile", c.match.Mode)}
	}
	if len(c.p.Modes) == 0 || slices.ContainsFunc(c.p.Modes, c.isPossibleMode) {
		return nil
	}
	return []Violation{newViolation("mode", "no mode is allowed by all players")}
}

// isPossibleMode reports whether the match has the mode or none yet, and all newcomers allow it.
func (c *checker) isPossibleMode(mode string) bool {
	// A mode is chosen with the game server: until then it is enough that one is possible.
	if c.match.Mode != "" && c.match.Mode != mode {
		return false
	}
	return !slices.ContainsFunc(c.members, func(m member) bool {
		modes, hasModes := c.ownValue("modes", m)
		// A player without the attribute plays every mode; those of the roster play this one already.
		return hasModes && !m.inRoster && !slices.Contains(textsOf(modes), mode)
	})
}

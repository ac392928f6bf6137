package db

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/lattice-director/director/match/profile"
)

// realtimePrefix begins the name of each built-in profile.
const realtimePrefix = "realtime-"

// RealtimeProfile returns the name of the built-in profile that matches players of the realtime lobby for matches of a
// size, 2 to 16.
func RealtimeProfile(size int) string { return realtimePrefix + strconv.Itoa(size) }

// IsRealtimeProfile reports whether a name is that of a built-in profile. Only sessions of the realtime lobby queue for
// these.
func IsRealtimeProfile(name string) bool {
	text, hasPrefix := strings.CutPrefix(name, realtimePrefix)
	size, err := strconv.Atoi(text)
	// The name is compared as well, since Atoi also reads "+2" and "02".
	return hasPrefix && err == nil && size >= minMatchSize && size <= maxMatchSize && RealtimeProfile(size) == name
}

// QueueAttribute is the attribute of tickets that holds [QueueDraft.Bucket], by which the built-in profiles distinguish
// the room types of projects.
const QueueAttribute = "queue"

// realtimeDocument returns the first version of a built-in profile: a match of players who asked for the same room
// type, the oldest tickets first, without a game server.
func realtimeDocument(size int) []byte {
	return fmt.Appendf(nil, `# Players of the realtime lobby who ask for a match of %d. An operator may apply other versions, with a ready check or a mode.
name: %s
attributes: {%[3]s: {type: string}}
teams: [{name: players, players: %[1]d}]
rules: [{same: %[3]s}]
ttl: 24h
`, size, RealtimeProfile(size), QueueAttribute)
}

// EnsureRealtimeProfiles makes those of the built-in profiles, realtime-2 to realtime-16, that do not exist. It leaves
// the others as operators made them, also retired ones. Errors: TooMany, Unavailable.
func (s *Store) EnsureRealtimeProfiles(ctx context.Context, universe string) error {
	// With those that an operator has retired, which are not made again.
	known, err := s.Profiles(ctx, ProfileQuery{Universe: universe, WithRetired: true})
	if err != nil {
		return err
	}
	existing := map[string]bool{}
	for _, p := range known {
		existing[p.Name] = true
	}
	for size := minMatchSize; size <= maxMatchSize; size++ {
		name := RealtimeProfile(size)
		if existing[name] {
			continue
		}
		edit := ProfileEdit{Universe: universe, Name: name, Author: "director", Reason: "built in"}
		if err := s.ensureProfile(ctx, edit, realtimeDocument(size)); err != nil {
			return err
		}
	}
	return nil
}

// ensureProfile applies a document as version 1, unless another process has made the profile since it was looked for.
func (s *Store) ensureProfile(ctx context.Context, edit ProfileEdit, document []byte) error {
	p, err := profile.Parse(document)
	if err != nil {
		return err
	}
	next := profileText{string(document), p.Canonical()}
	decide := func(was profileState) (profileState, string, error) {
		if was.latestVersion > 0 {
			return was, "", nil
		}
		return was.apply(next.canonical)
	}
	_, err = s.changeProfile(ctx, edit, profileDecision{decide: decide, newText: &next})
	return err
}

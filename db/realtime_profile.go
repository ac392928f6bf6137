package db

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/lattice-director/director/match/profile"
)

// realtimeProfiles is the prefix of the names of the built-in profiles.
const realtimeProfiles = "realtime-"

// RealtimeProfile returns the name of the built-in profile that matches players of the realtime lobby for matches of a
// size, 2 to 16.
func RealtimeProfile(size int) string { return realtimeProfiles + strconv.Itoa(size) }

// IsRealtimeProfile reports whether a name is that of a built-in profile. Only sessions of the realtime lobby queue for
// these.
func IsRealtimeProfile(name string) bool {
	text, ok := strings.CutPrefix(name, realtimeProfiles)
	size, err := strconv.Atoi(text)
	return ok && err == nil && size >= minMatchSize && size <= maxMatchSize && RealtimeProfile(size) == name
}

// QueueAttribute is the attribute of tickets that holds [QueueDraft.Bucket], by which the built-in profiles tell room
// types of projects apart.
const QueueAttribute = "queue"

// realtimeDocument is the first version of a built-in profile: a match of players who asked for the same room type, the
// oldest tickets first, without a server.
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
	// Also retired ones: an operator has decided about those.
	known, err := s.Profiles(ctx, universe, true)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, p := range known {
		names[p.Name] = true
	}
	for size := minMatchSize; size <= maxMatchSize; size++ {
		if name := RealtimeProfile(size); !names[name] {
			if err := s.ensureProfile(ctx,
				ProfileEdit{Universe: universe, Name: name, Author: "director", Reason: "built in"},
				realtimeDocument(size)); err != nil {
				return err
			}
		}
	}
	return nil
}

// ensureProfile applies a document unless the profile exists by now.
func (s *Store) ensureProfile(ctx context.Context, edit ProfileEdit, document []byte) error {
	p, err := profile.Parse(bytes.TrimSpace(document))
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
	_, err = s.changeProfile(ctx, edit, profileTurn{decide: decide, newText: &next})
	return err
}

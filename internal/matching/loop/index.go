package loop

import (
	"cmp"
	"slices"
)

// index finds the tickets that a profile may take, so that a worker that takes a profile over looks at no others.
type index struct {
	byProfile      map[string]map[*entry]struct{} // by the name of a profile that the tickets ask for
	withoutProfile map[*entry]struct{}            // those that ask for no profile: profiles with a pool may take them
}

func newIndex() index {
	return index{byProfile: map[string]map[*entry]struct{}{}, withoutProfile: map[*entry]struct{}{}}
}

func (x *index) addEntry(e *entry) {
	if !e.isPlayable() {
		return
	}
	if len(e.askedProfiles) == 0 {
		x.withoutProfile[e] = struct{}{}
	}
	for _, name := range e.askedProfiles {
		if x.byProfile[name] == nil {
			x.byProfile[name] = map[*entry]struct{}{}
		}
		x.byProfile[name][e] = struct{}{}
	}
}

func (x *index) removeEntry(e *entry) {
	delete(x.withoutProfile, e)
	for _, name := range e.askedProfiles {
		delete(x.byProfile[name], e)
		if len(x.byProfile[name]) == 0 {
			delete(x.byProfile, name)
		}
	}
}

// countAsking returns how many tickets ask for a profile.
func (x *index) countAsking(profile string) int { return len(x.byProfile[profile]) }

// entriesOf returns the tickets that a profile may take, in the order of the queue.
func (x *index) entriesOf(profile string, hasPool bool) []*entry {
	all := make([]*entry, 0, len(x.byProfile[profile]))
	for e := range x.byProfile[profile] {
		all = append(all, e)
	}
	if hasPool {
		for e := range x.withoutProfile {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b *entry) int {
		return cmp.Or(a.createdAt.Compare(b.createdAt), cmp.Compare(a.id, b.id))
	})
	return all
}

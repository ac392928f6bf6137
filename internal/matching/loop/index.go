package loop

import (
	"cmp"
	"slices"
)

// index finds the tickets that a profile may take, so that a worker that takes a profile over looks at no others.
type index struct {
	asking map[string]map[*entry]struct{} // by the profile that they ask for
	any    map[*entry]struct{}            // those that ask for no profile: profiles with a pool may take them
}

func newIndex() index {
	return index{asking: map[string]map[*entry]struct{}{}, any: map[*entry]struct{}{}}
}

func (x *index) add(e *entry) {
	if !e.playable() {
		return
	}
	if len(e.profiles) == 0 {
		x.any[e] = struct{}{}
	}
	for _, name := range e.profiles {
		if x.asking[name] == nil {
			x.asking[name] = map[*entry]struct{}{}
		}
		x.asking[name][e] = struct{}{}
	}
}

func (x *index) remove(e *entry) {
	delete(x.any, e)
	for _, name := range e.profiles {
		delete(x.asking[name], e)
		if len(x.asking[name]) == 0 {
			delete(x.asking, name)
		}
	}
}

// count returns how many tickets ask for a profile.
func (x *index) count(profile string) int { return len(x.asking[profile]) }

// of returns the tickets that a profile may take, in the order of the queue.
func (x *index) of(profile string, hasPool bool) []*entry {
	all := make([]*entry, 0, len(x.asking[profile]))
	for e := range x.asking[profile] {
		all = append(all, e)
	}
	if hasPool {
		for e := range x.any {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b *entry) int { return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.id, b.id)) })
	return all
}
